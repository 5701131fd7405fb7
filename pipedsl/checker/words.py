"""Words through which waves tell each other what they have done."""

from __future__ import annotations

from typing import NamedTuple

from pipedsl.checker.events import ATOMIC, HEAD, READ, holds
from pipedsl.checker.host.jit import inlined
from pipedsl.checker.knowledge import clear, join, learn, publish
from pipedsl.checker.state import CHANGES, PENDING_LOADS, GroupState, Program, State, Words, slot_of

IS_ATOMIC, IS_POLLED = 1, 2  # flags of a word
_slot_of = inlined(slot_of)


_holds = inlined(holds)


@inlined
def row_of(address: int, words: Words, add: bool) -> int:
    """Row of the word at an address; -1 if there is none."""
    mask = len(words.keys) - 1
    place = _slot_of(address, mask)
    while words.keys[place] != address:
        if words.keys[place] < 0:
            if not add:
                return -1
            words.keys[place], words.rows[place] = address, words.used[0]
            words.used[0] += 1
            break
        place = (place + 1) & mask
    return words.rows[place]


@inlined
def change(
    row: int, value: int, valued: bool, wave: int, local: int, group: int, site: int, space: int,
    words: Words, p: Program, s: State,
) -> None:  # fmt: skip
    """A wave changed a word: an atomic operation carries on what the word told before."""
    at = words.changed[row] % CHANGES
    before = (words.changed[row] - 1) % CHANGES
    told = words.known[row, at]
    atomic = p.access[site, space] & ATOMIC
    follows = atomic and words.changed[row] > 0 and words.source[row, before] == group
    if atomic and words.changed[row] > 0 and not follows:
        learn(wave, group, words.known[row, before], words.source[row, before], p, s)
    clear(told)
    if follows:
        join(told, words.known[row, before])
    publish(told, wave, local, space, p, s)
    words.values[row, at], words.valued[row, at] = value, valued
    words.source[row, at] = group
    words.changed[row] += 1
    if atomic:
        words.flags[row] |= IS_ATOMIC
        if p.access[site, space] & READ:
            join(s.known[wave], told)


@inlined
def tell(
    row: int, seen: int, relation: int, other: int, wave: int, group: int, words: Words,
    p: Program, s: State,
) -> None:  # fmt: skip
    """What a read after `seen` changes learns; `relation` is -1 where it is not compared.

    A read that is compared learns from the first of the changes with which the comparison comes
    out as it does: that the word had changed further by then was luck.
    """
    oldest = max(words.changed[row] - CHANGES, 0)
    if seen <= oldest:
        return
    first = seen - 1
    if relation >= 0 and words.valued[row, first % CHANGES]:
        outcome = _holds(relation, words.values[row, first % CHANGES], other)
        index = first
        while index >= oldest:
            at = index % CHANGES
            if (
                not words.valued[row, at]
                or _holds(relation, words.values[row, at], other) != outcome
            ):
                break
            first = index
            index -= 1
        # Where all changes give the outcome, a word that is still 0 may do so too.
        if index < 0 and _holds(relation, 0, other) == outcome:
            return
    at = first % CHANGES
    learn(wave, group, words.known[row, at], words.source[row, at], p, s)


@inlined
def table(space: int, s: State, g: GroupState) -> Words:
    """The words of a memory space."""
    return s.words if space else g.words


@inlined
def find_read(wave: int, site: int, s: State) -> int:
    """Place of the load of a word that waits for its comparison; -1 if there is none."""
    for place in range(PENDING_LOADS):
        if s.reads[wave, place, 0] == site + 1:
            return place
    return -1


class Span(NamedTuple):
    """Where an access goes.

    Attributes
    ----------
    lanes : int
        Addresses to look at: 1 if all lanes have the same.
    low, high : int
        The bytes between the lowest and the highest.
    bits : int
        Bits of the width and of any address.
    """

    lanes: int
    low: int
    high: int
    bits: int


@inlined
def span_of(events, place: int) -> Span:
    """Where the access at `place` goes."""
    count, width = events[place + 1] >> 32, events[place + 3] & 0xFFFFFFFF
    if count == 0:
        return Span(0, 0, 0, 0)
    low = high = bits = events[place + HEAD]
    for index in range(1, count):
        address = events[place + HEAD + index]
        low, high = min(low, address), max(high, address)
        bits |= address
    return Span(1 if low == high else count, low, high + width, bits | width)


@inlined
def single_word(events, place: int, span: Span) -> int:
    """The address, if the access is to one aligned place of at most 8 bytes; else -1."""
    width = events[place + 3] & 0xFFFFFFFF
    if span.lanes != 1 or width > 8 or width < 4 or span.low & 3:
        return -1
    return span.low
