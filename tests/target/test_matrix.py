"""Every matrix function on every target that has it, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import gpu, pipelined_kernel, use_device
from pipedsl.core.arch import ARCHS
from pipedsl.core.errors import KernelTypeError, TargetError
from pipedsl.target.matrix_table import ROWS

ml_dtypes = pytest.importorskip("ml_dtypes")

CASES = [(row, arch) for row in ROWS for arch in row.archs]


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def lane_k(row, arch):
    """For each lane and element: row (or column) and k of an A (or B) operand.

    A group of lanes holds consecutive k (CDNA3 and CDNA4 ISA, matrix layouts; RDNA3: both halves of
    the wave hold the same; RDNA4: k interleaves by element groups of 8 lanes' halves).
    """
    m, _, k = row.shape
    count, lanes = row.a[1], ARCHS[arch].wave_size
    lane, element = np.meshgrid(np.arange(lanes), np.arange(count), indexing="ij")
    if arch == "gfx1100":
        return lane % 16, element
    return lane % m, lane // m * count + element if k > 1 else element * 0


def lane_out(row, arch):
    """For each lane and element of the result: row and column."""
    m, _, _ = row.shape
    lanes, count = ARCHS[arch].wave_size, row.c[1]
    lane, element = np.meshgrid(np.arange(lanes), np.arange(count), indexing="ij")
    if arch == "gfx1100":
        return 2 * element + lane // 16, lane % 16
    if arch == "gfx1201":
        return element + 8 * (lane // 16), lane % 16
    if row.c[0] == "float64":
        return 4 * element + lane // 16, lane % 16
    if m == 32:
        return 8 * (element // 4) + 4 * (lane // 32) + element % 4, lane % 32
    return 4 * (lane // 16) + element % 4, lane % 16


def make(function, row):
    a_count, c_count = row.a[1], row.c[1]
    a_dtype, c_dtype = numpy_dtype(row.a[0]).type, numpy_dtype(row.c[0]).type

    @pipelined_kernel
    def kernel(a, b, c):
        t = gpu.thread_idx.x
        if a_count == 1:
            x, y = a[t, 0], b[t, 0]
        else:
            x, y = gpu.load(a, (t, 0), a_count), gpu.load(b, (t, 0), a_count)
        z = gpu.load(c, (t, 0), c_count)
        gpu.store(c, (t, 0), function(x, y, z))

    return kernel, a_dtype, c_dtype


@pytest.mark.parametrize(("row", "arch"), CASES, ids=[f"{r.name}-{a}" for r, a in CASES])
def test_integer_valued_products_are_exact(row, arch):
    m, n, k = row.shape
    rng = np.random.default_rng(0)
    high = 3 if "e5m2" in row.a[0] or "e4m3" in row.a[0] else 8
    a, b = rng.integers(-high, high, (m, k)), rng.integers(-high, high, (n, k))
    c = rng.integers(-50, 50, (m, n))
    kernel, _, _ = make(getattr(gpu, row.name), row)
    index, ks = lane_k(row, arch)
    rows, columns = lane_out(row, arch)
    lanes_a = a[index, ks].astype(numpy_dtype(row.a[0]))
    lanes_b = b[index, ks].astype(numpy_dtype(row.b[0]))
    lanes_c = c[rows, columns].astype(row.c[0])
    with use_device(f"sim:{arch}"):
        kernel[1, ARCHS[arch].wave_size](lanes_a, lanes_b, lanes_c)
    result = np.zeros((m, n))
    result[rows, columns] = lanes_c
    np.testing.assert_array_equal(result, a @ b.T + c)


@pytest.mark.parametrize("arch", ARCHS)
def test_mfma_picks_by_type(arch):
    rows = [row for row in ROWS if arch in row.archs and row.a[0] == "float16"]
    assert rows
    for row in rows:
        kernel, a_dtype, c_dtype = make(gpu.mfma, row)
        lanes = ARCHS[arch].wave_size
        args = [np.zeros((lanes, row.a[1]), a_dtype)] * 2 + [np.zeros((lanes, row.c[1]), c_dtype)]
        asm = kernel.compile(*args, arch=arch, block=lanes).asm
        assert f"v_{row.name.split('_')[0]}" in asm
        assert "x".join(map(str, row.shape)) in asm


def test_an_arch_without_the_instruction_is_named():
    row = next(r for r in ROWS if r.name == "mfma_f32_16x16x32_f16")
    kernel, a_dtype, c_dtype = make(gpu.mfma_f32_16x16x32_f16, row)
    args = [np.zeros((64, 8), a_dtype)] * 2 + [np.zeros((64, 4), c_dtype)]
    with pytest.raises(TargetError, match=r"gfx942 has no gpu.mfma_f32_16x16x32_f16\(\)") as caught:
        kernel.compile(*args, arch="gfx942", block=64)
    assert caught.value.fix == "compile for gfx950."


def test_operands_that_fit_no_instruction_list_those_that_do():
    row = next(r for r in ROWS if r.name == "mfma_f32_16x16x16_f16")
    kernel, _, c_dtype = make(gpu.mfma, row)
    args = [np.zeros((64, 4), np.int16)] * 2 + [np.zeros((64, 4), c_dtype)]
    with pytest.raises(KernelTypeError, match="gfx942 has no matrix instruction for vec"):
        kernel.compile(*args, arch="gfx942", block=64)
