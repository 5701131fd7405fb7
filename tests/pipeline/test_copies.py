"""How many copies to LDS stay in flight when a slot is handed over: proven in checked mode."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pipedsl import (
    AmdCounterBackend,
    ProducerConsumerPipeline,
    config,
    device_function,
    gpu,
    pipelined_kernel,
    use_device,
)
from pipedsl.core.arch import ARCHS
from pipedsl.core.findings import CheckWarning

N = 23
SOURCE = np.arange(128 * N, dtype=np.int32)
ABLE = [arch.name for arch in ARCHS.values() if arch.has("lds_dma4")]


@device_function
def copy_halves(memory, slots, slot, i):
    for half in gpu.static_range(0, 128, 64):
        index = 128 * i + half + gpu.lane_id()
        gpu.buffer_load_to_lds(memory, index, slots, 128 * slot + half)


@device_function
def one_ahead(pipe, memory, slots, n, vmcnt):
    """Two copies a slot, one slot ahead of the signal."""
    stage = pipe.acquire_and_advance()
    copy_halves(memory, slots, stage.index(), 0)
    for i in range(1, n):
        following = pipe.acquire_and_advance()
        copy_halves(memory, slots, following.index(), i)
        stage.commit(vmcnt)
        stage = following
    stage.commit()


@device_function
def two_ahead(pipe, memory, slots, n, vmcnt):
    older = pipe.acquire_and_advance()
    copy_halves(memory, slots, older.index(), 0)
    newer = pipe.acquire_and_advance()
    copy_halves(memory, slots, newer.index(), 1)
    for i in range(2, n):
        newest = pipe.acquire_and_advance()
        copy_halves(memory, slots, newest.index(), i)
        older.commit(vmcnt)
        older = newer
        newer = newest
    older.commit()
    newer.commit()


@device_function
def in_blocks(pipe, memory, slots, n, vmcnt):
    for i in range(n):
        with pipe.produce(vmcnt=vmcnt) as stage:
            copy_halves(memory, slots, stage.index(), i)


@device_function
def at_an_unknown_slot(pipe, memory, slots, n, vmcnt):
    """The slot's number does not come from a stage: the copy may be any stage's."""
    stage = pipe.acquire_and_advance()
    copy_halves(memory, slots, 0, 0)
    for i in range(1, n):
        slot = pipe.producer_stage()
        following = pipe.acquire_and_advance()
        copy_halves(memory, slots, slot, i)
        stage.commit(vmcnt)
        stage = following
    stage.commit()


@device_function
def newest_first(pipe, memory, slots, n, vmcnt):
    """Of each two slots the second is filled and committed first."""
    for i in range(0, n - 1, 2):
        first = pipe.acquire_and_advance()
        second = pipe.acquire_and_advance()
        copy_halves(memory, slots, second.index(), i + 1)
        copy_halves(memory, slots, first.index(), i)
        second.commit(vmcnt)
        first.commit(vmcnt)
    with pipe.produce() as last:
        copy_halves(memory, slots, last.index(), n - 1)


@device_function
def half_by_half(pipe, memory, slots, n, vmcnt):
    """A path on which the younger slot has one copy less."""
    stage = pipe.acquire_and_advance()
    copy_halves(memory, slots, stage.index(), 0)
    for i in range(1, n):
        following = pipe.acquire_and_advance()
        start = 128 * following.index()
        index = 128 * i + gpu.lane_id()
        gpu.buffer_load_to_lds(memory, index, slots, start)
        if i % 2 == 0:
            gpu.buffer_load_to_lds(memory, index + 64, slots, start + 64)
            stage.commit(vmcnt)
        else:
            stage.commit(vmcnt)
            gpu.buffer_load_to_lds(memory, index + 64, slots, start + 64)
        stage = following
    stage.commit()


@device_function
def copy_some(memory, slots, slot, i, last):
    """Perhaps a second time."""
    copy_halves(memory, slots, slot, i)
    if i < last:
        copy_halves(memory, slots, slot, i)


@device_function
def perhaps_again(pipe, memory, slots, n, vmcnt):
    """The older slot's last copies may be the youngest of all."""
    stage = pipe.acquire_and_advance()
    copy_halves(memory, slots, stage.index(), 0)
    for i in range(1, n):
        following = pipe.acquire_and_advance()
        copy_halves(memory, slots, following.index(), i)
        if i < n - 3:
            copy_halves(memory, slots, stage.index(), i - 1)
        stage.commit(vmcnt)
        stage = following
    stage.commit()


