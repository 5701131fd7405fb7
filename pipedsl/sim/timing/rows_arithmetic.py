"""Timing rows of vector, matrix and scalar arithmetic."""

from __future__ import annotations

from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit
from pipedsl.isa.operands import Reg
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Used
from pipedsl.sim.timing.matrix import as_constant, matrix_rate
from pipedsl.sim.timing.row import Fill, InstructionRow, Target, register_numbers

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


def _vector(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
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


def _transcendental(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    row.values.update(category=r.VECTOR, busy=used("trans_issue"), latency=used("trans_latency"))


def _matrix(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    rate, cycles = matrix_rate(ins, target.arch.name)
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
            row.accumulators = register_numbers(value)
    elif any(slot.updated for slot, _ in ins.dsts):
        row.accumulators = list(row.targets)
    row.sources = [n for n in row.sources if n not in set(row.accumulators)]


def _scalar(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    row.values.update(category=r.SCALAR, latency=used("salu_latency"))


ARITHMETIC: dict[Unit, Fill] = {
    Unit.VALU: _vector, Unit.TRANS: _transcendental, Unit.MATRIX: _matrix, Unit.SALU: _scalar,
}  # fmt: skip
