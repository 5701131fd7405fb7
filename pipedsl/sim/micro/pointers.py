"""Host pointers of checked device addresses, by memory space.

Alignment: loads and stores take any byte address, as the hardware does in the unaligned access
mode that the HSA runtime sets (and LLVM relies on). Atomic operations need natural alignment, loads
to LDS a dword-aligned place in LDS; anything else is a fault. SMEM ignores the low address bits.

Bounds: an access outside its allocation, the workgroup's LDS, or the lane's scratch is a fault,
where hardware would return zeros or another allocation's bytes. Buffer resources have their own
rule, which comes before this one: see `buffers`.
"""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.registry import Micro


def checked_pointer(
    k: Micro,
    space: str,
    address: ir.Value,
    width: int,
    lane: ir.Value,
    *,
    write: bool,
    align: int = 1,
) -> ir.Value:
    """Host pointer of `width` bytes at `address` (i64) for `lane`; faults where there are none.

    `space`: ``global``, ``lds``, ``scratch``, or ``flat``, where the address decides.
    """
    if space == "lds":
        return lds_pointer(k, address, width, lane, align=align)
    if space == "scratch":
        return scratch_pointer(k, address, width, lane, align=align)
    if space == "global":
        return global_pointer(k, address, width, lane, write=write, align=align)
    irb = k.irb
    slot, low = irb.lshr(address, I64(32)), irb.and_(address, I64(0xFFFFFFFF))
    shared, private, other, done = (
        k.block(name) for name in ("shared", "private", "other", "flat")
    )
    choice = irb.switch(slot, other)
    choice.add_case(I64(at.SHARED_APERTURE), shared)
    choice.add_case(I64(at.PRIVATE_APERTURE), private)
    found = []
    for block, kind, where in (
        (shared, "lds", low),
        (private, "scratch", low),
        (other, "global", address),
    ):
        irb.position_at_end(block)
        pointer = checked_pointer(k, kind, where, width, lane, write=write, align=align)
        found.append((pointer, irb.block))
        irb.branch(done)
    irb.position_at_end(done)
    pointer = irb.phi(PTR)
    for value, block in found:
        pointer.add_incoming(value, block)
    return pointer


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


def _check_alignment(
    k: Micro, address: ir.Value, align: int, kind: int, lane: ir.Value, width: int
) -> None:
    if align > 1:
        low = k.irb.and_(address, I64(align - 1))
        fault_if(k, k.irb.icmp_unsigned("!=", low, I64(0)), kind, lane, address, width)


def slot_entry(k: Micro, slot: ir.Value) -> ir.Value:
    """Pointer to a slot's (host address, bytes | flags)."""
    return k.at(k.load(PTR, k.group, at.SLOT_TABLE, 8), k.irb.shl(slot, I64(4)))


def global_pointer(
    k: Micro, address: ir.Value, width: int, lane: ir.Value, *, write: bool, align: int = 1
) -> ir.Value:
    """Host pointer of a checked device address."""
    irb = k.irb
    slot = irb.lshr(address, I64(32))
    offset = irb.and_(address, I64(0xFFFFFFFF))
    slots = k.load(I64, k.group, at.SLOT_COUNT, 8)
    fault_if(k, irb.icmp_unsigned(">=", slot, slots), at.UNMAPPED, lane, address, width)
    entry = slot_entry(k, slot)
    base, extent = k.load(PTR, entry, 0, 8), k.load(I64, entry, 8, 8)
    size = irb.and_(extent, I64(at.SLOT_WRITABLE - 1))
    fault_if(k, irb.icmp_unsigned("==", size, I64(0)), at.UNMAPPED, lane, address, width)
    end = irb.add(offset, I64(width))
    fault_if(k, irb.icmp_unsigned(">", end, size), at.OUT_OF_BOUNDS, lane, address, width)
    if write:
        fault_if(k, irb.icmp_signed(">=", extent, I64(0)), at.READ_ONLY, lane, address, width)
    _check_alignment(k, address, align, at.MISALIGNED, lane, width)
    k.trace(at.TRACE_GLOBAL, address, width, lane)
    return k.place(k.at(base, offset))


def lds_pointer(
    k: Micro, address: ir.Value, width: int, lane: ir.Value, *, align: int = 1
) -> ir.Value:
    """Host pointer of a checked LDS byte address (i64)."""
    irb = k.irb
    size = k.load(I64, k.group, at.LDS_BYTES, 8)
    end = irb.add(address, I64(width))
    fault_if(k, irb.icmp_unsigned(">", end, size), at.LDS_BOUNDS, lane, address, width)
    _check_alignment(k, address, align, at.LDS_MISALIGNED, lane, width)
    k.trace(at.TRACE_LDS, address, width, lane)
    return k.place(k.at(k.load(PTR, k.group, at.LDS_POINTER, 8), address))


def scratch_pointer(
    k: Micro, address: ir.Value, width: int, lane: ir.Value, *, align: int = 1
) -> ir.Value:
    """Host pointer of a checked byte address (i64) in the lane's private segment."""
    irb = k.irb
    size = k.load(I64, k.group, at.SCRATCH_LANE_BYTES, 8)
    end = irb.add(address, I64(width))
    fault_if(k, irb.icmp_unsigned(">", end, size), at.SCRATCH_BOUNDS, lane, address, width)
    _check_alignment(k, address, align, at.MISALIGNED, lane, width)
    start = irb.mul(irb.add(scratch_lane(k), lane), size)
    return k.place(k.at(k.load(PTR, k.group, at.SCRATCH_POINTER, 8), irb.add(start, address)))


def scratch_lane(k: Micro) -> ir.Value:
    """Number of the wave's lane 0 among the workgroup's lanes, i64."""
    index = k.irb.zext(k.load(I32, k.wave, at.WAVE_INDEX, 4), I64)
    return k.irb.mul(index, k.load(I64, k.group, at.WAVE_LANES, 8))
