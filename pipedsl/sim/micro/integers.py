"""Integer functions over lanes: byte permutes, absolute differences, wide products, gathers."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.sim.builder import I32, Builder
from pipedsl.sim.micro.registry import lane_function


def _byte(b: Builder, word: ir.Value, index: int) -> ir.Value:
    return b.and_(b.lshr(word, 8 * index), 0xFF)


@lane_function("perm", "u32")
def perm(b: Builder, high: ir.Value, low: ir.Value, selector: ir.Value) -> ir.Value:
    """``v_perm_b32``: bytes of {high, low} by number; 8 to 11 signs, 12 zero, above all ones."""
    pair = b.or_(b.shl(b.zext("u64", high), 32), b.zext("u64", low))
    total = b.const("u32", 0)
    for place in range(4):
        number = _byte(b, selector, place)
        shift = b.zext("u64", b.shl(b.and_(number, 7), 3))
        value = b.and_(b.trunc("u32", b.lshr(pair, shift)), 0xFF)
        # 8, 9, 10, 11: the sign of bytes 1, 3, 5, 7.
        sign_at = b.zext("u64", b.add(b.shl(b.and_(number, 3), 4), 15))
        sign = b.mul(b.and_(b.trunc("u32", b.lshr(pair, sign_at)), 1), 0xFF)
        value = b.select(b.ucmp(">=", number, 8), sign, value)
        value = b.select(b.ucmp("==", number, 12), 0, value)
        value = b.select(b.ucmp(">", number, 12), 0xFF, value)
        total = b.or_(total, b.shl(value, 8 * place))
    return total


def _differences(b: Builder, x: ir.Value, y: ir.Value, *, masked: bool) -> ir.Value:
    total = b.const("u32", 0)
    for place in range(4):
        first, second = _byte(b, x, place), _byte(b, y, place)
        size = b.sub(b.umax(first, second), b.umin(first, second))
        if masked:
            size = b.select(b.ucmp("==", second, 0), 0, size)
        total = b.add(total, size)
    return total


@lane_function("sad_u8", "u32")
def sad_u8(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """Sum of the absolute differences of four bytes."""
    return _differences(b, x, y, masked=False)


@lane_function("msad_u8", "u32")
def msad_u8(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """As `sad_u8`, without the bytes where `y` is 0."""
    return _differences(b, x, y, masked=True)


@lane_function("lerp_u8", "u32")
def lerp_u8(b: Builder, x: ir.Value, y: ir.Value, rounding: ir.Value) -> ir.Value:
    """Averages of four bytes, rounded up where the byte of `rounding` is odd."""
    total = b.const("u32", 0)
    for place in range(4):
        up = b.and_(b.lshr(rounding, 8 * place), 1)
        average = b.lshr(b.add(b.add(_byte(b, x, place), _byte(b, y, place)), up), 1)
        total = b.or_(total, b.shl(average, 8 * place))
    return total


def _wide_sum(
    signed: bool, b: Builder, x: ir.Value, y: ir.Value, z: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """64 bits of ``x * y + z``, and bit 64 of the exact sum."""
    extend = b.sext if signed else b.zext
    total, over = b.overflow(
        "sadd" if signed else "uadd", b.mul(extend("u64", x), extend("u64", y)), z
    )
    return total, b.xor(over, b.icmp("<", total, 0)) if signed else over


for _sign in "ui":

    def _low(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value, s: bool = _sign == "i") -> ir.Value:
        return _wide_sum(s, b, x, y, z)[0]

    def _top(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value, s: bool = _sign == "i") -> ir.Value:
        return b.zext("u32", _wide_sum(s, b, x, y, z)[1])

    lane_function(f"mad_{_sign}64", "u64")(_low)
    lane_function(f"mad_{_sign}64_top", "u32")(_top)


@lane_function("gather", "u32")
def gather(b: Builder, values: ir.Value, lanes: ir.Value) -> ir.Value:
    """The value of the lane that each lane names; numbers lie within the wave."""
    result = values
    for lane in range(b.lanes):
        value = b.extract(values, b.extract(lanes, lane))
        result = b.irb.insert_element(result, value, I32(lane))
    return result
