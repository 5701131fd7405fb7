"""Global memory as one compute unit sees it: its caches, L2, and the bandwidth beyond."""

from __future__ import annotations

from collections.abc import Callable

from pipedsl.sim import layout as at
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.code import Code, Value, Variable
from pipedsl.sim.timing.fields import Record
from pipedsl.sim.timing.trace import Trace


class MemorySystem:
    """When an access to memory that issues at a given time completes."""

    def __init__(self, code: Code, cu: Record, trace: Trace) -> None:
        self.c = code
        self.cu = cu
        self.trace = trace

    def vector_access(self, row: Record, time: Value, simd: Value) -> Value:
        """Completion of the global accesses in the trace; on their way they fill the caches."""
        c, cu = self.c, self.cu
        start = c.max(time, cu.memory_free)
        data, lookups, done = c.variable(), c.variable(), c.variable(start)
        with c.loop(at.TRACE_PARTS) as part:
            lanes, width, space = self.trace.part(part)
            with c.when((lanes != 0) & (space == at.TRACE_GLOBAL)):
                data.set(data() + c.count_ones(lanes) * width)
                self._lines(row, part, lanes, start, lookups, done)
        # The address unit takes 16 lanes a cycle, the cache one line and `l1_width` bytes.
        busy = c.max(cu.turn, lookups, data() >> cu.l1_shift)
        cu.memory_free = start + busy
        latency = c.select(row.stores != 0, cu.l2_latency, cu.l1_latency)
        done.raise_to(start + busy + latency)
        port = simd >> cu.port_shift
        with c.when(row.to_lds != 0):
            written = (data() + (c.value(1) << cu.lds_write_shift) - 1) >> cu.lds_write_shift
            cu.put("port_free", port, c.max(cu.at("port_free", port), start) + written)
            done.set(done() + cu.lds_latency)
        return done()

    def _lines(
        self,
        row: Record,
        part: Value,
        lanes: Value,
        start: Value,
        lookups: Variable,
        done: Variable,
    ) -> None:
        c, cu = self.c, self.cu
        last = c.variable(-1)
        left = c.variable(lanes)
        with c.loop_while(lambda: left() != 0):
            lane = c.first_one(left())
            left.set(left() & (left() - 1))
            line = self.trace.address(part, lane) >> cu.line_shift
            with c.when(line != last()):
                last.set(line)
                lookups.set(lookups() + 1)
                c.choose(
                    row.stores != 0,
                    lambda: done.raise_to(self._write_line(line, start)),
                    lambda: done.raise_to(self._read_line(row, line, start)),
                )

    def _write_line(self, line: Value, start: Value) -> Value:
        """Stores go through to L2."""
        cu = self.cu
        begin = self.c.max(start, cu.l2_free)
        cu.l2_free = begin + cu.l2_cycles
        ready = begin + cu.l2_latency
        self._probe(cu.l2, cu.l2_sets, line, start, lambda: ready)
        return ready

    def _read_line(self, row: Record, line: Value, start: Value) -> Value:
        c, cu = self.c, self.cu

        def from_memory() -> Value:
            begin = c.max(start << r.FRACTION, cu.memory_done)
            cu.memory_done = begin + cu.memory_cycles
            return (begin >> r.FRACTION) + cu.memory_latency

        def from_l2() -> Value:
            begin = c.max(start, cu.l2_free)
            cu.l2_free = begin + cu.l2_cycles
            return self._probe(cu.l2, cu.l2_sets, line, begin + cu.l2_latency, from_memory)

        result = c.variable(0)
        c.choose(
            row.bypass != 0,
            lambda: result.set(from_l2()),
            lambda: result.set(
                self._probe(cu.l1, cu.l1_sets, line, start + cu.l1_latency, from_l2)
            ),
        )
        return result()

    def scalar_access(self, row: Record, time: Value) -> Value:
        """Completion of a scalar load."""
        c, cu = self.c, self.cu
        done = c.variable(time + cu.scalar_hit)
        with c.when(c.load(cu.trace, 0) != 0):
            line = self.trace.address(c.value(0), c.value(0)) >> 6
            ready = self._probe(
                cu.scalar_cache, c.value(64), line, done(), lambda: time + cu.l2_latency
            )
            done.raise_to(ready)
        return done()

    def invalidate(self) -> None:
        """Empty the cache of the CU."""
        cu = self.cu
        with self.c.loop(cu.l1_sets * r.WAYS) as entry:
            self.c.store(0, cu.l1, entry * r.ENTRY)

    def _probe(
        self, cache: Value, sets: Value, line: Value, hit: Value, fill: Callable[[], Value]
    ) -> Value:
        """When `line` is there: `hit`, not before its fill arrives, or ``fill()``, which it then is."""
        c = self.c
        # Allocations start at multiples of 4 GiB: mix the high bits in, or they share sets.
        index = (line ^ (line >> 7) ^ (line >> 15) ^ (line >> 25)) & (sets - 1)
        base = cache + index * (8 * r.WAYS * r.ENTRY)
        victim, oldest, found = c.variable(0), c.variable(1 << 62), c.variable(-1)
        with c.loop(r.WAYS) as way:
            with c.when(c.load(base, way * r.ENTRY) == line + 1):
                found.set(way)
            used = c.load(base, way * r.ENTRY + 2)
            with c.when(used < oldest()):
                oldest.set(used)
                victim.set(way)
        result = c.variable(0)

        def present() -> None:
            result.set(c.max(hit, c.load(base, found() * r.ENTRY + 1)))
            c.store(hit, base, found() * r.ENTRY + 2)

        def absent() -> None:
            result.set(fill())
            c.store(line + 1, base, victim() * r.ENTRY)
            c.store(result(), base, victim() * r.ENTRY + 1)
            c.store(hit, base, victim() * r.ENTRY + 2)

        c.choose(found() >= 0, present, absent)
        return result()
