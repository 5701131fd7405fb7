"""LLVM IR to AMDGPU assembly, in a worker process."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from pipedsl.codegen.pool import WorkerDied, WorkerPool, WorkerTimeout
from pipedsl.core.config import config
from pipedsl.core.errors import CompilationError, SourceLocation

CODE_OBJECT_VERSION = 5
"""The newest version that ROCm 5 and 6 runtimes load."""

_pool = WorkerPool()


@dataclass(frozen=True)
class Lowered:
    """What LLVM made of one module.

    Attributes
    ----------
    optimized_ir : str
        The IR that code was generated from.
    asm : str
        Complete assembly text.
    """

    optimized_ir: str
    asm: str


def compile_ir(
    llvm_ir: str, arch: str, *, kernel: str, where: SourceLocation | None = None
) -> Lowered:
    """Optimise `llvm_ir` (level 3) and generate assembly.

    Safe to call from several threads; at most two compile at a time.

    Parameters
    ----------
    llvm_ir : str
        A module with the flag ``amdhsa_code_object_version`` = 500.
    arch : str
        LLVM's processor name, e.g. ``"gfx942"``.
    kernel : str
        Name of the kernel, for messages.
    where : SourceLocation, optional
        The kernel's source line, for messages.

    Raises
    ------
    CompilationError
        If LLVM refuses the module, dies or takes more than ``config.compile_timeout`` seconds.
        The next call works.
    """
    timeout = config.compile_timeout
    try:
        status, *fields = _pool.request(arch, llvm_ir, timeout=timeout)
    except WorkerTimeout:
        raise CompilationError(
            f"LLVM took more than {timeout:g} s for {kernel!r} on {arch}.",
            fix="make the kernel smaller, or raise config.compile_timeout.",
            where=where,
        ) from None
    except WorkerDied as death:
        reason = death.output.strip() or f"its process ended with status {death.status}"
        raise _refusal(reason, kernel, arch, where) from None
    if status == "error":
        raise _refusal(f"error: {fields[0]}", kernel, arch, where)
    lowered = Lowered(*fields)
    if f".amdhsa_code_object_version {CODE_OBJECT_VERSION}" not in lowered.asm:
        raise CompilationError(
            f"the LLVM module of {kernel!r} does not ask for code object version "
            f"{CODE_OBJECT_VERSION}.",
            fix=f"set the module flag amdhsa_code_object_version to {CODE_OBJECT_VERSION}00.",
            where=where,
        )
    return lowered


def start_worker() -> None:
    """Start LLVM's process in the background, so that it is warm at the first `compile_ir`."""
    _pool.start()


# A fatal error, a diagnostic with a source location, or the IR parser's message.
_COMPLAINT = re.compile(
    r"^(?P<parser>error: LLVM IR parsing error\n)?"
    r"(?:LLVM ERROR: |(?:error: )?(?:(?P<file>[^\n:]+):(?P<line>\d+):\d+: )?(?:error: )?)"
    r"(?P<text>.+)$",
    re.M,
)
_FIRST_COMPLAINT = re.compile(r"^(?:error: LLVM IR parsing error\n)?.*(?:error|ERROR): .+$", re.M)

_ADVICE = (
    ("Cannot select", "{arch} has no instruction for this; use another arch or operation."),
    ("local memory", "use less LDS: fewer stages or smaller tiles."),
)


def _refusal(output: str, kernel: str, arch: str, where: SourceLocation | None) -> CompilationError:
    """The error for what LLVM wrote, which may have warnings and stack traces around it."""
    found = _FIRST_COMPLAINT.search(output)
    complaint = _COMPLAINT.match(found[0] if found else output.strip().rpartition("\n")[2])
    assert complaint is not None
    text = complaint["text"].strip().rstrip(".")
    if complaint["parser"]:
        text = f"line {complaint['line']} of the IR: {text}"
    elif where is not None and complaint["file"] == os.path.basename(where.filename):
        # A diagnostic without a line has line 0.
        line = int(complaint["line"]) or where.line
        where = where if line == where.line else SourceLocation(where.filename, line)
    advice = next((fix for part, fix in _ADVICE if part in text), None)
    return CompilationError(
        f"LLVM cannot compile {kernel!r} for {arch}: {text}.",
        fix=advice.format(arch=arch) if advice else None,
        where=where,
    )
