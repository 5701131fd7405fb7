"""A launch for the simulator alone: on copies of its arguments, in memory of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pipedsl.core import stamps, timeouts
from pipedsl.core.image import KernelImage
from pipedsl.dispatch.arguments import array_fields
from pipedsl.dispatch.geometry import Geometry
from pipedsl.runtime import DeviceArray
from pipedsl.runtime.kernarg import KernargLayout
from pipedsl.sim import Kernel, Memory, load_assembly

_load = lru_cache(maxsize=16)(load_assembly)


class Rehearsal:
    """A compiled kernel with the arguments of one launch; arrays stay as they are.

    Parameters
    ----------
    image : KernelImage
    geometry : Geometry
    arguments : sequence
        One per parameter.

    Attributes
    ----------
    kernel : sim.Kernel
    """

    def __init__(self, image: KernelImage, geometry: Geometry, arguments: Sequence[Any]) -> None:
        self.image = image
        self.geometry = geometry
        self.kernel: Kernel = _load(image.asm).kernels[image.name]
        waves = -(-math.prod(geometry.block) // self.kernel.metadata.wave_size)
        self._hidden = {
            timeouts.PARAMETER: timeouts.BYTES,
            stamps.PARAMETER: 8 * stamps.WORDS * stamps.regions(waves),
        }
        self._layout = KernargLayout(self.kernel.metadata, image)
        self._arguments = [_on_host(argument) for argument in arguments]

    def prepare(self) -> tuple[Memory, bytes]:
        """Memory with fresh copies of the arrays, and the kernarg segment that points to them."""
        memory, values = Memory(), []
        arguments = iter(self._arguments)
        for parameter in self.image.parameters:
            if parameter.kind == "hidden":
                values.append(memory.allocate(self._hidden[parameter.name], parameter.name, 8))
                continue
            argument = next(arguments)
            if parameter.kind != "array":
                values.append(argument)
                continue
            copy = np.array(argument, order="C")
            address = memory.map(copy, parameter.name)
            values += array_fields(parameter)(address, copy.shape, copy.strides)
        kernarg = bytearray(self._layout.size)
        geometry = self.geometry
        self._layout.pack_into(kernarg, values, geometry.grid, geometry.block, geometry.lds_bytes)
        return memory, bytes(kernarg)


def _on_host(argument: Any) -> Any:
    return argument.copy_to_host() if isinstance(argument, DeviceArray) else argument
