"""Short vectors: making, loading, storing, indexing, arithmetic, reinterpretation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba.core import types

from pipedsl.core.errors import KernelTypeError
from pipedsl.target import gpu
from pipedsl.target.arrays import check_index, element_pointer, item_bytes
from pipedsl.target.composites import Array, Vector
from pipedsl.target.conversion import convert_scalar
from pipedsl.target.memory import dtype_of
from pipedsl.target.narrow import is_eight_bits
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Value,
    attributes_of,
    implements,
    known,
)
from pipedsl.target.promotion import common, scalar_type
from pipedsl.target.types import LDS, SCALARS, Constant, constant, dtype_name, register_type
from pipedsl.target.vector_type import VectorType

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_I32 = ir.IntType(32)
_MOST_ALIGNED = 16  # bytes that one lane moves with one instruction


def vector_of(kind: VectorType) -> Vector:
    """The Numba type of vectors of `kind`."""
    return Vector(SCALARS[kind.dtype], kind.count)


@implements(gpu.vec)
def _vec(compilation: Compilation, dtype: types.Type, count: types.Type) -> Operation:
    if not isinstance(count, Constant):
        raise TypeMismatch("gpu.vec() takes a compile-time constant as count.")
    scalar = dtype_of(dtype)
    return known(Constant(_vector_type(scalar, count.value)))


def _vector_type(scalar: types.Type, count: Any) -> VectorType:
    try:
        return gpu.vec(dtype_name(scalar), count)
    except KernelTypeError as error:
        raise TypeMismatch(error.message, error.fix) from None


def construct(compilation: Compilation, kind: VectorType, args: Sequence[types.Type]) -> Operation:
    """``vec(...)(x)`` and ``vec(...)(a, b, ...)``."""
    target = vector_of(kind)
    if len(args) not in (1, target.count):
        raise TypeMismatch(f"{kind} takes 1 or {target.count} values, not {len(args)}.")
    if len(args) == 1 and isinstance(args[0], Vector):
        return _convert(args[0], target)
    for arg in args:
        if scalar_type(arg) is None:
            raise TypeMismatch(f"{kind} takes numbers, not {arg}.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        return (build(low.builder, [value[0] for value in values], target),)

    return Operation(target, [target.dtype] * len(args), emit)


def build(builder: ir.IRBuilder, items: Sequence[ir.Value], target: Vector) -> ir.Value:
    """A vector of `items`, or of one item everywhere."""
    if len(items) == 1:
        items = list(items) * target.count
    if all(isinstance(item, ir.Constant) for item in items):
        return ir.Constant(target.llvm, list(items))
    vector: ir.Value = ir.Constant(target.llvm, ir.Undefined)
    for position, item in enumerate(items):
        vector = builder.insert_element(vector, item, ir.Constant(_I32, position))
    return vector


def _convert(source: Vector, target: Vector) -> Operation:
    if source.count != target.count:
        raise TypeMismatch(f"{source} does not become {target}: the counts differ.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        return (convert_vector(low.builder, values[0][0], source, target),)

    return Operation(target, [source], emit)


def convert_vector(
    builder: ir.IRBuilder, value: ir.Value, source: Vector, target: Vector
) -> ir.Value:
    """`value` with its elements converted to the target's type."""
    if source == target:
        return value
    items = [
        convert_scalar(
            builder,
            builder.extract_element(value, ir.Constant(_I32, position)),
            source.dtype,
            target.dtype,
        )
        for position in range(source.count)
    ]
    return build(builder, items, target)


# Memory


def _checked(array: types.Type, index: types.Type, what: str) -> Array:
    if not isinstance(array, Array):
        raise TypeMismatch(f"gpu.{what}() takes an array, not {array}.")
    if array.layout != "C":
        raise TypeMismatch(
            f"gpu.{what}() needs a C-contiguous array.", "pass np.ascontiguousarray(...)."
        )
    check_index(array, index)
    return array


def _alignment(array: Array, count: int) -> int:
    size = item_bytes(array) * (count if count != 3 else 1)
    return min(size & -size, _MOST_ALIGNED)


