"""What a timeline shows: rows of bars, and arrows between rows."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = {
    "work": "works", "full": "waits for full", "empty": "waits for empty",
    "poll": "polls another word", "memory": "waits for memory", "lds": "waits for LDS",
    "barrier": "waits at a barrier",
}  # fmt: skip
"""Kinds of bar, and what a wave does there."""


@dataclass(frozen=True)
class Row:
    """One wave.

    Attributes
    ----------
    name, group : str
        E.g. ``"wave 1 (consumer)"``, ``"workgroup 0"``.
    """

    name: str
    group: str


@dataclass(frozen=True)
class Bar:
    """A stretch of a row.

    Attributes
    ----------
    row : int
    kind : str
        A key of `KINDS`.
    start, end : int
    label : str
        Written on the bar where there is room.
    hover : str
    """

    row: int
    kind: str
    start: int
    end: int
    label: str = ""
    hover: str = ""


@dataclass(frozen=True)
class Arrow:
    """A signal: from a row and time to the row and time at which it ended a wait."""

    source: int
    target: int
    sent: int
    received: int
    label: str = ""


@dataclass(frozen=True)
class Picture:
    """A timeline.

    Attributes
    ----------
    title : str
    unit : str
        Of the times.
    rows : tuple of Row
    bars : tuple of Bar
        Sorted by row and time; those of a row do not overlap.
    arrows : tuple of Arrow
    end : int
        Where the time axis ends.
    summary : tuple of str
    """

    title: str
    unit: str
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    arrows: tuple[Arrow, ...]
    end: int
    summary: tuple[str, ...] = ()
