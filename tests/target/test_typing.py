"""Which types expressions have: seen in the stores of the LLVM IR."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import gpu
from pipedsl.core.arch import get_arch
from pipedsl.frontend import KernelSource, lower, type_of
from pipedsl.target.compilation import Compilation

STAGES = 4

I8, I16, I32, I64 = np.int8(1), np.int16(1), np.int32(1), np.int64(1)
U8, U32, U64 = np.uint8(1), np.uint32(1), np.uint64(1)
F16, F32, F64 = np.float16(1), np.float32(1), np.float64(1)


def result_type(function, *values):
    """Name of the type that a device function returns."""
    typed = Compilation(get_arch("gfx942")).typed(function, tuple(map(type_of, values)))
    return str(typed.return_type)


def add(a, b):
    return a + b


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (I32, I32, "int32"), (I8, I8, "int8"), (I8, I32, "int32"), (I32, I64, "int64"),
        (U8, I8, "int16"), (U32, I32, "int64"), (U64, I64, "uint64"), (U64, U32, "uint64"),
        (I32, F16, "float16"), (I64, F32, "float32"), (F16, F32, "float32"),
        (F32, F64, "float64"), (True, True, "int32"), (True, I8, "int8"), (True, F16, "float16"),
    ],
)  # fmt: skip
def test_common_type(a, b, expected):
    assert result_type(add, a, b) == expected
    assert result_type(add, b, a) == expected


def literal_int(a):
    return a + 1


def literal_float(a):
    return 2.0 * a


def literal_large(a):
    return a + 300


@pytest.mark.parametrize(
    ("function", "a", "expected"),
    [
        (literal_int, I8, "int8"), (literal_int, I32, "int32"), (literal_int, U32, "uint32"),
        (literal_int, I64, "int64"), (literal_int, F16, "float16"), (literal_int, F32, "float32"),
        (literal_large, I8, "int32"), (literal_large, I16, "int16"), (literal_large, U8, "int32"),
        (literal_float, F16, "float16"), (literal_float, F32, "float32"),
        (literal_float, F64, "float64"), (literal_float, I32, "float32"),
        (literal_float, I64, "float64"), (literal_float, True, "float32"),
    ],
)  # fmt: skip
def test_literals_give_way(function, a, expected):
    assert result_type(function, a) == expected


def counter(n):
    x = 0
    for i in range(n):
        x += i % STAGES + i // STAGES
    return x


def float_sum(n, start):
    total = 0.0
    for _ in range(n):
        total = total + start
    return total


def either(flag):
    return 1 if flag else 2.5


def divide(a, b):
    return a / b


def position(n):
    return gpu.thread_idx.x * gpu.block_dim.y + gpu.block_idx.z + gpu.lane_id() + gpu.wave_id()


def truncated(x):
    return int(x)


def shape_product(n):
    return gpu.shared.array((2, 3), np.float16).size * n


def test_loops_stay_int32():
    assert result_type(counter, I32) == "int32"
    assert result_type(counter, I64) == "int64"


def test_literal_accumulators_take_the_summands_type():
    for value, name in ((F16, "float16"), (F32, "float32"), (F64, "float64"), (I32, "float32")):
        assert result_type(float_sum, I32, value) == name


def test_variables_of_literals():
    assert result_type(either, True) == "float32"


def test_true_division():
    assert result_type(divide, I32, I32) == "float32"
    assert result_type(divide, I64, I32) == "float64"
    assert result_type(divide, F16, I32) == "float16"


def test_coordinates_are_int32():
    assert result_type(position, I32) == "int32"
    assert result_type(shape_product, I32) == "int32"


def test_int_of_a_float():
    assert result_type(truncated, F64) == "int32"
    assert result_type(truncated, I64) == "int64"


def test_no_64_bit_arithmetic_in_the_index_of_a_loop():
    def kernel(out, n):
        for i in range(n):
            out[i % STAGES] = i + 1

    text = lower(
        KernelSource.capture(kernel), [type_of(np.zeros(4, np.int32)), type_of(I32)], "gfx942", 64
    ).llvm_ir
    body = text[text.index("body:") :]
    wide = [line for line in body.splitlines() if " i64 " in line]
    assert all("zext" in line or "getelementptr" in line for line in wide)


@pytest.mark.parametrize(("divisor", "code"), [(4, "and i32"), (64, "and i32")])
def test_modulo_by_a_power_of_two_is_one_and(divisor, code):
    def kernel(out, i):
        out[0] = i % divisor
        out[1] = i // divisor

    text = lower(
        KernelSource.capture(kernel), [type_of(np.zeros(2, np.int32)), type_of(I32)], "gfx942", 64
    ).llvm_ir
    assert code in text and "ashr i32" in text
    assert "srem" not in text and "sdiv" not in text
