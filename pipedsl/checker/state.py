"""The detector's tables: what the program says, what the waves know, what each byte went through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from pipedsl.checker.events import RELATIONS, Site
from pipedsl.checker.host.tables import Tables
from pipedsl.isa.counters import Queue
from pipedsl.isa.rings import Ring

QUEUES = 7  # at most
FACTS = 1 + QUEUES  # what is known of a wave: operations issued, then those complete per queue
LOG = 1024  # operations of a wave whose position in their queue is remembered
PENDING_LOADS = 8  # loads of words per wave that wait for a comparison
CHANGES = 16  # changes of a word that are remembered one by one
PAGE = 12  # log2 of the bytes of a page of global memory
_PAGES = 8  # for which there is room at first
_MOST_PAGES = 1 << 15  # for which there is room at first where memory is large
READERS = 2  # waves that are remembered as readers of a byte of global memory
REPORTS = 256  # conflicts, and violations, that are kept

# An access in a table: number of the operation, wave of the launch, site, whether it synchronises.
NUMBER, WAVE, SITE = 35, 18, 1  # lowest bits
WAVES, SITES = 1 << 17, 1 << 17

# Why `consume` stopped before the end.
RUNNING, FINER_LDS, FINER_GLOBAL, MORE_PAGES, MORE_LDS_WORDS, MORE_WORDS, BEYOND = range(7)

# Columns of a conflict.
(
    C_SPACE, C_KIND, C_WAVE, C_SITE, C_WRITES, C_PAST, C_PAST_WRITES, C_ADDRESS, C_ALLOWED,
) = range(9)  # fmt: skip
UNORDERED, INCOMPLETE, REGISTER = 2, 1, 3  # kinds of conflict; a register's C_WRITES is its use

# Columns of a violation.
V_CODE, V_RING, V_WAVE, V_SITE, V_KIND, V_STAGE, V_VALUE, V_OTHER, V_LIMIT = range(9)


@dataclass(frozen=True)
class Program(Tables):
    """What does not change in a run; row per site, queue or ring."""

    waves: int
    access: np.ndarray  # (sites, spaces)
    queues: np.ndarray  # (sites, 2), -1 for none
    limits: np.ndarray  # (sites, QUEUES), -1 for none
    loads: np.ndarray  # (sites, 2)
    uses: np.ndarray  # (uses, 3)
    first_use: np.ndarray  # (sites + 1,)
    compares: np.ndarray  # (sites, 3): load or -1, relation, polls
    polling: np.ndarray  # (sites,): load of a loop that waits
    silent: np.ndarray  # (sites,): barrier that is taken for nothing
    publishes: np.ndarray  # (spaces,): whether a plain store may be a signal
    capacity: np.ndarray  # (queues,)
    ordered: np.ndarray  # (queues,)
    lds: np.ndarray  # (queues,): operations that LDS performs in the order of issue
    rings: np.ndarray  # (rings, 5): base, end, bytes of a counter, arrivals at full, at empty


@dataclass(frozen=True)
class Words(Tables):
    """Words through which waves tell each other what they have done, by address."""

    keys: np.ndarray  # open addressing
    rows: np.ndarray
    used: np.ndarray  # (1,)
    flags: np.ndarray  # (words,)
    initial: np.ndarray  # (words,): the store that the first atomic operation builds on
    changed: np.ndarray  # (words,): how often
    values: np.ndarray  # (words, CHANGES)
    valued: np.ndarray  # (words, CHANGES)
    source: np.ndarray  # (words, CHANGES): workgroup that changed it
    known: np.ndarray  # (words, CHANGES, waves of a workgroup, FACTS)


@dataclass(frozen=True)
class State(Tables):
    """What a run has shown so far; row per wave of the launch."""

    known: np.ndarray  # (waves, waves of a workgroup, FACTS)
    beyond: np.ndarray  # (workgroups, waves, FACTS): of the others; (1, 1, FACTS) until needed
    issued: np.ndarray  # (waves,)
    counted: np.ndarray  # (waves, QUEUES)
    positions: np.ndarray  # (waves, LOG)
    sites: np.ndarray  # (waves, LOG)
    pending: np.ndarray  # (waves, registers): operation that will write it
    barriers: np.ndarray  # (workgroups, 2, waves of a workgroup, FACTS), by parity
    arrived: np.ndarray  # (waves,)
    roles: np.ndarray  # (waves,): 0, or 1 + kind of counter that it raises
    reads: np.ndarray  # (waves, PENDING_LOADS, 4): site + 1, word, changes seen, space
    held: np.ndarray  # (waves, PENDING_LOADS, 9): the conflict of each
    page_keys: np.ndarray
    page_rows: np.ndarray
    writes: np.ndarray  # (pages, bytes / unit)
    readers: np.ndarray  # (pages, bytes / unit, READERS)
    words: Words
    conflicts: np.ndarray  # (REPORTS, 9)
    violations: np.ndarray  # (REPORTS, 9)
    used_by: np.ndarray  # (rings, sites): two bits per wave of a workgroup, for kinds of counter
    numbers: np.ndarray  # see N_ below
    scratch: np.ndarray  # an entry per place of a byte's readers


# Places in `State.numbers`.
(
    N_STATUS, N_PAGES, N_CONFLICTS, N_VIOLATIONS, N_LDS_UNIT, N_UNIT, N_PAGE, N_ROW, N_NEED,
    N_CONSTANT, N_CONSTANT_END,
) = range(11)  # fmt: skip
_UNIT = 4  # log2 of the bytes that are told apart at first


@dataclass(frozen=True)
class GroupState(Tables):
    """What one workgroup has shown so far."""

    writes: np.ndarray  # (LDS bytes / unit,)
    readers: np.ndarray  # (LDS bytes / unit, waves)
    words: Words
    counters: np.ndarray  # (rings, counters): value, -1 before it is initialised
    in_use: np.ndarray  # (rings,)
    awaited: np.ndarray  # (rings, counters): the most that a wave has waited for
    raised: np.ndarray  # (rings, counters): wave << 32 | site of the last arrival
    ended: np.ndarray  # (1,): waves
    wrote: np.ndarray  # (waves,): 1 + full signals since its last store; 0 before that
    filled: np.ndarray  # (rings, counters): signals of this lap with stores behind them
    loaded: np.ndarray  # (waves, PENDING_LOADS, 3): site + 1, ring, counter


def describe(
    sites: Sequence[Site], waves: int, queues: Sequence[Queue], lds_queues: frozenset[int],
    rings: Sequence[Ring],
) -> Program:  # fmt: skip
    """The tables of a program."""
    count = len(sites)
    access, on = np.zeros((count, 2), np.int64), np.full((count, 2), -1, np.int64)
    limits = np.full((count, QUEUES), -1, np.int64)
    loads, compares = np.zeros((count, 2), np.int64), np.full((count, 3), -1, np.int64)
    first_use = np.zeros(count + 1, np.int64)
    uses: list[tuple[int, int, int]] = []
    polling, publishes = np.zeros(count, np.int64), np.zeros(2, np.int64)
    for number, site in enumerate(sites):
        for space, bits in site.access.items():
            access[number, space] = bits
        on[number, : len(site.queues)] = site.queues
        for queue, limit in site.limits.items():
            limits[number, queue] = limit
        loads[number] = site.loads
        uses += site.uses
        first_use[number + 1] = len(uses)
        if site.compares is not None:
            found = site.compares
            compares[number] = found.load, RELATIONS.index(found.relation), found.polls
            polling[found.load] |= found.polls
    for number in np.flatnonzero(polling).tolist():
        publishes |= access[number] != 0
    numbers = range(len(queues))
    return Program(
        waves, access, on, limits, loads, np.array(uses, np.int64).reshape(-1, 3), first_use,
        compares, polling,
        np.array([site.silent for site in sites], np.int64), publishes, np.array([q.capacity for q in queues], np.int64),
        np.array([q.ordered for q in queues], np.int64),
        np.array([number in lds_queues for number in numbers], np.int64),
        np.array([_ring(ring) for ring in rings], np.int64).reshape(-1, 5),
    )  # fmt: skip


def _ring(ring: Ring) -> tuple[int, ...]:
    return ring.base, ring.end, ring.bits // 8, ring.producer_arrivals, ring.consumer_arrivals


def new_words(capacity: int, waves: int) -> Words:
    """An empty table of words; half of `capacity` can be used."""
    rows = capacity // 2
    return Words(
        np.full(capacity, -1, np.int64), np.zeros(capacity, np.int64), np.zeros(1, np.int64),
        np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64),
        np.zeros((rows, CHANGES), np.int64), np.zeros((rows, CHANGES), np.int64),
        np.zeros((rows, CHANGES), np.int64), np.zeros((rows, CHANGES, waves, FACTS), np.int32),
    )  # fmt: skip


def more_words(words: Words, waves: int) -> Words:
    """The same table with twice the room."""
    larger = new_words(2 * len(words.keys), waves)
    used = int(words.used[0])
    larger.used[0] = used
    mask = len(larger.keys) - 1
    for place in np.flatnonzero(words.keys >= 0).tolist():
        target = slot_of(int(words.keys[place]), mask)
        while larger.keys[target] >= 0:
            target = (target + 1) & mask
        larger.keys[target], larger.rows[target] = words.keys[place], words.rows[place]
    for field in fields(Words)[3:]:  # one row per word
        getattr(larger, field.name)[:used] = getattr(words, field.name)[:used]
    return larger


def slot_of(key: int, mask: int) -> int:
    """Where a key's search starts."""
    return (key >> 2 ^ key >> 14 ^ key >> 33) & mask


