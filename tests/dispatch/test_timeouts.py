"""Waits that give up: ``timeout_ms``."""

from __future__ import annotations

import numpy as np
import pytest

import pipedsl
from pipedsl import AmdCounterBackend, DeadlockError, LaunchError, gpu, pipelined_kernel
from pipedsl.core.arch import ARCHS

WORK = 200_000  # steps of the slow producer, more than a timeout of 0.1 ms allows


def ring(**options):
    @pipelined_kernel(**options)
    def kernel(out, n, work):
        backend = AmdCounterBackend(2)
        slots = gpu.shared.array(2, np.int32)
        if gpu.thread_idx.x == 0:
            backend.init_barriers(1, 1)
        gpu.barrier()
        if gpu.wave_id() == 0:
            for i in range(n):
                value = i
                for step in range(work):
                    value = value * 3 + step
                backend.wait_empty(i % 2, i // 2 + 1)
                if gpu.lane_id() == 0:
                    slots[i % 2] = value
                gpu.fence_lds()
                backend.arrive_full(i % 2)
        else:
            for i in range(n):
                backend.wait_full(i % 2, i // 2)
                if gpu.lane_id() == 0:
                    out[i] = slots[i % 2]
                gpu.fence_lds()
                backend.arrive_empty(i % 2)

    return kernel


@pytest.mark.parametrize("arch", ARCHS)
def test_in_time_nothing_changes(arch: str) -> None:
    with pipedsl.use_device(f"sim:{arch}"):
        out = np.zeros(6, np.int32)
        ring(timeout_ms=1000)[1, 2 * gpu.wave_size()](out, 6, 0)
    assert out.tolist() == list(range(6))


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100", "gfx1201"])
def test_a_wait_gives_up_and_the_host_says_who_waited_for_what(arch: str) -> None:
    kernel = ring(timeout_ms=0.1)
    with pipedsl.use_device(f"sim:{arch}"):
        launch = kernel[2, 2 * gpu.wave_size()]
        with pytest.raises(DeadlockError) as caught:
            launch(np.zeros(6, np.int32), 6, WORK)
        out = np.zeros(6, np.int32)
        launch(out, 6, 0)  # the buffer is clear again
    error = caught.value
    assert "gave up after timeout_ms" in error.message
    assert "wave 1 waits for full[0]" in error.message
    assert ">= 1, which is 0" in error.message
    assert "backend.wait_full(i % 2, i // 2)" in (error.where.source_line() or "")
    assert error.drawing
    assert out.tolist() == list(range(6))


def test_without_it_the_code_is_the_same_as_ever() -> None:
    def instructions(**options) -> list[str]:
        out = np.zeros(6, np.int32)
        asm = ring(**options).compile(out, 6, 0, arch="gfx942", block=128).asm
        return [line for line in asm.splitlines() if line.startswith("\t") and ".loc" not in line]

    plain = instructions()
    assert not any("memrealtime" in line for line in plain)
    assert any("memrealtime" in line for line in instructions(timeout_ms=5))


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_what_timeout_ms_takes(timeout: float) -> None:
    with pytest.raises(LaunchError, match="timeout_ms is"):
        ring(timeout_ms=timeout)


def test_a_kernel_with_a_timeout_can_be_checked_and_timed() -> None:
    kernel = ring(timeout_ms=1000)
    with pipedsl.use_device("sim:gfx942"):
        out = np.zeros(6, np.int32)
        report = pipedsl.check(kernel[1, 128], out, 6, 0, seeds=1)
        assert report, report
        assert kernel[1, 128].time(out, 6, 0).cycles > 0
