"""Division steps, exponents and the argument reduction constant, over lanes.

Sources: RDNA3 and CDNA3 ISA documents, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP, V_LDEXP, V_TRIG_PREOP.
Where the documents and the gfx1100 hardware tests of tinygrad differ, or the documented steps would
not make up a correct division, the hardware is followed (see docs/hw-vectors.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from pipedsl.sim.builder import DOUBLE, FLOAT, HALF, I32, I64, Builder
from pipedsl.sim.micro.ordering import quieted
from pipedsl.sim.micro.registry import lane_function


@dataclass(frozen=True)
class _Kind:
    """Constants of one float type: `far` exponents apart, a quotient needs scaling by `scale`."""

    name: str
    bits: int
    mantissa: int
    far: int
    scale: int
    tiny: int
    gone: int

    @property
    def bias(self) -> int:
        return (1 << (self.bits - 2 - self.mantissa)) - 1

    @property
    def least(self) -> int:
        """Exponent of the smallest normal number."""
        return 1 - self.bias

    @property
    def smallest(self) -> float:
        return 2.0**self.least


_KINDS = {
    HALF: _Kind("f16", 16, 10, 0, 0, 0, 1 << 20),
    FLOAT: _Kind("f32", 32, 23, 96, 64, 23, 150),
    DOUBLE: _Kind("f64", 64, 52, 768, 128, 53, 1075),
}


def _exponent(b: Builder, x: ir.Value) -> ir.Value:
    """Biased exponent as i32."""
    kind = _KINDS[b.element(x)]
    raw = b.lshr(b.bitcast(f"u{kind.bits}", b.fabs(x)), kind.mantissa)
    return b.trunc("i32", raw) if kind.bits == 64 else b.zext("i32", raw)


def _denormal(b: Builder, x: ir.Value) -> ir.Value:
    size = b.fabs(x)
    return b.and_(b.fcmp("<", size, _KINDS[b.element(x)].smallest), b.fcmp(">", size, 0.0))


def _cases(b: Builder, y: ir.Value, z: ir.Value) -> tuple[ir.Value, ...]:
    """Of quotient z / y: far apart, tiny divisor, tiny reciprocal, tiny quotient.

    A quotient counts as tiny by the exponents alone, so the smallest normal one does too.
    """
    kind = _KINDS[b.element(y)]
    apart = b.sub(_exponent(b, z), _exponent(b, y))
    return (
        b.icmp(">=", apart, kind.far),
        _denormal(b, y),
        _denormal(b, b.fdiv(1.0, y)),
        b.icmp("<=", apart, kind.least),
    )


def _no_quotient(b: Builder, y: ir.Value, z: ir.Value) -> ir.Value:
    return b.or_(b.fcmp("==", y, 0.0), b.fcmp("==", z, 0.0))


@lane_function("div_scale", "")
def div_scale(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Operand `x` of the quotient z / y, scaled so that the refinement stays in range."""
    kind = _KINDS[b.element(x)]
    far, small, small_inverse, small_quotient = _cases(b, y, z)
    up, down = b.fmul(x, 2.0**kind.scale), b.fmul(x, 2.0**-kind.scale)
    divisor = b.select(b.fcmp("==", x, y), up, x)
    value = b.select(b.icmp("<=", _exponent(b, z), kind.tiny), up, x)
    value = b.select(small_quotient, b.select(b.fcmp("==", x, z), up, x), value)
    lowered = b.select(b.fcmp("==", x, y), down, x)
    value = b.select(small_inverse, b.select(small_quotient, lowered, down), value)
    value = b.select(small, up, value)
    value = b.select(far, divisor, value)
    return b.select(_no_quotient(b, y, z), float("nan"), value)


