"""Exchange and votes between the lanes of a wave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types

from pipedsl.target import gpu
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements
from pipedsl.target.promotion import scalar_type

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
