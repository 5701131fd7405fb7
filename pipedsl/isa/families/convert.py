"""Vector conversions between integers and floats of 16, 32 and 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import GFX9, RDNA, TABLE, Fidelity, Unit

GFX950 = ("gfx950",)


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="lanes", **more)


# Float to float
for _to, _from in (("f16", "f32"), ("f32", "f16"), ("f32", "f64"), ("f64", "f32")):
    _row(f"v_cvt_{_to}_{_from}", f"{_to} = {_from}", lambda b, x, t=_to: b.fconvert(t, x))


# Integer to float
def _from_integer(b: Any, x: Any, kind: str, signed: bool) -> Any:
    return b.to_float(kind, x, signed=signed)


for _to, _from in (
    ("f32", "i32"), ("f32", "u32"), ("f64", "i32"), ("f64", "u32"), ("f16", "i16"), ("f16", "u16"),
):  # fmt: skip
    _row(
        f"v_cvt_{_to}_{_from}",
        f"{_to} = {_from}",
        lambda b, x, t=_to, s=_from[0] == "i": _from_integer(b, x, t, s),
    )
for _place in range(4):
    _row(
        f"v_cvt_f32_ubyte{_place}",
        "f32 = u32",
        lambda b, x, n=_place: b.to_float(
            "f32", b.and_(b.lshr(x, 8 * n), 0xFF), signed=False
        ),
    )


def _offset(b: Any, x: Any) -> Any:
    """A signed 4-bit number of sixteenths."""
    return b.fmul(b.to_float("f32", b.ashr(b.shl(x, 28), 28), signed=True), 1 / 16)


_row("v_cvt_off_f32_i4", "f32 = u32", _offset)


# Float to integer: toward zero, saturating, NaN to 0
def _to_integer(b: Any, x: Any, kind: str) -> Any:
    value = b.function(f"to_{kind}", "u32", b.fconvert("f64", x))
    return b.trunc("u16", value) if kind.endswith("16") else value


for _to, _from in (
    ("i32", "f32"), ("u32", "f32"), ("i32", "f64"), ("u32", "f64"), ("i16", "f16"), ("u16", "f16"),
):  # fmt: skip
    _row(
        f"v_cvt_{_to}_{_from}", f"{_to} = {_from}", lambda b, x, k=_to: _to_integer(b, x, k)
    )
_row(
    "v_cvt_flr_i32_f32 v_cvt_floor_i32_f32",
    "i32 = f32",
    lambda b, x: _to_integer(b, b.math("floor", x), "i32"),
)
_row(
    "v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32",
    "i32 = f32",
    lambda b, x: _to_integer(b, b.math("floor", b.fadd(b.fconvert("f64", x), 0.5)), "i32"),
)
_row("v_cvt_i32_i16", "i32 = i16", lambda b, x: b.sext("i32", x), archs=RDNA)
_row("v_cvt_u32_u16", "u32 = u16", lambda b, x: b.zext("u32", x), archs=RDNA)


# Normalised: [-1, 1] or [0, 1] to the whole integer range, to nearest even
def _normalised(b: Any, x: Any, kind: str) -> Any:
    wide = b.fmul(b.fconvert("f64", x), 32767.0 if kind == "i16" else 65535.0)
    limit = 32767.0
    if kind == "i16":
        wide = b.select(b.fcmp("<", wide, -limit), -limit, wide)
    return b.trunc("u16", b.function(f"to_{kind}", "u32", b.math("roundeven", wide)))


def _pair(b: Any, low: Any, high: Any) -> Any:
    return b.or_(b.zext("u32", low), b.shl(b.zext("u32", high), 16))


for _kind in ("i16", "u16"):
    _row(
        f"v_cvt_norm_{_kind}_f16", f"{_kind} = f16", lambda b, x, k=_kind: _normalised(b, x, k)
    )
    for _from in ("f16", "f32"):
        _row(
            f"v_cvt_pknorm_{_kind}_{_from} v_cvt_pk_norm_{_kind}_{_from}",
            f"u32 = {_from}, {_from}",
            lambda b, x, y, k=_kind: _pair(b, _normalised(b, x, k), _normalised(b, y, k)),
        )
    _row(
        f"v_cvt_pk_{_kind}_f32",
        "u32 = f32, f32",
        lambda b, x, y, k=_kind: _pair(b, _to_integer(b, x, k), _to_integer(b, y, k)),
        archs=RDNA,
    )


def _narrowed(b: Any, x: Any, signed: bool) -> Any:
    clamped = b.smax(b.smin(x, 32767), -32768) if signed else b.umin(x, 65535)
    return b.trunc("u16", clamped)


_row(
    "v_cvt_pk_i16_i32",
    "u32 = i32, i32",
    lambda b, x, y: _pair(b, _narrowed(b, x, True), _narrowed(b, y, True)),
)
_row(
    "v_cvt_pk_u16_u32",
    "u32 = u32, u32",
    lambda b, x, y: _pair(b, _narrowed(b, x, False), _narrowed(b, y, False)),
)


# Pairs of halves
def _toward_zero(b: Any, x: Any) -> Any:
    return b.bitcast("u16", b.function("f16_toward_zero", "f16", x))


_row(
    "v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32",
    "u32 = f32, f32",
    lambda b, x, y: _pair(b, _toward_zero(b, x), _toward_zero(b, y)),
)
_row(
    "v_cvt_pk_f16_f32",
    "u32 = f32, f32",
    lambda b, x, y: _pair(
        b, *(b.bitcast("u16", b.fconvert("f16", value)) for value in (x, y))
    ),
    archs=GFX950,
)
_row(
    "v_cvt_pk_bf16_f32",
    "u32 = f32, f32",
    lambda b, x, y: _pair(b, b.function("to_bf16", "u16", x), b.function("to_bf16", "u16", y)),
    archs=GFX950,
)
_row(
    "v_cvt_f32_bf16",
    "f32 = b16",
    lambda b, x: b.bitcast("f32", b.shl(b.zext("u32", x), 16)),
    archs=GFX950,
    raw=True,
)
for _kind in ("f16", "bf16"):
    _row(
        f"v_cvt_sr_{_kind}_f32",
        "b16 = f32, u32",
        lambda b, x, noise, k=_kind: b.function(f"sr_{k}", "u16", x, noise),
        archs=GFX950,
        keeps_high=True,
        fidelity=Fidelity.APPROXIMATE,
        reason="the document leaves the handling of denormal results open",
    )


# One byte of a dword
def _byte(b: Any, x: Any, place: Any, old: Any) -> Any:
    value = b.function("to_u8", "u32", b.math("roundeven", b.fconvert("f64", x)))
    at = b.shl(b.and_(place, 3), 3)
    keep = b.and_(old, b.not_(b.shl(b.const("u32", 0xFF), at)))
    return b.or_(keep, b.shl(value, at))


_row("v_cvt_pk_u8_f32", "u32 = f32, u32, u32", _byte)
_row(
    "v_cvt_pkaccum_u8_f32",
    "+u32 = f32, u32",
    lambda b, x, place, old: _byte(b, x, place, old),
    archs=GFX9,
)
