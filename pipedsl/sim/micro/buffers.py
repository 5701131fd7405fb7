"""Accesses through a buffer resource: addresses, bounds, and what lies outside them.

Resource words (CDNA3, RDNA3 and RDNA4 ISA documents, "buffer resource descriptor"): base in bits
0-47, stride in 48-61, swizzling above, number of records in word 2. Range rules:

* gfx9: with a stride and ``idxen`` an index must be below the number of records; otherwise the
  byte offset, scalar offset included, must be below it.
* gfx11, gfx12: OOB_SELECT (word 3, bits 28-29) picks index and offset within the stride (0), index
  (1), only an empty buffer (2), or bytes (3).

Byte offsets are compared dword by dword, unsigned and without overflow. Outside, loads and
returning atomics give 0, stores and updates do nothing. What is inside the resource's range must
still be inside its allocation.
"""

from __future__ import annotations

from typing import NamedTuple

from llvmlite import ir

from pipedsl.sim import layout as at
from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.atomics import update_lanes
from pipedsl.sim.micro.lanes import read_row
from pipedsl.sim.micro.memory import load_lanes, load_lanes_to_lds, put_lds, store_lanes
from pipedsl.sim.micro.moves import form_bytes
from pipedsl.sim.micro.pointers import exec_bits, fault_if
from pipedsl.sim.micro.registry import Micro, micro_kernel

_ARGUMENTS = [PTR, PTR, I32, I32]  # address rows, resource, scalar offset, instruction offset
_BASE_MASK = (1 << 48) - 1


class _Access(NamedTuple):
    """The lanes of one buffer access.

    Attributes
    ----------
    addresses : ir.Value
        i64 per lane.
    on : ir.Value
        EXEC, an integer of one bit per lane.
    inside : list of ir.Value
        Integers of one bit per lane: whether the lane's first dword, second dword, ... is in range.
    """

    addresses: ir.Value
    on: ir.Value
    inside: list[ir.Value]

    def whole(self, k: Micro) -> ir.Value:
        """Lanes whose access is in range as a whole."""
        return k.irb.and_(self.on, self.inside[-1])

    def outside(self, k: Micro) -> ir.Value:
        """Active lanes of which at least a part is out of range."""
        return k.irb.and_(self.on, k.irb.not_(self.inside[-1]))


