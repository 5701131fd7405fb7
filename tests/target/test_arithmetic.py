"""Operators and conversions, run on the simulator and compared with NumPy and Python."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from pipedsl import gpu
from pipedsl.core.dtypes import DTYPES

INTS = [name for name, dtype in DTYPES.items() if dtype.kind in ("int", "uint")]
FLOATS = ["float16", "float32", "float64"]
PLAIN = ["bool", *INTS, *FLOATS]
N = 256


def binary(function):
    def kernel(out, a, b):
        i = gpu.block_idx.x * 64 + gpu.thread_idx.x
        out[i] = function(a[i], b[i])

    return kernel


def unary(function):
    def kernel(out, a):
        i = gpu.block_idx.x * 64 + gpu.thread_idx.x
        out[i] = function(a[i])

    return kernel


def with_constant(function, value):
    def kernel(out, a):
        i = gpu.block_idx.x * 64 + gpu.thread_idx.x
        out[i] = function(a[i], value)

    return kernel


def samples(name, seed=0):
    """Values of the whole range of a dtype, small ones and edges among them."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(name)
    if DTYPES[name].kind == "float":
        values = rng.uniform(-100, 100, N).astype(dtype)
        values[:4] = [0.0, -0.0, 1.5, -2.5]
        return values
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, N, dtype=dtype, endpoint=True)
    values[: N // 2] = rng.integers(max(info.min, -20), 20, N // 2)
    values[:4] = [info.min, info.max, 0, 1]
    return values


@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "and_", "or_", "xor"])
def test_int_operators_wrap(run, name, symbol):
    a, b = samples(name), samples(name, 1)
    out = np.zeros_like(a)
    function = getattr(operator, symbol)
    run(binary(function), out, a, b, grid=N // 64)
    np.testing.assert_array_equal(out, function(a, b))


@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("symbol", ["floordiv", "mod"])
def test_int_division_rounds_as_python_does(run, name, symbol):
    a, b = samples(name), samples(name, 1)[::-1].copy()
    b[b == 0] = 3
    b[(a == np.iinfo(name).min) & (b + 1 == 0)] = 3  # the quotient needs one bit more
    out = np.zeros_like(a)
    function = getattr(operator, symbol)
    run(binary(function), out, a, b, grid=N // 64)
    expected = [function(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert out.tolist() == expected


@pytest.mark.parametrize("divisor", [1, 4, 64, 3, 7, -1, -4, -5])
@pytest.mark.parametrize("symbol", ["floordiv", "mod"])
def test_int_division_by_a_constant(run, symbol, divisor):
    a = samples("int32")
    a[a == np.iinfo(np.int32).min] = 0
    out = np.zeros_like(a)
    function = getattr(operator, symbol)
    run(with_constant(function, divisor), out, a, grid=N // 64)
    assert out.tolist() == [function(int(x), divisor) for x in a]


@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("symbol", ["lshift", "rshift"])
def test_shifts(run, name, symbol):
    a = samples(name)
    b = (np.arange(N) % np.iinfo(name).bits).astype(name)
    out = np.zeros_like(a)
    function = getattr(operator, symbol)
    run(binary(function), out, a, b, grid=N // 64)
    np.testing.assert_array_equal(out, function(a, b))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "truediv"])
def test_float_operators_are_correctly_rounded(run, name, symbol):
    a, b = samples(name), samples(name, 1)[::-1].copy()
    b[b == 0] = 3
    out = np.zeros_like(a)
    function = getattr(operator, symbol)
    run(binary(function), out, a, b, grid=N // 64)
    np.testing.assert_array_equal(out, function(a, b))


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("symbol", ["floordiv", "mod"])
def test_float_floor_division(run, name, symbol):
    a, b = samples(name), samples(name, 1)[::-1].copy()
    b[b == 0] = 3
    out = np.zeros_like(a)
    function = getattr(operator, symbol)
    run(binary(function), out, a, b, grid=N // 64)
    np.testing.assert_allclose(out, function(a, b), rtol=1e-6)


@pytest.mark.parametrize("name", [*INTS, *FLOATS])
@pytest.mark.parametrize("symbol", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons(run, name, symbol):
    a, b = samples(name), samples(name, 1)
    b[: N // 4] = a[: N // 4]
    out = np.zeros(N, np.bool_)
    function = getattr(operator, symbol)
    run(binary(function), out, a, b, grid=N // 64)
    np.testing.assert_array_equal(out, function(a, b))


@pytest.mark.parametrize("symbol", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_with_nan(run, symbol):
    a = np.array([np.nan, 1.0, np.nan, 2.0] * 64, np.float32)
    b = np.array([1.0, np.nan, np.nan, 2.0] * 64, np.float32)
    out = np.zeros(N, np.bool_)
    function = getattr(operator, symbol)
    run(binary(function), out, a, b, grid=N // 64)
    np.testing.assert_array_equal(out, function(a, b))


@pytest.mark.parametrize("name", [*INTS, *FLOATS])
@pytest.mark.parametrize("function", [abs, operator.neg, operator.pos])
def test_signs(run, name, function):
    a = samples(name)
    out = np.zeros_like(a)
    run(unary(function), out, a, grid=N // 64)
    np.testing.assert_array_equal(out, function(a))


@pytest.mark.parametrize("name", INTS)
def test_invert(run, name):
    a = samples(name)
    out = np.zeros_like(a)
    run(unary(operator.invert), out, a, grid=N // 64)
    np.testing.assert_array_equal(out, ~a)


@pytest.mark.parametrize("name", [*INTS, *FLOATS])
@pytest.mark.parametrize(("function", "reference"), [(min, np.minimum), (max, np.maximum)])
def test_extremes(run, name, function, reference):
    a, b = samples(name), samples(name, 1)
    out = np.zeros_like(a)
    run(binary(function), out, a, b, grid=N // 64)
    np.testing.assert_array_equal(out, reference(a, b))


@pytest.mark.parametrize("source", PLAIN)
@pytest.mark.parametrize("target", PLAIN)
def test_conversions(run, source, target):
    if source == "bool":
        a = np.arange(N) % 2 == 1
    elif DTYPES[source].kind == "float":
        low = 0 if DTYPES[target].kind == "uint" else -100
        a = np.random.default_rng(2).uniform(low, 100, N).astype(source)
    else:
        a = samples(source)
    out = np.zeros(N, target)
    run(unary(np.dtype(target).type), out, a, grid=N // 64)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, a.astype(target))


def test_python_conversions(run):
    def kernel(out, a, b, c):
        i = gpu.thread_idx.x
        out[i] = int(a[i]) / 2 + float(b[i]) / 4 + int(bool(c[i]))

    a = np.linspace(-9, 9, 64).astype(np.float32)
    b = np.arange(64, dtype=np.int16)
    c = (np.arange(64) % 3).astype(np.uint8)
    out = np.zeros(64, np.float32)
    run(kernel, out, a, b, c)
    np.testing.assert_array_equal(out, np.trunc(a) / 2 + b / 4 + (c != 0))


def test_true_division_of_ints(run):
    def kernel(out, a, b):
        i = gpu.thread_idx.x
        out[i] = a[i] / b[i]

    a, b = np.arange(64, dtype=np.int32), np.arange(1, 65, dtype=np.int32)
    narrow = np.zeros(64, np.float64)
    run(kernel, narrow, a, b)
    np.testing.assert_array_equal(narrow, a.astype(np.float32) / b.astype(np.float32))
    wide = np.zeros(64, np.float64)
    run(kernel, wide, a.astype(np.int64), b)
    np.testing.assert_array_equal(wide, a / b)


def test_powers(run):
    def kernel(out, a):
        i = gpu.thread_idx.x
        out[i] = a[i] ** 5 + a[i] ** 0 + a[i] ** 1

    a = np.arange(-32, 32, dtype=np.int32)
    out = np.zeros_like(a)
    run(kernel, out, a)
    np.testing.assert_array_equal(out, a**5 + 1 + a)


def test_boolean_logic(run):
    def kernel(out, a, b):
        i = gpu.thread_idx.x
        p = a[i] > 3
        q = b[i] > 5
        both = p and q
        out[i] = (both or not p) + 2 * (p != q) + 4 * (p ^ q) + 8 * (1 < a[i] <= 6)

    a, b = np.arange(64, dtype=np.int32) % 8, np.arange(64, dtype=np.int32) % 11
    out = np.zeros(64, np.int32)
    run(kernel, out, a, b)
    p, q = a > 3, b > 5
    expected = ((p & q) | ~p) + 2 * (p != q) + 4 * (p ^ q) + 8 * ((a > 1) & (a <= 6))
    np.testing.assert_array_equal(out, expected)