def new_state(
    program: Program, groups: int, registers: int, global_bytes: int = 0,
    constant: tuple[int, int] = (0, 0),
) -> State:  # fmt: skip
    """Nothing has happened yet; there is room for `global_bytes` of global memory.

    Room that is never touched costs no memory of the host.
    """
    waves, total, sites = program.waves, groups * program.waves, len(program.access)
    pages = _PAGES
    while pages < min(global_bytes >> PAGE, _MOST_PAGES):
        pages *= 2
    return State(
        np.zeros((total, waves, FACTS), np.int32), np.zeros((1, 1, FACTS), np.int32),
        np.zeros(total, np.int64), np.zeros((total, QUEUES), np.int64),
        np.zeros((total, LOG), np.int32), np.zeros((total, LOG), np.int32),
        np.zeros((total, registers), np.int32), np.zeros((groups, 2, waves, FACTS), np.int32),
        np.zeros(total, np.int64), np.zeros(total, np.int64),
        np.zeros((total, PENDING_LOADS, 4), np.int64),
        np.zeros((total, PENDING_LOADS, 9), np.int64),
        np.full(4 * pages, -1, np.int64), np.zeros(4 * pages, np.int64),
        np.zeros((pages, 1 << PAGE - _UNIT), np.int64),
        np.zeros((pages, 1 << PAGE - _UNIT, READERS), np.int64),
        new_words(64, waves), np.zeros((REPORTS, 9), np.int64), np.zeros((REPORTS, 9), np.int64),
        np.zeros((len(program.rings), sites), np.int64), np.array([0, 0, 0, 0, _UNIT, _UNIT, -1, 0, 0, *constant]),
        np.zeros(max(waves, READERS) + 4, np.int64),
    )  # fmt: skip


