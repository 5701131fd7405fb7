"""``do_bench``: how long a function takes on the current device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipedsl.core.errors import LaunchError
from pipedsl.core.html import Shown
from pipedsl.dispatch.callsite import caller
from pipedsl.runtime import Device, get_device
from pipedsl.runtime.simulated import SimulatedDevice, timed_launches

_CLOCKS = ("device", "host")


@dataclass(frozen=True)
class Measurement(Shown):
    """Repeated times of one function.

    Attributes
    ----------
    samples : tuple of float
        In the order they were taken; one for modelled cycles, which do not vary.
    unit : str
        ``"ms"``, or ``"modelled cycles"``, which are no GPU's time.
    quantiles : tuple of float
        Those that were asked for, in `unit`.
    """

    samples: tuple[float, ...]
    unit: str
    quantiles: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """In `unit`."""
        return float(np.median(self.samples))

    def __float__(self) -> float:
        return self.median

    def __str__(self) -> str:
        spread = f", {min(self.samples):.6g} to {max(self.samples):.6g}" * (len(self.samples) > 1)
        return f"{self.median:.6g} {self.unit} ({len(self.samples)} samples{spread})"

    def __repr__(self) -> str:
        return f"<Measurement {self}>"


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    quantiles: Sequence[float] | None = None,
    *,
    clock: str = "device",
    whole: bool = True,
) -> Measurement:
    """Time `fn`, which launches kernels on the current device.

    On a GPU, HIP events are recorded around every call; caches stay as the call before left them.
    On the simulator the timing model counts cycles, once, for they do not vary: they are no GPU's
    time.

    Parameters
    ----------
    fn : callable
        Without arguments.
    warmup, rep : float
        Milliseconds of calls that are not counted, and of calls that are.
    quantiles : sequence of float, optional
        Between 0 and 1, to report beside the median.
    clock : {"device", "host"}
        ``"host"`` times calls and the wait for the device with the host's clock, also of the
        simulator itself.
    whole : bool
        False models the launches on a simulated device without running the workgroups that are
        taken to be alike: results are incomplete, and large launches quick.

    Returns
    -------
    Measurement

    Raises
    ------
    LaunchError
        For other values, or if `fn` launched nothing on a simulated device.
    """
    wanted = tuple(quantiles or ())
    if clock not in _CLOCKS:
        raise LaunchError(f"clock is {clock!r}.", fix='use "device" or "host".', where=caller())
    if not all(0 <= q <= 1 for q in wanted) or not (warmup >= 0 and rep > 0):
        raise LaunchError(
            f"warmup is {warmup!r}, rep {rep!r}, quantiles {wanted!r}.",
            fix="use milliseconds, and quantiles between 0 and 1.",
            where=caller(),
        )
    device = get_device()
    if clock == "device" and isinstance(device, SimulatedDevice):
        samples, unit = [_modelled_cycles(fn, whole)], "modelled cycles"
    else:
        once = _host_time if clock == "host" else _event_time
        unit = "ms"
        once(fn, device)  # compiles
        spent, total, samples = 0.0, 0.0, []
        while spent < warmup:
            spent += max(once(fn, device), 1e-3)
        while total < rep:
            samples.append(max(once(fn, device), 1e-6))
            total += samples[-1]
    return Measurement(tuple(samples), unit, tuple(np.quantile(samples, wanted).tolist()))


def _modelled_cycles(fn: Callable[[], Any], whole: bool) -> float:
    with timed_launches(rest=whole) as runs:
        fn()
    if not runs:
        raise LaunchError(
            "the function launched no kernel.",
            fix='launch one, or time the host with clock="host".',
            where=caller(),
        )
    return float(sum(run.launch_cycles for run in runs))


def _event_time(fn: Callable[[], Any], device: Device) -> float:
    start, end = device.event(), device.event()
    start.record()
    fn()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def _host_time(fn: Callable[[], Any], device: Device) -> float:
    start = time.perf_counter()
    fn()
    device.synchronize()
    return (time.perf_counter() - start) * 1e3
