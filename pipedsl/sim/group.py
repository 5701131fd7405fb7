"""The state of one workgroup in host memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pipedsl.core.errors import LaunchError, ResourceError
from pipedsl.isa.operands import EXEC, TTMP
from pipedsl.sim import layout as at
from pipedsl.sim.memory import Memory
from pipedsl.sim.sgprs import initial_sgprs, mode_register

if TYPE_CHECKING:
    from pipedsl.sim.module import Kernel

# Registers and LDS of a new wave are undefined; a NaN pattern makes a read of them visible.
UNDEFINED = 0xFFC0FFEE


class GroupTemplate:
    """What all workgroups of a launch start from.

    Attributes
    ----------
    waves : int
        Waves of a workgroup.
    """

    def __init__(
        self,
        kernel: Kernel,
        memory: Memory,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        kernarg: bytes,
        lds_bytes: int,
    ) -> None:
        self.kernel = kernel
        self.memory = memory
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
        # Runtimes give whole 64-byte lines, and LLVM reads past the last argument within one.
        segment = kernarg + bytes(-len(kernarg) % 64 or (0 if kernarg else 64))
        self._mapped = [memory.map(np.frombuffer(segment, np.uint8), "kernarg")]
        if meta.descriptor.get("user_sgpr_dispatch_ptr"):
            self._mapped.append(memory.map(_dispatch_packet(grid, block), "dispatch packet"))
        self.table = memory.table
        if kernel.program.data:
            self._map_data()
        addresses = {"kernarg": self._mapped[0], "packet": self._mapped[-1]}
        self.sgprs, self.workgroup_sgpr = initial_sgprs(kernel, addresses, kernarg)
        self.image = self._image(block)
        self.free: list[np.ndarray] = []

    def _map_data(self) -> None:
        """Constant data sits at a fixed address, so this launch gets a table of its own."""
        self.table = self.memory.table.copy()
        self._data = np.frombuffer(bytes(self.kernel.program.data), np.uint8)
        self.table[at.DATA_SLOT] = (self._data.ctypes.data, self._data.nbytes)

    def _image(self, block: tuple[int, int, int]) -> np.ndarray:
        image = aligned(self.nbytes)
        image[:].view(np.uint32)[:] = UNDEFINED
        waves = self.wave_records(image)
        waves[:, : at.WAVE_HEADER] = 0
        scalars = waves[:, at.SCALARS : at.WAVE_HEADER].view(np.uint32)
        scalars[:, : len(self.sgprs)] = self.sgprs
        lanes = self.wave.lanes
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
            scalars[:, TTMP + 8] = np.arange(self.waves) << 25
        return image

    def wave_records(self, arena: np.ndarray) -> np.ndarray:
        """The waves' records of an arena, one row each."""
        body = arena[at.GROUP_HEADER : self.lds_offset]
        return body.reshape(self.waves, self.wave.bytes)

    def arena(self) -> np.ndarray:
        """A fresh copy of the initial state."""
        try:
            arena = self.free.pop()
        except IndexError:
            arena = aligned(self.nbytes)
        arena[:] = self.image
        return arena

    def close(self) -> None:
        """Unmap what the launch mapped."""
        for address in self._mapped:
            self.memory.free(address)


