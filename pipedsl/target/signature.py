"""The target's face to the frontend: argument types in, LLVM IR and parameters out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from numba.core import types

from pipedsl.core import stamps, timeouts
from pipedsl.core.arch import Arch
from pipedsl.core.image import Parameter
from pipedsl.isa.budget import Budget
from pipedsl.target import registry
from pipedsl.target.compilation import Compilation
from pipedsl.target.composites import Array
from pipedsl.target.timeouts import TICKS_PER_MS
from pipedsl.target.types import SCALARS, dtype_name

ArgumentType: TypeAlias = types.Type

assert registry


@dataclass(frozen=True)
class LoweredKernel:
    """LLVM IR of one kernel.

    Attributes
    ----------
    llvm_ir : str
    parameters : tuple of Parameter
    lds_bytes : int
    filenames : frozenset of str
        Files that line information refers to.
    budget : Budget or None
        Of a kernel with roles.
    """

    llvm_ir: str
    parameters: tuple[Parameter, ...]
    lds_bytes: int
    filenames: frozenset[str]
    budget: Budget | None


def scalar_type(dtype: str) -> ArgumentType:
    """Type of a scalar argument."""
    return SCALARS[dtype]


def array_type(dtype: str, ndim: int, *, contiguous: bool, wide: bool) -> ArgumentType:
    """Type of an array argument in global memory; `wide` asks for 64-bit offsets."""
    return Array(SCALARS[dtype], ndim, "C" if contiguous else "A", wide=wide)


def lower_kernel(
    function: Callable[..., Any],
    arg_types: Sequence[ArgumentType],
    arch: Arch,
    block: tuple[int, int, int] | None,
    symbol: str,
    *,
    unchecked: bool = False,
    waves_per_eu: int | None = None,
    timeout_ms: float | None = None,
    trace: bool = False,
) -> LoweredKernel:
    """Compile `function` to LLVM IR.

    Raises
    ------
    KernelError, ResourceError
    """
    timeout = None if timeout_ms is None else max(1, round(timeout_ms * TICKS_PER_MS))
    hidden = [timeouts.PARAMETER] * (timeout is not None) + [stamps.PARAMETER] * trace
    compilation = Compilation(
        arch, block, unchecked=unchecked, waves_per_eu=waves_per_eu, timeout=timeout, trace=trace,
        hidden=hidden,
    )  # fmt: skip
    module = compilation.compile(function, arg_types, symbol)
    names = inspect.signature(function).parameters
    return LoweredKernel(
        llvm_ir=module.finish(waves_per_eu),
        parameters=(
            *(
                _parameter(name, ty, position in compilation.written)
                for position, (name, ty) in enumerate(zip(names, arg_types, strict=True))
            ),
            *(Parameter(name, "hidden", "int64", 0, ("pointer",)) for name in hidden),
        ),
        lds_bytes=module.lds_bytes,
        filenames=frozenset(module.debug.filenames),
        budget=compilation.budget,
    )


def _parameter(name: str, ty: ArgumentType, written: bool) -> Parameter:
    if isinstance(ty, Array):
        return Parameter(name, "array", dtype_name(ty.dtype), ty.ndim, ty.parts, written)
    return Parameter(name, "scalar", dtype_name(ty), 0, ("value",))
