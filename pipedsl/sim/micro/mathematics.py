"""Transcendental functions over lanes: computed in double, so the float result is within 0.51 ULP.

The hardware's are within 1 ULP (half a ULP more for some inputs); the last bit can differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from llvmlite import ir

from pipedsl.sim.builder import DOUBLE, FLOAT, HALF, Builder
from pipedsl.sim.micro.registry import lane_function

_LN2 = math.log(2.0)
_EXP2 = [_LN2**k / math.factorial(k) for k in range(13)]
_LOG2 = [2.0 / (_LN2 * k) for k in range(1, 21, 2)]
_SIN = [(-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(10)]


def _polynomial(b: Builder, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """Horner's rule; `coefficients` from the constant term up."""
    total = b.const("f64", coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = b.fma(total, x, coefficient)
    return total


def _power_of_two(b: Builder, exponent: ir.Value) -> ir.Value:
    """2 to a whole f64 exponent in [-1022, 1023]."""
    whole = b.irb.fptosi(exponent, b.type("i64"))
    return b.bitcast("f64", b.shl(b.add(whole, 1023), 52))


def exp2(b: Builder, x: ir.Value) -> ir.Value:
    """2**x for |x| that float results need; x is f64."""
    clamped = b.select(b.fcmp(">", x, -1000.0), x, -1000.0)
    clamped = b.select(b.fcmp("<", clamped, 1000.0), clamped, 1000.0)
    whole = b.math("roundeven", clamped)
    fraction = _polynomial(b, b.fsub(clamped, whole), _EXP2)
    value = b.fmul(fraction, _power_of_two(b, whole))
    return b.select(b.is_nan(x), x, value)


def log2(b: Builder, x: ir.Value) -> ir.Value:
    """log2 of a normal f64: -inf at 0, NaN below."""
    raw = b.bitcast("u64", x)
    # The exponent is taken so that the mantissa lies in [sqrt(1/2), sqrt(2)).
    shifted = b.sub(raw, 0x3FE6A09E667F3BCD)
    exponent = b.ashr(shifted, 52)
    mantissa = b.bitcast("f64", b.sub(raw, b.shl(exponent, 52)))
    ratio = b.fdiv(b.fsub(mantissa, 1.0), b.fadd(mantissa, 1.0))
    series = _polynomial(b, b.fmul(ratio, ratio), _LOG2)
    value = b.fma(ratio, series, b.to_float("f64", exponent, signed=True))
    value = b.select(b.fcmp("==", x, math.inf), math.inf, value)
    value = b.select(b.fcmp("==", x, 0.0), -math.inf, value)
    return b.select(b.fcmp_unordered("<", x, 0.0), math.nan, value)


def sin_turns(b: Builder, x: ir.Value) -> ir.Value:
    """Sine of `x` turns; NaN for infinities."""
    turn = b.fsub(x, b.math("roundeven", x))
    # Fold the outer quarters onto the inner ones.
    half = b.math("copysign", b.const("f64", 0.5), turn)
    outer = b.fcmp(">", b.fabs(turn), 0.25)
    folded = b.select(outer, b.fsub(half, turn), turn)
    return b.fmul(folded, _polynomial(b, b.fmul(folded, folded), _SIN))


def cos_turns(b: Builder, x: ir.Value) -> ir.Value:
    """Cosine of `x` turns; NaN for infinities."""
    turn = b.fabs(b.fsub(x, b.math("roundeven", x)))
    folded = b.fsub(b.const("f64", 0.25), turn)
    return b.fmul(folded, _polynomial(b, b.fmul(folded, folded), _SIN))


_NAMES = {HALF: "f16", FLOAT: "f32", DOUBLE: "f64"}
_SMALLEST = 2.0**-126


def _flushed(b: Builder, x: ir.Value) -> ir.Value:
    """f32 denormals as zeros: these functions take and give none, whatever MODE says."""
    if b.element(x) != FLOAT:
        return x
    small = b.fcmp("<", b.fabs(x), _SMALLEST)
    return b.select(small, b.math("copysign", b.const("f32", 0.0), x), x)


def _evaluate(function: Callable[..., ir.Value], b: Builder, x: ir.Value) -> ir.Value:
    kind = _NAMES[b.element(x)]
    wide = b.fconvert("f64", _flushed(b, x))
    return _flushed(b, b.fconvert(kind, function(b, wide)))


for _name, _function in (
    ("rcp", lambda b, x: b.fdiv(1.0, x)),
    ("rsq", lambda b, x: b.fdiv(1.0, b.math("sqrt", x))),
    ("sqrt", lambda b, x: b.math("sqrt", x)),
    ("exp", exp2),
    ("log", log2),
    ("sin", sin_turns),
    ("cos", cos_turns),
):
    lane_function(_name, "")(partial(_evaluate, _function))


@lane_function("fma", "")
def fma(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """``x * y + z`` with one rounding."""
    return b.fma(x, y, z)
