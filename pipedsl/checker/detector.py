"""Races, early uses and broken protocols, from events alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pipedsl.checker import state as st
from pipedsl.checker.events import (
    ACCESS,
    ARRIVE,
    ATOMIC,
    COMPARE,
    END,
    HEAD,
    LDS,
    LEAVE,
    OVERWRITTEN_EARLY,
    SPACES,
    USE,
    WAIT,
    WRITE,
    Site,
)
from pipedsl.checker.host.jit import compiled, inlined
from pipedsl.checker.knowledge import arrive, issue, leave, wait
from pipedsl.checker.protocol import awaited, finish, rules
from pipedsl.checker.shadow import check, entry_of, order, page_row, younger
from pipedsl.checker.state import (
    GroupState,
    Program,
    State,
    new_group,
    new_state,
)
from pipedsl.checker.words import (
    IS_ATOMIC,
    IS_POLLED,
    Span,
    change,
    find_read,
    row_of,
    single_word,
    span_of,
    table,
    tell,
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

    def feed(self, group: int, words: np.ndarray) -> None:
        """Take the next events of a workgroup."""
        place = 0
        while True:
            tables = self._groups.get(group)
            if tables is None:
                unit = int(self._state.numbers[st.N_LDS_UNIT])
                tables = self._groups[group] = new_group(self._program, self._lds_bytes, unit)
            place = consume(words, place, group, self._program, self._state, tables)
            status = int(self._state.numbers[st.N_STATUS])
            if status == st.RUNNING:
                return
            self._make_room(status, group, tables)

    def forget(self, group: int) -> None:
        """The workgroup has ended."""
        self._groups.pop(group, None)

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


def _consume(words: np.ndarray, place: int, group: int, p: Program, s: State, g: GroupState) -> int:
    """Take events from `place` on; returns where it stopped, `N_STATUS` says why."""
    s.numbers[st.N_STATUS] = st.RUNNING
    while place < len(words):
        kind, local = words[place] & 0xFFFFFFFF, words[place] >> 32
        site = words[place + 1] & 0xFFFFFFFF
        wave = group * p.waves + local
        if kind == ACCESS:
            span = span_of(words, place)
            if _is_constant(words, place, span, s):
                span = Span(0, 0, 0, 0)
            status = _room(words, place, site, span, p, s, g)
            if status != st.RUNNING:
                s.numbers[st.N_STATUS] = status
                return place
            _access(words, place, wave, local, group, site, span, p, s, g)
        elif kind == USE:
            _use(wave, local, group, site, p, s)
        elif kind == WAIT:
            wait(wave, local, site, p, s)
        elif kind == COMPARE:
            other = words[place + 4]
            if len(p.rings):
                awaited(wave, local, p.compares[site, 0], p.compares[site, 1], other, p, s, g)
            _compare(wave, group, site, other, p, s, g)
        elif kind == ARRIVE:
            _settle(wave, group, p, s, g)
            if not p.silent[site]:
                arrive(wave, group, s)
        elif kind == LEAVE:
            if not p.silent[site]:
                leave(wave, group, s)
        elif kind == END:
            _settle(wave, group, p, s, g)
            finish(p, s, g)
        place += HEAD + (words[place + 1] >> 32)
    return place


@inlined
def _is_constant(words: np.ndarray, place: int, span: Span, s: State) -> bool:
    """Whether the access is to memory that nobody writes, as kernel arguments are."""
    inside = s.numbers[st.N_CONSTANT] <= span.low and span.high <= s.numbers[st.N_CONSTANT_END]
    return words[place + 3] >> 32 != LDS and inside


@inlined
def _room(
    words: np.ndarray, place: int, site: int, span: Span, p: Program, s: State, g: GroupState
) -> int:  # fmt: skip
    """What the tables need before they can take an access."""
    space = words[place + 3] >> 32
    unit = s.numbers[st.N_UNIT] if space else s.numbers[st.N_LDS_UNIT]
    if span.bits & (1 << unit) - 1:
        s.numbers[st.N_NEED] = 0
        while not span.bits >> s.numbers[st.N_NEED] & 1:
            s.numbers[st.N_NEED] += 1
        return st.FINER_GLOBAL if space else st.FINER_LDS
    if space == LDS:
        return st.RUNNING if g.words.used[0] < len(g.words.changed) else st.MORE_LDS_WORDS
    if s.numbers[st.N_PAGES] + _pages(words, place, span) > len(s.writes):
        return st.MORE_PAGES
    signals = p.access[site, space] & ATOMIC != 0 or p.publishes[space] != 0
    if signals and len(s.beyond) == 1 and len(s.arrived) > p.waves:
        return st.BEYOND
    return st.RUNNING if s.words.used[0] < len(s.words.changed) else st.MORE_WORDS


@inlined
def _pages(words: np.ndarray, place: int, span: Span) -> int:
    """Pages that an access may touch, at most."""
    width, pages, last = words[place + 3] & 0xFFFFFFFF, 0, -1
    for index in range(span.lanes):
        address = words[place + HEAD + index]
        for page in range(address >> st.PAGE, (address + width - 1 >> st.PAGE) + 1):
            pages += page != last
            last = page
    return pages


@inlined
def _access(
    words: np.ndarray, place: int, wave: int, local: int, group: int, site: int, span: Span,
    p: Program, s: State, g: GroupState,
) -> None:  # fmt: skip
    space, count = words[place + 3] >> 32, span.lanes
    bits = p.access[site, space]
    if count and bits & WRITE:
        _settle(wave, group, p, s, g)
    continues = words[place + 2]
    if not continues:
        _load_registers(wave, local, group, site, p, s)
    number = s.issued[wave] if continues else issue(wave, local, site, p, s)
    if not continues and p.loads[site, 1]:
        for register in range(p.loads[site, 0], p.loads[site, 0] + p.loads[site, 1]):
            s.pending[wave, register] = number
    if not count or not bits:
        return
    if len(p.rings):
        rules(words, place, wave, local, site, span, p, s, g)
    address = single_word(words, place, span)
    row = -1
    if address >= 0:
        adds = bits & ATOMIC or (p.publishes[space] and (bits & WRITE or p.polling[site]))
        row = row_of(address, table(space, s, g), adds)
    tab = table(space, s, g)
    if row >= 0 and p.polling[site]:
        tab.flags[row] |= IS_POLLED
    sync = bits & ATOMIC != 0
    if row >= 0:
        sync = sync or not bits & WRITE or tab.flags[row] & IS_POLLED != 0
        if bits & ATOMIC and not tab.flags[row] & IS_ATOMIC:
            tab.initial[row] = _first_store(address, space, s, g)
    elif address >= 0 and not bits & WRITE:
        sync = True
    entry = entry_of(number, wave, site, sync)
    found = s.scratch[-4:]
    for part in range(4):
        found[part] = 0
    unit = s.numbers[st.N_UNIT] if space else s.numbers[st.N_LDS_UNIT]
    check(words, place, span.lanes, entry, local, bits & WRITE != 0, p, s, g, unit, found)
    if row >= 0 and found[0] == 0 and tab.initial[row]:
        # A use of a counter by a wave that need not see the counter's first value.
        first = tab.initial[row]
        other = first >> st.WAVE & st.WAVES - 1
        if other != wave and order(first, wave, local, group, p, s) == st.UNORDERED:
            found[0], found[1], found[2], found[3] = st.UNORDERED, first, 1, address
    if row < 0 or bits & WRITE:
        _report(found, space, wave, group, site, bits & WRITE != 0, p, s)
        if row >= 0:
            valued = space == LDS
            change(row, words[place + 4], valued, wave, local, group, site, space, tab, p, s)
    else:
        _hold(row, space, found, wave, group, site, tab.changed[row], p, s, g)


@inlined
def _first_store(address: int, space: int, s: State, g: GroupState) -> int:
    """The plain store behind a word, or 0."""
    if space == LDS:
        at = address >> s.numbers[st.N_LDS_UNIT]
        entry = g.writes[at] if at < len(g.writes) else 0
    else:
        unit = s.numbers[st.N_UNIT]
        at = address >> unit
        row = page_row(at >> st.PAGE - unit, s.page_keys, s.page_rows, s.numbers)
        entry = s.writes[row, at & (1 << st.PAGE - unit) - 1]
    return 0 if entry & 1 else entry


@inlined
def _report(
    found: np.ndarray, space: int, wave: int, group: int, site: int, writes: int, p: Program,
    s: State,
) -> None:  # fmt: skip
    """Keep a conflict, once per pair of instructions."""
    if found[0] == 0:
        return
    past_site = found[1] >> st.SITE & st.SITES - 1
    used = s.numbers[st.N_CONFLICTS]
    for number in range(used):
        row = s.conflicts[number]
        same = row[st.C_SITE] == site and row[st.C_KIND] == found[0]
        if same and row[st.C_PAST] >> st.SITE & st.SITES - 1 == past_site:
            return
    if used < st.REPORTS:
        s.numbers[st.N_CONFLICTS] += 1
        row = s.conflicts[used]
        row[0], row[1], row[2], row[3], row[4] = space, found[0], wave, site, int(writes)
        row[5], row[6], row[7] = found[1], found[2], found[3]
        row[8] = younger(found[1], wave, group, p, s)


@inlined
def _hold(
    row: int, space: int, found: np.ndarray, wave: int, group: int, site: int, seen: int,
    p: Program, s: State, g: GroupState,
) -> None:  # fmt: skip
    """A load of a word: a test of a signal if its value is compared, else an ordinary one."""
    at = find_read(wave, site, s)
    if at < 0:
        at = find_read(wave, -1, s)
    if at < 0:
        _settle(wave, group, p, s, g)
        at = 0
    read = s.reads[wave, at]
    read[0], read[1], read[2], read[3] = site + 1, row, seen, space
    for part in range(4):
        s.held[wave, at, part] = found[part]


@inlined
def _compare(
    wave: int, group: int, site: int, other: int, p: Program, s: State, g: GroupState
) -> None:
    load, relation, polls = p.compares[site, 0], p.compares[site, 1], p.compares[site, 2]
    at = find_read(wave, load, s)
    if at < 0:
        return
    row, seen, space = s.reads[wave, at, 1], s.reads[wave, at, 2], s.reads[wave, at, 3]
    s.reads[wave, at, 0] = 0
    tab = table(space, s, g)
    signal = polls or tab.flags[row]
    if tab.initial[row] or not signal:
        _report(s.held[wave, at], space, wave, group, load, 0, p, s)
    if signal:
        tell(row, seen, relation, other, wave, group, tab, p, s)


@inlined
def _settle(wave: int, group: int, p: Program, s: State, g: GroupState) -> None:
    """Loads of words that were not compared: of counters, all they tell; others may be races."""
    for at in range(len(s.reads[wave])):
        read = s.reads[wave, at]
        if read[0] == 0:
            continue
        tab = table(read[3], s, g)
        if tab.flags[read[1]]:
            tell(read[1], read[2], -1, 0, wave, group, tab, p, s)
        else:
            _report(s.held[wave, at], read[3], wave, group, read[0] - 1, 0, p, s)
        read[0] = 0


@inlined
def _use(wave: int, local: int, group: int, site: int, p: Program, s: State) -> None:
    """Registers are used that an operation in flight may write."""
    for index in range(p.first_use[site], p.first_use[site + 1]):
        first, count, kind = p.uses[index, 0], p.uses[index, 1], p.uses[index, 2]
        _check_registers(first, count, kind, -1, wave, local, group, site, p, s)


@inlined
def _load_registers(wave: int, local: int, group: int, site: int, p: Program, s: State) -> None:
    """A load may write a register behind an older load of the same ordered queue."""
    queue = p.queues[site, 0]
    if p.loads[site, 1] and queue >= 0:
        follows = queue if p.ordered[queue] else -1
        first, count = p.loads[site, 0], p.loads[site, 1]
        _check_registers(
            first, count, OVERWRITTEN_EARLY, follows, wave, local, group, site, p, s
        )  # fmt: skip


@inlined
def _check_registers(
    first: int, count: int, kind: int, follows: int, wave: int, local: int, group: int, site: int,
    p: Program, s: State,
) -> None:  # fmt: skip
    for register in range(first, first + count):
        number = s.pending[wave, register]
        s.pending[wave, register] = 0
        if number == 0 or number + st.LOG <= s.issued[wave]:
            continue
        loading = s.sites[wave, number & st.LOG - 1]
        entry = entry_of(number, wave, loading, False)
        if p.queues[loading, 0] != follows and order(entry, wave, local, group, p, s):
            found = s.scratch[-4:]
            found[0], found[1], found[2], found[3] = st.REGISTER, entry, 1, register
            _report(found, 0, wave, group, site, kind, p, s)


consume = compiled(_consume)
