"""Scalar float arithmetic (gfx11.5 and gfx12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import GFX12, TABLE, Unit


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.SALU, style="scalar", archs=GFX12, **more)


def _pick(function: str, kind: str) -> Callable[..., Any]:
    return lambda b, x, y: b.function(function, kind, x, y)


for _t in ("f16", "f32"):
    _two = f"{_t} = {_t}, {_t}"
    _row(f"s_add_{_t}", _two, lambda b, x, y: b.fadd(x, y))
    _row(f"s_sub_{_t}", _two, lambda b, x, y: b.fsub(x, y))
    _row(f"s_mul_{_t}", _two, lambda b, x, y: b.fmul(x, y))
    _row(f"s_fmac_{_t}", f"+{_two}", lambda b, x, y, old: b.fma(x, y, old))
    for _name in ("min", "max"):
        _row(f"s_{_name}_num_{_t}", _two, _pick(f"{_name}_num", _t))
        _row(f"s_{_name}imum_{_t}", _two, _pick(f"{_name}_imum", _t))
    for _name, _function in (
        ("ceil", "ceil"), ("floor", "floor"), ("trunc", "trunc"), ("rndne", "roundeven"),
    ):  # fmt: skip
        _row(f"s_{_name}_{_t}", f"{_t} = {_t}", lambda b, x, f=_function: b.math(f, x))
for _name in ("fmaak", "fmamk"):
    _row(f"s_{_name}_f32", "f32 = f32, f32, f32", lambda b, x, y, z: b.fma(x, y, z))

# Comparisons to SCC
_TESTS: dict[str, Callable[..., Any]] = {
    **{
        name: (lambda b, x, y, o=op: b.fcmp(o, x, y))
        for name, op in {
            "lt": "<", "eq": "==", "le": "<=", "gt": ">", "lg": "!=", "ge": ">=",
        }.items()
    },
    **{
        name: (lambda b, x, y, o=op: b.fcmp_unordered(o, x, y))
        for name, op in {
            "nge": "<", "nlg": "==", "ngt": "<=", "nle": ">", "neq": "!=", "nlt": ">=",
        }.items()
    },
    "o": lambda b, x, y: b.irb.fcmp_ordered("ord", x, y),
    "u": lambda b, x, y: b.irb.fcmp_unordered("uno", x, y),
}  # fmt: skip
for _t in ("f16", "f32"):
    for _name, _test in _TESTS.items():
        _row(f"s_cmp_{_name}_{_t}", f"scc = {_t}, {_t}", _test)

# Conversions
_row("s_cvt_f32_i32", "f32 = i32", lambda b, x: b.to_float("f32", x, signed=True))
_row("s_cvt_f32_u32", "f32 = u32", lambda b, x: b.to_float("f32", x, signed=False))
for _kind in ("i32", "u32"):
    _row(
        f"s_cvt_{_kind}_f32",
        f"{_kind} = f32",
        lambda b, x, k=_kind: b.function(f"to_{k}", "u32", b.fconvert("f64", x)),
    )
_row("s_cvt_f16_f32", "f16 = f32", lambda b, x: b.fconvert("f16", x))
_row("s_cvt_f32_f16", "f32 = f16", lambda b, x: b.fconvert("f32", x))
_row(
    "s_cvt_hi_f32_f16",
    "f32 = u32",
    lambda b, x: b.fconvert("f32", b.bitcast("f16", b.trunc("u16", b.lshr(x, 16)))),
)


def _toward_zero(b: Any, x: Any, y: Any) -> Any:
    low, high = (
        b.zext("u32", b.bitcast("u16", b.function("f16_toward_zero", "f16", value)))
        for value in (x, y)
    )
    return b.or_(low, b.shl(high, 16))


_row("s_cvt_pk_rtz_f16_f32", "u32 = f32, f32", _toward_zero)
