"""The buffer of events of one workgroup, and reading them back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pipedsl.checker.events import HEAD
from pipedsl.sim import layout as at
from pipedsl.sim.events import layout as e
from pipedsl.sim.group import Group
from pipedsl.sim.shape import aligned

_BYTES = 1 << 18  # stays in a core's cache
_LOW = 0xFFFFFFFF
_DRAIN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


class EventStream:
    """Collects the events of one group and hands them on whenever its buffer is full.

    Parameters
    ----------
    group : Group
        Prepared to run code of `EventTranslator`.
    consume : callable
        Called with the words of the next events (see `pipedsl.checker.events`), which change when
        it has returned.
    """

    def __init__(self, group: Group, consume: Callable[[np.ndarray], None]) -> None:
        self._error: BaseException | None = None
        self._buffer = aligned(_BYTES)
        self._start = self._buffer.ctypes.data
        self._header = self._buffer[: e.HEADER].view(np.int64)
        self._trace = aligned(at.TRACE_PARTS * at.TRACE_PART)
        self._trace[:] = 0
        self._callback = _DRAIN(self._on_full)
        self._header[e.NEXT // 8] = self._start + e.HEADER
        self._header[e.LIMIT // 8] = self._start + _BYTES - e.LARGEST
        self._header[e.DRAIN // 8] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self.reuse(group, consume)

    def reuse(self, group: Group, consume: Callable[[np.ndarray], None]) -> None:
        """Begin with another group; what was collected has been handed on."""
        self._consume = consume
        self.attach(group)

    def attach(self, group: Group) -> None:
        """Take the events of `group` from here on."""
        group.set_event_buffers(self._start, self._trace.ctypes.data)

    def drain(self) -> None:
        """Hand on what has been collected.

        Raises
        ------
        Exception
            What the consumer raised, also where that was during the run.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._hand_on()

    def _on_full(self, _group: int) -> int:
        try:
            self._hand_on()
        except BaseException as error:
            self._error = error
        return 0

    def _hand_on(self) -> None:
        end = int(self._header[e.NEXT // 8]) - self._start
        self._header[e.NEXT // 8] = self._start + e.HEADER
        self._consume(self._buffer.view(np.int64)[e.HEADER // 8 : end // 8])


class Event(NamedTuple):
    """One event of a run.

    Attributes
    ----------
    kind : int
        As in `pipedsl.checker.events`.
    wave : int
        Number in the workgroup.
    site : int
        Instruction.
    space, width : int
        Of an access: ``TRACE_LDS`` or ``TRACE_GLOBAL`` of `pipedsl.sim.layout`, bytes per lane.
    value : int
        Of an LDS access of 4 or 8 bytes, what it left at its first address; of a comparison, the
        other side (int64).
    addresses : numpy.ndarray
        int64, one per active lane, lowest first.
    """

    kind: int
    wave: int
    site: int
    space: int
    width: int
    value: int
    addresses: np.ndarray


def decode(words: np.ndarray) -> Iterator[Event]:
    """The events in an array of words."""
    place = 0
    while place < len(words):
        kind, site, _, extent, value = words[place : place + HEAD].tolist()
        place += HEAD
        count = site >> 32
        addresses = words[place : place + count].copy()
        place += count
        yield Event(
            kind & _LOW, kind >> 32, site & _LOW, extent >> 32, extent & _LOW, value, addresses
        )  # fmt: skip
