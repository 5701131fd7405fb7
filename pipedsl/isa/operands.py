"""Operand syntax of AMDGPU assembly: registers, constants, modifiers."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

# Scalar register file indices, as the instruction encodings number them.
VCC, TTMP, M0, NULL, EXEC = 106, 108, 124, 125, 126

_NAMED_SCALARS = {
    "vcc_lo": (VCC, 1), "vcc_hi": (VCC + 1, 1), "exec_lo": (EXEC, 1), "exec_hi": (EXEC + 1, 1),
    "m0": (M0, 1), "flat_scratch_lo": (102, 1), "flat_scratch_hi": (103, 1),
    "flat_scratch": (102, 2), "xnack_mask_lo": (104, 1), "xnack_mask_hi": (105, 1),
    "xnack_mask": (104, 2), "vcc": (VCC, 2), "exec": (EXEC, 2),
}  # fmt: skip
_SPECIAL = frozenset(
    [
        "off",
        "null",
        "src_shared_base",
        "src_shared_limit",
        "src_private_base",
        "src_private_limit",
        "src_scc",
        "src_vccz",
        "src_execz",
        "src_pops_exiting_wave_id",
        "shared_base",
        "scc",
        "vccz",
        "execz",
    ]
)


@dataclass(frozen=True)
class Reg:
    """A register or a range of consecutive ones.

    Attributes
    ----------
    file : {"v", "a", "s"}
    index, count : int
    half : {None, "l", "h"}
        The 16-bit half that gfx11+ true16 instructions name.
    """

    file: str
    index: int
    count: int = 1
    half: str | None = None


@dataclass(frozen=True)
class Imm:
    """An integer or float constant as written."""

    value: int | float
    literal: bool = False


@dataclass(frozen=True)
class Symbol:
    """A name, an expression with symbols, or a special source such as ``off``."""

    text: str


@dataclass(frozen=True)
class Operand:
    """One operand with its source modifiers."""

    value: Reg | Imm | Symbol
    neg: bool = False
    abs: bool = False
    sext: bool = False


@dataclass(frozen=True)
class Fields:
    """The parsed right side of an instruction: operands, then ``name:value`` modifiers and flags."""

    operands: tuple[Operand, ...]
    modifiers: dict[str, str] = field(default_factory=dict)
    text: str = ""


_RANGE = re.compile(r"(v|s|a|ttmp)\[(\d+)(?::(\d+))?\]$")
_SINGLE = re.compile(r"(v|s|a|ttmp)(\d+)(?:\.([lh]))?$")
_INTEGER = re.compile(r"-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)$")
_FLOAT = re.compile(r"-?(\d+\.\d*([eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.\d+)$")
_WRAPPED = re.compile(r"(neg|abs|sext)\((.*)\)$")


def parse_operand(text: str) -> Operand:
    """Parse one operand; unknown words become `Symbol`.

    Raises
    ------
    ValueError
        If a register range is malformed.
    """
    flags = {"neg": False, "abs": False, "sext": False}
    while True:
        wrapped = _WRAPPED.match(text)
        if wrapped:
            flags[wrapped[1]], text = True, wrapped[2].strip()
        elif len(text) > 2 and text[0] == text[-1] == "|":
            flags["abs"], text = True, text[1:-1].strip()
        elif text[:1] == "-" and text[1:2] in ("v", "s", "a", "|", "t", "m", "e", "n"):
            flags["neg"], text = True, text[1:].strip()
        else:
            return Operand(_value(text), **flags)


def _value(text: str) -> Reg | Imm | Symbol:
    if text in _NAMED_SCALARS:
        return Reg("s", *_NAMED_SCALARS[text])
    if single := _SINGLE.match(text):
        return _register(single[1], int(single[2]), 1, single[3])
    if span := _RANGE.match(text):
        first, last = int(span[2]), int(span[3] or span[2])
        if last < first:
            raise ValueError(f"register range {text} runs backwards")
        return _register(span[1], first, last - first + 1, None)
    if _INTEGER.match(text):
        value = int(text, 0) if not re.match(r"-?0\d", text) else int(text)
        return Imm(value, literal="x" in text.lower())
    if _FLOAT.match(text):
        return Imm(float(text))
    return Symbol(text)


def _register(file: str, index: int, count: int, half: str | None) -> Reg:
    if file == "ttmp":
        file, index, limit = "s", index + TTMP, TTMP + 16
    else:
        limit = 106 if file == "s" else 512
    if index + count > limit:
        raise ValueError(f"register {file}{index} is out of range")
    return Reg(file, index, count, half)


def split_top(text: str, separators: str) -> list[str]:
    """Split `text` at `separators` outside brackets, bars and quotes."""
    parts, depth, bar, quote, start = [], 0, False, False, 0
    for position, char in enumerate(text):
        if char == '"':
            quote = not quote
        elif quote:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "|":
            bar = not bar
        elif char in separators and depth == 0 and not bar:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def parse_fields(text: str) -> Fields:
    """Parse what follows a mnemonic: ``v0, v1, s[2:3] offset:16 nt``."""
    operands: list[Operand] = []
    modifiers: dict[str, str] = {}
    for piece in split_top(text, ","):
        first, *rest = split_top(piece, " \t")
        words = rest
        if _is_modifier(first):
            words = [first, *rest]
        else:
            operands.append(parse_operand(first))
        for word in words:
            name, colon, value = word.partition(":")
            modifiers[name] = value if colon else "1"
    return Fields(tuple(operands), modifiers, text)


_FLAGS = frozenset(
    [
        "glc",
        "slc",
        "dlc",
        "sc0",
        "sc1",
        "nt",
        "lds",
        "offen",
        "idxen",
        "gds",
        "clamp",
        "done",
        "vm",
        "tfe",
        "lwe",
        "a16",
        "r128",
        "unorm",
        "da",
        "d16",
        "addr64",
        "scale_offset",
        "nv",
    ]
)


def _is_modifier(word: str) -> bool:
    name, colon, _ = word.partition(":")
    return (bool(colon) and "[" not in name and "(" not in name) or word in _FLAGS


_INLINE_FLOATS = {
    16: "e", 32: "f", 64: "d",
}  # fmt: skip


def constant_bits(value: int | float, bits: int, is_float: bool) -> int:
    """Bits of a constant operand of `bits` bits (16, 32 or 64).

    A float constant takes the operand's format. An integer is its own bit pattern; in a 64-bit
    float operand a 32-bit literal supplies the high half (ISA: literal constants).
    """
    if isinstance(value, float):
        width = bits if bits in _INLINE_FLOATS else 32
        code = _INLINE_FLOATS[width]
        if code == "f":
            return struct.unpack("<I", struct.pack("<f", value))[0]
        if code == "e":
            return struct.unpack("<H", struct.pack("<e", value))[0]
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    if bits == 64 and is_float and not -16 <= value <= 64:
        return (value & 0xFFFFFFFF) << 32
    return value & ((1 << bits) - 1)
