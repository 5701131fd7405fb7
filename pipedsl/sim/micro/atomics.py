"""Atomic read-modify-write of the lanes of a wave, on LDS and global memory."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from pipedsl.sim.builder import I32, I64, PTR
from pipedsl.sim.micro.memory import (
    exec_bits,
    lane_address,
    lane_slot,
    lds_pointer,
)
from pipedsl.sim.micro.registry import Micro, micro_kernel


def _compare(op: str, signed: bool) -> Callable[[Micro, ir.Value, ir.Value], ir.Value]:
    def update(k: Micro, old: ir.Value, data: ir.Value) -> ir.Value:
        compare = k.s.icmp if signed else k.s.ucmp
        return k.s.select(compare(op, old, data), old, data)

    return update


def _increment(k: Micro, old: ir.Value, data: ir.Value) -> ir.Value:
    """Wraps to 0 at `data`."""
    return k.s.select(k.s.ucmp(">=", old, data), 0, k.s.add(old, 1))


def _decrement(k: Micro, old: ir.Value, data: ir.Value) -> ir.Value:
    """Wraps to `data` at 0, and from above `data`."""
    wrap = k.s.or_(k.s.ucmp("==", old, 0), k.s.ucmp(">", old, data))
    return k.s.select(wrap, data, k.s.sub(old, 1))


def _float(op: str) -> Callable[[Micro, ir.Value, ir.Value], ir.Value]:
    def update(k: Micro, old: ir.Value, data: ir.Value) -> ir.Value:
        kind = "f64" if old.type == I64 else "f32"
        x, y = k.s.bitcast(kind, old), k.s.bitcast(kind, data)
        if op == "add":
            result = k.s.fadd(x, y)
        else:
            result = k.s.intrinsic("minnum" if op == "min" else "maxnum", x, y)
        return k.s.bitcast("u64" if old.type == I64 else "u32", result)

    return update


UPDATES: dict[str, Callable[[Micro, ir.Value, ir.Value], ir.Value]] = {
    "add": lambda k, old, data: k.s.add(old, data),
    "sub": lambda k, old, data: k.s.sub(old, data),
    "rsub": lambda k, old, data: k.s.sub(data, old),
    "and": lambda k, old, data: k.s.and_(old, data),
    "or": lambda k, old, data: k.s.or_(old, data),
    "xor": lambda k, old, data: k.s.xor(old, data),
    "swap": lambda k, old, data: data,
    "smin": _compare("<", True),
    "smax": _compare(">", True),
    "umin": _compare("<", False),
    "umax": _compare(">", False),
    "inc": _increment,
    "dec": _decrement,
    "fadd": _float("add"),
    "fmin": _float("min"),
    "fmax": _float("max"),
}


def _read(
    k: Micro, row: ir.Value, lane: ir.Value, lanes: int, kind: ir.IntType, first: int = 0
) -> ir.Value:
    low = k.irb.load(lane_slot(k, row, lane, first, lanes), align=4, typ=I32)
    if kind == I32:
        return low
    high = k.irb.load(lane_slot(k, row, lane, first + 1, lanes), align=4, typ=I32)
    return k.irb.or_(k.irb.zext(low, I64), k.irb.shl(k.irb.zext(high, I64), I64(32)))


def _write(k: Micro, row: ir.Value, lane: ir.Value, lanes: int, value: ir.Value) -> None:
    if value.type == I32:
        k.irb.store(value, lane_slot(k, row, lane, 0, lanes), align=4)
        return
    k.irb.store(k.irb.trunc(value, I32), lane_slot(k, row, lane, 0, lanes), align=4)
    high = k.irb.trunc(k.irb.lshr(value, I64(32)), I32)
    k.irb.store(high, lane_slot(k, row, lane, 1, lanes), align=4)


@micro_kernel("lds_atomic", lambda lanes, op, bits, returns: [PTR, PTR, PTR, I32])
def lds_atomic(k: Micro, lanes: int, op: str, bits: int, returns: int) -> None:
    """``dst row, data row, address row, offset``; one workgroup runs on one core, so plain updates do."""
    target, data, vector, offset = k.args
    kind = ir.IntType(bits)
    with k.active_lanes(exec_bits(k, lanes)) as lane:
        address = lane_address(k, lanes, "v32", lane, vector, k.irb.zext(offset, I64))
        pointer = lds_pointer(k, address, bits // 8, lane, align=bits // 8)
        old = k.load(kind, pointer, 0, bits // 8)
        k.store(_new_value(k, op, old, data, lane, lanes, kind), pointer, 0, bits // 8)
        if returns:
            _write(k, target, lane, lanes, old)
    k.ret(0)


def _new_value(
    k: Micro, op: str, old: ir.Value, data: ir.Value, lane: ir.Value, lanes: int, kind: ir.IntType
) -> ir.Value:
    value = _read(k, data, lane, lanes, kind)
    return UPDATES[op](k, old, value)
