"""f8f6f4 products of gfx950: formats, block scales, layouts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matrix_operands import codes, decode, draw, matrix_rows, pack, run

from pipedsl.isa.families.matrix_shape import SCALED_TYPES, MatrixShape
from pipedsl.isa.opcode import TABLE, Opcode
from pipedsl.sim import execute

_SIZES = ["16x16x128", "32x32x64"]


def _row(size: str, scaled: bool) -> Opcode:
    row = TABLE.find(f"v_mfma_{'scale_' if scaled else ''}f32_{size}_f8f6f4", "gfx950")
    assert row is not None
    return row


def _typed(row: Opcode, a: int, b: int) -> MatrixShape:
    shape: MatrixShape = row.traits["shape"]
    return replace(shape, a=SCALED_TYPES[a], b=SCALED_TYPES[b])


@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("b_format", range(5))
@pytest.mark.parametrize("a_format", range(5))
def test_every_pair_of_formats(size: str, a_format: int, b_format: int) -> None:
    row = _row(size, scaled=False)
    s = _typed(row, a_format, b_format)
    rng = np.random.default_rng(0)
    a, b = draw(rng, s.a, (1, s.m, s.k), True), draw(rng, s.b, (1, s.k, s.n), True)
    c = rng.integers(-9, 10, (1, s.m, s.n)).astype(np.float64)
    suffix = f"cbsz:{a_format} blgp:{b_format}"
    got = run(row, "gfx950", pack(a, s, "a"), pack(b, s, "b"), c, shape=s, suffix=suffix)
    np.testing.assert_array_equal(got, decode(a, s.a) @ decode(b, s.b) + c)


def _scaled(  # type: ignore[no-untyped-def]
    size: str, formats: tuple[int, int], scale_a: np.ndarray, scale_b: np.ndarray, c=0.0
):
    """D with E8M0 codes ``[m, blocks]`` and ``[blocks, n]`` in byte 2 of A's and 1 of B's register."""
    row = _row(size, scaled=True)
    s = _typed(row, *formats)
    rng = np.random.default_rng(1)
    a, b = draw(rng, s.a, (1, s.m, s.k), True), draw(rng, s.b, (1, s.k, s.n), True)
    addend = np.full((1, s.m, s.n), c)
    extra = {
        0: (scale_a.T.reshape(-1).astype(np.uint32) << 16) | np.uint32(0x55000033),
        1: (scale_b.reshape(-1).astype(np.uint32) << 8) | np.uint32(0x77660011),
    }
    suffix = f"op_sel:[0,1,0] op_sel_hi:[1,0,0] cbsz:{formats[0]} blgp:{formats[1]}"
    got = run(
        row, "gfx950", pack(a, s, "a"), pack(b, s, "b"), addend, shape=s, extra=extra, suffix=suffix
    )
    factor_a = np.repeat(2.0 ** (scale_a.astype(float) - 127), 32, axis=1)
    factor_b = np.repeat(2.0 ** (scale_b.astype(float) - 127), 32, axis=0)
    want = (decode(a, s.a) * factor_a) @ (decode(b, s.b) * factor_b) + addend
    return got, want


@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("formats", [(0, 0), (1, 0), (2, 3), (4, 4), (0, 4), (4, 2)])
def test_scales_apply_per_row_and_block_of_32(size: str, formats: tuple[int, int]) -> None:
    m, k = int(size.split("x", maxsplit=1)[0]), int(size.split("x")[2])
    rng = np.random.default_rng(2)
    scale_a, scale_b = rng.integers(124, 131, (m, k // 32)), rng.integers(124, 131, (k // 32, m))
    got, want = _scaled(size, formats, scale_a, scale_b, c=3.0)
    np.testing.assert_array_equal(got, want)


def test_scales_may_leave_the_range_of_f32_together_only() -> None:
    codes_a, codes_b = np.full((16, 4), 250), np.full((4, 16), 4)
    got, want = _scaled("16x16x128", (0, 0), codes_a, codes_b)
    np.testing.assert_array_equal(got, want)


def test_scale_0xff_is_nan() -> None:
    codes_a, codes_b = np.full((16, 4), 127), np.full((4, 16), 127)
    codes_a[3, 2] = 255
    codes_b[0, 9] = 255
    got, _ = _scaled("16x16x128", (0, 0), codes_a, codes_b)
    nan = np.isnan(got[0])
    assert nan[3].all() and nan[:, 9].all() and nan.sum() == 16 + 15


def test_scalar_scales() -> None:
    ones = codes(np.array([1.0]), "fp8")[0]
    word = int(ones) * 0x01010101
    vgprs = dict.fromkeys(range(8, 24), word)
    line = (
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], 1.0, s4, s5 op_sel_hi:[0,0,0]"
    )
    state = execute([line], arch="gfx950", vgprs=vgprs, sgprs={4: 128, 5: 130})
    assert (state.vgprs[:4].view(np.float32) == 128 * 16 + 1).all()


def test_8_bit_runs_of_16_and_narrow_runs_of_32() -> None:
    s = _typed(_row("16x16x128", scaled=False), 0, 4)
    assert [s.k_of("fp8", element, 2)[1] for element in (0, 15, 16, 31)] == [32, 47, 96, 111]
    assert [s.k_of("fp4", element, 2)[1] for element in (0, 31)] == [64, 95]
    assert (s.a_registers, s.b_registers) == (8, 4)
    assert sum(row.traits["shape"].layout == "mfma_scaled" for row in matrix_rows("gfx950")) == 4
