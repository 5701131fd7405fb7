"""The matrix instructions that kernels can use: one row each.

Shapes, registers per lane and LLVM intrinsics: AMD's CDNA3, CDNA4, RDNA3 and RDNA4 ISA documents
and LLVM's ``IntrinsicsAMDGPU.td``. A row's operand counts are elements per lane.
"""

from __future__ import annotations

from dataclasses import dataclass

_GFX9 = ("gfx90a", "gfx942", "gfx950")
_GFX942 = ("gfx942", "gfx950")
_GFX950 = ("gfx950",)


@dataclass(frozen=True)
class MatrixOp:
    """One matrix instruction.

    Attributes
    ----------
    name : str
        The field's name, ``mfma_f32_16x16x16_f16``; a function of this name is in ``gpu``.
    shape : tuple of int
        (M, N, K).
    a, b, c : tuple of (str, int)
        dtype and elements per lane of the operands; c is also the result.
    archs : tuple of str
    intrinsic : str
        Without the ``llvm.amdgcn.`` in front.
    form : str
        LLVM type that A and B are passed as: ``"half4"``-like names of `FORMS`.
    style : {"mfma", "wmma", "wmma_int"}
        Which further operands the intrinsic has.
    """

    name: str
    shape: tuple[int, int, int]
    a: tuple[str, int]
    b: tuple[str, int]
    c: tuple[str, int]
    archs: tuple[str, ...]
    intrinsic: str
    form: str
    style: str = "mfma"


def _mfma(
    shape: str, kind: str, dtype: str, count: int, archs: tuple[str, ...], llvm: str, form: str,
    out: str = "float32", other: str | None = None,
) -> MatrixOp:  # fmt: skip
    m, n, k = (int(part) for part in shape.split("x"))
    prefix = {"float32": "f32", "float64": "f64", "int32": "i32"}[out]
    per_lane = m * n // 64
    return MatrixOp(
        f"mfma_{prefix}_{shape}_{kind}", (m, n, k), (dtype, count), (other or dtype, count),
        (out, per_lane), archs, f"mfma.{llvm}", form,
    )  # fmt: skip


_FP8 = {"fp8": ("float8_e4m3fnuz", "float8_e4m3fn"), "bf8": ("float8_e5m2fnuz", "float8_e5m2")}

ROWS: tuple[MatrixOp, ...] = (
    _mfma("32x32x8", "f16", "float16", 4, _GFX9, "f32.32x32x8f16", "half4"),
    _mfma("16x16x16", "f16", "float16", 4, _GFX9, "f32.16x16x16f16", "half4"),
    _mfma("32x32x8", "bf16", "bfloat16", 4, _GFX9, "f32.32x32x8bf16.1k", "i16x4"),
    _mfma("16x16x16", "bf16", "bfloat16", 4, _GFX9, "f32.16x16x16bf16.1k", "i16x4"),
    _mfma("32x32x16", "f16", "float16", 8, _GFX950, "f32.32x32x16.f16", "half8"),
    _mfma("16x16x32", "f16", "float16", 8, _GFX950, "f32.16x16x32.f16", "half8"),
    _mfma("32x32x16", "bf16", "bfloat16", 8, _GFX950, "f32.32x32x16.bf16", "bfloat8"),
    _mfma("16x16x32", "bf16", "bfloat16", 8, _GFX950, "f32.16x16x32.bf16", "bfloat8"),
    _mfma("32x32x2", "f32", "float32", 1, _GFX9, "f32.32x32x2f32", "float"),
    _mfma("16x16x4", "f32", "float32", 1, _GFX9, "f32.16x16x4f32", "float"),
    _mfma("32x32x4", "xf32", "float32", 2, ("gfx942",), "f32.32x32x4.xf32", "float2"),
    _mfma("16x16x8", "xf32", "float32", 2, ("gfx942",), "f32.16x16x8.xf32", "float2"),
    _mfma("16x16x4", "f64", "float64", 1, _GFX9, "f64.16x16x4f64", "double", "float64"),
    _mfma("32x32x8", "i8", "int8", 4, ("gfx90a",), "i32.32x32x8i8", "i32", "int32"),
    _mfma("16x16x16", "i8", "int8", 4, ("gfx90a",), "i32.16x16x16i8", "i32", "int32"),
    _mfma("32x32x16", "i8", "int8", 8, _GFX942, "i32.32x32x16.i8", "i64", "int32"),
    _mfma("16x16x32", "i8", "int8", 8, _GFX942, "i32.16x16x32.i8", "i64", "int32"),
    _mfma("32x32x32", "i8", "int8", 16, _GFX950, "i32.32x32x32.i8", "i32x4", "int32"),
    _mfma("16x16x64", "i8", "int8", 16, _GFX950, "i32.16x16x64.i8", "i32x4", "int32"),
    *(
        _mfma(
            shape, f"{a}_{b}", _FP8[a][ocp], 8, (arch,), f"f32.{shape}.{a}.{b}", "i64",
            other=_FP8[b][ocp],
        )
        for ocp, arch in enumerate(_GFX942)
        for shape in ("32x32x16", "16x16x32")
        for a in _FP8
        for b in _FP8
    ),
    MatrixOp(
        "wmma_f32_16x16x16_f16", (16, 16, 16), ("float16", 16), ("float16", 16), ("float32", 8),
        ("gfx1100",), "wmma.f32.16x16x16.f16.v8f32.v16f16", "half16", "wmma",
    ),
    MatrixOp(
        "wmma_f32_16x16x16_bf16", (16, 16, 16), ("bfloat16", 16), ("bfloat16", 16), ("float32", 8),
        ("gfx1100",), "wmma.f32.16x16x16.bf16.v8f32.v16i16", "i16x16", "wmma",
    ),
    MatrixOp(
        "wmma_i32_16x16x16_iu8", (16, 16, 16), ("int8", 16), ("int8", 16), ("int32", 8),
        ("gfx1100",), "wmma.i32.16x16x16.iu8.v8i32.v4i32", "i32x4", "wmma_int",
    ),
    MatrixOp(
        "wmma_f32_16x16x16_f16", (16, 16, 16), ("float16", 8), ("float16", 8), ("float32", 8),
        ("gfx1201",), "wmma.f32.16x16x16.f16.v8f32.v8f16", "half8", "wmma",
    ),
    MatrixOp(
        "wmma_f32_16x16x16_bf16", (16, 16, 16), ("bfloat16", 8), ("bfloat16", 8), ("float32", 8),
        ("gfx1201",), "wmma.f32.16x16x16.bf16.v8f32.v8i16", "i16x8", "wmma",
    ),
    MatrixOp(
        "wmma_i32_16x16x16_iu8", (16, 16, 16), ("int8", 8), ("int8", 8), ("int32", 8),
        ("gfx1201",), "wmma.i32.16x16x16.iu8.v8i32.v2i32", "i32x2", "wmma_int",
    ),
    *(
        MatrixOp(
            f"wmma_f32_16x16x16_{a}_{b}", (16, 16, 16), (_FP8[a][1], 8), (_FP8[b][1], 8),
            ("float32", 8), ("gfx1201",), f"wmma.f32.16x16x16.{a}.{b}.v8f32.v2i32", "i32x2",
            "wmma",
        )
        for a in _FP8
        for b in _FP8
    ),
)  # fmt: skip

NAMES: tuple[str, ...] = tuple(dict.fromkeys(row.name for row in ROWS))
