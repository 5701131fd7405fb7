"""DPP: the first source comes from other lanes."""

from __future__ import annotations

import re

from llvmlite import ir

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Slot
from pipedsl.isa.operands import Operand
from pipedsl.sim.builder import I32
from pipedsl.sim.machine import Machine

_CONTROLS = (
    "quad_perm", "row_shl", "row_shr", "row_ror", "wave_shl", "wave_shr", "wave_rol", "wave_ror",
    "row_mirror", "row_half_mirror", "row_bcast", "row_newbcast", "row_share", "row_xmask", "dpp8",
)  # fmt: skip


def has_dpp(ins: Instruction) -> bool:
    """Whether the instruction carries a DPP control."""
    return any(name in ins.modifiers for name in _CONTROLS)


def source_lanes(ins: Instruction, lanes: int) -> list[int | None]:
    """Lane that each lane reads; None where the control leaves the row or wave."""
    control = next(name for name in _CONTROLS if name in ins.modifiers)
    text = ins.modifiers[control]
    numbers = [int(n, 0) for n in re.findall(r"0x[0-9a-fA-F]+|\d+", text)]
    if not numbers or (
        control in ("quad_perm", "dpp8") and len(numbers) != {"quad_perm": 4, "dpp8": 8}[control]
    ):
        raise AssemblyError(f"line {ins.line}: malformed {control}:{text}.")
    n = numbers[0]

    def read(lane: int) -> int | None:
        row, place = lane & ~15, lane & 15
        match control:
            case "quad_perm":
                return (lane & ~3) + (numbers[lane & 3] & 3)
            case "dpp8":
                return (lane & ~7) + (numbers[lane & 7] & 7)
            case "row_shl":
                return row + place + n if place + n < 16 else None
            case "row_shr":
                return row + place - n if place >= n else None
            case "row_ror":
                return row + (place - n) % 16
            case "row_mirror":
                return row + 15 - place
            case "row_half_mirror":
                return (lane & ~7) + 7 - (lane & 7)
            case "row_share" | "row_newbcast":
                return row + (n & 15)
            case "row_xmask":
                return row + (place ^ (n & 15))
            case "row_bcast":
                return row - 1 if n == 15 and row else 31 if n == 31 and lane >= 32 else None
            case "wave_shl":
                return lane + 1 if lane + 1 < lanes else None
            case "wave_shr":
                return lane - 1 if lane else None
            case "wave_rol":
                return (lane + 1) % lanes
            case _:
                return (lane - 1) % lanes

    return [read(lane) for lane in range(lanes)]


def dpp_source(m: Machine, ins: Instruction, slot: Slot, operand: Operand) -> ir.Value:
    """Source 0 after the lane exchange; `m` masks off lanes that read nothing valid.

    A lane whose source is outside, or inactive, gets 0 with ``bound_ctrl`` and is disabled without;
    ``row_mask`` and ``bank_mask`` disable rows and banks. (CDNA3 ISA 4.5.6, RDNA3 ISA 7.6.)
    """
    b = m.b
    value = m.read_lanes(operand, slot.type)
    reads = source_lanes(ins, m.lanes)
    order = ir.Constant(
        ir.VectorType(I32, m.lanes), [I32(lane if lane is not None else 0) for lane in reads]
    )
    moved = m.irb.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), order)
    exec_mask = m.exec_mask()
    valid = b.int_to_mask(
        m.mask_int(sum(1 << i for i, lane in enumerate(reads) if lane is not None))
    )
    if "fi" not in ins.modifiers or ins.modifiers["fi"] == "0":
        active = m.irb.shuffle_vector(exec_mask, ir.Constant(exec_mask.type, ir.Undefined), order)
        valid = m.irb.and_(valid, active)
    moved = b.select(valid, moved, b.const(slot.type, 0))
    rows, banks = ins.modifier("row_mask", 15), ins.modifier("bank_mask", 15)
    enabled = sum(
        1 << i for i in range(m.lanes) if rows >> (i // 16) & 1 and banks >> (i // 4 % 4) & 1
    )
    mask = m.irb.and_(exec_mask, b.int_to_mask(m.mask_int(enabled)))
    if "bound_ctrl" not in ins.modifiers and "dpp8" not in ins.modifiers:
        mask = m.irb.and_(mask, valid)
    m.narrow(mask)
    return moved
