"""Vector conversions of 8-bit floats: FNUZ on gfx942, OCP on gfx950 and gfx12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import GFX12, TABLE, Unit

# Format names of the lane functions by target group.
_TARGETS = ((("gfx942",), "_fnuz"), (("gfx950", *GFX12), ""))


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="lanes", **more)


def _byte_number(ins: Any, first: int) -> int:
    """The byte that ``byte_sel`` (gfx12) or two op_sel bits name."""
    return int(ins.modifier("byte_sel")) or ins.bit("op_sel", first) + 2 * ins.bit(
        "op_sel", first + 1
    )


def insert(b: Any, old: Any, value: Any, at: int, bits: int) -> Any:
    """`old` with `bits` bits at `at` replaced by those of `value`."""
    field = ((1 << bits) - 1) << at
    return b.or_(b.and_(old, ~field & 0xFFFFFFFF), b.and_(b.shl(value, at), field))


def encode(b: Any, name: str, clamps: Any, *args: Any) -> Any:
    """Call ``to_<format>``; `clamps` (MODE.FP16_OVFL) keeps overflow at the largest value."""
    if isinstance(clamps, bool):
        return b.function(f"to_{name}_saturated" if clamps else f"to_{name}", "u32", *args)
    both = (b.function(f"to_{name}{end}", "u32", *args) for end in ("_saturated", ""))
    return b.select(b.splat(clamps), *both)


def _decode_one(b: Any, x: Any, ins: Any, name: str) -> Any:
    code = b.lshr(x, 8 * ins.modifier("byte_sel"))
    return b.function(f"from_{name}", "f32", code)


def _decode_two(b: Any, x: Any, ins: Any, name: str) -> Any:
    word = b.lshr(x, 16 * ins.bit("op_sel", 0))
    low, high = (
        b.zext("u64", b.bitcast("u32", b.function(f"from_{name}", "f32", b.lshr(word, at))))
        for at in (0, 8)
    )
    return b.or_(low, b.shl(high, 32))


def _encode_two(b: Any, x: Any, y: Any, old: Any, name: str, ins: Any, clamps: Any) -> Any:
    low, high = (encode(b, name, clamps, value) for value in (x, y))
    return insert(b, old, b.or_(low, b.shl(high, 8)), 16 * ins.bit("op_sel", 2), 16)


def _encode_one(b: Any, x: Any, noise: Any, old: Any, name: str, ins: Any, clamps: Any) -> Any:
    return insert(b, old, encode(b, name, clamps, x, noise), 8 * _byte_number(ins, 2), 8)


for _archs, _suffix in _TARGETS:
    for _kind in ("fp8", "bf8"):
        _format = _kind + _suffix
        _row(
            f"v_cvt_f32_{_kind}",
            "f32 = u32",
            lambda b, x, ins, n=_format: _decode_one(b, x, ins, n),
            archs=_archs,
            inspects=True,
            raw=True,
        )
        _row(
            f"v_cvt_pk_f32_{_kind}",
            "u64 = u32",
            lambda b, x, ins, n=_format: _decode_two(b, x, ins, n),
            archs=_archs,
            inspects=True,
        )
        _row(
            f"v_cvt_pk_{_kind}_f32",
            "+u32 = f32, f32",
            lambda b, x, y, old, ins, clamps, n=_format: _encode_two(b, x, y, old, n, ins, clamps),
            archs=_archs,
            inspects=True,
            overflows=True,
        )
        _row(
            f"v_cvt_sr_{_kind}_f32",
            "+u32 = f32, u32",
            lambda b, x, r, old, ins, clamps, n=_format: _encode_one(b, x, r, old, n, ins, clamps),
            archs=_archs,
            inspects=True,
            overflows=True,
        )
