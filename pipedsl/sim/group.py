"""The state of one workgroup in host memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pipedsl.isa.operands import TTMP
from pipedsl.sim import layout as at
from pipedsl.sim.memory import Memory
from pipedsl.sim.sgprs import initial_sgprs
from pipedsl.sim.shape import GroupShape


class GroupTemplate:
    """What all workgroups of a launch start from.

    Attributes
    ----------
    shape : GroupShape
    memory : Memory
    table : numpy.ndarray
        Allocations that the workgroups see.
    sgprs : numpy.ndarray
        uint32, the first scalar registers of every wave.
    workgroup_sgpr : dict of int to int
        Axis of the workgroup id to the SGPR that holds it.
    """

    def __init__(
        self, shape: GroupShape, memory: Memory, grid: tuple[int, int, int], kernarg: bytes
    ) -> None:
        self.shape = shape
        self.memory = memory
        kernel = shape.kernel
        # Runtimes give whole 64-byte lines, and LLVM reads past the last argument within one.
        segment = kernarg + bytes(-len(kernarg) % 64 or (0 if kernarg else 64))
        self._mapped = [memory.map(np.frombuffer(segment, np.uint8), "kernarg")]
        if kernel.metadata.descriptor.get("user_sgpr_dispatch_ptr"):
            packet = _dispatch_packet(grid, shape.block)
            self._mapped.append(memory.map(packet, "dispatch packet"))
        self.table = memory.table
        if kernel.program.data:
            self._map_data()
        self.table_address = self.table.ctypes.data
        self.constant = (self._mapped[0], self._mapped[0] + len(segment))
        addresses = {"kernarg": self._mapped[0], "packet": self._mapped[-1]}
        self.sgprs, self.workgroup_sgpr = initial_sgprs(
            kernel.metadata, kernel.arch, addresses, kernarg
        )

    def _map_data(self) -> None:
        """Constant data sits at a fixed address, so this launch gets a table of its own."""
        self.table = self.memory.table.copy()
        self._data = np.frombuffer(bytes(self.shape.kernel.program.data), np.uint8)
        self.table[at.DATA_SLOT] = (self._data.ctypes.data, self._data.nbytes)

    def close(self) -> None:
        """Unmap what the launch mapped; more than once does no harm."""
        while self._mapped:
            self.memory.free(self._mapped.pop())


class Group:
    """One workgroup: its arena and how far it is."""

    def __init__(self, template: GroupTemplate, ids: tuple[int, int, int], entry: int) -> None:
        shape = template.shape
        self.template = template
        self.shape = shape
        self.ids = ids
        self.arena = shape.arena()
        self.pointer = self.arena.ctypes.data
        fields = self.arena[: at.GROUP_HEADER].data
        self._i32, self._i64 = fields.cast("i"), fields.cast("q")
        header = self._i64
        header[at.LDS_POINTER // 8] = self.pointer + shape.lds_offset
        header[at.SLOT_TABLE // 8] = template.table_address
        header[at.SLOT_COUNT // 8] = len(template.table)
        header[at.ENTRY // 8] = entry
        header[at.SCRATCH_POINTER // 8] = self.pointer + shape.scratch_offset
        self._place_ids()

    def _place_ids(self) -> None:
        scalars = self.shape.scalars(self.arena)
        scalars[:, : len(self.template.sgprs)] = self.template.sgprs
        if self.shape.kernel.arch.generation == 12:
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
        return self.shape.wave_records(self.arena)[index, : at.WAVE_HEADER]

    @property
    def memory(self) -> np.ndarray:
        """LDS and scratch as bytes; a view."""
        return self.arena[self.shape.lds_offset :]

    def status(self, index: int) -> int:
        """What a wave does, as in `layout`."""
        return int(self.wave_header(index)[at.STATUS : at.STATUS + 4].view(np.int32)[0])

    def resume_point(self, index: int) -> int:
        """Number of the place where a wave goes on."""
        return int(self.wave_header(index)[at.PC : at.PC + 4].view(np.int32)[0])

    def can_run(self, index: int) -> bool:
        """Whether a wave has not ended and is not at a closed barrier."""
        status = self.status(index)
        header = self.wave_header(index)
        target = header[at.BARRIER_TARGET : at.BARRIER_TARGET + 4].view(np.int32)[0]
        opened = self._i32[at.BARRIER_PHASE // 4] - target >= 0
        return status == at.READY or (status == at.AT_BARRIER and bool(opened))

    def wave_pointer(self, index: int) -> int:
        """Host address of a wave's record."""
        return self.pointer + at.GROUP_HEADER + index * self.shape.wave.bytes

    def take_steps(self) -> int:
        """Wave instructions executed since this was last asked."""
        steps, self._i64[at.STEPS // 8] = self.steps, 0
        return steps

    def runnable(self) -> set[int]:
        """Waves that have not ended and are not at a barrier."""
        return {w for w in range(self.shape.waves) if self.status(w) == at.READY}

    def states(self) -> np.ndarray:
        """A copy of all that decides what the waves do next, except memory: one row each."""
        records = self.shape.wave_records(self.arena).copy()
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
        self.shape.recycle(self.arena)


def _dispatch_packet(grid: tuple[int, int, int], block: tuple[int, int, int]) -> np.ndarray:
    """The fields of an AQL dispatch packet that kernels read (HSA runtime specification 2.9)."""
    packet = np.zeros(64, np.uint8)
    packet[4:10].view(np.uint16)[:] = block
    packet[12:24].view(np.uint32)[:] = [g * b for g, b in zip(grid, block, strict=True)]
    return packet
