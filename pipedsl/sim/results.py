"""Writing the results of an instruction, with all output modifiers applied."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Slot
from pipedsl.isa.operands import Operand, Reg
from pipedsl.sim import modes
from pipedsl.sim.builder import Builder
from pipedsl.sim.machine import Machine
from pipedsl.sim.sdwa import sdwa_merge
from pipedsl.sim.sources import as_integer, width


def write_scalar_result(m: Machine, slot: Slot, operand: Operand | None, value: ir.Value) -> None:
    """Write one result of a scalar instruction."""
    if slot.file == "scc":
        m.write_scc(value)
    elif slot.file == "exec":
        m.write_exec(value)
    elif slot.file == "vcc":
        m.write_vcc(value)
    else:
        assert operand is not None
        m.write_scalar(operand, as_integer(m.s, value))


def write_lane_result(
    m: Machine, ins: Instruction, slot: Slot, operand: Operand | None, value: ir.Value
) -> None:
    """Write one result of a lane-wise instruction in the active lanes."""
    b = m.b
    if slot.file == "exec":
        m.write_exec(_active_bits(m, value))
    elif slot.file == "vcc":
        m.write_vcc(_active_bits(m, value))
    elif slot.type == "mask":
        assert operand is not None
        m.write_scalar(operand, _active_bits(m, value))
    elif slot.file == "s":
        assert operand is not None
        m.write_scalar(operand, as_integer(b, value))
    else:
        assert operand is not None
        reg = operand.value
        if not isinstance(reg, Reg):
            raise AssemblyError(f"line {ins.line}: the destination must be a register.")
        if "dst_sel" in ins.modifiers:
            value = sdwa_merge(m, ins, reg, b.zext("u32", as_integer(b, value)))
            m.write_row(reg, value)
        elif width(slot.type) == 16:
            m.write_row(reg, merge_half(m, ins, reg, value))
        else:
            m.write_lanes(reg, slot.type, value)


def output_modifiers(
    m: Machine, b: Builder, ins: Instruction, slot: Slot, value: ir.Value
) -> ir.Value:
    """``omod`` (mul:2, mul:4, div:2), the denormal mode, then ``clamp``, on float results."""
    kind = slot.type
    if kind not in ("f16", "f32", "f64"):
        return value
    if "mul" in ins.modifiers or "div" in ins.modifiers:
        value = _scale(m, b, ins, kind, value)
    if not ins.opcode.traits.get("raw"):
        value = modes.flush(m, b, kind, value, output=True)
    if "clamp" in ins.modifiers:
        value = _clamp_unit(m, b, value)
    return value


def merge_half(m: Machine, ins: Instruction, reg: Reg, value: ir.Value) -> ir.Value:
    """A 16-bit result in its half of the register; the other half is kept or zeroed."""
    b = m.b
    wide = b.zext("u32", b.bitcast("u16", value))
    high = reg.half == "h" or _high_half(ins)
    kept = high or "op_sel" in ins.modifiers or ins.opcode.traits.get("keeps_high")
    if m.arch.generation == 9 and not kept:
        # gfx9 VALU writes zeros to the upper half of a 16-bit result (LLVM: zeroesHigh16BitsOfDest).
        return wide
    old = m.read_row(reg)
    if high:
        return b.or_(b.and_(old, 0xFFFF), b.shl(wide, 16))
    return b.or_(b.and_(old, 0xFFFF0000), wide)


def _high_half(ins: Instruction) -> bool:
    """Whether the op_sel bit behind those of the sources is set: it selects the result's half."""
    sources = sum(not slot.implicit for slot, _ in ins.srcs)
    return any(ins.bit("op_sel", index) for index in (sources, 3))


def _active_bits(m: Machine, mask: ir.Value) -> ir.Value:
    return m.irb.and_(m.b.mask_to_int(mask), m.b.mask_to_int(m.write_mask()))


def _scale(m: Machine, b: Builder, ins: Instruction, kind: str, value: ir.Value) -> ir.Value:
    """The output multiplier.

    It has no effect where MODE keeps output denormals or sets IEEE (RDNA3 and CDNA3 ISA, output modifiers).
    """
    factor = 0.5 if "div" in ins.modifiers else float(ins.modifiers["mul"])
    keeps = m.modes.test(m, modes.DENORM + (1 if kind == "f32" else 3))
    ieee = m.modes.test(m, modes.IEEE) if m.arch.generation < 12 else False
    if keeps is True or ieee is True:
        return value
    scaled = b.fmul(value, factor)
    for ignored in (keeps, ieee):
        if not isinstance(ignored, bool):
            scaled = b.select(b.splat(ignored), value, scaled)
    return scaled


def _clamp_unit(m: Machine, b: Builder, value: ir.Value) -> ir.Value:
    """Clamp to [0, 1]; NaN becomes 0 with DX10_CLAMP (always on gfx12), else stays."""
    clamped = b.select(b.fcmp(">", value, 0.0), value, 0.0)
    clamped = b.select(b.fcmp("<", clamped, 1.0), clamped, 1.0)
    zeroes = m.modes.test(m, modes.DX10_CLAMP) if m.arch.generation < 12 else True
    if zeroes is True:
        return clamped
    kept = b.select(b.is_nan(value), value, clamped)
    return kept if zeroes is False else b.select(b.splat(zeroes), clamped, kept)
