"""Float to integer and float to float conversions over lanes, where a host instruction is not enough."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from pipedsl.sim.builder import Builder
from pipedsl.sim.micro.registry import lane_function


def _to_integer(kind: str, b: Builder, x: ir.Value) -> ir.Value:
    """f64 toward zero, saturated; NaN to 0."""
    bits, signed = int(kind[1:]), kind[0] == "i"
    low = -(2.0 ** (bits - 1)) if signed else 0.0
    high = 2.0 ** (bits - 1) - 1 if signed else 2.0**bits - 1
    x = b.select(b.fcmp(">", x, low), x, low)
    x = b.select(b.fcmp("<", x, high), x, high)
    wide = b.irb.fptosi(x, b.type("i64"))
    return b.trunc("u32", wide)


for _kind in ("i32", "u32", "i16", "u16", "i8", "u8"):

    def _convert(b: Builder, x: ir.Value, kind: str = _kind) -> ir.Value:
        return b.select(b.is_nan(x), 0, _to_integer(kind, b, x))

    lane_function(f"to_{_kind}", "u32")(_convert)


@lane_function("f16_toward_zero", "f16")
def f16_toward_zero(b: Builder, x: ir.Value) -> ir.Value:
    """f32 to f16, truncated: finite values stay finite."""
    nearest = b.fconvert("f16", x)
    raw = b.bitcast("u16", nearest)
    away = b.fcmp(">", b.fabs(b.fconvert("f32", nearest)), b.fabs(x))
    return b.bitcast("f16", b.select(away, b.sub(raw, 1), raw))


@lane_function("to_bf16", "u16")
def to_bf16(b: Builder, x: ir.Value) -> ir.Value:
    """f32 to bf16, to nearest even."""
    raw = b.bitcast("u32", x)
    even = b.and_(b.lshr(raw, 16), 1)
    rounded = b.lshr(b.add(raw, b.add(even, 0x7FFF)), 16)
    quiet = b.or_(b.lshr(raw, 16), 0x40)
    return b.trunc("u16", b.select(b.is_nan(x), quiet, rounded))


def _stochastic(kind: str, b: Builder, x: ir.Value, noise: ir.Value) -> ir.Value:
    """f32 plus noise below the last place that is kept, truncated."""
    drop = 13 if kind == "f16" else 16
    raw = b.bitcast("u32", x)
    dithered = b.add(raw, b.lshr(noise, 32 - drop))
    finite = b.ucmp("<", b.and_(raw, 0x7FFFFFFF), 0x7F800000)
    dithered = b.and_(b.select(finite, dithered, raw), ~((1 << drop) - 1) & 0xFFFFFFFF)
    if kind == "bf16":
        value = b.lshr(dithered, 16)
        return b.trunc("u16", b.select(b.is_nan(x), b.or_(b.lshr(raw, 16), 0x40), value))
    value = b.bitcast("u16", f16_toward_zero(b, b.bitcast("f32", dithered)))
    return b.select(b.is_nan(x), 0x7E00, value)


lane_function("sr_f16", "u16")(partial(_stochastic, "f16"))
lane_function("sr_bf16", "u16")(partial(_stochastic, "bf16"))
