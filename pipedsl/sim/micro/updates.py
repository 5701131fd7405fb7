"""What atomic operations put in place of the old value."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from pipedsl.sim.builder import HALF, I32, I64, Builder

Update = Callable[..., ir.Value]


def _compare(op: str, *, signed: bool) -> Update:
    def update(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
        return s.select((s.icmp if signed else s.ucmp)(op, old, data), old, data)

    return update


def _increment(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
    """Wraps to 0 at `data`."""
    return s.select(s.ucmp(">=", old, data), 0, s.add(old, 1))


def _decrement(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
    """Wraps to `data` at 0, and from above `data`."""
    wrap = s.or_(s.ucmp("==", old, 0), s.ucmp(">", old, data))
    return s.select(wrap, data, s.sub(old, 1))


def _subtract_clamped(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
    return s.saturating("usub", old, data)


def _subtract_if_enough(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
    return s.select(s.ucmp(">=", old, data), s.sub(old, data), old)


def _wrap(s: Builder, old: ir.Value, data: ir.Value, second: ir.Value) -> ir.Value:
    return s.select(s.ucmp(">=", old, data), s.sub(old, data), s.add(old, second))


def _mask_or(s: Builder, old: ir.Value, data: ir.Value, second: ir.Value) -> ir.Value:
    return s.or_(s.and_(old, s.not_(data)), second)


def _exchange_flagged(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
    """Each half is replaced by the low 31 bits of its operand where the operand's bit 31 is set."""
    flags = s.and_(data, 0x80000000_80000000)
    mask = s.or_(flags, s.sub(flags, s.lshr(flags, 31)))
    new = s.and_(data, 0x7FFFFFFF_7FFFFFFF)
    return s.or_(s.and_(old, s.not_(mask)), s.and_(new, mask))


def _swap_if_equal(*, comparand_first: bool, is_float: bool) -> Update:
    def update(s: Builder, old: ir.Value, first: ir.Value, second: ir.Value) -> ir.Value:
        comparand, new = (first, second) if comparand_first else (second, first)
        if not is_float:
            return s.select(s.ucmp("==", old, comparand), new, old)
        return s.select(s.fcmp("==", _as_float(s, old), _as_float(s, comparand)), new, old)

    return update


def _as_float(s: Builder, value: ir.Value) -> ir.Value:
    return s.bitcast("f64" if value.type == I64 else "f32", value)


def _float(op: str) -> Update:
    def update(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
        x, y = _as_float(s, old), _as_float(s, data)
        result = s.fadd(x, y) if op == "add" else s.intrinsic(f"{op}num", x, y)
        return s.bitcast("u64" if old.type == I64 else "u32", result)

    return update


def _add_halves(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
    pair = ir.VectorType(HALF, 2)
    total = s.irb.fadd(s.irb.bitcast(old, pair), s.irb.bitcast(data, pair))
    return s.irb.bitcast(total, I32)


def _add_bfloats(s: Builder, old: ir.Value, data: ir.Value) -> ir.Value:
    high = _round_bfloat(s, s.and_(old, 0xFFFF0000), s.and_(data, 0xFFFF0000))
    low = _round_bfloat(s, s.shl(old, 16), s.shl(data, 16))
    return s.or_(s.and_(high, 0xFFFF0000), s.lshr(low, 16))


def _round_bfloat(s: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """Sum of two bf16 values, each the high half of its argument, to nearest even."""
    total = s.fadd(s.bitcast("f32", x), s.bitcast("f32", y))
    bits = s.bitcast("u32", total)
    rounded = s.add(bits, s.add(s.and_(s.lshr(bits, 16), 1), 0x7FFF))
    return s.select(s.is_nan(total), s.or_(bits, 0x400000), rounded)


UPDATES: dict[str, Update] = {
    "add": lambda s, old, data: s.add(old, data),
    "sub": lambda s, old, data: s.sub(old, data),
    "rsub": lambda s, old, data: s.sub(data, old),
    "and": lambda s, old, data: s.and_(old, data),
    "or": lambda s, old, data: s.or_(old, data),
    "xor": lambda s, old, data: s.xor(old, data),
    "swap": lambda s, old, data: data,
    "smin": _compare("<", signed=True),
    "smax": _compare(">", signed=True),
    "umin": _compare("<", signed=False),
    "umax": _compare(">", signed=False),
    "inc": _increment,
    "dec": _decrement,
    "sub_clamp": _subtract_clamped,
    "cond_sub": _subtract_if_enough,
    "fadd": _float("add"),
    "fmin": _float("min"),
    "fmax": _float("max"),
    "pk_add_f16": _add_halves,
    "pk_add_bf16": _add_bfloats,
    "condxchg": _exchange_flagged,
}
# With a second operand.
PAIR_UPDATES: dict[str, Update] = {
    "mskor": _mask_or,
    "wrap": _wrap,
    "cmpst": _swap_if_equal(comparand_first=True, is_float=False),
    "fcmpst": _swap_if_equal(comparand_first=True, is_float=True),
    "cmpstore": _swap_if_equal(comparand_first=False, is_float=False),
    "fcmpstore": _swap_if_equal(comparand_first=False, is_float=True),
    # The operands of these two are consecutive registers.
    "cmpswap": _swap_if_equal(comparand_first=False, is_float=False),
    "fcmpswap": _swap_if_equal(comparand_first=False, is_float=True),
}
CONSECUTIVE = ("cmpswap", "fcmpswap")
