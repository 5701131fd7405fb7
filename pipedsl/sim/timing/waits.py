"""Polling loops read as waits of a pipeline: full or empty, which stage, which lap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipedsl.isa.rings import Ring
from pipedsl.sim.timing import records as r

FULL, EMPTY, OTHER = "full", "empty", "poll"
_OPPOSITE = {FULL: EMPTY, EMPTY: FULL}
_WAVE, _START, _END, _ADDRESS, _SEEN = (
    r.LOG_FIELDS[name] for name in ("wave", "start", "end", "address", "seen")
)


class Counters:
    """What the polled words of one workgroup stand for: as declared, or else as they were used.

    A word that no ring declares is a counter if waves poll it and add to it. A wave whose wait
    passed while the word was still 0 waits for a slot to become empty: before anything is produced
    every slot is. Full is never waited for at 0.

    Parameters
    ----------
    log : numpy.ndarray
        int64, rows of `records.LOG_FIELDS` of this workgroup, in the order of time.
    rings : sequence of Ring
        Those that the text declares.

    Attributes
    ----------
    polls, signals : numpy.ndarray
        Rows of polling loops and of additions to LDS.
    places : dict of int to (int, int)
        LDS byte address of a counter to the number of its ring and its stage. Undeclared counters
        form ring ``len(rings)``; their stage is their position among those waited for alike.
    """

    def __init__(self, log: np.ndarray, rings: Sequence[Ring] = ()) -> None:
        what = log[:, r.LOG_FIELDS["what"]]
        self.polls = log[what == r.POLLED]
        self.signals = log[what == r.SIGNALLED]
        self.places: dict[int, tuple[int, int]] = {}
        self._declared: dict[int, str] = {}
        self._waiters = _waiters(self.polls)
        polled = {word for word, _ in self._waiters}
        given = set(self.signals[:, _ADDRESS].tolist())
        undeclared = {FULL: 0, EMPTY: 0}
        for word in sorted(polled | given):
            found = next(
                ((n, c) for n, ring in enumerate(rings) if (c := ring.counter(word))), None
            )
            if found is not None:
                number, (kind, stage) = found
                self._declared[word] = kind
                self.places[word] = number, stage
            elif word in polled and word in given:
                kind = next(kind for (other, _), kind in self._waiters.items() if other == word)
                self.places[word] = len(rings), undeclared[kind]
                undeclared[kind] += 1

    def kind(self, address: int, wave: int) -> str:
        """What `wave` waits for at a word: ``full``, ``empty``, or ``poll`` if it is no counter."""
        if address in self._declared:
            return self._declared[address]
        return self._waiters.get((address, wave), OTHER) if address in self.places else OTHER

    def given(self, address: int, wave: int) -> str:
        """What `wave` signals at a word: ``full`` or ``empty``, or ``poll``."""
        if address in self._declared or address not in self.places:
            return self._declared.get(address, OTHER)
        own = self._waiters.get((address, wave))  # one counter that both sides raise
        if own is not None:
            return _OPPOSITE[own]
        return next(kind for (word, _), kind in self._waiters.items() if word == address)

    def waited(self, wave: int) -> dict[str, int]:
        """Cycles that a wave polled, by kind."""
        own = self.polls[self.polls[:, _WAVE] == wave]
        total = dict.fromkeys((FULL, EMPTY, OTHER), 0)
        for address in np.unique(own[:, _ADDRESS]).tolist():
            rows = own[own[:, _ADDRESS] == address]
            total[self.kind(address, wave)] += int((rows[:, _END] - rows[:, _START]).sum())
        return total

    def role(self, wave: int) -> str:
        """``producer`` signals full, ``consumer`` signals empty; a wave may be both, or neither."""
        own = self.signals[self.signals[:, _WAVE] == wave, _ADDRESS]
        given = {self.given(address, wave) for address in np.unique(own).tolist()}
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
        for word in self.places:
            given = np.flatnonzero(self.signals[:, _ADDRESS] == word)
            waits = np.flatnonzero(self.polls[:, _ADDRESS] == word)
            times = self.signals[given, _START]
            last = np.searchsorted(times, self.polls[waits, _END], side="right") - 1
            ended = (last >= 0) & (times[np.maximum(last, 0)] > self.polls[waits, _START])
            found += zip(given[last[ended]].tolist(), waits[ended].tolist(), strict=True)
        return sorted(found)


def _waiters(polls: np.ndarray) -> dict[tuple[int, int], str]:
    """(word, wave) to what the wave waits for there."""
    pairs = {(row[_ADDRESS], row[_WAVE]) for row in polls.tolist()}
    at_zero = polls[polls[:, _SEEN] == 0]
    empty = {(row[_ADDRESS], row[_WAVE]) for row in at_zero.tolist()}
    return {pair: EMPTY if pair in empty else FULL for pair in sorted(pairs)}
