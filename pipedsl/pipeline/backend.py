"""What a synchronisation mechanism has to offer."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class PipelineBackend(Protocol):
    """How the waves of a workgroup raise and await the signals of a ring of slots.

    Each of `num_stages` slots has two signals: *full*, raised by producers when the slot holds
    fresh data, and *empty*, raised by consumers when it was drained. Any class with these members
    is a backend; a kernel constructs it like any object, and its methods are compiled as device
    functions. An object lives in registers: its fields are set once, in ``__init__``.

    Attributes
    ----------
    BarrierStorage : type
        NumPy scalar type of one signal in LDS.
    Handle : type
        What `full_handle` and `empty_handle` return.

    Notes
    -----
    An object with fields ``num_stages``, ``producer_arrivals`` and ``consumer_arrivals`` tells them
    to its pipeline; without them, use ``ProducerConsumerPipeline(backend, num_stages)`` and
    ``init_mbars``. `phase` is the lap around the ring, which only grows: 1, 2 ... for producers,
    0, 1 ... for consumers. `ticks` is the most that hardware may suspend the wave, in nanoseconds,
    where it can; else it is ignored.

    Ordering the data before its signal is the caller's duty (`gpu.fence_lds`): a backend does not
    know how the data was written.
    """

    BarrierStorage: Any
    Handle: Any

    @staticmethod
    def storage_elems(num_stages: int) -> int:
        """Elements of `BarrierStorage` to reserve in LDS."""
        ...

    def init_barriers(self, producer_arrive_count: int, consumer_arrive_count: int) -> None:
        """Initialise every signal; one thread does it, and a barrier publishes it."""
        ...

    def wait_full(self, stage: int, phase: int, ticks: int | None = None) -> None:
        """Wait until slot `stage` was filled in lap `phase`."""
        ...

    def wait_empty(self, stage: int, phase: int, ticks: int | None = None) -> None:
        """Wait until slot `stage` was drained before lap `phase`; producers start at phase 1."""
        ...

    def try_full(self, stage: int, phase: int) -> bool:
        """Whether `wait_full` would return at once."""
        ...

    def try_empty(self, stage: int, phase: int) -> bool:
        """Whether `wait_empty` would return at once."""
        ...

    def arrive_full(self, stage: int) -> None:
        """Signal that slot `stage` holds fresh data; counts once per wave."""
        ...

    def arrive_empty(self, stage: int) -> None:
        """Signal that slot `stage` was drained; counts once per wave."""
        ...

    def full_handle(self, stage: int) -> Any:
        """The full signal of slot `stage`."""
        ...

    def empty_handle(self, stage: int) -> Any:
        """The empty signal of slot `stage`."""
        ...
