"""The layout and initial state of a workgroup in host memory."""

from __future__ import annotations

import numpy as np

from pipedsl.core.errors import LaunchError, ResourceError
from pipedsl.isa.operands import EXEC, TTMP
from pipedsl.sim import layout as at
from pipedsl.sim.loaded import LoadedKernel
from pipedsl.sim.sgprs import mode_register

# Registers and LDS of a new wave are undefined; a NaN pattern makes a read of them visible.
UNDEFINED = 0xFFC0FFEE

_KEPT = 64 << 20  # bytes of arenas that a shape keeps


class GroupShape:
    """What depends on a kernel, its block and its LDS only; launches share it.

    Attributes
    ----------
    kernel : LoadedKernel
    block : tuple of int
    items, waves : int
        Work-items and waves of a workgroup.
    lds_bytes : int
        Dynamic LDS included.
    lds_offset, scratch_offset, nbytes : int
        Layout of an arena: header, waves, LDS, scratch.
    """

    def __init__(self, kernel: LoadedKernel, block: tuple[int, int, int], lds_bytes: int) -> None:
        self.kernel = kernel
        self.block = block
        self.wave = kernel.wave
        self.items = block[0] * block[1] * block[2]
        _check_block(kernel, self.items)
        self.waves = -(-self.items // self.wave.lanes)
        meta = kernel.metadata
        self.lds_bytes = meta.lds_bytes + lds_bytes
        if self.lds_bytes > kernel.arch.lds_bytes:
            raise ResourceError(
                f"{kernel.name} needs {self.lds_bytes} bytes of LDS, {kernel.arch.name} has "
                f"{kernel.arch.lds_bytes}."
            )
        self.scratch_lane_bytes = meta.scratch_bytes
        waves_end = at.GROUP_HEADER + self.waves * self.wave.bytes
        self.lds_offset = waves_end
        self.scratch_offset = _align(waves_end + self.lds_bytes)
        scratch = self.waves * self.wave.lanes * self.scratch_lane_bytes
        self.nbytes = _align(self.scratch_offset + scratch)
        self._image = self._make_image()
        self._free: list[np.ndarray] = []

    def _make_image(self) -> np.ndarray:
        image = aligned(self.nbytes)
        image[:].view(np.uint32)[:] = UNDEFINED
        header = image[: at.GROUP_HEADER].view(np.int64)
        header[:] = 0
        header[at.LDS_BYTES // 8] = self.lds_bytes
        header[at.WAVE_STRIDE // 8] = self.wave.bytes
        header[at.SCRATCH_LANE_BYTES // 8] = self.scratch_lane_bytes
        header[at.WAVE_LANES // 8] = self.wave.lanes
        counts = header.view(np.int32)
        counts[at.WAVES // 4] = counts[at.LIVE // 4] = self.waves
        waves = self.wave_records(image)
        waves[:, : at.WAVE_HEADER] = 0
        lanes, block = self.wave.lanes, self.block
        ids = np.arange(self.waves * lanes)
        active = (ids < self.items).reshape(self.waves, lanes)
        bits = np.packbits(active, axis=1, bitorder="little")
        waves[:, at.SCALARS + EXEC * 4 : at.SCALARS + EXEC * 4 + lanes // 8] = bits
        x, rest = ids % block[0], ids // block[0]
        packed = x | (rest % block[1]) << 10 | (rest // block[1]) << 20
        start = self.wave.vgpr(0)
        waves[:, start : start + self.wave.row].view(np.uint32)[:] = packed.reshape(
            self.waves, lanes
        )
        waves[:, at.WAVE_INDEX : at.WAVE_INDEX + 4].view(np.uint32)[:, 0] = np.arange(self.waves)
        waves[:, at.MODE : at.MODE + 4].view(np.uint32)[:, 0] = mode_register(self.kernel.metadata)
        if self.kernel.arch.generation == 12:
            self.scalars(image)[:, TTMP + 8] = np.arange(self.waves) << 25
        return image

    def wave_records(self, arena: np.ndarray) -> np.ndarray:
        """The waves' records of an arena, one row each."""
        body = arena[at.GROUP_HEADER : self.lds_offset]
        return body.reshape(self.waves, self.wave.bytes)

    def scalars(self, arena: np.ndarray) -> np.ndarray:
        """The waves' scalar registers of an arena, uint32, one row each."""
        return self.wave_records(arena)[:, at.SCALARS : at.WAVE_HEADER].view(np.uint32)

    def arena(self) -> np.ndarray:
        """A fresh copy of the initial state, without what a launch adds."""
        try:
            arena = self._free.pop()
        except IndexError:
            arena = aligned(self.nbytes)
        arena[:] = self._image
        return arena

    def recycle(self, arena: np.ndarray) -> None:
        """Take an arena back; only as much is kept as is quickly used again."""
        if (len(self._free) + 1) * self.nbytes <= _KEPT:
            self._free.append(arena)


def aligned(nbytes: int) -> np.ndarray:
    """`nbytes` uninitialised bytes that start on a 64-byte boundary."""
    raw = np.empty(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def _align(value: int) -> int:
    return -(-value // 64) * 64


def _check_block(kernel: LoadedKernel, items: int) -> None:
    limit = kernel.metadata.max_block or kernel.arch.max_block
    if items > limit:
        raise LaunchError(
            f"{kernel.name} was compiled for at most {limit} work-items, not {items}."
        )
