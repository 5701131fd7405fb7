"""Findings: what a checked run reports about a kernel that does not fail."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.core.errors import SourceLocation

# Code to what it stands for.
CODES = {
    "C110": "a register is read before the load into it is proven complete",
    "C111": "a register is overwritten while a load into it is in flight",
    "C120": "LDS bytes are used before the write that another operation signals is complete",
    "C121": "LDS bytes are overwritten before a read of them is complete",
    "C130": "global bytes are used before a store to them is complete",
    "C131": "global bytes are overwritten before a read of them is complete",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a kernel, found by running it.

    Attributes
    ----------
    code : str
        A key of `CODES`; stable.
    message : str
        What is wrong, in one sentence.
    fix : str
        What to change, with the weakest wait that suffices.
    kernel : str
    workgroup : tuple of int
    wave : int
        The wave that used what was not complete.
    lane : int or None
    line : int
        Line of the assembly text that used it.
    where : SourceLocation or None
        Its Python line.
    related : tuple of (int, SourceLocation or None)
        Other lines that take part: what is not complete, then the signal that promised it.
    """

    code: str
    message: str
    fix: str
    kernel: str
    workgroup: tuple[int, int, int]
    wave: int
    lane: int | None
    line: int
    where: SourceLocation | None = None
    related: tuple[tuple[int, SourceLocation | None], ...] = ()

    def __str__(self) -> str:
        out = [f"[{self.code}] {self.message}"]
        if self.where is not None:
            out.append(f"  at {self.where.filename}:{self.where.line}")
            text = self.where.source_line()
            if text is not None:
                out.append(f"    {text.strip()}")
        out.append(f"  fix: {self.fix}")
        return "\n".join(out)


@dataclass(frozen=True)
class IdleWait:
    """A field of a wait that never proved anything in a run.

    Attributes
    ----------
    line : int
        Line of the assembly text.
    counter : str
    where : SourceLocation or None
    """

    line: int
    counter: str
    where: SourceLocation | None = None


class CheckWarning(UserWarning):
    """A checked launch has a finding.

    Parameters
    ----------
    finding : Finding
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding
