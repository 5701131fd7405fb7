"""Sparse products (SMFMAC, SWMMAC): A stores two of each four k."""

from __future__ import annotations

import numpy as np
import pytest
from matrix_operands import BITS, FLOATS, codes, decode, draw, matrix_rows, pack, run

from pipedsl.isa.families.matrix_shape import MatrixShape
from pipedsl.isa.opcode import Opcode

_SPARSE = [
    pytest.param(row, arch, id=f"{arch}-{row.name}")
    for arch in ("gfx942", "gfx950", "gfx1201")
    for row in matrix_rows(arch)
    if row.traits["shape"].sparse
]


def _compress(
    dense: np.ndarray, chosen: np.ndarray, s: MatrixShape, first_bit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Registers of compressed A, and the index register.

    `dense` is ``[m, k]`` of patterns, `chosen` ``[m, k / 4, 2]`` the kept places in ascending order.
    """
    bits = BITS[s.a]
    registers = np.zeros((s.a_registers, s.lanes), object)
    index = np.zeros(s.lanes, np.uint32)
    for lane in range(s.lanes):
        i, group = lane % s.m, lane // s.m
        for quad in range(s.elements // 4):
            _, k = s.k_of(s.a, 4 * quad, group)
            for position, place in enumerate(chosen[i, k // 4]):
                bit = (2 * quad + position) * bits
                registers[bit // 32, lane] |= int(dense[i, k + place]) << bit % 32
                index[lane] |= np.uint32(place << (first_bit + 4 * quad + 2 * position))
    return registers.astype(np.uint32), index


def _case(row: Opcode):  # type: ignore[no-untyped-def]
    s = row.traits["shape"]
    rng = np.random.default_rng(3)
    chosen = np.array(
        [[sorted(rng.choice(4, 2, replace=False)) for _ in range(s.k // 4)] for _ in range(s.m)]
    )
    kept = np.zeros((s.m, s.k), bool)
    for quad in range(s.k // 4):
        for position in range(2):
            kept[np.arange(s.m), 4 * quad + chosen[:, quad, position]] = True
    a = np.where(kept, draw(rng, s.a, (s.m, s.k), whole=True), 0).astype(np.uint64)
    b = draw(rng, s.b, (1, s.k, s.n), whole=True)
    c = rng.integers(-9, 10, (1, s.m, s.n)).astype(np.float64)
    return s, a, b, c, chosen


def _want(a: np.ndarray, b: np.ndarray, c: np.ndarray, s: MatrixShape) -> np.ndarray:
    kinds = [k if k in FLOATS or not k.startswith("iu") else k[1:] for k in (s.a, s.b)]
    value = decode(a, kinds[0]) @ decode(b, kinds[1]) + c
    return decode(codes(value, s.d), s.d)


@pytest.mark.parametrize(("row", "arch"), _SPARSE)
def test_first_index_set(row: Opcode, arch: str) -> None:
    s, a, b, c, chosen = _case(row)
    registers, index = _compress(a, chosen, s, 0)
    got = run(row, arch, registers, pack(b, s, "b"), c, extra={0: index})
    np.testing.assert_array_equal(got, _want(a, b, c, s))


@pytest.mark.parametrize(
    ("arch", "name", "suffix", "first_bit"),
    [
        ("gfx942", "v_smfmac_f32_16x16x32_f16", "abid:1", 8),
        ("gfx942", "v_smfmac_f32_32x32x16_f16", "abid:3", 24),
        ("gfx942", "v_smfmac_f32_16x16x32_f16", "cbsz:1 abid:3", 0),
        ("gfx942", "v_smfmac_i32_16x16x64_i8", "abid:1", 16),
        ("gfx950", "v_smfmac_f32_16x16x64_f16", "abid:1", 16),
        ("gfx1201", "v_swmmac_f32_16x16x32_f16", "index_key:1", 16),
        ("gfx1201", "v_swmmac_i32_16x16x32_iu4", "index_key:1", 16),
    ],
)
def test_another_index_set(arch: str, name: str, suffix: str, first_bit: int) -> None:
    (row,) = (row for row in matrix_rows(arch) if row.name == name)
    s, a, b, c, chosen = _case(row)
    registers, index = _compress(a, chosen, s, first_bit)
    got = run(row, arch, registers, pack(b, s, "b"), c, extra={0: index}, suffix=suffix)
    np.testing.assert_array_equal(got, _want(a, b, c, s))
