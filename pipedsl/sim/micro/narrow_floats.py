"""Conversions between float32 and the 8, 6 and 4-bit formats, over lanes.

Formats: CDNA3 ISA (FNUZ: no infinities, no negative zero), OCP 8-bit specification (gfx950,
gfx12), OCP Microscaling specification (6 and 4 bits: finite values only).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llvmlite import ir

from pipedsl.sim.builder import Builder
from pipedsl.sim.micro.registry import lane_function


@dataclass(frozen=True)
class Format:
    """A float format of at most 8 bits.

    Attributes
    ----------
    exponent, mantissa, bias : int
    largest : int
        Code of the largest finite value.
    overflow : int or None
        Code of what lies beyond it (infinity or NaN); None: always the largest value.
    nan : int or None
        Code of NaN; None where the format has none.
    fnuz : bool
        Whether the code of negative zero means NaN instead.
    """

    exponent: int
    mantissa: int
    bias: int
    largest: int
    overflow: int | None
    nan: int | None
    fnuz: bool = False

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)


FORMATS = {
    "fp8": Format(4, 3, 7, 0x7E, 0x7F, 0x7F),
    "bf8": Format(5, 2, 15, 0x7B, 0x7C, 0x7F),
    "fp8_fnuz": Format(4, 3, 8, 0x7F, 0x80, 0x80, fnuz=True),
    "bf8_fnuz": Format(5, 2, 16, 0x7F, 0x80, 0x80, fnuz=True),
    "fp6": Format(2, 3, 1, 0x1F, None, None),
    "bf6": Format(3, 2, 3, 0x1F, None, None),
    "fp4": Format(2, 1, 1, 0x07, None, None),
}


def encode(
    f: Format, saturate: bool, b: Builder, x: ir.Value, noise: ir.Value | None = None
) -> ir.Value:
    """Code of f32 `x`, to nearest even, or with 32 bits of `noise` in place of the rounding."""
    raw = b.bitcast("u32", x)
    sign = b.lshr(raw, 31)
    size = b.and_(raw, 0x7FFFFFFF)
    code = _round(f, b, size) if noise is None else _round_stochastic(f, b, size, noise)
    beyond = f.largest if saturate or f.overflow is None else f.overflow
    large = b.icmp(">", code, f.largest)
    signed = b.or_(code, b.mul(sign, f.sign))
    signed = b.select(large, b.or_(b.mul(sign, f.sign), beyond), signed)
    if f.overflow is not None:
        # Infinity stays infinity (or NaN) unless the conversion saturates.
        endless = b.ucmp("==", size, 0x7F800000)
        signed = b.select(endless, b.or_(b.mul(sign, f.sign), beyond), signed)
    if f.fnuz:
        signed = b.select(b.ucmp("==", code, 0), 0, signed)
    nan = f.largest if f.nan is None else f.nan
    return b.select(b.ucmp(">", size, 0x7F800000), b.or_(b.mul(sign, f.sign), nan), signed)


def _round(f: Format, b: Builder, size: ir.Value) -> ir.Value:
    """Round to nearest even: normal results by carry, subnormal ones by adding a power of two."""
    drop = 23 - f.mantissa
    even = b.and_(b.lshr(size, drop), 1)
    carried = b.lshr(b.add(size, b.add(even, (1 << (drop - 1)) - 1)), drop)
    normal = b.sub(carried, (127 - f.bias) << f.mantissa)
    # In this binade a unit in the last place of f32 is the smallest subnormal of the format.
    magic = 2.0 ** (24 - f.bias - f.mantissa)
    shifted = b.bitcast("u32", b.fadd(b.bitcast("f32", size), magic))
    subnormal = b.sub(shifted, b.bitcast("u32", b.const("f32", magic)))
    return b.select(b.ucmp("<", size, (128 - f.bias) << 23), subnormal, normal)


def _round_stochastic(f: Format, b: Builder, size: ir.Value, noise: ir.Value) -> ir.Value:
    """Add the top bits of `noise` below the last place that is kept, then truncate."""
    drop = 23 - f.mantissa
    normal = b.lshr(b.add(size, b.lshr(noise, 32 - drop)), drop)
    normal = b.sub(normal, (127 - f.bias) << f.mantissa)
    exponent = b.lshr(size, 23)
    depth = b.add(b.sub(b.const("u32", 128 - f.bias), exponent), drop)
    depth = b.select(b.ucmp(">", depth, 31), 31, depth)
    mantissa = b.or_(b.and_(size, 0x7FFFFF), 0x800000)
    dither = b.lshr(noise, b.sub(b.const("u32", 32), depth))
    subnormal = b.lshr(b.add(mantissa, dither), depth)
    return b.select(b.ucmp("<", size, (128 - f.bias) << 23), subnormal, normal)


def decode(f: Format, b: Builder, code: ir.Value) -> ir.Value:
    """f32 value of the low bits of `code`; exact."""
    size = b.and_(code, f.sign - 1)
    value = b.fmul(b.bitcast("f32", b.shl(size, 23 - f.mantissa)), 2.0 ** (127 - f.bias))
    raw = b.bitcast("u32", value)
    if f.overflow is not None and f.overflow != f.nan:
        raw = b.select(b.ucmp("==", size, f.overflow), 0x7F800000, raw)
        raw = b.select(b.ucmp(">", size, f.overflow), 0x7FC00000, raw)
    elif f.nan is not None and not f.fnuz:
        raw = b.select(b.ucmp("==", size, f.nan), 0x7FC00000, raw)
    signed = b.or_(raw, b.shl(b.and_(code, f.sign), 32 - f.bits))
    if f.fnuz:
        signed = b.select(b.ucmp("==", b.and_(code, 2 * f.sign - 1), f.sign), 0x7FC00000, signed)
    return b.bitcast("f32", signed)


for _name, _format in FORMATS.items():
    lane_function(f"to_{_name}", "u32")(partial(encode, _format, False))
    lane_function(f"to_{_name}_saturated", "u32")(partial(encode, _format, True))
    lane_function(f"from_{_name}", "f32")(partial(decode, _format))
