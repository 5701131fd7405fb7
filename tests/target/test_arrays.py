"""Arrays in memory and LDS: layouts, indices, attributes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pipedsl import gpu
from pipedsl.codegen import compile_ir
from pipedsl.core.arch import ARCHS
from pipedsl.core.dtypes import DTYPES
from pipedsl.frontend import KernelSource, lower, type_of


def copy1(out, a):
    i = gpu.thread_idx.x
    if i < a.shape[0]:
        out[i] = a[i]


def copy2(out, a):
    i = gpu.thread_idx.x
    if i < a.shape[0]:
        for j in range(a.shape[1]):
            out[i, j] = a[i, j]


def copy3(out, a):
    i = gpu.thread_idx.x
    m, n, k = a.shape
    if i < m:
        for j in range(n):
            for l in range(k):  # noqa: E741
                out[i, j, l] = a[i, j, l]


BASE = np.arange(5 * 6 * 7).reshape(5, 6, 7)
VIEWS = {
    "1-D": (copy1, lambda a: a[0, 0].copy()),
    "1-D strided": (copy1, lambda a: a[:, 1, 2]),
    "1-D backwards": (copy1, lambda a: a[0, 0, ::-1]),
    "2-D": (copy2, lambda a: a[0].copy()),
    "2-D transposed": (copy2, lambda a: a[0].T),
    "2-D window": (copy2, lambda a: a[2, 1:5, 2:6:2]),
    "3-D": (copy3, lambda a: a.copy()),
    "3-D permuted": (copy3, lambda a: a.transpose(2, 0, 1)),
    "3-D mirrored": (copy3, lambda a: a[::-1, ::2, ::-1]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("view", ["1-D strided", "2-D transposed", "3-D permuted", "3-D"])
def test_dtypes(run, dtype, view):
    kernel, take = VIEWS[view]
    source = take(BASE.astype(dtype) if dtype != "bool" else BASE % 3 == 0)
    out = np.zeros(source.shape, dtype)
    run(kernel, out, source)
    np.testing.assert_array_equal(out, source)


@pytest.mark.parametrize("view", VIEWS)
def test_layouts_on_both_sides(run, view):
    kernel, take = VIEWS[view]
    source = take(BASE.astype(np.int32))
    target_base = np.full(BASE.shape, -1, np.int32)
    target = take(target_base)
    run(kernel, target, source)
    np.testing.assert_array_equal(target, source)
    if not target.flags.owndata:
        expected = np.full(BASE.shape, -1, np.int32)
        take(expected)[...] = source
        np.testing.assert_array_equal(target_base, expected)


def test_attributes(run):
    def kernel(out, a, b):
        out[0], out[1], out[2] = a.shape
        out[3] = a.size
        out[4] = a.ndim
        out[5] = len(a)
        out[6], out[7], out[8] = a.strides
        out[9], out[10] = b.strides
        out[11] = a.itemsize
        t = gpu.shared.array((4, 8), np.float16)
        out[12], out[13] = t.shape
        out[14] = t.size
        out[15] = t.strides[0]

    a, b = np.zeros((2, 3, 5), np.int16), np.zeros((4, 6)).T
    out = np.zeros(16, np.int32)
    run(kernel, out, a, b)
    # The device holds a C-contiguous copy of a strided host array.
    strides = np.ascontiguousarray(b).strides
    expected = [2, 3, 5, 30, 3, 2, *a.strides, *strides, 2, 4, 8, 32, 16]
    assert out.tolist() == expected


def test_constant_negative_indices_count_from_the_end(run):
    def kernel(out, a):
        t = gpu.shared.array((2, 3), np.int32)
        t[-1, -3] = 7
        out[-1] = a[-2, -1] + t[1, 0]

    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    out = np.zeros(5, np.int32)
    run(kernel, out, a)
    assert out.tolist() == [0, 0, 0, 0, 14]


def test_augmented_assignment(run):
    def kernel(out, a):
        i = gpu.thread_idx.x
        out[i] += a[i]
        out[i] *= 3
        out[i] -= 1
        out[i] //= 2
        out[i] ^= 5

    a = np.arange(64, dtype=np.int32)
    out = np.ones(64, np.int32)
    run(kernel, out, a)
    np.testing.assert_array_equal(out, ((1 + a) * 3 - 1) // 2 ^ 5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lds_round_trip(run, dtype):
    def kernel(out, a):
        i = gpu.thread_idx.x
        t = gpu.shared.array((2, 64), dtype)
        t[i % 2, i] = a[i]
        gpu.barrier()
        out[i] = t[(63 - i) % 2, 63 - i]

    a = (np.arange(64) % 2 == 1) if dtype == "bool" else np.arange(64).astype(dtype)
    out = np.zeros(64, dtype)
    run(kernel, out, a)
    np.testing.assert_array_equal(out, a[::-1])


def test_index_types(run):
    def kernel(out, i8, u8, i64, n):
        i = gpu.thread_idx.x
        out[i8[i]] += 1
        out[u8[i]] += 10
        out[i64[i]] += 100
        out[n] = 5

    order = np.arange(32)
    out = np.zeros(33, np.int32)
    run(kernel, out, order.astype(np.int8), order.astype(np.uint8), order, np.uint64(32), block=32)
    assert out.tolist() == [111] * 32 + [5]


@pytest.mark.parametrize("arch", ARCHS)
def test_access_is_a_scalar_base_and_a_32_bit_offset(arch):
    def kernel(out, a):
        i = gpu.block_idx.x * 256 + gpu.thread_idx.x
        out[i] = a[i] + 1.0

    types = [type_of(np.zeros(4, np.float32))] * 2
    result = lower(KernelSource.capture(kernel), types, arch, 256)
    asm = compile_ir(result.llvm_ir, arch, kernel="kernel").asm
    load = re.search(r"global_load_(?:dword|b32) v\d+, (v\d+), s\[\d+:\d+\]", asm)
    store = re.search(r"global_store_(?:dword|b32) (v\d+), v\d+, s\[\d+:\d+\]", asm)
    assert load and store
    assert "v_lshl_add_u64" not in asm and "v_addc" not in asm and "v_add_co" not in asm


def test_wide_arrays_take_64_bit_offsets():
    def kernel(out, i):
        out[i] = 1.0

    wide = type_of(np.broadcast_to(np.float32(0), (2, 2**31)).reshape(-1)[:0])
    assert not wide.wide
    backwards = type_of(np.zeros(8, np.float32)[::-1])
    text = lower(
        KernelSource.capture(kernel), [backwards, type_of(np.int64(1))], "gfx942", 64
    ).llvm_ir
    assert 'i64 %"out.stride.0"' in text
    assert "zext" not in text
