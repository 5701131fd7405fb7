"""Findings as records, written where they happen; Python renders them after the run."""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir

from pipedsl.sim.builder import I1, I8, I32, I64, PTR
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.view import View, set_state
from pipedsl.sim.micro.registry import Micro


def report(
    k: Micro, view: View, entry: ir.Value, producer: ir.Value, fields: Mapping[int, ir.Value],
    address: ir.Value | None = None,
) -> None:  # fmt: skip
    """Write a finding about `entry` of wave `producer`, once per instruction and kind."""
    irb = k.irb
    seen, user = view.get(c.SEEN, PTR), irb.zext(fields[c.R_USER], I64)
    bit = irb.trunc(irb.shl(I32(1), fields[c.R_KIND]), I8)
    before = k.load(I8, seen, user)
    count = view.get(c.REPORT_COUNT, I32)
    new = k.s.ucmp("==", irb.and_(before, bit), 0)
    with k.when(irb.and_(new, k.s.ucmp("<", count, c.REPORT_LIMIT))):
        k.store(irb.or_(before, bit), seen, user)
        place = irb.mul(irb.zext(count, I64), I64(c.REPORT))
        target = k.at(view.get(c.REPORTS, PTR), place)
        given = {
            **fields,
            c.R_WAVE: irb.trunc(view.own, I32),
            c.R_PRODUCER: k.load(I32, entry, c.E_INSTRUCTION, 4),
            c.R_PRODUCER_WAVE: irb.trunc(producer, I32),
        }
        for offset, value in given.items():
            k.store(value, target, offset, 4)
        k.store(address if address is not None else I64(0), target, c.R_ADDRESS, 8)
        k.store(irb.add(count, I32(1)), view.area, c.REPORT_COUNT, 4)


def allowed(
    k: Micro, view: View, record: ir.Value, entry: ir.Value, until: ir.Value
) -> dict[int, ir.Value]:
    """Per queue of `entry`, the younger operations issued up to number `until`.

    So many may stay outstanding behind a wait that proves the entry; none in an unordered queue.
    """
    irb = k.irb
    fields: dict[int, ir.Value] = {}
    for which, out, count_out in (
        (c.E_QUEUE, c.R_QUEUE, c.R_ALLOWED),
        (c.E_QUEUE2, c.R_QUEUE2, c.R_ALLOWED2),
    ):
        queue = k.load(I32, entry, which, 4)
        younger = k.variable(I32, 0)
        own = k.load(I32, entry, c.E_NUMBER, 4)
        with k.loop(irb.zext(k.s.saturating("usub", until, own), I64)) as index:
            number = irb.add(irb.add(own, I32(1)), irb.trunc(index, I32))
            other = view.entry(record, number)
            same: ir.Value = I1(0)
            for theirs in (c.E_QUEUE, c.E_QUEUE2):
                same = irb.or_(same, k.s.ucmp("==", k.load(I32, other, theirs, 4), queue))
            irb.store(irb.add(irb.load(younger, typ=I32), irb.zext(same, I32)), younger)
        ordered = irb.and_(irb.lshr(view.get(c.ORDERED, I32), queue), I32(1))
        fields[out] = queue
        fields[count_out] = irb.mul(irb.load(younger, typ=I32), ordered)
    return fields


def force(k: Micro, view: View, wave: ir.Value, entry: ir.Value) -> None:
    """Make right what was reported: complete the entry and what is older on its ordered queues."""
    irb = k.irb
    row = view.row(wave, wave)
    set_state(k, entry, c.FORCED)
    for which, position_at in ((c.E_QUEUE, c.E_POSITION), (c.E_QUEUE2, c.E_POSITION2)):
        queue = k.load(I32, entry, which, 4)
        place = irb.add(irb.shl(irb.zext(queue, I64), I64(2)), I64(4))
        ordered = irb.trunc(irb.lshr(view.get(c.ORDERED, I32), queue), ir.IntType(1))
        position, before = k.load(I32, entry, position_at, 4), k.load(I32, row, place, 4)
        reached = k.s.umax(position, before)
        k.store(irb.select(ordered, reached, before), row, place, 4)
    view.call_or_fail(c.COMMIT, k.group, view.wave_pointer(wave), I32(0))


