"""Assembly beside the Python lines that it comes from, with what it costs and what is wrong."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from pipedsl.core.html import LIMIT, box

Line = tuple[str, int]


@dataclass(frozen=True)
class Instruction:
    """One line of the assembly.

    Attributes
    ----------
    line : int
        Of the text.
    text : str
    source : tuple of (str, int) or None
        Python file and line.
    count, cycles, stalls : int or None
        Executions, wave cycles, and those of them that it waited; None if nothing was timed.
    """

    line: int
    text: str
    source: Line | None
    count: int | None = None
    cycles: int | None = None
    stalls: int | None = None


@dataclass(frozen=True)
class Listing:
    """A kernel's assembly, line by line.

    Attributes
    ----------
    title : str
    instructions : tuple of Instruction
        In the order of the text.
    notes : mapping of (str, int) to tuple of str
        Findings by Python line.
    sources : mapping of str to str
        Text of Python files; others are read from disk.
    """

    title: str
    instructions: tuple[Instruction, ...]
    notes: Mapping[Line, tuple[str, ...]]
    sources: Mapping[str, str]

    @property
    def lines(self) -> dict[Line, tuple[int, int, int, int]]:
        """Python line to instructions in the text, executions, cycles and stall cycles."""
        total: dict[Line, tuple[int, int, int, int]] = dict.fromkeys(
            sorted({i.source for i in self.instructions if i.source} | set(self.notes)),
            (0, 0, 0, 0),
        )
        for one in self.instructions:
            if one.source is not None:
                static, count, cycles, stalls = total[one.source]
                total[one.source] = (
                    static + 1, count + (one.count or 0), cycles + (one.cycles or 0),
                    stalls + (one.stalls or 0),
                )  # fmt: skip
        return total

    @property
    def timed(self) -> bool:
        """Whether there are cycles to show."""
        return any(one.count is not None for one in self.instructions)

    def source(self, line: Line) -> str:
        """Text of a Python line."""
        name, number = line
        text = self.sources.get(name)
        if text is None:
            return linecache.getline(name, number).rstrip()
        lines = text.splitlines()
        return lines[number - 1].rstrip() if 0 < number <= len(lines) else ""

    def groups(self) -> Iterator[tuple[Line | None, Sequence[Instruction]]]:
        """Neighbours that come from one Python line."""
        for line, group in groupby(self.instructions, key=lambda one: one.source):
            yield line, list(group)

    def __repr__(self) -> str:
        return f"<Listing {self.title}: {len(self.instructions)} instructions>"

    def __str__(self) -> str:
        return "\n".join([*self._line_table(), "", *self._assembly()])

    def _line_table(self) -> Iterator[str]:
        yield self.title
        yield f"{'code':>6} {'executed':>10} {'cycles':>10} {'stalled':>10}  Python"
        for line, (static, count, cycles, stalls) in self.lines.items():
            figures = (count, cycles, stalls) if self.timed else ("-", "-", "-")
            numbers = " ".join(f"{figure:>10}" for figure in figures)
            yield f"{static:>6} {numbers}  {Path(line[0]).name}:{line[1]}  {self.source(line)}"
            for note in self.notes.get(line, ()):
                yield f"{'':>41}! {note}"

    def _assembly(self) -> Iterator[str]:
        for line, group in self.groups():
            place = f"{Path(line[0]).name}:{line[1]}  {self.source(line).strip()}" if line else ""
            yield f"; {place}".rstrip()
            for one in group:
                figures = f"{one.count:>8} {one.stalls:>9}" if one.count is not None else ""
                yield f"{one.line:>5}  {one.text:<56} {figures}".rstrip()

    def _repr_html_(self) -> str:
        head = (
            '<table><tr><th class="l">Python</th><th>executed</th><th>cycles</th><th>stalled</th>'
            '<th class="l">assembly</th></tr>'
        )
        rows, used = [], len(head) + 2000
        for line, group in self.groups():
            row = self._html_group(line, group)
            used += len(row.encode())
            if used > LIMIT:
                rows.append("<tr><td>and more: print() shows all</td></tr>")
                break
            rows.append(row)
        return box(f"{head}{''.join(rows)}</table>", self.title)

    def _html_group(self, line: Line | None, group: Sequence[Instruction]) -> str:
        python = f"{Path(line[0]).name}:{line[1]}  {self.source(line).strip()}" if line else ""
        notes = self.notes.get(line, ()) if line else ()
        cell = escape(python) + "".join(f'<br><span class="bad">{escape(n)}</span>' for n in notes)
        rows = []
        for number, one in enumerate(group):
            first = f'<td class="l">{cell}</td>' if number == 0 else "<td></td>"
            figures = (one.count, one.cycles, one.stalls)
            numbers = "".join(f"<td>{'' if f is None else f}</td>" for f in figures)
            dim = ' class="l dim"' if one.count == 0 else ' class="l"'
            mark = ' class="h"' if number == 0 else ""
            rows.append(f"<tr{mark}>{first}{numbers}<td{dim}>{escape(one.text)}</td></tr>")
        return "".join(rows)


class HasListing(Protocol):
    """What `annotate` takes: a compiled kernel, or a kernel with its grid and block."""

    def listing(self, *args: Any, **named: Any) -> Listing: ...


def annotate(kernel: HasListing, /, *args: Any, **named: Any) -> Listing:
    """Assembly beside Python lines, with counts, stall cycles and findings.

    Parameters
    ----------
    kernel : CompiledKernel or Launcher
        ``kernel.compile(...)`` shows the code alone, or with ``run=``, a `TimedRun`, and ``report=``,
        a `Report`. ``kernel[grid, block]`` is compiled, timed and checked for the arguments given.
    *args, **named
        Of the launch.

    Returns
    -------
    Listing
        HTML in notebooks, plain text in a terminal.

    Examples
    --------
    ::

        pipedsl.views.annotate(stress[1, 128], result, np.int32(64))
    """
    return kernel.listing(*args, **named)
