"""Races, early uses and broken protocols, from events alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pipedsl.checker import state as st
from pipedsl.checker.consume import consume
from pipedsl.checker.events import (
    OVERWRITTEN_EARLY,
    SPACES,
    Site,
)
from pipedsl.checker.state import (
    GroupState,
    State,
    new_group,
    new_state,
)
from pipedsl.isa.counters import Queue
from pipedsl.isa.rings import Ring


class Conflict(NamedTuple):
    """Two accesses of different waves to one byte, at least one of them a write.

    Attributes
    ----------
    space : str
    unordered : bool
        True for a race; False where an order exists, but the earlier one may not be complete.
    waves : tuple of int
        Of the earlier and the later one of the run, numbers in the launch.
    sites : tuple of int
    writes : tuple of bool
        Whether the earlier and the later one write.
    address : int
    allowed : int
        Operations that may stay outstanding behind a wait that proves the earlier one.
    """

    space: str
    unordered: bool
    waves: tuple[int, int]
    sites: tuple[int, int]
    writes: tuple[bool, bool]
    address: int
    allowed: int


class Early(NamedTuple):
    """A use of a register that an operation in flight will write.

    Attributes
    ----------
    wave : int
    sites : tuple of int
        Of the operation and of the use.
    register : int
    overwritten : bool
        Whether it is overwritten, not read.
    allowed : int
        As of `Conflict`.
    """

    wave: int
    sites: tuple[int, int]
    register: int
    overwritten: bool
    allowed: int


class Violation(NamedTuple):
    """A broken rule of a ring.

    Attributes
    ----------
    code : str
    ring : Ring
    wave, site : int
    kind : str
        ``"full"`` or ``"empty"``
    stage : int
    value, other, limit : int
        As the code's message needs them.
    """

    code: str
    ring: Ring
    wave: int
    site: int
    kind: str
    stage: int
    value: int
    other: int
    limit: int


class Snapshot(NamedTuple):
    """What a detector knows at one moment."""

    state: State
    groups: dict[int, GroupState]


class Detector:
    """Finds accesses that nothing orders, uses of what is not complete, and misused rings.

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
        Queues of LDS operations, which the LDS performs in the order of issue.
    rings : sequence of Ring
    lds_bytes, registers : int
        LDS of a workgroup, registers of a wave.
    global_bytes : int
        Global memory that there is room for at once; more is found when it is touched.
    constant : (int, int)
        First address of global memory that nobody writes, and the one behind the last.
    """

    def __init__(
        self, sites: Sequence[Site], groups: int, waves: int, queues: Sequence[Queue],
        lds_queues: frozenset[int], rings: Sequence[Ring] = (), lds_bytes: int = 0,
        registers: int = 0, global_bytes: int = 0, constant: tuple[int, int] = (0, 0),
    ) -> None:  # fmt: skip
        self.rings = rings
        self._lds_bytes = lds_bytes
        self._program = st.describe(sites, waves, queues, lds_queues, rings)
        self._state = new_state(
            self._program, groups, registers, global_bytes, constant
        )
        self._groups: dict[int, GroupState] = {}
        self._ended: list[GroupState] = []  # of workgroups that have ended
        self._empty: GroupState | None = None

    def feed(self, group: int, words: np.ndarray) -> None:
        """Take the next events of a workgroup."""
        place = 0
        while True:
            tables = self._groups.get(group)
            if tables is None:
                tables = self._groups[group] = self._begin()
            place = consume(words, place, group, self._program, self._state, tables)
            status = int(self._state.numbers[st.N_STATUS])
            if status == st.RUNNING:
                return
            self._make_room(status, group, tables)

    def forget(self, group: int) -> None:
        """The workgroup has ended."""
        tables = self._groups.pop(group, None)
        if tables is not None:
            self._ended.append(tables)

    def _begin(self) -> GroupState:
        """The tables of a workgroup in which nothing has happened, an ended one's where they fit."""
        if self._empty is None:
            unit = int(self._state.numbers[st.N_LDS_UNIT])
            self._empty = new_group(self._program, self._lds_bytes, unit)
        while self._ended:
            tables = self._ended.pop()
            if tables.refill(self._empty):
                return tables
        return self._empty.copy()

    def save(self) -> Snapshot:
        """What is known now."""
        return Snapshot(self._state.copy(), {n: g.copy() for n, g in self._groups.items()})

    def restore(self, snapshot: Snapshot) -> None:
        """Know what was known at a moment; what was found since then stays."""
        now, state = self._state, snapshot.state.copy()
        for counter in (st.N_CONFLICTS, st.N_VIOLATIONS):
            state.numbers[counter] = now.numbers[counter]
        self._state = replace(
            state, conflicts=now.conflicts, violations=now.violations, roles=now.roles
        )
        self._groups = {number: group.copy() for number, group in snapshot.groups.items()}

    def knowledge(self) -> list[np.ndarray]:
        """All that decides what the next events show, where there is one workgroup.

        What every wave knows tells nobody anything, so what a word told of it is left out.
        """
        state, used = self._state, int(self._state.numbers[st.N_PAGES])
        common = state.known.min(axis=0)
        found = [
            *(array[:used] for array in (state.writes, state.readers)),
            state.known, state.issued, state.counted, state.pending, state.positions, state.sites,
            state.barriers, state.arrived, state.reads, state.held, state.page_keys,
        ]  # fmt: skip
        for words in (state.words, *(group.words for group in self._groups.values())):
            rows = int(words.used[0])
            told = np.maximum(words.known[:rows], common)
            found += [words.changed, words.values, words.flags, words.initial, told]
        for group in self._groups.values():
            found += [group.writes, group.readers, group.counters, group.filled, group.wrote]
            found += [group.in_use, group.loaded, group.awaited, group.raised]
        return found

    def role(self, wave: int) -> str:
        """What a wave does at rings: ``"producer"``, ``"consumer"`` or nothing."""
        return ("", "producer", "consumer")[int(self._state.roles[wave])]

    def conflicts(self) -> list[Conflict | Early]:
        """What was found so far, each pair of instructions once."""
        rows = self._state.conflicts[: int(self._state.numbers[st.N_CONFLICTS])]
        return [_conflict(*row) for row in rows.tolist()]

    def violations(self) -> list[Violation]:
        """Broken rules so far, each once per instruction."""
        rows = self._state.violations[: int(self._state.numbers[st.N_VIOLATIONS])]
        return [
            Violation(f"C{code}", self.rings[ring], wave, site, ("full", "empty")[kind], *rest)
            for code, ring, wave, site, kind, *rest in rows.tolist()
        ]

    def _make_room(self, status: int, group: int, tables: GroupState) -> None:
        state, waves = self._state, self._program.waves
        numbers = state.numbers
        if status == st.FINER_LDS:
            by = int(numbers[st.N_LDS_UNIT] - numbers[st.N_NEED])
            numbers[st.N_LDS_UNIT] = numbers[st.N_NEED]
            finer = ((n, st.finer_group(g, by)) for n, g in self._groups.items())
            self._groups = dict(finer)
            self._empty = None
        elif status == st.FINER_GLOBAL:
            by = int(numbers[st.N_UNIT] - numbers[st.N_NEED])
            numbers[st.N_UNIT] = numbers[st.N_NEED]
            self._state = st.finer(state, by)
        elif status == st.MORE_PAGES:
            self._state = st.more_pages(state)
        elif status == st.BEYOND:
            beyond = np.zeros((len(state.arrived) // waves, len(state.arrived), st.FACTS), np.int32)
            self._state = replace(state, beyond=beyond)
        elif status == st.MORE_WORDS:
            self._state = replace(state, words=st.more_words(state.words, waves))
        else:
            words = st.more_words(tables.words, waves)
            self._groups[group] = replace(tables, words=words)


def _conflict(
    space: int, kind: int, wave: int, site: int, writes: int, past: int, past_writes: int,
    address: int, allowed: int,
) -> Conflict | Early:  # fmt: skip
    past_wave, past_site = past >> st.WAVE & st.WAVES - 1, past >> st.SITE & st.SITES - 1
    if kind == st.REGISTER:
        return Early(wave, (past_site, site), address, writes == OVERWRITTEN_EARLY, allowed)
    return Conflict(
        SPACES[space], kind == st.UNORDERED, (past_wave, wave), (past_site, site),
        (bool(past_writes), bool(writes)), address, allowed,
    )  # fmt: skip
