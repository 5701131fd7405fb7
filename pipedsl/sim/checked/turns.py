"""What the scheduler does for operations in flight: time passes, and waves end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.checked import layout as c

if TYPE_CHECKING:
    from pipedsl.sim.micro.registry import Micro


def count_round(k: Micro) -> None:
    """Every wave has had its turn once more."""
    area = k.load(PTR, k.group, at.CHECKED, 8)
    k.store(k.irb.add(k.load(I64, area, c.ROUND, 8), I64(1)), area, c.ROUND, 8)


def pass_turn(k: Micro, wave: ir.Value, index: ir.Value) -> None:
    """Let operations of `wave` complete that have been in flight for long, or that the seed picks."""
    _call(k, c.TICK, wave, index)


def complete_all(k: Micro, wave: ir.Value) -> None:
    """A wave that ends completes what it issued."""
    _call(k, c.COMMIT, wave, k.load(I32, wave, at.WAVE_INDEX, 4), I32(1))


def _call(k: Micro, service: int, wave: ir.Value, index: ir.Value, *args: ir.Value) -> None:
    kind = ir.FunctionType(I32, [PTR, PTR, *(a.type for a in args)]).as_pointer()
    function = k.load(kind, k.load(PTR, k.group, at.CHECKED, 8), service, 8)
    failed = k.irb.call(function, [k.group, wave, *args])
    with k.when(k.s.ucmp("!=", failed, 0)):
        k.store(index, k.group, at.CURRENT, 4)
        k.ret(at.FAULTED)
