"""Vector bit fields, bit counts, byte operations and sums of absolute differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import TABLE, Unit

GFX950 = ("gfx950",)


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="lanes", **more)


# Bit fields: offset and width are five bits each, and a width of 0 yields 0.
def _field(b: Any, x: Any, at: Any, count: Any, signed: bool) -> Any:
    count = b.and_(count, 31)
    room = b.sub(b.const("u32", 32), count)
    # A field that ends above bit 31 is short: the shift to the left must not exceed the room.
    shifted = b.ashr(x, at) if signed else b.lshr(x, at)
    raised = b.shl(shifted, room)
    value = b.ashr(raised, room) if signed else b.lshr(raised, room)
    return b.select(b.ucmp("==", count, 0), 0, value)


_row("v_bfe_u32", "u32 = u32, u32, u32", lambda b, x, n, w: _field(b, x, n, w, False))
_row("v_bfe_i32", "i32 = i32, u32, u32", lambda b, x, n, w: _field(b, x, n, w, True))
_row(
    "v_bfm_b32",
    "u32 = u32, u32",
    lambda b, w, n: b.shl(b.sub(b.shl(b.const("u32", 1), w), 1), n),
)


# Counts
def _found(b: Any, x: Any, count: Any) -> Any:
    return b.select(b.ucmp("==", x, 0), -1, count)


def _sign_run(b: Any, x: Any) -> Any:
    """Leading bits that equal the sign; -1 when all do."""
    flipped = b.xor(x, b.ashr(x, 31))
    return _found(b, flipped, b.count_leading_zeros(flipped))


_row("v_bfrev_b32", "u32 = u32", lambda b, x: b.bit_reverse(x))
_row("v_bcnt_u32_b32", "u32 = u32, u32", lambda b, x, y: b.add(b.popcount(x), y))
_row(
    "v_ffbh_u32 v_clz_i32_u32",
    "u32 = u32",
    lambda b, x: _found(b, x, b.count_leading_zeros(x)),
)
_row(
    "v_ffbl_b32 v_ctz_i32_b32",
    "u32 = u32",
    lambda b, x: _found(b, x, b.count_trailing_zeros(x)),
)
_row("v_ffbh_i32 v_cls_i32", "i32 = i32", _sign_run)


# Any function of three bits, by truth table (gfx950)
def _truth_table(b: Any, x: Any, y: Any, z: Any, ins: Any) -> Any:
    table = ins.modifier("bitop3")
    total = b.xor(x, x)
    for row in range(8):
        if table >> row & 1:
            terms = [v if row >> place & 1 else b.not_(v) for v, place in ((x, 2), (y, 1), (z, 0))]
            total = b.or_(total, b.and_(b.and_(terms[0], terms[1]), terms[2]))
    return total


for _t in ("b16", "b32"):
    _row(f"v_bitop3_{_t}", f"{_t} = {_t}, {_t}, {_t}", _truth_table, archs=GFX950, inspects=True)

# Bytes
_row("v_perm_b32", "u32 = u32, u32, u32", lambda b, x, y, z: b.function("perm", "u32", x, y, z))
_row("v_lerp_u8", "u32 = u32, u32, u32", lambda b, x, y, z: b.function("lerp_u8", "u32", x, y, z))


# Sums of absolute differences; clamp saturates the sum.
def _apart(b: Any, x: Any, y: Any) -> Any:
    return b.sub(b.umax(x, y), b.umin(x, y))


def _apart16(b: Any, x: Any, y: Any) -> Any:
    low = _apart(b, b.and_(x, 0xFFFF), b.and_(y, 0xFFFF))
    return b.add(low, _apart(b, b.lshr(x, 16), b.lshr(y, 16)))


_SUMS: dict[str, Callable[..., Any]] = {
    "sad_u8": lambda b, x, y: b.function("sad_u8", "u32", x, y),
    "sad_hi_u8": lambda b, x, y: b.shl(b.function("sad_u8", "u32", x, y), 16),
    "msad_u8": lambda b, x, y: b.function("msad_u8", "u32", x, y),
    "sad_u16": _apart16,
    "sad_u32": _apart,
}
for _name, _sum in _SUMS.items():
    _row(
        f"v_{_name}",
        "u32 = u32, u32, u32",
        lambda b, x, y, z, f=_sum: b.add(f(b, x, y), z),
        saturated=lambda b, x, y, z, f=_sum: b.saturating("uadd", f(b, x, y), z),
    )


def _sliding(b: Any, x: Any, y: Any, name: str) -> list[Any]:
    """Sums of `y` against the four bytes of `x` that start at bytes 0 to 3."""
    return [
        b.function(name, "u32", b.trunc("u32", b.lshr(x, 8 * place)), y) for place in range(4)
    ]


def _four_sums(b: Any, x: Any, y: Any, z: Any, name: str, saturate: bool) -> Any:
    total = b.const("u64", 0)
    for place, part in enumerate(_sliding(b, x, y, name)):
        before = b.trunc("u32", b.and_(b.lshr(z, 16 * place), 0xFFFF))
        value = b.add(part, before)
        value = b.umin(value, 0xFFFF) if saturate else b.and_(value, 0xFFFF)
        total = b.or_(total, b.shl(b.zext("u64", value), 16 * place))
    return total


for _name, _function in (("qsad", "sad_u8"), ("mqsad", "msad_u8")):
    _row(
        f"v_{_name}_pk_u16_u8",
        "u64 = u64, u32, u64",
        lambda b, x, y, z, f=_function: _four_sums(b, x, y, z, f, False),
        saturated=lambda b, x, y, z, f=_function: _four_sums(b, x, y, z, f, True),
    )


def _wide_sums(m: Any, ins: Any) -> None:
    x, y = m.read_lanes(ins.srcs[0][1], "u64"), m.read_lanes(ins.srcs[1][1], "u32")
    old = [m.read_row(ins.srcs[2][1].value, place) for place in range(4)]
    for place, part in enumerate(_sliding(m.b, x, y, "msad_u8")):
        m.write_row(ins.dsts[0][1].value, m.b.add(part, old[place]), place)


TABLE.add(
    "v_mqsad_u32_u8", "b128 = u64, u32, v:b128", _wide_sums, unit=Unit.VALU, style="machine"
)


# Packing with saturation (gfx950 shifts first)
def _byte(b: Any, x: Any, low: int, high: int) -> Any:
    return b.and_(b.smax(b.smin(x, high), low), 0xFF)


def _shift_pack(b: Any, x: Any, y: Any, n: Any, low: int, high: int) -> Any:
    first, second = (_byte(b, b.ashr(v, n), low, high) for v in (x, y))
    return b.trunc("u16", b.or_(first, b.shl(second, 8)))


for _name, _low, _high in (("i8", -128, 127), ("u8", 0, 255)):
    _row(
        f"v_ashr_pk_{_name}_i32",
        "b16 = i32, i32, u32",
        lambda b, x, y, n, low=_low, high=_high: _shift_pack(b, x, y, n, low, high),
        archs=GFX950,
        keeps_high=True,
    )


def _saturate_bytes(b: Any, x: Any) -> Any:
    halves = (b.ashr(b.shl(x, 16), 16), b.ashr(x, 16))
    first, second = (_byte(b, v, 0, 255) for v in halves)
    return b.trunc("u16", b.or_(first, b.shl(second, 8)))


_row("v_sat_pk_u8_i16", "b16 = i32", _saturate_bytes, keeps_high=True)
_row(
    "v_prng_b32",
    "u32 = u32",
    lambda b, x: b.xor(b.shl(x, 1), b.select(b.icmp("<", x, 0), b.const("u32", 197), 0)),
    archs=GFX950,
)
