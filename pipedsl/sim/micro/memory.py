"""Loads, stores and atomics of the lanes of a wave, with bounds checks."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I8, I16, I32, I64, PTR
from pipedsl.sim.micro.registry import Micro, micro_kernel


def exec_bits(k: Micro, lanes: int) -> ir.Value:
    """EXEC of the wave as an integer of one bit per lane."""
    return k.load(ir.IntType(lanes), k.wave, at.SCALARS + 126 * 4, 4)


def fault_if(
    k: Micro, bad: ir.Value, kind: int, lane: ir.Value, address: ir.Value, width: int
) -> None:
    """Return with a fault record where `bad`."""
    irb = k.irb
    stop, go_on = k.block("fault"), k.block("fine")
    irb.cbranch(bad, stop, go_on)
    irb.position_at_end(stop)
    k.store(I32(kind), k.wave, at.FAULT_KIND)
    k.store(irb.trunc(lane, I32), k.wave, at.FAULT_LANE)
    k.store(address, k.wave, at.FAULT_ADDRESS)
    k.store(I32(width), k.wave, at.FAULT_BYTES)
    k.ret(1)
    irb.position_at_end(go_on)


def global_pointer(
    k: Micro, address: ir.Value, width: int, lane: ir.Value, *, write: bool, align: int
) -> ir.Value:
    """Host pointer of a checked device address."""
    irb = k.irb
    slot = irb.lshr(address, I64(32))
    offset = irb.and_(address, I64(0xFFFFFFFF))
    slots = k.load(I64, k.group, at.SLOT_COUNT, 8)
    fault_if(k, irb.icmp_unsigned(">=", slot, slots), at.UNMAPPED, lane, address, width)
    entry = k.at(k.load(PTR, k.group, at.SLOT_TABLE, 8), irb.shl(slot, I64(4)))
    base, extent = k.load(PTR, entry, 0, 8), k.load(I64, entry, 8, 8)
    size = irb.and_(extent, I64(at.SLOT_WRITABLE - 1))
    fault_if(k, irb.icmp_unsigned("==", size, I64(0)), at.UNMAPPED, lane, address, width)
    end = irb.add(offset, I64(width))
    fault_if(k, irb.icmp_unsigned(">", end, size), at.OUT_OF_BOUNDS, lane, address, width)
    if write:
        fault_if(k, irb.icmp_signed(">=", extent, I64(0)), at.READ_ONLY, lane, address, width)
    if align > 1:
        low = irb.and_(address, I64(align - 1))
        fault_if(k, irb.icmp_unsigned("!=", low, I64(0)), at.MISALIGNED, lane, address, width)
    k.trace(at.TRACE_GLOBAL, address, width, lane)
    return k.at(base, offset)


def lds_pointer(k: Micro, address: ir.Value, width: int, lane: ir.Value, *, align: int) -> ir.Value:
    """Host pointer of a checked LDS byte address (i64)."""
    irb = k.irb
    size = k.load(I64, k.group, at.LDS_BYTES, 8)
    end = irb.add(address, I64(width))
    fault_if(k, irb.icmp_unsigned(">", end, size), at.LDS_BOUNDS, lane, address, width)
    if align > 1:
        low = irb.and_(address, I64(align - 1))
        fault_if(k, irb.icmp_unsigned("!=", low, I64(0)), at.LDS_MISALIGNED, lane, address, width)
    k.trace(at.TRACE_LDS, address, width, lane)
    return k.at(k.load(PTR, k.group, at.LDS_POINTER, 8), address)


def lane_address(
    k: Micro, lanes: int, mode: str, lane: ir.Value, vector: ir.Value, base: ir.Value
) -> ir.Value:
    """Device address of one lane.

    ``v64``: a 64-bit VGPR pair plus `base`; ``v32``: `base` plus a zero-extended VGPR;
    ``none``: `base`.
    """
    irb = k.irb
    if mode == "none":
        return base
    place = irb.shl(lane, I64(2))
    low = irb.zext(k.load(I32, vector, place, 4), I64)
    if mode == "v64":
        high = irb.zext(k.load(I32, vector, irb.add(place, I64(lanes * 4)), 4), I64)
        low = irb.or_(low, irb.shl(high, I64(32)))
    return irb.add(low, base)


def lane_slot(k: Micro, row: ir.Value, lane: ir.Value, dword: int, lanes: int) -> ir.Value:
    """Pointer to one lane's dword of register `row` + `dword`."""
    return k.at(row, k.irb.add(k.irb.shl(lane, I64(2)), I64(dword * lanes * 4)))


