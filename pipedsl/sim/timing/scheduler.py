"""The native cycle scheduler: which wave issues next, when, and what that costs it."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.registry import Micro, micro_kernel
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.caches import MemorySystem
from pipedsl.sim.timing.code import Code, Record, Value, Variable

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
        self.c = c = Code(k)
        self.cu = Record(c, Value(c, k.irb.ptrtoint(k.group, I64)), r.CU_FIELDS)
        self.memory = MemorySystem(c, self.cu)

    def wave(self, index: Value) -> Record:
        return Record(self.c, self.cu.waves + index * (8 * r.WAVE_SIZE), r.WAVE_FIELDS)

    def group(self, index: Value) -> Record:
        return Record(self.c, self.cu.groups + index * (8 * r.GROUP_SIZE), r.GROUP_FIELDS)

    def row(self, pc: Value) -> Record:
        return Record(self.c, self.cu.rows + pc * (8 * r.ROW_SIZE), r.ROW_FIELDS)

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
            self._issue(self.wave(best()), best(), time)
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
            wave = self.wave(index)
            with c.when(wave.state == r.RUNNING):
                earliest = self._earliest(wave)
                rank = ((3 - wave_priority(c, wave)) << 48) + wave.last_issue
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
        row = self.row(pc())
        self._account(wave, row, index, pc(), time)
        with c.when(wave.started == 0):
            self._execute(wave, row, pc(), time)
        cu.instructions = cu.instructions + 1
        wave.instructions = wave.instructions + 1
        wave.last_issue = time()
        slot = wave.simd * len(r.CATEGORIES) + row.category
        cu.put("free", slot, time() + row.busy)
        with c.when(row.holds != 0):
            cu.put("matrix_held", wave.simd, time() + row.holds)
        wave.ready = time() + cu.turn
        self._act(wave, row, index, pc(), time)
        self._write_results(wave, row, time)
        self._advance(wave, row, pc)
        with c.when(wave.state == r.RUNNING):
            self.prepare(wave)

    def _account(self, wave: Record, row: Record, index: Value, pc: Value, time: Variable) -> None:
        """Attribute the time since the wave could first have issued."""
        c, cu = self.c, self.cu
        stall = time() - wave.ready
        c.store(c.load(cu.counts, pc) + 1, cu.counts, pc)
        c.store(c.load(cu.spent, pc) + stall + cu.turn, cu.spent, pc)
        c.store(c.load(cu.stalls, pc) + stall, cu.stalls, pc)
        polling = row.spin != 0
        with c.when((wave.spin != 0) & (wave.spin != row.spin)):
            self._leave_spin(wave, index, wave.ready)
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
            wave.add("cycles", r.ISSUE, cu.turn)
            wave.add("cycles", wave.due_kind, due)
            wave.add("cycles", busy, rest)
            logged = (wave.due_kind == r.WAIT_MEMORY) | (wave.due_kind == r.WAIT_LDS)
            with c.when(logged & (due > cu.turn)):
                self._log(r.STALLED, index, wave.ready, wave.due, pc, wave.due_kind, c.value(0))

        c.choose(polling, waiting, working)

    def _spend(self, pc: Value, cycles: Value) -> None:
        """Count cycles beyond the turn against an instruction."""
        self.c.store(self.c.load(self.cu.spent, pc) + cycles, self.cu.spent, pc)

    def _leave_spin(self, wave: Record, index: Value, end: Value) -> None:
        self._log(r.POLLED, index, wave.spin_start, end, wave.spin_at, wave.polled, wave.seen)
        wave.spin = 0

    def _log(
        self,
        what: int,
        wave: Value,
        start: Value,
        end: Value,
        pc: Value,
        address: Value,
        seen: Value,
    ) -> None:
        c, cu = self.c, self.cu
        entry = Record(c, cu.log + cu.log_count * (8 * r.LOG_SIZE), r.LOG_FIELDS)
        entry.what, entry.wave, entry.start, entry.end = what, wave, start, end
        entry.instruction, entry.address, entry.seen = pc, address, seen
        cu.log_count = cu.log_count + 1

    def _execute(self, wave: Record, row: Record, pc: Value, time: Variable) -> None:
        """Run the wave's segment: this instruction and what follows up to the next access."""
        c, cu, irb = self.c, self.cu, self.c.k.irb
        self.memory.clear_trace()
        clock = irb.inttoptr((wave.group + at.CLOCK).ir, PTR)
        irb.store(time().ir, clock, align=8)
        entry = irb.inttoptr(cu.entry.ir, _WAVE_RUN.as_pointer())
        args = [irb.inttoptr(v.ir, PTR) for v in (wave.group, wave.record)]
        status = Value(c, irb.sext(irb.call(entry, args), I64))
        with c.when(status == at.FAULT):
            c.store_i32(c.load_i32(wave.record, at.WAVE_INDEX), wave.group, at.CURRENT)
            c.ret(r.FAULTED)
        wave.next = c.load_i32(wave.record, at.PC)
        wave.started = 1

    def _act(self, wave: Record, row: Record, index: Value, pc: Value, time: Variable) -> None:
        c, cu = self.c, self.cu

        def matrix() -> None:
            cu.put("matrix_free", wave.simd, time() + row.matrix_cycles)
            cu.matrix_cycles = cu.matrix_cycles + row.matrix_cycles

        def lds() -> None:
            self._count(wave, row, self.memory.lds_access(row, time, wave.simd, pc))
            address = c.load(cu.trace, at.TRACE_ADDRESSES // 8 + c.first_one(c.load(cu.trace, 0)))
            touched = c.load(cu.trace, 0) != 0
            with c.when((row.signal != 0) & touched):
                self._log(r.SIGNALLED, index, time(), time(), pc, address, c.value(0))
            with c.when((row.poll != 0) & touched):
                wave.polled = address
                lds = c.load(wave.group + at.LDS_POINTER)
                wave.seen = c.load_i32(lds + address, 0)

        def vector_memory() -> None:
            done = c.variable(self.memory.vector_access(row, time, wave.simd))
            in_lds = (c.load(cu.trace, 0) != 0) & (c.load(cu.trace, 1) >> 32 == at.TRACE_LDS)
            with c.when(in_lds & (row.to_lds == 0)):
                done.raise_to(self.memory.lds_access(row, time, wave.simd, pc))
            self._count(wave, row, done())

        def cache() -> None:
            with c.when(row.argument != 0):
                self.memory.invalidate()
            self._count(wave, row, time() + row.latency)

        def sleep() -> None:
            wave.ready = time() + c.max(row.extra, cu.turn)
            self._spend(pc, c.max(row.extra - cu.turn, 0))
            kind = c.select(row.spin != 0, r.POLLING, r.ASLEEP)
            wave.add("cycles", kind, c.max(row.extra - cu.turn, 0))

        def plain() -> None:
            wave.ready = wave.ready + row.extra
            self._spend(pc, row.extra)
            wave.add("cycles", r.ISSUE, row.extra)

        def priority() -> None:
            wave.priority = row.argument

        def signal() -> None:
            self._arrive(wave)

        def barrier() -> None:
            self._block(wave)
            self._arrive(wave)

        def barrier_wait() -> None:
            opened = self.group(wave.group_index).phase >= wave.phase
            c.choose(opened, self._delay_barrier(wave), lambda: self._block(wave))

        c.switch(row.action, {
            r.PLAIN: plain,
            r.MATRIX: matrix,
            r.LDS_ACCESS: lds,
            r.VECTOR_MEMORY: vector_memory,
            r.SCALAR_MEMORY: lambda: self._count(wave, row, self.memory.scalar_access(row, time)),
            r.CACHE: cache,
            r.CLOCK: lambda: self._count(wave, row, time() + row.latency),
            r.SLEEP: sleep,
            r.PRIORITY: priority,
            r.SIGNAL: signal,
            r.BARRIER: barrier,
            r.BARRIER_WAIT: barrier_wait,
            r.END: lambda: self._end(wave, index, time),
        })  # fmt: skip

    # registers and counters
    def _write_results(self, wave: Record, row: Record, time: Variable) -> None:
        c = self.c
        ready = time() + row.latency
        forward = c.select(row.forward != 0, time() + row.forward, ready)
        with c.loop(row.target_count) as place:
            register = c.load(self.cu.registers, row.targets + place)
            wave.put("results", register, ready)
            wave.put("accumulators", register, forward)

    def _count(self, wave: Record, row: Record, done: Value) -> None:
        """Enter an operation into its counters' rings, which stay sorted by completion."""
        c = self.c
        for name in ("counter", "second_counter"):
            counter = getattr(row, name)
            with c.when(counter >= 0):
                finish = c.select(row.ordered != 0, c.max(done, wave.at("tail", counter)), done)
                with c.when(row.ordered != 0):
                    wave.put("tail", counter, finish)
                place = c.variable(wave.at("issued", counter))
                wave.put("issued", counter, place() + 1)
                oldest = c.max(place() - (r.RING - 1), 0)

                def slot(number: Value, counter: Value = counter) -> Value:
                    return (counter << 6) + (number & (r.RING - 1))

                def later(finish: Value = finish, place: Variable = place, oldest: Value = oldest,
                          slot: Callable[[Value], Value] = slot) -> Value:  # fmt: skip
                    return (place() > oldest) & (wave.at("ring", slot(place() - 1)) > finish)

                with c.loop_while(later):
                    wave.put("ring", slot(place()), wave.at("ring", slot(place() - 1)))
                    place.set(place() - 1)
                wave.put("ring", slot(place()), finish)

    def prepare(self, wave: Record) -> None:
        """When the operands of the wave's next instruction are there, and what it waits for."""
        c, cu = self.c, self.cu
        row = self.row(wave.pc)
        due, kind = c.variable(0), c.variable(r.DEPENDENCY)
        # Results are written in order, so a write waits for the one before; a matrix instruction
        # that accumulates in place does so through its accumulator.
        written = c.select(row.accumulator_count != 0, 0, row.target_count)
        for first, count, results in (
            (row.sources, row.source_count, "results"),
            (row.accumulators, row.accumulator_count, "accumulators"),
            (row.targets, written, "results"),
        ):
            with c.loop(count) as place:
                due.raise_to(wave.at(results, c.load(cu.registers, first + place)))
        with c.when(row.category == r.INTERNAL), c.loop(r.COUNTERS) as counter:
            limit = row.at("limits", counter)
            self._outstanding(wave, counter, limit, due, kind, row.at("wait_kinds", counter))
        with c.when(row.counter >= 0):
            busy = c.value(r.UNIT_BUSY)
            self._outstanding(wave, row.counter, row.capacity - 1, due, kind, busy)
        wave.due = due()
        wave.due_kind = kind()
        wave.category = row.category
        wave.matrix = row.matrix_cycles
        wave.shadow = row.shadow

    def _outstanding(
        self, wave: Record, counter: Value, limit: Value, due: Variable, kind: Variable, reason: Value,
    ) -> None:  # fmt: skip
        """Wait until at most `limit` operations of `counter` are outstanding; below 0 do not wait."""
        c = self.c
        with c.when((limit >= 0) & (wave.at("issued", counter) > limit)):
            number = wave.at("issued", counter) - 1 - limit
            done = wave.at("ring", (counter << 6) + (number & (r.RING - 1)))
            with c.when(done > due()):
                due.set(done)
                kind.set(reason)

    # control
    def _advance(self, wave: Record, row: Record, pc: Variable) -> None:
        c = self.c
        jumped = (wave.next != pc() + 1) & (row.action == r.JUMP) & (row.last != 0)
        with c.when(jumped):
            wave.ready = wave.ready + row.extra
            self._spend(pc(), row.extra)
            wave.add("cycles", c.select(row.spin != 0, r.POLLING, r.ISSUE), row.extra)

        def segment_ends() -> None:
            wave.pc = wave.next
            wave.started = 0

        def goes_on() -> None:
            wave.pc = pc() + 1

        c.choose(row.last != 0, segment_ends, goes_on)

    def _block(self, wave: Record) -> None:
        wave.state = r.BLOCKED
        wave.blocked_since = wave.ready
        wave.blocked_at = wave.pc
        self.c.store_i32(at.AT_BARRIER, wave.record, at.STATUS)

    def _delay_barrier(self, wave: Record) -> Callable[[], None]:
        def emit() -> None:
            wave.ready = wave.ready + self.cu.barrier_latency
            wave.add("cycles", r.WAIT_BARRIER, self.cu.barrier_latency)

        return emit

    def _arrive(self, wave: Record) -> None:
        """A wave reaches the barrier; the last one opens it."""
        group = self.group(wave.group_index)
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
                other = self.wave(index)
                waits = (other.state == r.BLOCKED) & (other.group == wave.group)
                with c.when(waits & (other.phase <= group.phase)):
                    release = c.max(now(), other.blocked_since) + cu.barrier_latency
                    self._spend(other.blocked_at, release - other.blocked_since)
                    other.add("cycles", r.WAIT_BARRIER, release - other.blocked_since)
                    kind = c.value(r.WAIT_BARRIER)
                    since, at_pc = other.blocked_since, other.blocked_at
                    self._log(r.STALLED, index, since, release, at_pc, kind, c.value(0))
                    other.ready = release
                    other.state = r.RUNNING
                    c.store_i32(at.READY, other.record, at.STATUS)
                    self.prepare(other)

    def _end(self, wave: Record, index: Value, time: Variable) -> None:
        c, cu = self.c, self.cu
        wave.state = r.ENDED
        wave.ended = time() + cu.turn
        group = self.group(wave.group_index)
        group.live = group.live - 1
        self._open(wave, group)
        with c.when(group.live == 0):
            cu.finished = wave.group_index + 1


def wave_priority(c: Code, wave: Record) -> Value:
    """The user priority of a wave, 0 to 3."""
    return wave.priority & 3


def next_turn(c: Code, cu: Record, time: Value, simd: Value) -> Value:
    """The first turn of a SIMD not before `time`; SIMDs have their turns one clock apart."""
    phase = simd & cu.simd_mask
    late = time - phase + cu.turn - 1
    return late - (late & (cu.turn - 1)) + phase
