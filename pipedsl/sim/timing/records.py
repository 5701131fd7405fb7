"""Where the cycle scheduler keeps its state: arrays of i64, shared by native code and Python."""

from __future__ import annotations

from pipedsl.sim.timing.fields import layout

SIMDS = 4
COUNTERS = 4
RING = 64
# Registers that the scoreboard knows: scalars, SCC, VGPRs, AGPRs.
SCC_REGISTER, FIRST_VGPR, FIRST_AGPR, REGISTERS = 128, 256, 512, 1024

# Issue categories: a SIMD issues at most one instruction of each in a turn.
CATEGORIES = ("vector", "scalar", "memory", "lds", "branch", "internal")
VECTOR, SCALAR, MEMORY, LDS, BRANCH, INTERNAL = range(6)

# What an instruction does besides occupying its unit.
(
    PLAIN, MATRIX, LDS_ACCESS, VECTOR_MEMORY, SCALAR_MEMORY, CACHE, CLOCK, SLEEP, PRIORITY,
    SIGNAL, BARRIER, BARRIER_WAIT, JUMP, END,
) = range(14)  # fmt: skip

# Where a wave's time goes.
KINDS = (
    "issue", "dependency", "matrix", "unit", "memory", "lds", "barrier", "sleep", "wait",
)  # fmt: skip
(
    ISSUE, DEPENDENCY, MATRIX_BUSY, UNIT_BUSY, WAIT_MEMORY, WAIT_LDS, WAIT_BARRIER, ASLEEP, POLLING,
) = range(9)  # fmt: skip

# State of a wave.
FREE, RUNNING, BLOCKED, ENDED = 0, 1, 2, 3

# Entries of the log.
STALLED, POLLED, SIGNALLED = 1, 2, 3
LOG_FIELDS, LOG_SIZE = layout("what", "wave", "start", "end", "instruction", "address", "seen")

ROW_FIELDS, ROW_SIZE = layout(
    "category", "action", "busy", "latency", "extra", "matrix_cycles", "forward", "shadow", "holds",
    "sources", "source_count", "accumulators", "accumulator_count", "targets", "target_count",
    "counter", "second_counter", "capacity", "ordered", "stores", "atomic", "signal", "poll",
    "to_lds", "bypass", "flat", ("limits", COUNTERS), ("wait_kinds", COUNTERS),
    "phase_lanes", "phase_count", "phase_length", "bank_mask", "bank_shift", "unit_shift",
    "units", "argument", "last", "spin",
)  # fmt: skip

WAVE_FIELDS, WAVE_SIZE = layout(
    "group", "record", "state", "pc", "next", "started", "ready", "due", "due_kind", "simd",
    "group_index", "priority", "last_issue", "phase", "spin", "spin_start", "spin_at", "polled",
    "seen", "instructions", "born", "ended", "category", "matrix", "shadow", "blocked_since",
    "blocked_at",
    ("cycles", len(KINDS)), ("issued", COUNTERS), ("tail", COUNTERS), ("ring", COUNTERS * RING),
    ("results", REGISTERS), ("accumulators", REGISTERS),
)  # fmt: skip

GROUP_FIELDS, GROUP_SIZE = layout("live", "arrived", "phase", "waves")

CU_FIELDS, CU_SIZE = layout(
    # pointers
    "waves", "groups", "rows", "registers", "counts", "spent", "stalls", "conflicts",
    "log", "trace", "entry", "l1", "l2", "scalar_cache",
    # sizes
    "wave_count", "log_count", "log_limit", "limit", "slice", "stop",
    # constants
    "turn", "simd_mask", "port_shift", "lds_latency", "lds_conflict", "lds_read_shift",
    "lds_write_shift", "lds_address", "line_shift", "l1_sets", "l2_sets", "l1_shift",
    "l1_latency", "l2_latency", "l2_cycles", "memory_latency", "memory_cycles", "scalar_hit",
    "barrier_latency", "sleep_unit",
    # state
    "instructions", "worked", "current", "finished", "now", "matrix_cycles", "conflict_cycles",
    "memory_free", "l2_free", "memory_done", "bank_free", ("port_free", 2),
    ("free", SIMDS * len(CATEGORIES)), ("matrix_free", SIMDS), ("matrix_held", SIMDS),
    # scratch of the bank conflicts
    ("bank_count", 64), ("bank_rows", 64 * 64),
)  # fmt: skip

# `memory_done` and `memory_cycles` count fractions of a cycle: a share of the device's bandwidth.
FRACTION = 8

# Caches: entries of (line + 1, ready, last use), in sets of WAYS.
WAYS = 4
ENTRY = 3

# What a run returns.
GROUP_DONE, PAUSED, DEADLOCK, FAULTED, OVER_BUDGET = 0, 1, 2, 3, 4
