"""The detector's host code: takes events, keeps what is known, and notes what is wrong."""

from __future__ import annotations

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
    USE,
    WAIT,
    WRITE,
)
from pipedsl.checker.host.jit import compiled, inlined
from pipedsl.checker.knowledge import arrive, issue, leave, wait
from pipedsl.checker.protocol import awaited, finish, rules
from pipedsl.checker.shadow import check, entry_of, order, page_row, younger
from pipedsl.checker.state import (
    GroupState,
    Program,
    State,
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
    width = words[place + 3] & 0xFFFFFFFF
    across = (span.high - 1 >> st.PAGE) - (span.low >> st.PAGE) + 1
    return min(across, span.lanes * ((width >> st.PAGE) + 2))


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
    for at in range(s.reads.shape[1]):
        if s.reads[wave, at, 0] == 0:
            continue
        read = s.reads[wave, at]
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
