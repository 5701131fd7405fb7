"""DS instructions beyond one load or store a lane: two addresses, counts, transposed loads."""

from __future__ import annotations

from collections.abc import Iterator

from llvmlite import ir

from pipedsl.sim.builder import I8, I32, I64, PTR
from pipedsl.sim.micro.lanes import each_lane, lane_addresses
from pipedsl.sim.micro.moves import (
    form_bytes,
    lane_slot,
    move_out,
    read_integer,
    read_memory,
    write_integer,
    write_registers,
)
from pipedsl.sim.micro.pointers import exec_bits, lds_pointer
from pipedsl.sim.micro.registry import Micro, micro_kernel


def _both(
    k: Micro, lanes: int, form: str, vector: ir.Value, offsets: tuple[ir.Value, ...], *, write: bool
) -> Iterator[tuple[int, ir.Value, ir.Value]]:
    """Loop over the active lanes at the first offset, then at the second."""
    for place, offset in enumerate(offsets):
        addresses = lane_addresses(k, lanes, "lds", "v32", vector, offset)
        mask, width = exec_bits(k, lanes), form_bytes(form)
        for lane, pointer in each_lane(k, lanes, "lds", addresses, mask, width, write=write):
            yield place, lane, pointer


def _result(k: Micro, row: ir.Value, lanes: int, form: str, place: int) -> ir.Value:
    return k.at(row, place * form_bytes(form) * lanes)


@micro_kernel("lds_load2", lambda lanes, form: [PTR, PTR, I32, I32])
def lds_load2(k: Micro, lanes: int, form: str) -> None:
    """``dst row, address row, two offsets``."""
    row, vector, *offsets = k.args
    # The first load may overwrite the addresses of the second.
    kept = k.variable(ir.VectorType(I32, lanes), None)
    k.irb.store(k.load(ir.VectorType(I32, lanes), vector, 0, 64), kept, align=64)
    for place, lane, pointer in _both(k, lanes, form, kept, tuple(offsets), write=False):
        target = _result(k, row, lanes, form, place)
        write_registers(k, target, lane, lanes, form, read_memory(k, pointer, form))
    k.ret(0)


@micro_kernel("lds_store2", lambda lanes, form: [PTR, PTR, PTR, I32, I32])
def lds_store2(k: Micro, lanes: int, form: str) -> None:
    """``first data row, second, address row, two offsets``."""
    first, second, vector, *offsets = k.args
    for place, lane, pointer in _both(k, lanes, form, vector, tuple(offsets), write=True):
        move_out(k, (first, second)[place], pointer, lane, lanes, form)
    k.ret(0)


@micro_kernel("lds_swap2", lambda lanes, form: [PTR, PTR, PTR, PTR, I32, I32])
def lds_swap2(k: Micro, lanes: int, form: str) -> None:
    """``dst row, first data row, second, address row, two offsets``: exchange with memory.

    Both old values are read before either new one is written.
    """
    row, first, second, vector, *offsets = k.args
    bits = 8 * form_bytes(form)
    with k.active_lanes(exec_bits(k, lanes)) as lane:
        base = k.irb.load(lane_slot(k, vector, lane, 0, lanes), align=4, typ=I32)
        new = [read_integer(k, data, lane, lanes, bits) for data in (first, second)]
        pointers = [
            lds_pointer(
                k, k.irb.zext(k.irb.add(base, offset), I64), bits // 8, lane, align=bits // 8
            )
            for offset in offsets
        ]
        old = [k.load(ir.IntType(bits), pointer) for pointer in pointers]
        for pointer, value in zip(pointers, new, strict=True):
            k.store(value, pointer)
        for place, value in enumerate(old):
            write_integer(k, _result(k, row, lanes, form, place), lane, lanes, value)
    k.ret(0)


@micro_kernel("lds_count", lambda lanes, op: [PTR, I32])
def lds_count(k: Micro, lanes: int, op: str) -> None:
    """``dst row, address``: add or subtract the number of active lanes; all get the old value."""
    row, address = k.args
    mask = exec_bits(k, lanes)
    pointer = lds_pointer(k, k.irb.zext(address, I64), 4, I64(0), align=4)
    old = k.load(I32, pointer, 0, 4)
    count = k.s.popcount(mask)
    count = count if count.type == I32 else k.irb.trunc(count, I32)
    k.store(k.irb.add(old, count) if op == "add" else k.irb.sub(old, count), pointer, 0, 4)
    with k.active_lanes(mask) as lane:
        write_integer(k, row, lane, lanes, old)
    k.ret(0)


@micro_kernel("lds_load_transposed", lambda lanes, form, bits: [PTR, PTR, I32])
def lds_load_transposed(k: Micro, lanes: int, form: str, bits: int) -> None:
    """``dst row, address row, offset``: load rows of 16 elements of `bits` bits, return columns.

    In each group of 16 lanes a lane loads n elements, so that neighbouring lanes hold n rows of
    16. Lane i of the group receives element i of every row, row 0 lowest.
    """
    row, vector, offset = k.args
    width = form_bytes(form)
    count, stride, wide = width * 8 // bits, 8 if width == 8 else 16, ir.IntType(width * 8)
    staged = k.variable(ir.ArrayType(I8, stride * lanes), None)
    mask = exec_bits(k, lanes)
    addresses = lane_addresses(k, lanes, "lds", "v32", vector, offset)
    for lane, pointer in each_lane(k, lanes, "lds", addresses, mask, width):
        k.store(k.load(wide, pointer), staged, k.irb.mul(lane, I64(stride)))
    with k.active_lanes(mask) as lane:
        inside = k.irb.and_(lane, I64(15))
        first = k.irb.add(k.irb.sub(lane, inside), k.irb.udiv(inside, I64(count)))
        place = k.irb.mul(k.irb.urem(inside, I64(count)), I64(bits))
        shift = k.irb.zext(place, wide) if wide.width > 64 else place
        column = wide(0)
        for number in range(count):
            source = k.irb.add(first, I64(number * 16 // count))
            value = k.irb.lshr(k.load(wide, staged, k.irb.mul(source, I64(stride))), shift)
            value = k.irb.and_(value, wide((1 << bits) - 1))
            column = k.irb.or_(column, k.irb.shl(value, wide(number * bits)))
        for dword in range(width // 4):
            part = k.irb.trunc(k.irb.lshr(column, wide(32 * dword)), I32)
            k.irb.store(part, lane_slot(k, row, lane, dword, lanes), align=4)
    k.ret(0)
