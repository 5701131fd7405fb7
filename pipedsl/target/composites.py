"""Types of arrays, objects, methods and ranges."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from llvmlite import ir
from numba.core import types

from pipedsl.core.dtypes import DTYPES
from pipedsl.target.types import (
    GLOBAL,
    LDS,
    STACK,
    Composite,
    dtype_name,
    register_type,
    registers,
)


class Array(Composite):
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


class Vector(Composite):
    """A short vector in consecutive registers.

    Attributes
    ----------
    dtype : numba.types.Type
    count : int
    """

    def __init__(self, dtype: types.Type, count: int) -> None:
        self.dtype = dtype
        self.count = count
        super().__init__(name=f"vec({dtype}, {count})")

    @property
    def llvm(self) -> ir.VectorType:
        """The LLVM vector type."""
        return ir.VectorType(register_type(self.dtype), self.count)

    def registers(self) -> tuple[ir.Type, ...]:
        """One LLVM value."""
        return (self.llvm,)


class LocalArray(Composite):
    """An array of scalars or vectors in a thread's registers; its register is its address.

    Attributes
    ----------
    item : numba.types.Type
        A scalar type or a `Vector`.
    shape : tuple of int
    """

    def __init__(self, item: types.Type, shape: tuple[int, ...]) -> None:
        self.item = item
        self.shape = shape
        super().__init__(name=f"local array({item}, shape={shape})")

    def registers(self) -> tuple[ir.Type, ...]:
        """A pointer to the stack, which LLVM turns into registers."""
        return (ir.PointerType(addrspace=STACK),)


class Buffer(Composite):
    """A buffer resource: base and size of an array, in four SGPRs.

    Attributes
    ----------
    dtype : numba.types.Type
    parameters : frozenset of int
        As of `Array`.
    """

    def __init__(self, dtype: types.Type, parameters: frozenset[int]) -> None:
        self.dtype = dtype
        self.parameters = parameters
        self._key = (dtype, parameters)
        super().__init__(name=f"buffer({dtype})")

    @property
    def key(self) -> Hashable:
        return self._key

    @property
    def item_bytes(self) -> int:
        """Size of an element."""
        return DTYPES[dtype_name(self.dtype)].bytes

    def registers(self) -> tuple[ir.Type, ...]:
        """LLVM's buffer resource pointer."""
        return (ir.PointerType(addrspace=8),)


class Object(Composite):
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


class Method(Composite):
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


class Range(Composite):
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


class RangeIterator(Composite):
    """The state of a loop over a `Range`: pointers to the next value and to the count left."""

    def __init__(self, source: Range) -> None:
        self.source = source
        super().__init__(name=f"iterator of {source}")

    def registers(self) -> tuple[ir.Type, ...]:
        """LLVM types of the two pointers and of a step that is not constant."""
        pointer = ir.PointerType(addrspace=STACK)
        step = () if self.source.step is not None else (register_type(self.source.item),)
        return (pointer, pointer, *step)