def new_group(program: Program, lds_bytes: int, unit: int) -> GroupState:
    """Nothing has happened in a workgroup yet; `unit` is log2 of the bytes that are told apart."""
    waves, places = program.waves, -(-lds_bytes >> unit) + 1
    rings = len(program.rings)
    counters = max([(end - base) // step for base, end, step, *_ in program.rings.tolist()] or [0])
    return GroupState(
        np.zeros(places, np.int64), np.zeros((places, waves), np.int64), new_words(64, waves),
        np.full((rings, counters), -1, np.int64), np.zeros(rings, np.int64),
        np.zeros((rings, counters), np.int64), np.zeros((rings, counters), np.int64),
        np.zeros(1, np.int64), np.zeros(waves, np.int64), np.zeros((rings, counters), np.int64),
        np.zeros((waves, PENDING_LOADS, 3), np.int64),
    )  # fmt: skip


def finer_group(group: GroupState, by: int) -> GroupState:
    """The same workgroup, with bytes told apart in units of ``2**by`` less."""
    return replace(
        group,
        writes=np.repeat(group.writes, 1 << by),
        readers=np.repeat(group.readers, 1 << by, axis=0),
    )


def finer(state: State, by: int) -> State:
    """The same state, with bytes of global memory told apart in units of ``2**by`` less.

    Pages that are not in use stay untouched: they cost no memory of the host.
    """
    used = int(state.numbers[N_PAGES])
    pages, units = state.writes.shape
    writes = np.zeros((pages, units << by), np.int64)
    readers = np.zeros((pages, units << by, READERS), np.int64)
    writes[:used] = np.repeat(state.writes[:used], 1 << by, axis=1)
    readers[:used] = np.repeat(state.readers[:used], 1 << by, axis=1)
    return replace(state, writes=writes, readers=readers)


def more_pages(state: State) -> State:
    """The same state, with room for twice the pages."""
    used = len(state.writes)
    keys = np.full(2 * len(state.page_keys), -1, np.int64)
    rows, mask = np.zeros(len(keys), np.int64), len(keys) - 1
    for place in np.flatnonzero(state.page_keys >= 0):
        target = slot_of(int(state.page_keys[place]) << 2, mask)
        while keys[target] >= 0:
            target = (target + 1) & mask
        keys[target], rows[target] = state.page_keys[place], state.page_rows[place]
    writes = np.zeros((2 * used, state.writes.shape[1]), np.int64)
    readers = np.zeros((2 * used, *state.readers.shape[1:]), np.int64)
    writes[:used], readers[:used] = state.writes, state.readers
    return replace(state, page_keys=keys, page_rows=rows, writes=writes, readers=readers)
