"""What the detector is told: accesses, waits, barriers, comparisons, uses of registers, ends.

Events lie in an array of int64, `HEAD` words each, then the addresses of an access::

    kind | wave << 32,  site | addresses << 32,  continues,  width | space << 32,  value

`continues` is 1 for a further access of the instruction whose event came before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipedsl.core.errors import SourceLocation

ACCESS, WAIT, ARRIVE, LEAVE, END, COMPARE, USE = range(7)
HEAD = 5

LDS, GLOBAL = 0, 1  # memory spaces
SPACES = ("LDS", "global")
READ, WRITE, ATOMIC = 1, 2, 4
READ_EARLY, OVERWRITTEN_EARLY = 0, 1  # kinds of use of a register
RELATIONS = ("eq", "ne", "gt", "ge", "lt", "le")
_EQ, _NE, _GT, _GE, _LT, _LE = range(len(RELATIONS))


@dataclass(frozen=True)
class Comparison:
    """A comparison of a word that the wave has loaded.

    Attributes
    ----------
    load : int
        Site of the load.
    relation : str
        One of `RELATIONS`, with the word on the left; the event's value is the other side.
    polls : bool
        Whether it is the test of a loop that waits for the word.
    """

    load: int
    relation: str
    polls: bool = True


@dataclass(frozen=True)
class Site:
    """One instruction of the program.

    Attributes
    ----------
    text : str
    line : int
        Of the assembly text.
    where : SourceLocation or None
        Its Python line.
    access : mapping of int to int
        Space to bits `READ`, `WRITE`, `ATOMIC` of what it does there.
    queues : tuple of int
        Queues on which its operations count (see `pipedsl.isa.counters`).
    limits : mapping of int to int
        For a wait: queue to the most operations that may still be outstanding.
    loads : tuple of int
        First register, and number of registers, that it writes when it completes.
    uses : tuple of (int, int, int)
        First register, number and kind of use, of registers that may be in flight.
    compares : Comparison or None
    silent : bool
        For a barrier: whether to take it for nothing.
    """

    text: str = ""
    line: int = 0
    where: SourceLocation | None = None
    access: Mapping[int, int] = field(default_factory=dict)
    queues: tuple[int, ...] = ()
    limits: Mapping[int, int] = field(default_factory=dict)
    loads: tuple[int, int] = (0, 0)
    uses: tuple[tuple[int, int, int], ...] = ()
    compares: Comparison | None = None
    silent: bool = False


def encode(
    kind: int,
    wave: int,
    site: int = 0,
    addresses: Sequence[int] = (),
    *,
    space: int = LDS,
    width: int = 0,
    value: int = 0,
    continues: int = 0,
) -> np.ndarray:
    """One event as words."""
    head = (
        kind | wave << 32, site | len(addresses) << 32, continues, width | space << 32, value,
    )  # fmt: skip
    return np.array([*head, *addresses], np.int64)


def holds(relation: int, word: int, other: int) -> bool:
    """Whether ``word relation other``, for a place in `RELATIONS`."""
    if relation < _GT:
        return (word == other) == (relation == _EQ)
    if relation < _LT:
        return word > other or (relation == _GE and word == other)
    return word < other or (relation == _LE and word == other)
