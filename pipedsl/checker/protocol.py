"""The rules of a ring of slots, checked on the arrivals and waits of a run."""

from __future__ import annotations

import numpy as np

from pipedsl.checker.events import ATOMIC, HEAD, LDS, READ, WRITE
from pipedsl.checker.host.jit import inlined
from pipedsl.checker.state import (
    N_VIOLATIONS,
    PENDING_LOADS,
    REPORTS,
    V_CODE,
    V_SITE,
    GroupState,
    Program,
    State,
)
from pipedsl.checker.words import Span

FULL, EMPTY = 0, 1  # kinds of counter
PRODUCER, CONSUMER = 1, 2  # roles: who raises the full, or the empty counters
_NEAR_END = 1 << 30  # of a 32-bit counter
_NEVER = 1 << 31  # arrivals that are asked for when lap 0 of the empty signal is


@inlined
def rules(
    words: np.ndarray, place: int, wave: int, local: int, site: int, span: Span, p: Program,
    s: State, g: GroupState,
) -> None:  # fmt: skip
    """An access to memory, as the rings of the workgroup see it."""
    space = words[place + 3] >> 32
    bits = p.access[site, space]
    inside = False
    for ring in range(len(p.rings)):
        if space == LDS:
            inside |= _ring(words, place, wave, local, site, bits, ring, span, p, s, g)
    if bits & WRITE and not inside:
        g.wrote[local] = 1


