"""What waves learn of each other: at barriers, and through words that one writes and another reads."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.view import View, has
from pipedsl.sim.micro.registry import Micro, micro_kernel

# Synchronisation words of one space: count, lowest address, end of the highest, then the words.
_COUNT, _LOW, _HIGH, _WORDS = 0, 8, 16, 64


def note_signal(k: Micro, view: View, issued: ir.Value, instruction: ir.Value) -> None:
    """Remember that the wave gave a signal after `issued` operations."""
    irb = k.irb
    record = view.record(view.own)
    given = k.load(I32, record, c.SIGNALS, 4)
    slot = irb.zext(irb.and_(given, I32(c.SIGNALS_KEPT - 1)), I64)
    place = irb.add(irb.shl(slot, I64(3)), I64(c.SIGNAL_RING))
    k.store(issued, record, place, 4)
    k.store(instruction, record, irb.add(place, I64(4)), 4)
    k.store(irb.add(given, I32(1)), record, c.SIGNALS, 4)


@micro_kernel("checked_arrive", lambda: [I32])
def checked_arrive(k: Micro) -> None:
    """``instruction``: the wave tells the barrier what it knows; called before it arrives."""
    view = View(k)
    clock = _barrier_clock(k, view, k.load(I32, k.group, at.BARRIER_PHASE, 4))
    knowledge = view.knowledge(view.own)
    view.join(clock, knowledge)
    issued = k.load(I32, view.row(view.own, view.own), 0, 4)
    note_signal(k, view, issued, k.args[0])
    k.ret(0)


@micro_kernel("checked_leave", list)
def checked_leave(k: Micro) -> None:
    """The wave learns what every wave told the barrier that it leaves."""
    view = View(k)
    target = k.load(I32, k.wave, at.BARRIER_TARGET, 4)
    clock = _barrier_clock(k, view, k.irb.sub(target, I32(1)))
    view.join(view.knowledge(view.own), clock)
    k.ret(0)


def _barrier_clock(k: Micro, view: View, phase: ir.Value) -> ir.Value:
    """Two clocks alternate: nobody arrives at a phase before everyone has left the one but last."""
    parity = k.irb.zext(k.irb.and_(phase, I32(1)), I64)
    return k.at(view.get(c.BARRIER_CLOCKS, PTR), k.irb.mul(parity, view.row_bytes()))


def publish(k: Micro, view: View, entry: ir.Value, log: ir.Value) -> None:
    """A committed atomic, or store of one word, publishes what its wave knew when it issued it."""
    irb = k.irb
    with k.when(has(k, k.load(I32, entry, c.E_STATE, 4), c.PUBLISHES)):
        table = _table(k, view, entry)
        snapshot = k.load(PTR, entry, c.E_SNAPSHOT, 8)
        with k.loop(irb.zext(k.load(I32, entry, c.E_COUNT, 4), I64)) as lane:
            address = k.load(I64, log, irb.shl(lane, I64(3)), 8)
            found = k.variable(PTR, None)
            _find(k, view, table, address, found)
            with k.when(irb.icmp_unsigned("==", irb.load(found, typ=PTR), PTR(None))):
                _add(k, view, table, address, found)
            word = irb.load(found, typ=PTR)
            with k.when(irb.icmp_unsigned("!=", word, PTR(None))):
                view.join(k.at(word, 8), snapshot)


def _table(k: Micro, view: View, entry: ir.Value) -> ir.Value:
    space = k.irb.zext(k.load(I32, entry, c.E_SPACE, 4), I64)
    place = k.irb.shl(k.irb.sub(space, I64(1)), I64(3))
    return k.load(PTR, view.area, k.irb.add(place, I64(c.CLOCKS)), 8)


def _word(k: Micro, view: View, table: ir.Value, index: ir.Value) -> ir.Value:
    size = k.irb.add(view.row_bytes(), I64(8))
    return k.at(table, k.irb.add(k.irb.mul(index, size), I64(_WORDS)))


def _find(k: Micro, view: View, table: ir.Value, address: ir.Value, found: ir.Value) -> None:
    with k.loop(k.load(I64, table, _COUNT, 8)) as index:
        word = _word(k, view, table, index)
        with k.when(k.s.ucmp("==", k.load(I64, word, 0, 8), address)):
            k.irb.store(word, found)


def _add(k: Micro, view: View, table: ir.Value, address: ir.Value, found: ir.Value) -> None:
    """Words beyond the table's size order nothing: fewer findings, never a false one."""
    count = k.load(I64, table, _COUNT, 8)
    with k.when(k.s.ucmp("<", count, c.WORDS)):
        word = _word(k, view, table, count)
        k.store(address, word, 0, 8)
        k.store(k.irb.add(count, I64(1)), table, _COUNT, 8)
        k.store(k.s.umin(k.load(I64, table, _LOW, 8), address), table, _LOW, 8)
        end = k.irb.add(address, I64(1))
        k.store(k.s.umax(k.load(I64, table, _HIGH, 8), end), table, _HIGH, 8)
        k.irb.store(word, found)


def acquire(k: Micro, view: View, entry: ir.Value, log: ir.Value) -> None:
    """A committed read of published words teaches its wave what their writers knew."""
    irb = k.irb
    with k.when(has(k, k.load(I32, entry, c.E_ACCESS, 4), c.READ)):
        table = _table(k, view, entry)
        above = k.s.ucmp("<", k.load(I64, entry, c.E_LOW, 8), k.load(I64, table, _HIGH, 8))
        below = k.s.ucmp(">", k.load(I64, entry, c.E_HIGH, 8), k.load(I64, table, _LOW, 8))
        with k.when(irb.and_(above, below)), k.loop(k.load(I64, table, _COUNT, 8)) as index:
            word = _word(k, view, table, index)
            hit = _covers(k, entry, log, k.load(I64, word, 0, 8))
            with k.when(k.s.ucmp("!=", hit, 0)):
                view.join(view.knowledge(view.own), k.at(word, 8))


def _covers(k: Micro, entry: ir.Value, log: ir.Value, address: ir.Value) -> ir.Value:
    hit = k.variable(I32, 0)
    k.irb.store(I32(0), hit)
    width = k.irb.zext(k.load(I32, entry, c.E_BYTES, 4), I64)
    with k.loop(k.irb.zext(k.load(I32, entry, c.E_COUNT, 4), I64)) as lane:
        offset = k.irb.sub(address, k.load(I64, log, k.irb.shl(lane, I64(3)), 8))
        one = k.irb.zext(k.s.ucmp("<", offset, width), I32)
        k.irb.store(k.irb.or_(k.irb.load(hit, typ=I32), one), hit)
    return k.irb.load(hit, typ=I32)
