"""The timing row of each instruction: issue category, unit, latency, registers, waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipedsl.core.arch import Arch
from pipedsl.core.errors import UnsupportedInstruction
from pipedsl.isa.counters import queue_names, queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit
from pipedsl.isa.operands import Reg
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Constant, Used
from pipedsl.sim.timing.matrix import as_constant, matrix_rate
from pipedsl.sim.timing.phases import phases

# Vector instructions at a quarter of the rate (LLVM SISchedule.td: WriteIntMul, WriteQuarterRate32).
_QUARTER = (
    "v_mul_lo_u32",
    "v_mul_hi_u32",
    "v_mul_hi_i32",
    "v_mul_lo_i32",
    "v_mad_u64_u32",
    "v_mad_i64_i32",
)
# Packed float32 never runs beside the matrix core (measured by tingqli/pyhip, see packed_switch).
_NO_SHADOW = ("v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32")


@dataclass
class InstructionRow:
    """Fields of `records.ROW_FIELDS` for one instruction, and the constants behind them.

    Attributes
    ----------
    values : dict of str to int
    sources, accumulators, targets : list of int
        Registers by number in the scoreboard.
    limits, wait_kinds : list of int
        Per counter: the most operations that a wait leaves outstanding (-1: any number), and what
        kind of time the wait takes.
    lanes : tuple of int
        Lanes in the order of the LDS phases.
    constants : dict of str to Constant
    """

    values: dict[str, int] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list)
    accumulators: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    limits: list[int] = field(default_factory=lambda: [-1] * r.COUNTERS)
    wait_kinds: list[int] = field(default_factory=lambda: [0] * r.COUNTERS)
    lanes: tuple[int, ...] = ()
    constants: dict[str, Constant] = field(default_factory=dict)


class RowBuilder:
    """Makes timing rows for one target.

    Attributes
    ----------
    counters : tuple of str
        Wait counters of the target by number.
    """

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        self.queues = queues(arch)
        self.counters = tuple(dict.fromkeys(q.counter for q in self.queues.values()))
        self.memory_counters = {
            q.counter for role, q in self.queues.items() if role not in ("lds", "scalar")
        }

    def row(self, ins: Instruction) -> InstructionRow:
        """The row of `ins`.

        Raises
        ------
        UnsupportedInstruction
            If no unit, or no figure for it, is known.
        """
        used = Used(self.arch.name)
        row = InstructionRow(constants=used.rows)
        unit = ins.opcode.unit
        handler = _UNITS.get(unit)
        if handler is None:
            raise UnsupportedInstruction(
                f"line {ins.line}: the timing model has no class for {ins.mnemonic} ({unit.value}).",
                fix="run without timing.",
            )
        row.values.update(counter=-1, second_counter=-1, busy=used("turn"), shadow=1)
        self._registers(ins, row)
        handler(self, ins, row, used)
        return row

    def _registers(self, ins: Instruction, row: InstructionRow) -> None:
        wave = self.arch.wave_size
        row.sources = [n for reg in ins.reads(wave) for n in _numbers(reg)]
        row.targets = [n for reg in ins.writes(wave) for n in _numbers(reg)]
        slots = [slot for slot, _ in ins.srcs if slot.file == "scc"]
        row.sources += [r.SCC_REGISTER] * bool(slots)
        row.targets += [r.SCC_REGISTER] * any(slot.file == "scc" for slot, _ in ins.dsts)

    # units
    def _vector(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        name = ins.opcode.name
        values = row.values
        values["category"] = r.VECTOR
        if name in _QUARTER:
            values["busy"] = used("quarter_issue")
        elif name.endswith("_f64") or "_f64_" in name:
            values["busy"] = used("double_issue")
        else:
            values["busy"] = used("valu_issue")
        values["latency"] = used("valu_latency") + values["busy"] - used("valu_issue")
        if name in _NO_SHADOW:
            values.update(shadow=0, holds=values["busy"] + used("packed_switch"))

    def _transcendental(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        row.values.update(
            category=r.VECTOR, busy=used("trans_issue"), latency=used("trans_latency")
        )

    def _matrix(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        rate, cycles = matrix_rate(ins, self.arch.name)
        used.rows[ins.opcode.name] = as_constant(rate, cycles, ins.opcode.name)
        row.values.update(
            category=r.VECTOR, action=r.MATRIX, matrix_cycles=cycles, forward=cycles,
            latency=cycles + used("matrix_result"),
            busy=used("valu_issue") if rate.shadow else cycles,
        )  # fmt: skip
        position = 2  # A, B, C
        operands = [operand for _, operand in ins.srcs]
        if len(operands) > position and operands[position] is not None:
            value = operands[position].value  # type: ignore[union-attr]
            if isinstance(value, Reg) and value.file != "s":
                row.accumulators = _numbers(value)
        elif any(slot.updated for slot, _ in ins.dsts):
            row.accumulators = list(row.targets)
        row.sources = [n for n in row.sources if n not in set(row.accumulators)]

    def _scalar(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        row.values.update(category=r.SCALAR, latency=used("salu_latency"))

    def _branch(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        row.values.update(category=r.BRANCH, action=r.JUMP, extra=used("branch_taken"))
        if ins.opcode.traits.get("flow") == "end":
            row.values.update(action=r.END, extra=0)

    def _wait(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        row.values["category"] = r.INTERNAL
        for counter, limit in wait_limits(ins, self.arch).items():
            if counter not in self.counters:
                continue  # nothing that the model times counts on it (expcnt, samplecnt, bvhcnt)
            number = self.counters.index(counter)
            row.limits[number] = limit
            memory = counter in self.memory_counters
            row.wait_kinds[number] = r.WAIT_MEMORY if memory else r.WAIT_LDS

    def _internal(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        row.values["category"] = r.INTERNAL
        if ins.opcode.name == "s_nop":
            row.values["extra"] = int(ins.fields.text.strip() or "0", 0) * used("turn")
        elif ins.opcode.name == "s_setprio":
            row.values.update(action=r.PRIORITY, argument=int(ins.fields.text.strip(), 0))

    def _synchronise(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        row.values["category"] = r.INTERNAL
        name = ins.opcode.name
        if name == "s_sleep":
            clocks = int(ins.fields.text.strip(), 0) * used("sleep_unit")
            row.values.update(action=r.SLEEP, extra=clocks)
        elif name.startswith("s_barrier_signal"):
            row.values.update(action=r.SIGNAL)
        elif name == "s_barrier_wait":
            used("barrier_latency")
            row.values.update(action=r.BARRIER_WAIT)
        elif name == "s_barrier":
            used("barrier_latency")
            row.values.update(action=r.BARRIER)
        else:
            raise UnsupportedInstruction(
                f"line {ins.line}: the timing model has no class for {ins.mnemonic}.",
                fix="run without timing.",
            )

    def _counted(self, ins: Instruction, row: InstructionRow) -> None:
        names = queue_names(ins, self.arch)
        for place, name in zip(("counter", "second_counter"), names, strict=False):
            row.values[place] = self.counters.index(self.queues[name].counter)
        if names:
            row.values["capacity"] = self.queues[names[0]].capacity
            row.values["ordered"] = int(self.queues[names[0]].ordered)

    def _scalar_memory(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        clock = ins.opcode.style == "machine"
        row.values.update(category=r.SCALAR, action=r.CLOCK if clock else r.SCALAR_MEMORY)
        row.values["latency"] = used("clock_latency" if clock else "scalar_hit")
        if not clock:
            used("l2_latency")
        self._counted(ins, row)
        row.targets = []

    def _lds(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        row.values.update(category=r.LDS, action=r.LDS_ACCESS)
        self._lds_access(ins, row, used)
        self._counted(ins, row)
        row.targets = []

    def _lds_access(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        traits = ins.opcode.traits
        kind = str(traits.get("kind", ""))
        width = _width(traits)
        stores = kind.startswith(("store", "atomic")) and "load" not in kind
        found = phases(self.arch, "write" if stores else "read", width)
        row.constants[f"lds_phases_{width}"] = Constant(
            f"LDS phases of {width} bytes a lane", frozenset([self.arch.name]), len(found.lanes),
            "phases", found.kind, found.source,
        )  # fmt: skip
        for name in (
            "lds_latency", "lds_conflict", "lds_ports",
            *(("lds_write_bytes", "lds_address") if stores else ("lds_port_bytes",)),
        ):  # fmt: skip
            used(name)
        unit = width if width in (4, 8, 16) else 4
        row.lanes = tuple(lane for phase in found.lanes for lane in phase)
        row.values.update(
            stores=int(stores), atomic=int(kind.startswith("atomic")),
            signal=int(kind.startswith("atomic") and not ins.opcode.traits.get("returns")),
            phase_count=len(found.lanes), phase_length=len(found.lanes[0]),
            unit_shift=unit.bit_length() - 1, units=max(width // unit, 1),
            bank_mask=found.banks * 4 // unit - 1,
            bank_shift=(found.banks * 4 // unit).bit_length() - 1,
        )  # fmt: skip

    def _vector_memory(self, ins: Instruction, row: InstructionRow, used: Used) -> None:
        traits = ins.opcode.traits
        kind = str(traits.get("kind", ""))
        row.values.update(category=r.MEMORY, action=r.VECTOR_MEMORY)
        if traits.get("cache"):
            row.values.update(action=r.CACHE, latency=used("l2_latency"))
            row.values["argument"] = int("inv" in ins.mnemonic)
        else:
            stores = kind.startswith(("store", "atomic")) and "load" not in kind
            to_lds = "lds" in ins.mnemonic or "lds" in ins.modifiers
            for name in (
                "l1_latency", "l2_latency", "l2_width", "l1_width",
                *(() if stores else ("hbm_latency", "hbm_width")),
                *(("lds_latency",) if to_lds or ins.opcode.unit is Unit.FLAT else ()),
            ):  # fmt: skip
                used(name)
            row.values.update(
                stores=int(stores),
                atomic=int(kind.startswith("atomic")), bypass=int(_bypasses(ins)),
                to_lds=int(to_lds),
            )  # fmt: skip
        self._counted(ins, row)
        row.targets = []


def _bypasses(ins: Instruction) -> bool:
    """Whether an access goes past the cache of the CU: device or system scope."""
    scope = ins.modifiers.get("scope", "")
    return "glc" in ins.modifiers or "sc1" in ins.modifiers or scope in ("SCOPE_DEV", "SCOPE_SYS")


def _width(traits: Mapping[str, Any]) -> int:
    """Bytes per lane of one access."""
    form = str(traits.get("form", ""))
    bits = int(form.strip("uibhl")) if form.strip("uibhl").isdigit() else 0
    return max((bits or int(traits.get("bits", 32) or 32)) // 8, 1)


def _numbers(reg: Reg) -> list[int]:
    first = {"s": 0, "v": r.FIRST_VGPR, "a": r.FIRST_AGPR}[reg.file] + reg.index
    return list(range(first, first + reg.count))


_UNITS = {
    Unit.VALU: RowBuilder._vector, Unit.TRANS: RowBuilder._transcendental,
    Unit.MATRIX: RowBuilder._matrix, Unit.SALU: RowBuilder._scalar,
    Unit.BRANCH: RowBuilder._branch, Unit.WAIT: RowBuilder._wait,
    Unit.INTERNAL: RowBuilder._internal, Unit.SYNC: RowBuilder._synchronise,
    Unit.SMEM: RowBuilder._scalar_memory, Unit.DS: RowBuilder._lds,
    **dict.fromkeys((Unit.GLOBAL, Unit.BUFFER, Unit.SCRATCH, Unit.FLAT), RowBuilder._vector_memory),
}  # fmt: skip


@dataclass
class Tables:
    """Rows of a kernel as arrays that the scheduler reads.

    Attributes
    ----------
    rows : numpy.ndarray
        int64, shape (instructions, `records.ROW_SIZE`).
    registers : numpy.ndarray
        int64; rows name slices of it.
    lanes : dict of tuple to numpy.ndarray
        Orders of lanes that rows point to.
    constants : list of dict
        Constants behind each row.
    """

    rows: np.ndarray
    registers: np.ndarray
    lanes: dict[tuple[int, ...], np.ndarray]
    constants: list[dict[str, Constant]]


def build_tables(
    code: Sequence[Instruction], reached: Iterable[int], builder: RowBuilder
) -> Tables:
    """Timing rows of the instructions `reached`; the others are never looked at."""
    rows = np.zeros((len(code), r.ROW_SIZE), np.int64)
    registers: list[int] = []
    lanes: dict[tuple[int, ...], np.ndarray] = {}
    constants: list[dict[str, Constant]] = [{} for _ in code]
    for index in reached:
        row = builder.row(code[index])
        for name, numbers in (
            ("source", row.sources), ("accumulator", row.accumulators), ("target", row.targets),
        ):  # fmt: skip
            row.values[f"{name}s"], row.values[f"{name}_count"] = len(registers), len(numbers)
            registers += numbers
        if row.lanes:
            order = lanes.setdefault(row.lanes, np.array(row.lanes, np.int64))
            row.values["phase_lanes"] = order.ctypes.data
        for name, value in row.values.items():
            rows[index, r.ROW_FIELDS[name]] = value
        for name, per_counter in (("limits", row.limits), ("wait_kinds", row.wait_kinds)):
            first = r.ROW_FIELDS[name]
            rows[index, first : first + r.COUNTERS] = per_counter
        constants[index] = row.constants
    return Tables(rows, np.array([*registers, 0], np.int64), lanes, constants)
