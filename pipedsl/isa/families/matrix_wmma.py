"""Matrix products of gfx11 and gfx12: WMMA, and sparse SWMMAC."""

from __future__ import annotations

from pipedsl.isa.families.matrix import add_dense
from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.isa.families.matrix_sparse import add_sparse

_TYPES = (
    ("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("iu8", "i32"), ("iu4", "i32"),
)  # fmt: skip


def _dense(k: int, a: str, b: str, d: str, arch: str, types: str) -> None:
    layout = "wmma11" if arch == "gfx1100" else "wmma12"
    shape = MatrixShape(16, 16, k, 1, a, b, d, layout)
    add_dense(f"v_wmma_{d}_16x16x{k}_{types}", shape, arch, a)


def _sparse(k: int, a: str, b: str, d: str, types: str) -> None:
    shape = MatrixShape(16, 16, k, 1, a, b, d, "wmma12", sparse=True)
    add_sparse(f"v_swmmac_{d}_16x16x{k}_{types}", shape, "gfx1201")


for _a, _d in _TYPES:
    _dense(16, _a, _a, _d, "gfx1100", _a)
    _dense(16, _a, _a, _d, "gfx1201", _a)
    _sparse(32, _a, _a, _d, _a)
_dense(32, "iu4", "iu4", "i32", "gfx1201", "iu4")
_sparse(64, "iu4", "iu4", "i32", "iu4")
for _a in ("fp8", "bf8"):
    for _b in ("fp8", "bf8"):
        _dense(16, _a, _b, "f32", "gfx1201", f"{_a}_{_b}")
        _sparse(32, _a, _b, "f32", f"{_a}_{_b}")
