"""Buffer resources: loads that give 0, and stores that do nothing, out of range.

A resource holds base and size in four SGPRs; an access adds a 32-bit offset per lane and a uniform
one, so that hot loops need no 64-bit addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target import gpu
from pipedsl.target.arrays import item_bytes, shape_of
from pipedsl.target.composites import Array, Buffer, Vector
from pipedsl.target.conversion import literal
from pipedsl.target.operations import (
    Operation,
    TypeMismatch,
    Value,
    implements,
)
from pipedsl.target.promotion import scalar_type
from pipedsl.target.types import GLOBAL, LDS, Constant, dtype_name, register_type
from pipedsl.target.vectors import convert_vector

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_VOID, _I16, _I32, _I64 = ir.VoidType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)

# Last dword of a raw buffer resource: 32-bit data format; on gfx11 and later also the
# out-of-range check of raw buffers (RDNA3 ISA, table "Buffer Resource Descriptor").
_WORD3 = {9: 0x00027000, 11: 0x31004000, 12: 0x31004000}


@implements(gpu.buffer)
def _buffer(compilation: Compilation, array: types.Type, size: Any = None) -> Operation:
    if not isinstance(array, Array) or array.space != GLOBAL or array.wide or array.layout != "C":
        raise TypeMismatch(
            f"gpu.buffer() takes a C-contiguous array in global memory below 4 GiB, not {array}."
        )
    kind = Buffer(array.dtype, array.parameters)
    if size is not types.none and not isinstance(scalar_type(size), types.Integer):
        raise TypeMismatch(f"gpu.buffer() takes an int as size, not {size}.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        builder = low.builder
        count: ir.Value = ir.Constant(_I32, 1)
        for extent in shape_of(array, values[0]) if size is types.none else [values[1][0]]:
            count = builder.mul(count, extent)
        nbytes = builder.mul(count, ir.Constant(_I32, item_bytes(array)))
        args = [
            values[0][0],
            ir.Constant(_I16, 0),
            builder.zext(nbytes, _I64),
            ir.Constant(_I32, _WORD3[compilation.arch.generation]),
        ]
        name = "llvm.amdgcn.make.buffer.rsrc.p8.p1"
        return (low.call(name, ir.PointerType(addrspace=8), args),)

    return Operation(kind, [array, types.none if size is types.none else types.int32], emit)


def _offsets(
    low: Lowering, buffer: Buffer, index: ir.Value, base: types.Type, value: Value
) -> list[ir.Value]:
    """Byte offsets per lane and uniform."""
    size = ir.Constant(_I32, buffer.item_bytes)
    uniform = literal(base.value, types.int32) if isinstance(base, Constant) else value[0]
    return [low.builder.mul(index, size), low.builder.mul(uniform, size)]


def _uniform(base: types.Type) -> types.Type:
    """The type that a uniform index is passed as: a constant stays one."""
    return base if isinstance(base, Constant) else types.int32


def _check(what: str, buffer: types.Type, index: types.Type, base: types.Type) -> Buffer:
    if not isinstance(buffer, Buffer):
        raise TypeMismatch(
            f"gpu.{what}() takes a buffer, not {buffer}.", "make it with gpu.buffer(array)."
        )
    for value in (index, base):
        if not isinstance(scalar_type(value), types.Integer):
            raise TypeMismatch(f"gpu.{what}() takes an int index, not {value}.")
    return buffer


def _access_type(buffer: Buffer, count: int) -> tuple[ir.Type, str]:
    """LLVM type of an access of up to 16 bytes, and its name in the intrinsic."""
    size = buffer.item_bytes * count
    if size in (1, 2):
        return ir.IntType(8 * size), f"i{8 * size}"
    if size == 4:
        return _I32, "i32"
    if size in (8, 12, 16):
        return ir.VectorType(_I32, size // 4), f"v{size // 4}i32"
    raise TypeMismatch(
        f"a buffer access moves 1, 2, 4, 8, 12 or 16 bytes, not {size}.",
        f"use another count of {dtype_name(buffer.dtype)}.",
    )


@implements(gpu.buffer_load)
def _buffer_load(
    compilation: Compilation, buffer: types.Type, index: types.Type, count: Any = 1, base: Any = 0
) -> Operation:
    source = _check("buffer_load", buffer, index, base)
    elements = _count("buffer_load", count)
    kind, name = _access_type(source, elements)
    result = source.dtype if elements == 1 else Vector(source.dtype, elements)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        offsets = _offsets(low, source, values[1][0], base, values[3])
        args = [values[0][0], *offsets, ir.Constant(_I32, 0)]
        raw = low.call(f"llvm.amdgcn.raw.ptr.buffer.load.{name}", kind, args)
        wanted = result.llvm if isinstance(result, Vector) else register_type(result)
        return (low.builder.bitcast(raw, wanted) if raw.type != wanted else raw,)

    return Operation(result, [buffer, types.int32, count, _uniform(base)], emit)


@implements(gpu.buffer_store)
def _buffer_store(
    compilation: Compilation,
    buffer: types.Type,
    index: types.Type,
    value: types.Type,
    base: Any = 0,
) -> Operation:
    target = _check("buffer_store", buffer, index, base)
    if not isinstance(value, Vector) and scalar_type(value) is None:
        raise TypeMismatch(f"gpu.buffer_store() takes a number or a vector, not {value}.")
    elements = value.count if isinstance(value, Vector) else 1
    kind, name = _access_type(target, elements)
    compilation.written |= target.parameters
    stored = Vector(target.dtype, elements) if isinstance(value, Vector) else target.dtype

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        raw = values[2][0]
        if isinstance(value, Vector):
            raw = convert_vector(low.builder, raw, value, stored)
        if raw.type != kind:
            raw = low.builder.bitcast(raw, kind)
        offsets = _offsets(low, target, values[1][0], base, values[3])
        args = [raw, values[0][0], *offsets, ir.Constant(_I32, 0)]
        low.call(f"llvm.amdgcn.raw.ptr.buffer.store.{name}", _VOID, args)
        return ()

    given = value if isinstance(value, Vector) else target.dtype
    return Operation(types.none, [buffer, types.int32, given, _uniform(base)], emit)


def _count(what: str, count: types.Type) -> int:
    if not isinstance(count, Constant) or not isinstance(count.value, int):
        raise TypeMismatch(f"gpu.{what}() takes a compile-time constant as count.")
    return int(count.value)


@implements(gpu.buffer_load_to_lds)
def _buffer_load_to_lds(
    compilation: Compilation,
    buffer: types.Type,
    index: types.Type,
    array: types.Type,
    start: types.Type,
    count: Any = 1,
    base: Any = 0,
) -> Operation:
    """The LDS address is uniform: lane i writes behind lane i - 1."""
    source = _check("buffer_load_to_lds", buffer, index, base)
    if not isinstance(array, Array) or array.space != LDS or array.ndim != 1:
        raise TypeMismatch(f"gpu.buffer_load_to_lds() fills a 1-D array in LDS, not {array}.")
    size = source.item_bytes * _count("buffer_load_to_lds", count)
    feature = {4: "lds_dma4", 12: "lds_dma16", 16: "lds_dma16"}.get(size)
    if feature is None:
        raise TypeMismatch(f"a load to LDS moves 4, 12 or 16 bytes per lane, not {size}.")
    compilation.require(feature, f"load to LDS of {size} bytes per lane")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        builder = low.builder
        place = builder.mul(values[3][0], ir.Constant(_I32, item_bytes(array)))
        pointer = builder.gep(values[2][0], [place], source_etype=ir.IntType(8))
        zero = ir.Constant(_I32, 0)
        voffset, soffset = _offsets(low, source, values[1][0], base, values[5])
        args = [values[0][0], pointer, ir.Constant(_I32, size), voffset, soffset, zero, zero]
        copy = low.call("llvm.amdgcn.raw.ptr.buffer.load.lds", _VOID, args)
        copy.set_metadata("alias.scope", low.module.scopes("copies"))
        return ()

    kinds = [buffer, types.int32, array, types.int32, count, _uniform(base)]
    return Operation(types.none, kinds, emit, copies=1)
