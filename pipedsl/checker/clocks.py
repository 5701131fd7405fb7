"""What waves know of each other: vector clocks of operations issued and of operations complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipedsl.checker.events import LDS
from pipedsl.isa.counters import Queue


class Knowledge(NamedTuple):
    """What one wave, or a word of memory, knows.

    Attributes
    ----------
    issued : numpy.ndarray
        int64, per wave: operations that were issued before.
    complete : numpy.ndarray
        int64, (waves, queues): operations of each queue that are complete.
    """

    issued: np.ndarray
    complete: np.ndarray

    def copy(self) -> Knowledge:
        return Knowledge(self.issued.copy(), self.complete.copy())

    def join(self, other: Knowledge) -> None:
        """Learn what `other` knows."""
        np.maximum(self.issued, other.issued, out=self.issued)
        np.maximum(self.complete, other.complete, out=self.complete)


class Clocks:
    """The knowledge of every wave.

    Parameters
    ----------
    waves : int
        Of the whole launch.
    queues : sequence of Queue
    lds_queues : frozenset of int
        Queues of LDS operations, which the LDS performs in the order of issue.
    """

    def __init__(self, waves: int, queues: Sequence[Queue], lds_queues: frozenset[int]) -> None:
        self.queues = tuple(queues)
        self.lds_queues = lds_queues
        shape = (waves, len(self.queues))
        self.issued_on = np.zeros(shape, np.int64)
        self.waves = [Knowledge(np.zeros(waves, np.int64), np.zeros(shape, np.int64)) for _ in range(waves)]
        self._barriers: dict[tuple[int, int], Knowledge] = {}
        self._arrived = [0] * waves

    def issue(self, wave: int, queues: tuple[int, ...]) -> tuple[int, int, int]:
        """Count an operation: its number in the wave, its queue and its position there."""
        known = self.waves[wave]
        known.issued[wave] += 1
        for queue in queues:
            self.issued_on[wave, queue] += 1
            if self.queues[queue].ordered:  # a full counter makes the oldest complete
                oldest = self.issued_on[wave, queue] - self.queues[queue].capacity
                known.complete[wave, queue] = max(known.complete[wave, queue], oldest)
        queue = queues[0] if queues else 0
        return int(known.issued[wave]), queue, int(self.issued_on[wave, queue]) if queues else 0

    def wait(self, wave: int, limits: Mapping[int, int]) -> None:
        """Operations beyond the limits are complete."""
        complete = self.waves[wave].complete
        for queue, limit in limits.items():
            if limit == 0 or self.queues[queue].ordered:
                reached = self.issued_on[wave, queue] - limit
                complete[wave, queue] = max(complete[wave, queue], reached)

    def publish(self, wave: int, space: str) -> Knowledge:
        """What a signal of `wave` in a space tells whoever sees it."""
        known = self.waves[wave].copy()
        if space == LDS:
            for queue in self.lds_queues:
                known.complete[wave, queue] = self.issued_on[wave, queue]
        return known

    def arrive(self, wave: int, group: int) -> None:
        """The wave tells the barrier what it knows."""
        self._arrived[wave] += 1
        key = (group, self._arrived[wave])
        if key in self._barriers:
            self._barriers[key].join(self.waves[wave])
        else:
            self._barriers[key] = self.waves[wave].copy()
            self._barriers.pop((group, self._arrived[wave] - 3), None)

    def leave(self, wave: int, group: int) -> None:
        """The wave learns what all told the barrier."""
        told = self._barriers.get((group, self._arrived[wave]))
        if told is not None:
            self.waves[wave].join(told)


