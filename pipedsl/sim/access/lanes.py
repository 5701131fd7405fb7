"""DS instructions that move registers from lane to lane."""

from __future__ import annotations

import re

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.sim.access.operands import destination, register, rows, sources
from pipedsl.sim.builder import I32
from pipedsl.sim.machine import Machine


def swizzle_sources(offset: int, lanes: int) -> list[int]:
    """The lane that each lane reads in ``ds_swizzle_b32`` (RDNA3 ISA, DS_SWIZZLE_B32).

    Bit masks, quad permutation, and FFT and rotation of groups of 32 lanes.
    """
    return [lane & 32 | _swizzled(offset, lane & 31) for lane in range(lanes)]


def _swizzled(offset: int, lane: int) -> int:
    keep = offset & 31
    if offset >= 0xE000:
        mirrored = int(f"{lane:05b}"[::-1], 2)
        return mirrored >> keep.bit_count() | lane & keep
    if offset >= 0xC000:
        distance = offset >> 5 & 31
        moved = lane - distance if offset & 0x400 else lane + distance
        return lane & keep | moved & 31 & ~keep
    if offset & 0x8000:
        return lane & ~3 | offset >> 2 * (lane & 3) & 3
    return (lane & keep | offset >> 5 & 31) ^ offset >> 10 & 31


_CALL = re.compile(r"swizzle\((\w+)\s*,\s*(.*)\)$")


def swizzle_offset(text: str) -> int:
    """The 16-bit offset of ``offset:`` text: an integer, or ``swizzle(MODE, ...)``.

    Modes as in LLVM's AMDGPUModifierSyntax.

    Raises
    ------
    ValueError
        If the text is neither.
    """
    call = _CALL.match(text)
    if call is None:
        return int(text, 0) & 0xFFFF
    mode, rest = call[1], call[2]
    if mode == "BITMASK_PERM":
        return _bitmask(rest.strip(' "'))
    numbers = [int(number, 0) for number in rest.split(",")]
    if mode == "QUAD_PERM":
        if len(numbers) != 4 or not all(0 <= number < 4 for number in numbers):
            raise ValueError(f"{text} does not name four lanes of a quad")
        return 0x8000 | sum(number << 2 * i for i, number in enumerate(numbers))
    if mode == "ROTATE" and len(numbers) == 2:
        return 0xC000 | (numbers[0] & 1) << 10 | (numbers[1] & 31) << 5
    if mode == "FFT" and len(numbers) == 1:
        return 0xE000 | numbers[0] & 31
    if mode == "BROADCAST" and len(numbers) == 2:
        return 32 - numbers[0] | numbers[1] << 5
    if mode == "SWAP" and len(numbers) == 1:
        return 31 | numbers[0] << 10
    if mode == "REVERSE" and len(numbers) == 1:
        return 31 | numbers[0] - 1 << 10
    raise ValueError(f"{text} is not a swizzle mode")


def _bitmask(letters: str) -> int:
    """``p`` keeps a bit of the lane number, ``i`` inverts it, ``0`` and ``1`` replace it."""
    if len(letters) != 5 or set(letters) - set("01pi"):
        raise ValueError(f'"{letters}" is not five of 0, 1, p, i')
    keep = int("".join("1" if c in "pi" else "0" for c in letters), 2)
    ones = int("".join("1" if c == "1" else "0" for c in letters), 2)
    flip = int("".join("1" if c == "i" else "0" for c in letters), 2)
    return keep | ones << 5 | flip << 10


def _swizzle(m: Machine, ins: Instruction) -> None:
    try:
        offset = swizzle_offset(ins.modifiers.get("offset", "0"))
    except ValueError as error:
        raise AssemblyError(f"line {ins.line}: {error}.") from None
    row = m.read_row(register(ins, sources(ins)[0]))
    # A lane that is off gives 0.
    shown = m.irb.select(m.exec_mask(), row, ir.Constant(row.type, None))
    order = [I32(lane) for lane in swizzle_sources(offset, m.lanes)]
    mask = ir.Constant(ir.VectorType(I32, m.lanes), order)
    m.write_row(register(ins, destination(ins)), m.irb.shuffle_vector(shown, shown, mask))


def _move(m: Machine, ins: Instruction, *key: object) -> None:
    address, data = sources(ins)
    target = rows(m, ins, destination(ins))
    m.micro(key, target, rows(m, ins, address), rows(m, ins, data), I32(ins.modifier("offset")))


def _gather(m: Machine, ins: Instruction) -> None:
    _move(m, ins, "lanes_gather", m.lanes, int(ins.opcode.traits["inactive"]))


def _scatter(m: Machine, ins: Instruction) -> None:
    _move(m, ins, "lanes_scatter", m.lanes)


def _nop(m: Machine, ins: Instruction) -> None:
    """``ds_nop`` does nothing."""


HANDLERS = {
    ("lanes", "swizzle"): _swizzle,
    ("lanes", "gather"): _gather,
    ("lanes", "scatter"): _scatter,
    ("lanes", "nop"): _nop,
}
