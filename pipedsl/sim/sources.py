"""Reading the operands of an instruction, with all source modifiers applied."""

from __future__ import annotations

import struct
from typing import Any

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Slot
from pipedsl.isa.operands import Imm, Operand, Reg, Symbol
from pipedsl.sim.builder import ELEMENTS, HALF, I1, Builder
from pipedsl.sim.dpp import dpp_source, has_dpp
from pipedsl.sim.machine import Machine
from pipedsl.sim.modes import flush
from pipedsl.sim.sdwa import sdwa_source

_DWORD = Slot("u32", "any")


def lane_source(
    m: Machine, ins: Instruction, slot: Slot, operand: Operand | None, index: int
) -> Any:
    """Source `index` of a lane-wise instruction."""
    if slot.file in ("scc", "m0"):
        return scalar_source(m, ins, slot, operand)
    if slot.file == "exec":
        return m.exec_mask()
    if slot.file == "vcc" or (slot.type == "mask" and operand is None):
        return m.b.int_to_mask(m.read_vcc())
    assert operand is not None
    if slot.file == "imm":
        return immediate(m, ins, operand)
    if slot.type == "mask":
        return m.b.int_to_mask(m.read_scalar(operand, m.lanes))
    if slot.file == "s":
        return scalar_source(m, ins, slot, operand)
    if slot.type.endswith("x2"):
        return _pair(m, ins, slot, operand, index)
    if slot.type == "mix":
        return _mixed(m, ins, operand, index)
    return _float_rules(m, m.b, ins, slot, operand, _lane_value(m, ins, slot, operand, index))


def scalar_source(m: Machine, ins: Instruction, slot: Slot, operand: Operand | None) -> Any:
    """One source of a scalar instruction."""
    if slot.file == "scc":
        return m.read_scc()
    if slot.file == "exec":
        return m.read_exec()
    if slot.file == "vcc":
        return m.read_vcc()
    if slot.file == "m0":
        return m.read_m0()
    assert operand is not None
    if slot.file == "imm":
        return immediate(m, ins, operand)
    bits = m.lanes if slot.type == "mask" else width(slot.type)
    raw = m.read_scalar(operand, bits, slot.type.rstrip("0123456789"))
    value = m.s.bitcast(slot.type, raw) if slot.type != "mask" else raw
    return _float_rules(m, m.s, ins, slot, operand, value)


def packed_source(
    m: Machine, ins: Instruction, slot: Slot, operand: Operand, index: int, half: int
) -> ir.Value:
    """Element `half` of a packed source: op_sel picks for the low result, op_sel_hi for the high."""
    chosen = ins.bit("op_sel_hi" if half else "op_sel", index, half)
    if width(slot.type) == 32:
        value = m.b.bitcast(slot.type, m.read_dword(operand, chosen))
    else:
        word = _packed_word(m, slot.type, operand)
        value = m.b.bitcast(slot.type, m.b.trunc("u16", m.b.lshr(word, 16 * chosen)))
    value = _float_rules(m, m.b, ins, slot, operand, value)
    if ins.bit("neg_hi" if half else "neg_lo", index):
        value = _negate(m.b, slot.type, value)
    return value


def immediate(m: Machine, ins: Instruction, operand: Operand) -> int:
    """The integer that an ``imm`` operand stands for."""
    value = operand.value
    if isinstance(value, Symbol):
        return m.resolve(value.text)
    number = getattr(value, "value", None)
    if not isinstance(number, int):
        raise AssemblyError(f"line {ins.line}: expected an integer.")
    return number


def width(kind: str) -> int:
    """Bits of one element of `kind`."""
    element = ELEMENTS[kind]
    if isinstance(element, ir.IntType):
        return 1 if element == I1 else int(element.width)
    return {"half": 16, "float": 32, "double": 64}[str(element)]


