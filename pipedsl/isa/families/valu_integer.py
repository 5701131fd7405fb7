"""Vector integer arithmetic, logic and moves of 32 and 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import ALL, RDNA, TABLE, Unit

GFX940 = ("gfx942", "gfx950")


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="lanes", **more)


# Moves and logic
_row("v_nop", "", lambda b: ())
_row("v_mov_b32", "b32 = b32", lambda b, x: x)
_row("v_mov_b64", "b64 = b64", lambda b, x: x, archs=GFX940)
_row("v_not_b32", "b32 = b32", lambda b, x: b.not_(x))
_row("v_cndmask_b32", "b32 = b32, b32, mask", lambda b, x, y, c: b.select(c, y, x), optional=1)
for _name, _meaning in {
    "and": lambda b, x, y: b.and_(x, y),
    "or": lambda b, x, y: b.or_(x, y),
    "xor": lambda b, x, y: b.xor(x, y),
    "xnor": lambda b, x, y: b.not_(b.xor(x, y)),
}.items():
    _row(f"v_{_name}_b32", "b32 = b32, b32", _meaning)

# Sums; clamp saturates
for _op, _name, _swap in (("add", "add", False), ("sub", "sub", False), ("sub", "subrev", True)):

    def _sum(b: Any, x: Any, y: Any, op: str = _op, swap: bool = _swap) -> Any:
        return getattr(b, op)(*((y, x) if swap else (x, y)))

    def _limit(
        b: Any, x: Any, y: Any, op: str = _op, swap: bool = _swap, sign: str = "u"
    ) -> Any:
        return b.saturating(f"{sign}{op}", *((y, x) if swap else (x, y)))

    def _carry(b: Any, x: Any, y: Any, op: str = _op, swap: bool = _swap) -> Any:
        return b.overflow(f"u{op}", *((y, x) if swap else (x, y)))

    def _carry_limit(b: Any, x: Any, y: Any, carry: Any = _carry, op: str = _op) -> Any:
        value, over = carry(b, x, y)
        return b.select(over, -1 if op == "add" else 0, value), over

    def _carry_in(
        b: Any, x: Any, y: Any, c: Any, op: str = _op, swap: bool = _swap
    ) -> Any:
        first, over1 = b.overflow(f"u{op}", *((y, x) if swap else (x, y)))
        total, over2 = b.overflow(f"u{op}", first, b.zext("u32", c))
        return total, b.or_(over1, over2)

    def _carry_in_limit(
        b: Any, x: Any, y: Any, c: Any, carry: Any = _carry_in, op: str = _op
    ) -> Any:
        value, over = carry(b, x, y, c)
        return b.select(over, -1 if op == "add" else 0, value), over

    _row(f"v_{_name}_u32 v_{_name}_nc_u32", "u32 = u32, u32", _sum, saturated=_limit)
    _row(f"v_{_name}_co_u32", "u32, mask = u32, u32", _carry, saturated=_carry_limit)
    _old = {"add": "addc", "sub": "subb", "subrev": "subbrev"}[_name]
    _row(
        f"v_{_old}_co_u32 v_{_name}_co_ci_u32",
        "u32, mask = u32, u32, mask",
        _carry_in,
        saturated=_carry_in_limit,
    )
    if _name != "subrev":
        _row(
            f"v_{_name}_i32 v_{_name}_nc_i32",
            "i32 = i32, i32",
            _sum,
            saturated=lambda b, x, y, f=_limit: f(b, x, y, sign="s"),
        )

# Products
_row("v_mul_lo_u32", "u32 = u32, u32", lambda b, x, y: b.mul(x, y))


def _wide(b: Any, x: Any, y: Any, signed: bool) -> Any:
    extend = b.sext if signed else b.zext
    return b.mul(extend("u64", x), extend("u64", y))


def _low24(b: Any, x: Any, signed: bool) -> Any:
    return b.ashr(b.shl(x, 8), 8) if signed else b.and_(x, 0xFFFFFF)


for _sign, _signed in (("u", False), ("i", True)):
    _t = f"{_sign}32"
    _two, _three = f"{_t} = {_t}, {_t}", f"{_t} = {_t}, {_t}, {_t}"

    def _product24(b: Any, x: Any, y: Any, signed: bool = _signed) -> Any:
        return b.mul(_low24(b, x, signed), _low24(b, y, signed))

    def _high24(b: Any, x: Any, y: Any, signed: bool = _signed) -> Any:
        wide = _wide(b, _low24(b, x, signed), _low24(b, y, signed), signed)
        return b.trunc("u32", b.lshr(wide, 32))

    def _mad24_limit(b: Any, x: Any, y: Any, z: Any, signed: bool = _signed) -> Any:
        extend = b.sext if signed else b.zext
        wide = _wide(b, _low24(b, x, signed), _low24(b, y, signed), signed)
        return _saturate(b, b.add(wide, extend("u64", z)), signed)

    def _mad_wide(b: Any, x: Any, y: Any, z: Any, sign: str = _sign) -> Any:
        carry = b.function(f"mad_{sign}64_top", "u32", x, y, z)
        return b.function(f"mad_{sign}64", "u64", x, y, z), b.ucmp("!=", carry, 0)

    _row(
        f"v_mul_hi_{_t}",
        _two,
        lambda b, x, y, s=_signed: b.trunc("u32", b.lshr(_wide(b, x, y, s), 32)),
    )
    _row(f"v_mul_{_t}_{_sign}24", _two, _product24)
    _row(f"v_mul_hi_{_t}_{_sign}24", _two, _high24)
    _row(
        f"v_mad_{_t}_{_sign}24",
        _three,
        lambda b, x, y, z, f=_product24: b.add(f(b, x, y), z),
        saturated=_mad24_limit,
    )
    _row(
        f"v_mad_{_sign}64_{_t} v_mad_co_{_sign}64_{_t}",
        f"{_sign}64, mask = {_t}, {_t}, {_sign}64",
        _mad_wide,
    )


def _saturate(b: Any, wide: Any, signed: bool) -> Any:
    """A 64-bit value clamped to 32 bits."""
    clamped = (
        b.smax(b.smin(wide, 0x7FFFFFFF), -0x80000000) if signed else b.umin(wide, 0xFFFFFFFF)
    )
    return b.trunc("u32", clamped)


# Shifts
for _bits in (32, 64):
    _count = (lambda b, n: n) if _bits == 32 else (lambda b, n: b.zext("u64", n))
    _row(
        f"v_lshlrev_b{_bits}",
        f"b{_bits} = u32, b{_bits}",
        lambda b, n, x, c=_count: b.shl(x, c(b, n)),
    )
    _row(
        f"v_lshrrev_b{_bits}",
        f"b{_bits} = u32, b{_bits}",
        lambda b, n, x, c=_count: b.lshr(x, c(b, n)),
    )
    _row(
        f"v_ashrrev_i{_bits}",
        f"i{_bits} = u32, i{_bits}",
        lambda b, n, x, c=_count: b.ashr(x, c(b, n)),
    )
_row(
    "v_lshl_add_u64",
    "u64 = u64, u32, u64",
    lambda b, x, n, z: b.add(b.shl(x, b.zext("u64", b.and_(n, 7))), z),
    archs=GFX940,
)

# Minimum, maximum, median
for _sign in "ui":
    _t = f"{_sign}32"
    _least, _most = ("umin", "umax") if _sign == "u" else ("smin", "smax")

    def _low(b: Any, x: Any, y: Any, op: str = _least) -> Any:
        return getattr(b, op)(x, y)

    def _high(b: Any, x: Any, y: Any, op: str = _most) -> Any:
        return getattr(b, op)(x, y)

    _row(f"v_min_{_t}", f"{_t} = {_t}, {_t}", _low)
    _row(f"v_max_{_t}", f"{_t} = {_t}, {_t}", _high)
    for _name, _first, _second, _archs in (
        ("min3", _low, _low, ALL), ("max3", _high, _high, ALL),
        ("minmax", _low, _high, RDNA), ("maxmin", _high, _low, RDNA),
    ):  # fmt: skip
        _row(
            f"v_{_name}_{_t}",
            f"{_t} = {_t}, {_t}, {_t}",
            lambda b, x, y, z, f=_first, g=_second: g(b, f(b, x, y), z),
            archs=_archs,
        )
    _row(
        f"v_med3_{_t}",
        f"{_t} = {_t}, {_t}, {_t}",
        lambda b, x, y, z, f=_low, g=_high: g(b, f(b, x, y), f(b, g(b, x, y), z)),
    )

# Three operands
_THREE: dict[str, Callable[..., Any]] = {
    "add3_u32": lambda b, x, y, z: b.add(b.add(x, y), z),
    "or3_b32": lambda b, x, y, z: b.or_(b.or_(x, y), z),
    "and_or_b32": lambda b, x, y, z: b.or_(b.and_(x, y), z),
    "lshl_add_u32": lambda b, x, n, z: b.add(b.shl(x, n), z),
    "add_lshl_u32": lambda b, x, y, n: b.shl(b.add(x, y), n),
    "lshl_or_b32": lambda b, x, n, z: b.or_(b.shl(x, n), z),
    "xad_u32": lambda b, x, y, z: b.add(b.xor(x, y), z),
    "bfi_b32": lambda b, m, x, y: b.or_(b.and_(m, x), b.and_(b.not_(m), y)),
    "alignbit_b32": lambda b, x, y, n: b.funnel_right(x, y, b.and_(n, 31)),
    "alignbyte_b32": lambda b, x, y, n: b.funnel_right(x, y, b.shl(b.and_(n, 3), 3)),
}
for _name, _meaning in _THREE.items():
    _row(f"v_{_name}", "u32 = u32, u32, u32", _meaning)
_row("v_xor3_b32", "u32 = u32, u32, u32", lambda b, x, y, z: b.xor(b.xor(x, y), z), archs=RDNA)
