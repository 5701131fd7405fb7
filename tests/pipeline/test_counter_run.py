"""The counter backend at work on the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from rings import make_ring

from pipedsl import AmdCounterBackend, config, gpu, pipelined_kernel, use_device
from pipedsl.core.arch import ARCHS
from pipedsl.core.errors import DeadlockError, StepBudgetExceeded


def launch(function, arch, waves, *args, grid=1):
    with use_device(f"sim:{arch}"):
        pipelined_kernel(function)[grid, waves * ARCHS[arch].wave_size](*args)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("num_stages", [1, 2, 3, 4, 8])
def test_ring(arch, num_stages):
    result = np.zeros(500, np.int32)
    launch(make_ring(num_stages), arch, 2, result, np.int32(500))
    assert result.tolist() == list(range(1, 501))


def test_ring_of_floats():
    result = np.zeros(64, np.float16)
    launch(make_ring(2, dtype=np.float16), "gfx942", 2, result, np.int32(64))
    assert result.tolist() == list(range(1, 65))


def several(num_stages, producers, consumers):
    """Each producer wave fills its part of a slot; each consumer wave reads the whole slot."""

    def kernel(result, n_items):
        backend = AmdCounterBackend(num_stages, producers, consumers)
        slots = gpu.shared.array((num_stages, producers), np.int32)
        if gpu.thread_idx.x == 0:
            backend.init_barriers(producers, consumers)
        gpu.barrier()
        wave = gpu.wave_id()
        for i in range(n_items):
            stage = i % num_stages
            lap = i // num_stages
            if wave < producers:
                backend.wait_empty(stage, lap + 1)
                if gpu.lane_id() == 0:
                    slots[stage, wave] = (i + 1) * (wave + 1)
                gpu.fence_lds()
                backend.arrive_full(stage)
            else:
                backend.wait_full(stage, lap)
                total = 0
                for part in range(producers):
                    total += slots[stage, part]
                if gpu.lane_id() == 0:
                    result[wave - producers, i] = total
                gpu.fence_lds()
                backend.arrive_empty(stage)

    return kernel


@pytest.mark.parametrize(("producers", "consumers"), [(1, 3), (3, 1), (2, 2)])
def test_several_waves_on_both_sides(producers, consumers):
    result = np.zeros((consumers, 40), np.int32)
    waves = producers + consumers
    launch(several(2, producers, consumers), "gfx942", waves, result, np.int32(40))
    expected = np.arange(1, 41) * sum(range(1, producers + 1))
    np.testing.assert_array_equal(result, np.tile(expected, (consumers, 1)))


def counts(out):
    backend = AmdCounterBackend(4, consumer_arrivals=3)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 3)
    gpu.barrier()
    lane = gpu.lane_id()
    backend.arrive_full(1)
    if lane > 20:
        backend.arrive_full(2)
    if lane > 1000:
        backend.arrive_full(3)
    for _ in range(3):
        backend.arrive_empty(3)
    gpu.barrier()
    if gpu.thread_idx.x == 0:
        for stage in range(4):
            out[0, stage] = backend.full_handle(stage).load()
            out[1, stage] = backend.empty_handle(stage).load()


@pytest.mark.parametrize("arch", ARCHS)
def test_a_wave_counts_once_with_any_lanes_and_not_at_all_without(arch):
    out = np.zeros((2, 4), np.int64)
    launch(counts, arch, 2, out)
    assert out.tolist() == [[0, 2, 2, 0], [0, 0, 0, 6]]


def thresholds(out):
    backend = AmdCounterBackend(2, producer_arrivals=2, consumer_arrivals=3)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(2, 3)
    gpu.barrier()
    for arrivals in range(8):
        for phase in range(4):
            out[0, arrivals, phase] = backend.try_full(1, phase)
            out[1, arrivals, phase] = backend.try_empty(1, phase + 1)
        backend.arrive_full(1)
        backend.arrive_empty(1)


def test_when_a_slot_counts_as_full_and_as_empty():
    out = np.zeros((2, 8, 4), np.bool_)
    launch(thresholds, "gfx942", 1, out)
    arrivals, phase = np.mgrid[0:8, 0:4]
    np.testing.assert_array_equal(out[0], arrivals >= (phase + 1) * 2)
    np.testing.assert_array_equal(out[1], arrivals >= phase * 3)


def test_a_ring_without_a_consumer_never_ends():
    def kernel(result):
        backend = AmdCounterBackend(2)
        if gpu.thread_idx.x == 0:
            backend.init_barriers(1, 1)
        gpu.barrier()
        for i in range(3):
            backend.wait_empty(i % 2, i // 2 + 1)
            backend.arrive_full(i % 2)
        result[0] = 1

    with config.scope(step_budget=20_000), pytest.raises((StepBudgetExceeded, DeadlockError)):
        launch(kernel, "gfx942", 1, np.zeros(1, np.int32))
