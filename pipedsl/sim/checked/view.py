"""The checked area as micro-kernels see it: addresses of its parts, and the tests on entries."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I1, I32, I64, PTR
from pipedsl.sim.checked import layout as c
from pipedsl.sim.micro.registry import Micro


class View:
    """Reads the area that belongs to the group of micro-kernel `k`.

    Attributes
    ----------
    area : ir.Value
        Pointer to the area.
    own : ir.Value
        Number of the wave that the micro-kernel was called for, i64.
    waves : ir.Value
        Waves of the workgroup, i64.
    """

    def __init__(self, k: Micro) -> None:
        self.k = k
        self.area = k.load(PTR, k.group, at.CHECKED, 8)
        self.own = k.irb.zext(k.load(I32, k.wave, at.WAVE_INDEX, 4), I64)
        self.waves = k.irb.zext(k.load(I32, k.group, at.WAVES, 4), I64)

    def get(self, offset: int, kind: ir.Type = I64) -> ir.Value:
        """A field of the header."""
        return self.k.load(kind, self.area, offset, 4 if kind == I32 else 8)

    def record(self, wave: ir.Value) -> ir.Value:
        """The record of a wave."""
        start = self.k.irb.mul(wave, self.get(c.WAVE_STRIDE))
        return self.k.at(self.area, self.k.irb.add(start, I64(c.HEADER)))

    def entry(self, record: ir.Value, number: ir.Value) -> ir.Value:
        """The entry of operation `number` (u32), if it is still kept."""
        return self._slot(record, number, c.ENTRIES_AT, c.ENTRY)

    def log(self, record: ir.Value, number: ir.Value) -> ir.Value:
        """The addresses of operation `number`."""
        return self._slot(record, number, c.LOGS_AT, 8 * c.LOGGED)

    def _slot(self, record: ir.Value, number: ir.Value, table: int, size: int) -> ir.Value:
        irb = self.k.irb
        slot = irb.zext(irb.and_(number, I32(c.ENTRIES - 1)), I64)
        return self.k.at(record, irb.add(self.get(table), irb.mul(slot, I64(size))))

    def pending(self, record: ir.Value, register: ir.Value) -> ir.Value:
        """Where the operation that will write `register` (i32) is noted."""
        irb = self.k.irb
        place = irb.shl(irb.zext(register, I64), I64(2))
        return self.k.at(record, irb.add(place, I64(c.PENDING)))

    def knowledge(self, wave: ir.Value) -> ir.Value:
        """The rows of what `wave` knows about each wave."""
        return self.k.at(
            self.get(c.KNOWLEDGE, PTR), self.k.irb.mul(wave, self.row_bytes())
        )  # fmt: skip

    def row(self, wave: ir.Value, about: ir.Value) -> ir.Value:
        """What `wave` knows about another; about itself it is the truth."""
        return self.k.at(self.knowledge(wave), self.k.irb.mul(about, I64(c.ROW)))

    def row_bytes(self) -> ir.Value:
        """Bytes of a row about every wave."""
        return self.k.irb.mul(self.waves, I64(c.ROW))

    def join(self, target: ir.Value, source: ir.Value) -> None:
        """Let the rows at `target` know what those at `source` know."""
        k = self.k
        with k.loop(k.irb.mul(self.waves, I64(c.ROW // 4))) as index:
            place = k.irb.shl(index, I64(2))
            both = k.s.umax(k.load(I32, target, place, 4), k.load(I32, source, place, 4))
            k.store(both, target, place, 4)

    def wave_pointer(self, wave: ir.Value) -> ir.Value:
        """The wave's own record in the group's arena."""
        k = self.k
        stride = k.load(I64, k.group, at.WAVE_STRIDE, 8)
        return k.at(k.group, k.irb.add(k.irb.mul(wave, stride), I64(at.GROUP_HEADER)))

    def call(self, service: int, *args: ir.Value) -> ir.Value:
        """Call another micro-kernel by its place in the header."""
        kind = ir.FunctionType(I32, [a.type for a in args]).as_pointer()
        return self.k.irb.call(self.get(service, kind), list(args))

    def call_or_fail(self, service: int, *args: ir.Value) -> None:
        """Call; on a fault return it."""
        k = self.k
        with k.when(k.s.ucmp("!=", self.call(service, *args), 0)):
            k.ret(1)


def proven(k: Micro, row: ir.Value, queue: ir.Value) -> ir.Value:
    """Operations of `queue` (i32) that the knowledge in `row` proves complete."""
    place = k.irb.shl(k.irb.zext(queue, I64), I64(2))
    return k.load(I32, row, k.irb.add(place, I64(4)), 4)


def complete(k: Micro, entry: ir.Value, row: ir.Value) -> ir.Value:
    """Whether `row` proves that an entry is complete: on both its queues, if it counts on two."""
    done = k.s.ucmp("!=", k.irb.and_(k.load(I32, entry, c.E_STATE, 4), I32(c.FORCED)), 0)
    both: ir.Value = I1(1)
    for queue, position in ((c.E_QUEUE, c.E_POSITION), (c.E_QUEUE2, c.E_POSITION2)):
        reached = proven(k, row, k.load(I32, entry, queue, 4))
        passed = k.s.ucmp("<=", k.load(I32, entry, position, 4), reached)
        both = k.irb.and_(both, passed)
    return k.irb.or_(done, both)


def set_state(k: Micro, entry: ir.Value, bit: int) -> None:
    """Set a bit of an entry's state."""
    k.store(k.irb.or_(k.load(I32, entry, c.E_STATE, 4), I32(bit)), entry, c.E_STATE, 4)


def has(k: Micro, value: ir.Value, bit: int) -> ir.Value:
    """Whether `value` has one of the bits `bit`."""
    return k.s.ucmp("!=", k.irb.and_(value, I32(bit)), 0)


def while_(k: Micro, test: Callable[[], ir.Value], body: Callable[[], None]) -> None:
    """``while test(): body()``."""
    head, inside, done = k.block("while"), k.block("inside"), k.block("done")
    k.irb.branch(head)
    k.irb.position_at_end(head)
    k.irb.cbranch(test(), inside, done)
    k.irb.position_at_end(inside)
    body()
    k.irb.branch(head)
    k.irb.position_at_end(done)
