"""Groups of arrays that host code reaches through one pointer.

Numba passes a tuple of arrays as several numbers per array to every function that it is handed to,
which makes its compile time grow with the square of the arrays. Here, an attribute of a group is read
where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.pythonapi import NativeValue
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, register_model, unbox
from numba.np.arrayobj import make_array
from numba.np.numpy_support import from_dtype

from pipedsl.core.cache import content_key

_I64 = ir.IntType(64)
_T = TypeVar("_T", bound="Tables")


@dataclass(frozen=True)
class Tables:
    """Base of the groups: frozen dataclasses of C-contiguous arrays, integers and other groups."""

    @cached_property
    def _numba_type_(self) -> TablesType:
        return _type_of(
            type(self).__name__, tuple((field.name, _mark(value)) for field, value in self._items())
        )

    @cached_property
    def _words(self) -> np.ndarray:
        """Per attribute an integer, the address of a group, or that of an array and its shape."""
        words: list[int] = []
        for _, value in self._items():
            if isinstance(value, np.ndarray):
                words += [value.ctypes.data, *value.shape]
            else:
                words.append(value.address if isinstance(value, Tables) else value)
        return np.array(words, np.int64)

    @cached_property
    def address(self) -> int:
        """Of the words that describe the group; valid as long as the group lives."""
        return self._words.ctypes.data

    def copy(self: _T) -> _T:
        """The same contents in arrays of its own."""
        return type(self)(
            *(value if isinstance(value, int) else value.copy() for _, value in self._items())
        )

    def refill(self: _T, source: _T) -> bool:
        """Take the contents of `source`; False, and nothing is changed, if a shape differs."""
        pairs = list(zip(self.arrays(), source.arrays(), strict=True))
        if any(mine.shape != theirs.shape for mine, theirs in pairs):
            return False
        for mine, theirs in pairs:
            mine[...] = theirs
        return True

    def arrays(self) -> list[np.ndarray]:
        """All arrays, those of inner groups included."""
        found: list[np.ndarray] = []
        for _, value in self._items():
            if isinstance(value, Tables):
                found += value.arrays()
            elif isinstance(value, np.ndarray):
                found.append(value)
        return found

    def _items(self) -> list[tuple[Any, Any]]:
        return [(field, getattr(self, field.name)) for field in fields(self)]


def _mark(value: Any) -> Any:
    """What decides the type of an attribute."""
    if isinstance(value, Tables):
        return value._numba_type_
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return value.dtype.char, value.ndim
    return None


@cache
def _type_of(name: str, marks: tuple[tuple[str, Any], ...]) -> TablesType:
    return TablesType(name, tuple((attribute, _kind(mark)) for attribute, mark in marks))


def _kind(mark: Any) -> types.Type:
    if isinstance(mark, TablesType):
        return mark
    if mark is None:
        return types.int64
    char, axes = mark
    return types.Array(from_dtype(np.dtype(char)), axes, "C")


class TablesType(types.Type):
    """A group, to Numba: the types of its attributes in order."""

    def __init__(self, name: str, kinds: tuple[tuple[str, types.Type], ...]) -> None:
        self.kinds = kinds
        # Short, because it is part of the names of all functions that take it.
        super().__init__(f"{name}.{content_key(str(kinds))[:8]}")

    def place(self, name: str) -> tuple[int, types.Type]:
        """First word, and type, of an attribute."""
        place = 0
        for other, kind in self.kinds:
            if other == name:
                return place, kind
            place += 1 + (kind.ndim if isinstance(kind, types.Array) else 0)
        raise AttributeError(name)


@register_model(TablesType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: TablesType) -> None:
        super().__init__(manager, kind, _I64)


@unbox(TablesType)
def _unbox(kind: TablesType, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "address")
    number = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(number, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _Attributes(AttributeTemplate):
    key = TablesType

    def generic_resolve(self, kind: TablesType, name: str) -> types.Type:
        return kind.place(name)[1]


@lower_getattr_generic(TablesType)
def _lower(context: Any, builder: Any, kind: TablesType, value: Any, name: str) -> Any:
    place, wanted = kind.place(name)
    words = builder.inttoptr(value, ir.PointerType(_I64))

    def word(number: int) -> Any:
        return builder.load(builder.gep(words, [_I64(place + number)]))

    if not isinstance(wanted, types.Array):
        return word(0)
    array = make_array(wanted)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(wanted.dtype))
    shape = [word(1 + axis) for axis in range(wanted.ndim)]
    strides = [_I64(size)]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    count = shape[0]
    for extent in shape[1:]:
        count = builder.mul(count, extent)
    array.data = builder.inttoptr(word(0), context.get_data_type(wanted.dtype).as_pointer())
    array.itemsize = _I64(size)
    array.nitems = count
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, strides)
    array.meminfo = ir.Constant(array.meminfo.type, None)
    array.parent = ir.Constant(array.parent.type, None)
    return array._getvalue()
