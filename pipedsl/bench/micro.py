"""``pipedsl.bench.microbench``: what single mechanisms cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipedsl.bench.measurement import do_bench
from pipedsl.bench.probes import PROBES, ROUNDS, Case, table
from pipedsl.bench.records import Records
from pipedsl.core.errors import LaunchError
from pipedsl.dispatch.callsite import caller
from pipedsl.runtime import get_device, to_device
from pipedsl.runtime.simulated import SimulatedDevice


def microbench(*names: str, rounds: int = ROUNDS) -> Records:
    """Measure single mechanisms on the current device, with kernels that read the shader clock.

    The same kernels run on a GPU and on the timing model, whose cycles are no GPU's.

    Parameters
    ----------
    *names : str
        Keys of `pipedsl.bench.PROBES`; all by default.
    rounds : int
        Repetitions inside a kernel.

    Returns
    -------
    Records
        Per case: ``cycles`` of the shader clock per `unit`, ``time`` of the whole launch with its
        ``time_unit``, ``bytes_per_time`` for copies, and the ``source`` of the figures.

    Raises
    ------
    LaunchError
        For another name, or rounds below 1.
    """
    unknown = [name for name in names if name not in PROBES]
    if unknown or rounds < 1:
        what = f"{unknown[0]!r} is not a microbenchmark" if unknown else f"rounds is {rounds}"
        raise LaunchError(f"{what}.", fix=f"use {', '.join(PROBES)}.", where=caller())
    device = get_device()
    modelled = isinstance(device, SimulatedDevice)
    source = f"timing model of {device.arch.name}" if modelled else device.description
    values = table()
    rows = [
        {"probe": name, **_measure(case, rounds, values), "source": source}
        for name in names or PROBES
        for case in PROBES[name](device.arch)
    ]
    return Records(rows, title=f"microbenchmarks, {source}", columns=_COLUMNS)


_COLUMNS = ("probe", "name", "cycles", "unit", "time", "time_unit", "bytes_per_time")


def _measure(case: Case, rounds: int, values: np.ndarray) -> dict[str, Any]:
    device = get_device()
    ticks = to_device(np.zeros(case.waves, np.int64))
    memory = to_device(values)
    launch = case.kernel[1, case.waves * device.arch.wave_size]
    try:
        taken = do_bench(lambda: launch(ticks, memory, np.int32(rounds)), warmup=1, rep=10)
        elapsed = int(ticks.copy_to_host().max())
    finally:
        ticks.free()
        memory.free()
    return {
        "name": case.name,
        "cycles": elapsed / (rounds * case.count),
        "unit": case.unit,
        "time": taken.median,
        "time_unit": taken.unit,
        "bytes_per_time": rounds * case.nbytes / taken.median if case.nbytes else None,
    }
