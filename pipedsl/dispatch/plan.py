"""The launch path of one kernel for one device, signature, block and dynamic LDS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pipedsl.core import stamps
from pipedsl.core.errors import LaunchError
from pipedsl.core.image import KernelImage
from pipedsl.dispatch.arguments import HostArrays, array_fields
from pipedsl.dispatch.geometry import Geometry
from pipedsl.dispatch.stamps import StampBuffer
from pipedsl.dispatch.timeouts import TimeoutBuffer
from pipedsl.runtime import Device, DeviceArray, Executable


class LaunchPlan:
    """Everything about a launch that does not change from call to call, checked once.

    Parameters
    ----------
    device : Device
    image : KernelImage
    geometry : Geometry
        Its block and dynamic LDS hold for every launch of the plan.

    Raises
    ------
    LaunchError
        If the LDS of the code and of the launch is more than the arch has.
    """

    def __init__(self, device: Device, image: KernelImage, geometry: Geometry) -> None:
        self.device = device
        self._executable: Executable = device.load(image)
        self._parameters = [
            (parameter, array_fields(parameter) if parameter.kind == "array" else None)
            for parameter in image.parameters
            if parameter.kind != "hidden"
        ]
        self._check(geometry)
        self._buffers = [
            _hidden_buffer(parameter.name, device, image, geometry)
            for parameter in image.parameters
            if parameter.kind == "hidden"
        ]

    def _check(self, geometry: Geometry) -> None:
        metadata, arch = self._executable.metadata, self.device.arch
        total = metadata.lds_bytes + geometry.lds_bytes
        if total > arch.lds_bytes:
            raise LaunchError(
                f"{metadata.lds_bytes} bytes of LDS in the kernel and {geometry.lds_bytes} at "
                f"launch are over the {arch.lds_bytes} of {arch.name}.",
                fix=f"launch with at most {arch.lds_bytes - metadata.lds_bytes} bytes.",
            )

    def launch(self, geometry: Geometry, args: Sequence[Any]) -> None:
        """Launch; with NumPy arrays, also wait and copy the written ones back."""
        values: list[Any] = []
        for (parameter, fields), arg in zip(self._parameters, args, strict=True):
            if fields is None:
                values.append(arg)
            elif type(arg) is DeviceArray:
                values += fields(self._address(parameter.name, arg), arg.shape, arg.strides)
            else:
                return self._launch_copied(geometry, args)
        return self._start(geometry, values)

    def _launch_copied(self, geometry: Geometry, args: Sequence[Any]) -> None:
        copies = HostArrays(self.device, geometry.stream)
        values: list[Any] = []
        try:
            for (parameter, fields), arg in zip(self._parameters, args, strict=True):
                if fields is None:
                    values.append(arg)
                elif isinstance(arg, np.ndarray):
                    copy = copies.place(parameter, arg)
                    values += fields(copy.address, copy.dense.shape, copy.dense.strides)
                else:
                    values += fields(self._address(parameter.name, arg), arg.shape, arg.strides)
            self._start(geometry, values)
            copies.copy_back()
        finally:
            copies.release()

    def _start(self, geometry: Geometry, values: Sequence[Any]) -> None:
        if self._buffers:
            values = [*values, *(buffer.address for buffer in self._buffers)]
        for buffer in self._buffers:
            buffer.clear(geometry.stream)
        self._executable.launch(
            geometry.grid, geometry.block, values, geometry.stream, geometry.lds_bytes
        )
        for buffer in self._buffers:
            buffer.check(geometry.stream)

    def _address(self, name: str, array: DeviceArray) -> int:
        if array.device is not self.device:
            raise LaunchError(
                f"{name!r} is an array on {array.device.name}; the launch is on "
                f"{self.device.name}.",
                fix=f'launch inside use_device("{array.device.name}"), or copy the array.',
            )
        return array.address


def _hidden_buffer(
    name: str, device: Device, image: KernelImage, geometry: Geometry
) -> TimeoutBuffer | StampBuffer:
    """The buffer that the hidden parameter `name` points to."""
    if name == stamps.PARAMETER:
        return StampBuffer(device, image, math.prod(geometry.block))
    return TimeoutBuffer(device, image)
