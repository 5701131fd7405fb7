"""Hardware registers: s_setreg, s_getreg, and the short forms for MODE's fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.opcode import GFX9, RDNA, TABLE, Fidelity, Unit

_IDS = {"MODE": 1, "STATUS": 2, "SHADER_CYCLES": 29, "SHADER_CYCLES_LO": 29}
_MODE, _STATUS, _CYCLES = 1, 2, 29
_SYNTAX = re.compile(r"hwreg\(\s*([^,\s)]+)\s*(?:,\s*([^,\s)]+)\s*,\s*([^,\s)]+)\s*)?\)$")


def _register(ins: Any) -> tuple[int, int, int]:
    """Number, first bit and width of the field that ``hwreg(...)`` or its encoding names."""
    operand = next(o for s, o in (*ins.dsts, *ins.srcs) if s.file == "imm")
    number = getattr(operand.value, "value", None)
    if isinstance(number, int):
        return number & 63, number >> 6 & 31, (number >> 11 & 31) + 1
    parts = _SYNTAX.match(operand.value.text)
    if parts is None:
        raise AssemblyError(f"line {ins.line}: {operand.value} names no hardware register.")
    name, first, width = parts[1], parts[2] or "0", parts[3] or "32"
    try:
        index = int(name, 0) if name[0].isdigit() else _named(name)
        return index, int(first, 0), int(width, 0)
    except ValueError:
        raise AssemblyError(f"line {ins.line}: malformed {operand.value.text}.") from None


def _named(name: str) -> int:
    """Number of a register; 0 for those that the simulator has no state for."""
    return _IDS.get(name.removeprefix("HW_REG_").removeprefix("WAVE_"), 0)


def _mask(ins: Any) -> int:
    """Bits of MODE that the instruction changes."""
    index, first, width = _register(ins)
    return ((1 << width) - 1) << first & 0xFFFFFFFF if index == _MODE else 0


def _set(m: Any, ins: Any) -> None:
    _, first, _ = _register(ins)
    mask = _mask(ins)
    if mask:
        value = m.s.shl(m.read_scalar(ins.srcs[1][1]), first)
        m.write_mode(mask, value)


def _get(m: Any, ins: Any) -> None:
    index, first, width = _register(ins)
    if index == _MODE:
        value = m.read_mode()
    elif index == _STATUS:
        value = m.s.zext("u32", m.read_scc())
    elif index == _CYCLES:
        value = m.s.trunc("u32", m.clock())
    else:
        value = m.s.const("u32", 0)
    field = m.s.and_(m.s.lshr(value, first), (1 << width) - 1)
    m.write_scalar(ins.dsts[0][1], field)


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.SALU, style="machine", **more)


_ABOUT = {
    "fidelity": Fidelity.APPROXIMATE,
    "reason": "MODE, the clock and SCC of STATUS have state; other registers read 0",
}
_row("s_setreg_b32", "= imm, s:b32", _set, changes_mode=_mask, **_ABOUT)
_row("s_setreg_imm32_b32", "= imm, s:b32", _set, changes_mode=_mask, **_ABOUT)
_row("s_getreg_b32", "s:b32 = imm", _get, **_ABOUT)


def _field(first: int) -> Callable[[Any, Any], None]:
    """A 4-bit immediate into MODE."""

    def meaning(m: Any, ins: Any) -> None:
        m.write_mode(15 << first, m.s.const("u32", (ins.srcs[0][1].value.value & 15) << first))

    return meaning


for _name, _first in (("round", 0), ("denorm", 4)):
    _row(
        f"s_{_name}_mode",
        "= imm",
        _field(_first),
        archs=RDNA,
        changes_mode=lambda ins, n=_first: 15 << n,
    )


# VGPR indexing (gfx9): until it is switched off, M0 is added to the VGPR numbers of some operands.
def _index_on(m: Any, ins: Any) -> None:
    kinds = ins.srcs[1][1].value
    selected = _index_kinds(ins, kinds)
    m.indexed = selected
    index = m.s.and_(m.read_scalar(ins.srcs[0][1]), 0xFF)
    kept = m.s.and_(m.read_m0(), ~0xF0FF & 0xFFFFFFFF)
    m.write_m0(m.s.or_(m.s.or_(kept, index), selected << 12))


_KINDS = {"SRC0": 1, "SRC1": 2, "SRC2": 4, "DST": 8}


def _index_kinds(ins: Any, value: Any) -> int:
    number = getattr(value, "value", None)
    if isinstance(number, int):
        return number & 15
    names = re.findall(r"\w+", value.text.removeprefix("gpr_idx"))
    try:
        return sum(_KINDS[name] for name in names)
    except KeyError:
        raise AssemblyError(f"line {ins.line}: {value.text} is no set of operands.") from None


def _index_off(m: Any, ins: Any) -> None:
    m.indexed = 0


def _index_set(m: Any, ins: Any) -> None:
    index = m.s.and_(m.read_scalar(ins.srcs[0][1]), 0xFF)
    m.write_m0(m.s.or_(m.s.and_(m.read_m0(), ~0xFF & 0xFFFFFFFF), index))


def _index_mode(m: Any, ins: Any) -> None:
    selected = _index_kinds(ins, ins.srcs[0][1].value)
    m.indexed = selected
    m.write_m0(m.s.or_(m.s.and_(m.read_m0(), ~0xF000 & 0xFFFFFFFF), selected << 12))


_row("s_set_gpr_idx_on", "= s:b32, imm", _index_on, archs=GFX9)
_row("s_set_gpr_idx_off", "", _index_off, archs=GFX9)
_row("s_set_gpr_idx_idx", "= s:b32", _index_set, archs=GFX9)
_row("s_set_gpr_idx_mode", "= imm", _index_mode, archs=GFX9)


def _skip(m: Any, ins: Any) -> None:
    """VSKIP: while it is set, vector instructions are skipped."""
    bit = m.s.lshr(m.read_scalar(ins.srcs[0][1]), m.read_scalar(ins.srcs[1][1]))
    m.write_mode(1 << 28, m.s.shl(bit, 28))


_row(
    "s_setvskip", "= s:b32, s:u32", _skip, archs=GFX9, changes_mode=lambda ins: 1 << 28
)