@inlined
def _ring(
    words: np.ndarray, place: int, wave: int, local: int, site: int, bits: int, ring: int,
    span: Span, p: Program, s: State, g: GroupState,
) -> bool:  # fmt: skip
    """Whether the access touches the ring's counters."""
    base, end, step = p.rings[ring, 0], p.rings[ring, 1], p.rings[ring, 2]
    width = words[place + 3] & 0xFFFFFFFF
    first, last = 1 << 40, -1  # counters that are touched
    lanes = span.lanes if span.low < end and base < span.high else 0
    for index in range(lanes):
        low = max(words[place + HEAD + index], base)
        high = min(words[place + HEAD + index] + width, end)
        if low < high:
            first, last = min(first, (low - base) // step), max(last, (high - 1 - base) // step)
            if bits & WRITE and not bits & ATOMIC:
                for counter in range((low - base) // step, (high - 1 - base) // step + 1):
                    if g.in_use[ring]:
                        _violation(332, ring, wave, site, counter, 0, 0, 0, p, s)
                    g.counters[ring, counter] = 0
    if last < 0:
        if s.used_by[ring, site] >> 2 * local & 3:
            _violation(360, ring, wave, site, 0, words[place + HEAD], 0, 0, p, s)
        return False
    if bits & ATOMIC:
        _arrive(words, place, wave, local, site, ring, first, first == last, p, s, g)
    elif bits & READ and first == last:
        for slot in range(PENDING_LOADS - 1, 0, -1):
            for part in range(3):
                g.loaded[local, slot, part] = g.loaded[local, slot - 1, part]
        g.loaded[local, 0, 0], g.loaded[local, 0, 1] = site + 1, ring
        g.loaded[local, 0, 2] = first
    return True


@inlined
def _arrive(
    words: np.ndarray, place: int, wave: int, local: int, site: int, ring: int, counter: int,
    single: bool, p: Program, s: State, g: GroupState,
) -> None:  # fmt: skip
    g.in_use[ring] = 1
    stages = _stages(ring, p)
    kind, stage = counter // stages, counter % stages
    before = g.counters[ring, counter]
    _use(ring, wave, site, counter, p, s, g)
    lanes, width = words[place + 1] >> 32, words[place + 3] & 0xFFFFFFFF
    if lanes > 1:
        _violation(322, ring, wave, site, counter, lanes, 0, 0, p, s)
    before = max(before, 0)
    value = words[place + 4] if single and width == p.rings[ring, 2] else before + 1
    g.counters[ring, counter] = value
    g.raised[ring, counter] = wave << 32 | site
    if s.roles[wave] == 0:
        s.roles[wave] = PRODUCER + kind
    if kind == FULL:
        # A producer may fill the slots of a lap before it signals the first.
        g.filled[ring, stage] += 0 < g.wrote[local] <= stages
        g.wrote[local] += g.wrote[local] > 0
        if value % p.rings[ring, 3] == 0:
            if g.filled[ring, stage] == 0:
                _violation(350, ring, wave, site, counter, 0, 0, 0, p, s)
            g.filled[ring, stage] = 0
    # A slot is filled once more than it is drained, and drained as often as it is filled.
    other = max(g.counters[ring, (counter + stages) % (2 * stages)], 0)
    laps = other // p.rings[ring, 4 - kind] + (kind == FULL)
    limit = laps * p.rings[ring, 3 + kind]
    if value > limit and before <= limit:
        code = 320 if kind == FULL else 321
        _violation(code, ring, wave, site, counter, value, other, limit, p, s)
    if p.rings[ring, 2] == 4 and value >= _NEAR_END:
        _violation(370, ring, wave, site, counter, value, 0, 0, p, s)


@inlined
def _use(
    ring: int, wave: int, site: int, counter: int, p: Program, s: State, g: GroupState
) -> None:
    kind = counter // _stages(ring, p)
    local = wave % p.waves
    s.used_by[ring, site] |= 1 << 2 * local + kind
    if s.used_by[ring, site] >> 2 * local & 3 == 3:
        _violation(360, ring, wave, site, counter, -1, 0, 0, p, s)
    if g.counters[ring, counter] < 0:
        _violation(331, ring, wave, site, counter, 0, 0, 0, p, s)


@inlined
def awaited(
    wave: int, local: int, load: int, relation: int, other: int, p: Program, s: State,
    g: GroupState,
) -> None:  # fmt: skip
    """A wave compares what it loaded: a wait, if that was a counter."""
    for slot in range(PENDING_LOADS):
        if g.loaded[local, slot, 0] == load + 1:
            g.loaded[local, slot, 0] = 0
            ring, counter = g.loaded[local, slot, 1], g.loaded[local, slot, 2]
            _await(wave, load, ring, counter, relation, other, p, s, g)
            return


@inlined
def _await(
    wave: int, load: int, ring: int, counter: int, relation: int, other: int, p: Program,
    s: State, g: GroupState,
) -> None:  # fmt: skip
    stages = _stages(ring, p)
    kind = counter // stages
    if s.roles[wave] == 0:
        s.roles[wave] = CONSUMER - kind
    _use(ring, wave, load, counter, p, s, g)
    needed = 0
    if relation == 3 or relation == 4:  # at least, or its opposite
        needed = max(other, 0)
    elif relation == 2 or relation == 5:
        needed = max(other + 1, 0)
    per_lap = p.rings[ring, 3 + kind]
    g.awaited[ring, counter] = max(g.awaited[ring, counter], needed)
    if needed % per_lap or needed >= _NEVER:
        _violation(341, ring, wave, load, counter, needed, per_lap, 0, p, s)
        return
    there = max(g.counters[ring, (counter + stages) % (2 * stages)], 0)
    least = (there // p.rings[ring, 4 - kind] + (kind == FULL)) * per_lap
    if needed < least and (kind == FULL or s.roles[wave] != CONSUMER):
        _violation(340, ring, wave, load, counter, needed, there, least, p, s)


@inlined
def finish(p: Program, s: State, g: GroupState) -> None:
    """A wave of the workgroup has ended; after the last, no filled slot may be left."""
    g.ended[0] += 1
    if g.ended[0] < p.waves:
        return
    for ring in range(len(p.rings)):
        for stage in range(_stages(ring, p)):
            value = g.counters[ring, stage]
            if value > 0 and value // p.rings[ring, 3] * p.rings[ring, 3] > g.awaited[ring, stage]:
                wave, site = g.raised[ring, stage] >> 32, g.raised[ring, stage] & 0xFFFFFFFF
                _violation(351, ring, wave, site, stage, value, g.awaited[ring, stage], 0, p, s)


@inlined
def _stages(ring: int, p: Program) -> int:
    return (p.rings[ring, 1] - p.rings[ring, 0]) // p.rings[ring, 2] // 2


@inlined
def _violation(
    code: int, ring: int, wave: int, site: int, counter: int, value: int, other: int, limit: int,
    p: Program, s: State,
) -> None:  # fmt: skip
    """Keep a broken rule, once per instruction."""
    used = s.numbers[N_VIOLATIONS]
    for row in range(used):
        if s.violations[row, V_CODE] == code and s.violations[row, V_SITE] == site:
            return
    if used < REPORTS:
        stages = _stages(ring, p)
        row = s.violations[used]
        row[0], row[1], row[2], row[3] = code, ring, wave, site
        row[4], row[5] = counter // stages, counter % stages
        row[6], row[7], row[8] = value, other, limit
        s.numbers[N_VIOLATIONS] += 1
