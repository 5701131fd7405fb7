"""Dense matrix products of gfx9: MFMA."""

from __future__ import annotations

from pipedsl.isa.families.matrix_numerics import numerics
from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.isa.opcode import GFX9, TABLE, Unit

CDNA3 = ("gfx942", "gfx950")


def add_dense(names: str, shape: MatrixShape, arch: str, group: str) -> None:
    """Add the row of a product ``D, A, B, C`` whose inputs are of the type `group` (see `numerics`).

    Register counts follow from the shape.
    """
    d, a, b = (32 * r for r in (shape.d_registers, shape.a_registers, shape.b_registers))
    kept = "+" if shape.half_rows else ""
    TABLE.add(
        names, f"{kept}b{d} = b{a}, b{b}, any:b{d}", None, unit=Unit.MATRIX, style="matrix",
        archs=(arch,), shape=shape, **numerics(arch, group),
    )  # fmt: skip


def _add(kind: str, result: str, sizes: str, archs: tuple[str, ...], old_type: str = "") -> None:
    """Rows for sizes written as ``MxNxK`` or ``MxNxK/blocks``.

    Both spellings work: gfx90a's ``32x32x4f16`` and gfx942's ``32x32x4_2b_f16``.
    """
    for size in sizes.split():
        dimensions, _, blocks = size.partition("/")
        m, n, k = (int(x) for x in dimensions.split("x"))
        shape = MatrixShape(m, n, k, int(blocks or 1), kind, kind, result)
        stem = f"v_mfma_{result}_{dimensions}"
        old = stem + (old_type or kind)
        new = f"{stem}_{blocks}b_{kind}" if blocks else f"{stem}_{kind}"
        for arch in archs:
            add_dense(f"{old} {new}", shape, arch, old_type or kind)


_add("f64", "f64", "16x16x4 4x4x4/4", GFX9)
_add("f32", "f32", "32x32x1/2 16x16x1/4 4x4x1/16 32x32x2 16x16x4", GFX9)
_add("f16", "f32", "32x32x4/2 16x16x4/4 4x4x4/16 32x32x8 16x16x16", GFX9)
_add("bf16", "f32", "32x32x4/2 16x16x4/4 4x4x4/16 32x32x8 16x16x16", GFX9, "bf16_1k")
_add("bf16", "f32", "32x32x2/2 16x16x2/4 4x4x2/16 32x32x4 16x16x8", ("gfx90a",))
_add("i8", "i32", "32x32x4/2 16x16x4/4 4x4x4/16", GFX9)
_add("i8", "i32", "32x32x8 16x16x16", ("gfx90a",))
_add("i8", "i32", "32x32x16 16x16x32", CDNA3)
_add("i8", "i32", "32x32x32 16x16x64", ("gfx950",))
_add("xf32", "f32", "32x32x4 16x16x8", ("gfx942",))
_add("f16", "f32", "32x32x16 16x16x32", ("gfx950",))
_add("bf16", "f32", "32x32x16 16x16x32", ("gfx950",))

for _arch, _suffix in (("gfx942", "_fnuz"), ("gfx950", "")):
    for _a in ("fp8", "bf8"):
        for _b in ("fp8", "bf8"):
            for _size, _k in ((32, 16), (16, 32)):
                _shape = MatrixShape(_size, _size, _k, 1, _a + _suffix, _b + _suffix, "f32")
                _name = f"v_mfma_f32_{_size}x{_size}x{_k}_{_a}_{_b}"
                add_dense(_name, _shape, _arch, "fp8")

# cbsz and blgp choose the formats of A and B, and so their registers: 4, 6 or 8.
for _size, _k in ((16, 128), (32, 64)):
    _shape = MatrixShape(_size, _size, _k, 1, "fp8", "fp8", "f32", "mfma_scaled")
    _d = f"b{32 * _shape.d_registers}"
    for _name, _scales in (("v_mfma", ""), ("v_mfma_scale", ", any:b32, any:b32")):
        TABLE.add(
            f"{_name}_f32_{_size}x{_size}x{_k}_f8f6f4", f"{_d} = v:any, v:any, any:{_d}{_scales}",
            None, unit=Unit.MATRIX, style="matrix", archs=("gfx950",), shape=_shape,
            **numerics("gfx950", "scaled"),
        )  # fmt: skip
