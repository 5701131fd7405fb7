"""What an instruction does at its issue besides occupying its unit."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.sim import layout as at
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.barrier import Barrier
from pipedsl.sim.timing.caches import MemorySystem
from pipedsl.sim.timing.code import Value
from pipedsl.sim.timing.fields import Record
from pipedsl.sim.timing.lds import LdsPorts
from pipedsl.sim.timing.scoreboard import Scoreboard
from pipedsl.sim.timing.state import State
from pipedsl.sim.timing.trace import Trace


@dataclass(frozen=True)
class Issue:
    """One instruction at the moment of its issue.

    Attributes
    ----------
    wave, row : Record
    index : Value
        Number of the wave.
    pc, time : Value
    """

    wave: Record
    row: Record
    index: Value
    pc: Value
    time: Value


class Effects:
    """The actions of `records`, one method each."""

    def __init__(self, state: State, trace: Trace, scoreboard: Scoreboard) -> None:
        self.state = state
        self.lds = LdsPorts(state.c, state.cu, trace)
        self.memory = MemorySystem(state.c, state.cu, trace)
        self.scoreboard = scoreboard
        self.barrier = Barrier(state, scoreboard)
        self.c = state.c
        self.cu = state.cu

    def act(self, i: Issue) -> None:
        """Do what the row's action says."""
        actions = {
            r.PLAIN: self._plain,
            r.MATRIX: self._matrix,
            r.LDS_ACCESS: self._lds,
            r.VECTOR_MEMORY: self._vector_memory,
            r.SCALAR_MEMORY: self._scalar_memory,
            r.CACHE: self._cache,
            r.CLOCK: self._clock,
            r.SLEEP: self._sleep,
            r.PRIORITY: self._priority,
            r.SIGNAL: lambda i: self.barrier.arrive(i.wave),
            r.BARRIER: self._whole_barrier,
            r.BARRIER_WAIT: lambda i: self.barrier.wait(i.wave, i.index, i.pc),
            r.END: lambda i: self.barrier.end(i.wave, i.time),
        }
        cases = {number: (lambda f=action: f(i)) for number, action in actions.items()}
        self.c.switch(i.row.action, cases)

    def _plain(self, i: Issue) -> None:
        self._delay(i, i.row.extra, r.ISSUE)

    def _delay(self, i: Issue, cycles: Value, kind: Value | int) -> None:
        """The wave cannot issue for some cycles beyond its turn."""
        i.wave.ready = i.wave.ready + cycles
        i.wave.add("cycles", kind, cycles)
        self.state.spend(i.pc, cycles)

    def _matrix(self, i: Issue) -> None:
        cu = self.cu
        cu.put("matrix_free", i.wave.simd, i.time + i.row.matrix_cycles)
        cu.matrix_cycles = cu.matrix_cycles + i.row.matrix_cycles

    def _lds(self, i: Issue) -> None:
        c, cu = self.c, self.cu
        done = self.lds.access(i.row, i.time, i.wave.simd, i.pc)
        self.scoreboard.count(i.wave, i.row, done)
        lanes = c.load(cu.trace, 0)
        with c.when(lanes != 0):
            address = c.load(cu.trace, c.first_one(lanes) + at.TRACE_ADDRESSES // 8)
            with c.when(i.row.signal != 0):
                self.state.log(r.SIGNALLED, i.index, i.time, i.time, i.pc, address)
            with c.when(i.row.poll != 0):
                i.wave.polled = address
                lds = c.load(i.wave.group + at.LDS_POINTER)
                i.wave.seen = c.load_i32(lds + address, 0)

    def _vector_memory(self, i: Issue) -> None:
        c, cu = self.c, self.cu
        done = c.variable(self.memory.vector_access(i.row, i.time, i.wave.simd))
        in_lds = (c.load(cu.trace, 0) != 0) & (c.load(cu.trace, 1) >> 32 == at.TRACE_LDS)
        with c.when(in_lds & (i.row.to_lds == 0)):
            done.raise_to(self.lds.access(i.row, i.time, i.wave.simd, i.pc))
        self.scoreboard.count(i.wave, i.row, done())

    def _scalar_memory(self, i: Issue) -> None:
        self.scoreboard.count(i.wave, i.row, self.memory.scalar_access(i.row, i.time))

    def _cache(self, i: Issue) -> None:
        with self.c.when(i.row.argument != 0):
            self.memory.invalidate()
        self.scoreboard.count(i.wave, i.row, i.time + i.row.latency)

    def _clock(self, i: Issue) -> None:
        self.scoreboard.count(i.wave, i.row, i.time + i.row.latency)

    def _sleep(self, i: Issue) -> None:
        kind = self.c.select(i.row.spin != 0, r.POLLING, r.ASLEEP)
        self._delay(i, self.c.max(i.row.extra - self.cu.turn, 0), kind)

    def _priority(self, i: Issue) -> None:
        i.wave.priority = i.row.argument

    def _whole_barrier(self, i: Issue) -> None:
        self.barrier.block(i.wave)
        self.barrier.arrive(i.wave)
