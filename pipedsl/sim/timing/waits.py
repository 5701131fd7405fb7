"""Polling loops read as waits of a pipeline: full or empty, which stage, which lap."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FULL, EMPTY = "full", "empty"


@dataclass(frozen=True)
class Poll:
    """One polling loop that a wave went through.

    Attributes
    ----------
    wave, start, end, instruction : int
    address : int
        LDS byte address of the polled word.
    seen : int
        The value that ended it.
    """

    wave: int
    start: int
    end: int
    instruction: int
    address: int
    seen: int


@dataclass(frozen=True)
class Signal:
    """One addition to a word of LDS.

    Attributes
    ----------
    wave, time, instruction, address : int
    """

    wave: int
    time: int
    instruction: int
    address: int


@dataclass(frozen=True)
class Handoff:
    """A signal and the wait that it ended.

    Attributes
    ----------
    signal : Signal
    poll : Poll
    """

    signal: Signal
    poll: Poll


class Counters:
    """What the polled words of one workgroup stand for, from how they were used.

    A wait that passed while its word was still 0 waited for a slot to become empty: before anything
    is produced every slot is. A full signal is never waited for at 0.

    Parameters
    ----------
    polls, signals : sequence
        In the order of time.
    """

    def __init__(self, polls: Sequence[Poll], signals: Sequence[Signal]) -> None:
        self.polls = polls
        self.signals = signals
        signalled = {signal.address for signal in signals}
        words = sorted({poll.address for poll in polls if poll.address in signalled})
        at_zero = {poll.address for poll in polls if poll.seen == 0}
        self.kinds = {word: EMPTY if word in at_zero else FULL for word in words}
        self.stages = {
            word: stage
            for kind in (FULL, EMPTY)
            for stage, word in enumerate(w for w in words if self.kinds[w] == kind)
        }

    def laps(self) -> dict[Poll, int]:
        """How often the wave had waited for the same word before."""
        before: dict[tuple[int, int], int] = defaultdict(int)
        result = {}
        for poll in self.polls:
            result[poll] = before[poll.wave, poll.address]
            before[poll.wave, poll.address] += 1
        return result

    def handoffs(self) -> list[Handoff]:
        """For each wait, the last signal to its word while it lasted."""
        found = []
        by_word: dict[int, list[Signal]] = defaultdict(list)
        for signal in self.signals:
            by_word[signal.address].append(signal)
        for poll in self.polls:
            given = by_word[poll.address]
            last = bisect_right(given, poll.end, key=lambda signal: signal.time) - 1
            if last >= 0 and given[last].time > poll.start:
                found.append(Handoff(given[last], poll))
        return found

    def roles(self, waves: Iterable[int]) -> dict[int, str]:
        """``producer`` signals full, ``consumer`` signals empty; a wave may be both, or neither."""
        given: dict[int, set[str]] = defaultdict(set)
        for signal in self.signals:
            kind = self.kinds.get(signal.address)
            if kind is not None:
                given[signal.wave].add("producer" if kind == FULL else "consumer")
        return {w: "+".join(sorted(given[w], reverse=True)) or "worker" for w in waves}
