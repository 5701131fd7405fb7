"""Scalar arithmetic: SOP1, SOP2, SOPC, SOPK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import ALL, GFX9, GFX11, GFX12, RDNA, TABLE, Unit


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.SALU, style="scalar", **more)


def _nonzero(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """SCC tells whether the result is nonzero."""

    def both(b: Any, *sources: Any) -> Any:
        value = meaning(b, *sources)
        return value, b.ucmp("!=", value, 0)

    return both


# Moves
for _bits in (32, 64):
    _row(f"s_mov_b{_bits}", f"b{_bits} = b{_bits}", lambda b, x: x)
    _row(f"s_cmov_b{_bits}", f"+b{_bits} = b{_bits}, scc", lambda b, x, c, old: b.select(c, x, old))
    _row(
        f"s_cselect_b{_bits}",
        f"b{_bits} = b{_bits}, b{_bits}, scc",
        lambda b, x, y, c: b.select(c, x, y),
    )
_row("s_movk_i32", "b32 = imm", lambda b, k: b.const("u32", _short(k)))


def _short(value: int) -> int:
    """A 16-bit immediate, sign-extended."""
    return (value & 0xFFFF) - ((value & 0x8000) << 1)


# Logic
_LOGIC: dict[str, Callable[..., Any]] = {
    "and": lambda b, x, y: b.and_(x, y),
    "or": lambda b, x, y: b.or_(x, y),
    "xor": lambda b, x, y: b.xor(x, y),
    "nand": lambda b, x, y: b.not_(b.and_(x, y)),
    "nor": lambda b, x, y: b.not_(b.or_(x, y)),
    "xnor": lambda b, x, y: b.not_(b.xor(x, y)),
    "andn2": lambda b, x, y: b.and_(x, b.not_(y)),
    "orn2": lambda b, x, y: b.or_(x, b.not_(y)),
}
_EXEC = {32: RDNA, 64: ALL}  # a wave of gfx9 has 64 lanes
_OTHER = {"andn2": "and_not1", "orn2": "or_not1"}


def _saveexec(meaning: Callable[..., Any]) -> Callable[..., Any]:
    def both(b: Any, x: Any, mask: Any) -> Any:
        value = meaning(b, x, mask)
        return mask, value, b.ucmp("!=", value, 0)

    return both


def _wrexec(meaning: Callable[..., Any]) -> Callable[..., Any]:
    def both(b: Any, x: Any, mask: Any) -> Any:
        value = meaning(b, x, mask)
        return value, value, b.ucmp("!=", value, 0)

    return both


def _swapped(meaning: Callable[..., Any]) -> Callable[..., Any]:
    return lambda b, x, y: meaning(b, y, x)


for _name, _meaning in _LOGIC.items():
    for _bits in (32, 64):
        _t = f"b{_bits}"
        _alias = f" s_{_OTHER[_name]}_b{_bits}" if _name in _OTHER else ""
        _row(f"s_{_name}_{_t}{_alias}", f"{_t}, scc = {_t}, {_t}", _nonzero(_meaning))
        _exec = f"{_t}, exec, scc = {_t}, exec"
        _alias = f" s_{_OTHER[_name]}_saveexec_{_t}" if _name in _OTHER else ""
        _row(f"s_{_name}_saveexec_{_t}{_alias}", _exec, _saveexec(_meaning), archs=_EXEC[_bits])
for _bits in (32, 64):
    _t = f"b{_bits}"
    _exec = f"{_t}, exec, scc = {_t}, exec"
    for _name, _kind in (("and", "andn1"), ("or", "orn1")):
        _meaning = _swapped(_LOGIC[f"{_name}n2"])
        _names = f"s_{_kind}_saveexec_{_t} s_{_name}_not0_saveexec_{_t}"
        _row(_names, _exec, _saveexec(_meaning), archs=_EXEC[_bits])
    for _names, _meaning in (
        (f"s_andn1_wrexec_{_t} s_and_not0_wrexec_{_t}", _swapped(_LOGIC["andn2"])),
        (f"s_andn2_wrexec_{_t} s_and_not1_wrexec_{_t}", _LOGIC["andn2"]),
    ):
        _row(_names, _exec, _wrexec(_meaning), archs=_EXEC[_bits])
    _row(f"s_not_{_t}", f"{_t}, scc = {_t}", _nonzero(lambda b, x: b.not_(x)))
    _row(f"s_wqm_{_t}", f"{_t}, scc = {_t}", _nonzero(lambda b, x: _quads(b, x)))
    _row(f"s_brev_{_t}", f"{_t} = {_t}", lambda b, x: b.bit_reverse(x))


def _quads(b: Any, x: Any) -> Any:
    """Whole quad mode: all four bits of every quad that has one set."""
    pairs = b.or_(x, b.lshr(x, 1))
    low = b.and_(b.or_(pairs, b.lshr(pairs, 2)), 0x1111111111111111)
    return b.mul(low, 15)


# Shifts and bit fields
for _bits, _amount in ((32, "u32"), (64, "u32")):
    _t = f"b{_bits}"
    _extend = (lambda b, n: n) if _bits == 32 else (lambda b, n: b.zext("u64", n))
    _row(
        f"s_lshl_{_t}",
        f"{_t}, scc = {_t}, {_amount}",
        _nonzero(lambda b, x, n, e=_extend: b.shl(x, e(b, n))),
    )
    _row(
        f"s_lshr_{_t}",
        f"{_t}, scc = {_t}, {_amount}",
        _nonzero(lambda b, x, n, e=_extend: b.lshr(x, e(b, n))),
    )
    _row(
        f"s_ashr_i{_bits}",
        f"{_t}, scc = {_t}, {_amount}",
        _nonzero(lambda b, x, n, e=_extend: b.ashr(x, e(b, n))),
    )
    _row(
        f"s_bfm_{_t}", f"{_t} = u32, u32", lambda b, n, at, t=f"u{_bits}": _mask_field(b, t, n, at)
    )
    _row(
        f"s_bfe_u{_bits}",
        f"{_t}, scc = {_t}, u32",
        _nonzero(lambda b, x, f, t=f"u{_bits}": _field(b, t, x, f, False)),
    )
    _row(
        f"s_bfe_i{_bits}",
        f"{_t}, scc = {_t}, u32",
        _nonzero(lambda b, x, f, t=f"u{_bits}": _field(b, t, x, f, True)),
    )
    for _value, _name in ((0, "bitset0"), (1, "bitset1")):
        _row(
            f"s_{_name}_{_t}",
            f"+{_t} = u32",
            lambda b, n, old, v=_value, t=f"u{_bits}": _set_bit(b, t, old, n, v),
        )
    for _value in (0, 1):
        _row(
            f"s_bitcmp{_value}_{_t}",
            f"scc = {_t}, u32",
            lambda b, x, n, v=_value, e=_extend: b.ucmp("==", b.and_(b.lshr(x, e(b, n)), 1), v),
        )
        _row(
            f"s_bcnt{_value}_i32_{_t}",
            f"b32, scc = {_t}",
            _nonzero(lambda b, x, v=_value: b.trunc("u32", b.popcount(x if v else b.not_(x)))),
        )
        _row(
            f"s_ff{_value}_i32_{_t}" + (f" s_ctz_i32_{_t}" if _value else ""),
            f"b32 = {_t}",
            lambda b, x, v=_value: _first(b, x if v else b.not_(x), "low"),
            archs=ALL if _value else GFX9,
        )
    _row(f"s_flbit_i32_{_t} s_clz_i32_u{_bits}", f"b32 = {_t}", lambda b, x: _first(b, x, "high"))
    _row(
        "s_flbit_i32 s_cls_i32" if _bits == 32 else "s_flbit_i32_i64 s_cls_i32_i64",
        f"b32 = {_t}",
        lambda b, x: _sign_run(b, x),
    )


def _width(b: Any, x: Any) -> int:
    return int(b.element(x).width)


def _mask_field(b: Any, kind: str, count: Any, at: Any) -> Any:
    one = b.const(kind, 1)
    count, at = b.zext(kind, count), b.zext(kind, at)
    return b.shl(b.sub(b.shl(one, count), 1), at)


def _field(b: Any, kind: str, x: Any, field: Any, signed: bool) -> Any:
    """Bit field: offset in the low bits, width in bits 16-22."""
    bits = _width(b, x)
    offset = b.zext(kind, b.and_(field, bits - 1))
    size = b.zext(kind, b.and_(b.lshr(field, 16), 127))
    size = b.umin(size, bits)
    shifted = b.ashr(x, offset) if signed else b.lshr(x, offset)
    room = b.sub(b.const(kind, bits), size)
    shift = b.and_(room, bits - 1)
    kept = b.ashr(b.shl(shifted, shift), shift) if signed else b.lshr(b.shl(shifted, shift), shift)
    return b.select(b.ucmp("==", size, 0), 0, kept)


def _set_bit(b: Any, kind: str, old: Any, at: Any, value: int) -> Any:
    bit = b.shl(b.const(kind, 1), b.zext(kind, at))
    return b.or_(old, bit) if value else b.and_(old, b.not_(bit))


def _first(b: Any, x: Any, end: str) -> Any:
    """Position of the first set bit from one end; -1 when there is none."""
    count = b.count_trailing_zeros(x) if end == "low" else b.count_leading_zeros(x)
    return b.select(b.ucmp("==", x, 0), -1, b.trunc("u32", count))


def _sign_run(b: Any, x: Any) -> Any:
    """Number of leading bits that equal the sign; -1 when all do."""
    bits = _width(b, x)
    flipped = b.xor(x, b.ashr(x, bits - 1))
    return _first(b, flipped, "high")


# Addition and multiplication
def _carry(op: str) -> Callable[..., Any]:
    return lambda b, x, y: b.overflow(op, x, y)


def _add_carry(b: Any, x: Any, y: Any, carry: Any) -> Any:
    first, over1 = b.overflow("uadd", x, y)
    total, over2 = b.overflow("uadd", first, b.zext("u32", carry))
    return total, b.or_(over1, over2)


def _sub_borrow(b: Any, x: Any, y: Any, borrow: Any) -> Any:
    first, over1 = b.overflow("usub", x, y)
    total, over2 = b.overflow("usub", first, b.zext("u32", borrow))
    return total, b.or_(over1, over2)


_row("s_add_u32 s_add_co_u32", "u32, scc = u32, u32", _carry("uadd"))
_row("s_sub_u32 s_sub_co_u32", "u32, scc = u32, u32", _carry("usub"))
_row("s_add_i32 s_add_co_i32", "u32, scc = u32, u32", _carry("sadd"))
_row("s_sub_i32 s_sub_co_i32", "u32, scc = u32, u32", _carry("ssub"))
_row("s_addc_u32 s_add_co_ci_u32", "u32, scc = u32, u32, scc", _add_carry)
_row("s_subb_u32 s_sub_co_ci_u32", "u32, scc = u32, u32, scc", _sub_borrow)
_row("s_add_nc_u64 s_add_u64", "u64 = u64, u64", lambda b, x, y: b.add(x, y), archs=GFX12)
_row("s_sub_nc_u64 s_sub_u64", "u64 = u64, u64", lambda b, x, y: b.sub(x, y), archs=GFX12)
_row("s_mul_u64", "u64 = u64, u64", lambda b, x, y: b.mul(x, y), archs=GFX12)
_row("s_mul_i32", "u32 = u32, u32", lambda b, x, y: b.mul(x, y))


def _high(b: Any, x: Any, y: Any, signed: bool) -> Any:
    wide = b.sext if signed else b.zext
    return b.trunc("u32", b.lshr(b.mul(wide("u64", x), wide("u64", y)), 32))


_row("s_mul_hi_u32", "u32 = u32, u32", lambda b, x, y: _high(b, x, y, False))
_row("s_mul_hi_i32", "u32 = u32, u32", lambda b, x, y: _high(b, x, y, True))


def _shift_add(n: int) -> Callable[..., Any]:
    def meaning(b: Any, x: Any, y: Any) -> Any:
        wide = b.add(b.shl(b.zext("u64", x), n), b.zext("u64", y))
        return b.trunc("u32", wide), b.ucmp(">", wide, 0xFFFFFFFF)

    return meaning


for _n in (1, 2, 3, 4):
    _row(f"s_lshl{_n}_add_u32", "u32, scc = u32, u32", _shift_add(_n))

for _name, _op, _method in (("min", "<", "smin"), ("max", ">", "smax")):
    _row(
        f"s_{_name}_i32",
        "u32, scc = u32, u32",
        lambda b, x, y, o=_op: (b.select(b.icmp(o, x, y), x, y), b.icmp(o, x, y)),
    )
    _row(
        f"s_{_name}_u32",
        "u32, scc = u32, u32",
        lambda b, x, y, o=_op: (b.select(b.ucmp(o, x, y), x, y), b.ucmp(o, x, y)),
    )
_row(
    "s_abs_i32",
    "u32, scc = u32",
    _nonzero(lambda b, x: b.select(b.icmp("<", x, 0), b.sub(b.const("u32", 0), x), x)),
)
_row(
    "s_absdiff_i32",
    "u32, scc = u32, u32",
    _nonzero(lambda b, x, y: b.select(b.icmp("<", b.sub(x, y), 0), b.sub(y, x), b.sub(x, y))),
)
_row("s_sext_i32_i8", "u32 = u32", lambda b, x: b.sext("u32", b.trunc("u8", x)))
_row("s_sext_i32_i16", "u32 = u32", lambda b, x: b.sext("u32", b.trunc("u16", x)))
_row(
    "s_addk_i32 s_addk_co_i32",
    "+u32, scc = imm",
    lambda b, k, old: b.overflow("sadd", old, b.const("u32", _short(k))),
)
_row("s_mulk_i32", "+u32 = imm", lambda b, k, old: b.mul(old, _short(k)))
_row(
    "s_cmovk_i32",
    "+u32 = imm, scc",
    lambda b, k, c, old: b.select(c, b.const("u32", _short(k)), old),
)

# Comparisons
_COMPARE = {"eq": "==", "lg": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
for _name, _op in _COMPARE.items():
    _row(f"s_cmp_{_name}_i32", "scc = u32, u32", lambda b, x, y, o=_op: b.icmp(o, x, y))
    _row(f"s_cmp_{_name}_u32", "scc = u32, u32", lambda b, x, y, o=_op: b.ucmp(o, x, y))
    _row(
        f"s_cmpk_{_name}_i32",
        "scc = u32, imm",
        lambda b, x, k, o=_op: b.icmp(o, x, _short(k)),
        archs=GFX9 + GFX11,
    )
    _row(
        f"s_cmpk_{_name}_u32",
        "scc = u32, imm",
        lambda b, x, k, o=_op: b.ucmp(o, x, k & 0xFFFF),
        archs=GFX9 + GFX11,
    )
for _name in ("eq", "lg"):
    _row(f"s_cmp_{_name}_u64", "scc = u64, u64", lambda b, x, y, o=_COMPARE[_name]: b.ucmp(o, x, y))

# Packing
_HALF = {"l": lambda b, x: b.and_(x, 0xFFFF), "h": lambda b, x: b.lshr(x, 16)}
for _low, _high_half in (("l", "l"), ("l", "h"), ("h", "h"), ("h", "l")):
    _row(
        f"s_pack_{_low}{_high_half}_b32_b16",
        "b32 = b32, b32",
        lambda b, x, y, f=_HALF[_low], g=_HALF[_high_half]: b.or_(f(b, x), b.shl(g(b, y), 16)),
        archs=RDNA if (_low, _high_half) == ("h", "l") else ALL,
    )


# Masks of quads, bit doubling
def _compress(b: Any, x: Any) -> Any:
    """One bit per quad: whether any of its four bits is set."""
    pairs = b.or_(x, b.lshr(x, 1))
    bits = b.and_(b.or_(pairs, b.lshr(pairs, 2)), 0x1111111111111111)
    for step, mask in ((3, 0x0303030303030303), (6, 0x000F000F000F000F), (12, 0x000000FF000000FF)):
        bits = b.and_(b.or_(bits, b.lshr(bits, step)), mask)
    if _width(b, x) == 64:
        bits = b.and_(b.or_(bits, b.lshr(bits, 24)), 0xFFFF)
    return bits


def _double(b: Any, x: Any) -> Any:
    """Every bit twice."""
    wide = b.zext("u64", x)
    for step, mask in (
        (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333), (1, 0x5555555555555555),
    ):  # fmt: skip
        wide = b.and_(b.or_(wide, b.shl(wide, step)), mask)
    return b.or_(wide, b.shl(wide, 1))


for _bits in (32, 64):
    _row(f"s_quadmask_b{_bits}", f"b{_bits}, scc = b{_bits}", _nonzero(_compress))
_row("s_bitreplicate_b64_b32", "b64 = b32", _double)


# Registers chosen by M0
def _move_relative(m: Any, ins: Any, *, source: Any, target: Any) -> None:
    dwords = ins.dsts[0][0].dwords
    value = (
        m.read_scalar(ins.srcs[0][1], 32 * dwords)
        if source is None
        else m.load(
            m.scalar_pointer_at(ins.srcs[0][1].value, source(m), dwords), m.s.type(f"u{32 * dwords}")
        )
    )
    if target is None:
        m.write_scalar(ins.dsts[0][1], value)
    else:
        m.store(value, m.scalar_pointer_at(ins.dsts[0][1].value, target(m), dwords))


def _m0_field(first: int) -> Callable[[Any], Any]:
    return lambda m: m.s.and_(m.s.lshr(m.read_m0(), first), 0x3FF)


for _name, _bits, _source, _target in (
    ("movrels", 32, lambda m: m.read_m0(), None), ("movrels", 64, lambda m: m.read_m0(), None),
    ("movreld", 32, None, lambda m: m.read_m0()), ("movreld", 64, None, lambda m: m.read_m0()),
    ("movrelsd_2", 32, _m0_field(0), _m0_field(16)),
):  # fmt: skip
    TABLE.add(
        f"s_{_name}_b{_bits}",
        f"s:b{_bits} = s:b{_bits}",
        lambda m, i, s=_source, t=_target: _move_relative(m, i, source=s, target=t),
        unit=Unit.SALU,
        style="machine",
        archs=RDNA if _name == "movrelsd_2" else ALL,
    )