def _lane_value(m: Machine, ins: Instruction, slot: Slot, operand: Operand, index: int) -> ir.Value:
    if f"src{index}_sel" in ins.modifiers:
        return sdwa_source(m, ins, slot, operand, index)
    if index == 0 and has_dpp(ins):
        return dpp_source(m, ins, slot, operand)
    if width(slot.type) == 16 and ins.bit("op_sel", index) and isinstance(operand.value, Reg):
        return m.b.bitcast(slot.type, m.b.trunc("u16", m.b.lshr(m.read_lanes(operand, "u32"), 16)))
    return m.read_lanes(operand, slot.type)


def _float_rules(
    m: Machine, b: Builder, ins: Instruction, slot: Slot, operand: Operand, value: ir.Value
) -> ir.Value:
    """neg and abs, and the denormal mode on operands of arithmetic."""
    if operand.abs:
        value = _absolute(b, slot.type, value)
    if operand.neg:
        value = _negate(b, slot.type, value)
    if slot.type in ("f16", "f32", "f64") and not ins.opcode.traits.get("raw"):
        value = flush(m, b, slot.type, value, output=False)
    return value


def _negate(b: Builder, kind: str, value: ir.Value) -> ir.Value:
    """Flip the sign; on untyped operands (``v_cndmask_b32``) the float sign bit."""
    if kind[0] == "f":
        return b.fneg(value)
    return b.xor(value, 1 << (b.element(value).width - 1))


def _absolute(b: Builder, kind: str, value: ir.Value) -> ir.Value:
    if kind[0] == "f":
        return b.fabs(value)
    return b.and_(value, (1 << (b.element(value).width - 1)) - 1)


def _pair(m: Machine, ins: Instruction, slot: Slot, operand: Operand, index: int) -> tuple:
    """Both halves of a source of a dot product."""
    kind = slot.type.removesuffix("x2")
    if index == 0 and has_dpp(ins):
        word = dpp_source(m, ins, _DWORD, operand)
    else:
        word = _packed_word(m, kind, operand)
    halves = []
    for half in (0, 1):
        chosen = ins.bit("op_sel_hi" if half else "op_sel", index, half)
        value = m.b.bitcast(kind, m.b.trunc("u16", m.b.lshr(word, 16 * chosen)))
        if operand.abs:
            value = _absolute(m.b, kind, value)
        if operand.neg or (
            kind in ("f16", "bf16") and ins.bit("neg_hi" if half else "neg_lo", index)
        ):
            value = _negate(m.b, kind, value)
        halves.append(value)
    return tuple(halves)


def _mixed(m: Machine, ins: Instruction, operand: Operand, index: int) -> ir.Value:
    """A source of ``v_fma_mix``: f32, or the f16 half that op_sel picks where op_sel_hi is set."""
    b = m.b
    if not ins.bit("op_sel_hi", index):
        value = m.read_lanes(operand, "f32")
    elif isinstance(operand.value, Reg):
        shifted = b.lshr(m.read_lanes(operand, "u32"), 16 * ins.bit("op_sel", index))
        value = b.fconvert("f32", b.bitcast("f16", b.trunc("u16", shifted)))
    else:
        value = b.fconvert("f32", m.read_lanes(operand, "f16"))
    if operand.abs or ins.bit("neg_hi", index):
        value = b.fabs(value)
    return b.fneg(value) if operand.neg or ins.bit("neg_lo", index) else value


def _packed_word(m: Machine, kind: str, operand: Operand) -> ir.Value:
    """The dword of a packed 16-bit source.

    An inline float constant of f16 and bf16 operands stands in the low half, of integers it is
    the float32 pattern (LLVM: getInlineEncodingV216).
    """
    value = operand.value
    if isinstance(value, Imm) and isinstance(value.value, float):
        pattern = struct.unpack("<I", struct.pack("<f", value.value))[0]
        if kind == "f16":
            pattern = struct.unpack("<H", struct.pack("<e", value.value))[0]
        elif kind == "bf16":
            pattern >>= 16
        return m.b.const("u32", pattern)
    return m.read_lanes(operand, "u32")


def as_integer(b: Builder, value: ir.Value) -> ir.Value:
    """The bits of a float as an integer of its width."""
    bits = {HALF: 16}.get(b.element(value)) or {"float": 32, "double": 64}.get(
        str(b.element(value))
    )
    return b.bitcast(f"u{bits}", value) if bits else value