def move_in(
    k: Micro, pointer: ir.Value, row: ir.Value, lane: ir.Value, lanes: int, form: str
) -> None:
    """Memory to registers of one lane.

    `form`: ``u8 i8 u16 i16`` extend to a dword; ``u8l i8l u16l`` write the low half and keep the
    high (D16), ``u8h i8h u16h`` the high half; ``b32 b64 b96 b128`` copy dwords.
    """
    irb = k.irb
    if form[0] == "b":
        for dword in range(int(form[1:]) // 32):
            value = k.load(I32, pointer, dword * 4)
            irb.store(value, lane_slot(k, row, lane, dword, lanes), align=4)
        return
    half = form[-1] if form[-1] in "lh" else ""
    kind = I8 if "8" in form else I16
    raw = k.load(kind, pointer)
    slot = lane_slot(k, row, lane, 0, lanes)
    if not half:
        irb.store(irb.sext(raw, I32) if form[0] == "i" else irb.zext(raw, I32), slot, align=4)
        return
    if kind == I8:
        raw = irb.sext(raw, I16) if form[0] == "i" else irb.zext(raw, I16)
    k.store(raw, slot, 2 if half == "h" else 0, 2)


def move_out(
    k: Micro, row: ir.Value, pointer: ir.Value, lane: ir.Value, lanes: int, form: str
) -> None:
    """Registers of one lane to memory; ``u8h``/``u16h`` take the high half."""
    irb = k.irb
    if form[0] == "b":
        for dword in range(int(form[1:]) // 32):
            value = irb.load(lane_slot(k, row, lane, dword, lanes), align=4, typ=I32)
            k.store(value, pointer, dword * 4)
        return
    value = k.load(
        I8 if "8" in form else I16, lane_slot(k, row, lane, 0, lanes), 2 if form[-1] == "h" else 0
    )
    k.store(value, pointer)


def form_bytes(form: str) -> int:
    """Bytes in memory of a form."""
    return int(form.strip("uibhl")) // 8


@micro_kernel("global_load", lambda lanes, mode, form: [PTR, PTR, I64])
def global_load(k: Micro, lanes: int, mode: str, form: str) -> None:
    """``dst row, address rows, base``: load `form` from global memory into the active lanes."""
    row, vector, base = k.args
    width = form_bytes(form)
    with k.active_lanes(exec_bits(k, lanes)) as lane:
        address = lane_address(k, lanes, mode, lane, vector, base)
        pointer = global_pointer(k, address, width, lane, write=False, align=min(width & -width, 4))
        move_in(k, pointer, row, lane, lanes, form)
    k.ret(0)


@micro_kernel("global_store", lambda lanes, mode, form: [PTR, PTR, I64])
def global_store(k: Micro, lanes: int, mode: str, form: str) -> None:
    """``data row, address rows, base``: store `form` from the active lanes."""
    row, vector, base = k.args
    width = form_bytes(form)
    with k.active_lanes(exec_bits(k, lanes)) as lane:
        address = lane_address(k, lanes, mode, lane, vector, base)
        pointer = global_pointer(k, address, width, lane, write=True, align=min(width & -width, 4))
        move_out(k, row, pointer, lane, lanes, form)
    k.ret(0)


@micro_kernel("lds_load", lambda lanes, form: [PTR, PTR, I32])
def lds_load(k: Micro, lanes: int, form: str) -> None:
    """``dst row, address row, offset``: load `form` from LDS into the active lanes."""
    row, vector, offset = k.args
    width = form_bytes(form)
    with k.active_lanes(exec_bits(k, lanes)) as lane:
        address = lane_address(k, lanes, "v32", lane, vector, k.irb.zext(offset, I64))
        pointer = lds_pointer(k, address, width, lane, align=min(width & -width, 4))
        move_in(k, pointer, row, lane, lanes, form)
    k.ret(0)


@micro_kernel("lds_store", lambda lanes, form: [PTR, PTR, I32])
def lds_store(k: Micro, lanes: int, form: str) -> None:
    """``data row, address row, offset``: store `form` to LDS from the active lanes."""
    row, vector, offset = k.args
    width = form_bytes(form)
    with k.active_lanes(exec_bits(k, lanes)) as lane:
        address = lane_address(k, lanes, "v32", lane, vector, k.irb.zext(offset, I64))
        pointer = lds_pointer(k, address, width, lane, align=min(width & -width, 4))
        move_out(k, row, pointer, lane, lanes, form)
    k.ret(0)


@micro_kernel("scalar_load", lambda dwords: [PTR, I64])
def scalar_load(k: Micro, dwords: int) -> None:
    """``dst scalars, address``: load dwords from global memory into scalar registers."""
    target, address = k.args
    pointer = global_pointer(k, address, dwords * 4, I64(0), write=False, align=4)
    for dword in range(dwords):
        k.store(k.load(I32, pointer, dword * 4), target, dword * 4, 4)
    k.ret(0)


@micro_kernel("lds_load2", lambda lanes, form, first, second: [PTR, PTR])
def lds_load2(k: Micro, lanes: int, form: str, first: int, second: int) -> None:
    """``dst row, address row``: two `form` loads at byte offsets `first` and `second`."""
    row, vector = k.args
    width = form_bytes(form)
    with k.active_lanes(exec_bits(k, lanes)) as lane:
        for place, offset in enumerate((first, second)):
            address = lane_address(k, lanes, "v32", lane, vector, I64(offset))
            pointer = lds_pointer(k, address, width, lane, align=4)
            target = k.at(row, place * (width // 4) * lanes * 4)
            move_in(k, pointer, target, lane, lanes, form)
    k.ret(0)


@micro_kernel("lds_store2", lambda lanes, form, first, second: [PTR, PTR, PTR])
def lds_store2(k: Micro, lanes: int, form: str, first: int, second: int) -> None:
    """``data row, second data row, address row``: two `form` stores."""
    rows, vector = k.args[:2], k.args[2]
    width = form_bytes(form)
    with k.active_lanes(exec_bits(k, lanes)) as lane:
        for row, offset in zip(rows, (first, second), strict=True):
            address = lane_address(k, lanes, "v32", lane, vector, I64(offset))
            move_out(k, row, lds_pointer(k, address, width, lane, align=4), lane, lanes, form)
    k.ret(0)
