"""Vector integer arithmetic of 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import ALL, GFX9, RDNA, TABLE, Unit


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="lanes", **more)


_row("v_mov_b16", "b16 = b16", lambda b, x: x, archs=RDNA)
_row("v_not_b16", "b16 = b16", lambda b, x: b.not_(x), archs=RDNA)
_row("v_cndmask_b16", "b16 = b16, b16, mask", lambda b, x, y, c: b.select(c, y, x), archs=RDNA)
for _name, _meaning in {
    "and": lambda b, x, y: b.and_(x, y),
    "or": lambda b, x, y: b.or_(x, y),
    "xor": lambda b, x, y: b.xor(x, y),
}.items():
    _row(f"v_{_name}_b16", "b16 = b16, b16", _meaning, archs=RDNA)

# Sums; clamp saturates. gfx9's unsigned forms are VOP2, the rest VOP3 with op_sel.
for _op in ("add", "sub"):
    for _sign in "ui":
        _row(
            f"v_{_op}_{_sign}16 v_{_op}_nc_{_sign}16",
            f"{_sign}16 = {_sign}16, {_sign}16",
            lambda b, x, y, o=_op: getattr(b, o)(x, y),
            saturated=lambda b, x, y, o=f"{'su'[_sign == 'u']}{_op}": b.saturating(o, x, y),
            keeps_high=_sign == "i",
        )
_row(
    "v_subrev_u16",
    "u16 = u16, u16",
    lambda b, x, y: b.sub(y, x),
    saturated=lambda b, x, y: b.saturating("usub", y, x),
    archs=GFX9,
)
_row("v_mul_lo_u16", "u16 = u16, u16", lambda b, x, y: b.mul(x, y))


# Multiply-add
def _saturated_mad(b: Any, x: Any, y: Any, z: Any, signed: bool) -> Any:
    extend = b.sext if signed else b.zext
    wide = b.mul(extend("i32", x), extend("i32", y))
    if not signed:
        total = b.umin(b.saturating("uadd", wide, extend("i32", z)), 0xFFFF)
    else:
        total = b.smax(b.smin(b.saturating("sadd", wide, extend("i32", z)), 0x7FFF), -0x8000)
    return b.trunc("u16", total)


def _wide_mad(b: Any, x: Any, y: Any, z: Any, signed: bool) -> Any:
    extend = b.sext if signed else b.zext
    return b.add(b.mul(extend("u32", x), extend("u32", y)), z)


def _wide_mad_limit(b: Any, x: Any, y: Any, z: Any, signed: bool) -> Any:
    extend = b.sext if signed else b.zext
    product = b.mul(extend("u32", x), extend("u32", y))
    return b.saturating("sadd" if signed else "uadd", product, z)


for _sign, _signed in (("u", False), ("i", True)):
    _t = f"{_sign}16"
    for _name, _keeps, _archs in (("mad", True, ALL), ("mad_legacy", False, GFX9)):
        _row(
            f"v_{_name}_{_t}",
            f"{_t} = {_t}, {_t}, {_t}",
            lambda b, x, y, z: b.add(b.mul(x, y), z),
            saturated=lambda b, x, y, z, s=_signed: _saturated_mad(b, x, y, z, s),
            archs=_archs,
            keeps_high=_keeps,
        )
    _row(
        f"v_mad_{_sign}32_{_t}",
        f"{_sign}32 = {_t}, {_t}, {_sign}32",
        lambda b, x, y, z, s=_signed: _wide_mad(b, x, y, z, s),
        saturated=lambda b, x, y, z, s=_signed: _wide_mad_limit(b, x, y, z, s),
    )

# Shifts
_row("v_lshlrev_b16", "u16 = u16, u16", lambda b, n, x: b.shl(x, n))
_row("v_lshrrev_b16", "u16 = u16, u16", lambda b, n, x: b.lshr(x, n))
_row("v_ashrrev_i16", "i16 = u16, i16", lambda b, n, x: b.ashr(x, n))

# Minimum, maximum, median
for _sign in "ui":
    _t = f"{_sign}16"
    _least, _most = ("umin", "umax") if _sign == "u" else ("smin", "smax")

    def _low(b: Any, x: Any, y: Any, op: str = _least) -> Any:
        return getattr(b, op)(x, y)

    def _high(b: Any, x: Any, y: Any, op: str = _most) -> Any:
        return getattr(b, op)(x, y)

    _three = f"{_t} = {_t}, {_t}, {_t}"
    _row(f"v_min_{_t}", f"{_t} = {_t}, {_t}", _low)
    _row(f"v_max_{_t}", f"{_t} = {_t}, {_t}", _high)
    _row(
        f"v_min3_{_t}",
        _three,
        lambda b, x, y, z, f=_low: f(b, f(b, x, y), z),
        keeps_high=True,
    )
    _row(
        f"v_max3_{_t}",
        _three,
        lambda b, x, y, z, f=_high: f(b, f(b, x, y), z),
        keeps_high=True,
    )
    _row(
        f"v_med3_{_t}",
        _three,
        lambda b, x, y, z, f=_low, g=_high: g(b, f(b, x, y), f(b, g(b, x, y), z)),
        keeps_high=True,
    )

# A pair of halves
_row(
    "v_pack_b32_f16",
    "u32 = f16, f16",
    lambda b, x, y: b.or_(
        b.zext("u32", b.bitcast("u16", x)), b.shl(b.zext("u32", b.bitcast("u16", y)), 16)
    ),
)
