"""Dense matrix products of gfx9: MFMA."""

from __future__ import annotations

from collections.abc import Iterable

from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.isa.opcode import TABLE, Opcode, Unit

CDNA3 = ("gfx942", "gfx950")


def add_dense(names: str, shape: MatrixShape, archs: Iterable[str], **traits: object) -> Opcode:
    """Add the row of a product ``D, A, B, C``; register counts follow from the shape."""
    d, a, b = (32 * r for r in (shape.d_registers, shape.a_registers, shape.b_registers))
    kept = "+" if shape.half_rows else ""
    return TABLE.add(
        names, f"{kept}b{d} = b{a}, b{b}, any:b{d}", None,
        unit=Unit.MATRIX, style="matrix", archs=archs, shape=shape, **traits,
    )  # fmt: skip


def _spellings(shape: MatrixShape, old_type: str = "") -> tuple[str, str]:
    """gfx90a's spelling ``32x32x4f16`` and gfx942's ``32x32x4_2b_f16``."""
    size = f"v_mfma_{shape.d}_{shape.m}x{shape.n}x{shape.k}"
    blocks = f"_{shape.blocks}b" if shape.blocks > 1 else ""
    return size + (old_type or shape.a), f"{size}{blocks}_{shape.a}"


def _add(
    kind: str, result: str, sizes: str, archs: Iterable[str], *, b: str = "", old_type: str = ""
) -> None:
    """Rows for sizes written as ``MxNxK`` or ``MxNxK/blocks``."""
    for size in sizes.split():
        dimensions, _, blocks = size.partition("/")
        m, n, k = (int(x) for x in dimensions.split("x"))
        shape = MatrixShape(m, n, k, int(blocks or 1), kind, b or kind, result)
        old, new = _spellings(shape, old_type)
        add_dense(f"{old} {new}", shape, archs)


_ALL = ("gfx90a", *CDNA3)
_add("f64", "f64", "16x16x4 4x4x4/4", _ALL)
_add("f32", "f32", "32x32x1/2 16x16x1/4 4x4x1/16 32x32x2 16x16x4", _ALL)
_add("f16", "f32", "32x32x4/2 16x16x4/4 4x4x4/16 32x32x8 16x16x16", _ALL)
_add("bf16", "f32", "32x32x4/2 16x16x4/4 4x4x4/16 32x32x8 16x16x16", _ALL, old_type="bf16_1k")
_add("bf16", "f32", "32x32x2/2 16x16x2/4 4x4x2/16 32x32x4 16x16x8", ("gfx90a",))
_add("i8", "i32", "32x32x4/2 16x16x4/4 4x4x4/16", _ALL)
_add("i8", "i32", "32x32x8 16x16x16", ("gfx90a",))
_add("i8", "i32", "32x32x16 16x16x32", CDNA3)
_add("i8", "i32", "32x32x32 16x16x64", ("gfx950",))
_add("xf32", "f32", "32x32x4 16x16x8", ("gfx942",))
for _kind in ("f16", "bf16"):
    _add(_kind, "f32", "32x32x16 16x16x32", ("gfx950",))

for _arch, _suffix in (("gfx942", "_fnuz"), ("gfx950", "")):
    for _a in ("fp8", "bf8"):
        for _b in ("fp8", "bf8"):
            for _m, _k in ((32, 16), (16, 32)):
                _name = f"{_m}x{_m}x{_k}_{_a}_{_b}"
                _shape = MatrixShape(_m, _m, _k, 1, _a + _suffix, _b + _suffix, "f32")
                add_dense(f"v_mfma_f32_{_name}", _shape, (_arch,))
