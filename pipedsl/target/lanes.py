"""Exchange, votes and reductions between the lanes of a wave."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import types

from pipedsl.target import gpu
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements
from pipedsl.target.promotion import scalar_type
from pipedsl.target.types import Constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

_I1, _I32 = ir.IntType(1), ir.IntType(32)


@implements(gpu.permlane32_swap)
def _permlane32_swap(compilation: Compilation, a: types.Type, b: types.Type) -> Operation:
    compilation.require("permlane_swap", "gpu.permlane32_swap()")
    for operand in (a, b):
        if not isinstance(scalar_type(operand), types.Integer):
            raise TypeMismatch(f"gpu.permlane32_swap() takes ints, not {operand}.")
    pair = ir.LiteralStructType([_I32, _I32])
    no = ir.Constant(_I1, 0)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        operands = [values[0][0], values[1][0], no, no]
        both = low.call("llvm.amdgcn.permlane32.swap", pair, operands)
        return (low.builder.extract_value(both, 0), low.builder.extract_value(both, 1))

    return Operation(types.UniTuple(types.int32, 2), [types.int32, types.int32], emit)


@implements(gpu.any_lane)
def _any_lane(compilation: Compilation, condition: types.Type) -> Operation:
    if scalar_type(condition) is None:
        raise TypeMismatch(f"gpu.any_lane() takes a bool, not {condition}.")
    mask = ir.IntType(compilation.arch.wave_size)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        lanes = low.call(f"llvm.amdgcn.ballot.i{mask.width}", mask, values[0])
        return (low.builder.icmp_unsigned("!=", lanes, ir.Constant(mask, 0)),)

    return Operation(types.boolean, [types.boolean], emit)


def _number(what: str, value: types.Type) -> Any:
    """The type of a number of up to 64 bits."""
    scalar = scalar_type(value)
    if scalar is None or scalar == types.boolean:
        raise TypeMismatch(f"gpu.{what}() takes a number, not {value}.")
    return scalar


def _by_dwords(low: Lowering, value: ir.Value, move: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """Apply a 32-bit lane operation to a value of 8 to 64 bits."""
    builder, kind = low.builder, value.type
    width = {"half": 16, "bfloat": 16, "float": 32, "double": 64}.get(str(kind)) or kind.width
    integer = ir.IntType(width)
    bits = builder.bitcast(value, integer) if kind != integer else value
    if width < 32:
        bits = builder.trunc(move(builder.zext(bits, _I32)), integer)
    elif width == 32:
        bits = move(bits)
    else:
        halves = [builder.trunc(bits, _I32), builder.trunc(builder.lshr(bits, integer(32)), _I32)]
        first, second = (builder.zext(move(half), integer) for half in halves)
        bits = builder.or_(first, builder.shl(second, integer(32)))
    return builder.bitcast(bits, kind) if kind != integer else bits


@implements(gpu.readfirstlane)
def _readfirstlane(compilation: Compilation, value: types.Type) -> Operation:
    scalar = _number("readfirstlane", value)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        def move(bits: ir.Value) -> ir.Value:
            return low.call("llvm.amdgcn.readfirstlane.i32", _I32, [bits])

        return (_by_dwords(low, values[0][0], move),)

    return Operation(scalar, [scalar], emit)


@implements(gpu.bpermute)
def _bpermute(compilation: Compilation, lane: types.Type, value: types.Type) -> Operation:
    scalar = _number("bpermute", value)
    if not isinstance(scalar_type(lane), types.Integer):
        raise TypeMismatch(f"gpu.bpermute() takes an int lane, not {lane}.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        address = low.builder.shl(values[0][0], ir.Constant(_I32, 2))
        return (_by_dwords(low, values[1][0], lambda bits: _permuted(low, address, bits)),)

    return Operation(scalar, [types.int32, scalar], emit)


def _permuted(low: Lowering, address: ir.Value, bits: ir.Value) -> ir.Value:
    return low.call("llvm.amdgcn.ds.bpermute", _I32, [address, bits])


# DPP controls that exchange lanes within a row of 16 (CDNA3 ISA, table "DPP_CTRL").
_DPP = {1: 0xB1, 2: 0x4E, 8: 0x128}


def exchange(low: Lowering, value: ir.Value, mask: int) -> ir.Value:
    """`value` of the lane whose number differs from this lane's in the bits of `mask`."""

    def move(bits: ir.Value) -> ir.Value:
        if mask in _DPP:
            full, bound = ir.Constant(_I32, 15), ir.Constant(_I1, 1)
            args = [bits, bits, ir.Constant(_I32, _DPP[mask]), full, full, bound]
            return low.call("llvm.amdgcn.update.dpp.i32", _I32, args)
        if mask < 32:
            pattern = ir.Constant(_I32, mask << 10 | 31)
            return low.call("llvm.amdgcn.ds.swizzle", _I32, [bits, pattern])
        lane = low.call("llvm.amdgcn.mbcnt.lo", _I32, [ir.Constant(_I32, -1), ir.Constant(_I32, 0)])
        lane = low.call("llvm.amdgcn.mbcnt.hi", _I32, [ir.Constant(_I32, -1), lane])
        other = low.builder.xor(lane, ir.Constant(_I32, mask))
        return _permuted(low, low.builder.shl(other, ir.Constant(_I32, 2)), bits)

    return _by_dwords(low, value, move)


@implements(gpu.shuffle_xor)
def _shuffle_xor(compilation: Compilation, value: types.Type, mask: types.Type) -> Operation:
    scalar = _number("shuffle_xor", value)
    size = compilation.arch.wave_size
    if not isinstance(mask, Constant) or not isinstance(mask.value, int):
        raise TypeMismatch("gpu.shuffle_xor() takes a compile-time constant as mask.")
    if not 0 < mask.value < size:
        raise TypeMismatch(
            f"gpu.shuffle_xor() is given the mask {mask.value}.", f"use 1 to {size - 1}."
        )

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        return (exchange(low, values[0][0], mask.value),)

    return Operation(scalar, [scalar, mask], emit)


def _reduction(function: Any, python_operator: Any) -> None:
    """All lanes get the result over all lanes: a butterfly of exchanges."""

    def typer(compilation: Compilation, value: types.Type) -> Operation:
        scalar = _number(function.__name__, value)
        combine = compilation.resolve_call(Constant(python_operator), (scalar, scalar), {})

        def emit(low: Lowering, values: Sequence[Value]) -> Value:
            total = values[0][0]
            step = 1
            while step < compilation.arch.wave_size:
                other = exchange(low, total, step)
                total = combine.emit(low, [(total,), (other,)])[0]
                step *= 2
            return (total,)

        return Operation(combine.return_type, [scalar], emit)

    implements(function)(typer)


for _function, _operator in (
    (gpu.wave_sum, operator.add),
    (gpu.wave_max, max),
    (gpu.wave_min, min),
):
    _reduction(_function, _operator)
