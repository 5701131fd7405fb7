"""What the timing mode reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pipedsl.core.html import Shown
from pipedsl.sim.timing.constants import Constant
from pipedsl.sim.timing.timeline import Arrow, Interval, Timeline

# Where a wave's time goes, in the order of reports.
PLACES = (
    "issue", "dependency", "matrix", "unit", "full", "empty", "poll", "memory", "lds", "barrier",
    "sleep",
)  # fmt: skip


@dataclass(frozen=True)
class WaveTime:
    """One wave.

    Attributes
    ----------
    wave, workgroup, simd : int
        `workgroup` is the linear id.
    role : str
        ``producer``, ``consumer``, ``producer+consumer`` or ``worker``.
    instructions, cycles : int
        Until the wave ended.
    spent : mapping of str to int
        Cycles by place (`PLACES`); they add up to `cycles`.
    """

    wave: int
    workgroup: int
    simd: int
    role: str
    instructions: int
    cycles: int
    spent: Mapping[str, int]


@dataclass(frozen=True)
class InstructionTime:
    """One instruction of the text.

    Attributes
    ----------
    index : int
        Position in ``kernel.instructions``.
    text : str
    line : tuple of (str, int) or None
        Python file and line.
    count, cycles, stalls, conflicts : int
        Executions; wave cycles in all, of which waiting; LDS bank conflict cycles.
    """

    index: int
    text: str
    line: tuple[str, int] | None
    count: int
    cycles: int
    stalls: int
    conflicts: int


@dataclass(frozen=True)
class TimedRun(Shown):
    """Modelled time of a launch on one compute unit. None of it is cycle-accurate.

    Attributes
    ----------
    kernel, arch : str
    cycles : int
        Modelled cycles until the last of the modelled workgroups ended.
    instructions : int
        Wave instructions of the modelled workgroups.
    workgroups : tuple of int
        Those modelled in detail: as many as share one compute unit. The others ran without timing,
        and are taken to be alike.
    total_workgroups : int
    rounds : int
        How often the compute units are filled to run all workgroups.
    waves : tuple of WaveTime
    matrix_utilisation : float
        Busy part of the matrix cores' time, 0 to 1.
    conflict_cycles : int
        LDS bank conflict cycles.
    table : tuple of InstructionTime
        The executed instructions.
    timeline : Timeline
    constants : tuple of Constant
        Those that the result depends on.
    clock_mhz : int
        Clock that `seconds` assumes.
    timeline_end : int or None
        Cycle at which the log was full; None when the timeline is complete.
    """

    kernel: str
    arch: str
    cycles: int
    instructions: int
    workgroups: tuple[int, ...]
    total_workgroups: int
    rounds: int
    waves: tuple[WaveTime, ...]
    matrix_utilisation: float
    conflict_cycles: int
    table: tuple[InstructionTime, ...]
    timeline: Timeline
    constants: tuple[Constant, ...]
    clock_mhz: int
    timeline_end: int | None = None

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """Every wave's time without gaps, sorted by wave and time."""
        return self.timeline.intervals()

    @cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """The hand-offs that ended a wait."""
        return self.timeline.arrows()

    @property
    def assumed(self) -> tuple[Constant, ...]:
        """The constants that have no published or measured figure behind them."""
        return tuple(row for row in self.constants if row.kind == "assumed")

    @property
    def launch_cycles(self) -> int:
        """Modelled cycles of the whole launch: every round takes as long as the modelled one."""
        return self.cycles * self.rounds

    @property
    def seconds(self) -> float:
        """`launch_cycles` at the clock of `clock_mhz`."""
        return self.launch_cycles / (self.clock_mhz * 1e6)

    @property
    def roles(self) -> dict[str, dict[str, int]]:
        """Cycles by role and place, over all waves of the role."""
        total: dict[str, dict[str, int]] = {}
        for wave in self.waves:
            into = total.setdefault(wave.role, dict.fromkeys(PLACES, 0))
            for place, cycles in wave.spent.items():
                into[place] += cycles
        return total

    @property
    def lines(self) -> dict[tuple[str, int], tuple[int, int, int]]:
        """Python line to executed instructions, cycles and stall cycles."""
        total: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
        for row in self.table:
            if row.line is not None:
                for place, value in enumerate((row.count, row.cycles, row.stalls)):
                    total[row.line][place] += value
        return {line: (n, c, s) for line, (n, c, s) in total.items()}

    def __repr__(self) -> str:
        waves = f"{len(self.waves)} waves"
        return f"<TimedRun {self.kernel} on {self.arch}: {self.cycles} modelled cycles, {waves}>"

    def __str__(self) -> str:
        modelled, total = len(self.workgroups), self.total_workgroups
        part = f"{modelled} of {total} workgroups" if total > modelled else "the whole launch"
        alike = "; the others are taken to be alike" if total > modelled else ""
        rounds = f", in {self.rounds} rounds: {self.launch_cycles}" if self.rounds > 1 else ""
        lines = [
            f"{self.cycles} modelled cycles on {self.arch} for {part}{alike}{rounds}",
            f"matrix cores busy {self.matrix_utilisation:.0%}, "
            f"{self.conflict_cycles} cycles of LDS bank conflicts",
        ]
        for role, spent in self.roles.items():
            whole = sum(spent.values()) or 1
            parts = [f"{place} {cycles / whole:.0%}" for place, cycles in spent.items() if cycles]
            lines.append(f"{role}: {', '.join(parts)}")
        if self.assumed:
            lines.append("assumed: " + ", ".join(row.name for row in self.assumed))
        return "\n".join(lines)
