"""The lanes of a wave that access memory: their addresses, and a loop over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.pointers import checked_pointer, scratch_lane, slot_entry
from pipedsl.sim.micro.registry import Micro


def each_lane(
    k: Micro, lanes: int, space: str, addresses: ir.Value, mask: ir.Value, width: int, *,
    write: bool = False, align: int = 1, together: bool = True,
) -> Iterator[tuple[ir.Value, ir.Value]]:  # fmt: skip
    """Loop over the lanes of `mask`, lowest first: yields lane (i64) and host pointer.

    The body is emitted up to three times. Where one comparison of all addresses shows that every
    lane stays inside one allocation (or LDS, or scratch), the loop has no checks of its own, and
    with all lanes on no search for the next one. Otherwise every lane is checked by itself, which
    finds the lane that faults.

    Parameters
    ----------
    space : {"global", "flat", "lds", "scratch"}
    addresses : ir.Value
        i64 per lane; i32 for ``lds`` and ``scratch``.
    mask : ir.Value
        Integer of one bit per lane.
    width : int
        Bytes of one lane's access.
    together : bool
        Whether the common check is worth its code.
    """
    irb = k.irb
    table = k.variable(addresses.type, None)
    irb.store(addresses, table)
    element = addresses.type.element
    done = k.block("all_done")
    if together and align == 1 and not k.observed:
        some, common, single = k.block("some"), k.block("common"), k.block("single")
        irb.cbranch(irb.icmp_unsigned("!=", mask, mask.type(0)), some, done)
        irb.position_at_end(some)
        window = _window(k, space, table, mask, element, width, write)
        b = k.lanes(lanes)
        places = addresses if window.origin is None else b.sub(addresses, b.splat(window.origin))
        inside = b.ucmp("<=", places, b.splat(window.limit))
        bits = irb.or_(b.mask_to_int(inside), irb.not_(mask))
        fits = irb.and_(window.valid, irb.icmp_unsigned("==", bits, mask.type(-1)))
        irb.cbranch(fits, common, single)
        irb.position_at_end(common)
        full, partial = k.block("full"), k.block("partial")
        irb.cbranch(irb.icmp_unsigned("==", mask, mask.type(-1)), full, partial)
        irb.position_at_end(full)
        with k.loop(lanes) as lane:
            yield lane, _inside(k, table, element, lane, window)
        irb.branch(done)
        irb.position_at_end(partial)
        with k.active_lanes(mask) as lane:
            yield lane, _inside(k, table, element, lane, window)
        irb.branch(done)
        irb.position_at_end(single)
    with k.active_lanes(mask) as lane:
        address = _widened(k, _entry(k, table, element, lane))
        yield lane, checked_pointer(k, space, address, width, lane, write=write, align=align)
    irb.branch(done)
    irb.position_at_end(done)


class _Window(NamedTuple):
    """A range of addresses that are valid together.

    Attributes
    ----------
    valid : ir.Value
        Whether there is such a range at all.
    origin : ir.Value or None
        Address of its first byte; None for 0.
    limit : ir.Value
        Last place, from `origin`, at which an access may start.
    base : ir.Value
        Host pointer of its first byte.
    stride : ir.Value or None
        Bytes between the ranges of neighbouring lanes, for scratch.
    """

    valid: ir.Value
    origin: ir.Value | None
    limit: ir.Value
    base: ir.Value
    stride: ir.Value | None = None


def _window(
    k: Micro, space: str, table: ir.Value, mask: ir.Value, element: ir.Type, width: int, write: bool
) -> _Window:
    irb = k.irb
    if space in ("lds", "scratch"):
        size = k.load(I64, k.group, at.LDS_BYTES if space == "lds" else at.SCRATCH_LANE_BYTES, 8)
        limit = irb.trunc(irb.sub(size, I64(width)), I32)
        valid = irb.icmp_unsigned(">=", size, I64(width))
        if space == "lds":
            return _Window(valid, None, limit, k.load(PTR, k.group, at.LDS_POINTER, 8))
        start = irb.mul(scratch_lane(k), size)
        base = k.at(k.load(PTR, k.group, at.SCRATCH_POINTER, 8), start)
        return _Window(valid, None, limit, base, size)
    first = k.s.count_trailing_zeros(mask)
    first = first if first.type == I64 else irb.zext(first, I64)
    slot = irb.lshr(_entry(k, table, element, first), I64(32))
    known = irb.icmp_unsigned("<", slot, k.load(I64, k.group, at.SLOT_COUNT, 8))
    entry = slot_entry(k, irb.select(known, slot, I64(0)))  # slot 0 and the apertures have no bytes
    extent = k.load(I64, entry, 8, 8)
    size = irb.and_(extent, I64(at.SLOT_WRITABLE - 1))
    valid = irb.icmp_unsigned(">=", size, I64(width))
    if write:
        valid = irb.and_(valid, irb.icmp_signed("<", extent, I64(0)))
    origin = irb.shl(slot, I64(32))
    return _Window(valid, origin, irb.sub(size, I64(width)), k.load(PTR, entry, 0, 8))


def _entry(k: Micro, table: ir.Value, element: ir.Type, lane: ir.Value) -> ir.Value:
    return k.irb.load(k.irb.gep(table, [lane], source_etype=element), typ=element)


def _widened(k: Micro, address: ir.Value) -> ir.Value:
    return address if address.type == I64 else k.irb.zext(address, I64)


def _inside(
    k: Micro, table: ir.Value, element: ir.Type, lane: ir.Value, window: _Window
) -> ir.Value:
    address = _widened(k, _entry(k, table, element, lane))
    if window.origin is not None:
        address = k.irb.sub(address, window.origin)
    if window.stride is not None:
        address = k.irb.add(address, k.irb.mul(lane, window.stride))
    return k.at(window.base, address)


def read_row(k: Micro, lanes: int, row: ir.Value, dword: int = 0) -> ir.Value:
    """Register `row` + `dword`, all lanes."""
    return k.load(ir.VectorType(I32, lanes), row, dword * lanes * 4, 64)


def lane_addresses(
    k: Micro, lanes: int, space: str, mode: str, vector: ir.Value, base: ir.Value
) -> ir.Value:
    """Address of every lane, as `each_lane` takes them.

    ``v64``: a VGPR pair plus `base`; ``v32``: `base` plus a zero-extended VGPR; ``tid``: `base`
    plus 4 per lane; ``none``: `base`. LDS and scratch addresses wrap at 32 bits.
    """
    b = k.lanes(lanes)
    start = b.splat(base)
    wide = space in ("global", "flat")
    if mode == "none":
        return start
    if mode == "tid":
        steps = ir.Constant(start.type, [start.type.element(4 * lane) for lane in range(lanes)])
        return b.add(start, steps)
    low = read_row(k, lanes, vector)
    if wide:
        low = b.zext("u64", low)
    if mode == "v64":
        low = b.or_(low, b.shl(b.zext("u64", read_row(k, lanes, vector, 1)), 32))
    return b.add(low, start)
