"""Misuse of the protocol that is visible while compiling; the members; classes of a user's own."""

from __future__ import annotations

import numpy as np
import pytest
from rings import make_ring

from pipedsl import AmdCounterBackend, PipelineBackend, gpu
from pipedsl.core.errors import KernelError, KernelTypeError, ProtocolError
from pipedsl.frontend import KernelSource, lower, type_of
from pipedsl.pipeline import CounterHandle

RESULT = type_of(np.zeros(8, np.int32))


def compiled(function, *types):
    return lower(KernelSource.capture(function), types or [RESULT], "gfx942", 128)


def wrong_producers(result):
    backend = AmdCounterBackend(4, producer_arrivals=2, consumer_arrivals=1)
    backend.init_barriers(1, 1)


def wrong_consumers(result):
    backend = AmdCounterBackend(4, producer_arrivals=2, consumer_arrivals=1)
    backend.init_barriers(2, 3)


def phase_zero(result):
    backend = AmdCounterBackend(4)
    backend.wait_empty(0, 0)


def no_stages(result):
    backend = AmdCounterBackend(0)
    backend.init_barriers(1, 1)


def no_arrivals(result):
    backend = AmdCounterBackend(2, producer_arrivals=0)
    backend.init_barriers(0, 1)


MESSAGES = {
    wrong_producers: "init_barriers() is given 1 producer arrivals and the backend has 2.",
    wrong_consumers: "init_barriers() is given 3 consumer arrivals and the backend has 1.",
    phase_zero: "wait_empty and try_empty are given phase 0, which is never reached.",
    no_stages: "a ring needs a stage or more, not 0.",
    no_arrivals: "producer_arrivals is 0.",
}


@pytest.mark.parametrize("function", MESSAGES, ids=lambda function: function.__name__)
def test_message_at_the_users_line(function):
    with pytest.raises(ProtocolError) as caught:
        compiled(function)
    error = caught.value
    assert error.message == MESSAGES[function]
    assert error.code == "P230"
    assert error.where.filename == __file__
    line = 1 if function in (no_stages, no_arrivals) else 2
    lines = KernelSource.capture(function).text.splitlines()
    assert error.where.source_line() == lines[line]


def test_counts_known_only_at_run_time_compile():
    def kernel(result):
        backend = AmdCounterBackend(4)
        n = gpu.block_idx.x
        backend.init_barriers(n, n)
        backend.wait_empty(n, n)
        result[0] = 1

    compiled(kernel)


def test_a_stage_count_that_is_not_constant():
    def kernel(result):
        backend = AmdCounterBackend(gpu.block_idx.x)
        backend.init_barriers(1, 1)

    with pytest.raises(KernelTypeError, match="shape of gpu.shared.array"):
        compiled(kernel)


def test_members():
    assert isinstance(AmdCounterBackend, PipelineBackend)
    assert AmdCounterBackend.storage_elems(4) == 8
    assert AmdCounterBackend.BarrierStorage is np.int64
    assert AmdCounterBackend.Handle is CounterHandle


def test_on_the_host():
    with pytest.raises(KernelError, match="exists in kernels and device functions only"):
        AmdCounterBackend(4)


def test_every_member_compiles_and_ticks_is_accepted():
    def kernel(result):
        counters = gpu.shared.array(AmdCounterBackend.storage_elems(2), np.int64)
        backend = AmdCounterBackend(2, 1, 1, counters)
        stage = gpu.block_idx.x
        backend.wait_full(stage, 1, ticks=100)
        backend.wait_empty(stage, 1, ticks=100)
        if backend.try_full(stage, 1) and backend.try_empty(stage, 1):
            backend.full_handle(stage).arrive()
            backend.empty_handle(stage).arrive()
        result[0] = backend.full_handle(stage).load()

    assert compiled(kernel).lds_bytes == 32


def test_backends_have_their_own_counters():
    def kernel(result):
        first = AmdCounterBackend(2)
        second = AmdCounterBackend(2)
        first.init_barriers(1, 1)
        second.init_barriers(1, 1)

    assert compiled(kernel).lds_bytes == 64


class ScaledBackend:
    """A backend of the user's own: every signal counts twice."""

    BarrierStorage = np.int64
    Handle = CounterHandle

    def __init__(self, num_stages, producer_arrivals=1, consumer_arrivals=1):
        self.inner = AmdCounterBackend(num_stages, 2 * producer_arrivals, 2 * consumer_arrivals)

    @staticmethod
    def storage_elems(num_stages):
        return AmdCounterBackend.storage_elems(num_stages)

    def init_barriers(self, producer_arrive_count, consumer_arrive_count):
        self.inner.init_barriers(2 * producer_arrive_count, 2 * consumer_arrive_count)

    def wait_full(self, stage, phase, ticks=None):
        self.inner.wait_full(stage, phase, ticks)

    def wait_empty(self, stage, phase, ticks=None):
        self.inner.wait_empty(stage, phase, ticks)

    def try_full(self, stage, phase):
        return self.inner.try_full(stage, phase)

    def try_empty(self, stage, phase):
        return self.inner.try_empty(stage, phase)

    def arrive_full(self, stage):
        for _ in range(2):
            self.inner.arrive_full(stage)

    def arrive_empty(self, stage):
        for _ in range(2):
            self.inner.arrive_empty(stage)

    def full_handle(self, stage):
        return self.inner.full_handle(stage)

    def empty_handle(self, stage):
        return self.inner.empty_handle(stage)


def test_a_class_without_pipedsl_in_it_is_a_backend():
    assert isinstance(ScaledBackend, PipelineBackend)
    text = compiled(make_ring(4, ScaledBackend), RESULT, type_of(8)).llvm_ir
    assert text.count("ds_add_u64") == 2  # one in each loop of two
