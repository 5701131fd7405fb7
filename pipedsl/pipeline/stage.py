"""One slot in the hands of a wave, from its acquisition to its release.

A stage is linear: once acquired it is released exactly once on every path, which the compiler
checks. In a ``with`` block, entering acquires and leaving releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipedsl.target import gpu
from pipedsl.target.acquisitions import Linear


class ProducerStage(Linear):
    """A slot that this wave fills.

    `ProducerConsumerPipeline` makes it: see ``produce``, ``acquire_producer`` and
    ``acquire_and_advance``.

    Parameters
    ----------
    pipeline : ProducerConsumerPipeline
    slot : int
    signals : bool
        Whether `release` raises the full signal.
    vmcnt : int or None
        As of `commit`, where that is given none.
    advanced : bool
        Whether the pipeline has stepped on already.
    scoped : bool
        Whether a ``with`` block acquires and releases it.
    """

    RELEASES = frozenset(("__exit__", "commit", "release", "release_without_signal"))
    FENCES = frozenset(("__exit__", "arrive", "commit", "release"))
    SIGNALS = frozenset(("arrive", "commit"))
    MAY_SIGNAL = frozenset(("__exit__", "release"))

    def __init__(
        self,
        pipeline: Any,
        slot: int,
        signals: bool,
        vmcnt: int | None,
        advanced: bool,
        scoped: bool,
    ) -> None:
        self.pipeline = pipeline
        self.slot = slot
        self.signals = signals
        self.vmcnt = vmcnt
        self.advanced = advanced
        self.scoped = scoped

    if TYPE_CHECKING:  # as Python sees `with`; kernels call both without an exception

        def __enter__(self) -> ProducerStage: ...
        def __exit__(self, *error: object) -> None: ...

    else:

        def __enter__(self) -> None:
            self.pipeline.wait_consumer()

        def __exit__(self, vmcnt: int | None = None) -> None:  # noqa: PLE0302
            self.release(vmcnt)

    def index(self) -> int:
        """The slot: 0 up to ``num_stages - 1``, int32."""
        return self.slot

    def mbar(self) -> Any:
        """The backend's handle of the full signal, for a producer that raises it itself."""
        return self.pipeline.producer_mbar(self.slot)

    def arrive(self, vmcnt: int | None = None) -> None:
        """Fence the data and raise the full signal; the stage stays acquired."""
        if vmcnt is None:
            gpu.fence_lds(self.vmcnt)
        else:
            gpu.fence_lds(vmcnt)
        self.pipeline.backend.arrive_full(self.slot)

    def commit(self, vmcnt: int | None = None) -> None:
        """Fence the data, raise the full signal and step on.

        Parameters
        ----------
        vmcnt : int, optional
            How many of the wave's youngest vector memory operations may stay in flight: those that
            were issued after the slot's own copies to LDS. By default the number given at the
            stage's acquisition, and without that, the copies that the compiler knows to be younger:
            those whose operands come from another stage alone.
        """
        self.arrive(vmcnt)
        self.release_without_signal()

    def release(self, vmcnt: int | None = None) -> None:
        """What leaving the ``with`` block does: `commit`, or without ``signal`` only a step."""
        if self.signals:
            self.commit(vmcnt)
        else:
            self.release_without_signal()

    def release_without_signal(self) -> None:
        """Step on; whoever knows when the data is there raises the signal."""
        if not self.advanced:
            self.pipeline.producer_step()


class ConsumerStage(Linear):
    """A slot that this wave drains.

    `ProducerConsumerPipeline` makes it: see ``consume``, ``consume_explicit``,
    ``acquire_consumer`` and ``wait_and_advance``.

    Parameters
    ----------
    pipeline : ProducerConsumerPipeline
    slot : int
    signals : bool
        Whether `release` raises the empty signal.
    advanced, scoped : bool
        As of `ProducerStage`.
    """

    RELEASES = frozenset(("__exit__", "release", "release_without_signal"))
    SIGNALS = frozenset(("arrive",))
    MAY_SIGNAL = frozenset(("__exit__", "release"))

    def __init__(
        self, pipeline: Any, slot: int, signals: bool, advanced: bool, scoped: bool
    ) -> None:
        self.pipeline = pipeline
        self.slot = slot
        self.signals = signals
        self.advanced = advanced
        self.scoped = scoped

    if TYPE_CHECKING:  # as Python sees `with`; kernels call both without an exception

        def __enter__(self) -> ConsumerStage: ...
        def __exit__(self, *error: object) -> None: ...

    else:

        def __enter__(self) -> None:
            self.pipeline.wait_producer()

        def __exit__(self) -> None:  # noqa: PLE0302
            self.release()

    def index(self) -> int:
        """The slot: 0 up to ``num_stages - 1``, int32."""
        return self.slot

    def mbar(self) -> Any:
        """The backend's handle of the empty signal, for a consumer that raises it itself."""
        return self.pipeline.consumer_mbar(self.slot)

    def arrive(self) -> None:
        """Wait until the slot is read and raise the empty signal; the stage stays acquired."""
        gpu.fence_lds()
        self.pipeline.backend.arrive_empty(self.slot)

    def release(self) -> None:
        """What leaving the ``with`` block does: `arrive`, unless it is explicit, and a step."""
        if self.signals:
            self.arrive()
        self.release_without_signal()

    def release_without_signal(self) -> None:
        """Step on; the empty signal is raised elsewhere."""
        if not self.advanced:
            self.pipeline.consumer_step()
