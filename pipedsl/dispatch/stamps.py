"""Launches of kernels with ``trace=True``: the buffer of stamps, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from pipedsl.core.arch import get_arch
from pipedsl.core.html import Shown
from pipedsl.core.image import KernelImage
from pipedsl.core.stamps import CAPACITY, KINDS, WORDS, regions, unpack
from pipedsl.runtime import Device

_NARROW = 1 << 20  # gfx11's clock has 20 bits


@dataclass(frozen=True)
class Stamp:
    """One note of a wave.

    Attributes
    ----------
    time : int
        Shader clock.
    kind : str
        Of `pipedsl.core.stamps.KINDS`.
    slot, lap, address, line : int
        Of the ring, of the counter in LDS, of the user's file.
    """

    time: int
    kind: str
    slot: int
    lap: int
    address: int
    line: int


@dataclass(frozen=True)
class StampedRun(Shown):
    """The stamps of one launch.

    Attributes
    ----------
    kernel, device : str
    waves : tuple of (int, int, tuple of Stamp)
        Workgroup and wave, with the wave's last stamps in order of time.
    lost : int
        Stamps that newer ones have replaced.
    sources : mapping of str to str
        Text of the user's files.
    """

    kernel: str
    device: str
    waves: tuple[tuple[int, int, tuple[Stamp, ...]], ...]
    lost: int
    sources: dict[str, str]

    def __repr__(self) -> str:
        count = sum(len(stamps) for _, _, stamps in self.waves)
        return f"<StampedRun {self.kernel} on {self.device}: {count} stamps>"


_collected: ContextVar[list[StampedRun] | None] = ContextVar("stamped", default=None)


@contextmanager
def stamped_launches() -> Iterator[list[StampedRun]]:
    """Launches of traced kernels in this context are waited for, and their stamps collected."""
    runs: list[StampedRun] = []
    token = _collected.set(runs)
    try:
        yield runs
    finally:
        _collected.reset(token)


class StampBuffer:
    """The buffer of one kernel on one device.

    Parameters
    ----------
    device : Device
    image : KernelImage
    items : int
        Work-items of the block.

    Attributes
    ----------
    address : int
        On the device.
    """

    def __init__(self, device: Device, image: KernelImage, items: int) -> None:
        self._device = device
        self._image = image
        self._waves = -(-items // get_arch(image.arch).wave_size)
        self._shape = (regions(self._waves), WORDS)
        self.address = device.allocate(self._shape[0] * WORDS * 8, "stamps", 8)

    def clear(self, stream: int) -> None:
        """Before a launch: no wave has made a stamp."""
        if _collected.get() is not None:
            self._device.copy_to_device(self.address, np.zeros(self._shape, np.int64), stream)

    def check(self, stream: int) -> None:
        """After a launch: collect the stamps, if anyone wants them."""
        runs = _collected.get()
        if runs is None:
            return
        self._device.synchronize(stream)
        words = np.zeros(self._shape, np.int64)
        self._device.copy_to_host(words, self.address, stream)
        runs.append(self._read(words))

    def _read(self, words: np.ndarray) -> StampedRun:
        waves, lost = [], 0
        for number, region in enumerate(words):
            made = int(region[0])
            if made:
                lost += max(made - CAPACITY, 0)
                waves.append((*divmod(number, self._waves), self._stamps(region, made)))
        sources = dict(self._image.sources)
        return StampedRun(self._image.name, self._device.name, tuple(waves), lost, sources)

    def _stamps(self, region: np.ndarray, made: int) -> tuple[Stamp, ...]:
        rows = region[2:].reshape(CAPACITY, 2)
        order = [n % CAPACITY for n in range(max(made - CAPACITY, 0), made)]
        times = rows[order, 0]
        if get_arch(self._image.arch).generation == 11:
            times = times[:1] + np.concatenate([[0], np.cumsum(np.diff(times) % _NARROW)])
        return tuple(
            Stamp(
                time, KINDS[fields["kind"]], fields["slot"], fields["lap"], 4 * fields["address"],
                fields["line"],
            )
            for time, fields in zip(times.tolist(), map(unpack, rows[order, 1].tolist()), strict=True)
        )  # fmt: skip


