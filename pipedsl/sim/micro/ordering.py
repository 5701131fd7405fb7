"""Minimum, maximum and median of floats, with the hardware's rules for NaN and signed zeros."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from pipedsl.sim.builder import DOUBLE, FLOAT, HALF, Builder
from pipedsl.sim.micro.registry import lane_function

_KINDS = {HALF: ("f16", "u16", 10), FLOAT: ("f32", "u32", 23), DOUBLE: ("f64", "u64", 52)}
Choice = Callable[[Builder, ir.Value, ir.Value], ir.Value]


def quieted(b: Builder, x: ir.Value) -> ir.Value:
    """`x`, a NaN, with its quiet bit set."""
    kind, integer, mantissa = _KINDS[b.element(x)]
    return b.bitcast(kind, b.or_(b.bitcast(integer, x), 1 << (mantissa - 1)))


def signals(b: Builder, x: ir.Value) -> ir.Value:
    """Whether `x` is a signalling NaN."""
    _, integer, mantissa = _KINDS[b.element(x)]
    loud = b.ucmp("==", b.and_(b.bitcast(integer, x), 1 << (mantissa - 1)), 0)
    return b.and_(b.is_nan(x), loud)


def _ordered(op: str) -> Choice:
    """The smaller (``<``) or larger of two numbers; -0 lies below +0."""

    def choose(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
        kind, integer, _ = _KINDS[b.element(x)]
        bits = [b.bitcast(integer, v) for v in (x, y)]
        zeros = b.bitcast(kind, (b.or_ if op == "<" else b.and_)(*bits))
        picked = b.select(b.fcmp(op, x, y), x, y)
        return b.select(b.fcmp("==", x, y), zeros, picked)

    return choose


def _ieee(op: str) -> Choice:
    """IEEE 754-2008: a signalling NaN wins, a quiet one loses (gfx9 and gfx11, MODE.IEEE = 1)."""
    ordered = _ordered(op)

    def choose(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
        value = ordered(b, x, y)
        value = b.select(b.is_nan(x), y, value)
        value = b.select(b.is_nan(y), x, value)
        value = b.select(signals(b, y), quieted(b, y), value)
        return b.select(signals(b, x), quieted(b, x), value)

    return choose


def _number(op: str) -> Choice:
    """IEEE 754-2019 minimumNumber: any NaN loses (gfx12 ``_num_``)."""
    ordered = _ordered(op)

    def choose(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
        value = b.select(b.is_nan(y), x, ordered(b, x, y))
        return b.select(b.is_nan(x), b.select(b.is_nan(y), quieted(b, x), y), value)

    return choose


def _propagating(op: str) -> Choice:
    """IEEE 754-2019 minimum: any NaN wins (``v_minimum``)."""
    ordered = _ordered(op)

    def choose(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
        value = b.select(b.is_nan(y), quieted(b, y), ordered(b, x, y))
        return b.select(b.is_nan(x), quieted(b, x), value)

    return choose


def _three(first: Choice, second: Choice) -> Callable[..., ir.Value]:
    return lambda b, x, y, z: second(b, first(b, x, y), z)


def _median(low: Choice, high: Choice) -> Callable[..., ir.Value]:
    def choose(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        value = high(b, low(b, x, y), low(b, high(b, x, y), z))
        nan = b.or_(b.is_nan(x), b.or_(b.is_nan(y), b.is_nan(z)))
        return b.select(nan, low(b, low(b, x, y), z), value)

    return choose


for _rule, _make in (("ieee", _ieee), ("num", _number), ("imum", _propagating)):
    _low, _high = _make("<"), _make(">")
    lane_function(f"min_{_rule}", "")(_low)
    lane_function(f"max_{_rule}", "")(_high)
    lane_function(f"min3_{_rule}", "")(_three(_low, _low))
    lane_function(f"max3_{_rule}", "")(_three(_high, _high))
    lane_function(f"minmax_{_rule}", "")(_three(_low, _high))
    lane_function(f"maxmin_{_rule}", "")(_three(_high, _low))
    lane_function(f"med3_{_rule}", "")(_median(_low, _high))


@lane_function("class", "u32")
def class_bit(b: Builder, x: ir.Value) -> ir.Value:
    """Number of the class of `x`, as ``v_cmp_class`` numbers them.

    0 signalling, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal,
    9 +inf.
    """
    _, integer, mantissa = _KINDS[b.element(x)]
    raw = b.bitcast(integer, x)
    width = b.element(raw).width
    size = b.and_(raw, (1 << (width - 1)) - 1)
    infinity = ((1 << (width - 1 - mantissa)) - 1) << mantissa
    kind = b.select(b.ucmp("==", size, 0), b.const("u32", 6), b.const("u32", 7))
    kind = b.select(b.ucmp(">=", size, 1 << mantissa), 8, kind)
    kind = b.select(b.ucmp("==", size, infinity), 9, kind)
    kind = b.select(b.icmp("<", raw, 0), b.sub(b.const("u32", 11), kind), kind)
    kind = b.select(b.ucmp(">", size, infinity), 1, kind)
    return b.select(signals(b, x), 0, kind)
