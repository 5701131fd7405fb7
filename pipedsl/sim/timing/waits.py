"""Polling loops read as waits of a pipeline: full or empty, which stage, which lap."""

from __future__ import annotations

import numpy as np

from pipedsl.sim.timing import records as r

FULL, EMPTY, OTHER = "full", "empty", "poll"
_WAVE, _START, _END, _ADDRESS, _SEEN = (
    r.LOG_FIELDS[name] for name in ("wave", "start", "end", "address", "seen")
)


class Counters:
    """What the polled words of one workgroup stand for, from how they were used.

    A wait that passed while its word was still 0 waited for a slot to become empty: before anything
    is produced every slot is. A full signal is never waited for at 0.

    Parameters
    ----------
    log : numpy.ndarray
        int64, rows of `records.LOG_FIELDS` of this workgroup, in the order of time.

    Attributes
    ----------
    polls, signals : numpy.ndarray
        Rows of polling loops and of additions to LDS.
    kinds : dict of int to str
        LDS byte address of a counter to ``full`` or ``empty``.
    stages : dict of int to int
        LDS byte address of a counter to its position among those of its kind.
    """

    def __init__(self, log: np.ndarray) -> None:
        what = log[:, r.LOG_FIELDS["what"]]
        self.polls = log[what == r.POLLED]
        self.signals = log[what == r.SIGNALLED]
        polled, given = self.polls[:, _ADDRESS], self.signals[:, _ADDRESS]
        words = np.intersect1d(polled, given).tolist()
        at_zero = set(polled[self.polls[:, _SEEN] == 0].tolist())
        self.kinds = {word: EMPTY if word in at_zero else FULL for word in words}
        self.stages = {
            word: stage
            for kind in (FULL, EMPTY)
            for stage, word in enumerate(w for w in words if self.kinds[w] == kind)
        }

    def kind(self, address: int) -> str:
        """``full``, ``empty``, or ``poll`` for a word that is no counter."""
        return self.kinds.get(address, OTHER)

    def waited(self, wave: int) -> dict[str, int]:
        """Cycles that a wave polled, by kind."""
        own = self.polls[self.polls[:, _WAVE] == wave]
        total = dict.fromkeys((FULL, EMPTY, OTHER), 0)
        for address in np.unique(own[:, _ADDRESS]).tolist():
            rows = own[own[:, _ADDRESS] == address]
            total[self.kind(address)] += int((rows[:, _END] - rows[:, _START]).sum())
        return total

    def role(self, wave: int) -> str:
        """``producer`` signals full, ``consumer`` signals empty; a wave may be both, or neither."""
        own = self.signals[self.signals[:, _WAVE] == wave, _ADDRESS]
        given = {self.kinds.get(address) for address in np.unique(own).tolist()}
        roles = [role for role, kind in (("producer", FULL), ("consumer", EMPTY)) if kind in given]
        return "+".join(roles) or "worker"

    def laps(self) -> np.ndarray:
        """Per poll, how often its wave had waited for the same word before."""
        laps = np.zeros(len(self.polls), np.int64)
        pairs = self.polls[:, [_WAVE, _ADDRESS]]
        _, group = np.unique(pairs, axis=0, return_inverse=True)
        for number in range(group.max(initial=-1) + 1):
            members = np.flatnonzero(group.ravel() == number)
            laps[members] = np.arange(len(members))
        return laps

    def handoffs(self) -> list[tuple[int, int]]:
        """(signal, poll) rows: for each wait the last signal to its counter while it lasted."""
        found: list[tuple[int, int]] = []
        for word in self.kinds:
            given = np.flatnonzero(self.signals[:, _ADDRESS] == word)
            waits = np.flatnonzero(self.polls[:, _ADDRESS] == word)
            times = self.signals[given, _START]
            last = np.searchsorted(times, self.polls[waits, _END], side="right") - 1
            ended = (last >= 0) & (times[np.maximum(last, 0)] > self.polls[waits, _START])
            found += zip(given[last[ended]].tolist(), waits[ended].tolist(), strict=True)
        return sorted(found)
