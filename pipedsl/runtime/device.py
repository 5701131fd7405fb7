"""What every device does: memory, copies, code, streams, events."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pipedsl.core.arch import Arch
from pipedsl.core.errors import LaunchError
from pipedsl.core.image import KernelImage
from pipedsl.isa.metadata import KernelMetadata

Dim3 = tuple[int, int, int]


class Device(Protocol):
    """One GPU, or one simulated GPU. Addresses are integers in the device's own space.

    Attributes
    ----------
    name : str
        The spec that selects the device (``"hip:0"``, ``"sim:gfx942"``).
    description : str
        For people: the product's name, or what the simulator is.
    arch : Arch
    dlpack_device : (int, int)
        DLPack's type and number of the device that its memory belongs to.
    """

    dlpack_device: tuple[int, int]
    name: str
    description: str
    arch: Arch

    def allocate(self, nbytes: int, name: str = "", itemsize: int = 1) -> int:
        """Address of `nbytes` (0 allowed) of uninitialised memory.

        Diagnoses call it `name` and count its elements of `itemsize` bytes.
        """

    def free(self, address: int) -> None:
        """Give back what `allocate` returned; waits for work that may use it."""

    def copy_to_device(
        self, address: int, source: np.ndarray, stream: int = 0, wait: bool = True
    ) -> None:
        """Copy the C-contiguous `source` to `address`, in `stream` order; wait for it, or not."""

    def copy_to_host(
        self, target: np.ndarray, address: int, stream: int = 0, wait: bool = True
    ) -> None:
        """Fill the C-contiguous `target` from `address`, in `stream` order; wait for it, or not."""

    def host_array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A NumPy array in memory that copies reach without a stop-over."""

    def host_address(self, address: int, nbytes: int) -> int:
        """What other libraries call `address`."""

    def load(self, image: KernelImage) -> Executable:
        """Make `image` ready to launch; an image that was loaded before is reused."""

    def launch(
        self,
        image: KernelImage,
        grid: Dim3,
        block: Dim3,
        values: tuple[Any, ...],
        stream: int = 0,
        lds_bytes: int = 0,
    ) -> None:
        """Load and launch `image`; see `Executable.launch`."""

    def stream(self) -> Stream:
        """A new queue whose work runs in order."""

    def event(self) -> Event:
        """A new marker to put into a queue."""

    def synchronize(self, stream: int | None = None) -> None:
        """Wait for the work of `stream`, or of the device; errors of that work are raised here."""


class Executable(Protocol):
    """A kernel that is loaded on one device."""

    metadata: KernelMetadata

    def launch(
        self, grid: Dim3, block: Dim3, values: Any, stream: int = 0, lds_bytes: int = 0
    ) -> None:
        """Start `grid` workgroups of `block` work-items.

        Parameters
        ----------
        grid, block : tuple of three int
        values : sequence
            One number per explicit kernel argument of the metadata, in order.
        stream : int
            A stream's `ptr`; 0 is the default stream.
        lds_bytes : int
            Dynamic LDS beyond what the code declares.
        """


class Stream(Protocol):
    """A queue of one device; `ptr` is the native handle, 0 for the default queue."""

    ptr: int

    def synchronize(self) -> None:
        """Wait for the work that the queue holds."""


class Event(Protocol):
    """A marker in a queue."""

    def record(self, stream: Any = None) -> None:
        """Put the marker after the work that `stream` holds now."""

    def synchronize(self) -> None:
        """Wait until the marker is reached."""

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds from this marker to `end`; both must have been recorded."""


def stream_pointer(stream: Any) -> int:
    """Native handle of `stream`.

    Accepts None (default stream), an int, and objects of other libraries: with ``ptr`` (CuPy),
    ``cuda_stream`` (PyTorch), ``__cuda_stream__()`` (cuda.core) or ``__int__`` (hip-python).
    """
    if stream is None:
        return 0
    handle: Any = stream
    if hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    else:
        for attribute in ("ptr", "cuda_stream"):
            if hasattr(stream, attribute):
                handle = getattr(stream, attribute)
                break
    if isinstance(handle, (bool, float, str)) or not hasattr(handle, "__int__") or int(handle) < 0:
        raise LaunchError(
            f"{stream!r} is not a stream.",
            fix="pass pipedsl.stream(), a stream of another library, its address, or 0.",
        )
    return int(handle)
