"""``math`` in kernels: accuracy against NumPy's long double, special values, all targets compile."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pipedsl import gpu
from pipedsl.codegen import compile_ir
from pipedsl.core.arch import ARCHS
from pipedsl.frontend import KernelSource, lower, type_of

DTYPES = ["float16", "float32", "float64"]
N = 256


def unary(function):
    def kernel(out, x):
        i = gpu.block_idx.x * 64 + gpu.thread_idx.x
        out[i] = function(x[i])

    return kernel


def binary(function):
    def kernel(out, x, y):
        i = gpu.block_idx.x * 64 + gpu.thread_idx.x
        out[i] = function(x[i], y[i])

    return kernel


# Function: range of arguments, and largest error in ulp for float16, float32 and float64.
ACCURACY = {
    "sqrt": ((0, 1e4), (0.51, 0.51, 0.51)),
    "exp": ((-10, 10), (1.5, 2.0, 2.0)),
    "exp2": ((-14, 14), (1.5, 2.0, 2.0)),
    "log": ((1e-3, 1e4), (2.0, 2.5, 2.0)),
    "log2": ((1e-3, 1e4), (1.5, 2.5, 2.0)),
    "log10": ((1e-3, 1e4), (1.5, 2.5, 3.0)),
    "sin": ((-1000, 1000), (0.51, 0.51, 2.0)),
    "cos": ((-1000, 1000), (0.51, 0.51, 2.0)),
    "tan": ((-1000, 1000), (0.51, 0.51, 4.0)),
    "tanh": ((-4, 4), (0.51, 0.51, 3.0)),
}
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0]
NAMES = [name for name in ACCURACY if hasattr(math, name)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy(run, name, dtype):
    (low, high), bounds = ACCURACY[name]
    x = np.random.default_rng(3).uniform(low, high, N).astype(dtype)
    out = np.zeros_like(x)
    run(unary(getattr(math, name)), out, x, grid=N // 64)
    exact = getattr(np, name)(x.astype(np.longdouble))
    error = np.abs(out.astype(np.longdouble) - exact) / np.spacing(np.abs(exact.astype(dtype)))
    assert error.max() <= bounds[DTYPES.index(dtype)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(run, name, dtype):
    x = np.resize(np.array(SPECIAL, dtype), 64)
    out = np.zeros_like(x)
    run(unary(getattr(math, name)), out, x)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64)).astype(dtype)
    decided = ~np.isfinite(exact) | (exact == 0)
    np.testing.assert_array_equal(out[decided], exact[decided])
    zeros = exact == 0
    np.testing.assert_array_equal(np.signbit(out[zeros]), np.signbit(exact[zeros]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_reaches_infinity_zero_and_denormals(run, dtype):
    info = np.finfo(dtype)
    top, bottom = float(np.log(info.max)), float(np.log(info.tiny))
    x = np.resize(np.array([top * 1.01, bottom * 1.2, bottom - 3, 2 * bottom], dtype), 64)
    out = np.zeros_like(x)
    run(unary(math.exp), out, x)
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.longdouble)).astype(dtype)
    assert np.isinf(out[0]) and out[3] == 0
    assert 0 < out[2] < info.tiny
    np.testing.assert_allclose(out, exact, rtol=1e-5)


POWERS = [
    (2.0, 3.0), (-2.0, 3.0), (-2.0, 2.0), (9.0, 0.5), (2.0, -1.0), (0.0, -1.0), (-0.0, -1.0),
    (-0.0, -2.0), (-0.0, 3.0), (-2.0, 0.5), (-1.0, math.inf), (math.inf, -1.0), (-math.inf, 3.0),
    (-math.inf, 2.0), (math.nan, 0.0), (1.0, math.nan), (2.0, math.inf), (0.5, math.inf),
    (math.nan, 2.0), (2.0, math.nan), (-8.0, 1 / 3),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pow(run, dtype):
    rng = np.random.default_rng(4)
    x, y = rng.uniform(0.1, 9, N).astype(dtype), rng.uniform(-9, 9, N).astype(dtype)
    x[: len(POWERS)], y[: len(POWERS)] = np.array(POWERS, dtype).T
    out = np.zeros_like(x)
    run(binary(math.pow), out, x, y, grid=N // 64)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble)).astype(dtype)
    np.testing.assert_allclose(out, exact, rtol=1e-15 if dtype == "float64" else 1.2e-7)
    zeros = exact == 0
    np.testing.assert_array_equal(np.signbit(out[zeros]), np.signbit(exact[zeros]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_rounding_gives_ints(run, name, dtype):
    x = np.linspace(-4, 4, 64).astype(dtype)
    out = np.zeros(64, np.int64)
    run(unary(getattr(math, name)), out, x)
    assert out.tolist() == [getattr(math, name)(float(value)) for value in x]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_classification(run, name, dtype):
    x = np.resize(np.array(SPECIAL, dtype), 64)
    out = np.zeros(64, np.bool_)
    run(unary(getattr(math, name)), out, x)
    np.testing.assert_array_equal(out, getattr(np, name)(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_copysign_and_fabs(run, dtype):
    def kernel(out, x, y):
        i = gpu.thread_idx.x
        out[i] = math.copysign(math.fabs(x[i]), y[i])

    x = np.linspace(-4, 4, 64).astype(dtype)
    y = np.resize(np.array([1.0, -1.0, -0.0, 0.0], dtype), 64)
    out = np.zeros_like(x)
    run(kernel, out, x, y)
    np.testing.assert_array_equal(out, np.copysign(np.abs(x), y))


def test_fma_rounds_once(run):
    def kernel(out, x):
        i = gpu.thread_idx.x
        out[i] = gpu.fma(x[i], x[i], -1.0)

    x = (1 + np.arange(64) * 2.0**-23).astype(np.float32)
    out = np.zeros_like(x)
    run(kernel, out, x)
    np.testing.assert_array_equal(out, (x.astype(np.float64) ** 2 - 1).astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_frexp_and_ldexp(run, dtype):
    def kernel(mantissa, exponent, back, x):
        i = gpu.thread_idx.x
        m, e = math.frexp(x[i])
        mantissa[i] = m
        exponent[i] = e
        back[i] = math.ldexp(m, e)

    x = np.geomspace(1e-30, 1e30, 64).astype(dtype)
    mantissa, back, exponent = np.zeros_like(x), np.zeros_like(x), np.zeros(64, np.int32)
    run(kernel, mantissa, exponent, back, x)
    expected = np.frexp(x)
    np.testing.assert_array_equal(mantissa, expected[0])
    np.testing.assert_array_equal(exponent, expected[1])
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arch", ARCHS)
def test_every_function_compiles_everywhere(arch, dtype):
    def kernel(out, x):
        i = gpu.thread_idx.x
        v = x[i]
        out[0] = math.sqrt(v) + math.exp(v) + math.log(v) + math.log2(v) + math.log10(v)
        out[1] = math.sin(v) + math.cos(v) + math.tan(v) + math.tanh(v) + math.pow(v, v) + v**v
        out[2] = math.floor(v) + math.ceil(v) + math.trunc(v) + math.fabs(v)
        out[3] = math.copysign(v, v) + gpu.fma(v, v, v) + math.ldexp(v, 2) + v % 3.0 + v // 2.0
        out[4] = math.isnan(v) + math.isinf(v) + math.isfinite(v) + round(v) + min(v, 1.0) + abs(v)

    types = [type_of(np.zeros(8, dtype))] * 2
    result = lower(KernelSource.capture(kernel), types, arch, 64)
    asm = compile_ir(result.llvm_ir, arch, kernel="kernel").asm
    assert "s_endpgm" in asm and "s_swappc" not in asm
