"""Buffers, loads to LDS, waits, hints and inline assembly."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import gpu, pipelined_kernel, use_device
from pipedsl.core.arch import ARCHS
from pipedsl.core.errors import KernelError, KernelTypeError, ResourceError, TargetError


def launch(function, arch, *args, grid=1, block=64):
    with use_device(f"sim:{arch}"):
        pipelined_kernel(function)[grid, block](*args)


@pytest.mark.parametrize("arch", ARCHS)
def test_out_of_range_loads_give_zero_and_stores_vanish(arch):
    def kernel(a, out):
        t = gpu.thread_idx.x
        source, target = gpu.buffer(a), gpu.buffer(out, 50)
        gpu.buffer_store(target, t, gpu.buffer_load(source, t, base=40))

    a = np.arange(1, 81, dtype=np.float32)
    out = np.full(64, -1, np.float32)
    launch(kernel, arch, a, out)
    expected = np.full(64, -1, np.float32)
    expected[:50] = np.where(np.arange(50) + 40 < 80, np.arange(50) + 41, 0)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("dtype", "count"),
    [(np.int8, 1), (np.int16, 1), (np.float16, 2), (np.float16, 8), (np.float32, 3), (np.int64, 2)],
)
def test_widths(arch, dtype, count):
    def kernel(a, out):
        t = gpu.thread_idx.x
        gpu.buffer_store(
            gpu.buffer(out), t * count, gpu.buffer_load(gpu.buffer(a), (63 - t) * count, count)
        )

    a = np.arange(64 * count).astype(dtype)
    out = np.zeros_like(a)
    launch(kernel, arch, a, out)
    np.testing.assert_array_equal(out, a.reshape(64, count)[::-1].ravel())


@pytest.mark.parametrize(
    ("arch", "dtype", "count"),
    [
        ("gfx90a", np.float32, 1),
        ("gfx942", np.float16, 2),
        ("gfx950", np.int32, 1),
        ("gfx950", np.float16, 8),
    ],
)
def test_load_to_lds_keeps_lane_order(arch, dtype, count):
    def kernel(a, out):
        tile = gpu.shared.array(2 * 64 * count, dtype)
        t, w = gpu.thread_idx.x, gpu.wave_id()
        lane = gpu.lane_id()
        source = gpu.buffer(a)
        gpu.buffer_load_to_lds(source, ((1 - w) * 64 + lane) * count, tile, w * 64 * count, count)
        gpu.waitcnt(vmcnt=0)
        gpu.barrier()
        for i in gpu.static_range(count):
            out[t * count + i] = tile[t * count + i]

    a = np.arange(128 * count).astype(dtype)
    out = np.zeros_like(a)
    launch(kernel, arch, a, out, block=128)
    np.testing.assert_array_equal(out, np.roll(a, 64 * count))


def test_wide_loads_to_lds_need_gfx950():
    def kernel(a):
        tile = gpu.shared.array(1024, np.float32)
        gpu.buffer_load_to_lds(gpu.buffer(a), gpu.lane_id() * 4, tile, 0, 4)

    with pytest.raises(TargetError, match="gfx942 has no load to LDS of 16 bytes per lane"):
        pipelined_kernel(kernel).compile(np.zeros(256, np.float32), arch="gfx942", block=64)


@pytest.mark.parametrize("arch", ARCHS)
def test_waits_and_hints_assemble_and_run(arch):
    def kernel(out):
        gpu.setprio(2)
        gpu.waitcnt(vmcnt=3, lgkmcnt=1)
        gpu.waitcnt(vscnt=0)
        gpu.sched_barrier(0)
        gpu.sched_group_barrier(8, 1, 0)
        start = gpu.clock()
        out[gpu.thread_idx.x] = 5
        gpu.setprio(0)
        gpu.sleep(1)
        if gpu.clock() < start:
            out[0] = 0

    out = np.zeros(64, np.int32)
    launch(kernel, arch, out)
    assert (out == 5).all()


def test_counter_names_are_the_arch_s():
    def kernel():
        gpu.waitcnt(vmcnt=3, lgkmcnt=1)

    def text(arch):
        return pipelined_kernel(kernel).compile(arch=arch, block=64).asm

    assert "s_waitcnt vmcnt(3) lgkmcnt(1)" in text("gfx942")
    assert "s_wait_loadcnt_dscnt 0x301" in text("gfx1201")


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_inline_assembly_runs_on_the_simulator(arch):
    def kernel(a, out):
        t = gpu.thread_idx.x
        out[t] = gpu.asm("v_fma_f32 $0, $1, $2, 1.0", np.float32, a[t], 2.0 * a[t])

    a = np.arange(64, dtype=np.float32)
    out = np.zeros_like(a)
    launch(kernel, arch, a, out)
    np.testing.assert_array_equal(out, a * 2 * a + 1)


def test_waves_per_eu_bounds_registers():
    def kernel(a, out):
        values = gpu.local.array(160, np.float32)
        for i in gpu.static_range(160):
            values[i] = a[gpu.thread_idx.x + i * 64]
        gpu.barrier()
        for i in gpu.static_range(160):
            out[gpu.thread_idx.x + i * 64] = values[159 - i]

    args = np.zeros(160 * 64, np.float32), np.zeros(160 * 64, np.float32)
    free = pipelined_kernel(kernel).compile(*args, arch="gfx942", block=64)
    tight = pipelined_kernel(waves_per_eu=4)(kernel).compile(*args, arch="gfx942", block=64)
    assert free.resources.vgprs > 128 >= tight.resources.vgprs
    with pytest.raises(ResourceError, match="waves_per_eu=9 is outside 1 to 8 on gfx942"):
        pipelined_kernel(waves_per_eu=9)(kernel).compile(*args, arch="gfx942", block=64)


def local_buffer(a):
    gpu.buffer(gpu.shared.array(4, np.float32))


def odd_bytes(a):
    gpu.buffer_load(gpu.buffer(a), 0, 5)


def not_a_buffer(a):
    gpu.buffer_load(a, 0)


def far_wait(a):
    gpu.waitcnt(lgkmcnt=16)


def no_wait(a):
    gpu.waitcnt()


def variable_priority(a):
    gpu.setprio(gpu.thread_idx.x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (local_buffer, "takes a C-contiguous array in global memory below 4 GiB"),
        (odd_bytes, "moves 1, 2, 4, 8, 12 or 16 bytes, not 20"),
        (not_a_buffer, "takes a buffer, not"),
        (far_wait, r"gpu.waitcnt\(lgkmcnt=\) is given 16"),
        (no_wait, "waits for nothing"),
        (variable_priority, r"gpu.setprio\(\) takes a compile-time constant"),
    ],
)
def test_errors_name_the_line(function, message):
    with pytest.raises(KernelTypeError, match=message) as caught:
        pipelined_kernel(function).compile(np.zeros(64, np.float32), arch="gfx942", block=64)
    assert caught.value.where.filename == __file__


@pytest.mark.parametrize(
    "name", ["buffer_load", "mfma", "wave_sum", "atomic_add", "waitcnt", "asm", "load"]
)
def test_device_functions_refuse_the_host(name):
    with pytest.raises(
        KernelError, match=rf"gpu.{name}\(\) exists in kernels and device functions only"
    ):
        getattr(gpu, name)(
            *([0] * {"waitcnt": 0, "wave_sum": 1, "asm": 1, "buffer_load": 2}.get(name, 3))
        )
