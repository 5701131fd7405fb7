"""Memory that an operation touches against the operations of others that may still be in flight."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim.builder import I32, I64
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.report import allowed, force, report
from pipedsl.sim.checked.view import View, complete, has, while_
from pipedsl.sim.micro.registry import Micro


def addresses(view: View, space: int) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Of the operation being issued: pointer to its addresses in a space, their count, bytes of each."""
    k, place = view.k, c.TOUCHED + 8 * (space - 1)
    count = k.irb.zext(view.get(place, I32), I64)
    width = k.irb.zext(view.get(place + 4, I32), I64)
    return k.at(view.area, c.ADDRESSES + 8 * c.TRIAL_LIMIT * (space - 1)), count, width


def extent(view: View, space: int) -> tuple[ir.Value, ir.Value]:
    """Lowest byte and end of what the operation being issued touches; empty if nothing."""
    k = view.k
    log, count, width = addresses(view, space)
    low, high = k.variable(I64, (1 << 64) - 1), k.variable(I64, 0)
    with k.loop(count) as index:
        address = k.load(I64, log, k.irb.shl(index, I64(3)), 8)
        k.irb.store(k.s.umin(k.irb.load(low, typ=I64), address), low)
        k.irb.store(k.s.umax(k.irb.load(high, typ=I64), k.irb.add(address, width)), high)
    return k.irb.load(low, typ=I64), k.irb.load(high, typ=I64)


def check_memory(
    view: View, space: int, access: ir.Value, path: ir.Value, instruction: ir.Value,
    low: ir.Value, high: ir.Value,
) -> None:  # fmt: skip
    """Report operations that the wave knows to be issued, not to be complete, on the same bytes.

    What it does not know to be issued is no missing wait but a race.
    """
    k, irb = view.k, view.k.irb
    with k.when(k.s.ucmp("<", low, high)), k.loop(view.waves) as other:
        record, row = view.record(other), view.row(view.own, other)
        floor = _raise_floor(view, other, record, row)
        issued = k.load(I32, row, 0, 4)
        with k.loop(irb.zext(k.s.saturating("usub", issued, floor), I64)) as index:
            number = irb.add(irb.add(floor, I32(1)), irb.trunc(index, I32))
            entry = view.entry(record, number)
            theirs = k.load(I32, entry, c.E_ACCESS, 4)
            kept = k.s.ucmp("==", k.load(I32, entry, c.E_NUMBER, 4), number)
            same_space = k.s.ucmp("==", k.load(I32, entry, c.E_SPACE, 4), space)
            other_path = irb.or_(
                k.s.ucmp("!=", other, view.own),
                k.s.ucmp("!=", k.load(I32, entry, c.E_PATH, 4), path),
            )
            above = k.s.ucmp("<", low, k.load(I64, entry, c.E_HIGH, 8))
            below = k.s.ucmp("<", k.load(I64, entry, c.E_LOW, 8), high)
            suspect = kept
            for test in (same_space, other_path, above, below, _order_matters(k, theirs, access)):
                suspect = irb.and_(suspect, test)
            with k.when(irb.and_(suspect, irb.not_(complete(k, entry, row)))):
                found = _overlap(view, space, record, entry, number)
                hit = irb.load(found, typ=I64)
                with k.when(k.s.ucmp("!=", hit, (1 << 64) - 1)):
                    _report(view, space, other, record, entry, theirs, instruction, hit, issued)
                    force(k, view, other, entry)


def _raise_floor(view: View, other: ir.Value, record: ir.Value, row: ir.Value) -> ir.Value:
    """Number up to which all operations of `other` are known to be complete, or forgotten."""
    k, irb = view.k, view.k.irb
    place = irb.add(irb.mul(view.own, view.waves), other)
    note = k.at(view.get(c.FLOORS, ir.PointerType()), irb.shl(place, I64(2)))
    issued = k.load(I32, row, 0, 4)
    floor = k.variable(I32, 0)
    irb.store(k.load(I32, note, 0, 4), floor)

    def known() -> ir.Value:
        number = irb.add(irb.load(floor, typ=I32), I32(1))
        entry = view.entry(record, number)
        forgotten = k.s.ucmp("!=", k.load(I32, entry, c.E_NUMBER, 4), number)
        done = irb.or_(forgotten, complete(k, entry, row))
        return irb.and_(k.s.ucmp("<=", number, issued), done)

    while_(k, known, lambda: irb.store(irb.add(irb.load(floor, typ=I32), I32(1)), floor))
    k.store(irb.load(floor, typ=I32), note, 0, 4)
    return irb.load(floor, typ=I32)


