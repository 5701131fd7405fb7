"""From the scheduler's records to a `TimedRun`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from pipedsl.isa.instruction import Instruction
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Constant, find_constant
from pipedsl.sim.timing.result import (
    PLACES,
    Arrow,
    InstructionTime,
    Interval,
    TimedRun,
    WaveTime,
)
from pipedsl.sim.timing.unit import ComputeUnit
from pipedsl.sim.timing.waits import Counters, Poll, Signal

_STALLS = {r.WAIT_MEMORY: "memory", r.WAIT_LDS: "lds", r.WAIT_BARRIER: "barrier"}


class Report:
    """Reads the log of one finished compute unit.

    Parameters
    ----------
    unit : ComputeUnit
    log : numpy.ndarray
        int64, rows of `records.LOG_FIELDS`, in the order of time.
    workgroups : sequence of int
        Linear ids of the modelled ones.
    complete : bool
        Whether nothing was left out of the log.
    """

    def __init__(
        self, unit: ComputeUnit, log: np.ndarray, workgroups: Sequence[int], complete: bool
    ) -> None:
        self.unit = unit
        self.code: Sequence[Instruction] = unit.program.kernel.instructions
        self.workgroups = workgroups
        self.log = log
        self.complete = complete
        self.per_group = len(unit.waves) // len(workgroups)
        polls = [Poll(*row[1:]) for row in self._entries(r.POLLED)]
        signals = [Signal(row[1], row[2], row[4], row[5]) for row in self._entries(r.SIGNALLED)]
        self.counters = [
            Counters(
                [p for p in polls if p.wave // self.per_group == group],
                [s for s in signals if s.wave // self.per_group == group],
            )
            for group in range(len(workgroups))
        ]

    def _entries(self, what: int) -> list[list[int]]:
        return self.log[self.log[:, r.LOG_FIELDS["what"]] == what].tolist()

    def run(self, total: int, rounds: int) -> TimedRun:
        """The result for a launch of `total` workgroups."""
        unit = self.unit
        cycles = max(int(self._wave(w, "ended")) for w in range(len(unit.waves)))
        arch = unit.program.kernel.arch.name
        return TimedRun(
            arch=arch,
            cycles=cycles,
            instructions=unit["instructions"],
            workgroups=tuple(self.workgroups),
            total_workgroups=total,
            rounds=rounds,
            waves=self._waves(),
            matrix_utilisation=unit["matrix_cycles"] / (cycles * unit.simds),
            conflict_cycles=unit["conflict_cycles"],
            table=self._table(),
            intervals=self._intervals(),
            arrows=self._arrows(),
            constants=self._constants(),
            clock_mhz=find_constant("clock", arch).value,
            timeline_end=None if self.complete else int(self.log[-1, r.LOG_FIELDS["end"]]),
        )

    def _wave(self, wave: int, field: str) -> int:
        return int(self.unit.waves[wave, r.WAVE_FIELDS[field]])

    def _waves(self) -> tuple[WaveTime, ...]:
        polled: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for counters in self.counters:
            for poll in counters.polls:
                kind = counters.kinds.get(poll.address, "poll")
                polled[poll.wave][kind] += poll.end - poll.start
        first = r.WAVE_FIELDS["cycles"]
        result = []
        for wave in range(len(self.unit.waves)):
            group = wave // self.per_group
            native = self.unit.waves[wave, first : first + len(r.KINDS)].tolist()
            spent = dict.fromkeys(PLACES, 0)
            spent.update(
                (kind, cycles)
                for kind, cycles in zip(r.KINDS, native, strict=True)
                if kind != "wait"
            )
            spent.update(polled[wave])
            spent["poll"] += native[r.POLLING] - sum(polled[wave].values())
            roles = self.counters[group].roles([wave])
            result.append(
                WaveTime(
                    wave,
                    self.workgroups[group],
                    self._wave(wave, "simd"),
                    roles[wave],
                    self._wave(wave, "instructions"),
                    self._wave(wave, "ended"),
                    spent,
                )  # fmt: skip
            )
        return tuple(result)

    def _table(self) -> tuple[InstructionTime, ...]:
        unit = self.unit
        arrays = (unit.counts, unit.spent, unit.stalls, unit.conflicts)
        return tuple(
            InstructionTime(i, str(ins), ins.source, *(int(a[i]) for a in arrays))
            for i, ins in enumerate(self.code)
            if unit.counts[i]
        )

    def _constants(self) -> tuple[Constant, ...]:
        """Those of the unit that always matter, and those behind the executed instructions."""
        used: dict[str, Constant] = {
            name: row for name, row in self.unit.used.rows.items() if name in ("turn", "simds")
        }
        for index in np.flatnonzero(self.unit.counts):
            used.update(self.unit.program.tables.constants[index])
        return tuple(sorted(used.values(), key=lambda row: row.name))

    def _intervals(self) -> tuple[Interval, ...]:
        waits: dict[int, list[Interval]] = defaultdict(list)
        for _, wave, start, end, instruction, reason, _seen in self._entries(r.STALLED):
            line = self.code[instruction].source
            waits[wave].append(Interval(wave, _STALLS[reason], start, end, line))
        for counters in self.counters:
            laps = counters.laps()
            for poll in counters.polls:
                kind = counters.kinds.get(poll.address, "poll")
                stage = counters.stages.get(poll.address)
                lap = laps[poll] if stage is not None else None
                line = self.code[poll.instruction].source
                waits[poll.wave].append(
                    Interval(poll.wave, kind, poll.start, poll.end, line, stage, lap)
                )
        result: list[Interval] = []
        for wave in range(len(self.unit.waves)):
            result += _with_work(wave, waits[wave], self._wave(wave, "ended"))
        return tuple(result)

    def _arrows(self) -> tuple[Arrow, ...]:
        return tuple(
            Arrow(
                h.signal.wave,
                h.poll.wave,
                h.signal.time,
                h.poll.end,
                counters.stages[h.poll.address],
                counters.kinds[h.poll.address],
            )  # fmt: skip
            for counters in self.counters
            for h in counters.handoffs()
            if h.poll.address in counters.kinds
        )


def _with_work(wave: int, waits: list[Interval], end: int) -> list[Interval]:
    """The waits of one wave with the work between them."""
    result, now = [], 0
    for wait in sorted(waits, key=lambda interval: interval.start):
        if wait.start > now:
            result.append(Interval(wave, "work", now, wait.start))
        if wait.end > wait.start:
            result.append(wait)
        now = max(now, wait.end)
    if end > now:
        result.append(Interval(wave, "work", now, end))
    return result
