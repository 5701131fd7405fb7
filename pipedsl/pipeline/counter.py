"""Signals as LDS counters that only grow, for AMD GPUs.

The methods are kernel code: they run on the GPU, in the language that kernels are written in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipedsl.target import gpu


class CounterHandle:
    """One slot's signal.

    Parameters
    ----------
    counter : LDS array of one counter
    """

    def __init__(self, counter: Any) -> None:
        self.counter = counter

    def load(self) -> int:
        """The number of arrivals so far."""
        return gpu.counter_load(self.counter, 0)

    def arrive(self) -> None:
        """Raise the signal, once per wave."""
        gpu.stamp("signal", self.counter, 0, 0, 0)
        gpu.counter_signal(self.counter, 0)


class AmdCounterBackend:
    """A `PipelineBackend` on counters in LDS.

    A signal counts the arrivals since the start, one per wave. A slot is full for lap ``phase``
    when ``full[stage] >= (phase + 1) * producer_arrivals``, and empty for it when
    ``empty[stage] >= (phase - 1) * consumer_arrivals``: there is no parity to track, and the first
    lap of the producers, phase 1, finds every slot empty. Waiting is a spin of one wave.

    Parameters
    ----------
    num_stages : int
        Slots of the ring; a compile-time constant.
    producer_arrivals, consumer_arrivals : int
        Waves that arrive at a slot per lap; compile-time constants.
    counters : LDS array, optional
        ``storage_elems(num_stages)`` elements of type `counter`: the full counters, then the empty
        ones. Without it the backend reserves its own.
    counter : type
        ``np.int64``, or ``np.int32`` for 2^31 - 1 arrivals per slot at most.
    """

    BarrierStorage: Any = np.int64
    Handle = CounterHandle

    def __init__(
        self,
        num_stages: int,
        producer_arrivals: int = 1,
        consumer_arrivals: int = 1,
        counters: Any = None,
        counter: Any = np.int64,
    ) -> None:
        gpu.static_check(num_stages >= 1, "a ring needs a stage or more, not {}.", None, num_stages)
        gpu.static_check(
            producer_arrivals >= 1, "producer_arrivals is {}.", "use 1 or more.", producer_arrivals
        )
        gpu.static_check(
            consumer_arrivals >= 1, "consumer_arrivals is {}.", "use 1 or more.", consumer_arrivals
        )
        if counters is None:
            counters = gpu.shared.array(self.storage_elems(num_stages), counter)
        self.num_stages = num_stages
        self.producer_arrivals = producer_arrivals
        self.consumer_arrivals = consumer_arrivals
        self.counters = counters
        self.BarrierStorage = counter
        gpu.declare_ring(counters, num_stages, producer_arrivals, consumer_arrivals)

    @staticmethod
    def storage_elems(num_stages: int) -> int:
        """Number of counters in LDS."""
        return 2 * num_stages

    def init_barriers(self, producer_arrive_count: int, consumer_arrive_count: int) -> None:
        """Zero the counters; one thread does it, and ``gpu.barrier()`` publishes it.

        Raises
        ------
        ProtocolError
            At compile time, if a count differs from the backend's.
        """
        gpu.static_check(
            producer_arrive_count == self.producer_arrivals,
            "init_barriers() is given {} producer arrivals and the backend has {}.",
            "use the same number in both places.",
            producer_arrive_count,
            self.producer_arrivals,
        )
        gpu.static_check(
            consumer_arrive_count == self.consumer_arrivals,
            "init_barriers() is given {} consumer arrivals and the backend has {}.",
            "use the same number in both places.",
            consumer_arrive_count,
            self.consumer_arrivals,
        )
        for i in range(2 * self.num_stages):
            self.counters[i] = 0

    def try_full(self, stage: int, phase: int) -> bool:
        """Whether slot `stage` was filled in lap `phase`; the same value in all lanes."""
        threshold = self._full_threshold(phase)
        return not gpu.any_lane(gpu.counter_load(self.counters, stage) < threshold)

    def try_empty(self, stage: int, phase: int) -> bool:
        """Whether slot `stage` was drained before lap `phase`; the same value in all lanes."""
        threshold = self._empty_threshold(phase)
        drained = gpu.counter_load(self.counters, self.num_stages + stage)
        return not gpu.any_lane(drained < threshold)

    def wait_full(self, stage: int, phase: int, ticks: int | None = None) -> None:
        """Wait until slot `stage` was filled in lap `phase`; `ticks` is ignored."""
        threshold = self._full_threshold(phase)
        gpu.stamp("full", self.counters, stage, stage, phase)
        started = gpu.stopwatch()
        while gpu.any_lane(gpu.counter_load(self.counters, stage) < threshold):
            gpu.sleep(0)
            gpu.give_up(started, self.counters, stage, threshold)
        gpu.stamp("got", self.counters, stage, stage, phase)

    def wait_empty(self, stage: int, phase: int, ticks: int | None = None) -> None:
        """Wait until slot `stage` was drained before lap `phase`; `ticks` is ignored."""
        threshold = self._empty_threshold(phase)
        gpu.stamp("empty", self.counters, self.num_stages + stage, stage, phase)
        started = gpu.stopwatch()
        while gpu.any_lane(gpu.counter_load(self.counters, self.num_stages + stage) < threshold):
            gpu.sleep(0)
            gpu.give_up(started, self.counters, self.num_stages + stage, threshold)
        gpu.stamp("got", self.counters, self.num_stages + stage, stage, phase)

    def _full_threshold(self, phase: int) -> Any:
        laps = np.uint32(phase) + np.uint32(1)
        return self.BarrierStorage(laps * np.uint32(self.producer_arrivals))

    def _empty_threshold(self, phase: int) -> Any:
        gpu.static_check(
            phase != 0,
            "wait_empty and try_empty are given phase 0, which is never reached.",
            "start producers at phase 1.",
        )
        laps = np.uint32(phase) - np.uint32(1)
        return self.BarrierStorage(laps * np.uint32(self.consumer_arrivals))

    def arrive_full(self, stage: int) -> None:
        """Count this wave in at the full signal of slot `stage`."""
        gpu.stamp("signal", self.counters, stage, stage, 0)
        gpu.counter_signal(self.counters, stage)

    def arrive_empty(self, stage: int) -> None:
        """Count this wave in at the empty signal of slot `stage`."""
        gpu.stamp("signal", self.counters, self.num_stages + stage, stage, 0)
        gpu.counter_signal(self.counters, stage, self.num_stages)

    def full_handle(self, stage: int) -> CounterHandle:
        """The full signal of slot `stage`."""
        return CounterHandle(gpu.element(self.counters, stage))

    def empty_handle(self, stage: int) -> CounterHandle:
        """The empty signal of slot `stage`."""
        return CounterHandle(gpu.element(self.counters, self.num_stages + stage))
