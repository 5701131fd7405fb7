"""Packed math (VOP3P): both halves of a dword, or both dwords of a pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import GFX9, GFX11, GFX12, TABLE, Unit


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="packed", **more)


# Floats
for _t, _archs in (("f16", None), ("f32", GFX9)):
    _where = {} if _archs is None else {"archs": _archs}
    _row(f"v_pk_add_{_t}", f"{_t} = {_t}, {_t}", lambda b, x, y: b.fadd(x, y), **_where)
    _row(f"v_pk_mul_{_t}", f"{_t} = {_t}, {_t}", lambda b, x, y: b.fmul(x, y), **_where)
    _row(
        f"v_pk_fma_{_t}", f"{_t} = {_t}, {_t}, {_t}", lambda b, x, y, z: b.fma(x, y, z), **_where
    )
_row("v_pk_fmac_f16", "+f16 = f16, f16", lambda b, x, y, old: b.fma(x, y, old))


def _pick(function: str) -> Callable[..., Any]:
    return lambda b, *values: b.function(function, "f16", *values)


for _name in ("min", "max"):
    _row(f"v_pk_{_name}_f16", "f16 = f16, f16", _pick(f"{_name}_ieee"), archs=GFX9 + GFX11)
    _new = f"v_pk_{_name}_num_f16 v_pk_{_name}_f16"
    _row(_new, "f16 = f16, f16", _pick(f"{_name}_num"), archs=GFX12)
    _row(f"v_pk_{_name}imum_f16", "f16 = f16, f16", _pick(f"{_name}_imum"), archs=GFX12)
    _row(
        f"v_pk_{_name}imum3_f16",
        "f16 = f16, f16, f16",
        _pick(f"{_name}3_imum"),
        archs=("gfx950",),
    )

# Integers; clamp saturates
for _sign in "ui":
    _t = f"{_sign}16"
    _prefix = "u" if _sign == "u" else "s"
    for _op in ("add", "sub"):
        _row(
            f"v_pk_{_op}_{_t}",
            f"{_t} = {_t}, {_t}",
            lambda b, x, y, o=_op: getattr(b, o)(x, y),
            saturated=lambda b, x, y, o=f"{_prefix}{_op}": b.saturating(o, x, y),
        )
    for _op in ("min", "max"):
        _row(
            f"v_pk_{_op}_{_t}",
            f"{_t} = {_t}, {_t}",
            lambda b, x, y, o=f"{_prefix}{_op}": getattr(b, o)(x, y),
        )

    def _limited(b: Any, x: Any, y: Any, z: Any, signed: bool = _sign == "i") -> Any:
        extend = b.sext if signed else b.zext
        product = b.mul(extend("i32", x), extend("i32", y))
        if signed:
            total = b.saturating("sadd", product, extend("i32", z))
            return b.trunc("u16", b.smax(b.smin(total, 0x7FFF), -0x8000))
        return b.trunc("u16", b.umin(b.saturating("uadd", product, extend("i32", z)), 0xFFFF))

    _row(
        f"v_pk_mad_{_t}",
        f"{_t} = {_t}, {_t}, {_t}",
        lambda b, x, y, z: b.add(b.mul(x, y), z),
        saturated=_limited,
    )
_row("v_pk_mul_lo_u16", "u16 = u16, u16", lambda b, x, y: b.mul(x, y))
_row("v_pk_lshlrev_b16", "u16 = u16, u16", lambda b, n, x: b.shl(x, n))
_row("v_pk_lshrrev_b16", "u16 = u16, u16", lambda b, n, x: b.lshr(x, n))
_row("v_pk_ashrrev_i16", "i16 = u16, i16", lambda b, n, x: b.ashr(x, n))


def _move_pair(m: Any, ins: Any) -> None:
    """``v_pk_mov_b32``: op_sel picks the dword of each source."""
    values = [m.read_dword(operand, ins.bit("op_sel", i)) for i, (_, operand) in enumerate(ins.srcs)]
    for dword, value in enumerate(values):
        m.write_row(ins.dsts[0][1].value, value, dword)


TABLE.add(
    "v_pk_mov_b32", "b64 = b64, b64", _move_pair, unit=Unit.VALU, style="machine", archs=GFX9
)
