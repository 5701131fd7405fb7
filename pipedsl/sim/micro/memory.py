"""Loads and stores of the lanes of a wave, and loads that go to LDS."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.lanes import each_lane, lane_addresses
from pipedsl.sim.micro.moves import form_bytes, move_out, read_memory, write_registers
from pipedsl.sim.micro.pointers import exec_bits, lds_pointer
from pipedsl.sim.micro.registry import Micro, micro_kernel


def address_type(space: str) -> ir.IntType:
    """Type of a base address in `space`."""
    return I64 if space in ("global", "flat") else I32


@micro_kernel("load", lambda lanes, space, mode, form: [PTR, PTR, address_type(space)])
def load(k: Micro, lanes: int, space: str, mode: str, form: str) -> None:
    """``dst row, address rows, base``: load `form` into the active lanes."""
    row, vector, base = k.args
    addresses = lane_addresses(k, lanes, space, mode, vector, base)
    load_lanes(k, lanes, space, addresses, exec_bits(k, lanes), row, form)
    k.ret(0)


def load_lanes(
    k: Micro, lanes: int, space: str, addresses: ir.Value, mask: ir.Value, row: ir.Value, form: str
) -> None:
    """Load `form` into the lanes of `mask`."""
    for lane, pointer in each_lane(k, lanes, space, addresses, mask, form_bytes(form)):
        write_registers(k, row, lane, lanes, form, read_memory(k, pointer, form))


@micro_kernel("store", lambda lanes, space, mode, form: [PTR, PTR, address_type(space)])
def store(k: Micro, lanes: int, space: str, mode: str, form: str) -> None:
    """``data row, address rows, base``: store `form` from the active lanes."""
    row, vector, base = k.args
    addresses = lane_addresses(k, lanes, space, mode, vector, base)
    store_lanes(k, lanes, space, addresses, exec_bits(k, lanes), row, form)
    k.ret(0)


def store_lanes(
    k: Micro, lanes: int, space: str, addresses: ir.Value, mask: ir.Value, row: ir.Value, form: str
) -> None:
    """Store `form` from the lanes of `mask`; of lanes with one address the highest wins."""
    for lane, pointer in each_lane(k, lanes, space, addresses, mask, form_bytes(form), write=True):
        move_out(k, row, pointer, lane, lanes, form)


@micro_kernel("load_lds", lambda lanes, space, mode, form, stride: [I32, PTR, address_type(space)])
def load_lds(k: Micro, lanes: int, space: str, mode: str, form: str, stride: int) -> None:
    """``LDS start, address rows, base``: the active lanes load `form` to LDS, `stride` bytes apart."""
    start, vector, base = k.args
    addresses = lane_addresses(k, lanes, space, mode, vector, base)
    load_lanes_to_lds(k, lanes, space, addresses, exec_bits(k, lanes), start, form, stride)
    k.ret(0)


def load_lanes_to_lds(
    k: Micro, lanes: int, space: str, addresses: ir.Value, mask: ir.Value, start: ir.Value,
    form: str, stride: int,
) -> None:  # fmt: skip
    """Lanes of `mask` load `form` to LDS at `start` + lane * `stride`; others leave their place."""
    for lane, pointer in each_lane(k, lanes, space, addresses, mask, form_bytes(form)):
        put_lds(k, start, lane, stride, read_memory(k, pointer, form))


def put_lds(k: Micro, start: ir.Value, lane: ir.Value, stride: int, values: list[ir.Value]) -> None:
    """Write a lane's dwords to its place in LDS."""
    place = k.irb.add(k.irb.zext(start, I64), k.irb.mul(lane, I64(stride)))
    pointer = lds_pointer(k, place, 4 * len(values), lane, align=4)
    for dword, value in enumerate(values):
        k.store(value, pointer, dword * 4)
