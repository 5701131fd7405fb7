"""Dense matrix products of gfx11 and gfx12: WMMA."""

from __future__ import annotations

from pipedsl.isa.families.matrix import add_dense
from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.isa.opcode import GFX11, GFX12


def _add(k: int, a: str, b: str, d: str, layout: str) -> None:
    types = f"{a}_{b}" if "8" in a and a != "iu8" else a
    archs = GFX11 if layout == "wmma11" else GFX12
    add_dense(f"v_wmma_{d}_16x16x{k}_{types}", MatrixShape(16, 16, k, 1, a, b, d, layout), archs)


for _layout in ("wmma11", "wmma12"):
    for _a, _d in (
        ("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("iu8", "i32"), ("iu4", "i32"),
    ):  # fmt: skip
        _add(16, _a, _a, _d, _layout)
_add(32, "iu4", "iu4", "i32", "wmma12")
for _a in ("fp8", "bf8"):
    for _b in ("fp8", "bf8"):
        _add(16, _a, _b, "f32", "wmma12")
