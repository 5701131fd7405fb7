"""LDS: the ports of the SIMD pairs, and bank conflicts by the phase tables."""

from __future__ import annotations

from pipedsl.sim import layout as at
from pipedsl.sim.timing.code import Code, Value, Variable
from pipedsl.sim.timing.fields import Record
from pipedsl.sim.timing.trace import Trace


class LdsPorts:
    """When an LDS access that issues at a given time completes."""

    def __init__(self, code: Code, cu: Record, trace: Trace) -> None:
        self.c = code
        self.cu = cu
        self.trace = trace

    def access(self, row: Record, time: Value, simd: Value, pc: Value) -> Value:
        """Completion of the accesses in the trace."""
        c, cu = self.c, self.cu
        banks, ideal, data = c.variable(), c.variable(), c.variable()
        with c.loop(at.TRACE_PARTS) as part:
            lanes, width, space = self.trace.part(part)
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
                    unit = self.trace.address(part, lane) >> row.unit_shift
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
