"""The producer/consumer protocol: which slot, which lap, who waits for whom."""

from __future__ import annotations

from typing import Any

from pipedsl.pipeline.position import RingPosition
from pipedsl.pipeline.stage import ConsumerStage, ProducerStage
from pipedsl.target import gpu


class ProducerConsumerPipeline:
    """A ring of slots between producer waves and consumer waves of a workgroup.

    It knows no hardware: a `PipelineBackend` raises and awaits the signals. A pipeline is made in
    the kernel, by every wave; where a wave is in the ring is state of its own, in registers, and
    advances in place. Producers start at slot 0 of lap 1, consumers at slot 0 of lap 0.

    Parameters
    ----------
    backend : PipelineBackend
    num_stages : int, optional
        Slots of the ring; by default the backend's ``num_stages``.

    Examples
    --------
    ::

        pipe = ProducerConsumerPipeline(AmdCounterBackend(4, producer_arrivals=1))
        pipe.init()
        if gpu.wave_id() == 0:
            for i in range(n):
                with pipe.produce() as stage:
                    slots[stage.index(), gpu.lane_id()] = source[i, gpu.lane_id()]
        else:
            for i in range(n):
                with pipe.consume() as stage:
                    result[i, gpu.lane_id()] = slots[stage.index(), gpu.lane_id()]
    """

    def __init__(self, backend: Any, num_stages: int | None = None) -> None:
        if num_stages is None:
            num_stages = backend.num_stages
        gpu.declare_stages(num_stages)
        self.backend = backend
        self.num_stages = num_stages
        self.producer = RingPosition(num_stages, 1)
        self.consumer = RingPosition(num_stages, 0)

    def smem_bytes(self) -> int:
        """Bytes of LDS that the signals take."""
        elements = self.backend.storage_elems(self.num_stages)
        return elements * gpu.size_of(self.backend.BarrierStorage)

    def init(self) -> None:
        """Initialise the signals with the backend's arrivals; a barrier of the workgroup ends it."""
        self.init_mbars(self.backend.producer_arrivals, self.backend.consumer_arrivals)

    def init_mbars(self, producer_arrive_count: int, consumer_arrive_count: int) -> None:
        """Initialise the signals; all waves call it, and a barrier of the workgroup ends it.

        Parameters
        ----------
        producer_arrive_count, consumer_arrive_count : int
            Arrivals per slot and lap; with `AmdCounterBackend`, the backend's own numbers.
        """
        if gpu.thread_idx.x + gpu.thread_idx.y + gpu.thread_idx.z == 0:
            self.backend.init_barriers(producer_arrive_count, consumer_arrive_count)
        gpu.barrier()

    # Positions

    def producer_stage(self) -> int:
        """The producer's slot, int32."""
        return self.producer.stage()

    def consumer_stage(self) -> int:
        """The consumer's slot, int32."""
        return self.consumer.stage()

    def producer_phase(self) -> int:
        """The producer's lap, from 1, int32."""
        return self.producer.phase()

    def consumer_phase(self) -> int:
        """The consumer's lap, from 0, int32."""
        return self.consumer.phase()

    def producer_step(self) -> None:
        """Go to the producer's next slot."""
        self.producer.step()

    def consumer_step(self) -> None:
        """Go to the consumer's next slot."""
        self.consumer.step()

    # Waiting and signalling

    def wait_producer(self, ticks: int | None = None) -> None:
        """As a consumer: wait until the slot is full.

        `ticks` is the most that hardware may suspend the wave, in nanoseconds, where it can.
        """
        self.backend.wait_full(self.consumer.stage(), self.consumer.phase(), ticks)

    def wait_consumer(self, ticks: int | None = None) -> None:
        """As a producer: wait until the slot is empty; `ticks` as in `wait_producer`."""
        self.backend.wait_empty(self.producer.stage(), self.producer.phase(), ticks)

    def try_wait_producer(self) -> bool:
        """Whether `wait_producer` would return at once."""
        return self.backend.try_full(self.consumer.stage(), self.consumer.phase())

    def try_wait_consumer(self) -> bool:
        """Whether `wait_consumer` would return at once."""
        return self.backend.try_empty(self.producer.stage(), self.producer.phase())

    def wait_producer_if_needed(self, ready: bool) -> None:
        """`wait_producer`, unless `ready`: the answer of an earlier `try_wait_producer`."""
        if not ready:
            self.wait_producer()

    def wait_consumer_if_needed(self, ready: bool) -> None:
        """`wait_consumer`, unless `ready`: the answer of an earlier `try_wait_consumer`."""
        if not ready:
            self.wait_consumer()

    def producer_mbar(self, stage: int) -> Any:
        """The backend's handle of slot `stage`'s full signal."""
        return self.backend.full_handle(stage)

    def consumer_mbar(self, stage: int) -> Any:
        """The backend's handle of slot `stage`'s empty signal."""
        return self.backend.empty_handle(stage)

    def producer_signal_and_step(self) -> None:
        """Wait until the slot is empty, raise its full signal and step on.

        The signal covers no data: fence what the wave wrote before it.
        """
        self.wait_consumer()
        self.backend.arrive_full(self.producer.stage())
        self.producer_step()

    def consumer_signal_and_step(self) -> None:
        """Wait until the slot is full, raise its empty signal and step on."""
        self.wait_producer()
        self.backend.arrive_empty(self.consumer.stage())
        self.consumer_step()

    def tail(self) -> None:
        """As a producer: wait until the consumers have drained all that it produced."""
        for _ in range(self.num_stages):
            self.wait_consumer()
            self.producer_step()

    # Stages

    def produce(self, signal: bool = True, vmcnt: int | None = None) -> ProducerStage:
        """``with pipe.produce() as stage:`` a slot to fill.

        Entering waits until the slot is empty. Leaving waits for the wave's own LDS writes, and for
        copies to LDS where the kernel has issued some; then it signals and steps on.

        Parameters
        ----------
        signal : bool
            False to step only: the producer signals through ``stage.mbar()`` or ``stage.arrive()``.
        vmcnt : int, optional
            How many of the wave's youngest vector memory operations may stay in flight when
            leaving, for a slot that copies to LDS fill; by default the compiler counts (see
            `ProducerStage.commit`).
        """
        return ProducerStage(self, self.producer.stage(), signal, vmcnt, False, True)

    def consume(self) -> ConsumerStage:
        """``with pipe.consume() as stage:`` a slot to drain.

        Entering waits until the slot is full. Leaving waits for the wave's LDS reads, signals and
        steps on.
        """
        return ConsumerStage(self, self.consumer.stage(), True, False, True)

    def consume_explicit(self) -> ConsumerStage:
        """As `consume`, but leaving only steps on: call ``stage.arrive()`` in the block."""
        return ConsumerStage(self, self.consumer.stage(), False, False, True)

    def acquire_producer(
        self, signal: bool = True, vmcnt: int | None = None, ready: bool = False
    ) -> ProducerStage:
        """Wait until the slot is empty; the stage that `commit` or `release` hands over.

        Parameters
        ----------
        signal, vmcnt
            As of `produce`.
        ready : bool
            The answer of an earlier `try_wait_consumer`: true skips the wait.
        """
        self.wait_consumer_if_needed(ready)
        return ProducerStage(self, self.producer.stage(), signal, vmcnt, False, False)

    def acquire_consumer(self, ready: bool = False) -> ConsumerStage:
        """Wait until the slot is full; the stage that `release` hands back."""
        self.wait_producer_if_needed(ready)
        return ConsumerStage(self, self.consumer.stage(), True, False, False)

    def acquire_and_advance(
        self, signal: bool = True, vmcnt: int | None = None, ready: bool = False
    ) -> ProducerStage:
        """As `acquire_producer`, but step on now, so that several stages can be held at once."""
        self.wait_consumer_if_needed(ready)
        slot = self.producer.stage()
        self.producer_step()
        return ProducerStage(self, slot, signal, vmcnt, True, False)

    def wait_and_advance(self, ready: bool = False) -> ConsumerStage:
        """As `acquire_consumer`, but step on now, so that several stages can be held at once."""
        self.wait_producer_if_needed(ready)
        slot = self.consumer.stage()
        self.consumer_step()
        return ConsumerStage(self, slot, True, True, False)
