"""``pipedsl.check``: what is wrong with a launch, without launching it for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipedsl.checker.report import Report
from pipedsl.core.errors import LaunchError
from pipedsl.dispatch.arguments import array_fields
from pipedsl.dispatch.callsite import caller
from pipedsl.dispatch.kernel import Launcher
from pipedsl.runtime import DeviceArray, get_device
from pipedsl.runtime.kernarg import KernargLayout
from pipedsl.sim import Memory, load_assembly
from pipedsl.sim.check import check_kernel


def check(launch: Launcher, /, *args: Any, seeds: int | Sequence[int] = 4, **named: Any) -> Report:
    """Run a launch in the simulator and report missing waits, races, protocol errors, deadlocks.

    The runs are made for the current device's arch, on copies of the arguments: arrays stay as they
    are. What a seed does not meet is not found; more seeds meet more.

    Parameters
    ----------
    launch : Launcher
        ``kernel[grid, block]``.
    *args, **named
        As for the launch.
    seeds : int or sequence of int
        Interleavings to run: how many, or which.

    Returns
    -------
    Report
        True if nothing was found.

    Examples
    --------
    ::

        report = pipedsl.check(stress[1, 128], result, np.int32(64))
        assert report, report
    """
    if not isinstance(launch, Launcher):
        raise LaunchError(
            f"check() takes kernel[grid, block], not {launch!r}.",
            fix="write pipedsl.check(kernel[grid, block], *args).",
            where=caller(),
        )
    chosen = range(seeds) if isinstance(seeds, int) else seeds
    geometry = launch.geometry
    arguments, compiled = launch.compile(args, named, get_device().arch)
    image = compiled.image
    kernel = load_assembly(image.asm).kernels[image.name]
    layout = KernargLayout(kernel.metadata, image)
    arrays = [_on_host(argument) for argument in arguments]

    def prepare() -> tuple[Memory, bytes]:
        memory, values = Memory(), []
        for parameter, array, argument in zip(image.parameters, arrays, arguments, strict=True):
            if array is None:
                values.append(argument)
                continue
            copy = np.array(array, order="C")
            address = memory.map(copy, parameter.name)
            values += array_fields(parameter)(address, copy.shape, copy.strides)
        kernarg = bytearray(layout.size)
        layout.pack_into(kernarg, values, geometry.grid, geometry.block, geometry.lds_bytes)
        return memory, bytes(kernarg)

    return check_kernel(
        kernel, geometry.grid, geometry.block, prepare, list(chosen), lds_bytes=geometry.lds_bytes,
        sources=image.sources,
    )  # fmt: skip


def _on_host(argument: Any) -> np.ndarray | None:
    if isinstance(argument, DeviceArray):
        return argument.copy_to_host()
    return argument if isinstance(argument, np.ndarray) else None
