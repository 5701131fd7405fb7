"""What the detector is told: accesses, waits, barriers, comparisons, ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pipedsl.core.errors import SourceLocation

LDS, GLOBAL = "LDS", "global"
READ, WRITE, ATOMIC = 1, 2, 4


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
    access : mapping of str to int
        Space to bits `READ`, `WRITE`, `ATOMIC` of what it does there.
    queues : tuple of int
        Queues on which its operations count (see `pipedsl.isa.counters`).
    """

    text: str
    line: int
    where: SourceLocation | None = None
    access: Mapping[str, int] = field(default_factory=dict)
    queues: tuple[int, ...] = ()


class Access(NamedTuple):
    """A wave reads or writes memory.

    Attributes
    ----------
    wave : int
        Number in the launch.
    site : int
    space : str
        `LDS` or `GLOBAL`.
    addresses : numpy.ndarray
        int64, one per lane that takes part.
    width : int
        Bytes per lane.
    value : int or None
        What an access to one word of LDS left there.
    """

    wave: int
    site: int
    space: str
    addresses: np.ndarray
    width: int
    value: int | None = None


class Wait(NamedTuple):
    """A wait proves operations of the wave complete.

    Attributes
    ----------
    wave : int
    limits : mapping of int to int
        Queue to the most operations that may still be outstanding.
    """

    wave: int
    limits: Mapping[int, int]


class Arrive(NamedTuple):
    """A wave arrives at the barrier of its workgroup."""

    wave: int
    site: int


class Leave(NamedTuple):
    """A wave leaves the barrier that it arrived at last."""

    wave: int


class Compared(NamedTuple):
    """A wave compares a word that it has loaded.

    Attributes
    ----------
    wave : int
    load : int
        Site of the load.
    relation : str
        ``eq ne gt ge lt le``, with the word on the left.
    other : int
    polls : bool
        Whether it is the test of a loop that waits for the word.
    """

    wave: int
    load: int
    relation: str
    other: int
    polls: bool = True


class End(NamedTuple):
    """A wave ends."""

    wave: int


Event = Access | Wait | Arrive | Leave | Compared | End
