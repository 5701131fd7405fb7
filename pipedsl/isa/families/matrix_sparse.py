"""Sparse matrix products of gfx942 and gfx950: SMFMAC, which accumulates in place."""

from __future__ import annotations

from pipedsl.isa.families.matrix_numerics import numerics
from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.isa.opcode import TABLE, Unit


def add_sparse(name: str, shape: MatrixShape, arch: str) -> None:
    """Add the row of a product ``D, A, B, indices`` that adds to D."""
    d, a, b = (32 * r for r in (shape.d_registers, shape.a_registers, shape.b_registers))
    TABLE.add(
        name, f"+b{d} = b{a}, b{b}, b32", None, unit=Unit.MATRIX, style="matrix", archs=(arch,),
        shape=shape, **numerics(arch, shape.a if shape.d == "i32" else "sparse"),
    )  # fmt: skip


def _add(a: str, b: str, d: str, types: str, depth: int, arch: str) -> None:
    for size, k in ((16, depth), (32, depth // 2)):
        shape = MatrixShape(size, size, k, 1, a, b, d, sparse=True)
        add_sparse(f"v_smfmac_{d}_{size}x{size}x{k}_{types}", shape, arch)


for _arch, _suffix in (("gfx942", "_fnuz"), ("gfx950", "")):
    # gfx950 adds shapes of twice the depth.
    for _factor in (1, 2) if _arch == "gfx950" else (1,):
        _add("f16", "f16", "f32", "f16", 32 * _factor, _arch)
        _add("bf16", "bf16", "f32", "bf16", 32 * _factor, _arch)
        _add("i8", "i8", "i32", "i8", 64 * _factor, _arch)
        for _a in ("fp8", "bf8"):
            for _b in ("fp8", "bf8"):
                _types = f"{_a}_{_b}"
                _add(_a + _suffix, _b + _suffix, "f32", _types, 64 * _factor, _arch)
