"""AMD GPUs through hip-python."""

from __future__ import annotations

import ctypes
import math
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipedsl.codegen.hsaco import assemble
from pipedsl.core.arch import Arch, get_arch
from pipedsl.core.errors import DeviceError, HipError, TargetError
from pipedsl.core.html import Shown
from pipedsl.core.image import KernelImage
from pipedsl.isa.metadata import read_metadata
from pipedsl.runtime import dlpack
from pipedsl.runtime.device import Dim3, stream_pointer
from pipedsl.runtime.hip_api import binding, call, failure
from pipedsl.runtime.kernarg import KernargLayout


class HipDevice(Shown):
    """One AMD GPU.

    Parameters
    ----------
    ordinal : int
        HIP's number of the GPU.
    arch : Arch
    description : str
        The product's name.
    alone : bool
        Whether the process sees only this GPU, so that it is always HIP's current device.
    """

    def __init__(self, ordinal: int, arch: Arch, description: str, alone: bool) -> None:
        self.ordinal = ordinal
        self.dlpack_device = (dlpack.ROCM, ordinal)
        self.arch = arch
        self.name = f"hip:{ordinal}"
        self.description = description
        self._alone = alone
        self._loaded: dict[str, HipKernel] = {}

    def activate(self) -> None:
        """Make this GPU the calling thread's current one, as HIP's calls expect."""
        if not self._alone:
            call("hipSetDevice", self.ordinal)

    def allocate(self, nbytes: int, name: str = "", itemsize: int = 1) -> int:
        self.activate()
        return int(call("hipMalloc", max(nbytes, 1)))

    def free(self, address: int) -> None:
        self.activate()
        call("hipFree", address)

    def host_array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        nbytes = max(math.prod(shape) * dtype.itemsize, 1)
        self.activate()
        address = int(call("hipHostMalloc", nbytes, 0))
        buffer = (ctypes.c_uint8 * nbytes).from_address(address)
        weakref.finalize(buffer, call, "hipHostFree", address).atexit = False
        return np.frombuffer(memoryview(buffer), dtype, math.prod(shape)).reshape(shape)

    def host_address(self, address: int, nbytes: int) -> int:
        return address

    def copy_to_device(
        self, address: int, source: np.ndarray, stream: int = 0, wait: bool = True
    ) -> None:
        kind = binding().hipMemcpyKind.hipMemcpyHostToDevice
        self._copy(address, source.ctypes.data, source.nbytes, kind, stream, wait)

    def copy_to_host(
        self, target: np.ndarray, address: int, stream: int = 0, wait: bool = True
    ) -> None:
        kind = binding().hipMemcpyKind.hipMemcpyDeviceToHost
        self._copy(target.ctypes.data, address, target.nbytes, kind, stream, wait)

    def _copy(
        self, target: int, source: int, nbytes: int, kind: Any, stream: int, wait: bool
    ) -> None:  # fmt: skip
        if not nbytes:
            return
        self.activate()
        call("hipMemcpyAsync", target, source, nbytes, kind, stream)
        if wait:  # the host array may be changed or dropped as soon as this returns
            call("hipStreamSynchronize", stream)

    def load(self, image: KernelImage) -> HipKernel:
        if image.arch != self.arch.name:
            raise DeviceError(f"kernel {image.name!r} is for {image.arch}, not {self.arch.name}.")
        key = image.key
        if key not in self._loaded:
            self._loaded[key] = HipKernel(self, image)
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

    def stream(self) -> HipStream:
        return HipStream(self)

    def event(self) -> HipEvent:
        return HipEvent(self)

    def synchronize(self, stream: int | None = None) -> None:
        self.activate()
        if stream is None:
            call("hipDeviceSynchronize")
        else:
            call("hipStreamSynchronize", stream)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.description}, {self.arch.name}>"


