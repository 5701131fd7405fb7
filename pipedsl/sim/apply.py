"""How the meaning of a row acts on the machine: one function per style."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Slot
from pipedsl.isa.operands import Operand, Reg, Symbol
from pipedsl.sim.access import access
from pipedsl.sim.builder import ELEMENTS, I1, Builder
from pipedsl.sim.dpp import dpp_source, has_dpp
from pipedsl.sim.machine import Machine
from pipedsl.sim.sdwa import sdwa_merge, sdwa_source

Write = Callable[[], None]


def apply(m: Machine, instruction: Instruction) -> None:
    """Emit the effect of `instruction`; both halves of a dual instruction read before either writes."""
    writes = []
    part: Instruction | None = instruction
    while part is not None:
        m.current = part
        writes += STYLES[part.opcode.style](m, part)
        part = part.partner
    for write in writes:
        write()
    m.widen()


def _scalar(m: Machine, ins: Instruction) -> list[Write]:
    sources = [_scalar_source(m, slot, operand) for slot, operand in ins.srcs]
    sources += [_scalar_source(m, slot, op) for slot, op in ins.dsts if slot.updated]
    results = _call(ins, m.s, sources)
    return [
        lambda s=slot, o=operand, v=value: _write_scalar(m, s, o, v)
        for (slot, operand), value in zip(ins.dsts, results, strict=True)
    ]


def _scalar_source(m: Machine, slot: Slot, operand: Operand | None) -> Any:
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
        return _immediate(m, ins_operand=operand)
    bits = m.lanes if slot.type == "mask" else _bits(slot.type)
    raw = m.read_scalar(operand, bits, slot.type.rstrip("0123456789"))
    value = m.s.bitcast(slot.type, raw) if slot.type != "mask" else raw
    if slot.type[0] == "f":
        value = _float_modifiers(m.s, operand, value)
    return value


def _immediate(m: Machine, ins_operand: Operand) -> int:
    value = ins_operand.value
    if isinstance(value, Symbol):
        return m.resolve(value.text)
    number = getattr(value, "value", None)
    if not isinstance(number, int):
        raise AssemblyError(f"line {m.current.line if m.current else 0}: expected an integer.")
    return number


def _write_scalar(m: Machine, slot: Slot, operand: Operand | None, value: ir.Value) -> None:
    if slot.file == "scc":
        m.write_scc(value)
    elif slot.file == "exec":
        m.write_exec(value)
    elif slot.file == "vcc":
        m.write_vcc(value)
    else:
        assert operand is not None
        if not isinstance(value.type, ir.IntType):
            value = m.irb.bitcast(value, ir.IntType(_bits(slot.type)))
        m.write_scalar(operand, value)


def _lanes(m: Machine, ins: Instruction) -> list[Write]:
    sources = [lane_source(m, ins, slot, operand, i) for i, (slot, operand) in enumerate(ins.srcs)]
    for slot, operand in ins.dsts:
        if slot.updated:
            assert operand is not None
            sources.append(m.read_lanes(operand, slot.type))
    results = _call(ins, m.b, sources)
    return [
        lambda s=slot, o=operand, v=value: _write_lane_result(m, ins, s, o, v)
        for (slot, operand), value in zip(ins.dsts, results, strict=True)
    ]


def lane_source(
    m: Machine, ins: Instruction, slot: Slot, operand: Operand | None, index: int
) -> Any:
    """Source `index` of a lane-wise instruction, with all its modifiers applied."""
    if slot.file in ("scc", "m0"):
        return _scalar_source(m, slot, operand)
    if slot.file == "exec":
        return m.exec_mask()
    if slot.file == "vcc":
        return m.b.int_to_mask(m.read_vcc())
    assert operand is not None
    if slot.file == "imm":
        return _immediate(m, operand)
    if slot.type == "mask":
        return m.b.int_to_mask(m.read_scalar(operand, m.lanes))
    if slot.file == "s":
        return _scalar_source(m, slot, operand)
    if f"src{index}_sel" in ins.modifiers:
        value = sdwa_source(m, ins, slot, operand, index)
    elif index == 0 and has_dpp(ins):
        value = dpp_source(m, ins, slot, operand)
    elif _bits(slot.type) == 16 and _op_sel(ins, index):
        value = m.b.bitcast(slot.type, m.b.trunc("u16", m.b.lshr(m.read_lanes(operand, "u32"), 16)))
    else:
        value = m.read_lanes(operand, slot.type)
    if slot.type[0] == "f":
        value = _float_modifiers(m.b, operand, value)
    elif operand.neg or operand.abs:
        value = _integer_sign(m.b, operand, value)
    return value


def _float_modifiers(b: Builder, operand: Operand, value: ir.Value) -> ir.Value:
    if operand.abs:
        value = b.fabs(value)
    return b.fneg(value) if operand.neg else value


def _integer_sign(b: Builder, operand: Operand, value: ir.Value) -> ir.Value:
    """neg/abs on untyped operands (``v_cndmask_b32``) act on the float sign bit."""
    sign = 1 << (b.element(value).width - 1)
    if operand.abs:
        value = b.and_(value, sign - 1)
    return b.xor(value, sign) if operand.neg else value


def _op_sel(ins: Instruction, index: int) -> bool:
    bits = ins.modifiers.get("op_sel", "").strip("[]").split(",")
    return index < len(bits) and bits[index].strip() == "1"


def _write_lane_result(
    m: Machine, ins: Instruction, slot: Slot, operand: Operand | None, value: ir.Value
) -> None:
    b = m.b
    if slot.file == "exec":
        m.write_exec(m.irb.and_(b.mask_to_int(value), m.read_exec()))
    elif slot.file == "vcc":
        m.write_vcc(m.irb.and_(b.mask_to_int(value), m.read_exec()))
    elif slot.type == "mask":
        assert operand is not None
        m.write_scalar(operand, m.irb.and_(b.mask_to_int(value), m.read_exec()))
    elif slot.file == "s":
        assert operand is not None
        m.write_scalar(operand, m.irb.bitcast(value, ir.IntType(_bits(slot.type))))
    else:
        assert operand is not None
        reg = operand.value
        if not isinstance(reg, Reg):
            raise AssemblyError(f"line {ins.line}: the destination must be a register.")
        value = output_modifiers(b, ins, slot, value)
        masked = not ins.opcode.traits.get("unmasked", False)
        if "dst_sel" in ins.modifiers:
            value = sdwa_merge(m, ins, reg, b.zext("u32", _as_integer(b, value)))
            m.write_row(reg, value, masked=masked)
        elif _bits(slot.type) == 16:
            m.write_row(reg, _merge_half(m, ins, reg, value), masked=masked)
        else:
            m.write_lanes(reg, slot.type, value, masked=masked)


def _merge_half(m: Machine, ins: Instruction, reg: Reg, value: ir.Value) -> ir.Value:
    """A 16-bit result in its half of the register; the other half is kept or zeroed."""
    b = m.b
    wide = b.zext("u32", b.bitcast("u16", value))
    high = reg.half == "h" or _op_sel(ins, 3)
    if m.arch.generation == 9 and not high and not ins.opcode.traits.get("keeps_high"):
        # gfx9 VALU writes zeros to the upper half of a 16-bit result (LLVM: zeroesHigh16BitsOfDest).
        if "op_sel" not in ins.modifiers:
            return wide
    old = m.read_row(reg)
    if high:
        return b.or_(b.and_(old, 0xFFFF), b.shl(wide, 16))
    return b.or_(b.and_(old, 0xFFFF0000), wide)


def output_modifiers(b: Builder, ins: Instruction, slot: Slot, value: ir.Value) -> ir.Value:
    """``omod`` (mul:2, mul:4, div:2), then ``clamp`` to [0, 1], on float results."""
    if slot.type[0] != "f":
        return value
    if factor := ins.modifiers.get("mul"):
        value = b.fmul(value, float(factor))
    elif ins.modifiers.get("div"):
        value = b.fmul(value, 0.5)
    if "clamp" in ins.modifiers:
        value = clamp_unit(b, value)
    return value


def clamp_unit(b: Builder, value: ir.Value) -> ir.Value:
    """Clamp to [0, 1]; NaN becomes 0 (DX10_CLAMP, the default of the kernel descriptor)."""
    value = b.select(b.fcmp(">", value, 0.0), value, 0.0)
    return b.select(b.fcmp("<", value, 1.0), value, 1.0)


def _as_integer(b: Builder, value: ir.Value) -> ir.Value:
    width = {"half": 16, "float": 32}.get(str(b.element(value)))
    return b.bitcast(f"u{width}", value) if width else value


def _packed(m: Machine, ins: Instruction) -> list[Write]:
    halves: list[list[ir.Value]] = [[], []]
    for index, (slot, operand) in enumerate(ins.srcs):
        assert operand is not None
        for half in (0, 1):
            halves[half].append(_packed_source(m, ins, slot, operand, index, half))
    (slot, operand), *_ = ins.dsts
    assert operand is not None and isinstance(operand.value, Reg)
    reg = operand.value
    low, high = (
        output_modifiers(m.b, ins, slot, _call(ins, m.b, sources)[0]) for sources in halves
    )

    def write() -> None:
        if _bits(slot.type) == 32:
            m.write_lanes(reg, "u32", m.b.bitcast("u32", low))
            m.write_row(reg, m.b.bitcast("u32", high), 1)
            return
        wide = [m.b.zext("u32", m.b.bitcast("u16", v)) for v in (low, high)]
        m.write_row(reg, m.b.or_(wide[0], m.b.shl(wide[1], 16)))

    return [write]


def _packed_source(
    m: Machine, ins: Instruction, slot: Slot, operand: Operand, index: int, half: int
) -> ir.Value:
    """Element `half` of a packed source: op_sel picks for the low result, op_sel_hi for the high."""
    chosen = _bit(ins, "op_sel_hi" if half else "op_sel", index, default=half)
    negate = _bit(ins, "neg_hi" if half else "neg_lo", index, default=0)
    if _bits(slot.type) == 32:
        value = _packed_dword(m, slot, operand, chosen)
    else:
        raw = m.read_lanes(operand, "u32") if isinstance(operand.value, Reg) else None
        if raw is None:
            value = m.b.splat(m.read_scalar(operand, 32, "b"))
            constant = m.read_scalar(operand, 16, slot.type.rstrip("0123456789"))
            value = (
                m.b.bitcast(slot.type, m.b.splat(constant))
                if not chosen
                else m.b.bitcast(slot.type, m.b.trunc("u16", m.b.lshr(value, 16)))
            )
        else:
            value = m.b.bitcast(slot.type, m.b.trunc("u16", m.b.lshr(raw, 16 * chosen)))
    if slot.type[0] == "f":
        value = _float_modifiers(m.b, operand, value)
        return m.b.fneg(value) if negate else value
    return value


def _packed_dword(m: Machine, slot: Slot, operand: Operand, chosen: int) -> ir.Value:
    reg = operand.value
    if isinstance(reg, Reg) and reg.file != "s":
        return m.b.bitcast(slot.type, m.read_row(reg, chosen))
    if isinstance(reg, Reg):
        return m.b.bitcast(slot.type, m.b.splat(m.read_scalar_index(reg.index + chosen)))
    return m.read_lanes(operand, slot.type)


def _bit(ins: Instruction, name: str, index: int, *, default: int) -> int:
    text = ins.modifiers.get(name)
    if text is None:
        return default
    bits = text.strip("[]").split(",")
    return int(bits[index]) if index < len(bits) else default


def _machine(m: Machine, ins: Instruction) -> list[Write]:
    assert ins.opcode.meaning is not None
    ins.opcode.meaning(m, ins)
    return []


def _call(ins: Instruction, b: Builder, sources: list[Any]) -> tuple[ir.Value, ...]:
    assert ins.opcode.meaning is not None
    results = ins.opcode.meaning(b, *sources)
    return results if isinstance(results, tuple) else (results,)


def _bits(kind: str) -> int:
    element = ELEMENTS[kind]
    if isinstance(element, ir.IntType):
        return 1 if element == I1 else element.width
    return {"half": 16, "float": 32, "double": 64}[str(element)]


STYLES: dict[str, Callable[[Machine, Instruction], list[Write]]] = {
    "scalar": _scalar,
    "lanes": _lanes,
    "packed": _packed,
    "machine": _machine,
    "memory": access,
}
