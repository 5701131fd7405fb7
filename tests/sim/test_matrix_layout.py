"""Where matrix elements lie in registers, against AMD's matrix instruction calculator."""

from __future__ import annotations

import csv
import re
from math import floor
from pathlib import Path

import pytest
from matrix_operands import matrix_rows, places

from pipedsl.isa.families.matrix_shape import BITS, MatrixShape
from pipedsl.isa.opcode import TABLE

_ARCHS = {"cdna2": "gfx90a", "cdna3": "gfx942", "rdna3": "gfx1100", "rdna4": "gfx1201"}


def _shape(name: str, arch: str) -> MatrixShape:
    row = TABLE.find(name, arch)
    assert row is not None, f"{name} is missing on {arch}"
    shape: MatrixShape = row.traits["shape"]
    return shape


def _elements(s: MatrixShape, operand: str):  # type: ignore[no-untyped-def]
    """``(block, k, i), (first bit, lane)`` of A or B."""
    kind, width = (s.a, s.m) if operand == "a" else (s.b, s.n)
    for element in range(s.elements):
        for group in range(s.groups):
            block, k = s.k_of(kind, element, group)
            for i in range(width):
                yield (block, k, i), (element * BITS[kind], group * width + i)


@pytest.mark.parametrize(
    ("name", "arch", "element", "register", "lane", "bit"),
    [
        # A[i][k]: the four k of 32x32x8 in a lane are consecutive, the next four 32 lanes on.
        ("v_mfma_f32_32x32x8_f16", "gfx942", (0, 0, 5), 0, 5, 0),
        ("v_mfma_f32_32x32x8_f16", "gfx942", (0, 3, 5), 1, 5, 16),
        ("v_mfma_f32_32x32x8_f16", "gfx942", (0, 6, 5), 1, 37, 0),
        ("v_mfma_f32_16x16x16_f16", "gfx90a", (0, 14, 2), 1, 50, 0),
        ("v_mfma_f32_16x16x32_bf16", "gfx950", (0, 17, 1), 0, 33, 16),
        ("v_mfma_f32_32x32x16_f16", "gfx950", (0, 15, 31), 3, 63, 16),
        ("v_mfma_f32_32x32x4_2b_f16", "gfx942", (1, 2, 7), 1, 39, 0),
        ("v_mfma_i32_16x16x32_i8", "gfx942", (0, 13, 0), 1, 16, 8),
        ("v_mfma_f64_4x4x4_4b_f64", "gfx942", (2, 3, 1), 0, 57, 0),
        ("v_wmma_f32_16x16x16_f16", "gfx1100", (0, 9, 3), 4, 3, 16),
        ("v_wmma_f32_16x16x16_f16", "gfx1201", (0, 9, 3), 2, 3, 16),
        ("v_wmma_f32_16x16x16_f16", "gfx1201", (0, 6, 3), 1, 19, 0),
    ],
)
def test_place_of_an_element_of_a(name, arch, element, register, lane, bit) -> None:  # type: ignore[no-untyped-def]
    found = dict(_elements(_shape(name, arch), "a"))
    assert found[element] == (32 * register + bit, lane)


