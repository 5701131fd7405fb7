"""Waits that give up: they note who waited for what in a buffer, and end the wave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types

from pipedsl.core.timeouts import CAPACITY, FIELDS, PARAMETER, RECORD
from pipedsl.target import gpu
from pipedsl.target.arrays import element_pointer
from pipedsl.target.composites import Array
from pipedsl.target.conversion import convert
from pipedsl.target.index import lane_number
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements, known
from pipedsl.target.types import LDS, constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering

TICKS_PER_MS = 100_000
"""Of the steady counter, 100 MHz on every target: HIP, `hipDeviceAttributeWallClockRate`."""

_I32, _I64 = ir.IntType(32), ir.IntType(64)


@implements(gpu.stopwatch)
def _stopwatch(compilation: Compilation) -> Operation:
    if compilation.timeout is None:
        return known(constant(0))

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        return (low.call("llvm.readsteadycounter", _I64, []),)

    return Operation(types.int64, (), emit)


@implements(gpu.give_up)
def _give_up(
    compilation: Compilation,
    started: types.Type,
    counters: types.Type,
    index: types.Type,
    wanted: types.Type,
) -> Operation:
    ticks = compilation.timeout
    if ticks is None:
        return known(types.none)
    if not isinstance(counters, Array) or counters.space != LDS:
        raise TypeMismatch(f"give_up() takes an array in LDS, not {counters}.")

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        builder = low.builder
        function = builder.function
        late, note, leave, go_on = (function.append_basic_block() for _ in range(4))
        now = low.call("llvm.readsteadycounter", _I64, [])
        over = builder.icmp_unsigned(">", builder.sub(now, values[0][0]), _I64(ticks))
        builder.cbranch(over, late, go_on)
        builder.position_at_end(late)
        pointer = element_pointer(low, counters, values[1], index, values[2])
        lane = lane_number(low)
        first = low.call("llvm.amdgcn.readfirstlane.i32", _I32, [lane])
        builder.cbranch(builder.icmp_unsigned("==", lane, first), note, leave)
        builder.position_at_end(note)
        buffer = low.module.argument(PARAMETER)
        slot = builder.atomic_rmw("add", buffer, _I64(1), "monotonic")
        kept = builder.select(
            builder.icmp_unsigned("<", slot, _I64(CAPACITY)), slot, _I64(CAPACITY)
        )
        base = builder.add(_I64(1), builder.mul(kept, _I64(RECORD)))
        value = builder.load(pointer, typ=ir.IntType(counters.dtype.bitwidth))
        fields = {
            "workgroup": workgroup(low),
            "thread": thread(low),
            "address": builder.ptrtoint(pointer, _I32),
            "value": value,
            "wanted": convert(builder, values[3], wanted, types.int64)[0],
            "line": _I32(low.user_line()),
        }
        for place, name in enumerate(FIELDS):
            at = builder.gep(buffer, [builder.add(base, _I64(place))], source_etype=_I64)
            builder.store(_wide(builder, fields[name]), at)
        builder.branch(leave)
        builder.position_at_end(leave)
        low.call("llvm.amdgcn.endpgm", ir.VoidType(), [])
        builder.unreachable()
        builder.position_at_end(go_on)
        return ()

    return Operation(types.none, [started, counters, index, wanted], emit)


def workgroup(low: Lowering) -> ir.Value:
    """The workgroup's number on the axes, 21 bits each."""
    total: ir.Value = _I64(0)
    for axis, name in enumerate("xyz"):
        low.module.require(f"workgroup-id-{name}")
        part = _wide(low.builder, low.call(f"llvm.amdgcn.workgroup.id.{name}", _I32, []))
        total = low.builder.or_(total, low.builder.shl(part, _I64(21 * axis)))
    return total


def thread(low: Lowering) -> ir.Value:
    """The work-item's number on the axes, 21 bits each."""
    total: ir.Value = _I64(0)
    for axis, name in enumerate("xyz"):
        low.module.require(f"workitem-id-{name}")
        part = _wide(low.builder, low.call(f"llvm.amdgcn.workitem.id.{name}", _I32, []))
        total = low.builder.or_(total, low.builder.shl(part, _I64(21 * axis)))
    return total


def _wide(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return value if value.type == _I64 else builder.sext(value, _I64)
