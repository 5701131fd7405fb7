"""One instruction of a text: a table row with its operands bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pipedsl.core.arch import get_arch
from pipedsl.core.errors import AssemblyError, UnsupportedInstruction
from pipedsl.isa import families as _families  # noqa: F401  (fills the table)
from pipedsl.isa.opcode import TABLE, Fidelity, Opcode, Slot
from pipedsl.isa.operands import (
    EXEC,
    M0,
    VCC,
    Fields,
    Imm,
    Operand,
    Reg,
    Symbol,
    parse_fields,
    parse_operand,
    split_top,
)


@dataclass(frozen=True)
class Instruction:
    """A decoded line.

    Attributes
    ----------
    mnemonic : str
        As written.
    opcode : Opcode
    dsts, srcs : tuple of (Slot, Operand or None)
        Bound in the row's order; None for implicit slots.
    modifiers : dict of str to str
    line : int
        Line of the assembly text, from 1.
    source : tuple of (str, int) or None
        File and line of the ``.loc`` in force.
    partner : Instruction or None
        The second half of a dual-issue (VOPD) instruction.
    """

    mnemonic: str
    opcode: Opcode
    dsts: tuple[tuple[Slot, Operand | None], ...]
    srcs: tuple[tuple[Slot, Operand | None], ...]
    fields: Fields
    line: int = 0
    source: tuple[str, int] | None = None
    partner: Instruction | None = None

    @property
    def modifiers(self) -> dict[str, str]:
        """``name:value`` modifiers; flags have the value ``"1"``."""
        return self.fields.modifiers

    def modifier(self, name: str, default: int = 0) -> int:
        """An integer modifier such as ``offset:16``.

        Raises
        ------
        AssemblyError
            If its text is not an integer.
        """
        text = self.modifiers.get(name)
        if text is None:
            return default
        try:
            return int(text, 0)
        except ValueError:
            raise AssemblyError(f"line {self.line}: {name}:{text} is not an integer.") from None

    def bit(self, name: str, index: int, default: int = 0) -> int:
        """Element `index` of a list modifier such as ``op_sel:[0,1]``."""
        text = self.modifiers.get(name)
        if text is None:
            return default
        bits = text.strip("[]").split(",")
        if index >= len(bits):
            return default
        if bits[index].strip() not in ("0", "1"):
            raise AssemblyError(f"line {self.line}: {name}:{text} is not a list of bits.")
        return int(bits[index])

    def reads(self, wave_size: int = 64) -> list[Reg]:
        """Registers that this instruction reads, ranges as written."""
        found = list(_registers(self.srcs, wave_size))
        found += _registers(((s, o) for s, o in self.dsts if s.updated), wave_size)
        return found + (self.partner.reads(wave_size) if self.partner else [])

    def writes(self, wave_size: int = 64) -> list[Reg]:
        """Registers that this instruction writes."""
        found = list(_registers(self.dsts, wave_size))
        return found + (self.partner.writes(wave_size) if self.partner else [])

    def __str__(self) -> str:
        return f"{self.mnemonic} {self.fields.text}".strip()


def _registers(bound, wave_size: int) -> Iterator[Reg]:
    masks = wave_size // 32
    implicit = {"exec": Reg("s", EXEC, masks), "vcc": Reg("s", VCC, masks), "m0": Reg("s", M0)}
    for slot, operand in bound:
        if operand is None:
            if slot.file in implicit:
                yield implicit[slot.file]
        elif isinstance(operand.value, Reg):
            yield operand.value


def decode(
    mnemonic: str,
    text: str,
    arch: str,
    *,
    line: int = 0,
    source: tuple[str, int] | None = None,
) -> Instruction:
    """Decode one instruction.

    Raises
    ------
    UnsupportedInstruction
        If the table has no row, or an unsupported one, for this target.
    AssemblyError
        If the operands are malformed or do not fit the row.
    """
    if "::" in text:
        first, _, second = text.partition("::")
        other_name, _, other_text = second.strip().partition(" ")
        head = decode(mnemonic, first.strip(), arch, line=line, source=source)
        tail = decode(other_name, other_text, arch, line=line, source=source)
        return replace(head, partner=tail)
    row = _find_variant(mnemonic, text, arch) or TABLE.find(mnemonic, arch)
    if row is None and mnemonic.startswith("v_dual_"):
        row = TABLE.find(mnemonic.replace("v_dual_", "v_", 1), arch)
    if row is None or row.fidelity is Fidelity.UNSUPPORTED:
        why = f": {row.reason}" if row is not None and row.reason else ""
        raise UnsupportedInstruction(
            f"line {line}: the simulator does not have {mnemonic} for {arch}{why}.",
            fix=f"`pipedsl isa --arch {arch}` lists what it has.",
        )
    try:
        fields = _fields(row, text)
        dsts, srcs = _bind(row, fields, get_arch(arch).wave_size)
    except ValueError as error:
        raise AssemblyError(f"line {line}: {mnemonic} {text}: {error}.") from None
    return Instruction(mnemonic, row, dsts, srcs, fields, line, source)


# Flags that change the operands of a memory instruction: data go to LDS instead of registers, or
# an atomic operation returns the old value (gfx90a and gfx11, gfx942 and gfx950, gfx12).
_VARIANTS = (
    ("lds", re.compile(r"\blds\b")),
    ("rtn", re.compile(r"\b(glc|sc0|th:TH_ATOMIC_\w*RETURN)\b")),
)


def _find_variant(mnemonic: str, text: str, arch: str) -> Opcode | None:
    for variant, flag in _VARIANTS:
        if flag.search(text) and (row := TABLE.find(f"{mnemonic} {variant}", arch)):
            return row
    return None


def _fields(row: Opcode, text: str) -> Fields:
    """The parsed operands; a branch has no modifiers, so a label may be called like one."""
    if _takes_text(row):
        return Fields((), {}, text)
    if any(slot.file == "label" for slot in row.srcs):
        return Fields(tuple(parse_operand(part) for part in split_top(text, ",")), {}, text)
    return parse_fields(text)


def _takes_text(row: Opcode) -> bool:
    return any(slot.file == "text" for slot in row.srcs)


def _bind(row: Opcode, fields: Fields, wave_size: int):
    operands = iter(fields.operands)
    given, expected = len(fields.operands), row.in_text()
    if _takes_text(row):
        return tuple((s, None) for s in row.dsts), tuple((s, None) for s in row.srcs)
    optional = row.traits.get("optional", 0)
    if not len(expected) - optional <= given <= len(expected):
        raise ValueError(f"expected {len(expected)} operands, got {given}")

    def take(slots: tuple[Slot, ...], written: bool) -> tuple[tuple[Slot, Operand | None], ...]:
        return tuple(
            (s, None if s.implicit else _checked(s, next(operands, None), wave_size, written))
            for s in slots
        )

    return take(row.dsts, True), take(row.srcs, False)


def _checked(slot: Slot, operand: Operand | None, wave_size: int, written: bool) -> Operand | None:
    """Check that an operand fits its slot's register file and width."""
    if operand is None:
        return None
    value = operand.value
    if isinstance(value, Symbol) and value.text == "off":
        return operand
    if written and (isinstance(value, Imm) or (isinstance(value, Symbol) and value.text != "null")):
        raise ValueError(f"{value} cannot be written")
    if isinstance(value, Symbol) and slot.file == "v":
        raise ValueError(f"expected a vector register, not {value}")
    if slot.file == "imm" and not isinstance(value, (Imm, Symbol)):
        raise ValueError(f"expected a constant, not {value}")
    if isinstance(value, Reg) and slot.file not in ("imm", "label"):
        if slot.file == "v" and value.file == "s":
            raise ValueError("expected a vector register")
        if slot.file == "s" and value.file != "s":
            raise ValueError("expected a scalar register")
        needed = wave_size // 32 if slot.type == "mask" else slot.dwords
        if value.count < needed and slot.type != "any":
            raise ValueError(f"expected {needed} registers for {slot.type}, got {value.count}")
    if slot.file == "v" and isinstance(value, Imm):
        raise ValueError("expected a vector register, not a constant")
    return operand
