"""Instructions that move data between lanes, or between vector and scalar registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipedsl.isa.opcode import GFX9, GFX12, RDNA, TABLE, Unit


def _row(names: str, signature: str, meaning: Callable[..., Any], **more: Any) -> None:
    TABLE.add(names, signature, meaning, unit=Unit.VALU, style="machine", **more)


# One lane
def _first_lane(m: Any, ins: Any) -> None:
    bits = m.read_exec()
    lane = m.irb.select(m.s.ucmp("==", bits, 0), m.mask_int(0), m.s.count_trailing_zeros(bits))
    lane = m.s.trunc("u32", lane) if m.lanes == 64 else lane
    m.write_scalar(ins.dsts[0][1], m.b.extract(m.read_lanes(ins.srcs[0][1], "u32"), lane))


def _lane_number(m: Any, ins: Any) -> Any:
    return m.s.and_(m.read_scalar(ins.srcs[1][1]), m.lanes - 1)


def _read_lane(m: Any, ins: Any) -> None:
    value = m.b.extract(m.read_lanes(ins.srcs[0][1], "u32"), _lane_number(m, ins))
    m.write_scalar(ins.dsts[0][1], value)


def _write_lane(m: Any, ins: Any) -> None:
    """EXEC has no part in it."""
    reg = ins.dsts[0][1].value
    row = m.irb.insert_element(
        m.read_row(reg), m.read_scalar(ins.srcs[0][1]), _lane_number(m, ins)
    )
    m.write_row(reg, row, masked=False)


_row("v_readfirstlane_b32", "s:b32 = b32", _first_lane)
_row("v_readlane_b32", "s:b32 = v:b32, s:u32", _read_lane)
_row("v_writelane_b32", "b32 = s:b32, s:u32", _write_lane)


# Lane counts
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


_row("v_mbcnt_lo_u32_b32", "u32 = u32, u32", lambda m, i: _count_below(m, i, 0))
_row("v_mbcnt_hi_u32_b32", "u32 = u32, u32", lambda m, i: _count_below(m, i, 32))


# Permutations within rows of 16
def _permute_rows(m: Any, ins: Any, across: bool) -> None:
    """Each lane reads the lane of its row (or the neighbour row) that a selector names.

    op_sel[0] is FI (read inactive lanes), op_sel[1] BOUND_CTRL (inactive lanes give 0, rather than
    leave the destination).
    """
    b = m.b
    low, high = (m.read_scalar(ins.srcs[i][1]) for i in (1, 2))
    select = m.s.or_(m.s.shl(m.s.zext("u64", high), 32), m.s.zext("u64", low))
    place = b.and_(b.lane_ids(), 15)
    number = b.lshr(b.splat(select), b.zext("u64", b.shl(place, 2)))
    number = b.and_(b.trunc("u32", number), 15)
    _gather_in_row(m, ins, number, across)


def _permute_rows_by_lane(m: Any, ins: Any, across: bool) -> None:
    _gather_in_row(m, ins, m.b.and_(m.read_lanes(ins.srcs[1][1], "u32"), 15), across)


def _gather_in_row(m: Any, ins: Any, number: Any, across: bool) -> None:
    b = m.b
    rows = b.and_(b.lane_ids(), ~15 & 0xFFFFFFFF)
    lane = b.or_(b.xor(rows, 16) if across else rows, number)
    value = b.function("gather", "u32", m.read_lanes(ins.srcs[0][1], "u32"), lane)
    if not ins.bit("op_sel", 0):
        active = b.zext("u32", m.exec_mask())
        live = b.ucmp("!=", b.function("gather", "u32", active, lane), 0)
        if ins.bit("op_sel", 1):
            value = b.select(live, value, 0)
        else:
            m.narrow(m.irb.and_(m.exec_mask(), live))
    m.write_row(ins.dsts[0][1].value, value)


for _name, _across in (("v_permlane16_b32", False), ("v_permlanex16_b32", True)):
    _row(
        _name,
        "b32 = v:b32, s:b32, s:b32",
        lambda m, i, a=_across: _permute_rows(m, i, a),
        archs=RDNA,
    )
for _name, _across in (("v_permlane16_var_b32", False), ("v_permlanex16_var_b32", True)):
    _row(
        _name,
        "b32 = v:b32, v:b32",
        lambda m, i, a=_across: _permute_rows_by_lane(m, i, a),
        archs=GFX12,
    )


def _swap_halves(m: Any, ins: Any) -> None:
    """``v_permlane64_b32``: lanes 0-31 with 32-63; a wave of 32 lanes has none, so nothing moves."""


_row("v_permlane64_b32", "b32 = v:b32", _swap_halves, archs=RDNA)


# Swaps of two registers
def _swap(m: Any, ins: Any) -> None:
    first, second = ins.dsts[0][1].value, ins.srcs[0][1].value
    x, y = m.read_row(first), m.read_row(second)
    m.write_row(first, y)
    m.write_row(second, x)


def _swap_half_registers(m: Any, ins: Any) -> None:
    first, second = ins.dsts[0][1], ins.srcs[0][1]
    x, y = m.read_lanes(first, "u16"), m.read_lanes(second, "u16")
    for operand, value in ((first, y), (second, x)):
        shift = 16 if operand.value.half == "h" else 0
        kept = m.b.and_(m.read_row(operand.value), 0xFFFF0000 >> shift)
        m.write_row(operand.value, m.b.or_(kept, m.b.shl(m.b.zext("u32", value), shift)))


_row("v_swap_b32", "+b32 = v:b32", _swap)
_row("v_swap_b16", "+b16 = v:b16", _swap_half_registers, archs=RDNA)


def _swap_rows(m: Any, ins: Any, size: int) -> None:
    """Odd groups of `size` lanes of the destination with even ones of the source (gfx950).

    EXEC disables a pair only for the lane that is written.
    """
    first, second = ins.dsts[0][1].value, ins.srcs[0][1].value
    x, y = m.read_row(first), m.read_row(second)
    upper = [bool(lane & size) for lane in range(m.lanes)]
    down = m.b.lane_order([m.lanes + (i ^ size) if up else i for i, up in enumerate(upper)])
    new_first = m.irb.shuffle_vector(x, y, down)
    raised = m.b.lane_order([m.lanes + i if up else i ^ size for i, up in enumerate(upper)])
    new_second = m.irb.shuffle_vector(x, y, raised)
    m.write_row(first, new_first)
    m.write_row(second, new_second)


for _size in (16, 32):
    _row(
        f"v_permlane{_size}_swap_b32",
        "+b32 = v:b32",
        lambda m, i, n=_size: _swap_rows(m, i, n),
        archs=("gfx950",),
    )


# Registers chosen by M0
def _relative(field: tuple[int, int] | None) -> Callable[[Any], Any]:
    """The offset that M0, or a field of it, holds."""
    if field is None:
        return lambda m: m.read_m0()
    first, bits = field
    return lambda m: m.s.and_(m.s.lshr(m.read_m0(), first), (1 << bits) - 1)


def _move_relative(m: Any, ins: Any, source: Any, target: Any) -> None:
    operand, reg = ins.srcs[0][1], ins.dsts[0][1].value
    if source is None:
        value = m.read_lanes(operand, "u32")
    else:
        value = m.load(m.vector_pointer_at(operand.value, source(m)), m.b.type("u32"), 64)
    if target is None:
        m.write_row(reg, value)
        return
    pointer = m.vector_pointer_at(reg, target(m))
    m.store(m.irb.select(m.write_mask(), value, m.load(pointer, value.type, 64)), pointer, 64)


def _swap_relative(m: Any, ins: Any) -> None:
    first = m.vector_pointer_at(ins.dsts[0][1].value, _relative((16, 10))(m))
    second = m.vector_pointer_at(ins.srcs[0][1].value, _relative((0, 10))(m))
    kind = m.b.type("u32")
    x, y = m.load(first, kind, 64), m.load(second, kind, 64)
    for pointer, new, old in ((first, y, x), (second, x, y)):
        m.store(m.irb.select(m.write_mask(), new, old), pointer, 64)


for _name, _source, _target in (
    ("movrels", _relative(None), None), ("movreld", None, _relative(None)),
    ("movrelsd", _relative(None), _relative(None)),
    ("movrelsd_2", _relative((0, 10)), _relative((16, 10))),
):  # fmt: skip
    _row(
        f"v_{_name}_b32",
        "b32 = any:b32",
        lambda m, i, s=_source, t=_target: _move_relative(m, i, s, t),
        archs=RDNA,
    )
_row("v_swaprel_b32", "b32 = v:b32", _swap_relative, archs=RDNA)


# Accumulation registers (gfx9)
def _move(m: Any, ins: Any) -> None:
    m.write_row(ins.dsts[0][1].value, m.read_lanes(ins.srcs[0][1], "u32"))


_row("v_accvgpr_read_b32 v_accvgpr_read", "b32 = v:b32", _move, archs=GFX9)
_row("v_accvgpr_write_b32 v_accvgpr_write", "b32 = any:b32", _move, archs=GFX9)
_row("v_accvgpr_mov_b32", "b32 = v:b32", _move, archs=GFX9)