class HipKernel:
    """A kernel in a loaded code object, with its argument buffer laid out in advance."""

    def __init__(self, device: HipDevice, image: KernelImage) -> None:
        self.metadata = read_metadata(image.asm)[image.name]
        self._layout = KernargLayout(self.metadata, image)
        self._activate = device.activate
        device.activate()
        self._code = assemble(image.asm, image.arch)
        self._module = call("hipModuleLoadData", self._code)
        self._function = call("hipModuleGetFunction", self._module, image.name.encode())
        self._launch = binding().hipModuleLaunchKernel
        self._success = binding().hipError_t.hipSuccess
        self._lock = threading.Lock()
        self._buffer = (ctypes.c_char * max(self._layout.size, 1))()
        self._size = ctypes.c_size_t(self._layout.size)
        # HIP_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END. HIP copies the buffer in the call.
        self._extra = (ctypes.c_void_p * 5)(
            1, ctypes.addressof(self._buffer), 2, ctypes.addressof(self._size), 3
        )
        self._extra_address = ctypes.addressof(self._extra)

    def launch(
        self, grid: Dim3, block: Dim3, values: Any, stream: int = 0, lds_bytes: int = 0
    ) -> None:
        with self._lock:
            self._activate()
            self._layout.pack_into(self._buffer, values, grid, block, lds_bytes)
            status = self._launch(
                self._function, *grid, *block, lds_bytes, stream, None, self._extra_address
            )[0]
        if status is not self._success:
            raise failure("hipModuleLaunchKernel", status)


class HipStream(Shown):
    """A queue of one GPU; destroyed with the object."""

    def __init__(self, device: HipDevice) -> None:
        device.activate()
        self.ptr = int(call("hipStreamCreate"))
        weakref.finalize(self, call, "hipStreamDestroy", self.ptr).atexit = False

    def synchronize(self) -> None:
        call("hipStreamSynchronize", self.ptr)

    def __repr__(self) -> str:
        return f"<HIP stream at {self.ptr:#x}>"


class HipEvent(Shown):
    """A marker in a queue of one GPU, with a time stamp."""

    def __init__(self, device: HipDevice) -> None:
        device.activate()
        self._activate = device.activate
        self._handle = int(call("hipEventCreate"))
        weakref.finalize(self, call, "hipEventDestroy", self._handle).atexit = False

    def record(self, stream: Any = None) -> None:
        self._activate()
        call("hipEventRecord", self._handle, stream_pointer(stream))

    def synchronize(self) -> None:
        call("hipEventSynchronize", self._handle)

    def elapsed_time(self, end: HipEvent) -> float:
        return float(call("hipEventElapsedTime", self._handle, end._handle))

    def __repr__(self) -> str:
        return f"<HIP event at {self._handle:#x}>"


@dataclass(frozen=True)
class Gpu:
    """A GPU that HIP lists.

    Attributes
    ----------
    ordinal : int
    description : str
        Product name and processor.
    device : HipDevice or None
        None if pipedsl cannot use the GPU.
    reason : str or None
        Why not.
    """

    ordinal: int
    description: str
    device: HipDevice | None
    reason: str | None


def find_gpus() -> tuple[list[Gpu], str | None]:
    """The GPUs that HIP lists, and why there are none if the list is empty."""
    try:
        if not binding().has_symbol("hipInit"):
            return [], "the HIP library (libamdhip64.so) was not found"
        count = call("hipGetDeviceCount")
        return [_inspect(i, count) for i in range(count)], None if count else "HIP lists no GPU"
    except ImportError as error:
        return [], f"hip-python cannot be imported: {error}"
    except HipError as error:
        return [], error.message.rstrip(".")


def _inspect(ordinal: int, count: int) -> Gpu:
    properties = call("hipGetDeviceProperties", ordinal)
    product, target = _text(properties.name), _text(properties.gcnArchName)
    description = f"{product or 'AMD GPU'} ({target})"
    try:
        arch = get_arch(target)
    except TargetError as error:
        return Gpu(ordinal, description, None, error.message.rstrip("."))
    return Gpu(ordinal, description, HipDevice(ordinal, arch, description, count == 1), None)


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
