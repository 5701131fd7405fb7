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

GLOBAL, LDS = 1, 3
"""LLVM address spaces of global memory and of a workgroup's local data share."""

SCALARS: dict[str, types.Type] = {
    name: types.boolean if name == "bool" else getattr(types, name) for name in DTYPES
}

_NAMES = {scalar: name for name, scalar in SCALARS.items()}

_LLVM = {"half": ir.HalfType(), "float": ir.FloatType(), "double": ir.DoubleType()} | {
    f"i{bits}": ir.IntType(bits) for bits in (8, 16, 32, 64)
}


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


class Array(types.Type):
    """A 1-D to 3-D array in global memory or LDS.

    Attributes
    ----------
    dtype : numba.types.Type
    ndim : int
    layout : {"C", "A"}
        C-contiguous, or with a stride per axis.
    space : int
        `GLOBAL` or `LDS`.
    shape : tuple of int or None
        The shape where it is known at compile time.
    wide : bool
        Whether offsets take 64 bits (the array spans 4 GiB or has negative strides).
    parameters : frozenset of int
        Positions of the kernel parameters that it may be, so that writes are attributed.
    """

    def __init__(
        self,
        dtype: types.Type,
        ndim: int,
        layout: str = "C",
        space: int = GLOBAL,
        shape: tuple[int, ...] | None = None,
        wide: bool = False,
        parameters: frozenset[int] = frozenset(),
    ) -> None:
        self.dtype = dtype
        self.ndim = ndim
        self.layout = layout
        self.space = space
        self.shape = shape
        self.wide = wide
        self.parameters = parameters
        where = "LDS " if space == LDS else ""
        extra = "".join(
            f", {note}"
            for note in (
                "strided" if layout == "A" else "",
                f"shape={shape}" if shape is not None else "",
                "64-bit offsets" if wide else "",
            )
            if note
        )
        self._key = (dtype, ndim, layout, space, shape, wide, parameters)
        super().__init__(name=f"{where}array({dtype}, {ndim}-D{extra})")

    @property
    def key(self) -> Hashable:
        return self._key

    @property
    def index_type(self) -> types.Type:
        """Type of the shape's and strides' elements."""
        return types.int64 if self.wide else types.int32

    @property
    def pointer_type(self) -> ir.PointerType:
        """LLVM type of the base pointer."""
        return ir.PointerType(addrspace=self.space)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the registers."""
        shape = () if self.shape is not None else tuple(f"shape.{i}" for i in range(self.ndim))
        strides = tuple(f"stride.{i}" for i in range(self.ndim)) if self.layout == "A" else ()
        return ("pointer", *shape, *strides)

    def registers(self) -> tuple[ir.Type, ...]:
        """LLVM types of the registers."""
        index = register_type(self.index_type)
        return (self.pointer_type, *(index for _ in self.parts[1:]))

    def attributed_to(self, parameters: frozenset[int]) -> Array:
        """The same type, attributed to kernel parameters."""
        return Array(
            self.dtype, self.ndim, self.layout, self.space, self.shape, self.wide, parameters
        )


class Object(types.Type):
    """An instance of a Python class: its fields, each constant or in registers.

    Attributes
    ----------
    cls : type
    fields : dict of str to numba.types.Type
        In the order in which ``__init__`` first assigns them.
    """

    def __init__(self, cls: type, fields: tuple[tuple[str, types.Type], ...]) -> None:
        self.cls = cls
        self.fields = dict(fields)
        self._key = (cls, fields)
        super().__init__(name=cls.__name__)

    @property
    def key(self) -> Hashable:
        return self._key

    def registers(self) -> tuple[ir.Type, ...]:
        """LLVM types of the registers."""
        return registers(*self.fields.values())

    def field_slice(self, name: str) -> slice:
        """Which registers hold the field `name`."""
        start = 0
        for field, ty in self.fields.items():
            stop = start + len(registers(ty))
            if field == name:
                return slice(start, stop)
            start = stop
        raise KeyError(name)


class Method(types.Type):
    """A function bound to a receiver, whose registers it has."""

    def __init__(self, receiver: types.Type, function: Any) -> None:
        self.receiver = receiver
        self.function = function
        self._key = (receiver, id(function))
        super().__init__(name=f"{receiver}.{function.__name__}")

    @property
    def key(self) -> Hashable:
        return self._key

    def registers(self) -> tuple[ir.Type, ...]:
        """LLVM types of the registers."""
        return registers(self.receiver)


class Range(types.Type):
    """``range(start, stop, step)`` over one integer type.

    `step` is the step where it is known at compile time, else None and in a register.
    """

    def __init__(self, item: types.Integer, step: int | None) -> None:
        self.item = item
        self.step = step
        super().__init__(name=f"range({item}, step={'?' if step is None else step})")

    def registers(self) -> tuple[ir.Type, ...]:
        """LLVM types of start, stop and, where it is not constant, step."""
        return (register_type(self.item),) * (3 if self.step is None else 2)


class RangeIterator(types.Type):
    """The state of a loop over a `Range`: pointers to the next value and to the count left."""

    def __init__(self, source: Range) -> None:
        self.source = source
        super().__init__(name=f"iterator of {source}")

    def registers(self) -> tuple[ir.Type, ...]:
        """LLVM types of the two pointers and of a step that is not constant."""
        pointer = ir.PointerType(addrspace=STACK)
        step = () if self.source.step is not None else (register_type(self.source.item),)
        return (pointer, pointer, *step)


STACK = 5
"""LLVM address space of a lane's stack."""


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
        elif isinstance(ty, (Array, Object, Method, Range, RangeIterator)):
            found.extend(ty.registers())
    return tuple(found)
