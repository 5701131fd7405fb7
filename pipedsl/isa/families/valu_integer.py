"""Vector integer arithmetic, logic, comparisons and moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import GFX9, RDNA, TABLE, Unit


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="lanes", **more)


_row("v_nop", "", lambda b: ())
_row("v_mov_b32", "b32 = b32", lambda b, x: x)
_row("v_mov_b64", "b64 = b64", lambda b, x: x, archs=("gfx942", "gfx950"))
_row("v_not_b32", "b32 = b32", lambda b, x: b.not_(x))
_row("v_cndmask_b32", "b32 = b32, b32, mask", lambda b, x, y, c: b.select(c, y, x), optional=1)

for _name, _meaning in {
    "and": lambda b, x, y: b.and_(x, y),
    "or": lambda b, x, y: b.or_(x, y),
    "xor": lambda b, x, y: b.xor(x, y),
    "xnor": lambda b, x, y: b.not_(b.xor(x, y)),
}.items():
    _row(f"v_{_name}_b32", "b32 = b32, b32", _meaning)

_row("v_add_u32 v_add_nc_u32", "u32 = u32, u32", lambda b, x, y: b.add(x, y))
_row("v_sub_u32 v_sub_nc_u32", "u32 = u32, u32", lambda b, x, y: b.sub(x, y))
_row("v_subrev_u32 v_subrev_nc_u32", "u32 = u32, u32", lambda b, x, y: b.sub(y, x))
_row("v_lshlrev_b32", "u32 = u32, u32", lambda b, n, x: b.shl(x, n))
_row("v_lshrrev_b32", "u32 = u32, u32", lambda b, n, x: b.lshr(x, n))
_row("v_ashrrev_i32", "u32 = u32, u32", lambda b, n, x: b.ashr(x, n))
_row("v_mul_lo_u32", "u32 = u32, u32", lambda b, x, y: b.mul(x, y))

_row("v_add_co_u32", "u32, mask = u32, u32", lambda b, x, y: b.overflow("uadd", x, y))
_row("v_sub_co_u32", "u32, mask = u32, u32", lambda b, x, y: b.overflow("usub", x, y))
_row("v_subrev_co_u32", "u32, mask = u32, u32", lambda b, x, y: b.overflow("usub", y, x))


def _add_carry(b: Any, x: Any, y: Any, carry: Any) -> Any:
    first, over1 = b.overflow("uadd", x, y)
    total, over2 = b.overflow("uadd", first, b.zext("u32", carry))
    return total, b.or_(over1, over2)


def _sub_borrow(b: Any, x: Any, y: Any, borrow: Any) -> Any:
    first, over1 = b.overflow("usub", x, y)
    total, over2 = b.overflow("usub", first, b.zext("u32", borrow))
    return total, b.or_(over1, over2)


_row("v_addc_co_u32 v_add_co_ci_u32", "u32, mask = u32, u32, mask", _add_carry)
_row("v_subb_co_u32 v_sub_co_ci_u32", "u32, mask = u32, u32, mask", _sub_borrow)
_row(
    "v_subbrev_co_u32 v_subrev_co_ci_u32",
    "u32, mask = u32, u32, mask",
    lambda b, x, y, c: _sub_borrow(b, y, x, c),
)

# Comparisons
_COMPARE = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
for _bits in (16, 32, 64):
    for _sign in "ui":
        _t = f"{_sign}{_bits}"
        for _name, _op in _COMPARE.items():
            _meaning = (
                (lambda b, x, y, o=_op: b.icmp(o, x, y))
                if _sign == "i"
                else (lambda b, x, y, o=_op: b.ucmp(o, x, y))
            )
            _row(f"v_cmp_{_name}_{_t}", f"mask = {_t}, {_t}", _meaning)
            _row(f"v_cmpx_{_name}_{_t}", f"exec = {_t}, {_t}", _meaning, archs=RDNA)
            _row(
                f"v_cmpx_{_name}_{_t}",
                f"mask, exec = {_t}, {_t}",
                lambda b, x, y, f=_meaning: (f(b, x, y),) * 2,
                archs=GFX9,
            )

# Lanes


def _first_lane(m: Any, ins: Any) -> None:
    bits = m.read_exec()
    lane = m.irb.select(m.s.ucmp("==", bits, 0), m.mask_int(0), m.s.count_trailing_zeros(bits))
    lane = m.s.trunc("u32", lane) if m.lanes == 64 else lane
    m.write_scalar(ins.dsts[0][1], m.b.extract(m.read_lanes(ins.srcs[0][1], "u32"), lane))


TABLE.add("v_readfirstlane_b32", "s:b32 = b32", _first_lane, unit=Unit.VALU, style="machine")


def _count_below(m: Any, ins: Any, start: int) -> None:
    """Population count of the source below each lane, plus the second source."""
    lanes = m.b.lane_ids()
    place = m.b.sub(lanes, start)
    below = m.b.sub(m.b.shl(m.b.const("u32", 1), place), 1)
    if start == 0:
        below = m.b.select(m.b.ucmp(">=", lanes, 32), 0xFFFFFFFF, below)
    else:
        below = m.b.select(m.b.ucmp("<", lanes, 32), 0, below)
    bits = m.b.and_(m.read_lanes(ins.srcs[0][1], "u32"), below)
    total = m.b.add(m.b.popcount(bits), m.read_lanes(ins.srcs[1][1], "u32"))
    m.write_lanes(ins.dsts[0][1].value, "u32", total)


TABLE.add(
    "v_mbcnt_lo_u32_b32",
    "u32 = u32, u32",
    lambda m, i: _count_below(m, i, 0),
    unit=Unit.VALU,
    style="machine",
)
TABLE.add(
    "v_mbcnt_hi_u32_b32",
    "u32 = u32, u32",
    lambda m, i: _count_below(m, i, 32),
    unit=Unit.VALU,
    style="machine",
)
