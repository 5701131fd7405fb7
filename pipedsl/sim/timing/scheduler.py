"""The native cycle scheduler: which wave issues next, when, and what that costs it."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.registry import Micro, micro_kernel
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.code import Code, Value, Variable
from pipedsl.sim.timing.effects import Effects, Issue
from pipedsl.sim.timing.fields import Record
from pipedsl.sim.timing.scoreboard import Scoreboard
from pipedsl.sim.timing.state import State, account
from pipedsl.sim.timing.trace import Trace

_NEVER = 1 << 60
_WAVE_RUN = ir.FunctionType(I32, [PTR, PTR])


@micro_kernel("run_cu", list)
def run_cu(k: Micro) -> None:
    """``group`` points to a record of `records.CU_FIELDS`.

    Issues one instruction after another, the earliest first, until a workgroup ends, the slice is
    used up, or the run fails. A wave executes an instruction that touches memory at the moment
    it issues, so waves see each other's accesses in the order of modelled time.
    """
    Scheduler(k).emit()


class Scheduler:
    """Emits the loop over issued instructions."""

    def __init__(self, k: Micro) -> None:
        self.state = State(k)
        self.c, self.cu = self.state.c, self.state.cu
        self.trace = Trace(self.c, self.cu)
        self.scoreboard = Scoreboard(self.state)
        self.effects = Effects(self.state, self.trace, self.scoreboard)

    def emit(self) -> None:
        c, cu = self.c, self.cu
        end = c.variable(cu.instructions + cu.slice)
        with c.loop_while(lambda: cu.instructions < end()):
            best, time = c.variable(-1), c.variable(_NEVER)
            self._choose(best, time)
            with c.when(best() < 0):
                c.ret(r.DEADLOCK)
            cu.current = best()
            cu.now = time()
            self._issue(self.state.wave(best()), best(), time)
            with c.when(cu.finished != 0):
                c.ret(r.GROUP_DONE)
            with c.when(cu.instructions >= cu.limit):
                c.ret(r.OVER_BUDGET)
            with c.when((cu.log_count >= cu.log_limit) | (cu.stop != 0)):
                c.ret(r.PAUSED)
        c.ret(r.PAUSED)

    # choice
    def _choose(self, best: Variable, time: Variable) -> None:
        """The earliest wave; at one moment the highest priority, then who has waited longest."""
        c, cu = self.c, self.cu
        best_rank = c.variable(_NEVER)
        with c.loop(cu.wave_count) as index:
            wave = self.state.wave(index)
            with c.when(wave.state == r.RUNNING):
                earliest = self._earliest(wave)
                rank = ((3 - wave.priority) << 48) + wave.last_issue
                sooner = earliest < time()
                same = (earliest == time()) & (rank < best_rank())
                with c.when(sooner | same):
                    best.set(index)
                    time.set(earliest)
                    best_rank.set(rank)

    def _earliest(self, wave: Record) -> Value:
        """When a wave can issue its next instruction, at a turn of its SIMD."""
        c, cu = self.c, self.cu
        slot = wave.simd * len(r.CATEGORIES) + wave.category
        time = c.max(wave.ready, wave.due, cu.at("free", slot))
        core = cu.at("matrix_free", wave.simd)
        time = c.max(time, c.select((wave.matrix != 0) | (wave.shadow == 0), core, 0))
        time = c.max(time, c.select(wave.matrix != 0, cu.at("matrix_held", wave.simd), 0))
        return next_turn(c, cu, time, wave.simd)

    # issue
    def _issue(self, wave: Record, index: Value, time: Variable) -> None:
        c, cu = self.c, self.cu
        pc = c.variable(wave.pc)
        row = self.state.row(pc())
        account(self.state, wave, row, index, pc(), time())
        with c.when(wave.started == 0):
            self._execute(wave, time())
        cu.instructions = cu.instructions + 1
        wave.instructions = wave.instructions + 1
        wave.last_issue = time()
        slot = wave.simd * len(r.CATEGORIES) + row.category
        cu.put("free", slot, time() + row.busy)
        with c.when(row.holds != 0):
            cu.put("matrix_held", wave.simd, time() + row.holds)
        wave.ready = time() + cu.turn
        self.effects.act(Issue(wave, row, index, pc(), time()))
        self.scoreboard.write_results(wave, row, time())
        self._advance(wave, row, pc)
        with c.when(wave.state == r.RUNNING):
            self.scoreboard.prepare(wave)

    def _execute(self, wave: Record, time: Value) -> None:
        """Run the wave's segment: this instruction and what follows up to the next access."""
        c, cu, irb = self.c, self.cu, self.c.k.irb
        self.trace.clear()
        clock = irb.inttoptr((wave.group + at.CLOCK).ir, PTR)
        irb.store(time.ir, clock, align=8)
        entry = irb.inttoptr(cu.entry.ir, _WAVE_RUN.as_pointer())
        args = [irb.inttoptr(v.ir, PTR) for v in (wave.group, wave.record)]
        status = Value(c, irb.sext(irb.call(entry, args), I64))
        with c.when(status == at.FAULT):
            c.store_i32(c.load_i32(wave.record, at.WAVE_INDEX), wave.group, at.CURRENT)
            c.ret(r.FAULTED)
        wave.next = c.load_i32(wave.record, at.PC)
        wave.started = 1

    # control
    def _advance(self, wave: Record, row: Record, pc: Variable) -> None:
        c = self.c
        jumped = (wave.next != pc() + 1) & (row.action == r.JUMP) & (row.last != 0)
        with c.when(jumped):
            wave.ready = wave.ready + row.extra
            self.state.spend(pc(), row.extra)
            wave.add("cycles", c.select(row.spin != 0, r.POLLING, r.ISSUE), row.extra)

        def segment_ends() -> None:
            wave.pc = wave.next
            wave.started = 0

        def goes_on() -> None:
            wave.pc = pc() + 1

        c.choose(row.last != 0, segment_ends, goes_on)


def next_turn(c: Code, cu: Record, time: Value, simd: Value) -> Value:
    """The first turn of a SIMD not before `time`; SIMDs have their turns one clock apart."""
    phase = simd & cu.simd_mask
    late = time - phase + cu.turn - 1
    return late - (late & (cu.turn - 1)) + phase
