"""The records of the cycle scheduler as native code sees them, and the log it writes."""

from __future__ import annotations

from pipedsl.sim.builder import I64
from pipedsl.sim.micro.registry import Micro
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.code import Code, Value
from pipedsl.sim.timing.fields import Record


class State:
    """Access to waves, groups and instruction rows.

    Attributes
    ----------
    c : Code
    cu : Record
        The compute unit.
    """

    def __init__(self, k: Micro) -> None:
        self.c = c = Code(k)
        self.cu = Record(c, Value(c, k.irb.ptrtoint(k.group, I64)), r.CU_FIELDS)

    def wave(self, index: Value) -> Record:
        """Wave `index` of the compute unit."""
        return Record(self.c, self.cu.waves + index * (8 * r.WAVE_SIZE), r.WAVE_FIELDS)

    def group(self, index: Value) -> Record:
        """Workgroup `index` of the compute unit."""
        return Record(self.c, self.cu.groups + index * (8 * r.GROUP_SIZE), r.GROUP_FIELDS)

    def row(self, pc: Value) -> Record:
        """Timing row of instruction `pc`."""
        return Record(self.c, self.cu.rows + pc * (8 * r.ROW_SIZE), r.ROW_FIELDS)

    def spend(self, pc: Value, cycles: Value) -> None:
        """Count cycles against an instruction."""
        self.c.store(self.c.load(self.cu.spent, pc) + cycles, self.cu.spent, pc)

    def log(
        self, what: int, wave: Value, start: Value, end: Value, pc: Value, address: Value | int,
        seen: Value | int = 0,
    ) -> None:  # fmt: skip
        """Append an entry; `address` is the reason of a stall."""
        c, cu = self.c, self.cu
        entry = Record(c, cu.log + cu.log_count * (8 * r.LOG_SIZE), r.LOG_FIELDS)
        entry.what, entry.wave, entry.start, entry.end = what, wave, start, end
        entry.instruction, entry.address, entry.seen = pc, address, seen
        cu.log_count = cu.log_count + 1


def account(state: State, wave: Record, row: Record, index: Value, pc: Value, time: Value) -> None:
    """Attribute the time from when a wave could have issued to when it does, and the turn it takes."""
    c, cu = state.c, state.cu
    stall = time - wave.ready
    c.store(c.load(cu.counts, pc) + 1, cu.counts, pc)
    state.spend(pc, stall + cu.turn)
    c.store(c.load(cu.stalls, pc) + stall, cu.stalls, pc)
    polling = row.spin != 0
    with c.when((wave.spin != 0) & (wave.spin != row.spin)):
        leave_spin(state, wave, index)
    with c.when(polling & (wave.spin == 0)):
        wave.spin = row.spin
        wave.spin_start = wave.ready
        wave.spin_at = pc
    due = c.max(wave.due - wave.ready, 0)
    rest = stall - due
    busy = c.select(row.action == r.MATRIX, r.MATRIX_BUSY, r.UNIT_BUSY)

    def waiting() -> None:
        wave.add("cycles", r.POLLING, stall + cu.turn)

    def working() -> None:
        cu.worked = cu.instructions
        wave.add("cycles", r.ISSUE, cu.turn)
        wave.add("cycles", wave.due_kind, due)
        wave.add("cycles", busy, rest)
        logged = (wave.due_kind == r.WAIT_MEMORY) | (wave.due_kind == r.WAIT_LDS)
        with c.when(logged & (due > cu.turn)):
            state.log(r.STALLED, index, wave.ready, wave.due, pc, wave.due_kind)

    c.choose(polling, waiting, working)


def leave_spin(state: State, wave: Record, index: Value) -> None:
    """A wave goes on behind a polling loop."""
    state.log(r.POLLED, index, wave.spin_start, wave.ready, wave.spin_at, wave.polled, wave.seen)
    wave.spin = 0