@implements(gpu.load_transposed)
def _load_transposed(compilation: Compilation, array: types.Type, index: types.Type) -> Operation:
    compilation.require("lds_transpose", "gpu.load_transposed()")
    source = _checked(array, index, "load_transposed")
    bits = 8 * item_bytes(source)
    if source.space != LDS or bits not in (8, 16):
        raise TypeMismatch(
            f"gpu.load_transposed() takes an LDS array of 8 or 16-bit elements, not {source}."
        )
    target = vector_of(_vector_type(source.dtype, 64 // bits))
    kind = ir.VectorType(ir.IntType(16), 4) if bits == 16 else ir.VectorType(_I32, 2)
    suffix = f"tr{bits}.b64.{'v4i16' if bits == 16 else 'v2i32'}"

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = element_pointer(low, source, values[0], index, values[1])
        loaded = low.call(f"llvm.amdgcn.ds.read.{suffix}", kind, [pointer])
        return (low.builder.bitcast(loaded, target.llvm),)

    return Operation(target, [array, index], emit)


def _distance(array: Array, offset: Any, what: str) -> int:
    """`offset` elements in bytes."""
    number = offset.value if isinstance(offset, Constant) else offset
    if not isinstance(number, int):
        raise TypeMismatch(
            f"gpu.{what}() takes a compile-time int as offset.", "add what varies to the index."
        )
    return number * item_bytes(array)


def _at(low: Lowering, pointer: ir.Value, distance: int) -> ir.Value:
    """A step of its own: an addition to the index could not be told from the rest of it."""
    if not distance:
        return pointer
    return low.builder.gep(pointer, [ir.Constant(_I32, distance)], source_etype=ir.IntType(8))


@implements(gpu.load)
def _load(
    compilation: Compilation,
    array: types.Type,
    index: types.Type,
    count: types.Type,
    offset: Any = 0,
) -> Operation:
    source = _checked(array, index, "load")
    distance = _distance(source, offset, "load")
    if not isinstance(count, Constant) or not isinstance(count.value, int):
        raise TypeMismatch("gpu.load() takes a compile-time constant as count.")
    target = vector_of(_vector_type(source.dtype, count.value))

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = _at(low, element_pointer(low, source, values[0], index, values[1]), distance)
        align = _alignment(source, target.count)
        return (low.builder.load(pointer, typ=target.llvm, align=align),)

    return Operation(target, [array, index, count, offset], emit)


@implements(gpu.store)
def _store(
    compilation: Compilation,
    array: types.Type,
    index: types.Type,
    value: types.Type,
    offset: Any = 0,
) -> Operation:
    target = _checked(array, index, "store")
    distance = _distance(target, offset, "store")
    if not isinstance(value, Vector):
        raise TypeMismatch(f"gpu.store() takes a vector, not {value}.", "use array[index] = value.")
    compilation.written |= target.parameters
    stored = Vector(target.dtype, value.count)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        pointer = _at(low, element_pointer(low, target, values[0], index, values[1]), distance)
        vector = convert_vector(low.builder, values[2][0], value, stored)
        low.builder.store(vector, pointer, align=_alignment(target, value.count))
        return ()

    return Operation(types.none, [array, index, value, offset], emit)


# Elements and attributes


def getitem(compilation: Compilation, vector: Vector, index: types.Type) -> Operation:
    """``vector[index]``"""
    if not isinstance(scalar_type(index), types.Integer):
        raise TypeMismatch(f"a vector index is an int, not {index}.")
    if isinstance(index, Constant) and not -vector.count <= index.value < vector.count:
        raise TypeMismatch(f"index {index.value} is out of range for {vector}.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        if isinstance(index, Constant):
            place: ir.Value = ir.Constant(_I32, index.value % vector.count)
        else:
            place = values[1][0]
        return (low.builder.extract_element(values[0][0], place),)

    return Operation(vector.dtype, [vector, index], emit)


@attributes_of(Vector)
def _attribute(compilation: Compilation, vector: Vector, name: str) -> Operation | None:
    if name == "size":
        return known(constant(vector.count))
    if name == "dtype":
        return known(constant(np.dtype(dtype_name(vector.dtype))))
    return None


@attributes_of(VectorType)
def _type_attribute(compilation: Compilation, source: types.Type, name: str) -> Operation | None:
    if name in ("count", "nbytes"):
        return known(constant(getattr(source.value, name)))
    return None


@implements(gpu.bitcast)
def _bitcast(compilation: Compilation, value: types.Type, kind: types.Type) -> Operation:
    source = value if isinstance(value, Vector) else scalar_type(value)
    target: Any
    if isinstance(kind, Constant) and isinstance(kind.value, VectorType):
        target = vector_of(kind.value)
    else:
        target = dtype_of(kind)
    if source is None:
        raise TypeMismatch(f"gpu.bitcast() takes a number or a vector, not {value}.")
    if _bits(source) != _bits(target):
        raise TypeMismatch(
            f"gpu.bitcast() cannot make {target} ({_bits(target)} bits) of {source} "
            f"({_bits(source)} bits)."
        )

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        wanted = target.llvm if isinstance(target, Vector) else register_type(target)
        return (low.builder.bitcast(values[0][0], wanted),)

    return Operation(target, [source, kind], emit)


def _bits(ty: Any) -> int:
    if isinstance(ty, Vector):
        return ty.count * ty.dtype.bitwidth
    return int(ty.bitwidth)


# Arithmetic


def elementwise(
    symbol: str,
    a: types.Type,
    b: types.Type,
    ints: Callable[..., ir.Value] | None,
    floats: Callable[..., ir.Value] | None,
) -> Operation | None:
    """The operation of two operands of which one is a vector, or None if neither is."""
    if not isinstance(a, Vector) and not isinstance(b, Vector):
        return None
    counts = {operand.count for operand in (a, b) if isinstance(operand, Vector)}
    if len(counts) > 1:
        raise TypeMismatch(f"{symbol} of {a} and {b}: the counts differ.")
    kinds = [operand.dtype if isinstance(operand, Vector) else operand for operand in (a, b)]
    if any(scalar_type(kind) is None for kind in kinds):
        raise TypeMismatch(f"{symbol} is not defined for {a} and {b}.")
    target = Vector(common(*kinds), counts.pop())
    function = floats if isinstance(target.dtype, types.Float) else ints
    if function is None or is_eight_bits(target.dtype):
        raise TypeMismatch(f"{symbol} is not defined for {a} and {b}.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        sides = [
            convert_vector(low.builder, value[0], operand, target)
            if isinstance(operand, Vector)
            else build(low.builder, [value[0]], target)
            for operand, value in zip((a, b), values, strict=True)
        ]
        return (function(low.builder, *sides),)

    args = [operand if isinstance(operand, Vector) else target.dtype for operand in (a, b)]
    return Operation(target, args, emit)
