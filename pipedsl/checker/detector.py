"""Races by happens-before, from events alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipedsl.checker.clocks import Clocks
from pipedsl.checker.events import (
    ATOMIC,
    LDS,
    READ,
    WRITE,
    Access,
    Arrive,
    Compared,
    End,
    Event,
    Leave,
    Site,
    Wait,
)
from pipedsl.checker.shadow import PLAIN, SYNC, Log, Past, Shadow
from pipedsl.checker.words import Change, Word
from pipedsl.isa.counters import Queue

_WORD = 8  # bytes of the largest access that the hardware performs at once


@dataclass(frozen=True)
class Conflict:
    """Two accesses of different waves to one byte, at least one of them a write.

    Attributes
    ----------
    space : str
    access : Access
        The later one of the run.
    number : int
        Of its wave's operations.
    past : Past
        The earlier one.
    writes : tuple of bool
        Whether the earlier and the later one write.
    unordered : bool
        True for a race; False where an order exists, but the earlier one may not be complete.
    """

    space: str
    access: Access
    number: int
    past: Past
    writes: tuple[bool, bool]
    unordered: bool


class _Read(NamedTuple):
    """A load of one word, until it is known whether its value is compared."""

    word: Word
    seen: int
    site: int
    conflict: Conflict | None


class Detector:
    """Finds accesses that nothing orders.

    Order between waves comes from barriers and from words that one wave changes, by an atomic
    operation or by a store to one word, and another reads and compares, or reads after an atomic
    operation has made it a counter.

    Parameters
    ----------
    sites : sequence of Site
    groups, waves : int
        Workgroups, and waves of each.
    queues : sequence of Queue
    lds_queues : frozenset of int
    report : callable
        Called with each `Conflict`.
    """

    def __init__(
        self,
        sites: Sequence[Site],
        groups: int,
        waves: int,
        queues: Sequence[Queue],
        lds_queues: frozenset[int],
        report: Callable[[Conflict], None],
    ) -> None:
        self.sites = sites
        self.waves = waves
        self.clocks = Clocks(groups * waves, queues, lds_queues)
        self._logs = [Log() for _ in range(groups * waves)]
        self._global = Shadow(self._logs)
        self._lds = [Shadow(self._logs) for _ in range(groups)]
        self._words: dict[tuple[int, int], Word] = {}
        self._atomic: set[tuple[int, int]] = set()
        self._compared: set[tuple[int, int]] = set()
        self._initial: dict[tuple[int, int], Past] = {}
        self._reads: dict[int, dict[int, tuple[tuple[int, int], _Read]]] = {}
        self._report = report

    def feed(self, event: Event) -> None:
        """Take the next event of the run."""
        if isinstance(event, Access):
            self._access(event)
        elif isinstance(event, Wait):
            self.clocks.wait(event.wave, event.limits)
        elif isinstance(event, Compared):
            self._compare(event)
        elif isinstance(event, Arrive):
            self._settle(event.wave)
            self.clocks.arrive(event.wave, event.wave // self.waves)
        elif isinstance(event, Leave):
            self.clocks.leave(event.wave, event.wave // self.waves)
        elif isinstance(event, End):
            self._settle(event.wave)

    def _access(self, event: Access) -> None:
        wave, site = event.wave, self.sites[event.site]
        bits = site.access.get(event.space, 0)
        if not bits or not len(event.addresses):
            return
        if bits & WRITE:
            self._settle(wave)
        queues = site.queues
        number, queue, position = self.clocks.issue(wave, queues)
        key = self._word_key(event, bits)
        sync = key is not None and (not bits & WRITE or key in self._compared)
        sync = sync or bool(bits & ATOMIC)
        self._logs[wave].note(number, queue, position, event.site, SYNC if sync else PLAIN)
        if key is not None and bits & ATOMIC and key not in self._atomic:
            self._keep_initial(key, event)
        conflict = self._check(event, bits, number, sync)
        if key is not None and sync:
            conflict = conflict or self._before_initial(key, event, bits, number)
        if key is None:
            self._tell(conflict)
        elif bits & WRITE:
            self._tell(conflict)
            self._change(key, event, number, atomic=bool(bits & ATOMIC))
        else:
            self._load(key, event, conflict)

    def _word_key(self, event: Access, bits: int) -> tuple[int, int] | None:
        """The word, if the access is to a single one: a place in LDS of a group, or in memory."""
        first = int(event.addresses[0])
        if event.width > _WORD or event.width < 4 or first % 4:
            return None
        if len(event.addresses) > 1 and bool((event.addresses != first).any()):
            return None
        group = event.wave // self.waves if event.space == LDS else -1
        return group, first

    def _check(self, event: Access, bits: int, number: int, sync: bool) -> Conflict | None:
        """Compare with what others did to the same bytes, and remember this access."""
        wave, known = event.wave, self.clocks.waves[event.wave]
        shadow = self._shadow(event)
        writes = bool(bits & WRITE)
        worst: Conflict | None = None
        for page, at in shadow.parts(event.addresses, event.width):
            for past, unordered in shadow.last_writes(page, at, wave, known):
                if not (sync and past.kind == SYNC):
                    found = Conflict(event.space, event, number, past, (True, writes), unordered)
                    worst = _worse(worst, found)
            if writes:
                for past, unordered in shadow.last_reads(page, at, wave, known):
                    if not (sync and past.kind == SYNC):
                        found = Conflict(event.space, event, number, past, (False, True), unordered)
                        worst = _worse(worst, found)
                shadow.note_write(page, at, wave, number)
            else:
                shadow.note_read(page, at, wave, number)
        return worst

    def _keep_initial(self, key: tuple[int, int], event: Access) -> None:
        """Remember the store that the first atomic operation on a word builds on."""
        for page, at in self._shadow(event).parts(event.addresses[:1], 1):
            wave, number = int(page.writers[at[0]]), int(page.writes[at[0]])
            past = self._logs[wave].past(wave, number, key[1]) if number else None
            if past is not None and past.kind == PLAIN:
                self._initial[key] = past

    def _before_initial(
        self, key: tuple[int, int], event: Access, bits: int, number: int
    ) -> Conflict | None:
        """A use of a counter by a wave that need not see the counter's first value."""
        past = self._initial.get(key)
        known = self.clocks.waves[event.wave]
        if past is None or past.wave == event.wave or past.number <= known.issued[past.wave]:
            return None
        return Conflict(event.space, event, number, past, (True, bool(bits & WRITE)), True)

    def _shadow(self, event: Access) -> Shadow:
        return self._lds[event.wave // self.waves] if event.space == LDS else self._global

    def _change(self, key: tuple[int, int], event: Access, number: int, *, atomic: bool) -> None:
        if atomic:
            self._atomic.add(key)
        word = self._words.setdefault(key, Word())
        told = self.clocks.publish(event.wave, event.space)
        word.add(Change(event.wave, number, event.value, told), atomic=atomic)
        if atomic and self.sites[event.site].access[event.space] & READ:
            self.clocks.waves[event.wave].join(told)

    def _load(self, key: tuple[int, int], event: Access, conflict: Conflict | None) -> None:
        word = self._words.get(key)
        if word is None:
            self._tell(conflict)
            return
        reads = self._reads.setdefault(event.wave, {})
        reads[event.site] = key, _Read(word, word.count, event.site, conflict)

    def _compare(self, event: Compared) -> None:
        found = self._reads.get(event.wave, {}).pop(event.load, None)
        if found is None:
            return
        key, read = found
        if key in self._initial:
            self._tell(read.conflict)
        if event.polls:
            self._compared.add(key)
        elif key not in self._atomic and key not in self._compared:
            self._tell(read.conflict)
            return
        told = read.word.told(read.seen, event.relation, event.other)
        if told is not None:
            self.clocks.waves[event.wave].join(told.knowledge)

    def _settle(self, wave: int) -> None:
        """Loads of words that were not compared: of counters, all they tell; others may be races."""
        for key, read in self._reads.pop(wave, {}).values():
            if key in self._atomic or key in self._compared:
                told = read.word.told(read.seen)
                if told is not None:
                    self.clocks.waves[wave].join(told.knowledge)
            else:
                self._tell(read.conflict)

    def _tell(self, conflict: Conflict | None) -> None:
        if conflict is not None:
            self._report(conflict)


def _worse(first: Conflict | None, second: Conflict) -> Conflict:
    if first is None or (second.unordered and not first.unordered):
        return second
    return first


