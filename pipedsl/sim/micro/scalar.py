"""SMEM: scalar loads, stores and atomics, by address or through a buffer resource."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.atomics import update_memory
from pipedsl.sim.micro.moves import form_bytes, read_memory
from pipedsl.sim.micro.pointers import global_pointer
from pipedsl.sim.micro.registry import Micro, micro_kernel
from pipedsl.sim.micro.updates import CONSECUTIVE

_LANE = I64(0)  # faults are reported for lane 0


def _aligned(k: Micro, address: ir.Value, form: str) -> ir.Value:
    """`address` without the low bits that SMEM ignores."""
    unit = min(form_bytes(form), 4)
    return k.irb.and_(address, I64(-unit)) if unit > 1 else address


def _load(k: Micro, target: ir.Value, address: ir.Value, form: str) -> None:
    pointer = global_pointer(k, address, form_bytes(form), _LANE, write=False)
    for dword, value in enumerate(read_memory(k, pointer, form)):
        k.store(value, target, 4 * dword, 4)


def _store(k: Micro, data: ir.Value, address: ir.Value, form: str) -> None:
    pointer = global_pointer(k, address, form_bytes(form), _LANE, write=True)
    for dword in range(form_bytes(form) // 4):
        k.store(k.load(I32, data, 4 * dword, 4), pointer, 4 * dword)


def _update(k: Micro, data: ir.Value, address: ir.Value, op: str, bits: int, returns: int) -> None:
    kind, width = ir.IntType(bits), bits // 8
    pointer = global_pointer(k, address, width, _LANE, write=True, align=width)
    operands = [k.load(kind, data, width * i, 4) for i in range(1 + (op in CONSECUTIVE))]
    old = update_memory(k, pointer, kind, op, operands, shared=True)
    if returns:
        k.store(old, data, 0, 4)


@micro_kernel("scalar_load", lambda form: [PTR, I64])
def scalar_load(k: Micro, form: str) -> None:
    """``dst scalars, address``."""
    _load(k, k.args[0], _aligned(k, k.args[1], form), form)
    k.ret(0)


@micro_kernel("scalar_store", lambda form: [PTR, I64])
def scalar_store(k: Micro, form: str) -> None:
    """``data scalars, address``."""
    _store(k, k.args[0], _aligned(k, k.args[1], form), form)
    k.ret(0)


@micro_kernel("scalar_atomic", lambda op, bits, returns: [PTR, I64])
def scalar_atomic(k: Micro, op: str, bits: int, returns: int) -> None:
    """``data scalars, address``: the old value replaces the data."""
    _update(k, k.args[0], k.args[1], op, bits, returns)
    k.ret(0)


def _resource(k: Micro, pointer: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Base address and bytes of a buffer resource."""
    irb = k.irb
    base = irb.and_(k.load(I64, pointer, 0, 4), I64((1 << 48) - 1))
    stride = irb.and_(irb.lshr(k.load(I32, pointer, 4, 4), I32(16)), I32(0x3FFF))
    records = irb.zext(k.load(I32, pointer, 8, 4), I64)
    unit = irb.select(irb.icmp_unsigned("==", stride, I32(0)), I32(1), stride)
    return base, irb.mul(records, irb.zext(unit, I64))


def _is_inside(k: Micro, offset: ir.Value, width: int, size: ir.Value) -> ir.Value:
    return k.irb.icmp_unsigned("<=", k.irb.add(offset, I64(width)), size)


@micro_kernel("scalar_buffer_load", lambda form: [PTR, PTR, I64])
def scalar_buffer_load(k: Micro, form: str) -> None:
    """``dst scalars, resource, offset``: dwords beyond the resource are 0."""
    target, resource, offset = k.args
    base, size = _resource(k, resource)
    offset = _aligned(k, offset, form)
    part, width = (form, form_bytes(form)) if form[0] != "b" else ("b32", 4)
    # The target may overlap the resource.
    for number in reversed(range(max(form_bytes(form) // 4, 1))):
        place = k.irb.add(offset, I64(4 * number))
        slot = k.at(target, 4 * number)
        inside, outside, done = k.block("inside"), k.block("outside"), k.block("done")
        k.irb.cbranch(_is_inside(k, place, width, size), inside, outside)
        k.irb.position_at_end(outside)
        k.store(I32(0), slot, 0, 4)
        k.irb.branch(done)
        k.irb.position_at_end(inside)
        _load(k, slot, k.irb.add(base, place), part)
        k.irb.branch(done)
        k.irb.position_at_end(done)
    k.ret(0)


@micro_kernel("scalar_buffer_store", lambda form: [PTR, PTR, I64])
def scalar_buffer_store(k: Micro, form: str) -> None:
    """``data scalars, resource, offset``: dwords beyond the resource are dropped."""
    data, resource, offset = k.args
    base, size = _resource(k, resource)
    offset = _aligned(k, offset, form)
    for number in range(form_bytes(form) // 4):
        place = k.irb.add(offset, I64(4 * number))
        with k.when(_is_inside(k, place, 4, size)):
            _store(k, k.at(data, 4 * number), k.irb.add(base, place), "b32")
    k.ret(0)


@micro_kernel("scalar_buffer_atomic", lambda op, bits, returns: [PTR, PTR, I64])
def scalar_buffer_atomic(k: Micro, op: str, bits: int, returns: int) -> None:
    """``data scalars, resource, offset``: beyond the resource nothing changes."""
    data, resource, offset = k.args
    base, size = _resource(k, resource)
    with k.when(_is_inside(k, offset, bits // 8, size)):
        _update(k, data, k.irb.add(base, offset), op, bits, returns)
    k.ret(0)
