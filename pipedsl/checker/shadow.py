"""Who touched each byte last: conflicts with accesses that nothing orders before the present one."""

from __future__ import annotations

import numpy as np

from pipedsl.checker.events import HEAD, LDS
from pipedsl.checker.host.jit import inlined
from pipedsl.checker.state import (
    INCOMPLETE,
    LOG,
    N_PAGE,
    N_PAGES,
    N_ROW,
    NUMBER,
    PAGE,
    READERS,
    SITE,
    SITES,
    UNORDERED,
    WAVE,
    WAVES,
    GroupState,
    Program,
    State,
    slot_of,
)

_slot_of = inlined(slot_of)
_FEW = 4  # places that are looked at one by one


@inlined
def entry_of(number: int, wave: int, site: int, sync: bool) -> int:
    """An access in a table."""
    return number << NUMBER | wave << WAVE | site << SITE | int(sync)


@inlined
def facts_about(other: int, wave: int, group: int, p: Program, s: State) -> np.ndarray:
    """What `wave` of workgroup `group` knows about wave `other`."""
    if other // p.waves == group:
        return s.known[wave, other - group * p.waves]
    return s.beyond[group, other] if len(s.beyond) > 1 else s.beyond[0, 0]


@inlined
def order(entry: int, wave: int, local: int, group: int, p: Program, s: State) -> int:
    """0 if `wave` knows that the access is complete, else `INCOMPLETE` or `UNORDERED`."""
    other = entry >> WAVE & WAVES - 1
    number = entry >> NUMBER
    facts = facts_about(other, wave, group, p, s)
    if number > facts[0]:
        return UNORDERED
    queue = p.queues[entry >> SITE & SITES - 1, 0]
    if queue < 0 or number + LOG <= s.issued[other]:  # so old that it has long completed
        return 0
    return INCOMPLETE if s.positions[other, number & LOG - 1] > facts[1 + queue] else 0


@inlined
def younger(entry: int, wave: int, group: int, p: Program, s: State) -> int:
    """Operations on the entry's queue between it and the last that `wave` knows to be issued."""
    other = entry >> WAVE & WAVES - 1
    number = entry >> NUMBER
    queue = p.queues[entry >> SITE & SITES - 1, 0]
    if queue < 0 or not p.ordered[queue]:
        return 0
    facts = facts_about(other, wave, group, p, s)
    last = facts[0]
    count = 0
    for later in range(number + 1, min(last, number + LOG) + 1):
        count += p.queues[s.sites[other, later & LOG - 1], 0] == queue
    return count


