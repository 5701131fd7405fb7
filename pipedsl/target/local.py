"""Arrays in a thread's registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types

from pipedsl.core.dtypes import DTYPES
from pipedsl.target import gpu
from pipedsl.target.composites import LocalArray, Vector
from pipedsl.target.memory import constant_shape, dtype_of
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Value,
    attributes_of,
    implements,
    known,
)
from pipedsl.target.promotion import scalar_type
from pipedsl.target.types import Constant, constant, dtype_name, register_type
from pipedsl.target.vector_type import VectorType
from pipedsl.target.vectors import build, convert_vector, vector_of

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_I32 = ir.IntType(32)


def item_type(item: types.Type) -> ir.Type:
    """LLVM type of an element."""
    return item.llvm if isinstance(item, Vector) else register_type(item)


def item_bytes(item: types.Type) -> int:
    """Bytes of an element."""
    scalar, count = (item.dtype, item.count) if isinstance(item, Vector) else (item, 1)
    return count * DTYPES[dtype_name(scalar)].bytes


@attributes_of(type(gpu.local))
def _local_attribute(compilation: Compilation, source: types.Type, name: str) -> Operation | None:
    return known(_ARRAY) if name == "array" else None


_ARRAY = Constant(type(gpu.local).array)


@implements(type(gpu.local).array)
def _local_array(compilation: Compilation, shape: types.Type, dtype: types.Type) -> Operation:
    sizes = constant_shape(shape, "gpu.local.array()")
    if any(size <= 0 for size in sizes):
        raise TypeMismatch(f"gpu.local.array() has the shape {sizes}.", "use positive sizes.")
    vector = isinstance(dtype, Constant) and isinstance(dtype.value, VectorType)
    kind = LocalArray(vector_of(dtype.value) if vector else dtype_of(dtype), sizes)
    count = 1
    for size in sizes:
        count *= size

    vgprs = count * -(-item_bytes(kind.item) // 4)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        slot = low.slot(ir.ArrayType(item_type(kind.item), count), "local")
        low.footprint.add(slot, vgprs, low.where(), low.builder.block)
        return (slot,)

    return Operation(kind, [shape, dtype], emit)


def _place(array: LocalArray, index: types.Type) -> int:
    """Position of the element that a constant index names."""
    kinds = index.types if isinstance(index, types.BaseTuple) else (index,)
    if len(kinds) != len(array.shape):
        raise TypeMismatch(f"{array} takes {len(array.shape)} indices, not {len(kinds)}.")
    place = 0
    for kind, size in zip(kinds, array.shape, strict=True):
        if not isinstance(kind, Constant) or not isinstance(kind.value, int):
            raise TypeMismatch(
                "registers cannot be indexed at run time: this index is not a compile-time constant.",
                "loop over gpu.static_range(...), or use an array in LDS.",
            )
        if not -size <= kind.value < size:
            raise TypeMismatch(f"index {kind.value} is out of range for an axis of {size}.")
        place = place * size + kind.value % size
    return place


def _pointer(low: Lowering, array: LocalArray, base: ir.Value, place: int) -> ir.Value:
    indices = [ir.Constant(_I32, place)]
    return low.builder.gep(base, indices, source_etype=item_type(array.item), inbounds=True)


def getitem(compilation: Compilation, array: LocalArray, index: types.Type) -> Operation:
    """``array[index]``"""
    place = _place(array, index)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = _pointer(low, array, values[0][0], place)
        low.footprint.use(values[0][0], low.builder.block)
        return (low.builder.load(pointer, typ=item_type(array.item)),)

    return Operation(array.item, [array, index], emit)


def setitem(
    compilation: Compilation, array: LocalArray, index: types.Type, value: types.Type
) -> Operation:
    """``array[index] = value``"""
    place, item = _place(array, index), array.item
    if isinstance(value, Vector):
        if not isinstance(item, Vector) or item.count != value.count:
            raise TypeMismatch(f"{array} cannot hold {value}.")
        wanted: types.Type = value
    elif scalar_type(value) is None:
        raise TypeMismatch(f"{array} cannot hold {value}.")
    else:
        wanted = item.dtype if isinstance(item, Vector) else item

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        stored = values[2][0]
        low.footprint.use(values[0][0], low.builder.block, stored)
        if isinstance(value, Vector):
            stored = convert_vector(low.builder, stored, value, item)
        elif isinstance(item, Vector):
            stored = build(low.builder, [stored], item)
        low.builder.store(stored, _pointer(low, array, values[0][0], place))
        return ()

    return Operation(types.none, [array, index, wanted], emit)


@attributes_of(LocalArray)
def _attribute(compilation: Compilation, array: LocalArray, name: str) -> Operation | None:
    if name == "shape":
        return known(constant(array.shape))
    return None
