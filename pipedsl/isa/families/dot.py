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
        product = b.function(f"from_{first}", "f32", left), b.function(
            f"from_{second}", "f32", right
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


# Integers
def _terms(b: Any, word: Any, bits: int, signed: bool) -> list[Any]:
    """The fields of a dword, extended to 32 bits."""
    fields = []
    for at in range(0, 32, bits):
        raised = b.shl(word, 32 - bits - at)
        fields.append(b.ashr(raised, 32 - bits) if signed else b.lshr(raised, 32 - bits))
    return fields


def _dot(
    b: Any, x: Any, y: Any, z: Any, bits: int, signs: tuple[bool, bool], saturate: bool = False
) -> Any:
    pairs = zip(_terms(b, x, bits, signs[0]), _terms(b, y, bits, signs[1]), strict=True)
    products = [b.mul(first, second) for first, second in pairs]
    if not saturate:
        total = z
        for product in products:
            total = b.add(total, product)
        return total
    signed = any(signs)
    extend = b.sext if signed else b.zext
    wide = extend("i64", z)
    for product in products:
        wide = b.add(wide, extend("i64", product))
    clamped = (
        b.smax(b.smin(wide, 0x7FFFFFFF), -0x80000000) if signed else b.umin(wide, 0xFFFFFFFF)
    )
    return b.trunc("u32", clamped)


def _integer_rows(name: str, bits: int, signed: bool, archs: tuple[str, ...]) -> None:
    def plain(b: Any, x: Any, y: Any, z: Any) -> Any:
        return _dot(b, x, y, z, bits, (signed, signed))

    def limited(b: Any, x: Any, y: Any, z: Any) -> Any:
        return _dot(b, x, y, z, bits, (signed, signed), saturate=True)

    _row(name, "u32 = u32, u32, u32", plain, saturated=limited, archs=archs)


_integer_rows("v_dot4_i32_i8", 8, True, ALL)
_integer_rows("v_dot8_i32_i4", 4, True, ALL)
_integer_rows("v_dot4_u32_u8", 8, False, ALL)
_integer_rows("v_dot8_u32_u4", 4, False, ALL)
for _name, _bits in (("v_dot4c_i32_i8", 8), ("v_dot8c_i32_i4", 4)):
    _row(
        _name,
        "+u32 = u32, u32",
        lambda b, x, y, old, n=_bits: _dot(b, x, y, old, n, (True, True)),
        archs=GFX9,
    )


def _mixed_signs(bits: int, saturate: bool) -> Callable[..., Any]:
    """neg_lo tells which of the factors are signed."""

    def meaning(b: Any, x: Any, y: Any, z: Any, ins: Any) -> Any:
        signs = bool(ins.bit("neg_lo", 0)), bool(ins.bit("neg_lo", 1))
        if saturate:
            # The result is signed whatever the factors are.
            wide = b.sext("i64", z)
            pairs = zip(
                _terms(b, x, bits, signs[0]), _terms(b, y, bits, signs[1]), strict=True
            )
            for first, second in pairs:
                wide = b.add(wide, b.sext("i64", b.mul(first, second)))
            return b.trunc("u32", b.smax(b.smin(wide, 0x7FFFFFFF), -0x80000000))
        return _dot(b, x, y, z, bits, signs)

    return meaning


for _name, _bits in (("v_dot4_i32_iu8", 8), ("v_dot8_i32_iu4", 4)):
    _row(
        _name,
        "u32 = u32, u32, u32",
        _mixed_signs(_bits, False),
        saturated=_mixed_signs(_bits, True),
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
