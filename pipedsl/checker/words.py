"""Words through which waves tell each other what they have done."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from pipedsl.checker.clocks import Knowledge

_KEPT = 256  # changes of one word that are remembered one by one


class Change(NamedTuple):
    """A change of a word, and what everybody who sees it, or a later one, knows.

    Attributes
    ----------
    wave, number : int
        The operation that changed it.
    value : int or None
        What it left in the word.
    knowledge : Knowledge
    """

    wave: int
    number: int
    value: int | None
    knowledge: Knowledge


class Word:
    """The changes of one word."""

    def __init__(self) -> None:
        self._changes: deque[Change] = deque(maxlen=_KEPT)
        self.count = 0

    def add(self, change: Change, *, atomic: bool) -> None:
        """A wave changed it: an atomic operation carries on what the word told before."""
        if atomic and self._changes:
            change.knowledge.join(self._changes[-1].knowledge)
        self._changes.append(change)
        self.count += 1

    def told(self, seen: int, relation: str | None = None, other: int = 0) -> Change | None:
        """What a read after `seen` changes learns.

        A read that is compared learns from the first of the changes with which the comparison
        comes out as it does: that the word had changed further by then was luck.
        """
        kept = len(self._changes)
        until = kept - (self.count - seen)
        if until <= 0:
            return None
        last = self._changes[until - 1]
        if relation is None or last.value is None:
            return last
        outcome = holds(relation, last.value, other)
        first = last
        for index in range(until - 1, -1, -1):
            change = self._changes[index]
            if change.value is None or holds(relation, change.value, other) != outcome:
                return first
            first = change
        # Where all changes give the outcome, a word that is still 0 may do so too: nothing is learned.
        unchanged = kept == self.count and holds(relation, 0, other) == outcome
        return None if unchanged else first


def holds(relation: str, word: int, other: int) -> bool:
    """Whether ``word relation other``."""
    return {
        "eq": word == other, "ne": word != other, "gt": word > other, "ge": word >= other,
        "lt": word < other, "le": word <= other,
    }[relation]  # fmt: skip
