"""Where the checked mode keeps its books: one area per workgroup beside the group's arena.

The area holds a header, then a record per wave (queues, pending registers, entries in flight with
the addresses they touch, their payloads), then what waves know of each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.sim.layout import WAVE_HEADER, WaveLayout

QUEUES = 7
ENTRIES = 128  # more than any counter holds; older entries are forgotten
LOGGED = 128  # addresses kept of one operation
ARGUMENTS = 16
PAYLOADS = 1 << 17
WORDS = 64  # synchronisation words per memory space

# Area header: byte offsets.
ROUND = 0  # i64, turns of the scheduler
RANDOM = 8  # xorshift state, i64; 0: complete as late as possible
LATENESS = 16  # i64, turns that an operation may stay in flight, less one, as a mask
WAVE_STRIDE = 24  # i64
LINES = 32  # pointer to the text line of each instruction, i32
USEFUL = 40  # pointer to a bit per queue and instruction: the wait proved something, u16
SEEN = 48  # pointer to a bit per kind of finding and instruction, u8
REPORTS = 56  # pointer to records of findings
REPORT_COUNT = 64  # i32
ORDERED = 68  # bit per queue, i32
KNOWLEDGE = 72  # pointer to rows (wave, about wave)
BARRIER_CLOCKS = 80  # pointer to two sets of rows, by parity of the barrier's phase
FLOORS = 88  # pointer to u32 (wave, about wave): entries up to here are known to be complete
CLOCKS = 96  # pointers to the synchronisation words of LDS and of global memory
COMMIT, TOUCH, TICK = 112, 120, 160  # addresses of micro-kernels that others call
ENTRIES_AT, LOGS_AT, PAYLOADS_AT = 136, 144, 152  # places in a wave's record, i64
STAGED = 192  # arguments of the instruction being issued, i64
TOUCHED = 320  # per space: addresses logged (i32), bytes of each (i32)
TRIAL_LIMIT = 2 * LOGGED
ADDRESSES = 384  # per space: the addresses, i64
DUMMY = ADDRESSES + 2 * 8 * TRIAL_LIMIT  # memory that a trial run of an operation touches
DUMP = DUMMY + 128  # registers that it writes
HEADER = DUMP + 32 * 256

WAITED = 1 << 15  # in the bits of USEFUL: the wait was executed

# Kinds of finding.
(
    READ_EARLY, OVERWRITTEN_EARLY, LDS_UNWRITTEN, LDS_UNREAD, GLOBAL_UNWRITTEN, GLOBAL_UNREAD,
) = range(6)  # fmt: skip
REPORT_LIMIT = 256
REPORT = 64
(
    R_KIND, R_USER, R_WAVE, R_PLACE, R_PRODUCER, R_PRODUCER_WAVE, R_QUEUE, R_ALLOWED, R_QUEUE2,
    R_ALLOWED2, R_SIGNAL,
) = range(0, 44, 4)  # fmt: skip
R_ADDRESS = 48

# Knowledge about a wave: operations issued (u32), then those proven complete per queue (u32 each).
ROW = 4 * (1 + QUEUES)

# Wave record: byte offsets.
ISSUED = 0  # u32 per queue
TAIL = 32  # u32, oldest operation that has not been committed
PAYLOAD_HEAD = 36  # u32, offset of free payload space
SIGNALS = 40  # u32, signals given
SIGNAL_RING = 64  # (operations issued before, instruction) of the last signals, u32 each
SIGNALS_KEPT = 32
PENDING = SIGNAL_RING + 8 * SIGNALS_KEPT  # u32 per register: operation that will write it

# Entry: byte offsets.
E_NUMBER = 0  # u32, counted from 1 in the wave
E_INSTRUCTION = 4
E_THUNK = 8
E_PAYLOAD = 16
E_QUEUE, E_POSITION, E_QUEUE2, E_POSITION2 = 24, 28, 32, 36
E_PATH, E_ACCESS, E_STATE, E_SPACE = 40, 44, 48, 52
E_LOW, E_HIGH = 56, 64
E_COUNT, E_BYTES = 72, 76
E_DEADLINE = 80  # i64
E_SNAPSHOT = 88  # pointer to what the wave knew at issue, for operations that publish it
ENTRY = 96

# Paths to memory: operations of one wave on one path keep their order.
LDS_PATH, VECTOR_PATH, SCALAR_PATH = range(3)
LDS, GLOBAL = 1, 2
READ, WRITE, ATOMIC, POLL = 1, 2, 4, 8  # POLL: a read whose value is compared at once
COMMITTED, FORCED, DUE, PUBLISHES = 1, 2, 4, 8

# Descriptor of a memory instruction: i32 words, then (offset in the wave's record, bytes) of the
# rows that it reads.
(
    D_INSTRUCTION, D_QUEUE, D_QUEUE2, D_PATH, D_LDS, D_GLOBAL, D_FIRST, D_REGISTERS, D_RECHECK,
    D_ARGUMENTS, D_DESTINATION, D_PAYLOAD, D_ROWS, D_CAPACITY, D_CAPACITY2,
) = range(0, 60, 4)  # fmt: skip
DESCRIPTOR = 60
NO_RECHECK, NO_QUEUE = 255, 254  # D_RECHECK: whether, and with which ordered queue, to look at

# Payload: a copy of the wave's header, the arguments, the rows.
P_ARGUMENTS = WAVE_HEADER
P_ROWS = P_ARGUMENTS + 8 * ARGUMENTS


@dataclass(frozen=True)
class AreaLayout:
    """Offsets inside the area of one workgroup.

    Attributes
    ----------
    wave : WaveLayout
    waves : int
    """

    wave: WaveLayout
    waves: int

    @property
    def registers(self) -> int:
        """Registers of one wave: VGPRs, AGPRs, scalars."""
        return self.wave.vgprs + self.wave.agprs + 128

    @property
    def entries(self) -> int:
        """Offset of the entries in a wave's record."""
        return align(PENDING + 4 * self.registers)

    @property
    def logs(self) -> int:
        """Offset of the entries' addresses."""
        return self.entries + ENTRIES * ENTRY

    @property
    def payloads(self) -> int:
        """Offset of the payloads."""
        return self.logs + ENTRIES * LOGGED * 8

    @property
    def record(self) -> int:
        """Bytes of a wave's record."""
        return self.payloads + PAYLOADS

    @property
    def clock_word(self) -> int:
        """Bytes of one synchronisation word: its address and a row about every wave."""
        return 8 + self.waves * ROW

    @property
    def clocks(self) -> int:
        """Bytes of the synchronisation words of one space."""
        return 64 + WORDS * self.clock_word


def align(value: int) -> int:
    """`value` rounded up to a multiple of 64."""
    return -(-value // 64) * 64


def register_index(wave: WaveLayout, file: str, index: int) -> int:
    """Place of a register in the table of pending writes."""
    if file == "v":
        return index
    return wave.vgprs + index if file == "a" else wave.vgprs + wave.agprs + index
