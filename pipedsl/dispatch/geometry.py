"""Grid, block, stream and dynamic LDS of one launch: ``kernel[grid, block, stream, lds_bytes]``."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pipedsl.core.errors import LaunchError
from pipedsl.dispatch.callsite import caller
from pipedsl.runtime import stream_pointer
from pipedsl.runtime.device import Dim3

MAX_GRID = 2**31 - 1  # workgroups along an axis
MAX_WORK_ITEMS = 2**32 - 1  # along an axis: the width of the dispatch packet's field
MAX_BLOCK = 1024  # of every supported arch


@dataclass(frozen=True)
class Geometry:
    """Checked extents of a launch.

    Attributes
    ----------
    grid : tuple of three int
        Workgroups along x, y, z.
    block : tuple of three int
        Work-items of a workgroup along x, y, z.
    stream : int
        Native handle; 0 is the default stream.
    lds_bytes : int
        Dynamic LDS.
    """

    grid: Dim3
    block: Dim3
    stream: int = 0
    lds_bytes: int = 0


def read_geometry(kernel: str, key: Any) -> Geometry:
    """The launch that ``kernel[key]`` asks for.

    Raises
    ------
    LaunchError
        With the user's line.
    """
    try:
        if type(key) is tuple and [type(item) for item in key] == _TWO_INTS:
            return _one_dimensional(*key)
        return _read(kernel, key)
    except LaunchError as error:
        error.where = error.where or caller()
        raise


_TWO_INTS = [int, int]


@lru_cache(maxsize=1024)
def _one_dimensional(grid: int, block: int) -> Geometry:
    """The common case, which is on the path of every launch."""
    return _read("", (grid, block))


def _read(kernel: str, key: Any) -> Geometry:
    if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
        raise LaunchError(
            f"{kernel}[...] takes a grid and a block, then optionally a stream and LDS bytes.",
            fix=f"write {kernel}[grid, block] or {kernel}[grid, block, stream, lds_bytes].",
        )
    grid = _extents(key[0], "grid", MAX_GRID)
    block = read_block(key[1])
    for axis, groups, items in zip("xyz", grid, block, strict=True):
        if groups * items > MAX_WORK_ITEMS:
            raise LaunchError(
                f"grid {groups} times block {items} along {axis} is over {MAX_WORK_ITEMS} "
                "work-items.",
                fix="spread the grid over several axes.",
            )
    stream = stream_pointer(key[2]) if len(key) > 2 else 0
    return Geometry(grid, block, stream, _lds_bytes(key[3]) if len(key) > 3 else 0)


def read_block(value: Any) -> Dim3:
    """The extents of a workgroup from an int or up to three.

    Raises
    ------
    LaunchError
        If an extent is no positive integer or there are over 1024 work-items.
    """
    block = _extents(value, "block", MAX_BLOCK)
    threads = block[0] * block[1] * block[2]
    if threads > MAX_BLOCK:
        raise LaunchError(
            f"a block of {' x '.join(map(str, block))} has {threads} work-items; {MAX_BLOCK} is "
            "the most.",
            fix="use a smaller block and a larger grid.",
        )
    return block


def _extents(value: Any, what: str, most: int) -> Dim3:
    items = value if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(items) <= 3:
        raise LaunchError(f"the {what} has {len(items)} extents; it can have one to three.")
    x, y, z = (*(_extent(item, what, most) for item in items), 1, 1)[:3]
    return x, y, z


def _extent(value: Any, what: str, most: int) -> int:
    number = value if type(value) is int else _integer(value, f"the {what}")
    if number < 1:
        raise LaunchError(f"the {what} cannot be {number}.", fix="every extent is at least 1.")
    if number > most:
        raise LaunchError(f"the {what} cannot be {number}; {most} is the most along an axis.")
    return number


def _integer(value: Any, what: str) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise LaunchError(
            f"{what} must be an integer, not {value!r}.",
            fix="use // for divisions." if isinstance(value, float) else None,
        ) from None


def _lds_bytes(value: Any) -> int:
    number = _integer(value, "the dynamic LDS")
    if number < 0:
        raise LaunchError(f"the dynamic LDS cannot be {number} bytes.")
    return number
