"""Issue of a memory operation: into the wave's queues, checked against what is in flight."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.clocks import note_signal
from pipedsl.sim.checked.commit import THUNK, draw, run_thunk
from pipedsl.sim.checked.conflict import addresses, check_memory, extent
from pipedsl.sim.checked.view import View, has, set_state
from pipedsl.sim.checked.wait import limit_to_capacity
from pipedsl.sim.micro.registry import Micro, micro_kernel


@micro_kernel("checked_issue", lambda: [PTR, THUNK])
def checked_issue(k: Micro) -> None:
    """``descriptor, thunk``: put the operation into its queues.

    A trial run of the thunk finds the addresses and faults where the instruction stands. A null
    thunk counts on its queues and does nothing else (cache control, register-only LDS operations).
    """
    irb, (descriptor, thunk) = k.irb, k.args
    view = View(k)
    record, row = view.record(view.own), view.row(view.own, view.own)

    def word(offset: int) -> ir.Value:
        return k.load(I32, descriptor, offset, 4)

    instruction = word(c.D_INSTRUCTION)
    with k.when(k.s.ucmp("!=", word(c.D_RECHECK), c.NO_RECHECK)):
        view.call_or_fail(
            c.TOUCH, k.group, k.wave, word(c.D_FIRST), word(c.D_REGISTERS), instruction,
            I32(c.OVERWRITTEN_EARLY), word(c.D_RECHECK),
        )  # fmt: skip
    size = irb.zext(irb.add(word(c.D_PAYLOAD), irb.trunc(view.row_bytes(), I32)), I64)
    payload = _make_room(k, view, record, row, size)
    for space in (c.LDS, c.GLOBAL):
        k.store(I32(0), view.area, c.TOUCHED + 8 * (space - 1), 4)
    with k.when(irb.icmp_unsigned("!=", thunk, PTR(None))):
        _fill_payload(k, view, descriptor, payload)
        back = irb.sub(I64(c.DUMP), irb.zext(word(c.D_DESTINATION), I64))
        run_thunk(k, view, thunk, payload, 1, k.at(view.area, back), instruction)
    path = word(c.D_PATH)
    ranges = {space: extent(view, space) for space in (c.LDS, c.GLOBAL)}
    for space, access in ((c.LDS, c.D_LDS), (c.GLOBAL, c.D_GLOBAL)):
        check_memory(view, space, word(access), path, instruction, *ranges[space])
    number = irb.add(k.load(I32, row, 0, 4), I32(1))
    k.store(number, row, 0, 4)
    entry = view.entry(record, number)
    k.store(number, entry, c.E_NUMBER, 4)
    k.store(instruction, entry, c.E_INSTRUCTION, 4)
    k.store(thunk, entry, c.E_THUNK, 8)
    k.store(payload, entry, c.E_PAYLOAD, 8)
    k.store(path, entry, c.E_PATH, 4)
    k.store(I32(0), entry, c.E_STATE, 4)
    stay = irb.and_(draw(k, view), view.get(c.LATENESS))
    late = irb.select(k.s.ucmp("==", stay, 0), view.get(c.LATENESS), stay)
    k.store(irb.add(view.get(c.ROUND), irb.add(late, I64(1))), entry, c.E_DEADLINE, 8)
    full = _count(k, view, record, row, descriptor, entry)
    _note_addresses(k, view, record, number, entry, descriptor, ranges)
    _note_signal(k, view, entry, payload, size, instruction, number)
    with k.loop(irb.zext(word(c.D_REGISTERS), I64)) as index:
        register = irb.add(word(c.D_FIRST), irb.trunc(index, I32))
        k.store(number, view.pending(record, register), 0, 4)
    with k.when(full):
        view.call_or_fail(c.COMMIT, k.group, k.wave, I32(0))
    k.ret(0)


def _make_room(
    k: Micro, view: View, record: ir.Value, row: ir.Value, size: ir.Value
) -> ir.Value:  # fmt: skip
    """Pointer to payload space; where it or the entries run out, all in flight completes first."""
    irb = k.irb
    head, tail = k.load(I32, row, 0, 4), k.load(I32, record, c.TAIL, 4)
    used = irb.zext(k.load(I32, record, c.PAYLOAD_HEAD, 4), I64)
    empty = k.s.ucmp(">", tail, head)
    start = irb.select(empty, I64(0), used)
    end = irb.add(start, size)
    crowded = k.s.ucmp(">=", irb.sub(irb.add(head, I32(1)), tail), c.ENTRIES - 1)
    full = irb.or_(crowded, k.s.ucmp(">", end, c.PAYLOADS))
    with k.when(full):
        view.call_or_fail(c.COMMIT, k.group, k.wave, I32(1))
    start = irb.select(full, I64(0), start)
    aligned = irb.and_(irb.add(irb.add(start, size), I64(63)), I64(~63))
    k.store(irb.trunc(aligned, I32), record, c.PAYLOAD_HEAD, 4)
    return k.at(record, irb.add(view.get(c.PAYLOADS_AT), start))


def _fill_payload(k: Micro, view: View, descriptor: ir.Value, payload: ir.Value) -> None:
    """The header and the source registers as they are at issue, and the arguments."""
    irb = k.irb
    copy(k, payload, k.wave, I64(at.WAVE_HEADER))
    arguments = irb.zext(k.load(I32, descriptor, c.D_ARGUMENTS, 4), I64)
    staged = k.at(view.area, c.STAGED)
    copy(k, k.at(payload, c.P_ARGUMENTS), staged, irb.shl(arguments, I64(3)))
    target = k.variable(PTR, None)
    irb.store(k.at(payload, c.P_ROWS), target)
    with k.loop(irb.zext(k.load(I32, descriptor, c.D_ROWS, 4), I64)) as index:
        pair = k.at(descriptor, irb.add(irb.shl(index, I64(3)), I64(c.DESCRIPTOR)))
        source = k.at(k.wave, irb.zext(k.load(I32, pair, 0, 4), I64))
        size = irb.zext(k.load(I32, pair, 4, 4), I64)
        place = irb.load(target, typ=PTR)
        copy(k, place, source, size)
        irb.store(k.at(place, size), target)


def copy(k: Micro, target: ir.Value, source: ir.Value, size: ir.Value) -> None:
    """Copy `size` bytes, a multiple of 8."""
    with k.loop(k.irb.lshr(size, I64(3))) as index:
        place = k.irb.shl(index, I64(3))
        k.store(k.load(I64, source, place, 8), target, place, 8)


def _count(
    k: Micro, view: View, record: ir.Value, row: ir.Value, descriptor: ir.Value, entry: ir.Value
) -> ir.Value:  # fmt: skip
    """Take the next position in each queue; i1 whether a full counter made older ones complete."""
    irb = k.irb
    full: ir.Value = ir.IntType(1)(0)
    second = k.s.ucmp(
        "!=", k.load(I32, descriptor, c.D_QUEUE, 4), k.load(I32, descriptor, c.D_QUEUE2, 4)
    )
    for which, place, position, capacity in (
        (c.D_QUEUE, c.E_QUEUE, c.E_POSITION, c.D_CAPACITY),
        (c.D_QUEUE2, c.E_QUEUE2, c.E_POSITION2, c.D_CAPACITY2),
    ):
        queue = k.load(I32, descriptor, which, 4)
        offset = irb.shl(irb.zext(queue, I64), I64(2))
        step: ir.Value = I32(1) if which == c.D_QUEUE else irb.zext(second, I32)
        issued = irb.add(k.load(I32, record, offset, 4), step)
        k.store(issued, record, offset, 4)
        k.store(queue, entry, place, 4)
        k.store(issued, entry, position, 4)
        limit = k.load(I32, descriptor, capacity, 4)
        full = irb.or_(full, limit_to_capacity(k, view, record, row, queue, limit))
    return full


def _note_addresses(
    k: Micro, view: View, record: ir.Value, number: ir.Value, entry: ir.Value,
    descriptor: ir.Value, ranges: dict[int, tuple[ir.Value, ir.Value]],
) -> None:  # fmt: skip
    """Keep what the operation touches: in LDS if anything, else in global memory."""
    irb = k.irb
    parts = {space: addresses(view, space) for space in (c.LDS, c.GLOBAL)}
    in_lds = k.s.ucmp("!=", parts[c.LDS][1], 0)
    log, count, width = (
        irb.select(in_lds, lds, far)
        for lds, far in zip(parts[c.LDS], parts[c.GLOBAL], strict=True)
    )
    low, high = (
        irb.select(in_lds, lds, far)
        for lds, far in zip(ranges[c.LDS], ranges[c.GLOBAL], strict=True)
    )
    access = irb.select(
        in_lds, k.load(I32, descriptor, c.D_LDS, 4), k.load(I32, descriptor, c.D_GLOBAL, 4)
    )
    kept = k.s.umin(count, I64(c.LOGGED))
    k.store(irb.select(in_lds, I32(c.LDS), I32(c.GLOBAL)), entry, c.E_SPACE, 4)
    k.store(access, entry, c.E_ACCESS, 4)
    k.store(irb.trunc(kept, I32), entry, c.E_COUNT, 4)
    k.store(irb.trunc(width, I32), entry, c.E_BYTES, 4)
    k.store(low, entry, c.E_LOW, 8)
    k.store(high, entry, c.E_HIGH, 8)
    copy(k, view.log(record, number), log, irb.shl(kept, I64(3)))


def _note_signal(
    k: Micro, view: View, entry: ir.Value, payload: ir.Value, size: ir.Value,
    instruction: ir.Value, number: ir.Value,
) -> None:  # fmt: skip
    """An atomic, or an LDS store of one word, is a signal: keep what the wave knows now."""
    irb = k.irb
    access, count = k.load(I32, entry, c.E_ACCESS, 4), k.load(I32, entry, c.E_COUNT, 4)
    in_lds = k.s.ucmp("==", k.load(I32, entry, c.E_SPACE, 4), c.LDS)
    flag = irb.and_(irb.and_(has(k, access, c.WRITE), in_lds), k.s.ucmp("==", count, 1))
    signals = irb.and_(irb.or_(has(k, access, c.ATOMIC), flag), k.s.ucmp("!=", count, 0))
    with k.when(signals):
        set_state(k, entry, c.PUBLISHES)
        rows = view.row_bytes()
        snapshot = k.at(payload, irb.sub(size, rows))
        k.store(snapshot, entry, c.E_SNAPSHOT, 8)
        with k.loop(irb.lshr(rows, I64(2))) as index:
            place = irb.shl(index, I64(2))
            k.store(k.load(I32, view.knowledge(view.own), place, 4), snapshot, place, 4)
        _raise_own(k, view, entry, snapshot)
        note_signal(k, view, irb.sub(number, I32(1)), instruction)


def _raise_own(k: Micro, view: View, entry: ir.Value, snapshot: ir.Value) -> None:
    """Whoever sees a signal of an ordered queue knows that all before it there is complete."""
    irb = k.irb
    row = k.at(snapshot, irb.mul(view.own, I64(c.ROW)))
    for which, position_at in ((c.E_QUEUE, c.E_POSITION), (c.E_QUEUE2, c.E_POSITION2)):
        queue = k.load(I32, entry, which, 4)
        place = irb.add(irb.shl(irb.zext(queue, I64), I64(2)), I64(4))
        ordered = irb.trunc(irb.lshr(view.get(c.ORDERED, I32), queue), ir.IntType(1))
        before = k.load(I32, row, place, 4)
        reached = k.s.umax(before, k.load(I32, entry, position_at, 4))
        k.store(irb.select(ordered, reached, before), row, place, 4)
