"""The simulator as a device."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from pipedsl.core.arch import Arch
from pipedsl.core.config import config
from pipedsl.core.errors import DeviceError
from pipedsl.core.findings import CheckWarning, Finding
from pipedsl.core.html import Shown
from pipedsl.core.image import KernelImage
from pipedsl.runtime import dlpack
from pipedsl.runtime.device import Dim3
from pipedsl.runtime.kernarg import KernargLayout
from pipedsl.sim import Memory, load_assembly
from pipedsl.sim.timing.result import TimedRun

_timed: ContextVar[tuple[list[TimedRun], bool] | None] = ContextVar("timed", default=None)


@contextmanager
def timed_launches(*, rest: bool = True) -> Iterator[list[TimedRun]]:
    """Launches on simulated devices in this context run in timing mode; yields their times, in order.

    Every workgroup runs, so that results are those of any other launch, unless `rest` is False: then
    only those run that are modelled.
    """
    runs: list[TimedRun] = []
    token = _timed.set((runs, rest))
    try:
        yield runs
    finally:
        _timed.reset(token)


class SimulatedDevice(Shown):
    """A device that runs the image's assembly on the CPU; every call is finished on return.

    Parameters
    ----------
    arch : Arch
    """

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        self.dlpack_device = (dlpack.CPU, 0)
        self.name = f"sim:{arch.name}"
        self.description = f"simulator of {arch.name}"
        self.memory = Memory()
        self._loaded: dict[str, SimulatedKernel] = {}

    def allocate(self, nbytes: int, name: str = "", itemsize: int = 1) -> int:
        return self.memory.allocate(nbytes, name, itemsize)

    def free(self, address: int) -> None:
        self.memory.free(address)

    def host_array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return np.zeros(shape, dtype)

    def host_address(self, address: int, nbytes: int) -> int:
        return int(self.memory.view(address, nbytes).ctypes.data) if nbytes else 0

    def copy_to_device(
        self, address: int, source: np.ndarray, stream: int = 0, wait: bool = True
    ) -> None:
        if source.nbytes:
            self.memory.view(address, source.nbytes)[:] = _bytes(source)

    def copy_to_host(
        self, target: np.ndarray, address: int, stream: int = 0, wait: bool = True
    ) -> None:
        if target.nbytes:
            _bytes(target)[:] = self.memory.view(address, target.nbytes)

    def load(self, image: KernelImage) -> SimulatedKernel:
        if image.arch != self.arch.name:
            raise DeviceError(f"kernel {image.name!r} is for {image.arch}, not {self.arch.name}.")
        key = image.key
        if key not in self._loaded:
            self._loaded[key] = SimulatedKernel(self, image)
        return self._loaded[key]

    def launch(
        self,
        image: KernelImage,
        grid: Dim3,
        block: Dim3,
        values: tuple[Any, ...],
        stream: int = 0,
        lds_bytes: int = 0,
    ) -> None:
        self.load(image).launch(grid, block, values, stream, lds_bytes)

    def stream(self) -> SimulatedStream:
        return SimulatedStream()

    def event(self) -> SimulatedEvent:
        return SimulatedEvent()

    def synchronize(self, stream: int | None = None) -> None:
        """Return at once: nothing is ever pending."""

    def __repr__(self) -> str:
        return f"<{self.description}>"


class SimulatedKernel:
    """A kernel that the simulator has read."""

    def __init__(self, device: SimulatedDevice, image: KernelImage) -> None:
        self._kernel = load_assembly(image.asm).kernels[image.name]
        self.metadata = self._kernel.metadata
        self._layout = KernargLayout(self.metadata, image)
        self._memory = device.memory
        self._sources = image.sources
        self._looked = False

    def launch(
        self, grid: Dim3, block: Dim3, values: Any, stream: int = 0, lds_bytes: int = 0
    ) -> None:
        kernarg = bytearray(self._layout.size)
        self._layout.pack_into(kernarg, values, grid, block, lds_bytes)
        timed = _timed.get()
        found = () if timed is not None else self._look(grid, block, bytes(kernarg), lds_bytes)
        if timed is None and config.check:
            stats = self._kernel.run_observed(
                self._memory, grid, block, bytes(kernarg), lds_bytes=lds_bytes,
                sources=self._sources,
            )  # fmt: skip
        else:
            stats = self._kernel.run(
                self._memory, grid, block, bytes(kernarg), lds_bytes=lds_bytes,
                sources=self._sources, check=False, timing=timed is not None,
                rest=timed is None or timed[1],
            )  # fmt: skip
        if timed is not None and stats.timed is not None:
            timed[0].append(stats.timed)
        for finding in {f.identity: f for f in (*stats.findings, *found)}.values():
            warnings.warn(CheckWarning(finding), stacklevel=2)

    def _look(
        self, grid: Dim3, block: Dim3, kernarg: bytes, lds_bytes: int
    ) -> tuple[Finding, ...]:  # fmt: skip
        """What the checker sees at the start of the kernel's first launch."""
        if self._looked or config.check or not config.check_first:
            return ()
        self._looked = True
        return self._kernel.look(
            self._memory, grid, block, kernarg, lds_bytes=lds_bytes, sources=self._sources
        )


class SimulatedStream(Shown):
    """A queue that is always empty: simulated work is done when the call returns."""

    ptr = 0

    def synchronize(self) -> None:
        """Return at once."""

    def __repr__(self) -> str:
        return "<stream of the simulator>"


class SimulatedEvent(Shown):
    """A time on the host's clock: elapsed times are what the simulation took, not a GPU's."""

    def __init__(self) -> None:
        self._seconds: float | None = None

    def record(self, stream: Any = None) -> None:
        self._seconds = time.perf_counter()

    def synchronize(self) -> None:
        """Return at once."""

    def elapsed_time(self, end: SimulatedEvent) -> float:
        if self._seconds is None or end._seconds is None:
            raise DeviceError("an event was not recorded.", fix="call record() on both events.")
        return (end._seconds - self._seconds) * 1e3

    def __repr__(self) -> str:
        return f"<event of the simulator{', not recorded' * (self._seconds is None)}>"


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)
