"""Who touched each byte last: the detector's memory of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipedsl.checker.clocks import Knowledge

_PAGE = 1 << 12
_FIRST_ENTRIES = 1024

PLAIN, SYNC = 0, 1  # kinds of access: an ordinary one, or one that may race by design


class Past(NamedTuple):
    """An earlier access to some byte.

    Attributes
    ----------
    address : int
    wave : int
    number : int
        Among the wave's operations.
    queue, position : int
        Where it counts.
    site : int
    kind : int
        `PLAIN` or `SYNC`.
    """

    address: int
    wave: int
    number: int
    queue: int
    position: int
    site: int
    kind: int


class Log:
    """The operations of one wave: queue, position in it, site and kind, by number from 1."""

    def __init__(self) -> None:
        self._rows = np.zeros((4, _FIRST_ENTRIES), np.int32)

    def note(self, number: int, queue: int, position: int, site: int, kind: int) -> None:
        """Remember operation `number`."""
        if number >= self._rows.shape[1]:
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)], axis=1)
        self._rows[:, number] = queue, position, site, kind

    @property
    def queues(self) -> np.ndarray:
        return self._rows[0]

    @property
    def positions(self) -> np.ndarray:
        return self._rows[1]

    @property
    def kinds(self) -> np.ndarray:
        return self._rows[3]

    def past(self, wave: int, number: int, address: int) -> Past:
        """Operation `number` as what touched `address`."""
        queue, position, site, kind = self._rows[:, number].tolist()
        return Past(address, wave, number, queue, position, site, kind)


class Page:
    """Which operation wrote each byte last, and which read it last, of every wave.

    Attributes
    ----------
    writers, writes : numpy.ndarray
        int32, per byte: a wave and a number of its operations; 0 is none.
    reads : dict of int to numpy.ndarray
        Wave to the number of its last read of each byte, int32.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self.writers = np.zeros(_PAGE, np.int32)
        self.writes = np.zeros(_PAGE, np.int32)
        self.reads: dict[int, np.ndarray] = {}


class Shadow:
    """Past accesses to one memory.

    Parameters
    ----------
    logs : list of Log
        Of every wave.
    """

    def __init__(self, logs: list[Log]) -> None:
        self.logs = logs
        self._pages: dict[int, Page] = {}

    def parts(self, addresses: np.ndarray, width: int) -> Iterator[tuple[Page, np.ndarray]]:
        """Each page that is touched, and the bytes in it."""
        touched = (addresses[:, None] + np.arange(width)).ravel()
        numbers = touched >> 12
        first = int(numbers[0])
        if (numbers == first).all():
            yield self._page(first), touched & (_PAGE - 1)
            return
        for number in np.unique(numbers).tolist():
            yield self._page(number), touched[numbers == number] & (_PAGE - 1)

    def _page(self, number: int) -> Page:
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = Page(number << 12)
        return page

    def last_writes(
        self, page: Page, at: np.ndarray, wave: int, known: Knowledge
    ) -> Iterator[tuple[Past, bool]]:
        """Writes of other waves that `known` does not cover: unordered (True), or not complete."""
        writers, numbers = page.writers[at], page.writes[at]
        for other in np.unique(writers[numbers > 0]).tolist():
            if other != wave:
                mask = writers == other
                yield from self._uncovered(page, at[mask], numbers[mask], other, known)

    def last_reads(
        self, page: Page, at: np.ndarray, wave: int, known: Knowledge
    ) -> Iterator[tuple[Past, bool]]:
        """As `last_writes`, of reads."""
        for other, numbers in page.reads.items():
            if other != wave:
                yield from self._uncovered(page, at, numbers[at], other, known)

    def _uncovered(
        self, page: Page, at: np.ndarray, numbers: np.ndarray, other: int, known: Knowledge
    ) -> Iterator[tuple[Past, bool]]:
        log, limit = self.logs[other], int(known.issued[other])
        latest = int(numbers.argmax())
        if numbers[latest] > limit:
            for number in np.unique(numbers[numbers > limit]).tolist():
                where = page.start + int(at[int((numbers == number).argmax())])
                yield log.past(other, number, where), True
        present = np.unique(numbers[(numbers > 0) & (numbers <= limit)])
        for number in present.tolist():
            if log.positions[number] > known.complete[other, log.queues[number]]:
                where = page.start + int(at[int((numbers == number).argmax())])
                yield log.past(other, number, where), False

    @staticmethod
    def note_write(page: Page, at: np.ndarray, wave: int, number: int) -> None:
        """Remember a write; the reads before it are ordered or have been reported."""
        page.writers[at] = wave
        page.writes[at] = number
        for numbers in page.reads.values():
            numbers[at] = 0

    @staticmethod
    def note_read(page: Page, at: np.ndarray, wave: int, number: int) -> None:
        """Remember a read."""
        numbers = page.reads.get(wave)
        if numbers is None:
            numbers = page.reads[wave] = np.zeros(_PAGE, np.int32)
        numbers[at] = number
