"""The barrier of a workgroup, and the end of its waves."""

from __future__ import annotations

from pipedsl.sim import layout as at
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.code import Value
from pipedsl.sim.timing.fields import Record
from pipedsl.sim.timing.scoreboard import Scoreboard
from pipedsl.sim.timing.state import State


class Barrier:
    """Counts arrivals; the last one opens it, at its own time plus a latency."""

    def __init__(self, state: State, scoreboard: Scoreboard) -> None:
        self.state = state
        self.scoreboard = scoreboard
        self.c = state.c
        self.cu = state.cu

    def block(self, wave: Record) -> None:
        """The wave sleeps until its barrier opens."""
        wave.state = r.BLOCKED
        wave.blocked_since = wave.ready
        wave.blocked_at = wave.pc
        self.c.store_i32(at.AT_BARRIER, wave.record, at.STATUS)

    def wait(self, wave: Record, index: Value, pc: Value) -> None:
        """The second half of a split barrier."""

        def passes() -> None:
            latency, start = self.cu.barrier_latency, wave.ready
            self.state.log(r.STALLED, index, start, start + latency, pc, r.WAIT_BARRIER)
            self.state.spend(pc, latency)
            wave.add("cycles", r.WAIT_BARRIER, latency)
            wave.ready = start + latency

        opened = self.state.group(wave.group_index).phase >= wave.phase
        self.c.choose(opened, passes, lambda: self.block(wave))

    def arrive(self, wave: Record) -> None:
        """A wave reaches the barrier; the last one opens it."""
        group = self.state.group(wave.group_index)
        wave.phase = group.phase + 1
        group.arrived = group.arrived + 1
        self._open(wave, group)

    def _open(self, wave: Record, group: Record) -> None:
        c, cu = self.c, self.cu
        now = c.variable(wave.ready)
        with c.when((group.arrived >= group.live) & (group.arrived > 0)):
            group.arrived = 0
            group.phase = group.phase + 1
            with c.loop(cu.wave_count) as index:
                other = self.state.wave(index)
                waits = (other.state == r.BLOCKED) & (other.group == wave.group)
                with c.when(waits & (other.phase <= group.phase)):
                    release = c.max(now(), other.blocked_since) + cu.barrier_latency
                    self.state.spend(other.blocked_at, release - other.blocked_since)
                    other.add("cycles", r.WAIT_BARRIER, release - other.blocked_since)
                    since, at_pc = other.blocked_since, other.blocked_at
                    self.state.log(r.STALLED, index, since, release, at_pc, r.WAIT_BARRIER)
                    other.ready = release
                    other.state = r.RUNNING
                    c.store_i32(at.READY, other.record, at.STATUS)
                    self.scoreboard.prepare(other)

    def end(self, wave: Record, time: Value) -> None:
        """A wave ends: the barrier no longer waits for it."""
        c, cu = self.c, self.cu
        wave.state = r.ENDED
        wave.ended = time + cu.turn
        group = self.state.group(wave.group_index)
        group.live = group.live - 1
        self._open(wave, group)
        with c.when(group.live == 0):
            cu.finished = wave.group_index + 1
