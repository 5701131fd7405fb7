"""float64 functions for which AMD GPUs have no instruction, written as device functions.

Each reduces its argument to a short interval and sums a power series there, in fused steps.
Accuracy in float64: `exp`, `exp2`, `log` and `log2` 2 ulp; `log10` and `tanh` 3 ulp; `sin` and
`cos` 2 ulp for arguments below 2**30 (after rounding to float32: below 2**50); `tan` 4 ulp;
`power` a relative error of 1e-15 at most. NaN, infinities and zeros follow C99, as ``math`` does
where it does not raise.
"""

from __future__ import annotations

import math

import numpy as np

from pipedsl.target.function import DeviceFunction
from pipedsl.target.gpu import floor, fma, rint

_INF = math.inf
_NAN = math.nan
_LOG2_E = 1.4426950408889634
_LOG10_E = 0.4342944819032518
_LN2_HIGH = 0.6931471805599453
_LN2_LOW = 2.3190468138462996e-17
_2_OVER_PI = 0.6366197723675814
_HALF_PI_1 = 1.5707963267948966
_HALF_PI_2 = 6.123233995736766e-17
_HALF_PI_3 = -1.4973849048591698e-33


@DeviceFunction
def exp(x: float) -> float:
    """e to the power of x."""
    bounded = min(max(x, -1100.0), 1100.0)
    k = rint(bounded * _LOG2_E)
    r = fma(-k, _LN2_HIGH, bounded)
    r = fma(-k, _LN2_LOW, r)
    return _scaled_exp(x, r, int(k))


@DeviceFunction
def exp2(x: float) -> float:
    """2 to the power of x."""
    bounded = min(max(x, -1600.0), 1600.0)
    k = rint(bounded)
    return _scaled_exp(x, (bounded - k) * _LN2_HIGH, int(k))


@DeviceFunction
def _scaled_exp(x, r, k):
    """exp(r) * 2**k for abs(r) <= 0.35, and NaN where x is."""
    total = 1.0 / 6227020800.0
    total = fma(total, r, 1.0 / 479001600.0)
    total = fma(total, r, 1.0 / 39916800.0)
    total = fma(total, r, 1.0 / 3628800.0)
    total = fma(total, r, 1.0 / 362880.0)
    total = fma(total, r, 1.0 / 40320.0)
    total = fma(total, r, 1.0 / 5040.0)
    total = fma(total, r, 1.0 / 720.0)
    total = fma(total, r, 1.0 / 120.0)
    total = fma(total, r, 1.0 / 24.0)
    total = fma(total, r, 1.0 / 6.0)
    total = fma(total, r, 0.5)
    total = fma(total, r, 1.0)
    total = fma(total, r, 1.0)
    scaled = math.ldexp(total, k)
    return x if math.isnan(x) else scaled


@DeviceFunction
def log(x: float) -> float:
    """Natural logarithm."""
    exponent, high, low = _log_parts(x)
    e = exponent * _LN2_LOW + low
    return _log_special(x, fma(exponent, _LN2_HIGH, high + e))


@DeviceFunction
def log2(x: float) -> float:
    """Logarithm to base 2."""
    exponent, high, low = _log_parts(x)
    tail = fma(high, _LOG2_E, high * 2.0355273740931033e-17)
    return _log_special(x, exponent + (tail + low * _LOG2_E))


@DeviceFunction
def log10(x: float) -> float:
    """Logarithm to base 10."""
    exponent, high, low = _log_parts(x)
    tail = fma(high, _LOG10_E, high * 1.098319650216765e-17) + low * _LOG10_E
    return _log_special(
        x, fma(exponent, 0.3010299956639812, tail - exponent * 2.8037281277851704e-18)
    )


@DeviceFunction
def _log_parts(x):
    """x = 2**exponent * m with m in [sqrt(1/2), sqrt(2)), and log(m) as a sum of two."""
    m, e = math.frexp(x)
    small = m < 0.7071067811865476
    m = m * 2.0 if small else m
    e = e - 1 if small else e
    f = m - 1.0
    s = f / (m + 1.0)
    z = s * s
    total = 1.0 / 23.0
    total = fma(total, z, 1.0 / 21.0)
    total = fma(total, z, 1.0 / 19.0)
    total = fma(total, z, 1.0 / 17.0)
    total = fma(total, z, 1.0 / 15.0)
    total = fma(total, z, 1.0 / 13.0)
    total = fma(total, z, 1.0 / 11.0)
    total = fma(total, z, 1.0 / 9.0)
    total = fma(total, z, 1.0 / 7.0)
    total = fma(total, z, 1.0 / 5.0)
    total = fma(total, z, 1.0 / 3.0)
    # log(m) = 2 s + 2 s z total, and 2 s = f - s f without the quotient's rounding error.
    return np.float64(e), f, s * (2.0 * z * total - f)


