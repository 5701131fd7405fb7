"""The course of a run: intervals per wave, and the hand-offs between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipedsl.isa.rings import Ring
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.waits import Counters

_STALLS = {r.WAIT_MEMORY: "memory", r.WAIT_LDS: "lds", r.WAIT_BARRIER: "barrier"}
Line = tuple[str, int]


@dataclass(frozen=True)
class Interval:
    """A stretch of one wave's time.

    Attributes
    ----------
    wave : int
    kind : str
        ``work``, or what the wave waited for: ``full``, ``empty``, ``poll``, ``memory``, ``lds``,
        ``barrier``. Waits shorter than a few cycles count as work.
    start, end : int
        Modelled cycles.
    line : tuple of (str, int) or None
        Python file and line of a wait.
    ring, stage, lap : int or None
        Of a wait for full or empty: which ring of the kernel, which of its stages, and how often
        the wave had waited for it before.
    """

    wave: int
    kind: str
    start: int
    end: int
    line: Line | None = None
    ring: int | None = None
    stage: int | None = None
    lap: int | None = None


@dataclass(frozen=True)
class Arrow:
    """A hand-off: `source` signalled at `sent`, which ended the wait of `target` at `received`.

    Attributes
    ----------
    source, target : int
        Waves.
    sent, received : int
        Modelled cycles.
    ring, stage : int
    kind : str
        ``full`` or ``empty``.
    """

    source: int
    target: int
    sent: int
    received: int
    ring: int
    stage: int
    kind: str


@dataclass(frozen=True)
class Timeline:
    """What the scheduler logged, from which intervals and arrows are made.

    Attributes
    ----------
    log : numpy.ndarray
        int64, rows of `records.LOG_FIELDS`, in the order of time.
    ends : tuple of int
        Cycle at which each wave ended.
    per_group : int
        Waves of a workgroup.
    sources : sequence
        Python file and line of each instruction, or None.
    rings : sequence of Ring
        Those that the kernel declares.
    """

    log: np.ndarray
    ends: tuple[int, ...]
    per_group: int
    sources: Sequence[Line | None]
    rings: Sequence[Ring] = ()

    def counters(self) -> list[Counters]:
        """The counters of each workgroup."""
        group = self.log[:, r.LOG_FIELDS["wave"]] // self.per_group
        count = len(self.ends) // self.per_group
        return [Counters(self.log[group == number], self.rings) for number in range(count)]

    def intervals(self) -> tuple[Interval, ...]:
        """Every wave's time without gaps, sorted by wave and time."""
        waits: dict[int, list[Interval]] = defaultdict(list)
        stalled = self.log[self.log[:, r.LOG_FIELDS["what"]] == r.STALLED]
        for _, wave, start, end, place, reason, _seen in stalled.tolist():
            waits[wave].append(Interval(wave, _STALLS[reason], start, end, self.sources[place]))
        for counters in self.counters():
            laps = counters.laps().tolist()
            for lap, row in zip(laps, counters.polls.tolist(), strict=True):
                _, wave, start, end, place, word, _seen = row
                line, kind = self.sources[place], counters.kind(word, wave)
                if word in counters.places:
                    waits[wave].append(
                        Interval(wave, kind, start, end, line, *counters.places[word], lap)
                    )
                else:
                    waits[wave].append(Interval(wave, kind, start, end, line))
        return tuple(
            interval
            for wave, end in enumerate(self.ends)
            for interval in _with_work(wave, waits[wave], end)
        )

    def arrows(self) -> tuple[Arrow, ...]:
        """Every hand-off that ended a wait."""
        found = []
        for counters in self.counters():
            for signal, poll in counters.handoffs():
                _, source, sent, _, _, word, _ = counters.signals[signal].tolist()
                _, target, _, received, _, _, _ = counters.polls[poll].tolist()
                kind = counters.kind(word, target)
                found.append(Arrow(source, target, sent, received, *counters.places[word], kind))
        return tuple(found)


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
