"""Which waves of a workgroup do what."""

from __future__ import annotations

from typing import Any

from pipedsl.pipeline.counter import AmdCounterBackend
from pipedsl.pipeline.pipeline import ProducerConsumerPipeline
from pipedsl.target import gpu


class Role:
    """Consecutive waves of a workgroup with one job.

    Attributes
    ----------
    first, waves : int
        The first wave, and how many there are; compile-time constants.
    """

    def __init__(self, first: int, waves: int) -> None:
        self.first = first
        self.waves = waves

    def mine(self) -> bool:
        """Whether this wave has the role; the same in all lanes."""
        wave = gpu.wave_id()
        return wave >= self.first and wave < self.first + self.waves

    def wave(self) -> int:
        """This wave's position among those of the role, int32."""
        return gpu.wave_id() - self.first

    def thread(self) -> int:
        """This thread's position among those of the role, int32."""
        return self.wave() * gpu.wave_size() + gpu.lane_id()

    def threads(self) -> int:
        """Threads of the role."""
        return self.waves * gpu.wave_size()

    def part(self, first: int, waves: int) -> Role:
        """`waves` of the role's waves from its wave `first` on, as a role of their own."""
        gpu.static_check(
            first + waves <= self.waves,
            "waves {} to {} of a role with {} waves do not exist.",
            "give the role more waves.",
            first,
            first + waves - 1,
            self.waves,
        )
        return Role(self.first + first, waves)


class Roles:
    """A workgroup split into producer waves and consumer waves, in this order.

    The pipelines it makes count as many arrivals as there are waves, so that the numbers cannot
    disagree.

    Parameters
    ----------
    producers, consumers : int
        Waves; compile-time constants. Their sum must be the waves of the block.

    Examples
    --------
    ::

        roles = Roles(producers=1, consumers=3)
        pipe = roles.pipeline(num_stages=4)
        if roles.producer.mine():
            ...
        else:
            ...
    """

    def __init__(self, producers: int, consumers: int) -> None:
        waves = producers + consumers
        threads = gpu.block_dim.x * gpu.block_dim.y * gpu.block_dim.z
        gpu.static_check(
            threads == waves * gpu.wave_size(),
            "{} producer and {} consumer waves take a block of {} threads, not {}.",
            "launch with gpu.wave_size() threads per wave.",
            producers,
            consumers,
            waves * gpu.wave_size(),
            threads,
        )
        gpu.declare_roles(producers, consumers)
        self.producer = Role(0, producers)
        self.consumer = Role(producers, consumers)

    def pipeline(
        self, num_stages: int, backend: Any = AmdCounterBackend
    ) -> ProducerConsumerPipeline:
        """A pipeline from all producers to all consumers; call its ``init()``.

        Parameters
        ----------
        num_stages : int
        backend : type
            A `PipelineBackend` class, constructed with the numbers of stages, producer arrivals
            and consumer arrivals.
        """
        return ProducerConsumerPipeline(
            backend(num_stages, self.producer.waves, self.consumer.waves)
        )
