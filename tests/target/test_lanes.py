"""Lane exchange, reductions and atomics on every target, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import gpu, pipelined_kernel, use_device
from pipedsl.core.arch import ARCHS
from pipedsl.core.errors import KernelTypeError

DTYPES = [np.int32, np.float32, np.float16, np.int64, np.float64, np.uint8]


def launch(function, arch, *args, grid=1, block=None):
    with use_device(f"sim:{arch}"):
        pipelined_kernel(function)[grid, block or ARCHS[arch].wave_size](*args)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_shuffle_xor(arch, dtype):
    size = ARCHS[arch].wave_size
    masks = [1, 2, 3, 4, 8, 15, 16] + ([32, 33] if size == 64 else [])

    def kernel(a, out):
        t = gpu.lane_id()
        for k in gpu.static_range(len(masks)):
            out[k, t] = gpu.shuffle_xor(a[t], masks[k])

    masks = tuple(masks)
    a = (np.arange(size) * 3 + 1).astype(dtype)
    out = np.zeros((len(masks), size), dtype)
    launch(kernel, arch, a, out)
    for row, mask in zip(out, masks, strict=True):
        np.testing.assert_array_equal(row, a[np.arange(size) ^ mask])


@pytest.mark.parametrize("arch", ARCHS)
def test_reductions_reach_every_lane(arch):
    size = ARCHS[arch].wave_size

    def kernel(a, out):
        t = gpu.lane_id()
        out[0, t] = gpu.wave_sum(a[t])
        out[1, t] = gpu.wave_max(a[t])
        out[2, t] = gpu.wave_min(a[t])

    a = np.random.default_rng(0).integers(-99, 99, size).astype(np.float32)
    out = np.zeros((3, size), np.float32)
    launch(kernel, arch, a, out)
    assert (out == np.array([[a.sum()], [a.max()], [a.min()]])).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_permute_and_first_lane(arch):
    size = ARCHS[arch].wave_size

    def kernel(a, order, out):
        t = gpu.lane_id()
        out[0, t] = gpu.bpermute(order[t], a[t])
        if t >= 5:
            out[1, t] = gpu.readfirstlane(a[t])

    rng = np.random.default_rng(1)
    a, order = rng.normal(size=size), rng.permutation(size).astype(np.int32)
    out = np.zeros((2, size))
    launch(kernel, arch, a, order, out)
    np.testing.assert_array_equal(out[0], a[order])
    assert (out[1, 5:] == a[5]).all()
    assert not out[1, :5].any()


REFERENCES = {
    "add": np.add.reduce, "min": np.minimum.reduce, "max": np.maximum.reduce,
    "and": np.bitwise_and.reduce, "or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
}  # fmt: skip


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("name", REFERENCES)
def test_integer_atomics_on_global_memory_and_lds(arch, dtype, name):
    atomic = getattr(gpu, f"atomic_{name}")

    def kernel(a, out, shared_out):
        cell = gpu.shared.array(1, dtype)
        t = gpu.thread_idx.x
        if t == 0:
            cell[0] = a[0]
        gpu.barrier()
        i = gpu.block_idx.x * 128 + t
        atomic(out, 0, a[i])
        atomic(cell, 0, a[i], "workgroup")
        gpu.barrier()
        if t == 0:
            atomic(shared_out, 0, cell[0])

    rng = np.random.default_rng(2)
    a = rng.integers(0 if dtype == np.uint32 else -1000, 1000, 256).astype(dtype)
    start = a[:1].copy() if name in ("min", "max", "and", "or") else np.zeros(1, dtype)
    out, shared_out = start.copy(), start.copy()
    launch(kernel, arch, a, out, shared_out, grid=2, block=128)
    expected = REFERENCES[name](np.concatenate([start, a]))
    assert out[0] == expected
    if name in ("min", "max", "and", "or"):
        assert shared_out[0] == REFERENCES[name](np.concatenate([start, a, a[:1]]))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_add(arch, dtype):
    def kernel(out):
        gpu.atomic_add(out, gpu.thread_idx.x % 3, 0.5)

    out = np.zeros(3, dtype)
    launch(kernel, arch, out, grid=4, block=96)
    assert out.tolist() == [64.0, 64.0, 64.0]


@pytest.mark.parametrize("arch", ARCHS)
def test_exchange_and_compare_and_swap(arch):
    def kernel(out, log):
        if gpu.thread_idx.x == 0:
            log[0] = gpu.atomic_exchange(out, 0, 7)
            log[1] = gpu.atomic_cas(out, 0, 7, 9)
            log[2] = gpu.atomic_cas(out, 0, 7, 11)

    out, log = np.array([3], np.int32), np.zeros(3, np.int32)
    launch(kernel, arch, out, log)
    assert log.tolist() == [3, 7, 9]
    assert out[0] == 9


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("gpu.atomic_add(out, 0, 1, 'universe')", "the scope is not the constant 'universe'"),
        ("gpu.atomic_add(out, 0, 1, 'agent', 'soon')", "the order is not the constant 'soon'"),
        ("gpu.atomic_and(f, 0, 1)", r"gpu.atomic_and\(\) is not defined for float32"),
        ("gpu.shuffle_xor(out[0], 64)", "is given the mask 64"),
        ("gpu.atomic_add(h, 0, 1.0)", "is not defined for float16"),
    ],
)
def test_errors(statement, message, tmp_path):
    path = tmp_path / "user.py"
    path.write_text(
        "from pipedsl import gpu, pipelined_kernel\n@pipelined_kernel\n"
        f"def kernel(out, f, h):\n    {statement}\n"
    )
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    args = np.zeros(4, np.int32), np.zeros(4, np.float32), np.zeros(4, np.float16)
    with pytest.raises(KernelTypeError, match=message) as caught:
        scope["kernel"].compile(*args, arch="gfx942", block=64)
    assert caught.value.where.line == 4
