"""Matrix products of every row on every target against NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matrix_operands import codes, decode, draw, matrix_rows, pack, product, run

from pipedsl.core.arch import ARCHS
from pipedsl.core.config import config
from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.isa.opcode import Opcode

_DENSE = [
    pytest.param(row, arch, id=f"{arch}-{row.name}")
    for arch in ARCHS
    for row in matrix_rows(arch)
    if not row.traits["shape"].sparse and row.traits["shape"].layout != "mfma_scaled"
]

# Unit of the last place at 1, of what a product is accumulated in and of what D is stored in.
_EPSILON = {"f64": 2.0**-53, "f32": 2.0**-24}
_STORED = {"f16": 2.0**-11, "bf16": 2.0**-8}


def _shape(row: Opcode) -> MatrixShape:
    """The row's shape; ``iu8`` without neg_lo is unsigned."""
    s: MatrixShape = row.traits["shape"]
    return replace(s, a=s.a.removeprefix("i"), b=s.b.removeprefix("i")) if "iu" in s.a else s


def _operands(s: MatrixShape, whole: bool, seed: int = 0):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    a = draw(rng, s.a, (s.blocks, s.m, s.k), whole)
    b = draw(rng, s.b, (s.blocks, s.k, s.n), whole)
    c = rng.integers(-50, 50, (s.blocks, s.m, s.n)).astype(np.float64)
    if not whole and s.d != "i32":
        c = decode(codes(rng.standard_normal(c.shape), s.d), s.d)
    return a, b, c


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize(("row", "arch"), _DENSE)
def test_whole_numbers_are_exact(row: Opcode, arch: str, numerics: str) -> None:
    s = _shape(row)
    a, b, c = _operands(s, whole=True)
    with config.scope(matrix=numerics):
        got = run(row, arch, pack(a, s, "a"), pack(b, s, "b"), c, shape=s)
    np.testing.assert_array_equal(got, decode(codes(product(a, b, c, s), s.d), s.d))


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize(("row", "arch"), _DENSE)
def test_random_values_are_within_the_error_of_summation(
    row: Opcode, arch: str, numerics: str
) -> None:
    s = _shape(row)
    a, b, c = _operands(s, whole=False, seed=1)
    with config.scope(matrix=numerics):
        got = run(row, arch, pack(a, s, "a"), pack(b, s, "b"), c, shape=s)
    want = product(a, b, c, s)
    sizes = np.abs(decode(a, s.a)) @ np.abs(decode(b, s.b)) + np.abs(c)
    bound = (s.k + 1) * _EPSILON.get(s.d, 2.0**-24) * sizes + _STORED.get(s.d, 0.0) * np.abs(want)
    if s.d == "i32":
        bound = np.zeros_like(want)
    assert (np.abs(got - want) <= bound).all()


def test_rows_of_each_target() -> None:
    names = {arch: {row.name for row in matrix_rows(arch)} for arch in ARCHS}
    assert "v_mfma_f32_32x32x4bf16" in names["gfx90a"] - names["gfx942"]
    assert "v_mfma_f32_16x16x8xf32" in names["gfx942"] - names["gfx950"]
    assert "v_mfma_f32_16x16x32f16" in names["gfx950"] - names["gfx942"]
    assert names["gfx1100"] < names["gfx1201"]
    assert not names["gfx90a"] & names["gfx1100"]
