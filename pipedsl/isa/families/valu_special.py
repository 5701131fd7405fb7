"""Vector float functions: transcendental, rounding, exponent and mantissa, division steps, cube."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import GFX12, TABLE, Fidelity, Unit

_ULP = "rounded correctly to within 0.51 ULP, the hardware to within 1 ULP"
_TURNS = f"{_ULP}; finite arguments beyond 256 turns are reduced exactly"


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, **{"unit": Unit.VALU, "style": "lanes", **more})


# Transcendental, and seeds for Newton iterations
_ABOUT = {"fidelity": Fidelity.APPROXIMATE, "unit": Unit.TRANS}
for _name in ("rcp", "rsq", "sqrt", "exp", "log", "sin", "cos"):
    _reason = _TURNS if _name in ("sin", "cos") else _ULP
    for _t in ("f16", "f32"):

        def _meaning(b: Any, x: Any, name: str = _name, t: str = _t) -> Any:
            return b.function(name, t, x)

        _alias = " v_rcp_iflag_f32" if (_name, _t) == ("rcp", "f32") else ""
        _row(f"v_{_name}_{_t}{_alias}", f"{_t} = {_t}", _meaning, reason=_reason, **_ABOUT)
        if _name not in ("sin", "cos"):
            _row(
                f"v_s_{_name}_{_t}",
                f"{_t} = {_t}",
                _meaning,
                reason=_reason,
                archs=GFX12,
                **{**_ABOUT, "style": "scalar"},
            )
    if _name in ("rcp", "rsq", "sqrt"):
        _row(
            f"v_{_name}_f64",
            "f64 = f64",
            lambda b, x, name=_name: b.function(name, "f64", x),
            reason="rounded correctly; the hardware's result is a seed for Newton iterations",
            **_ABOUT,
        )

# Rounding to integers
for _t in ("f16", "f32", "f64"):
    _one = f"{_t} = {_t}"
    for _name, _method in (
        ("trunc", "trunc"), ("ceil", "ceil"), ("rndne", "roundeven"), ("floor", "floor"),
    ):  # fmt: skip
        _row(f"v_{_name}_{_t}", _one, lambda b, x, f=_method: b.math(f, x))

# The fraction stays below 1 even where the subtraction would round up to it.
_BELOW_ONE = {"f16": 0x3BFF, "f32": 0x3F7FFFFF, "f64": 0x3FEFFFFFFFFFFFFF}


def _fraction(b: Any, x: Any, kind: str) -> Any:
    value = b.fsub(x, b.math("floor", x))
    limit = b.bitcast(kind, b.const(f"u{kind[1:]}", _BELOW_ONE[kind]))
    return b.select(b.fcmp(">", value, limit), limit, value)


for _t in ("f16", "f32", "f64"):
    _row(f"v_fract_{_t}", f"{_t} = {_t}", lambda b, x, t=_t: _fraction(b, x, t))

# Exponents and mantissas
for _t, _exponent in (("f16", "i16"), ("f32", "i32"), ("f64", "i32")):
    _row(
        f"v_frexp_exp_{_exponent}_{_t}",
        f"{_exponent} = {_t}",
        lambda b, x, e=_exponent: b.trunc(e, b.function("frexp_exp", "i32", b.fconvert("f64", x))),
    )
    _row(
        f"v_frexp_mant_{_t}",
        f"{_t} = {_t}",
        lambda b, x, t=_t: b.fconvert(t, b.function("frexp_mant", "f64", b.fconvert("f64", x))),
    )
for _t, _exponent in (("f16", "i16"), ("f32", "i32"), ("f64", "i32")):
    _row(
        f"v_ldexp_{_t}",
        f"{_t} = {_t}, {_exponent}",
        lambda b, x, n, t=_t: b.fconvert(
            t, b.function("ldexp", "f64", b.fconvert("f64", x), b.sext("i32", n))
        ),
    )

# Division steps
for _t in ("f32", "f64"):

    def _scale(b: Any, x: Any, y: Any, z: Any, t: str = _t) -> Any:
        flag = b.function("div_scale_flag", "u32", x, y, z)
        return b.function("div_scale", t, x, y, z), b.ucmp("!=", flag, 0)

    def _fmas(b: Any, x: Any, y: Any, z: Any, scaled: Any, t: str = _t) -> Any:
        return b.function("div_fmas", t, x, y, z, b.zext("u32", scaled))

    _row(f"v_div_scale_{_t}", f"{_t}, mask = {_t}, {_t}, {_t}", _scale)
    _row(f"v_div_fmas_{_t}", f"{_t} = {_t}, {_t}, {_t}, vcc", _fmas)
for _t in ("f16", "f32", "f64"):
    _row(
        f"v_div_fixup_{_t}" + (" v_div_fixup_legacy_f16" if _t == "f16" else ""),
        f"{_t} = {_t}, {_t}, {_t}",
        lambda b, x, y, z, t=_t: b.function("div_fixup", t, x, y, z),
        raw=True,
        keeps_high=True,
    )
_row(
    "v_trig_preop_f64",
    "f64 = f64, u32",
    lambda b, x, n: b.function("trig_preop", "f64", x, n),
    raw=True,
)


# Cube map faces
def _faces(b: Any, x: Any, y: Any, z: Any) -> tuple[Any, Any]:
    """Lanes whose major axis is z, and, among the others, y."""
    on_z = b.and_(
        b.fcmp(">=", b.fabs(z), b.fabs(x)), b.fcmp(">=", b.fabs(z), b.fabs(y))
    )
    return on_z, b.fcmp(">=", b.fabs(y), b.fabs(x))


def _cube_id(b: Any, x: Any, y: Any, z: Any) -> Any:
    on_z, on_y = _faces(b, x, y, z)

    def side(v: Any, positive: float) -> Any:
        return b.select(b.fcmp("<", v, 0.0), b.const("f32", positive + 1), positive)

    return b.select(on_z, side(z, 4.0), b.select(on_y, side(y, 2.0), side(x, 0.0)))


def _cube_s(b: Any, x: Any, y: Any, z: Any) -> Any:
    on_z, on_y = _faces(b, x, y, z)
    first = b.select(b.fcmp("<", z, 0.0), b.fneg(x), x)
    return b.select(on_z, first, b.select(on_y, x, b.select(b.fcmp("<", x, 0.0), z, b.fneg(z))))


def _cube_t(b: Any, x: Any, y: Any, z: Any) -> Any:
    on_z, on_y = _faces(b, x, y, z)
    second = b.select(b.fcmp("<", y, 0.0), b.fneg(z), z)
    return b.select(on_z, b.fneg(y), b.select(on_y, second, b.fneg(y)))


def _cube_axis(b: Any, x: Any, y: Any, z: Any) -> Any:
    on_z, on_y = _faces(b, x, y, z)
    return b.fmul(b.select(on_z, z, b.select(on_y, y, x)), 2.0)


for _name, _function in {"id": _cube_id, "sc": _cube_s, "tc": _cube_t, "ma": _cube_axis}.items():
    _row(f"v_cube{_name}_f32", "f32 = f32, f32, f32", _function)
