"""Every error that pipedsl raises.

::

    PipedslError
    |-- ConfigError              a knob holds a value that it cannot have
    |-- KernelError              the kernel's Python source
    |   |-- KernelSyntaxError    a construct that kernels do not have
    |   |-- KernelTypeError      types do not fit, or a type is not supported
    |   `-- ProtocolError        the producer/consumer protocol is misused
    |-- CompilationError         LLVM or the assembler refused the code
    |   |-- ResourceError        LDS, registers or workgroup size over the limit
    |   |-- TargetError          unknown arch, or a feature that the arch lacks
    |   `-- ToolchainMissing     no assembler or linker was found
    |-- LaunchError              grid, block, stream or arguments of one launch
    |-- DeviceError              a device is missing or failed
    |   `-- HipError             a HIP call returned an error
    `-- SimulationError          the simulator refused or stopped the code
        |-- AssemblyError        text that is not assembly of the target
        |-- UnsupportedInstruction
        |-- MemoryFault          out of bounds, misaligned, freed, read-only
        |-- DeadlockError        no wave can make progress
        `-- StepBudgetExceeded   more instructions than the budget allows

A raising call leaves its arguments as they were.
"""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType


@dataclass(frozen=True)
class SourceLocation:
    """A place in a user's Python source.

    Parameters
    ----------
    filename : str
    line : int
        Counted from 1.
    column : int or None
        Counted from 0.
    text : str or None
        The line itself; looked up when it is not given.
    """

    filename: str
    line: int
    column: int | None = None
    text: str | None = None

    def source_line(self) -> str | None:
        """The line's text, or None where the file cannot be read."""
        text = self.text if self.text is not None else linecache.getline(self.filename, self.line)
        return text.rstrip("\n") or None


class PipedslError(Exception):
    """Root of all pipedsl errors.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence.
    fix : str, optional
        What to change.
    where : SourceLocation, optional
        The user's line.

    Attributes
    ----------
    code : str
        Stable identifier of the kind of error (a row of the table in the docs).
    """

    code = "P000"

    def __init__(
        self, message: str, *, fix: str | None = None, where: SourceLocation | None = None
    ) -> None:
        super().__init__(message)
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = _show
        self.message = message
        self.fix = fix
        self.where = where

    def __reduce__(self) -> tuple:
        return (_rebuild, (type(self), self.__dict__.copy()))

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The rendered error: at most six lines."""
        out = [f"[{self.code}] {self.message}"]
        if self.where is not None:
            out.append(f"  at {self.where.filename}:{self.where.line}")
            text = self.where.source_line()
            if text is not None:
                stripped = text.lstrip()
                out.append(f"    {stripped}")
                if self.where.column is not None:
                    shift = max(self.where.column - (len(text) - len(stripped)), 0)
                    out.append("    " + " " * shift + "^")
        if self.fix:
            out.append(f"  fix: {self.fix}")
        return out

    def _render_traceback_(self) -> list[str]:
        """What Jupyter shows in place of a traceback."""
        if _wants_traceback():
            return traceback.format_exception(type(self), self, self.__traceback__)
        return [f"{type(self).__name__}: {self}"]


_switches: list[Callable[[], bool]] = []


def provide_traceback_switch(wanted: Callable[[], bool]) -> None:
    """Let `wanted` say from now on whether errors show Python's whole traceback."""
    _switches[:] = [wanted]


def _wants_traceback() -> bool:
    return any(wanted() for wanted in _switches)


def _show(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None
) -> None:  # fmt: skip
    """What a terminal shows of an error that nobody caught; of others, what Python shows."""
    if isinstance(error, PipedslError) and not _wants_traceback():
        print(f"{kind.__name__}: {error}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, frames)


def _rebuild(cls: type[PipedslError], state: dict) -> PipedslError:
    error = cls.__new__(cls)
    Exception.__init__(error, state["message"])
    error.__dict__.update(state)
    return error


class ConfigError(PipedslError):
    """A configuration knob holds a value that it cannot have."""

    code = "P100"


class KernelError(PipedslError):
    """Something in the kernel's Python source."""

    code = "P200"


class KernelSyntaxError(KernelError):
    """A Python construct that kernels do not have."""

    code = "P210"


class KernelTypeError(KernelError):
    """Types that do not fit, or that kernels do not support."""

    code = "P220"


class ProtocolError(KernelError):
    """The producer/consumer protocol is misused in a way that is visible before running."""

    code = "P230"


class CompilationError(PipedslError):
    """LLVM or the assembler refused the code."""

    code = "P300"


class ResourceError(CompilationError):
    """LDS, registers or workgroup size over the limit of the arch."""

    code = "P310"


class TargetError(CompilationError):
    """An unknown arch, or a feature that the arch lacks."""

    code = "P320"


class ToolchainMissing(CompilationError):
    """No assembler or linker for AMDGPU was found on this machine."""

    code = "P330"


class LaunchError(PipedslError):
    """Grid, block, stream or arguments of one launch are wrong."""

    code = "P400"


class DeviceError(PipedslError):
    """A device is missing, unsupported or failed."""

    code = "P500"


class HipError(DeviceError):
    """A HIP call returned an error; the message names it."""

    code = "P510"


class SimulationError(PipedslError):
    """The simulator refused or stopped the code.

    Attributes
    ----------
    findings : tuple of pipedsl.core.findings.Finding
        What a checked run had found before it stopped.
    """

    code = "P600"
    findings: tuple = ()


class AssemblyError(SimulationError):
    """Text that is not assembly of the target; the message names the line."""

    code = "P610"


class UnsupportedInstruction(SimulationError):
    """An instruction that the simulator does not have; raised before anything runs."""

    code = "P620"


class MemoryFault(SimulationError):
    """An access out of bounds, misaligned, to freed or to read-only memory."""

    code = "P630"


class DeadlockError(SimulationError):
    """No wave of a workgroup can make progress.

    Attributes
    ----------
    drawing : tuple of str
        Who waits for whom, and why nobody ends it.
    """

    code = "P640"
    drawing: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The rendered error, and where the drawing is."""
        more = "  who waits for whom: print(*error.drawing, sep='\\n'), or pipedsl.check(...)."
        return [*super().lines(), *([more] if self.drawing else [])]


class StepBudgetExceeded(SimulationError):
    """The launch executed more instructions than its budget allows."""

    code = "P650"
