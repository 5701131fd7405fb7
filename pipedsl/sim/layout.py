"""Where a workgroup's state lies in host memory: shared by translator, micro-kernels and Python.

One arena holds the group header, then the waves (header, scalar file, VGPRs, AGPRs), then LDS.
"""

from __future__ import annotations

from dataclasses import dataclass

# Group header: byte offsets.
LDS_POINTER = 0
LDS_BYTES = 8
SLOT_TABLE = 16  # pointer to (host address, bytes | flags) pairs, one per 4 GiB of device addresses
SLOT_COUNT = 24
WAVES = 32  # number of waves, i32
LIVE = 36  # waves that have not ended, i32
BARRIER_ARRIVED = 40  # i32
BARRIER_PHASE = 44  # i32
WAVE_STRIDE = 48  # i64
STEPS = 56  # instructions executed by the group, i64
STEP_LIMIT = 64  # i64
SLICE_STEPS = 72  # instructions after which run_group returns, i64
RANDOM = 80  # xorshift state, i64; 0 means round robin with a fixed quantum
ENTRY = 88  # address of the translated kernel
CURRENT = 96  # wave that runs or failed, i32
STOP = 100  # set from another thread to end the run, i32
SCRATCH_POINTER = 104
SCRATCH_LANE_BYTES = 112  # private segment bytes per lane, i64
CLOCK = 120  # what s_memtime returns: instructions, i64
CHECKED = 128  # pointer to the checked area; null in fast mode
WAVE_LANES = 136  # lanes of a wave, i64
EVENTS = 144  # pointer to the buffer of events; null where none are kept
TRACE = 248  # pointer to where traced micro-kernels note the addresses of one instruction
GROUP_HEADER = 256

# The trace: one part per access that a lane makes, each with active lanes, width and addresses.
TRACE_PARTS = 8
TRACE_LANES = 0  # one bit per lane, i64
TRACE_WIDTH = 8  # bytes | memory space << 32, i64
TRACE_ADDRESSES = 16  # i64 per lane
TRACE_PART = TRACE_ADDRESSES + 64 * 8
TRACE_LDS, TRACE_GLOBAL = 0, 1  # memory spaces

# Wave header: byte offsets.
PC = 0  # index of the block to resume at, i32
STATUS = 4  # i32
FUEL = 8  # instructions until the wave must yield, i64
BARRIER_TARGET = 16  # barrier phase that releases the wave, i32
SCC = 20  # i32, 0 or 1
FAULT_KIND = 24  # i32
FAULT_LANE = 28  # i32
FAULT_ADDRESS = 32  # i64
FAULT_INSTRUCTION = 40  # i32
FAULT_BYTES = 44  # i32
MODE = 48  # the MODE register, i32
WAVE_INDEX = 52  # i32
CHECKED_WAVE = 56  # pointer to the wave's record in the checked area
SCALARS = 64  # 128 dwords, numbered as in the encodings (vcc 106, ttmp 108, m0 124, exec 126)
WAVE_HEADER = SCALARS + 128 * 4

# Status of a wave, and what a translated kernel returns.
READY, AT_BARRIER, DONE, FAULT, YIELDED = 0, 1, 2, 3, 4

# What run_group returns.
FINISHED, PAUSED, DEADLOCK, FAULTED, OVER_BUDGET, STOPPED = 0, 1, 2, 3, 4, 5

# Kinds of fault.
FAULTS = {
    1: "out of bounds",
    2: "misaligned",
    3: "write to read-only memory",
    4: "unmapped address",
    5: "out of bounds of LDS",
    6: "misaligned LDS address",
    7: "out of bounds of scratch",
    8: "trap",
    9: "jump to an address that is no label",
    10: "register number out of range",
    11: "a buffer resource that swizzles",
}
(
    OUT_OF_BOUNDS, MISALIGNED, READ_ONLY, UNMAPPED, LDS_BOUNDS, LDS_MISALIGNED, SCRATCH_BOUNDS,
    TRAP, BAD_JUMP, BAD_REGISTER, SWIZZLED,
) = FAULTS  # fmt: skip

# Device addresses: bits 32.. select a slot. Two slots are the flat apertures.
SHARED_APERTURE, PRIVATE_APERTURE, CODE_SLOT, DATA_SLOT, PACKET_SLOT, FIRST_SLOT = 1, 2, 3, 4, 5, 16
SLOT_WRITABLE = 1 << 63


@dataclass(frozen=True)
class WaveLayout:
    """Offsets inside one wave's record.

    Attributes
    ----------
    lanes : int
    vgprs, agprs : int
    """

    lanes: int
    vgprs: int
    agprs: int

    @property
    def row(self) -> int:
        """Bytes of one vector register."""
        return self.lanes * 4

    def vgpr(self, index: int) -> int:
        """Byte offset of VGPR `index`."""
        return WAVE_HEADER + index * self.row

    def agpr(self, index: int) -> int:
        """Byte offset of AGPR `index`."""
        return self.vgpr(self.vgprs) + index * self.row

    @staticmethod
    def scalar(index: int) -> int:
        """Byte offset of scalar register `index`."""
        return SCALARS + index * 4

    @property
    def bytes(self) -> int:
        """Bytes of one wave's record, a multiple of 64."""
        return -(-self.agpr(self.agprs) // 64) * 64