@lane_function("div_scale_flag", "u32")
def div_scale_flag(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Whether ``v_div_fmas`` has to undo the scaling; set too where there is no quotient."""
    far, small, _, small_quotient = _cases(b, y, z)
    flag = b.or_(far, b.and_(b.not_(small), small_quotient))
    return b.zext("u32", b.or_(flag, _no_quotient(b, y, z)))


@lane_function("div_fmas", "")
def div_fmas(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value, flag: ir.Value) -> ir.Value:
    """``x * y + z``, scaled back where `flag`: up from 2 on, down below, with one rounding.

    A denormal result of the fused sum `near` would round twice: where the second rounding meets a
    tie, the first one's error decides.
    """
    kind = _KINDS[b.element(x)]
    near = b.fma(x, y, z)
    large = b.icmp(">", _exponent(b, z), kind.bias)
    factor = b.select(large, b.const(kind.name, 2.0**kind.scale), 2.0**-kind.scale)
    scaled = b.fmul(near, factor)
    half = 2.0 ** (kind.scale - kind.bias - kind.mantissa)
    gap = b.fsub(near, b.fmul(scaled, 2.0**kind.scale))
    error = _rounding_error(b, x, y, z, near)
    tie = b.and_(b.fcmp("==", b.fabs(gap), half), b.not_(large))
    step = b.math("copysign", b.const(kind.name, 2.0 * half * 2.0**-kind.scale), error)
    same_side = b.fcmp(">", b.fmul(b.math("copysign", b.const(kind.name, 1.0), gap), error), 0.0)
    scaled = b.select(b.and_(tie, same_side), b.fadd(scaled, step), scaled)
    return b.select(b.ucmp("!=", flag, 0), scaled, near)


def _rounding_error(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value, near: ir.Value) -> ir.Value:
    """A value of the sign of ``x * y + z - near`` (error-free product and sum)."""
    product = b.fmul(x, y)
    low = b.fma(x, y, b.fneg(product))
    total = b.fadd(product, z)
    shadow = b.fsub(total, product)
    rest = b.fadd(b.fsub(product, b.fsub(total, shadow)), b.fsub(z, shadow))
    return b.fadd(b.fsub(total, near), b.fadd(rest, low))


@lane_function("div_fixup", "")
def div_fixup(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Quotient `x` of z / y with the special cases put right."""
    kind = _KINDS[b.element(x)]
    inf = float("inf")
    sign = b.bitcast(kind.name, b.xor(b.bitcast(f"u{kind.bits}", y), b.bitcast(f"u{kind.bits}", z)))
    # A refinement that failed (NaN) stands for an overflow.
    value = b.select(b.is_nan(x), inf, b.fabs(x))
    if kind.scale:
        apart = b.sub(_exponent(b, z), _exponent(b, y))
        value = b.select(b.icmp("<", apart, -kind.gone), 0.0, value)
    no_y, no_z = b.fcmp("==", y, 0.0), b.fcmp("==", z, 0.0)
    endless_y, endless_z = (b.fcmp("==", b.fabs(v), inf) for v in (y, z))
    value = b.select(b.or_(endless_y, no_z), 0.0, value)
    value = b.select(b.or_(no_y, endless_z), inf, value)
    value = b.math("copysign", value, sign)
    undefined = b.or_(b.and_(no_y, no_z), b.and_(endless_y, endless_z))
    nan = ((1 << (kind.bits - kind.mantissa)) - 1) << kind.mantissa | 1 << (kind.mantissa - 1)
    value = b.select(undefined, b.bitcast(kind.name, b.const(f"u{kind.bits}", nan)), value)
    value = b.select(b.is_nan(y), quieted(b, y), value)
    return b.select(b.is_nan(z), quieted(b, z), value)


@lane_function("ldexp", "")
def ldexp(b: Builder, x: ir.Value, n: ir.Value) -> ir.Value:
    """``x * 2**n`` with one rounding; x is f64.

    Steps down are such that only the last can leave the normal range.
    """
    for _ in range(2):
        up, down = b.icmp(">", n, 1023), b.icmp("<", n, -1022)
        factor = b.select(up, b.const("f64", 2.0**1023), b.const("f64", 1.0))
        factor = b.select(down, 2.0**-969, factor)
        x = b.fmul(x, factor)
        step = b.select(up, b.const("i32", 1023), b.const("i32", 0))
        n = b.sub(n, b.select(down, -969, step))
    n = b.smax(b.smin(n, 1023), -1022)
    return b.fmul(x, b.bitcast("f64", b.shl(b.sext("i64", b.add(n, 1023)), 52)))


def _normalised(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """`x`, an f64, times 2**64 where it is denormal; and the lanes where it is."""
    small = b.fcmp("<", b.fabs(x), 2.0**-1022)
    return b.select(small, b.fmul(x, 2.0**64), x), small


def _special(b: Builder, x: ir.Value) -> ir.Value:
    """Zero, infinity or NaN."""
    return b.or_(b.fcmp("==", x, 0.0), b.fcmp_unordered("==", b.fabs(x), float("inf")))


@lane_function("frexp_exp", "i32")
def frexp_exp(b: Builder, x: ir.Value) -> ir.Value:
    """Exponent of f64 `x` as a mantissa in [0.5, 1) goes with it; 0 for 0, infinities and NaN."""
    scaled, small = _normalised(b, x)
    exponent = b.sub(_exponent(b, scaled), 1022)
    exponent = b.select(small, b.sub(exponent, 64), exponent)
    return b.select(_special(b, x), 0, exponent)


@lane_function("frexp_mant", "")
def frexp_mant(b: Builder, x: ir.Value) -> ir.Value:
    """Mantissa of f64 `x` in [0.5, 1); 0, infinities and NaN as they are."""
    scaled, _ = _normalised(b, x)
    raw = b.and_(b.bitcast("u64", scaled), 0x800FFFFFFFFFFFFF)
    return b.select(_special(b, x), x, b.bitcast("f64", b.or_(raw, 1022 << 52)))


def _two_over_pi(bits: int) -> int:
    """The first `bits` fraction bits of 2/pi, by Machin's formula."""
    one = 1 << (bits + 64)

    def arctan_inverse(n: int) -> int:
        term = total = one // n
        k = 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    return (2 * one * one // pi) >> 64


_FRACTION_BITS = 1201
_WORDS = 90  # past every shift: 31 * 53 + 2047 - 1077 + 53 bits


@lane_function("trig_preop", "f64")
def trig_preop(b: Builder, x: ir.Value, segment: ir.Value) -> ir.Value:
    """53 bits of 2/pi for the argument reduction of `x`, number `segment` from the top."""
    exponent = _exponent(b, x)
    shift = b.mul(b.and_(segment, 31), 53)
    extra = b.sub(exponent, 1077)
    shift = b.add(shift, b.smax(extra, 0))
    whole = b.to_float("f64", _bits_at(b, shift), signed=False)
    scale = b.sub(b.const("i32", -53), shift)
    scale = b.select(b.icmp(">=", exponent, 1968), b.add(scale, 128), scale)
    return ldexp(b, whole, scale)


def _bits_at(b: Builder, shift: ir.Value) -> ir.Value:
    """53 bits of 2/pi behind the first `shift` ones, as u64."""
    irb = b.irb
    wide = ir.IntType(64)
    padded = _two_over_pi(_FRACTION_BITS) << (32 * _WORDS - _FRACTION_BITS)
    words = [(padded >> (32 * (_WORDS - 1 - i))) & 0xFFFFFFFF for i in range(_WORDS)]
    table = ir.Constant(ir.ArrayType(I32, _WORDS), [I32(w) for w in words])
    module = irb.module
    data = ir.GlobalVariable(module, table.type, "two_over_pi")
    data.initializer, data.global_constant, data.linkage = table, True, "internal"

    def one(place: ir.Value) -> ir.Value:
        first = irb.lshr(place, I32(5))
        total = ir.IntType(96)(0)
        for step in range(3):
            at = irb.gep(data, [I64(0), irb.zext(irb.add(first, I32(step)), I64)])
            word = irb.zext(irb.load(at, typ=I32), total.type)
            total = irb.or_(irb.shl(total, total.type(32)), word)
        left = irb.sub(total.type(43), irb.zext(irb.and_(place, I32(31)), total.type))
        return irb.and_(irb.trunc(irb.lshr(total, left), wide), wide((1 << 53) - 1))

    if not b.lanes:
        return one(shift)
    result = ir.Constant(ir.VectorType(wide, b.lanes), None)
    for lane in range(b.lanes):
        value = one(irb.extract_element(shift, I32(lane)))
        result = irb.insert_element(result, value, I32(lane))
    return result
