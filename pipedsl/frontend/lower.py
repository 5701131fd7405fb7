"""From a captured kernel and argument types to LLVM IR."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipedsl.core.arch import Arch, get_arch
from pipedsl.core.errors import KernelTypeError, PipedslError, ResourceError
from pipedsl.core.image import Parameter
from pipedsl.frontend.source import KernelSource
from pipedsl.isa.budget import Budget
from pipedsl.target.signature import ArgumentType, lower_kernel

Block = int | tuple[int, ...] | None


@dataclass(frozen=True)
class Options:
    """Choices of one compilation.

    Attributes
    ----------
    unchecked : bool
        Leave arch limits and features to LLVM (for tests of its failures).
    waves_per_eu : int or None
        Waves per SIMD that the compiler leaves registers for.
    timeout_ms : float or None
        Milliseconds after which a wait gives up.
    trace : bool
        Note the shader clock at waits and signals.
    """

    unchecked: bool = False
    waves_per_eu: int | None = None
    timeout_ms: float | None = None
    trace: bool = False


@dataclass(frozen=True)
class FrontendResult:
    """A kernel as LLVM IR.

    Attributes
    ----------
    llvm_ir : str
    kernel : str
        Symbol of the kernel.
    parameters : tuple of Parameter
        In the order of the Python signature.
    lds_bytes : int
        Static LDS.
    sources : dict of str to str
        Text of the user's files that line information refers to.
    budget : Budget or None
        Of a kernel with roles.
    """

    llvm_ir: str
    kernel: str
    parameters: tuple[Parameter, ...]
    lds_bytes: int
    sources: dict[str, str]
    budget: Budget | None


def lower(
    source: KernelSource,
    arg_types: Sequence[ArgumentType],
    arch: Arch | str,
    block: Block = None,
    options: Options | None = None,
) -> FrontendResult:
    """Type and lower a kernel.

    Parameters
    ----------
    source : KernelSource
    arg_types : sequence
        As `type_of` gives them, one per parameter.
    arch : Arch or str
    block : int or tuple of int, optional
        The exact workgroup size of the launches, per axis; an int is the size of a 1-D block.
        Without it the code reads the size when it runs.
    options : Options, optional

    Raises
    ------
    KernelError
        Of the user's source, with the user's line.
    ResourceError
        If the block, the kernel's LDS or its accumulators are over the arch's limit.
    """
    arch = get_arch(arch)
    options = options or Options()
    axes = block_axes(block)
    if len(arg_types) != len(source.parameters):
        raise KernelTypeError(
            f"{source.name}() takes {len(source.parameters)} arguments, not {len(arg_types)}.",
            fix=f"its signature is {source.name}{source.signature}.",
            where=source.where,
        )
    waves = options.waves_per_eu
    if waves is not None and not 1 <= waves <= arch.max_waves_per_simd:
        raise ResourceError(
            f"waves_per_eu={waves} is outside 1 to {arch.max_waves_per_simd} on {arch.name}.",
            fix="use a smaller number.",
            where=source.where,
        )
    if axes is not None and not options.unchecked:
        _check_block(axes, arch, source)
    symbol = kernel_symbol(source.name)
    try:
        lowered = lower_kernel(
            source.function,
            arg_types,
            arch,
            axes,
            symbol,
            unchecked=options.unchecked,
            waves_per_eu=options.waves_per_eu,
            timeout_ms=options.timeout_ms,
            trace=options.trace,
        )
    except PipedslError as error:
        _show_captured_line(error, source)
        raise
    return FrontendResult(
        llvm_ir=lowered.llvm_ir,
        kernel=symbol,
        parameters=lowered.parameters,
        lds_bytes=lowered.lds_bytes,
        budget=lowered.budget,
        sources={name: text for name, text in _texts(lowered.filenames, source).items() if text},
    )


def block_axes(block: Block) -> tuple[int, int, int] | None:
    """`block` as three sizes."""
    if block is None:
        return None
    sizes = (block,) if isinstance(block, int) else tuple(block)
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def kernel_symbol(name: str) -> str:
    """A symbol that assemblers accept, made from a Python name."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def _check_block(axes: tuple[int, int, int], arch: Arch, source: KernelSource) -> None:
    x, y, z = axes
    if not 0 < x * y * z <= arch.max_block:
        raise ResourceError(
            f"a block of {x * y * z} threads is outside 1 to {arch.max_block} on {arch.name}.",
            fix="use a smaller block and a larger grid.",
            where=source.where,
        )


def _show_captured_line(error: PipedslError, source: KernelSource) -> None:
    """Show the line as it was at capture: the file may have changed since."""
    where = error.where
    if where is not None and where.text is None and where.filename == source.filename:
        lines = source.file_text.splitlines()
        if where.line <= len(lines):
            error.where = replace(where, text=lines[where.line - 1])


def _texts(filenames: frozenset[str], source: KernelSource) -> dict[str, str]:
    return {
        name: source.file_text if name == source.filename else "".join(linecache.getlines(name))
        for name in sorted(filenames)
    }