@device_function
def perhaps_again_elsewhere(pipe, memory, slots, n, vmcnt):
    """As `perhaps_again`, in a function that is called."""
    stage = pipe.acquire_and_advance()
    copy_some(memory, slots, stage.index(), 0, n - 3)
    for i in range(1, n):
        following = pipe.acquire_and_advance()
        copy_some(memory, slots, following.index(), i, n - 3)
        stage.commit(vmcnt)
        stage = following
    stage.commit()


@device_function
def slot_from_the_round_before(pipe, memory, slots, n, vmcnt):
    """Each slot is copied to in the next round, after the next slot: by its number, kept."""
    stage = pipe.acquire_and_advance()
    slot = 0
    for i in range(1, n):
        following = pipe.acquire_and_advance()
        copy_halves(memory, slots, following.index(), i)
        copy_halves(memory, slots, slot, i - 1)
        stage.commit(vmcnt)
        slot = following.index()
        stage = following
    copy_halves(memory, slots, slot, n - 1)
    stage.commit()


def kernel_of(produce, vmcnt):
    @pipelined_kernel
    def kernel(source, result, n):
        pipe = ProducerConsumerPipeline(AmdCounterBackend(4))
        slots = gpu.shared.array(4 * 128, np.int32)
        pipe.init()
        lane = gpu.lane_id()
        if gpu.wave_id() == 0:
            produce(pipe, gpu.buffer(source), slots, n, vmcnt)
        else:
            for i in range(n):
                with pipe.consume() as full:
                    for half in gpu.static_range(0, 128, 64):
                        result[i, half + lane] = slots[128 * full.index() + half + lane]

    return kernel


def run(arch: str, produce, vmcnt: int | None) -> None:
    result = np.zeros((N, 128), np.int32)
    with use_device(f"sim:{arch}"), config.scope(check=True, seed=2):
        kernel_of(produce, vmcnt)[1, 128](SOURCE, result, np.int32(N))
    np.testing.assert_array_equal(result.ravel(), SOURCE)


WAYS = {
    one_ahead: {0, 2},
    two_ahead: {0, 2, 4},
    in_blocks: {0},
    at_an_unknown_slot: {0},
    newest_first: {0, 2},
    half_by_half: {0, 1, 2},
    perhaps_again: {0},
    perhaps_again_elsewhere: {0, 2},
    slot_from_the_round_before: {0},
}


@pytest.mark.parametrize("produce", WAYS, ids=lambda function: function.__name__)
def test_the_compiler_counts_the_copies_of_younger_stages(produce) -> None:
    run("gfx942", produce, None)
    sample = SOURCE, np.zeros((N, 128), np.int32), np.int32(N)
    asm = kernel_of(produce, None).compile(*sample, arch="gfx942", block=128).asm
    assert {int(count) for count in re.findall(r"vmcnt\((\d+)\)", asm)} == WAYS[produce]


@pytest.mark.parametrize("vmcnt", [None, 0, 2])
@pytest.mark.parametrize("arch", ABLE)
def test_copies_are_fenced(arch: str, vmcnt: int | None) -> None:
    run(arch, one_ahead, vmcnt)


def test_a_fence_that_waits_for_too_few_copies_is_found() -> None:
    with pytest.warns(CheckWarning, match=r"C120.*buffer_load_dword.*"):
        run("gfx942", one_ahead, 3)
