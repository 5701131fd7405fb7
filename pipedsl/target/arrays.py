"""Indexing and attributes of arrays.

Offsets are computed in bytes as unsigned 32-bit values, so that an access is a uniform base in
SGPRs and one 32-bit register; arrays that span 4 GiB take 64 bits. A negative index that is known
at compile time counts from the end; other negative indices are not wrapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba.core import types

from pipedsl.core.dtypes import DTYPES
from pipedsl.target import gpu
from pipedsl.target.composites import Array
from pipedsl.target.conversion import convert_scalar, literal
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Value,
    attributes_of,
    implements,
    known,
)
from pipedsl.target.promotion import scalar_type
from pipedsl.target.types import (
    LDS,
    Constant,
    constant,
    dtype_name,
    memory_type,
    register_type,
    registers,
)

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering


def item_bytes(array: Array) -> int:
    """Size of an element."""
    return DTYPES[dtype_name(array.dtype)].bytes


def shape_of(array: Array, value: Value) -> list[ir.Value]:
    """The shape, in the array's index type."""
    if array.shape is not None:
        return [literal(size, array.index_type) for size in array.shape]
    return list(value[1 : 1 + array.ndim])


def strides_of(builder: ir.IRBuilder, array: Array, value: Value) -> list[ir.Value]:
    """The strides in bytes, in the array's index type."""
    if array.layout == "A":
        return list(value[-array.ndim :])
    stride: ir.Value = literal(item_bytes(array), array.index_type)
    strides = [stride]
    for size in reversed(shape_of(array, value)[1:]):
        stride = builder.mul(size, stride, flags=("nuw",))
        strides.append(stride)
    return strides[::-1]


def element_pointer(
    low: Lowering, array: Array, value: Value, index: types.Type, at: Value
) -> Operation:
    """Pointer to the element at `index`, whose registers are `at`."""
    builder = low.builder
    kinds = index.types if isinstance(index, types.BaseTuple) else (index,)
    wide = register_type(types.int64)
    offset: ir.Value | None = None
    shape, strides = shape_of(array, value), strides_of(builder, array, value)
    rest = list(at)
    for axis, kind in enumerate(kinds):
        width = len(registers(kind))
        position = _position(builder, array, shape[axis], kind, rest[:width])
        rest = rest[width:]
        term = builder.mul(position, strides[axis])
        offset = term if offset is None else builder.add(offset, term)
    assert offset is not None
    if array.space != LDS and not array.wide:
        offset = builder.zext(offset, wide)
    return builder.gep(value[0], [offset], source_etype=ir.IntType(8))


def _position(
    builder: ir.IRBuilder,
    array: Array,
    size: ir.Value,
    kind: types.Type,
    register: Sequence[ir.Value],
) -> ir.Value:
    wanted = array.index_type
    if isinstance(kind, Constant):
        position = literal(kind.value, wanted)
        return builder.add(size, position) if kind.value < 0 else position
    return convert_scalar(builder, register[0], kind, wanted)


def check_index(array: Array, index: types.Type) -> types.Type:
    """Refuse what cannot index `array`."""
    kinds = index.types if isinstance(index, types.BaseTuple) else (index,)
    for axis, kind in enumerate(kinds):
        if (isinstance(kind, Constant) and isinstance(kind.value, slice)) or str(kind) == "slice":
            raise TypeMismatch("slices are not supported in kernels.", "use an index per axis.")
        if not isinstance(scalar_type(kind), types.Integer):
            raise TypeMismatch(f"an array index is an int, not {kind}.")
        if array.shape is not None and isinstance(kind, Constant) and axis < len(array.shape):
            size = array.shape[axis]
            if size and not -size <= kind.value < size:
                raise TypeMismatch(f"index {kind.value} is out of range for an axis of {size}.")
    if len(kinds) != array.ndim:
        plural = "index" if array.ndim == 1 else "indices"
        raise TypeMismatch(f"a {array.ndim}-D array takes {array.ndim} {plural}, not {len(kinds)}.")
    return index


def getitem(compilation: Compilation, array: Array, index: types.Type) -> Operation:
    """``array[index]``"""
    check_index(array, index)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = element_pointer(low, array, values[0], index, values[1])
        stored = low.builder.load(pointer, typ=memory_type(array.dtype), align=item_bytes(array))
        if array.dtype == types.boolean:
            stored = low.builder.icmp_unsigned("!=", stored, ir.Constant(stored.type, 0))
        return (stored,)

    return Operation(array.dtype, [array, index], emit)


@implements("setitem")
def setitem(
    compilation: Compilation, array: types.Type, index: types.Type, value: types.Type
) -> Operation:
    """``array[index] = value``"""
    check_index(array, index)
    if scalar_type(value) is None:
        raise TypeMismatch(f"an array of {dtype_name(array.dtype)} cannot hold {value}.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = element_pointer(low, array, values[0], index, values[1])
        (register,) = values[2]
        if array.dtype == types.boolean:
            register = low.builder.zext(register, memory_type(array.dtype))
        low.builder.store(register, pointer, align=item_bytes(array))
        return ()

    return Operation(types.none, [array, index, array.dtype], emit)


@implements(gpu.element)
def _element(compilation: Compilation, array: types.Type, index: types.Type) -> Operation:
    if not isinstance(array, Array):
        raise TypeMismatch(f"gpu.element() takes an array, not {array}.")
    check_index(array, index)
    kind = Array(array.dtype, 1, space=array.space, shape=(1,), parameters=array.parameters)
    return Operation(
        kind,
        [array, index],
        lambda low, values: (element_pointer(low, array, values[0], index, values[1]),),
    )


@attributes_of(Array)
def _attribute(compilation: Compilation, array: Array, name: str) -> Operation | None:
    if name == "ndim":
        return known(constant(array.ndim))
    if name == "dtype":
        return known(constant(np.dtype(dtype_name(array.dtype))))
    if name == "itemsize":
        return known(constant(item_bytes(array)))
    if name == "shape":
        if array.shape is not None:
            return known(constant(array.shape))
        kind = types.UniTuple(array.index_type, array.ndim)
        return Operation(kind, [array], lambda low, values: tuple(shape_of(array, values[0])))
    if name == "strides":
        kind = types.UniTuple(array.index_type, array.ndim)
        return Operation(
            kind, [array], lambda low, values: tuple(strides_of(low.builder, array, values[0]))
        )
    if name == "size":
        return Operation(
            array.index_type, [array], lambda low, values: _size(low, array, values[0])
        )
    return None


def _size(low: Lowering, array: Array, value: Value) -> Value:
    first, *others = shape_of(array, value)
    for size in others:
        first = low.builder.mul(first, size, flags=("nuw",))
    return (first,)
