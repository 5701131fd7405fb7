"""Reference pages that come from code: errors, findings, settings.

``docs/cases/CODE.py`` holds, for a code, a program that meets it and, below a marker line, the same
program without the fault. The tests run both parts, and the pages show them with what they print.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipedsl import PipedslError
from pipedsl.core.arch import ARCHS
from pipedsl.core.config import KNOBS
from pipedsl.core.findings import CODES
from pipedsl.isa import instruction as _instruction  # noqa: F401  (fills the table)
from pipedsl.isa.opcode import TABLE
from pipedsl.sim.timing.constants import constants

CASES = Path(__file__).parent / "cases"
MARKER = "# --- fixed ---\n"

# Errors that no program can provoke on every machine.
WITHOUT_CASE = {
    "P600": "Its subclasses are raised.",
    "P330": "It takes a machine without an assembler and linker for AMDGPU.",
    "P510": "It takes an AMD GPU.",
}


@dataclass(frozen=True)
class Case:
    """A faulty program and its repair.

    Attributes
    ----------
    code : str
    faulty, fixed : str
        Python source; what they share comes first in both.
    """

    code: str
    faulty: str
    fixed: str

    @classmethod
    def read(cls, code: str) -> Case:
        """The case of `code`."""
        faulty, _, fixed = (CASES / f"{code}.py").read_text().partition(MARKER)
        return cls(code, faulty.strip() + "\n", fixed.strip() + "\n")


@dataclass(frozen=True)
class Outcome:
    """What a program meets: the codes, and the text that a user sees."""

    codes: tuple[str, ...]
    text: str


def run(source: str) -> Outcome:
    """Run a program; it ends with an error of pipedsl, or leaves a ``report``, or is right."""
    with _file(source) as name:
        scope: dict[str, Any] = {"__name__": "__main__"}
        try:
            exec(compile(source, name, "exec"), scope)
        except PipedslError as error:
            return Outcome((error.code,), str(error))
        report = scope.get("report")
        if report is None:
            return Outcome((), "")
        return Outcome(
            tuple(finding.code for finding in (*report.findings, *report.hints)), str(report)
        )


@contextlib.contextmanager
def _file(source: str) -> Iterator[str]:
    """The name of a file with `source` in an empty current directory: tracebacks show no paths."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            Path("example.py").write_text(source)
            yield "example.py"
        finally:
            os.chdir(before)


def error_classes() -> dict[str, type[PipedslError]]:
    """Every class of errors by its code, in the order of the codes."""
    found: dict[str, type[PipedslError]] = {}
    pending = list(PipedslError.__subclasses__())
    while pending:
        cls = pending.pop()
        found[cls.code] = cls
        pending += cls.__subclasses__()
    return dict(sorted(found.items()))


def _summary(cls: type[PipedslError]) -> str:
    return (cls.__doc__ or "").partition("\n")[0]


def code_page(code: str, title: str, explanation: str) -> str:
    """The page of an error or a finding, with the case's two programs and what the first prints."""
    lines = [f"# {code}: {title}", "", explanation, ""]
    if not (CASES / f"{code}.py").exists():
        return "\n".join([*lines, WITHOUT_CASE.get(code, ""), ""])
    case = Case.read(code)
    lines += ["## What goes wrong", "", "```{code-block} python", case.faulty.rstrip(), "```", ""]
    lines += ["```text", run(case.faulty).text, "```", ""]
    lines += ["## The repair", "", "```{code-block} python", case.fixed.rstrip(), "```", ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Generated pages by path below ``docs/``, without the suffix."""
    out = {}
    errors = error_classes()
    for code, cls in errors.items():
        out[f"codes/{code}"] = code_page(code, cls.__name__, _summary(cls))
    for code, row in CODES.items():
        out[f"codes/{code}"] = code_page(code, row.title, row.explanation)
    out["errors"] = _index(
        "Errors",
        "Every error shows the user's line, one sentence, a fix, and a code.",
        {code: f"`{cls.__name__}`: {_summary(cls)}" for code, cls in errors.items()},
    )
    out["findings"] = _index(
        "Findings",
        "What `pipedsl.check` and checked launches report. Codes are stable.",
        {code: row.title for code, row in CODES.items()},
    )
    out["settings"] = _settings()
    out["isa"] = _isa()
    out["timing-constants"] = _timing_constants()
    return out


def _index(title: str, text: str, rows: dict[str, str]) -> str:
    table = ["| code | meaning |", "|---|---|"]
    table += [f"| [{code}](codes/{code}.md) | {meaning} |" for code, meaning in rows.items()]
    tree = ["```{toctree}", ":hidden:", "", *(f"codes/{code}" for code in rows), "```"]
    return "\n".join([f"# {title}", "", text, "", *table, "", *tree, ""])


def _settings() -> str:
    lines = [
        "# Settings",
        "",
        "`pipedsl.config.NAME`, `pipedsl.config.scope(NAME=...)` or the environment variable; read at",
        "every use.",
        "",
        "| name | environment | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| `{k.name}` | `{k.variable}` | {k.doc} |" for k in KNOBS.values()]
    return "\n".join([*lines, ""])


def _isa() -> str:
    lines = [
        "# Instructions of the simulator",
        "",
        "`pipedsl isa` prints this table. *Exact* rows compute what the ISA documents say,",
        "*approximate* ones differ as stated, *unsupported* ones are refused before anything runs.",
        "",
        "| instruction | unit | fidelity | targets | remark |",
        "|---|---|---|---|---|",
    ]
    for row in TABLE.rows():
        archs = " ".join(arch for arch in ARCHS if arch in row.archs)
        reason = (row.reason or "").replace("|", "\\|")
        lines.append(
            f"| `{row.name}` | {row.unit.value} | {row.fidelity.value} | {archs} | {reason} |"
        )
    return "\n".join([*lines, ""])


def _timing_constants() -> str:
    lines = [
        "# Constants of the timing model",
        "",
        "*Measured* and *published* figures have a source, *derived* ones follow from such figures,",
        "*assumed* ones have none of their own. Cycles of matrix instructions are in",
        "`pipedsl/sim/timing/matrix.py`, LDS phases in `pipedsl/sim/timing/phases.py`.",
        "",
        "| constant | targets | value | kind | source |",
        "|---|---|---|---|---|",
    ]
    rows = {row for arch in ARCHS for row in constants(arch)}
    for row in sorted(rows, key=lambda row: (row.name, row.kind, sorted(row.archs))):
        archs = " ".join(arch for arch in ARCHS if arch in row.archs)
        lines.append(
            f"| `{row.name}` | {archs} | {row.value} {row.unit} | {row.kind} | {row.source} |"
        )
    return "\n".join([*lines, ""])


def write(directory: Path) -> None:
    """Write the pages that differ from what is there."""
    for name, text in pages().items():
        path = directory / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
