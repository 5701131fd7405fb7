"""Native parts of the cycle scheduler: LDS bank conflicts and ports, caches, memory bandwidth."""

from __future__ import annotations

from collections.abc import Callable

from pipedsl.sim import layout as at
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.code import Code, Record, Value, Variable

_PART = at.TRACE_PART // 8  # i64 words of one part of a trace


class MemorySystem:
    """When an access that issues at a given time completes.

    The addresses of the access are in the trace that its micro-kernel has just written.
    """

    def __init__(self, code: Code, cu: Record) -> None:
        self.c = code
        self.cu = cu

    def clear_trace(self) -> None:
        """Forget the last instruction's addresses."""
        for part in range(at.TRACE_PARTS):
            self.c.store(0, self.cu.trace, part * _PART)

    def _part(self, part: Value) -> tuple[Value, Value, Value]:
        """Active lanes, width and space of one access per lane."""
        base = part * _PART
        word = self.c.load(self.cu.trace, base + 1)
        return self.c.load(self.cu.trace, base), word & 0xFFFFFFFF, word >> 32

    def _address(self, part: Value, lane: Value) -> Value:
        return self.c.load(self.cu.trace, part * _PART + lane + at.TRACE_ADDRESSES // 8)

    # LDS
    def lds_access(self, row: Record, time: Value, simd: Value, pc: Value) -> Value:
        """Completion of the LDS accesses in the trace."""
        c, cu = self.c, self.cu
        banks, ideal, data = c.variable(), c.variable(), c.variable()
        with c.loop(at.TRACE_PARTS) as part:
            lanes, width, space = self._part(part)
            with c.when((lanes != 0) & (space == at.TRACE_LDS)):
                data.set(data() + c.count_ones(lanes) * width)
                self._bank_cycles(row, part, lanes, banks, ideal)
        extra = banks() - ideal()
        cu.conflict_cycles = cu.conflict_cycles + extra
        c.store(c.load(cu.conflicts, pc) + extra, cu.conflicts, pc)
        shift = c.select(row.stores != 0, cu.lds_write_shift, cu.lds_read_shift)
        moved = (data() + (c.value(1) << shift) - 1) >> shift
        address = c.select(row.stores != 0, cu.lds_address, 0)
        port = simd >> cu.port_shift
        start = c.max(time, cu.at("port_free", port))
        busy = c.max(moved + address, banks(), 1)
        # The ports share the banks; both get on as long as the banks are not out of time.
        cu.bank_free = c.max(time, cu.bank_free) + banks()
        cu.put("port_free", port, c.max(start + busy, cu.bank_free))
        replay = c.select(extra > 0, cu.lds_conflict, 0)
        return c.max(start + c.max(busy, replay), cu.bank_free) + cu.lds_latency

    def _bank_cycles(
        self, row: Record, part: Value, lanes: Value, banks: Variable, ideal: Variable
    ) -> None:
        """Per phase, the most distinct rows that one bank has to read."""
        c, cu = self.c, self.cu
        counts, rows = cu.place("bank_count"), cu.place("bank_rows")
        with c.loop(row.phase_count) as phase:
            first = phase * row.phase_length
            worst = c.variable(0)
            with c.loop(row.bank_mask + 1) as bank:
                c.store(0, counts, bank)
            with c.loop(row.phase_length) as turn:
                lane = c.load(row.phase_lanes, first + turn)
                with c.when(((lanes >> lane) & 1) != 0):
                    unit = self._address(part, lane) >> row.unit_shift
                    with c.loop(row.units) as step:
                        place = unit + step
                        bank = place & row.bank_mask
                        self._add_row(counts, rows, bank, place >> row.bank_shift, worst)
            banks.set(banks() + worst())
            ideal.set(ideal() + c.select(worst() > 0, row.units, 0))

    def _add_row(
        self, counts: Value, rows: Value, bank: Value, wanted: Value, worst: Variable
    ) -> None:
        """A bank reads one row per cycle; lanes that want the same row share it."""
        c = self.c
        known = c.load(counts, bank)
        found = c.variable(0)
        with c.loop(known) as index, c.when(c.load(rows, (bank << 6) + index) == wanted):
            found.set(1)
        with c.when((found() == 0) & (known < 64)):
            c.store(wanted, rows, (bank << 6) + known)
            c.store(known + 1, counts, bank)
            worst.raise_to(known + 1)

    # global memory
    def vector_access(self, row: Record, time: Value, simd: Value) -> Value:
        """Completion of the global accesses in the trace; on their way they fill the caches."""
        c, cu = self.c, self.cu
        start = c.max(time, cu.memory_free)
        data, lookups, done = c.variable(), c.variable(), c.variable(start)
        with c.loop(at.TRACE_PARTS) as part:
            lanes, width, space = self._part(part)
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
            line = self._address(part, lane) >> cu.line_shift
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
            line = self._address(c.value(0), c.value(0)) >> 6
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
