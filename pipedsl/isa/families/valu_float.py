"""Vector float arithmetic: add, multiply, fused multiply-add, minimum and maximum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import ALL, GFX9, GFX11, GFX12, RDNA, TABLE, Unit

GFX940 = ("gfx942", "gfx950")


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="lanes", **more)


# Sums and products
for _t in ("f16", "f32"):
    _two = f"{_t} = {_t}, {_t}"
    _row(f"v_add_{_t}", _two, lambda b, x, y: b.fadd(x, y))
    _row(f"v_sub_{_t}", _two, lambda b, x, y: b.fsub(x, y))
    _row(f"v_subrev_{_t}", _two, lambda b, x, y: b.fsub(y, x))
    _row(f"v_mul_{_t}", _two, lambda b, x, y: b.fmul(x, y))
_row("v_add_f64", "f64 = f64, f64", lambda b, x, y: b.fadd(x, y))
_row("v_mul_f64", "f64 = f64, f64", lambda b, x, y: b.fmul(x, y))


def _zero_wins(b: Any, x: Any, y: Any, value: Any, otherwise: Any) -> Any:
    """DX9 rule: a product with a zero is zero, whatever the other factor."""
    zero = b.or_(b.fcmp("==", x, 0.0), b.fcmp("==", y, 0.0))
    return b.select(zero, otherwise, value)


_row(
    "v_mul_dx9_zero_f32 v_mul_legacy_f32",
    "f32 = f32, f32",
    lambda b, x, y: _zero_wins(b, x, y, b.fmul(x, y), 0.0),
)
_row(
    "v_fma_dx9_zero_f32 v_fma_legacy_f32",
    "f32 = f32, f32, f32",
    lambda b, x, y, z: _zero_wins(b, x, y, b.fma(x, y, z), z),
    archs=RDNA,
)
_row(
    "v_fmac_dx9_zero_f32 v_fmac_legacy_f32",
    "+f32 = f32, f32",
    lambda b, x, y, old: _zero_wins(b, x, y, b.fma(x, y, old), old),
    archs=GFX11,
)


# Multiply-add. The unfused mad of gfx9 rounds the product too.
def _fused(b: Any, x: Any, y: Any, z: Any) -> Any:
    return b.fma(x, y, z)


def _unfused(b: Any, x: Any, y: Any, z: Any) -> Any:
    return b.fadd(b.fmul(x, y), z)


for _t in ("f16", "f32", "f64"):
    _row(f"v_fma_{_t}", f"{_t} = {_t}, {_t}, {_t}", _fused, keeps_high=True)
for _t, _archs in (("f16", RDNA), ("f32", ALL), ("f64", GFX9)):
    _row(f"v_fmac_{_t}", f"+{_t} = {_t}, {_t}", _fused, archs=_archs)
for _t, _archs in (("f16", RDNA), ("f32", GFX940 + RDNA)):
    _row(f"v_fmamk_{_t}", f"{_t} = {_t}, {_t}, {_t}", _fused, archs=_archs)
    _row(f"v_fmaak_{_t}", f"{_t} = {_t}, {_t}, {_t}", _fused, archs=_archs)
_row("v_mac_f16", "+f16 = f16, f16", _unfused, archs=GFX9)
_row("v_madmk_f16", "f16 = f16, f16, f16", _unfused, archs=GFX9)
_row("v_madak_f16", "f16 = f16, f16, f16", _unfused, archs=GFX9)
_row("v_mad_f16", "f16 = f16, f16, f16", _unfused, archs=GFX9, keeps_high=True)
_row("v_mad_legacy_f16", "f16 = f16, f16, f16", _unfused, archs=GFX9)
_row("v_fma_legacy_f16", "f16 = f16, f16, f16", _fused, archs=GFX9)
_GFX90A = ("gfx90a",)
_row("v_mac_f32", "+f32 = f32, f32", _unfused, archs=_GFX90A)
_row("v_madmk_f32", "f32 = f32, f32, f32", _unfused, archs=_GFX90A)
_row("v_madak_f32", "f32 = f32, f32, f32", _unfused, archs=_GFX90A)
_row("v_mad_f32", "f32 = f32, f32, f32", _unfused, archs=_GFX90A)
_row(
    "v_mad_legacy_f32",
    "f32 = f32, f32, f32",
    lambda b, x, y, z: b.fadd(_zero_wins(b, x, y, b.fmul(x, y), 0.0), z),
    archs=_GFX90A,
)


# Mixed precision: f32 arithmetic on f32 or f16 operands.
def _low_half(meaning: Callable[..., Any]) -> Callable[..., Any]:
    return lambda b, x, y, z: b.fconvert("f16", meaning(b, x, y, z))


def _high_half(meaning: Callable[..., Any]) -> Callable[..., Any]:
    def merged(b: Any, x: Any, y: Any, z: Any, old: Any) -> Any:
        half = b.zext("u32", b.bitcast("u16", b.fconvert("f16", meaning(b, x, y, z))))
        return b.or_(b.and_(old, 0xFFFF), b.shl(half, 16))

    return merged


def _unit(b: Any, value: Any) -> Any:
    """Clamp to [0, 1]; NaN becomes 0."""
    value = b.select(b.fcmp(">", value, 0.0), value, 0.0)
    return b.select(b.fcmp("<", value, 1.0), value, 1.0)


_row("v_fma_mix_f32", "f32 = mix, mix, mix", _fused)
_row("v_fma_mixlo_f16", "f16 = mix, mix, mix", _low_half(_fused), keeps_high=True)
_row(
    "v_fma_mixhi_f16",
    "+u32 = mix, mix, mix",
    _high_half(_fused),
    saturated=_high_half(lambda b, x, y, z: _unit(b, b.fma(x, y, z))),
)


# Minimum, maximum, median
def _pick(function: str, kind: str) -> Callable[..., Any]:
    return lambda b, *values: b.function(function, kind, *values)


_CHOICES = ("min3", "max3", "med3", "minmax", "maxmin")
for _t in ("f16", "f32", "f64"):
    for _name in ("min", "max"):
        _two = f"{_t} = {_t}, {_t}"
        _row(f"v_{_name}_{_t}", _two, _pick(f"{_name}_ieee", _t), archs=GFX9 + GFX11)
        _new = f"v_{_name}_num_{_t} v_{_name}_{_t}"
        _row(_new, _two, _pick(f"{_name}_num", _t), archs=GFX12)
        _row(f"v_{_name}imum_{_t}", _two, _pick(f"{_name}_imum", _t), archs=GFX12)
    if _t == "f64":
        continue
    _three = f"{_t} = {_t}, {_t}, {_t}"
    for _name in _CHOICES:
        _archs = GFX11 if _name in ("minmax", "maxmin") else GFX9 + GFX11
        _row(f"v_{_name}_{_t}", _three, _pick(f"{_name}_ieee", _t), archs=_archs, keeps_high=True)
        _new = f"v_{_name}_num_{_t} v_{_name}_{_t}"
        _row(_new, _three, _pick(f"{_name}_num", _t), archs=GFX12, keeps_high=True)
    _own = GFX12 if _t == "f16" else (*GFX12, "gfx950")
    _row(f"v_minimum3_{_t}", _three, _pick("min3_imum", _t), archs=_own)
    _row(f"v_maximum3_{_t}", _three, _pick("max3_imum", _t), archs=_own)
    _row(f"v_minimummaximum_{_t}", _three, _pick("minmax_imum", _t), archs=GFX12)
    _row(f"v_maximumminimum_{_t}", _three, _pick("maxmin_imum", _t), archs=GFX12)

_MAX = 3.4028234663852886e38


def _mullit(b: Any, x: Any, y: Any, z: Any) -> Any:
    """Product for lighting; -MAX_FLOAT where the exponent or the guard is out of range."""
    bad = b.or_(b.fcmp_unordered("<=", y, -_MAX), b.fcmp_unordered("<=", z, 0.0))
    return b.select(bad, -_MAX, b.fmul(x, y))


_row("v_mullit_f32", "f32 = f32, f32, f32", _mullit, archs=RDNA)
