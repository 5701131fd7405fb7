"""Trial runs: an operation notes the addresses that it would touch, and touches nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.checked import layout as c

if TYPE_CHECKING:
    from pipedsl.sim.micro.registry import Micro

_SPACES = {at.TRACE_LDS: c.LDS, at.TRACE_GLOBAL: c.GLOBAL}


def note_access(k: Micro, space: int, address: ir.Value, width: int) -> None:
    """Note an access that has passed its checks."""
    if space not in _SPACES:  # private to a lane
        return
    irb, which = k.irb, _SPACES[space] - 1
    area = k.load(PTR, k.group, at.CHECKED, 8)
    counter = c.TOUCHED + 8 * which
    count = k.load(I32, area, counter, 4)
    slot = irb.zext(k.s.umin(count, I32(c.TRIAL_LIMIT - 1)), I64)
    place = irb.add(irb.shl(slot, I64(3)), I64(c.ADDRESSES + 8 * c.TRIAL_LIMIT * which))
    k.store(address, area, place, 8)
    k.store(k.s.umin(irb.add(count, I32(1)), I32(c.TRIAL_LIMIT)), area, counter, 4)
    k.store(I32(width), area, counter + 4, 4)


def stand_in(k: Micro) -> ir.Value:
    """Memory that a trial may read and write."""
    return k.at(k.load(PTR, k.group, at.CHECKED, 8), c.DUMMY)