class Group:
    """One workgroup: its arena and how far it is."""

    def __init__(self, template: GroupTemplate, ids: tuple[int, int, int], entry: int) -> None:
        self.template = template
        self.ids = ids
        self.arena = template.arena()
        self.pointer = self.arena.ctypes.data
        self._i32 = self.arena[: at.GROUP_HEADER].view(np.int32)
        self._i64 = self.arena[: at.GROUP_HEADER].view(np.int64)
        header = self._i64
        header[:] = 0
        header[at.LDS_POINTER // 8] = self.pointer + template.lds_offset
        header[at.LDS_BYTES // 8] = template.lds_bytes
        header[at.SLOT_TABLE // 8] = template.table.ctypes.data
        header[at.SLOT_COUNT // 8] = len(template.table)
        header[at.WAVE_STRIDE // 8] = template.wave.bytes
        header[at.ENTRY // 8] = entry
        header[at.SCRATCH_POINTER // 8] = self.pointer + template.scratch_offset
        header[at.SCRATCH_LANE_BYTES // 8] = template.scratch_lane_bytes
        header[at.WAVE_LANES // 8] = template.wave.lanes
        self._i32[at.WAVES // 4] = self._i32[at.LIVE // 4] = template.waves
        self._place_ids()

    def _place_ids(self) -> None:
        waves = self.template.wave_records(self.arena)
        scalars = waves[:, at.SCALARS : at.WAVE_HEADER].view(np.uint32)
        if self.template.kernel.arch.generation == 12:
            x, y, z = self.ids
            scalars[:, TTMP + 9] = x
            scalars[:, TTMP + 7] = y | z << 16
        for axis, index in self.template.workgroup_sgpr.items():
            scalars[:, index] = self.ids[axis]

    def prepare(self, slice_steps: int, budget: int, seed: int) -> None:
        """Set the limits and the scheduling seed (0: round robin)."""
        self._i64[at.SLICE_STEPS // 8] = slice_steps
        self._i64[at.STEP_LIMIT // 8] = min(budget, (1 << 62) - 1)
        self._i64[at.RANDOM // 8] = seed & 0x7FFFFFFFFFFFFFFF

    def set_checked_area(self, address: int) -> None:
        """Run in checked mode, with the books at `address`."""
        self._i64[at.CHECKED // 8] = address

    def set_event_buffers(self, events: int, trace: int) -> None:
        """Run with events: addresses of the buffer, and of the trace that it is filled from."""
        self._i64[at.EVENTS // 8] = events
        self._i64[at.TRACE // 8] = trace

    def set_entry(self, address: int) -> None:
        """Go on in another translation of the same code; resume points are the same in all."""
        self._i64[at.ENTRY // 8] = address

    @property
    def steps(self) -> int:
        """Wave instructions executed."""
        return int(self._i64[at.STEPS // 8])

    @property
    def current(self) -> int:
        """The wave that ran last."""
        return int(self._i32[at.CURRENT // 4])

    def wave_header(self, index: int) -> np.ndarray:
        """The header of one wave's record as bytes."""
        return self.template.wave_records(self.arena)[index, : at.WAVE_HEADER]

    @property
    def memory(self) -> np.ndarray:
        """LDS and scratch as bytes; a view."""
        return self.arena[self.template.lds_offset :]

    def status(self, index: int) -> int:
        """What a wave does, as in `layout`."""
        return int(self.wave_header(index)[at.STATUS : at.STATUS + 4].view(np.int32)[0])

    def resume_point(self, index: int) -> int:
        """Number of the place where a wave goes on."""
        return int(self.wave_header(index)[at.PC : at.PC + 4].view(np.int32)[0])

    def runnable(self) -> set[int]:
        """Waves that have not ended and are not at a barrier."""
        return {w for w in range(self.template.waves) if self.status(w) == at.READY}

    def states(self) -> np.ndarray:
        """A copy of all that decides what the waves do next, except memory: one row each."""
        records = self.template.wave_records(self.arena).copy()
        records[:, at.FUEL : at.FUEL + 8] = 0
        return records

    @contextmanager
    def single_rounds(self) -> Iterator[None]:
        """Within it, a run ends after one turn of every wave."""
        index = at.SLICE_STEPS // 8
        kept = self._i64[index]
        self._i64[index] = 0
        yield
        self._i64[index] = kept

    def request_stop(self) -> None:
        """Ask the run, from another thread, to stop."""
        self._i32[at.STOP // 4] = 1

    def recycle(self) -> None:
        """Give the arena back."""
        self.template.free.append(self.arena)


def aligned(nbytes: int) -> np.ndarray:
    """`nbytes` uninitialised bytes that start on a 64-byte boundary."""
    raw = np.empty(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def _align(value: int) -> int:
    return -(-value // 64) * 64


def _check_block(kernel: Kernel, items: int) -> None:
    limit = kernel.metadata.max_block or kernel.arch.max_block
    if items > limit:
        raise LaunchError(
            f"{kernel.name} was compiled for at most {limit} work-items, not {items}."
        )


def _dispatch_packet(grid: tuple[int, int, int], block: tuple[int, int, int]) -> np.ndarray:
    """The fields of an AQL dispatch packet that kernels read (HSA runtime specification 2.9)."""
    packet = np.zeros(64, np.uint8)
    packet[4:10].view(np.uint16)[:] = block
    packet[12:24].view(np.uint32)[:] = [g * b for g, b in zip(grid, block, strict=True)]
    return packet