@pytest.mark.parametrize(
    ("name", "arch", "row", "register", "first_lane"),
    [
        ("v_mfma_f32_32x32x8_f16", "gfx942", (0, 13), 5, 32),
        ("v_mfma_f32_16x16x16_f16", "gfx942", (0, 13), 1, 48),
        ("v_mfma_f32_32x32x4_2b_f16", "gfx942", (1, 13), 21, 32),
        ("v_mfma_f32_16x16x4_4b_f16", "gfx942", (3, 6), 14, 16),
        ("v_mfma_f32_4x4x4_16b_f16", "gfx942", (9, 2), 2, 36),
        ("v_mfma_f64_16x16x4_f64", "gfx942", (0, 13), 6, 16),
        ("v_mfma_f64_4x4x4_4b_f64", "gfx942", (2, 3), 0, 56),
        ("v_wmma_f32_16x16x16_f16", "gfx1100", (0, 13), 6, 16),
        ("v_wmma_f32_16x16x16_f16", "gfx1201", (0, 13), 5, 16),
    ],
)
def test_place_of_a_row_of_d(name, arch, row, register, first_lane) -> None:  # type: ignore[no-untyped-def]
    found = {key: (bit // 32, lanes.start) for key, bit, lanes in places(_shape(name, arch))}
    assert found[row] == (register, first_lane)


def test_every_element_has_one_place() -> None:
    for arch in (*_ARCHS.values(), "gfx950"):
        for opcode in matrix_rows(arch):
            s = opcode.traits["shape"]
            keys = [key for key, _ in _elements(s, "b")]
            assert len(keys) == len(set(keys)) == s.blocks * s.k * s.n, opcode.name
            rows = [key for key, _, _ in places(s)]
            assert len(rows) == len(set(rows)) == s.blocks * s.m, opcode.name


def _calculator(shared: Path) -> list[dict[str, str]]:
    path = shared / "reference" / "matrix_calculator_dump.csv"
    if not path.is_file():
        pytest.skip("the calculator's output is absent")
    with path.open() as file:
        return [row for row in csv.DictReader(file) if row["arch"] in _ARCHS]


def _value(expression: str, **names: int) -> int:
    return int(eval(expression, {"floor": floor}, names))


def _register_bit(expression: str, **names: int) -> int:
    """First bit of a place such as ``(floor(k / 2) % 2).[16*(k % 2)+15 : 16*(k % 2)]``."""
    if expression.startswith("["):
        return 32 * _value(expression.strip("[]").split(":")[1], **names)
    register, _, bits = expression.partition(".[")
    low = bits.rstrip("]").split(":")[1] if bits else "0"
    return 32 * _value(register, **names) + _value(low, **names)


def test_registers_and_lanes_are_the_calculators(shared: Path) -> None:
    checked = 0
    for row in _calculator(shared):
        s = _shape(row["instr"], _ARCHS[row["arch"]])
        for operand, letter in (("a", "i"), ("b", "j")):
            upper = operand.upper()
            # Sparse A is compressed; the formula for 16-bit sparse B contradicts the inverse one.
            skipped = s.sparse and (operand == "a" or BITS[s.b] == 16)
            if not row[f"{upper}_gpr"] or skipped:
                continue
            for (block, k, i), place in _elements(s, operand):
                names = {"block": block, "k": k, letter: i}
                lane = _value(row[f"{upper}_lane"], **names)
                assert place == (_register_bit(row[f"{upper}_gpr"], **names), lane), row["instr"]
                checked += 1
        if row["CD_gpr"]:
            for (block, i), bit, lanes in places(s):
                names = {"block": block, "i": i, "j": 0}
                lane = _value(row["CD_lane"], **names)
                assert (bit, lanes.start) == (_register_bit(row["CD_gpr"], **names), lane)
    assert checked > 30_000


def test_elements_of_registers_are_the_calculators(shared: Path) -> None:
    """The inverse mapping, which the calculator also prints for WMMA and for sparse B."""
    for row in _calculator(shared):
        s = _shape(row["instr"], _ARCHS[row["arch"]])
        for operand, letter in (("a", "i"), ("b", "j")):
            if s.sparse and operand == "a":
                continue
            for (_, k, i), (bit, lane) in _elements(s, operand):
                names = {"lane": lane, "GPR_num": bit // 32, "GPR_bits": bit % 32}
                found = (_value(row[f"{operand.upper()}_{k_}"], **names) for k_ in (letter, "k"))
                assert tuple(found) == (i, k), row["instr"]
        formula = re.sub(r"^\((.*)\)\.\[15:0\]$", r"\1", row["D_i"])
        for (_, i), bit, lanes in places(s):
            names = {"lane": lanes.start, "GPR_num": bit // 32, "GPR_bits": bit % 32}
            if formula and s.d != "f64":
                assert _value(formula, **names) == i, row["instr"]


def test_register_counts_are_the_calculators(shared: Path) -> None:
    for row in _calculator(shared):
        s = _shape(row["instr"], _ARCHS[row["arch"]])
        assert (s.m, s.n, s.k) == tuple(int(row[name]) for name in "MNK")
        counts = [int(row[name] or 0) for name in ("gprA", "gprB", "gprD")]
        assert counts == [s.a_registers, s.b_registers, s.d_registers], row["instr"]
