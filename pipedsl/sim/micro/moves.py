"""Values of one lane between memory and registers, by form (see `isa.families.memory_forms`)."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim.builder import I8, I16, I32, I64
from pipedsl.sim.micro.registry import Micro


def form_bytes(form: str) -> int:
    """Bytes in memory of a form."""
    return int(form.strip("uibhl")) // 8


def lane_slot(k: Micro, row: ir.Value, lane: ir.Value, dword: int, lanes: int) -> ir.Value:
    """Pointer to one lane's dword of register `row` + `dword`."""
    return k.at(row, k.irb.add(k.irb.shl(lane, I64(2)), I64(dword * lanes * 4)))


def read_memory(k: Micro, pointer: ir.Value, form: str) -> list[ir.Value]:
    """The dwords that a load of `form` yields; one i16 for the D16 forms."""
    irb = k.irb
    if form[0] == "b":
        return [k.load(I32, pointer, dword * 4) for dword in range(int(form[1:]) // 32)]
    kind = I8 if "8" in form else I16
    raw = k.load(kind, pointer)
    target = I16 if form[-1] in "lh" else I32
    if kind == target:
        return [raw]
    return [irb.sext(raw, target) if form[0] == "i" else irb.zext(raw, target)]


def write_registers(
    k: Micro, row: ir.Value, lane: ir.Value, lanes: int, form: str, values: list[ir.Value]
) -> None:
    """Write the values of `read_memory` to one lane of the registers from `row`."""
    for dword, value in enumerate(values):
        slot = lane_slot(k, row, lane, dword, lanes)
        if value.type == I16:
            k.store(value, slot, 2 if form[-1] == "h" else 0, 2)
        else:
            k.irb.store(value, slot, align=4)


def move_out(
    k: Micro, row: ir.Value, pointer: ir.Value, lane: ir.Value, lanes: int, form: str
) -> None:
    """Registers of one lane to memory; ``u8h`` and ``u16h`` take the high half."""
    if form[0] == "b":
        for dword in range(int(form[1:]) // 32):
            value = k.irb.load(lane_slot(k, row, lane, dword, lanes), align=4, typ=I32)
            k.store(value, pointer, dword * 4)
        return
    kind = I8 if "8" in form else I16
    k.store(k.load(kind, lane_slot(k, row, lane, 0, lanes), 2 if form[-1] == "h" else 0), pointer)


def read_integer(
    k: Micro, row: ir.Value, lane: ir.Value, lanes: int, bits: int, first: int = 0
) -> ir.Value:
    """One lane's integer of 32 or 64 bits from register `row` + `first`."""
    low = k.irb.load(lane_slot(k, row, lane, first, lanes), align=4, typ=I32)
    if bits == 32:
        return low
    high = k.irb.load(lane_slot(k, row, lane, first + 1, lanes), align=4, typ=I32)
    return k.irb.or_(k.irb.zext(low, I64), k.irb.shl(k.irb.zext(high, I64), I64(32)))


def write_integer(k: Micro, row: ir.Value, lane: ir.Value, lanes: int, value: ir.Value) -> None:
    """Write an integer of 32 or 64 bits to one lane."""
    if value.type == I32:
        k.irb.store(value, lane_slot(k, row, lane, 0, lanes), align=4)
        return
    k.irb.store(k.irb.trunc(value, I32), lane_slot(k, row, lane, 0, lanes), align=4)
    high = k.irb.trunc(k.irb.lshr(value, I64(32)), I32)
    k.irb.store(high, lane_slot(k, row, lane, 1, lanes), align=4)
