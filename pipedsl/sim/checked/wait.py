"""What a wait instruction proves, and the use of registers that nothing has proven yet."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim.builder import I8, I16, I32, I64, PTR
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.report import allowed, force, report
from pipedsl.sim.checked.view import View, complete, proven
from pipedsl.sim.micro.registry import Micro, micro_kernel

NO_LIMIT = 0xFF


@micro_kernel("checked_wait", lambda: [I64, I32])
def checked_wait(k: Micro) -> None:
    """``limits, instruction``: one byte per queue, the operations that may stay outstanding."""
    irb, (limits, instruction) = k.irb, k.args
    view = View(k)
    record, row = view.record(view.own), view.row(view.own, view.own)
    useful = k.variable(I32, c.WAITED)
    for queue in range(c.QUEUES):
        limit = irb.trunc(irb.lshr(limits, I64(8 * queue)), I8)
        with k.when(k.s.ucmp("!=", limit, NO_LIMIT)):
            issued = k.load(I32, record, c.ISSUED + 4 * queue, 4)
            reached = k.s.saturating("usub", issued, irb.zext(limit, I32))
            before = k.load(I32, row, 4 + 4 * queue, 4)
            with k.when(k.s.ucmp(">", reached, before)):
                k.store(reached, row, 4 + 4 * queue, 4)
                irb.store(irb.or_(irb.load(useful, typ=I32), I32(1 << queue)), useful)
    bits = irb.load(useful, typ=I32)
    place = irb.shl(irb.zext(instruction, I64), I64(1))
    table = view.get(c.USEFUL, PTR)
    k.store(irb.or_(k.load(I16, table, place, 2), irb.trunc(bits, I16)), table, place, 2)
    with k.when(k.s.ucmp("!=", bits, c.WAITED)):
        view.call_or_fail(c.COMMIT, k.group, k.wave, I32(0))
    k.ret(0)


@micro_kernel("checked_touch", lambda: [I32, I32, I32, I32, I32])
def checked_touch(k: Micro) -> None:
    """``first register, count, instruction, kind, queue``: the wave uses registers.

    One whose load is not proven complete is reported, then the load completes. A load into a
    register that an older load of the same ordered `queue` will write needs no wait.
    """
    irb, (first, count, instruction, kind, queue) = k.irb, k.args
    view = View(k)
    record, row = view.record(view.own), view.row(view.own, view.own)
    with k.loop(irb.zext(count, I64)) as index:
        register = irb.add(first, irb.trunc(index, I32))
        note = view.pending(record, register)
        number = k.load(I32, note, 0, 4)
        entry = view.entry(record, number)
        kept = k.s.ucmp("==", k.load(I32, entry, c.E_NUMBER, 4), number)
        flying = irb.and_(kept, irb.not_(complete(k, entry, row)))
        follows = k.s.ucmp("==", k.load(I32, entry, c.E_QUEUE, 4), queue)
        flying = irb.and_(irb.and_(flying, irb.not_(follows)), k.s.ucmp("!=", number, 0))
        with k.when(flying):
            head = k.load(I32, row, 0, 4)
            fields = {
                c.R_KIND: kind, c.R_USER: instruction, c.R_PLACE: register,
                **allowed(k, view, record, entry, head),
            }  # fmt: skip
            report(k, view, entry, view.own, fields)
            force(k, view, view.own, entry)
        k.store(I32(0), note, 0, 4)
    k.ret(0)


def limit_to_capacity(
    k: Micro, view: View, record: ir.Value, row: ir.Value, queue: ir.Value, capacity: ir.Value
) -> ir.Value:
    """A full counter holds the next operation back until the oldest completes; i1 if it did."""
    irb = k.irb
    place = irb.shl(irb.zext(queue, I64), I64(2))
    issued = k.load(I32, record, place, 4)
    reached = k.s.saturating("usub", issued, capacity)
    ordered = irb.trunc(irb.lshr(view.get(c.ORDERED, I32), queue), ir.IntType(1))
    more = irb.and_(ordered, k.s.ucmp(">", reached, proven(k, row, queue)))
    with k.when(more):
        k.store(reached, row, irb.add(place, I64(4)), 4)
    return more
