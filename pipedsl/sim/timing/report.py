"""From the scheduler's records to a `TimedRun`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipedsl.isa.instruction import Instruction
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Constant, find_constant
from pipedsl.sim.timing.result import PLACES, InstructionTime, TimedRun, WaveTime
from pipedsl.sim.timing.timeline import Timeline
from pipedsl.sim.timing.unit import ComputeUnit

_ALWAYS = ("turn", "simds")  # constants behind every result


def report(
    unit: ComputeUnit, log: np.ndarray, workgroups: Sequence[int], total: int, rounds: int,
    complete: bool,
) -> TimedRun:  # fmt: skip
    """The result of a finished compute unit.

    Parameters
    ----------
    unit : ComputeUnit
    log : numpy.ndarray
        int64, rows of `records.LOG_FIELDS`, in the order of time.
    workgroups : sequence of int
        Linear ids of the modelled ones.
    total, rounds : int
        Workgroups of the launch, and how often the device is filled to run them.
    complete : bool
        Whether nothing was left out of the log.
    """
    kernel = unit.program.kernel
    code = kernel.instructions
    ends = tuple(unit.waves[:, r.WAVE_FIELDS["ended"]].tolist())
    per_group = len(ends) // len(workgroups)
    sources, rings = [ins.source for ins in code], tuple(kernel.program.rings)
    timeline = Timeline(log, ends, per_group, sources, rings)
    cycles = max(ends)
    arch = kernel.arch.name
    return TimedRun(
        kernel=kernel.name,
        arch=arch,
        cycles=cycles,
        instructions=unit["instructions"],
        workgroups=tuple(workgroups),
        total_workgroups=total,
        rounds=rounds,
        waves=_waves(unit, timeline, workgroups),
        matrix_utilisation=unit["matrix_cycles"] / (cycles * unit.simds),
        conflict_cycles=unit["conflict_cycles"],
        table=_table(unit, code),
        timeline=timeline,
        constants=_constants(unit),
        clock_mhz=find_constant("clock", arch).value,
        timeline_end=None if complete else int(log[-1, r.LOG_FIELDS["end"]]),
    )


def _waves(
    unit: ComputeUnit, timeline: Timeline, workgroups: Sequence[int]
) -> tuple[WaveTime, ...]:
    counters = timeline.counters()
    first = r.WAVE_FIELDS["cycles"]
    result = []
    for wave, record in enumerate(unit.waves):
        group = wave // timeline.per_group
        native = dict(zip(r.KINDS, record[first : first + len(r.KINDS)].tolist(), strict=True))
        polled = counters[group].waited(wave)
        polled["poll"] += native.pop("wait") - sum(polled.values())
        spent = {place: {**native, **polled}[place] for place in PLACES}
        simd, executed, ended = (
            int(record[r.WAVE_FIELDS[name]]) for name in ("simd", "instructions", "ended")
        )
        role = counters[group].role(wave)
        result.append(WaveTime(wave, workgroups[group], simd, role, executed, ended, spent))
    return tuple(result)


def _table(unit: ComputeUnit, code: Sequence[Instruction]) -> tuple[InstructionTime, ...]:
    arrays = (unit.counts, unit.spent, unit.stalls, unit.conflicts)
    return tuple(
        InstructionTime(i, str(code[i]), code[i].source, *(int(a[i]) for a in arrays))
        for i in np.flatnonzero(unit.counts).tolist()
    )


def _constants(unit: ComputeUnit) -> tuple[Constant, ...]:
    """Those that always matter, and those behind the executed instructions."""
    used: dict[str, Constant] = {name: unit.used.rows[name] for name in _ALWAYS}
    for index in np.flatnonzero(unit.counts):
        used.update(unit.program.tables.constants[index])
    return tuple(sorted(used.values(), key=lambda row: row.name))