@DeviceFunction
def _log_special(x, result):
    if x < 0.0:
        return _NAN
    if x == 0.0:
        return -_INF
    return result if x < _INF else x


@DeviceFunction
def sin(x: float) -> float:
    """Sine of x radians."""
    r, quadrant = _quarter_turns(x)
    value = _cos_series(r) if quadrant & 1 else _sin_series(r)
    value = x if x == 0.0 else value
    return -value if quadrant & 2 else value


@DeviceFunction
def cos(x: float) -> float:
    """Cosine of x radians."""
    r, quadrant = _quarter_turns(x)
    value = _sin_series(r) if quadrant & 1 else _cos_series(r)
    return -value if (quadrant + 1) & 2 else value


@DeviceFunction
def tan(x: float) -> float:
    """Tangent of x radians."""
    r, quadrant = _quarter_turns(x)
    sine = _sin_series(r)
    cosine = _cos_series(r)
    value = -cosine / sine if quadrant & 1 else sine / cosine
    return x if x == 0.0 else value


@DeviceFunction
def _quarter_turns(x):
    """x less a multiple of pi/2, at most pi/4 in size, and that multiple modulo 4."""
    k = rint(x * _2_OVER_PI)
    r = fma(-k, _HALF_PI_1, x)
    r = fma(-k, _HALF_PI_2, r)
    r = fma(-k, _HALF_PI_3, r)
    quarter = k * 0.25
    turns = (quarter - floor(quarter)) * 4.0
    return r, int(turns) if math.isfinite(turns) else 0


@DeviceFunction
def _sin_series(r):
    z = r * r
    total = 1.0 / 355687428096000.0
    total = fma(total, z, -1.0 / 1307674368000.0)
    total = fma(total, z, 1.0 / 6227020800.0)
    total = fma(total, z, -1.0 / 39916800.0)
    total = fma(total, z, 1.0 / 362880.0)
    total = fma(total, z, -1.0 / 5040.0)
    total = fma(total, z, 1.0 / 120.0)
    total = fma(total, z, -1.0 / 6.0)
    return fma(total * z, r, r)


@DeviceFunction
def _cos_series(r):
    z = r * r
    total = -1.0 / 6402373705728000.0
    total = fma(total, z, 1.0 / 20922789888000.0)
    total = fma(total, z, -1.0 / 87178291200.0)
    total = fma(total, z, 1.0 / 479001600.0)
    total = fma(total, z, -1.0 / 3628800.0)
    total = fma(total, z, 1.0 / 40320.0)
    total = fma(total, z, -1.0 / 720.0)
    total = fma(total, z, 1.0 / 24.0)
    total = fma(total, z, -0.5)
    return fma(total, z, 1.0)


@DeviceFunction
def tanh(x: float) -> float:
    """Hyperbolic tangent."""
    size = abs(x)
    z = x * x
    total = 18888466084.0 / 194896477400625.0
    total = fma(total, z, -443861162.0 / 1856156927625.0)
    total = fma(total, z, 6404582.0 / 10854718875.0)
    total = fma(total, z, -929569.0 / 638512875.0)
    total = fma(total, z, 21844.0 / 6081075.0)
    total = fma(total, z, -1382.0 / 155925.0)
    total = fma(total, z, 62.0 / 2835.0)
    total = fma(total, z, -17.0 / 315.0)
    total = fma(total, z, 2.0 / 15.0)
    total = fma(total, z, -1.0 / 3.0)
    near_zero = x if z == 0.0 else fma(total * z, x, x)
    decay = exp(-2.0 * size)
    elsewhere = math.copysign((1.0 - decay) / (1.0 + decay), x)
    return near_zero if size < 0.2 else elsewhere


@DeviceFunction
def power(x: float, y: float) -> float:
    """x to the power of y."""
    size = abs(x)
    exponent, high, low = _log_parts(size)
    # The logarithm as a sum of two, so that its rounding error is not multiplied by y.
    whole = fma(exponent, _LN2_HIGH, high)
    part = low + exponent * _LN2_LOW
    main = whole + part
    rest = (whole - main) + part + (fma(exponent, _LN2_HIGH, -whole) + high)
    main = _log_special(size, main)
    product = y * main
    error = fma(y, main, -product) + y * rest
    result = exp(product)
    result = fma(result, error, result) if abs(product) < 1000.0 else result
    result = 1.0 if size == 1.0 else result
    integral = y == floor(y)
    half = y * 0.5
    odd = integral and half != floor(half) and math.isfinite(y)
    # The sign bit counts, so that -0.0 to an odd negative power is -inf.
    negative = math.copysign(1.0, x) < 0.0
    result = -result if negative and odd else result
    result = _NAN if x < 0.0 and not integral and size < _INF else result
    result = x + y if math.isnan(x) or math.isnan(y) else result
    return 1.0 if y == 0.0 or x == 1.0 else result
