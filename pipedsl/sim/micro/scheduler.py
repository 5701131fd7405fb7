"""The wave scheduler of one workgroup."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.checked.turns import complete_all, count_round, pass_turn
from pipedsl.sim.micro.registry import Micro, micro_kernel

QUANTUM = 4096  # instructions that a wave may run before another gets the core
_LONG = 1 << 22  # the same where nothing but synchronisation gives it to another


@micro_kernel("run_group", lambda checked=0: [])
def run_group(k: Micro, checked: int = 0) -> None:
    """Run the waves of a group in turns until it finishes, fails, or the slice is used up.

    Round robin with a fixed quantum when the group's random state is 0; otherwise the first wave
    of a round and every quantum are drawn from it, so a seed is one reproducible interleaving.
    Where `checked`, operations in flight complete between the turns.
    """
    irb, group = k.irb, k.group
    count = irb.zext(k.load(I32, group, at.WAVES), I64)
    stride = k.load(I64, group, at.WAVE_STRIDE)
    entry = k.load(ir.FunctionType(I32, [PTR, PTR]).as_pointer(), group, at.ENTRY, 8)
    limit = k.load(I64, group, at.STEP_LIMIT)
    slice_end = irb.add(k.load(I64, group, at.STEPS), k.load(I64, group, at.SLICE_STEPS))
    progressed = irb.alloca(I32)

    round_start = k.block("round")
    irb.branch(round_start)
    irb.position_at_end(round_start)
    first = _draw(k)
    irb.store(I32(0), progressed)
    if checked:
        count_round(k)
    with k.loop(count) as turn:
        index = irb.urem(irb.add(first, turn), count)
        wave = k.at(group, irb.add(I64(at.GROUP_HEADER), irb.mul(index, stride)))
        if checked:
            pass_turn(k, wave, irb.trunc(index, I32))
        ready, skip = k.block("ready"), k.block("skip")
        irb.cbranch(_can_run(k, wave), ready, skip)
        irb.position_at_end(ready)
        irb.store(I32(1), progressed)
        k.store(irb.trunc(index, I32), group, at.CURRENT)
        _turn(k, entry, wave, _quantum(k), checked)
        irb.branch(skip)
        irb.position_at_end(skip)
    _verdict(k, progressed, limit, slice_end, round_start)


@micro_kernel("run_wave", list)
def run_wave(k: Micro) -> None:
    """Run one wave of a group until it gives up the core; `FAULTED` if it fails, else 0."""
    k.store(k.load(I32, k.wave, at.WAVE_INDEX, 4), k.group, at.CURRENT)
    entry = k.load(ir.FunctionType(I32, [PTR, PTR]).as_pointer(), k.group, at.ENTRY, 8)
    _turn(k, entry, k.wave, I64(_LONG), 0)
    k.ret(0)


def _draw(k: Micro) -> ir.Value:
    """Next number of the xorshift generator, 0 in round-robin mode."""
    irb = k.irb
    x = k.load(I64, k.group, at.RANDOM)
    for shift, left in ((13, True), (7, False), (17, True)):
        moved = irb.shl(x, I64(shift)) if left else irb.lshr(x, I64(shift))
        x = irb.xor(x, moved)
    k.store(x, k.group, at.RANDOM)
    return irb.lshr(x, I64(16))


def _can_run(k: Micro, wave: ir.Value) -> ir.Value:
    irb = k.irb
    status = k.load(I32, wave, at.STATUS)
    phase = k.load(I32, k.group, at.BARRIER_PHASE)
    target = k.load(I32, wave, at.BARRIER_TARGET)
    released = irb.icmp_signed(">=", irb.sub(phase, target), I32(0))
    waiting = irb.icmp_unsigned("==", status, I32(at.AT_BARRIER))
    ready = irb.icmp_unsigned("==", status, I32(at.READY))
    return irb.or_(ready, irb.and_(waiting, released))


def _quantum(k: Micro) -> ir.Value:
    """Instructions of a wave's next turn."""
    random = _draw(k)
    drawn = k.irb.add(k.irb.and_(random, I64(511)), I64(1))
    return k.irb.select(k.irb.icmp_unsigned("==", random, I64(0)), I64(QUANTUM), drawn)


