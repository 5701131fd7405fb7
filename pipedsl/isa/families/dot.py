"""Dot products of small vectors, with accumulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import ALL, GFX9, GFX11, GFX12, RDNA, TABLE, Fidelity, Unit

_ROUNDING = "sums in float32 one product at a time; the order and width of the hardware's is open"
GFX950 = ("gfx950",)


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="lanes", **more)


# Floats: products are exact in f32, each sum rounds.
def _widen(b: Any, x: Any, kind: str) -> Any:
    if kind == "f16":
        return b.fconvert("f32", x)
    return b.bitcast("f32", b.shl(b.zext("u32", x), 16))


def _dot2(b: Any, x: Any, y: Any, z: Any, kind: str) -> Any:
    total = z
    for first, second in zip(x, y, strict=True):
        total = b.fma(_widen(b, first, kind), _widen(b, second, kind), total)
    return total


_FLOAT = {"fidelity": Fidelity.APPROXIMATE, "reason": _ROUNDING}
_ARCHS = {"f16": ALL, "bf16": GFX950 + RDNA}
_SHORT = {"f16": GFX9 + GFX11, "bf16": GFX950}
for _kind in ("f16", "bf16"):
    _pairs = f"{_kind}x2, {_kind}x2"
    _row(
        f"v_dot2_f32_{_kind}",
        f"f32 = {_pairs}, f32",
        lambda b, x, y, z, k=_kind: _dot2(b, x, y, z, k),
        archs=_ARCHS[_kind],
        **_FLOAT,
    )
    # dot2acc exists as half of a dual instruction, and on gfx11 under the name dot2c too.
    for _name, _archs in (("dot2c", _SHORT[_kind]), ("dot2acc", RDNA)):
        _row(
            f"v_{_name}_f32_{_kind}",
            f"+f32 = {_pairs}",
            lambda b, x, y, old, k=_kind: _dot2(b, x, y, old, k),
            archs=_archs,
            **_FLOAT,
        )
_row(
    "v_dot2_f16_f16",
    "f16 = f16x2, f16x2, f16",
    lambda b, x, y, z: b.fconvert("f16", _dot2(b, x, y, b.fconvert("f32", z), "f16")),
    archs=RDNA,
    **_FLOAT,
)
_row(
    "v_dot2_bf16_bf16",
    "bf16 = bf16x2, bf16x2, bf16",
    lambda b, x, y, z: b.function("to_bf16", "u16", _dot2(b, x, y, _widen(b, z, "bf16"), "bf16")),
    archs=RDNA,
    **_FLOAT,
)


def _dot4_small(b: Any, x: Any, y: Any, z: Any, first: str, second: str) -> Any:
    total = z
    for place in range(4):
        left, right = (b.lshr(v, 8 * place) for v in (x, y))
        product = (
            b.function(f"from_{first}", "f32", left),
            b.function(f"from_{second}", "f32", right),
        )
        total = b.fma(*product, total)
    return total


for _first in ("fp8", "bf8"):
    for _second in ("fp8", "bf8"):
        _row(
            f"v_dot4_f32_{_first}_{_second}",
            "f32 = u32, u32, f32",
            lambda b, x, y, z, f=_first, g=_second: _dot4_small(b, x, y, z, f, g),
            archs=GFX12,
            **_FLOAT,
        )


# Integers of 8 and 4 bits; clamp saturates
def _dot(count: int, signs: str, end: str = "") -> Callable[..., Any]:
    """The lane function for `count` products; `signs` says ``i`` or ``u`` for each factor."""
    return lambda b, x, y, z: b.function(f"dot{count}_{signs}{end}", "u32", x, y, z)


for _name, _count, _signs in (
    ("v_dot4_i32_i8", 4, "ii"), ("v_dot8_i32_i4", 8, "ii"),
    ("v_dot4_u32_u8", 4, "uu"), ("v_dot8_u32_u4", 8, "uu"),
):  # fmt: skip
    _limited = _dot(_count, _signs, "_saturated")
    _row(_name, "u32 = u32, u32, u32", _dot(_count, _signs), saturated=_limited)
for _name, _count in (("v_dot4c_i32_i8", 4), ("v_dot8c_i32_i4", 8)):
    _row(_name, "+u32 = u32, u32", _dot(_count, "ii"), archs=GFX9)


def _mixed_signs(count: int, end: str) -> Callable[..., Any]:
    """neg_lo tells which of the factors are signed; the result always is."""

    def meaning(b: Any, x: Any, y: Any, z: Any, ins: Any) -> Any:
        signs = "".join("ui"[ins.bit("neg_lo", index)] for index in (0, 1))
        return _dot(count, signs, end)(b, x, y, z)

    return meaning


for _name, _count in (("v_dot4_i32_iu8", 4), ("v_dot8_i32_iu4", 8)):
    _row(
        _name,
        "u32 = u32, u32, u32",
        _mixed_signs(_count, ""),
        saturated=_mixed_signs(_count, "_saturated_signed"),
        archs=RDNA,
        inspects=True,
    )


def _dot2_integer(b: Any, x: Any, y: Any, z: Any, signed: bool) -> Any:
    extend = b.sext if signed else b.zext
    total = z
    for first, second in zip(x, y, strict=True):
        total = b.add(total, b.mul(extend("u32", first), extend("u32", second)))
    return total


def _dot2_limited(b: Any, x: Any, y: Any, z: Any, signed: bool) -> Any:
    extend = b.sext if signed else b.zext
    wide = extend("i64", z)
    for first, second in zip(x, y, strict=True):
        wide = b.add(wide, b.mul(extend("i64", first), extend("i64", second)))
    if signed:
        return b.trunc("u32", b.smax(b.smin(wide, 0x7FFFFFFF), -0x80000000))
    return b.trunc("u32", b.umin(wide, 0xFFFFFFFF))


for _sign in "ui":
    _row(
        f"v_dot2_{_sign}32_{_sign}16",
        f"u32 = {_sign}16x2, {_sign}16x2, u32",
        lambda b, x, y, z, s=_sign == "i": _dot2_integer(b, x, y, z, s),
        saturated=lambda b, x, y, z, s=_sign == "i": _dot2_limited(b, x, y, z, s),
        archs=GFX9,
    )
_row(
    "v_dot2c_i32_i16",
    "+u32 = i16x2, i16x2",
    lambda b, x, y, old: _dot2_integer(b, x, y, old, True),
    archs=GFX9,
)
