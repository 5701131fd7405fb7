"""Types of values in kernels, and the registers that hold a value of each type.

A value of a Numba type is a flat tuple of LLVM values, its *registers*: one for a scalar, none for
anything known at compile time, pointer, shape and strides for an array, and the concatenation of
the parts for tuples and objects. So nothing is ever packed into, or pulled out of, an aggregate.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from pipedsl.core.dtypes import DTYPES
from pipedsl.target.narrow import BFLOAT, EIGHT_BITS, bfloat16

GLOBAL, LDS, STACK = 1, 3, 5
"""LLVM address spaces of memory, of a workgroup's local data share and of a lane's stack."""

SCALARS: dict[str, types.Type] = {
    name: {"bool": types.boolean, "bfloat16": bfloat16, **EIGHT_BITS}.get(name)
    or getattr(types, name)
    for name in DTYPES
}

_NAMES = {scalar: name for name, scalar in SCALARS.items()}

_LLVM = {
    "half": ir.HalfType(),
    "bfloat": BFLOAT,
    "float": ir.FloatType(),
    "double": ir.DoubleType(),
} | {f"i{bits}": ir.IntType(bits) for bits in (8, 16, 32, 64)}


def dtype_name(scalar: types.Type) -> str:
    """Name of a scalar type in `DTYPES`."""
    return _NAMES[scalar]


def memory_type(scalar: types.Type) -> ir.Type:
    """LLVM type of a scalar in memory."""
    return _LLVM[DTYPES[_NAMES[scalar]].llvm]


def register_type(scalar: types.Type) -> ir.Type:
    """LLVM type of a scalar in a register."""
    return ir.IntType(1) if scalar == types.boolean else memory_type(scalar)


def is_scalar(ty: types.Type) -> bool:
    """Whether `ty` is one of `SCALARS` (not a compile-time constant)."""
    return ty in _NAMES


class Constant(types.Type):
    """A value known at compile time; it has no registers.

    Attributes
    ----------
    value : object
        The Python value: a number, a dtype, a module, a function, a class ...
    scalar : numba.types.Type or None
        The type it has when it is put into a register; None if it cannot be.
    weak : bool
        Whether `scalar` gives way to the type of the other operand, as for a Python literal.
    """

    def __init__(self, value: Any, scalar: types.Type | None = None, weak: bool = True) -> None:
        self.value = value
        self.scalar = scalar
        self.weak = weak
        self._key = (type(value), _identity(value), scalar, weak)
        super().__init__(name=_describe(value))

    @property
    def key(self) -> Hashable:
        return self._key


def _identity(value: Any) -> Hashable:
    if isinstance(value, (bool, int, float, str)):
        return repr(value)  # tells 0.0 from -0.0, and equals itself for NaN
    return id(value)


def _describe(value: Any) -> str:
    if isinstance(value, (bool, int, float, str)):
        return f"the constant {value!r}"
    return getattr(value, "__name__", None) or repr(value)


def int_type(value: int) -> types.Type | None:
    """The type of a Python int: the first of int32, int64 and uint64 that holds it."""
    for name in ("int32", "int64", "uint64"):
        info = np.iinfo(name)
        if info.min <= value <= info.max:
            return SCALARS[name]
    return None


def constant(value: Any) -> types.Type:
    """Type of a Python object that a kernel refers to.

    Raises
    ------
    ValueError
        If it cannot be used in a kernel.
    """
    if value is None:
        return types.none
    if isinstance(value, bool):
        return Constant(value, types.boolean)
    if isinstance(value, np.generic):
        if value.dtype.name not in SCALARS:
            raise ValueError(f"values of type {value.dtype} are not supported in kernels")
        return Constant(value.item(), SCALARS[value.dtype.name], weak=False)
    if isinstance(value, int):
        scalar = int_type(value)
        if scalar is None:
            raise ValueError(f"the integer {value} needs more than 64 bits")
        return Constant(value, scalar)
    if isinstance(value, float):
        return Constant(value, types.float32)
    if isinstance(value, tuple):
        return types.BaseTuple.from_types(tuple(constant(item) for item in value))
    if isinstance(value, (list, dict, set, np.ndarray)):
        raise ValueError(f"a {type(value).__name__} from outside the kernel cannot be used in it")
    return Constant(value)


class Composite(types.Type):
    """A type whose values take a fixed list of registers."""

    def registers(self) -> tuple[ir.Type, ...]:
        """LLVM types of the registers."""
        raise NotImplementedError


def registers(*kinds: types.Type) -> tuple[ir.Type, ...]:
    """LLVM types of the registers that values of `kinds` take, one after the other."""
    found: list[ir.Type] = []
    for ty in kinds:
        if is_scalar(ty):
            found.append(register_type(ty))
        elif isinstance(ty, types.BaseTuple):
            found.extend(registers(*ty.types))
        elif isinstance(ty, types.Pair):
            found.extend(registers(ty.first_type, ty.second_type))
        elif isinstance(ty, Composite):
            found.extend(ty.registers())
    return tuple(found)
