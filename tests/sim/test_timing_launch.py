"""Timing launches of kernels: arrays, roles, rings, and what runs."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import AmdCounterBackend, Roles, SingleCounterSync, gpu, pipelined_kernel, use_device
from pipedsl.core.arch import ARCHS
from pipedsl.core.errors import DeadlockError
from pipedsl.runtime.simulated import timed_launches

ITEMS, STAGES = 12, 3


@pipelined_kernel
def relay(out, n):
    roles = Roles(producers=1, consumers=2)
    pipe = roles.pipeline(num_stages=STAGES)
    slots = gpu.shared.array((STAGES, 64), np.float32)
    pipe.init()
    if roles.producer.mine():
        for i in range(n):
            with pipe.produce() as stage:
                gpu.sleep(10)
                slots[stage.index(), gpu.lane_id()] = i
    else:
        for i in range(n):
            with pipe.consume() as stage:
                out[i, roles.consumer.thread()] = slots[stage.index(), gpu.lane_id()]


@pipelined_kernel
def shared_counter(out, n):
    sync = SingleCounterSync(1, STAGES, writes=1, reads=1)
    slots = gpu.shared.array((STAGES, 64), np.int32)
    sync.init()
    lane = gpu.lane_id()
    if gpu.wave_id() == 0:
        for i in range(n):
            sync.wait_empty(0, i % STAGES, i // STAGES)
            slots[i % STAGES, lane] = i
            gpu.fence_lds()
            sync.arrive_full(0, i % STAGES)
    else:
        for i in range(n):
            sync.wait_full(0, i % STAGES, i // STAGES)
            out[i, lane] = slots[i % STAGES, lane]
            gpu.fence_lds()
            sync.arrive_empty(0, i % STAGES)


@pipelined_kernel
def two_rings(out, n):
    there = AmdCounterBackend(2, 1, 1)
    back = AmdCounterBackend(1, 1, 1)
    if gpu.thread_idx.x == 0:
        there.init_barriers(1, 1)
        back.init_barriers(1, 1)
    gpu.barrier()
    for i in range(n):
        if gpu.wave_id() == 0:
            there.wait_empty(i % 2, i // 2 + 1)
            there.arrive_full(i % 2)
            back.wait_full(0, i)
            back.arrive_empty(0)
        else:
            there.wait_full(i % 2, i // 2)
            there.arrive_empty(i % 2)
            back.wait_empty(0, i + 1)
            back.arrive_full(0)
    out[gpu.thread_idx.x] = n


@pipelined_kernel
def never_full(out, n):
    ring = AmdCounterBackend(1, 1, 1)
    if gpu.thread_idx.x == 0:
        ring.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 1:
        ring.wait_full(0, n)
    out[gpu.thread_idx.x] = n


def block(arch, waves):
    return waves * ARCHS[arch].wave_size


@pytest.mark.parametrize("arch", ARCHS)
def test_a_timed_launch_leaves_arrays_alone_and_gives_roles(arch):
    out = np.zeros((ITEMS, 2 * ARCHS[arch].wave_size), np.float32)
    run = relay[1, block(arch, 3)].time(out, ITEMS, arch=arch)
    assert not out.any()
    assert (run.kernel, run.arch) == ("relay", arch)
    assert [wave.role for wave in run.waves] == ["producer", "consumer", "consumer"]
    asleep = run.waves[0].spent["sleep"]
    assert asleep >= ITEMS * 9 * 64
    for wave in run.waves[1:]:  # what they wait for is a producer that sleeps
        assert wave.spent["full"] > 0.8 * asleep
        assert wave.spent["empty"] == 0


def test_stages_and_laps_are_those_of_the_declared_ring():
    out = np.zeros((ITEMS, 128), np.float32)
    run = relay[1, 192].time(out, ITEMS, arch="gfx942")
    for wave in (1, 2):
        waits = [i for i in run.intervals if i.wave == wave and i.kind == "full"]
        assert [i.stage for i in waits] == [i % STAGES for i in range(ITEMS)]
        assert [i.lap for i in waits] == [i // STAGES for i in range(ITEMS)]
    full = [a for a in run.arrows if a.kind == "full"]
    assert {(a.source, a.target) for a in full} == {(0, 1), (0, 2)}


def test_a_counter_that_both_sides_raise_is_read_from_its_use():
    out = np.zeros((ITEMS, 64), np.int32)
    run = shared_counter[1, 128].time(out, ITEMS, arch="gfx950")
    assert [wave.role for wave in run.waves] == ["producer", "consumer"]
    waits = {(i.wave, i.kind) for i in run.intervals if i.stage is not None}
    assert waits == {(0, "empty"), (1, "full")}
    assert {i.stage for i in run.intervals if i.kind == "full"} == set(range(STAGES))


def test_rings_are_told_apart():
    run = two_rings[1, 128].time(np.zeros(128, np.int32), ITEMS, arch="gfx942")
    assert [wave.role for wave in run.waves] == ["producer+consumer"] * 2
    assert {(i.wave, i.ring, i.stage) for i in run.intervals if i.kind == "full"} == {
        (0, 1, 0),
        (1, 0, 0),
        (1, 0, 1),
    }


def test_only_the_workgroups_that_are_modelled_run():
    # 1000 workgroups on 304 compute units, dealt in turn: 4 share one.
    args = np.zeros((ITEMS, 128), np.float32), ITEMS
    run = relay[1000, 192].time(*args, arch="gfx942")
    assert (run.workgroups, run.total_workgroups, run.rounds) == (
        (0, 304, 608, 912),
        1000,
        1,
    )
    assert len(run.waves) == 12
    said = "modelled cycles on gfx942 for 4 of 1000 workgroups; the others are taken to be alike"
    assert str(run).splitlines()[0] == f"{run.cycles} {said}"


def test_launches_in_a_timed_context_keep_their_results():
    out = np.zeros((ITEMS, 128), np.float32)
    with use_device("sim:gfx942"), timed_launches() as runs:
        relay[2, 192](out, ITEMS)
        relay[2, 192](out, ITEMS)
    assert (out == np.arange(ITEMS)[:, None]).all()
    assert [run.kernel for run in runs] == ["relay", "relay"]
    assert runs[0].cycles == runs[1].cycles == relay[2, 192].time(out, ITEMS, arch="gfx942").cycles
    with use_device("sim:gfx942"):
        relay[2, 192](out, ITEMS)
    assert len(runs) == 2


def test_a_wait_without_end_is_explained_as_in_fast_mode():
    out = np.zeros(128, np.int32)
    with pytest.raises(DeadlockError) as timed:
        never_full[1, 128].time(out, 0, arch="gfx942")
    with use_device("sim:gfx942"), pytest.raises(DeadlockError) as fast:
        never_full[1, 128](out, 0)
    assert timed.value.message == fast.value.message
    assert timed.value.drawing == fast.value.drawing
