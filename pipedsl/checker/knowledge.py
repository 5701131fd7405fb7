"""What waves know of each other: vector clocks of operations issued and of operations complete.

A wave knows its workgroup wave by wave. What it learns of other workgroups, the whole workgroup
knows from then on.
"""

from __future__ import annotations

import numpy as np

from pipedsl.checker.events import LDS
from pipedsl.checker.host.jit import inlined
from pipedsl.checker.state import FACTS, LOG, QUEUES, Program, State


@inlined
def issue(wave: int, local: int, site: int, p: Program, s: State) -> int:
    """Count an operation; returns its number in the wave."""
    number = s.issued[wave] + 1
    s.issued[wave] = number
    s.known[wave, local, 0] = number
    s.sites[wave, number & LOG - 1] = site
    for place in range(2):
        queue = p.queues[site, place]
        if queue < 0:
            break
        position = s.counted[wave, queue] + 1
        s.counted[wave, queue] = position
        if place == 0:
            s.positions[wave, number & LOG - 1] = position
        if p.ordered[queue]:  # a full counter makes the oldest complete
            oldest = position - p.capacity[queue]
            s.known[wave, local, 1 + queue] = max(s.known[wave, local, 1 + queue], oldest)
    return number


@inlined
def wait(wave: int, local: int, site: int, p: Program, s: State) -> None:
    """Operations beyond the limits are complete; of an unordered queue only if none is left."""
    for queue in range(QUEUES):
        limit = p.limits[site, queue]
        if limit == 0 or (limit > 0 and p.ordered[queue]):
            reached = s.counted[wave, queue] - limit
            s.known[wave, local, 1 + queue] = max(s.known[wave, local, 1 + queue], reached)


@inlined
def join(target: np.ndarray, source: np.ndarray) -> None:
    """Learn what `source` knows: rows of facts about the same waves."""
    for wave in range(len(target)):
        for fact in range(FACTS):
            target[wave, fact] = max(target[wave, fact], source[wave, fact])


@inlined
def clear(target: np.ndarray) -> None:
    """Forget all."""
    for wave in range(len(target)):
        for fact in range(FACTS):
            target[wave, fact] = 0


@inlined
def publish(target: np.ndarray, wave: int, local: int, space: int, p: Program, s: State) -> None:
    """Add what a signal of `wave` in a space tells whoever sees it."""
    join(target, s.known[wave])
    if space == LDS:
        for queue in range(len(p.lds)):
            if p.lds[queue]:
                target[local, 1 + queue] = s.counted[wave, queue]


@inlined
def learn(wave: int, group: int, source: np.ndarray, other: int, p: Program, s: State) -> None:
    """The wave sees a signal from workgroup `other`."""
    if other == group:
        join(s.known[wave], source)
    else:
        first = other * p.waves
        join(s.beyond[group, first : first + p.waves], source)
        join(s.beyond[group], s.beyond[other])


@inlined
def arrive(wave: int, group: int, s: State) -> None:
    """The wave tells the barrier what it knows."""
    s.arrived[wave] += 1
    parity = s.arrived[wave] & 1
    first = True
    for other in range(group * len(s.known[wave]), (group + 1) * len(s.known[wave])):
        first &= other == wave or s.arrived[other] < s.arrived[wave]
    if first:
        clear(s.barriers[group, parity])
    join(s.barriers[group, parity], s.known[wave])


@inlined
def leave(wave: int, group: int, s: State) -> None:
    """The wave learns what all told the barrier that it arrived at last."""
    if s.arrived[wave]:
        join(s.known[wave], s.barriers[group, s.arrived[wave] & 1])