@inlined
def check(
    words: np.ndarray, place: int, lanes: int, entry: int, local: int, writes: bool, p: Program,
    s: State, g: GroupState, unit: int, found: np.ndarray,
) -> None:  # fmt: skip
    """Compare an access with what others did to the same bytes, and remember it.

    `found` gets the worst conflict: its kind (0 for none), the earlier access, whether that writes,
    and the byte.
    """
    width, space = (words[place + 3] & 0xFFFFFFFF) >> unit, words[place + 3] >> 32
    total = lanes * width
    known = s.scratch[:-4]
    for column in range(len(known)):
        known[column] = 0
    shift, reader = (60, local) if space == LDS else (PAGE - unit, -1)
    last, readers, page = g.writes, g.readers, 0
    fine = at = 0  # the last earlier write that was in order; the place that is looked at
    while at < total:
        start = (words[place + HEAD + at // width] >> unit) + at % width
        if space != LDS:
            page = start >> shift
            row = page_row(page, s.page_keys, s.page_rows, s.numbers)
            last, readers = s.writes[row], s.readers[row]
        if total > _FEW:
            at = _pass(
                words, place, at, total, width, unit, shift, page, last, readers, reader, entry,
                writes, fine, known,
            )  # fmt: skip
        if at == total:
            break
        start = (words[place + HEAD + at // width] >> unit) + at % width
        inside = start & (1 << shift) - 1
        if start >> shift != page:
            continue
        at += 1
        if inside >= len(last):
            continue
        address = start << unit
        past = last[inside]
        if past not in (0, fine) and _judge(past, True, address, entry, local, p, s, found) == 0:
            fine = past
        if writes:
            _overwrite(readers[inside], address, entry, local, p, s, found, known)
            last[inside] = entry
        else:
            _remember(readers, inside, entry, reader)


@inlined
def _pass(
    words: np.ndarray, place: int, at: int, total: int, width: int, unit: int, shift: int,
    page: int, last: np.ndarray, readers: np.ndarray, reader: int, entry: int, writes: bool,
    fine: int, known: np.ndarray,
) -> int:  # fmt: skip
    """Remember the access at places of one page that are known to be in order.

    Returns where it stopped: at a place to look at, or one of another page.
    """
    mask = (1 << shift) - 1
    lane, lanes = at // width, total // width
    start = (words[place + HEAD + lane] >> unit) + at % width
    while lane < lanes:
        end = (words[place + HEAD + lane] >> unit) + width
        lane += 1
        while lane < lanes and words[place + HEAD + lane] >> unit == end:  # goes on where it ends
            end += width
            lane += 1
        if start >> shift != page:
            return at
        inside = start & mask
        count = min(end - start, mask + 1 - inside)
        stop = min(inside + count, len(last))
        for each in range(inside, stop):
            past = last[each]
            if past not in (0, fine):
                return at + each - inside
            if writes:
                for column in range(readers.shape[1]):
                    seen = readers[each, column]
                    if seen not in (0, known[column]):
                        return at + each - inside
                for column in range(readers.shape[1]):
                    readers[each, column] = 0
                last[each] = entry
            else:
                _remember(readers, each, entry, reader)
        at += count
        if count < end - start:
            return at
        if lane < lanes:
            start = words[place + HEAD + lane] >> unit
    return at


@inlined
def _overwrite(
    readers: np.ndarray, address: int, entry: int, local: int, p: Program, s: State,
    found: np.ndarray, known: np.ndarray,
) -> None:  # fmt: skip
    """Judge the readers of a place that is written, and forget them."""
    for column in range(len(readers)):
        past = readers[column]
        if past == 0:
            continue
        readers[column] = 0
        in_order = past == known[column]
        if not in_order and _judge(past, False, address, entry, local, p, s, found) == 0:
            known[column] = past


@inlined
def _judge(
    past: int, past_writes: bool, address: int, entry: int, local: int, p: Program, s: State,
    found: np.ndarray,
) -> int:  # fmt: skip
    wave = entry >> WAVE & WAVES - 1
    if past >> WAVE & WAVES - 1 == wave:
        if not (past_writes and _is_copied(past, entry, p)):
            return 0
    elif past & entry & 1:
        return 0
    kind = order(past, wave, local, wave // p.waves, p, s)
    if kind > found[0]:
        found[0], found[1], found[2], found[3] = kind, past, int(past_writes), address
    return kind


@inlined
def _is_copied(past: int, entry: int, p: Program) -> bool:
    """Whether a copy to LDS was there before an LDS operation: a wave's own accesses are in order
    otherwise."""
    before = p.queues[past >> SITE & SITES - 1, 0]
    now = p.queues[entry >> SITE & SITES - 1, 0]
    return before >= 0 and now >= 0 and p.lds[now] and not p.lds[before]


@inlined
def _remember(readers: np.ndarray, inside: int, entry: int, reader: int) -> None:
    """Every wave has a place in LDS; in global memory (-1) the last few readers are kept."""
    if reader >= 0:
        readers[inside, reader] = entry
        return
    wave = entry >> WAVE & WAVES - 1
    free = entry >> NUMBER & READERS - 1
    for place in range(READERS):
        seen = readers[inside, place]
        if seen == 0 or seen >> WAVE & WAVES - 1 == wave:
            free = place
            break
    readers[inside, free] = entry


@inlined
def page_row(page: int, keys: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> int:
    """Row of a page of global memory; there is room for a new one."""
    if numbers[N_PAGE] == page:
        return numbers[N_ROW]
    mask = len(keys) - 1
    place = _slot_of(page << 2, mask)
    while keys[place] != page:
        if keys[place] < 0:
            keys[place] = page
            rows[place] = numbers[N_PAGES]
            numbers[N_PAGES] += 1
            break
        place = (place + 1) & mask
    numbers[N_PAGE], numbers[N_ROW] = page, rows[place]
    return rows[place]