def _order_matters(k: Micro, theirs: ir.Value, ours: ir.Value) -> ir.Value:
    """Two reads commute, and so do two atomics. A poll waits for the atomic that it races with."""
    irb = k.irb
    writes = has(k, irb.or_(theirs, ours), c.WRITE)
    atomic = has(k, irb.and_(theirs, ours), c.ATOMIC)
    polled = irb.and_(has(k, theirs, c.ATOMIC), has(k, ours, c.POLL))
    polls = irb.and_(has(k, theirs, c.POLL), has(k, ours, c.ATOMIC))
    return irb.and_(writes, irb.not_(irb.or_(atomic, irb.or_(polled, polls))))


def _overlap(
    view: View, space: int, record: ir.Value, entry: ir.Value, number: ir.Value
) -> ir.Value:
    """Variable with the lowest address of ours that one of the entry's overlaps, or all ones."""
    k, irb = view.k, view.k.irb
    ours, count, width = addresses(view, space)
    theirs = view.log(record, number)
    their_count = irb.zext(k.load(I32, entry, c.E_COUNT, 4), I64)
    their_width = irb.zext(k.load(I32, entry, c.E_BYTES, 4), I64)
    found = k.variable(I64, (1 << 64) - 1)
    with k.loop(their_count) as i:
        start = k.load(I64, theirs, irb.shl(i, I64(3)), 8)
        end = irb.add(start, their_width)
        with k.loop(count) as j:
            address = k.load(I64, ours, irb.shl(j, I64(3)), 8)
            overlaps = irb.and_(
                k.s.ucmp("<", address, end), k.s.ucmp("<", start, irb.add(address, width))
            )
            best = irb.load(found, typ=I64)
            irb.store(irb.select(overlaps, k.s.umin(best, address), best), found)
    return found


def _report(
    view: View, space: int, other: ir.Value, record: ir.Value, entry: ir.Value, theirs: ir.Value,
    instruction: ir.Value, address: ir.Value, issued: ir.Value,
) -> None:  # fmt: skip
    k, irb = view.k, view.k.irb
    kinds = (c.LDS_UNWRITTEN, c.LDS_UNREAD) if space == c.LDS else (c.GLOBAL_UNWRITTEN, c.GLOBAL_UNREAD)
    kind = irb.select(has(k, theirs, c.WRITE), I32(kinds[0]), I32(kinds[1]))
    signalled, signal = _signal(view, record, k.load(I32, entry, c.E_NUMBER, 4), issued)
    own = k.s.ucmp("==", other, view.own)
    fields = {
        c.R_KIND: kind, c.R_USER: instruction, c.R_PLACE: I32(0),
        c.R_SIGNAL: irb.select(own, I32(-1), signal),
        **allowed(k, view, record, entry, irb.select(own, issued, signalled)),
    }  # fmt: skip
    report(k, view, entry, other, fields, address)


def _signal(
    view: View, record: ir.Value, number: ir.Value, issued: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Operations issued before, and instruction of, the first signal behind operation `number`."""
    k, irb = view.k, view.k.irb
    before, instruction = k.variable(I32, 0), k.variable(I32, -1)
    irb.store(issued, before)
    given = k.load(I32, record, c.SIGNALS, 4)
    with k.loop(I64(c.SIGNALS_KEPT)) as index:
        # Newest first, so that the last match is the oldest signal that is still remembered.
        back = irb.sub(irb.sub(given, I32(1)), irb.trunc(index, I32))
        slot = irb.zext(irb.and_(back, I32(c.SIGNALS_KEPT - 1)), I64)
        place = irb.add(irb.shl(slot, I64(3)), I64(c.SIGNAL_RING))
        count = k.load(I32, record, place, 4)
        exists = k.s.ucmp("<", irb.trunc(index, I32), given)
        later = irb.and_(k.s.ucmp(">=", count, number), k.s.ucmp("<=", count, issued))
        with k.when(irb.and_(exists, later)):
            irb.store(count, before)
            irb.store(k.load(I32, record, irb.add(place, I64(4)), 4), instruction)
    return irb.load(before, typ=I32), irb.load(instruction, typ=I32)
