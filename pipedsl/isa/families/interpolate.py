"""Parameter interpolation (gfx11+): the three parameters of a quad lie in its first lanes."""

from __future__ import annotations

from typing import Any

from pipedsl.isa.opcode import RDNA, TABLE, Fidelity, Unit


def _of_quad(m: Any, ins: Any, index: int, place: int, kind: str) -> Any:
    """Source `index` of lane `place` of each lane's quad, as f32."""
    value = m.read_lanes(ins.srcs[index][1], kind)
    order = m.b.lane_order([lane & ~3 | place for lane in range(m.lanes)])
    return m.b.fconvert("f32", m.irb.shuffle_vector(value, value, order))


def _first_step(m: Any, ins: Any, kind: str) -> None:
    """``P10 * I + P0``; P10 lies in lane 1, P0 in lane 0."""
    slope, start = _of_quad(m, ins, 0, 1, kind), _of_quad(m, ins, 2, 0, kind)
    weight = m.read_lanes(ins.srcs[1][1], "f32")
    m.write_lanes(ins.dsts[0][1].value, "f32", m.b.fma(slope, weight, start))


def _second_step(m: Any, ins: Any, kind: str, toward_zero: bool) -> None:
    """``P20 * J`` plus the first step's result; P20 lies in lane 2."""
    b, reg = m.b, ins.dsts[0][1].value
    slope = _of_quad(m, ins, 0, 2, kind)
    total = b.fma(slope, *(m.read_lanes(ins.srcs[i][1], "f32") for i in (1, 2)))
    if kind == "f32":
        m.write_lanes(reg, "f32", total)
        return
    half = b.function("f16_toward_zero", "f16", total) if toward_zero else b.fconvert("f16", total)
    kept = b.and_(m.read_row(reg), 0xFFFF0000)
    m.write_row(reg, b.or_(kept, b.zext("u32", b.bitcast("u16", half))))


_ROUNDING = "the first step rounds to nearest"
for _kind, _suffix, _rtz in (
    ("f32", "f32", False), ("f16", "f16_f32", False), ("f16", "rtz_f16_f32", True),
):  # fmt: skip
    _about: dict[str, Any] = {"fidelity": Fidelity.APPROXIMATE, "reason": _ROUNDING} if _rtz else {}
    TABLE.add(
        f"v_interp_p10_{_suffix}", "f32 = v:b32, v:f32, v:b32",
        lambda m, i, k=_kind: _first_step(m, i, k),
        unit=Unit.VALU, style="machine", archs=RDNA, **_about,
    )  # fmt: skip
    TABLE.add(
        f"v_interp_p2_{_suffix}", f"{_kind} = v:b32, v:f32, v:f32",
        lambda m, i, k=_kind, z=_rtz: _second_step(m, i, k, z),
        unit=Unit.VALU, style="machine", archs=RDNA,
    )  # fmt: skip
