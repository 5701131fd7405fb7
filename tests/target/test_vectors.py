"""Vectors and register arrays against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import gpu, pipelined_kernel
from pipedsl.core.errors import KernelTypeError

f16x8 = gpu.vec(np.float16, 8)
f32x4 = gpu.vec(np.float32, 4)
i32x4 = gpu.vec(np.int32, 4)


def test_load_convert_compute_store(run):
    def kernel(a, out):
        t = gpu.thread_idx.x
        v = gpu.vec(np.float32, 8)(gpu.load(a, t * 8, 8))
        w = (v * 2.0 + 1) / v - v * v
        gpu.store(out, t * 8, w)

    a = (np.arange(512) % 37 + 1).astype(np.float16)
    out = np.zeros(512, np.float32)
    run(kernel, a, out)
    x = a.astype(np.float32)
    np.testing.assert_array_equal(out, (x * np.float32(2) + 1) / x - x * x)


@pytest.mark.parametrize("count", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float16, np.int32, np.float64])
def test_every_width_moves_through_lds(run, dtype, count):
    def kernel(a, out):
        tile = gpu.shared.array(64 * 16, dtype)
        t = gpu.thread_idx.x
        gpu.store(tile, t * count, gpu.load(a, t * count, count))
        gpu.barrier()
        back = 63 - t
        gpu.store(out, t * count, gpu.load(tile, back * count, count))

    a = np.arange(64 * count).astype(dtype)
    out = np.zeros_like(a)
    run(kernel, a, out)
    np.testing.assert_array_equal(out, a.reshape(64, count)[::-1].ravel())


def test_elements_and_construction(run):
    def kernel(out, x):
        v = i32x4(1, x, 3, x * 2)
        w = i32x4(5)
        out[0] = v[1]
        out[1] = v[-1]
        out[2] = (v + w)[2]
        out[3] = (v << 2)[0] | (w & 4)[3]
        out[4] = v[x % 4]
        out[5] = v.size

    out = np.zeros(6, np.int32)
    run(kernel, out, np.int32(10), block=1)
    assert out.tolist() == [10, 20, 8, 4 | 4, 3, 4]


def test_bitcast(run):
    def kernel(out, x):
        v = gpu.bitcast(f32x4(x), i32x4)
        out[0] = v[2]
        out[1] = gpu.bitcast(x, np.int32)
        half = gpu.bitcast(gpu.bitcast(x, gpu.vec(np.uint16, 2)), gpu.vec(np.int8, 4))
        out[2] = half[3]

    out = np.zeros(3, np.int32)
    run(kernel, out, np.float32(-1.5), block=1)
    bits = np.float32(-1.5).view(np.int32)
    assert out.tolist() == [bits, bits, bits >> 24]


def test_register_arrays_hold_across_loops_without_scratch(run):
    def kernel(a, out, n):
        acc = gpu.local.array((2, 3), np.float32)
        for i in gpu.static_range(2):
            for j in gpu.static_range(3):
                acc[i, j] = 0.0
        for k in range(n):
            for i in gpu.static_range(2):
                for j in gpu.static_range(3):
                    acc[i, j] += a[k] * (i * 3 + j)
        for i in gpu.static_range(2):
            for j in gpu.static_range(3):
                out[i, j] = acc[i, j]

    a = np.arange(10, dtype=np.float32)
    out = np.zeros((2, 3), np.float32)
    run(kernel, a, out, np.int32(10), block=1)
    np.testing.assert_array_equal(out, a.sum() * np.arange(6).reshape(2, 3))
    compiled = pipelined_kernel(kernel).compile(a, out, np.int32(1), arch="gfx942", block=64)
    assert compiled.resources.scratch_bytes == 0


def at_run_time(out, n):
    acc = gpu.local.array(4, np.float32)
    acc[n] = 1.0


def wrong_count(out, n):
    gpu.store(out, 0, f32x4(1.0) + gpu.vec(np.float32, 2)(1.0))


def vector_of_bool(out, n):
    gpu.vec(np.bool_, 4)


def odd_count(out, n):
    gpu.load(out, 0, 5)


def too_far(out, n):
    v = f32x4(1.0)
    out[0] = v[4]


def wrong_size(out, n):
    gpu.bitcast(f32x4(1.0), np.int32)


def three_values(out, n):
    f32x4(1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (at_run_time, "registers cannot be indexed at run time"),
        (wrong_count, "the counts differ"),
        (vector_of_bool, "there are no vectors of bool"),
        (odd_count, "a vector has 2, 3, 4, 8, 16 or 32 elements, not 5"),
        (too_far, "index 4 is out of range"),
        (wrong_size, r"cannot make int32 \(32 bits\) of .* \(128 bits\)"),
        (three_values, "takes 1 or 4 values, not 3"),
    ],
)
def test_errors_name_the_line(run, function, message):
    with pytest.raises(KernelTypeError, match=message) as caught:
        run(function, np.zeros(8, np.float32), np.int32(0))
    assert caught.value.where.filename == __file__


def test_vectors_do_not_exist_on_the_host():
    with pytest.raises(KernelTypeError, match="makes vectors in kernels only"):
        f16x8(1.0)