def _resolve(k: Micro, lanes: int, mode: str, generation: int, width: int) -> _Access:
    irb, b = k.irb, k.lanes(lanes)
    vector, resource, scalar, offset = k.args[-4:]
    words = [k.load(I32, resource, 4 * i, 4) for i in range(4)]
    base = irb.and_(k.load(I64, resource, 0, 4), I64(_BASE_MASK))
    private = irb.icmp_unsigned("==", irb.lshr(base, I64(32)), I64(at.PRIVATE_APERTURE))
    _refuse_swizzling(k, words, private)
    stride = b.splat(irb.zext(irb.and_(irb.lshr(words[1], I32(16)), I32(0x3FFF)), I64))
    records = b.splat(irb.zext(words[2], I64))
    index = b.const("u64", 0)
    inner = b.splat(irb.zext(offset, I64))
    if mode in ("index", "both"):
        index = b.zext("u64", read_row(k, lanes, vector))
    if mode in ("offset", "both"):
        inner = b.add(inner, b.zext("u64", read_row(k, lanes, vector, mode == "both")))
    start = b.add(b.add(b.mul(index, stride), inner), b.splat(irb.zext(scalar, I64)))
    inside = []
    for end in [min(width, 4 * (i + 1)) for i in range(max(width // 4, 1))]:
        bytes_fit = b.ucmp("<=", b.add(start, end), records)
        index_fits = b.ucmp("<", index, records)
        if generation == 9:
            fits = bytes_fit
            if mode in ("index", "both"):
                fits = b.select(b.ucmp("!=", stride, 0), index_fits, bytes_fit)
        else:
            select = b.splat(irb.and_(irb.lshr(words[3], I32(28)), I32(3)))
            in_record = b.and_(index_fits, b.ucmp("<=", b.add(inner, width), stride))
            fits = b.select(b.ucmp("==", select, 1), index_fits, b.ucmp("!=", records, 0))
            fits = b.select(b.ucmp("==", select, 0), in_record, fits)
            fits = b.select(b.ucmp("==", select, 3), bytes_fit, fits)
        inside.append(irb.or_(b.mask_to_int(fits), irb.sext(private, ir.IntType(lanes))))
    return _Access(b.add(start, b.splat(base)), exec_bits(k, lanes), inside)


def _refuse_swizzling(k: Micro, words: list[ir.Value], private: ir.Value) -> None:
    """Swizzling resources are known only for the private segment, where each lane has its own bytes."""
    irb = k.irb
    swizzle = irb.icmp_signed("<", words[1], I32(0))
    by_lane = irb.icmp_unsigned("!=", irb.and_(words[3], I32(1 << 23)), I32(0))
    bad = irb.and_(irb.or_(swizzle, by_lane), irb.not_(private))
    fault_if(k, bad, at.SWIZZLED, I64(0), I64(0), 0)


def _clear(k: Micro, lanes: int, row: ir.Value, mask: ir.Value, form: str) -> None:
    """Zero what a load of `form` writes, in the lanes of `mask`."""
    b = k.lanes(lanes)
    keep = {"l": 0xFFFF0000, "h": 0xFFFF}.get(form[-1], 0)
    for dword in range(max(form_bytes(form) // 4, 1)):
        old = read_row(k, lanes, row, dword)
        value = b.select(b.int_to_mask(mask), b.and_(old, keep), old)
        k.store(value, row, dword * lanes * 4, 64)


@micro_kernel("buffer_load", lambda lanes, mode, generation, form: [PTR, *_ARGUMENTS])
def buffer_load(k: Micro, lanes: int, mode: str, generation: int, form: str) -> None:
    """``dst row``, then the address: load `form` into the active lanes."""
    row = k.args[0]
    found = _resolve(k, lanes, mode, generation, form_bytes(form))
    _clear(k, lanes, row, found.outside(k), form)
    load_lanes(k, lanes, "flat", found.addresses, found.whole(k), row, form)
    for dword, mask in _partial(k, found):
        addresses = k.lanes(lanes).add(found.addresses, 4 * dword)
        load_lanes(k, lanes, "flat", addresses, mask, k.at(row, dword * lanes * 4), "b32")
    k.ret(0)


def _partial(k: Micro, found: _Access) -> list[tuple[int, ir.Value]]:
    """Dwords that lanes reach although their last dword is out of range."""
    outside = found.outside(k)
    return [(i, k.irb.and_(outside, inside)) for i, inside in enumerate(found.inside[:-1])]


@micro_kernel("buffer_store", lambda lanes, mode, generation, form: [PTR, *_ARGUMENTS])
def buffer_store(k: Micro, lanes: int, mode: str, generation: int, form: str) -> None:
    """``data row``, then the address: store `form` from the active lanes."""
    row = k.args[0]
    found = _resolve(k, lanes, mode, generation, form_bytes(form))
    store_lanes(k, lanes, "flat", found.addresses, found.whole(k), row, form)
    for dword, mask in _partial(k, found):
        addresses = k.lanes(lanes).add(found.addresses, 4 * dword)
        store_lanes(k, lanes, "flat", addresses, mask, k.at(row, dword * lanes * 4), "b32")
    k.ret(0)


@micro_kernel(
    "buffer_atomic", lambda lanes, mode, generation, op, bits, returns: [PTR, *_ARGUMENTS]
)
def buffer_atomic(
    k: Micro, lanes: int, mode: str, generation: int, op: str, bits: int, returns: int
) -> None:
    """``data row``, then the address: update memory; old values replace the data."""
    row = k.args[0]
    found = _resolve(k, lanes, mode, generation, bits // 8)
    mask, target = found.whole(k), row if returns else None
    update_lanes(k, lanes, "flat", found.addresses, mask, op, bits, target, row, k.wave)
    if returns:
        _clear(k, lanes, row, found.outside(k), f"b{bits}")
    k.ret(0)


@micro_kernel("buffer_load_lds", lambda lanes, mode, generation, form, stride: [I32, *_ARGUMENTS])
def buffer_load_lds(
    k: Micro, lanes: int, mode: str, generation: int, form: str, stride: int
) -> None:
    """``LDS start``, then the address: load `form` to LDS; lanes out of range write 0."""
    start = k.args[0]
    width = form_bytes(form)
    found = _resolve(k, lanes, mode, generation, width)
    with k.active_lanes(found.outside(k)) as lane:
        put_lds(k, start, lane, stride, [I32(0)] * max(width // 4, 1))
    load_lanes_to_lds(k, lanes, "flat", found.addresses, found.whole(k), start, form, stride)
    for dword, mask in _partial(k, found):
        addresses = k.lanes(lanes).add(found.addresses, 4 * dword)
        place = k.irb.add(start, I32(4 * dword))
        load_lanes_to_lds(k, lanes, "flat", addresses, mask, place, "b32", stride)
    k.ret(0)
