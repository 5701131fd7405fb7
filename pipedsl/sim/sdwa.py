"""SDWA (gfx9): sub-dword selection of sources and destination."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Slot
from pipedsl.isa.operands import Operand, Reg
from pipedsl.sim.builder import HALF
from pipedsl.sim.machine import Machine

_SELECTIONS = {
    "DWORD": (0, 32), "WORD_0": (0, 16), "WORD_1": (16, 16),
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8),
}  # fmt: skip


def _selection(ins: Instruction, name: str) -> tuple[int, int]:
    text = ins.modifiers[name]
    if text not in _SELECTIONS:
        raise AssemblyError(f"line {ins.line}: {name}:{text} is no SDWA selection.")
    return _SELECTIONS[text]


def sdwa_source(m: Machine, ins: Instruction, slot: Slot, operand: Operand, index: int) -> ir.Value:
    """The selected bytes of a source, extended to the operand's type."""
    b = m.b
    shift, bits = _selection(ins, f"src{index}_sel")
    raw = b.lshr(m.read_lanes(operand, "u32"), shift)
    if bits < 32:
        narrow = b.trunc(f"u{bits}", raw)
        raw = b.sext("u32", narrow) if operand.sext else b.zext("u32", narrow)
    element = b.type(slot.type).element
    if element == HALF or (isinstance(element, ir.IntType) and element.width == 16):
        raw = b.trunc("u16", raw)
    return b.bitcast(slot.type, raw)


def sdwa_merge(m: Machine, ins: Instruction, reg: Reg, value: ir.Value) -> ir.Value:
    """The result placed in the selected bytes; the rest is padded, sign extended or preserved."""
    b = m.b
    shift, bits = _selection(ins, "dst_sel")
    if bits == 32:
        return value
    unused = ins.modifiers.get("dst_unused", "UNUSED_PAD")
    field = ((1 << bits) - 1) << shift
    placed = b.and_(b.shl(value, shift), field)
    if unused == "UNUSED_PRESERVE":
        return b.or_(b.and_(m.read_row(reg), ~field & 0xFFFFFFFF), placed)
    if unused == "UNUSED_SEXT":
        return (
            b.ashr(b.shl(value, 32 - bits), 32 - bits - shift)
            if not shift
            else b.shl(b.ashr(b.shl(value, 32 - bits), 32 - bits), shift)
        )
    return placed
