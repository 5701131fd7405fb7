"""The pipeline, roles and tile counters: data arrives whole and in order on every target."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import (
    AmdCounterBackend,
    KernelTypeError,
    ProducerConsumerPipeline,
    ProtocolError,
    RingPosition,
    Roles,
    SingleCounterSync,
    SplitCounterSync,
    config,
    device_function,
    gpu,
    pipelined_kernel,
    use_device,
)
from pipedsl.core.arch import ARCHS

ALL = list(ARCHS)
N = 23


class ParityBackend:
    """A user's own backend, in the manner of an mbarrier.

    A word holds the arrivals of the current phase and, above them, the number of the phase; a
    waiter looks at its parity alone.
    """

    BarrierStorage = np.int32
    Handle = int

    def __init__(self, num_stages, producer_arrivals, consumer_arrivals):
        self.num_stages = num_stages
        self.producer_arrivals = producer_arrivals
        self.consumer_arrivals = consumer_arrivals
        self.words = gpu.shared.array((2, num_stages), np.int32)

    @staticmethod
    def storage_elems(num_stages):
        return 2 * num_stages

    def init_barriers(self, producer_arrive_count, consumer_arrive_count):
        for i in range(self.num_stages):
            self.words[0, i] = 0
            self.words[1, i] = 0

    def passed(self, side, stage, parity):
        word = gpu.atomic_add(self.words, (side, stage), 0)
        return not gpu.any_lane((word >> 16) & 1 == parity)

    def arrive(self, side, stage, arrivals):
        if gpu.lane_id() == 0:
            before = gpu.atomic_add(self.words, (side, stage), 1)
            if before & 0xFFFF == arrivals - 1:
                gpu.atomic_add(self.words, (side, stage), 0x10000 - arrivals)

    def try_full(self, stage, phase):
        return self.passed(0, stage, phase & 1)

    def try_empty(self, stage, phase):
        return self.passed(1, stage, phase & 1)

    def wait_full(self, stage, phase, ticks=None):
        while not self.try_full(stage, phase):
            gpu.sleep(1)

    def wait_empty(self, stage, phase, ticks=None):
        while not self.try_empty(stage, phase):
            gpu.sleep(1)

    def arrive_full(self, stage):
        self.arrive(0, stage, self.producer_arrivals)

    def arrive_empty(self, stage):
        self.arrive(1, stage, self.consumer_arrivals)

    def full_handle(self, stage):
        return stage

    def empty_handle(self, stage):
        return stage


@device_function
def narrow_counters(num_stages, producer_arrivals, consumer_arrivals):
    return AmdCounterBackend(num_stages, producer_arrivals, consumer_arrivals, counter=np.int32)


def rows(num_stages, backend=AmdCounterBackend):
    """Two producers write a half of each slot each; three consumers each copy all of it."""

    @pipelined_kernel
    def kernel(result, n):
        roles = Roles(producers=2, consumers=3)
        pipe = roles.pipeline(num_stages, backend)
        slots = gpu.shared.array((num_stages, 2, 64), np.int32)
        pipe.init()
        lane = gpu.lane_id()
        wave = roles.producer.wave()
        if roles.producer.mine():
            for i in range(n):
                with pipe.produce() as stage:
                    slots[stage.index(), wave, lane] = 1000 * i + 100 * wave + lane
            pipe.tail()
        else:
            for i in range(n):
                with pipe.consume() as stage:
                    row = roles.consumer.wave() * n + i
                    for half in gpu.static_range(2):
                        result[row, half, lane] = slots[stage.index(), half, lane]

    return kernel


def values(kernel, arch: str, seed: int = 0) -> None:
    with use_device(f"sim:{arch}"), config.scope(seed=seed):
        size = gpu.wave_size()
        result = np.zeros((3, N, 2, size), np.int32)
        flat = result.reshape(3 * N, 2, size)
        kernel[1, 5 * size](flat, np.int32(N))
    i, half, lane = np.ogrid[:N, :2, :size]
    np.testing.assert_array_equal(
        result, np.broadcast_to(1000 * i + 100 * half + lane, result.shape)
    )


@pytest.mark.parametrize("num_stages", [1, 2, 3])
@pytest.mark.parametrize("arch", ALL)
def test_blocks_hand_over_whole_slots(arch: str, num_stages: int) -> None:
    values(rows(num_stages), arch, seed=num_stages)


@pytest.mark.parametrize("backend", [narrow_counters, ParityBackend])
@pytest.mark.parametrize("arch", ALL)
def test_backends_are_exchangeable(arch: str, backend) -> None:
    values(rows(2, backend), arch, seed=7)


@pipelined_kernel
def stage_values(result, n):
    """Stages held as values: two at a time in the producer, tests before waits in both."""
    pipe = ProducerConsumerPipeline(AmdCounterBackend(4))
    slots = gpu.shared.array((4, 64), np.int32)
    pipe.init()
    lane = gpu.lane_id()
    if gpu.wave_id() == 0:
        for i in range(n // 2):
            first = pipe.acquire_and_advance(ready=pipe.try_wait_consumer())
            second = pipe.acquire_and_advance()
            slots[second.index(), lane] = 2 * i + 1 + lane
            second.commit()
            slots[first.index(), lane] = 2 * i + lane
            first.arrive()
            first.release_without_signal()
    else:
        for i in range(n):
            stage = pipe.wait_and_advance(pipe.try_wait_producer())
            result[i, lane] = slots[stage.index(), lane]
            stage.release()


@pipelined_kernel
def by_hand(result, n):
    """The members without stages: handles, waits, signals, steps."""
    pipe = ProducerConsumerPipeline(AmdCounterBackend(3))
    slots = gpu.shared.array((3, 64), np.int32)
    pipe.init_mbars(1, 1)
    lane = gpu.lane_id()
    if gpu.wave_id() == 0:
        for i in range(n):
            pipe.wait_consumer_if_needed(pipe.try_wait_consumer())
            slots[pipe.producer_stage(), lane] = i + lane
            gpu.fence_lds()
            pipe.producer_mbar(pipe.producer_stage()).arrive()
            pipe.producer_step()
    else:
        for i in range(n):
            pipe.wait_producer_if_needed(False)
            result[i, lane] = slots[pipe.consumer_stage(), lane] + 0 * pipe.consumer_phase()
            gpu.fence_lds()
            pipe.consumer_mbar(pipe.consumer_stage()).arrive()
            pipe.consumer_step()


@pipelined_kernel
def explicit(result, n):
    """The producer signals through the stage, the consumer releases early."""
    pipe = ProducerConsumerPipeline(AmdCounterBackend(2))
    slots = gpu.shared.array((2, 64), np.int32)
    pipe.init()
    lane = gpu.lane_id()
    if gpu.wave_id() == 0:
        for i in range(n):
            with pipe.produce(signal=False) as stage:
                slots[stage.index(), lane] = i + lane
                gpu.fence_lds()
                stage.mbar().arrive()
    else:
        for i in range(n):
            with pipe.consume_explicit() as stage:
                value = slots[stage.index(), lane]
                stage.arrive()
                result[i, lane] = value


@pipelined_kernel
def signals_only(result, n):
    """Waves that only take turns."""
    pipe = ProducerConsumerPipeline(AmdCounterBackend(1))
    pipe.init()
    lane = gpu.lane_id()
    for i in range(n):
        if gpu.wave_id() == 0:
            pipe.producer_signal_and_step()
        else:
            pipe.consumer_signal_and_step()
            result[i, lane] = i + lane


@pytest.mark.parametrize("kernel", [stage_values, by_hand, explicit, signals_only])
@pytest.mark.parametrize("arch", ALL)
def test_every_way_to_write_a_ring(arch: str, kernel) -> None:
    with use_device(f"sim:{arch}"):
        size = gpu.wave_size()
        result = np.zeros((N - 1, size), np.int32)
        kernel[1, 2 * size](result, np.int32(N - 1))
    i, lane = np.ogrid[: N - 1, :size]
    np.testing.assert_array_equal(result, i + lane)


@pytest.mark.parametrize("sync_class", [SingleCounterSync, SplitCounterSync])
@pytest.mark.parametrize("arch", ALL)
def test_tile_counters(arch: str, sync_class) -> None:
    """Two writers, each of its own tile; two readers, each of both tiles."""

    @pipelined_kernel
    def kernel(result, n):
        sync = sync_class(2, 3, writes=1, reads=2)
        slots = gpu.shared.array((3, 2, 64), np.int32)
        sync.init()
        lane, wave = gpu.lane_id(), gpu.wave_id()
        at = RingPosition(3)
        if wave < 2:
            for i in range(n):
                sync.wait_empty(wave, at.stage(), at.phase())
                slots[at.stage(), wave, lane] = 100 * i + 10 * wave + lane
                gpu.fence_lds()
                sync.arrive_full(wave, at.stage())
                at.step()
        else:
            for i in range(n):
                total = 0
                for tile in gpu.static_range(2):
                    sync.wait_full(tile, at.stage(), at.phase())
                    total += slots[at.stage(), tile, lane]
                    gpu.fence_lds()
                    sync.arrive_empty(tile, at.stage())
                at.step()
                result[wave - 2, i, lane] = total

    with use_device(f"sim:{arch}"), config.scope(seed=3):
        size = gpu.wave_size()
        result = np.zeros((2, N, size), np.int32)
        kernel[1, 4 * size](result, np.int32(N))
    i, lane = np.ogrid[:N, :size]
    np.testing.assert_array_equal(result, np.broadcast_to(200 * i + 10 + 2 * lane, result.shape))


@pytest.mark.parametrize("sync_class", [SingleCounterSync, SplitCounterSync])
@pytest.mark.parametrize("counts", [(0, 1), (1, 0)])
def test_tile_counters_need_both_sides(sync_class, counts) -> None:
    @pipelined_kernel
    def kernel(out):
        sync_class(2, 3, writes=counts[0], reads=counts[1]).init()

    message = r"(writes|reads|(producer|consumer)_arrivals) is 0\."
    with pytest.raises(ProtocolError, match=message):
        kernel.compile(np.zeros(1, np.int32), arch="gfx942", block=64)


def test_signals_take_what_the_backend_needs() -> None:
    @pipelined_kernel
    def kernel(out):
        wide = ProducerConsumerPipeline(AmdCounterBackend(3))
        out[0] = wide.smem_bytes()
        out[1] = SplitCounterSync.storage_elems(4, 2)
        out[2] = SingleCounterSync.storage_elems(4, 2)

    out = np.zeros(3, np.int32)
    kernel[1, 64](out)
    assert out.tolist() == [48, 16, 8]


def test_roles_that_are_not_the_block() -> None:
    @pipelined_kernel
    def kernel(out):
        roles = Roles(producers=1, consumers=2)
        out[0] = roles.producer.first

    message = "1 producer and 2 consumer waves take a block of 192 threads, not 128"
    with pytest.raises(ProtocolError, match=message):
        kernel.compile(np.zeros(1, np.int32), arch="gfx942", block=128)


def test_roles_that_are_not_constant() -> None:
    @pipelined_kernel
    def kernel(out, n):
        out[0] = Roles(producers=1, consumers=n).producer.first

    message = "the number of consumer waves is not a compile-time constant"
    with pytest.raises(KernelTypeError, match=message):
        kernel.compile(np.zeros(1, np.int32), np.int32(1), arch="gfx942", block=128)


def test_a_part_of_a_role_that_is_not_there() -> None:
    @pipelined_kernel
    def kernel(out):
        roles = Roles(producers=2, consumers=2)
        out[0] = roles.producer.part(1, 2).first

    with pytest.raises(ProtocolError, match="waves 1 to 2 of a role with 2 waves do not exist"):
        kernel.compile(np.zeros(1, np.int32), arch="gfx942", block=256)
