"""Rounding of matrix products in exact mode: hand-computed cases, and rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor, trunc

import numpy as np
import pytest
from matrix_operands import FLOATS, codes, decode, pack, run

from pipedsl.core.config import config
from pipedsl.isa.opcode import TABLE

_LOWEST = {"f16": -14, "bf16": -126, "xf32": -126, "fp8_fnuz": -7, "bf8_fnuz": -15}


def _d(name: str, arch: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """D of patterns `a` and `b` and values `c`, in exact mode."""
    row = TABLE.find(name, arch)
    assert row is not None
    s = row.traits["shape"]
    with config.scope(matrix="exact"):
        return run(row, arch, pack(a, s, "a"), pack(b, s, "b"), c)


def _first(name: str, arch: str, products: Sequence[tuple[float, float]], c: float) -> float:
    """D[0, 0] where row 0 of A and column 0 of B hold the factors of `products`, from k 0 on."""
    row = TABLE.find(name, arch)
    assert row is not None
    s = row.traits["shape"]
    a, b = np.zeros((1, s.m, s.k)), np.zeros((1, s.k, s.n))
    for k, (left, right) in enumerate(products):
        a[0, 0, k], b[0, k, 0] = left, right
    addend = np.full((1, s.m, s.n), c)
    return float(_d(name, arch, codes(a, s.a), codes(b, s.b), addend)[0, 0, 0])


_TINY = 2.0**-12  # its square is 2**-24


@pytest.mark.parametrize(
    ("arch", "products", "c", "want"),
    [
        # CDNA2 adds pairs before the running sum: 2**-24 twice makes 2**-23, which counts.
        ("gfx90a", [(1, 1), (0, 0), (_TINY, _TINY), (_TINY, _TINY)], 0.0, 1 + 2.0**-23),
        ("gfx90a", [(_TINY, _TINY), (1, 1), (_TINY, _TINY), (0, 0)], 0.0, 1.0),
        # f16 denormals are read as zero.
        ("gfx90a", [(2.0**-24, 1)], 0.0, 0.0),
        ("gfx942", [(2.0**-24, 1)], 0.0, 2.0**-24),
        # So are denormals of f32 in C and in the result.
        ("gfx90a", [], 2.0**-127, 0.0),
        ("gfx942", [], 2.0**-127, 2.0**-127),
        # CDNA3 cuts products 24 bits below the largest, towards zero.
        ("gfx942", [(1, 1), (2.0**-13, -(2.0**-12))], 0.0, 1.0),
        ("gfx942", [(1, 1), (2.0**-12, -(2.0**-12))], 0.0, 1 - 2.0**-24),
        # C is cut downwards: a tiny negative C pulls the sum down, a positive one does nothing.
        ("gfx942", [(1, 1)], -(2.0**-60), 1 - 2.0**-24),
        ("gfx942", [(1, 1)], 2.0**-60, 1.0),
        # Eight products are added without rounding in between.
        ("gfx942", [(_TINY, _TINY)] * 7 + [(1, 1)], 0.0, 1 + 8 * 2.0**-24),
    ],
)
def test_f16_by_hand(arch: str, products: list[tuple[float, float]], c: float, want: float) -> None:
    assert _first("v_mfma_f32_16x16x16f16", arch, products, c) == want


@pytest.mark.parametrize(("c", "want"), [(-(2.0**-60), 1.0), (-(2.0**-25), 1 - 2.0**-24)])
def test_fp8_drops_a_c_below_its_last_place(c: float, want: float) -> None:
    assert _first("v_mfma_f32_16x16x32_fp8_fp8", "gfx942", [(1, 1)], c) == want


def _exponent(x: Fraction, lowest: int) -> int:
    """Exponent of the leading bit, at least `lowest`; that of zero is `lowest`."""
    if x == 0:
        return lowest
    found = abs(x).numerator.bit_length() - abs(x).denominator.bit_length()
    return max(found if abs(x) >= Fraction(2) ** found else found - 1, lowest)


def _cut(x: Fraction, place: int, how: Callable[[Fraction], int]) -> Fraction:
    unit = Fraction(2) ** place
    return how(x / unit) * unit


def _single(x: Fraction) -> Fraction:
    """`x` rounded to nearest even in f32."""
    return _cut(x, _exponent(x, -126) - 23, round)


def _flush(x: Fraction, lowest: int) -> Fraction:
    return x if abs(x) >= Fraction(2) ** lowest else Fraction(0)


Dot = Callable[[list[Fraction], list[Fraction], Fraction, tuple[int, int]], Fraction]


def _flushed(run: int) -> Dot:
    def dot(a, b, c, lowest):  # type: ignore[no-untyped-def]
        c = _flush(c, -126)
        for start in range(0, len(a), run):
            terms = [
                _flush(_single(_flush(x, lowest[0]) * _flush(y, lowest[1])), -126)
                for x, y in zip(a[start : start + run], b[start : start + run], strict=True)
            ]
            while len(terms) > 1:
                terms = [
                    _flush(_single(terms[i] + terms[i + 1]), -126) for i in range(0, len(terms), 2)
                ]
            c = _flush(_single(c + terms[0]), -126)
        return c

    return dot


def _aligned(pairs: list[tuple[Fraction, Fraction]], lowest: tuple[int, int]):  # type: ignore[no-untyped-def]
    tops = [
        -126 if x * y == 0 else _exponent(x, lowest[0]) + _exponent(y, lowest[1]) for x, y in pairs
    ]
    top = max(tops)
    return sum((_cut(x * y, top - 24, trunc) for x, y in pairs), Fraction(0)), top


def _with_c(total: Fraction, top: int, c: Fraction, drops: bool) -> Fraction:
    own = _exponent(c, -126)
    place = max(top, own)
    right = Fraction(0) if drops and own < place - 25 else _cut(c, place - 24, floor)
    return _single(_cut(total, place - 31, floor) + right)


def _fused(run: int) -> Dot:
    def dot(a, b, c, lowest):  # type: ignore[no-untyped-def]
        for start in range(0, len(a), run):
            pairs = list(zip(a, b, strict=True))[start : start + run]
            c = _with_c(*_aligned(pairs, lowest), c, drops=False)
        return c

    return dot


def _interleaved(a, b, c, lowest):  # type: ignore[no-untyped-def]
    for start in range(0, len(a), 16):
        pairs = list(zip(a, b, strict=True))[start : start + 16]
        (even, e), (odd, o) = _aligned(pairs[::2], lowest), _aligned(pairs[1::2], lowest)
        top = max(e, o)
        joined = _cut(even, top - 24, floor) + _cut(odd, top - 24, floor)
        c = _with_c(joined, top, c, drops=True)
    return c


@pytest.mark.parametrize(
    ("name", "arch", "dot"),
    [
        ("v_mfma_f32_16x16x16f16", "gfx90a", _flushed(4)),
        ("v_mfma_f32_16x16x16bf16_1k", "gfx90a", _flushed(4)),
        ("v_mfma_f32_16x16x8bf16", "gfx90a", _flushed(2)),
        ("v_mfma_f32_16x16x16_f16", "gfx942", _fused(8)),
        ("v_mfma_f32_4x4x4_16b_f16", "gfx942", _fused(4)),
        ("v_mfma_f32_16x16x16_bf16", "gfx942", _fused(8)),
        ("v_mfma_f32_16x16x8_xf32", "gfx942", _fused(4)),
        ("v_mfma_f32_16x16x32_fp8_fp8", "gfx942", _interleaved),
        ("v_mfma_f32_16x16x32_bf8_fp8", "gfx942", _interleaved),
    ],
)
@pytest.mark.parametrize("spread", [2, 12, 40])
def test_random_products_in_rational_arithmetic(
    name: str, arch: str, dot: Dot, spread: int
) -> None:
    row = TABLE.find(name, arch)
    assert row is not None
    s = row.traits["shape"]
    rng = np.random.default_rng(spread)

    def values(kind: str, size: tuple[int, ...]) -> np.ndarray:
        limit = {"bf8_fnuz": 14, "f16": 12, "fp8_fnuz": 6}.get(kind, 60)
        width = min(spread, limit)
        exponents = rng.integers(-width, width + 1, size).astype(float)
        return codes(rng.choice([-1, 1], size) * rng.uniform(1, 2, size) * 2**exponents, kind)

    a, b = values(s.a, (s.blocks, s.m, s.k)), values(s.b, (s.blocks, s.k, s.n))
    c = decode(values("f32", (s.blocks, s.m, s.n)), "f32")
    got = _d(name, arch, a, b, c)
    cut = np.uint64(0xFFFFE000 if s.a == "xf32" else 0xFFFFFFFF)
    left, right = decode(a & cut, s.a), decode(b & cut, s.b)
    lowest = _LOWEST[s.a], _LOWEST[s.b]
    for block in range(s.blocks):
        for i in range(s.m):
            x = [Fraction(float(v)) for v in left[block, i]]
            for j in range(0, s.n, 3):
                y = [Fraction(float(v)) for v in right[block, :, j]]
                want = dot(x, y, Fraction(float(c[block, i, j])), lowest)
                assert got[block, i, j] == float(want), (block, i, j)


def test_infinities_and_nan() -> None:
    name = "v_mfma_f32_16x16x16_f16"
    assert _first(name, "gfx942", [(np.inf, 1), (1, 1)], 0.0) == np.inf
    assert np.isnan(_first(name, "gfx942", [(np.inf, 1), (-np.inf, 1)], 0.0))
    assert _first(name, "gfx942", [(1, 1)], -np.inf) == -np.inf
    assert np.isnan(_first(name, "gfx942", [(np.nan, 1)], 0.0))
    huge = 2.0**100
    assert _first("v_mfma_f32_16x16x16_bf16", "gfx942", [(huge, huge)], 0.0) == np.inf


def test_modes_differ_and_both_stay_translated() -> None:
    name, products = "v_mfma_f32_16x16x16_f16", [(1.0, 1.0)]
    assert _first(name, "gfx942", products, -(2.0**-60)) == 1 - 2.0**-24
    row = TABLE.find(name, "gfx942")
    assert row is not None
    s = row.traits["shape"]
    one = np.zeros((1, 16, 16))
    one[0, 0, 0] = 1.0
    packed = codes(one, "f16")
    got = run(
        row, "gfx942", pack(packed, s, "a"), pack(packed, s, "b"), np.full_like(one, -(2.0**-60))
    )
    assert got[0, 0, 0] == 1.0
    assert np.dtype(FLOATS["f16"]).itemsize == 2
