"""bfloat16 and eight-bit floats against ml_dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import gpu, pipelined_kernel, use_device
from pipedsl.core.errors import KernelTypeError, TargetError

ml_dtypes = pytest.importorskip("ml_dtypes")

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
EIGHT_BITS = [
    ("gfx942", ml_dtypes.float8_e4m3fnuz),
    ("gfx942", ml_dtypes.float8_e5m2fnuz),
    ("gfx950", ml_dtypes.float8_e4m3fn),
    ("gfx950", ml_dtypes.float8_e5m2),
    ("gfx1201", ml_dtypes.float8_e4m3fn),
    ("gfx1201", ml_dtypes.float8_e5m2),
]


@pytest.mark.parametrize("arch", ARCHS)
def test_bfloat16_converts_and_computes(arch):
    @pipelined_kernel
    def kernel(a, wide, product, back):
        i = gpu.thread_idx.x
        wide[i] = np.float32(a[i])
        product[i] = a[i] * a[i]
        back[i] = np.float32(a[i]) * 1.001

    a = np.linspace(-8, 8, 64).astype(ml_dtypes.bfloat16)
    wide, product = np.zeros(64, np.float32), np.zeros_like(a)
    back = np.zeros_like(a)
    with use_device(f"sim:{arch}"):
        kernel[1, 64](a, wide, product, back)
    x = a.astype(np.float32)
    np.testing.assert_array_equal(wide, x)
    np.testing.assert_array_equal(product, (x * x).astype(a.dtype))
    np.testing.assert_array_equal(back, (x * np.float32(1.001)).astype(a.dtype))


@pytest.mark.parametrize(("arch", "dtype"), EIGHT_BITS)
def test_every_eight_bit_value_widens(arch, dtype):
    @pipelined_kernel
    def kernel(a, out):
        i = gpu.block_idx.x * 64 + gpu.thread_idx.x
        out[i] = np.float32(a[i])

    a = np.arange(256, dtype=np.uint8).view(dtype)
    out = np.zeros(256, np.float32)
    with use_device(f"sim:{arch}"):
        kernel[4, 64](a, out)
    np.testing.assert_array_equal(out, a.astype(np.float32))


@pytest.mark.parametrize(("arch", "dtype"), EIGHT_BITS)
def test_float32_narrows_to_nearest_even(arch, dtype):
    @pipelined_kernel
    def kernel(a, out):
        i = gpu.block_idx.x * 64 + gpu.thread_idx.x
        out[i] = a[i]

    top = float(ml_dtypes.finfo(dtype).max)
    a = np.random.default_rng(0).uniform(-top, top, 256).astype(np.float32)
    a[:128] /= 64
    out = np.zeros(256, dtype)
    with use_device(f"sim:{arch}"):
        kernel[4, 64](a, out)
    np.testing.assert_array_equal(out.view(np.uint8), a.astype(dtype).view(np.uint8))


def test_eight_bit_floats_do_not_compute():
    @pipelined_kernel
    def kernel(a):
        a[0] = a[1] + a[2]

    a = np.zeros(4, ml_dtypes.float8_e4m3fnuz)
    with pytest.raises(KernelTypeError, match=r"\+ is not defined for float8_e4m3fnuz"):
        kernel.compile(a, arch="gfx942", block=64)


def test_the_other_format_is_refused():
    @pipelined_kernel
    def kernel(a, out):
        out[0] = np.float32(a[0])

    a, out = np.zeros(4, ml_dtypes.float8_e4m3fn), np.zeros(1, np.float32)
    with pytest.raises(TargetError, match="gfx942 has no conversion of float8_e4m3fn") as caught:
        kernel.compile(a, out, arch="gfx942", block=64)
    assert "gfx950" in caught.value.fix
