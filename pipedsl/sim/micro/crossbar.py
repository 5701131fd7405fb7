"""DS permutations: registers from lane to lane."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim.builder import I1, I32, I64, PTR
from pipedsl.sim.micro.moves import lane_slot
from pipedsl.sim.micro.pointers import exec_bits
from pipedsl.sim.micro.registry import Micro, micro_kernel


def _other_lane(
    k: Micro, lanes: int, address: ir.Value, lane: ir.Value, offset: ir.Value
) -> ir.Value:
    """The lane that `lane`'s byte address names: divided by 4, modulo the wave."""
    place = k.irb.add(k.irb.load(lane_slot(k, address, lane, 0, lanes), align=4, typ=I32), offset)
    return k.irb.zext(k.irb.and_(k.irb.lshr(place, I32(2)), I32(lanes - 1)), I64)


def _zeroed(k: Micro, lanes: int) -> ir.Value:
    """A row of zeros outside the register file."""
    return k.variable(ir.ArrayType(I32, lanes), None)


def _value(k: Micro, row: ir.Value, lane: ir.Value, lanes: int) -> ir.Value:
    return k.irb.load(lane_slot(k, row, lane, 0, lanes), align=4, typ=I32)


def _copy_active(k: Micro, row: ir.Value, staged: ir.Value, lanes: int, mask: ir.Value) -> None:
    with k.active_lanes(mask) as lane:
        value = _value(k, staged, lane, lanes)
        k.irb.store(value, lane_slot(k, row, lane, 0, lanes), align=4)


@micro_kernel("lanes_gather", lambda lanes, inactive: [PTR, PTR, PTR, I32])
def lanes_gather(k: Micro, lanes: int, inactive: int) -> None:
    """``dst row, address row, data row, offset``: each lane reads the lane that it names.

    A lane that is off gives 0, or with `inactive` its value.
    """
    row, address, data, offset = k.args
    mask = exec_bits(k, lanes)
    staged = _zeroed(k, lanes)
    with k.active_lanes(mask) as lane:
        source = _other_lane(k, lanes, address, lane, offset)
        value = _value(k, data, source, lanes)
        if not inactive:
            place = source if mask.type == I64 else k.irb.trunc(source, mask.type)
            on = k.irb.trunc(k.irb.lshr(mask, place), I1)
            value = k.irb.select(on, value, I32(0))
        k.irb.store(value, lane_slot(k, staged, lane, 0, lanes), align=4)
    _copy_active(k, row, staged, lanes, mask)
    k.ret(0)


@micro_kernel("lanes_scatter", lambda lanes: [PTR, PTR, PTR, I32])
def lanes_scatter(k: Micro, lanes: int) -> None:
    """``dst row, address row, data row, offset``: each lane writes the lane that it names.

    The highest of several writers wins; a lane that none names gets 0.
    """
    row, address, data, offset = k.args
    mask = exec_bits(k, lanes)
    staged = _zeroed(k, lanes)
    with k.active_lanes(mask) as lane:
        target = _other_lane(k, lanes, address, lane, offset)
        k.irb.store(_value(k, data, lane, lanes), lane_slot(k, staged, target, 0, lanes), align=4)
    _copy_active(k, row, staged, lanes, mask)
    k.ret(0)