def _turn(
    k: Micro, entry: ir.Value, wave: ir.Value, quantum: ir.Value, checked: int
) -> None:  # fmt: skip
    """Give one wave the core and account for what it did."""
    irb = k.irb
    k.store(quantum, wave, at.FUEL)
    k.store(I32(at.READY), wave, at.STATUS)
    status = irb.call(entry, [k.group, wave])
    used = irb.sub(quantum, k.load(I64, wave, at.FUEL))
    k.store(irb.add(k.load(I64, k.group, at.STEPS), used), k.group, at.STEPS)
    yielded = irb.icmp_unsigned("==", status, I32(at.YIELDED))
    k.store(irb.select(yielded, I32(at.READY), status), wave, at.STATUS)
    fault, ended, go_on = k.block("fault"), k.block("ended"), k.block("go_on")
    choice = irb.switch(status, go_on)
    choice.add_case(I32(at.FAULT), fault)
    choice.add_case(I32(at.DONE), ended)
    irb.position_at_end(fault)
    k.ret(at.FAULTED)
    irb.position_at_end(ended)
    if checked:
        complete_all(k, wave)
    live = irb.sub(k.load(I32, k.group, at.LIVE), I32(1))
    k.store(live, k.group, at.LIVE)
    release_barrier(k, live)
    irb.branch(go_on)
    irb.position_at_end(go_on)


def release_barrier(k: Micro, live: ir.Value) -> None:
    """Open the barrier when every live wave has arrived."""
    irb = k.irb
    arrived = k.load(I32, k.group, at.BARRIER_ARRIVED)
    complete = irb.and_(
        irb.icmp_unsigned(">=", arrived, live), irb.icmp_unsigned("!=", arrived, I32(0))
    )
    k.store(irb.select(complete, I32(0), arrived), k.group, at.BARRIER_ARRIVED)
    phase = k.load(I32, k.group, at.BARRIER_PHASE)
    k.store(irb.add(phase, irb.zext(complete, I32)), k.group, at.BARRIER_PHASE)


def _verdict(
    k: Micro, progressed: ir.Value, limit: ir.Value, slice_end: ir.Value, again: ir.Block
) -> None:
    """Decide after a round whether to go on."""
    irb, group = k.irb, k.group
    steps = k.load(I64, group, at.STEPS)
    stop = irb.load(k.at(group, at.STOP), align=4, typ=I32)
    tests = [
        (irb.icmp_unsigned("==", k.load(I32, group, at.LIVE), I32(0)), at.FINISHED),
        (irb.icmp_unsigned("==", irb.load(progressed, typ=I32), I32(0)), at.DEADLOCK),
        (irb.icmp_unsigned("!=", stop, I32(0)), at.STOPPED),
        (irb.icmp_signed(">", steps, limit), at.OVER_BUDGET),
        (irb.icmp_signed(">", steps, slice_end), at.PAUSED),
    ]
    for test, code in tests:
        out, next_test = k.block("out"), k.block("next")
        irb.cbranch(test, out, next_test)
        irb.position_at_end(out)
        k.ret(code)
        irb.position_at_end(next_test)
    irb.branch(again)


@micro_kernel("barrier_signal", list)
def barrier_signal(k: Micro) -> None:
    """This wave arrives at the workgroup barrier; the last one to arrive opens it."""
    irb, group = k.irb, k.group
    phase = k.load(I32, group, at.BARRIER_PHASE)
    k.store(irb.add(phase, I32(1)), k.wave, at.BARRIER_TARGET)
    k.store(irb.add(k.load(I32, group, at.BARRIER_ARRIVED), I32(1)), group, at.BARRIER_ARRIVED)
    release_barrier(k, k.load(I32, group, at.LIVE))
    k.ret(0)
