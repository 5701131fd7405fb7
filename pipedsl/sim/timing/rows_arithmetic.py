"""Timing rows of vector, matrix and scalar arithmetic."""

from __future__ import annotations

import re

from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit
from pipedsl.isa.operands import Reg
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Used
from pipedsl.sim.timing.matrix import as_constant, matrix_rate
from pipedsl.sim.timing.row import Fill, InstructionRow, Target, register_numbers

# Issue rates of vector instructions that are not those of a plain one (LLVM SISchedule.td: classes
# WriteIntMul, Write64Bit, WriteFloatCvt, WriteDouble).
_RATES = (
    ("quarter_issue", r"v_mul_(lo|hi)_[ui]32|v_mad_u64_u32|v_mad_i64_i32"),
    ("wide_issue", r"v_(lshl|lshr|ashr)rev_[bi]64|v_lshl_add_u64|v_mov_b64"),
    ("convert_issue", r"v_cvt_(f32_[iu]32|[iu]32_f32|f16_f32|f32_f16|rpi_i32_f32|flr_i32_f32|off_f32_i4)"),
    ("double_issue", r"v_\w+_f64(_\w+)?"),
    ("valu_issue", r"v_\w+"),
)  # fmt: skip
# Packed float32 never runs beside the matrix core (measured by tingqli/pyhip, see packed_switch).
_NO_SHADOW = ("v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32")


def _vector(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    name = ins.opcode.name
    values = row.values
    values["category"] = r.VECTOR
    rate = next(constant for constant, pattern in _RATES if re.fullmatch(pattern, name))
    values["busy"] = used(rate)
    values["latency"] = used("valu_latency") + values["busy"] - used("valu_issue")
    if name in _NO_SHADOW:
        values.update(shadow=0, holds=values["busy"] + used("packed_switch"))


def _transcendental(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    row.values.update(category=r.VECTOR, busy=used("trans_issue"), latency=used("trans_latency"))


def _matrix(target: Target, ins: Instruction, row: InstructionRow, used: Used) -> None:
    rate = matrix_rate(ins, target.arch.name)
    used.rows[ins.opcode.name] = as_constant(rate, ins.opcode.name)
    row.values.update(
        category=r.VECTOR, action=r.MATRIX, matrix_cycles=rate.cycles, forward=rate.cycles,
        latency=rate.cycles + used("matrix_result"), busy=rate.cycles - rate.beside,
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
