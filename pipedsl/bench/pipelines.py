"""``pipedsl bench pipeline``: where the modelled time of GEMM-style pipelines goes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from pipedsl.bench.gemm import DTYPE, PipelineConfig, pipeline_kernel
from pipedsl.bench.records import Records
from pipedsl.bench.sweep import sweep
from pipedsl.core.arch import get_arch
from pipedsl.core.config import config
from pipedsl.core.errors import ResourceError
from pipedsl.dispatch import CompiledKernel
from pipedsl.isa.metadata import read_metadata
from pipedsl.isa.occupancy import Occupancy, occupancy
from pipedsl.sim.timing.constants import find_constant
from pipedsl.sim.timing.result import TimedRun

COLUMNS = (
    "stages", "producers", "consumers", "tile", "cycles_per_step", "handoff_cycles",
    "matrix_utilisation", "roof_fraction", "consumer_full", "consumer_lds", "producer_empty",
    "producer_memory", "waves_per_simd", "vgprs", "lds_bytes",
)  # fmt: skip

_SHARES = {
    "issue": ("issue", "dependency", "matrix", "unit"), "full": ("full",), "empty": ("empty",),
    "memory": ("memory",), "lds": ("lds",), "barrier": ("barrier",), "other": ("poll", "sleep"),
}  # fmt: skip
"""Columns for each role, as parts of its time, and the places of `TimedRun` that they add up."""


def pipelines(
    arch: str = "gfx942",
    stages: Sequence[int] = (1, 2, 3, 4),
    producers: Sequence[int] = (1, 2, 4),
    consumers: Sequence[int] = (1, 2, 4, 8),
    tiles: Sequence[tuple[int, int, int]] = ((64, 64, 32), (128, 128, 64)),
    k: int = 1024,
    *,
    executor: Executor | None = None,
    progress: bool = True,
) -> Records:
    """Model a GEMM-style pipeline in every combination of the given numbers.

    The launch fills the device once; one compute unit is modelled in detail and the others are
    taken to be alike. The numbers are modelled cycles, no GPU's.

    Parameters
    ----------
    arch : str
    stages, producers, consumers : sequence of int
    tiles : sequence of (int, int, int)
        M, N and K of a workgroup's step.
    k : int
        Length of the product.
    executor, progress
        As for `sweep`.

    Returns
    -------
    Records
    """
    name = get_arch(arch).name
    configs = [
        PipelineConfig(name, s, p, c, (tile[0], tile[1], tile[2]), k)
        for tile, p, c, s in itertools.product(tiles, producers, consumers, stages)
    ]
    return sweep(
        measure_pipeline, configs, executor=executor, progress=progress, columns=COLUMNS,
        title=f"pipelines on {name} (modelled cycles)", version=config.matrix,
    )  # fmt: skip


def measure_pipeline(plan: PipelineConfig) -> dict[str, Any]:
    """Compile and model one configuration; the columns of its row."""
    kernel, compiled = pipeline_kernel(plan), _compiled(plan)
    fits = _occupancy(plan, compiled)
    if fits.workgroups < 1:
        raise ResourceError("a workgroup does not fit on a compute unit.")
    if compiled.resources.vgpr_spills:
        raise ResourceError(
            f"the accumulators do not fit: {compiled.resources.vgpr_spills} registers spill.",
            fix="use more consumers or a smaller tile.",
        )
    rows, columns, _ = plan.tile
    units = find_constant("cus", plan.arch).value // fits.cus
    across = max(d for d in range(1, 33) if units * fits.workgroups % d == 0)
    down = units * fits.workgroups // across
    a, b = np.zeros((rows * down, plan.k), DTYPE), np.zeros((columns * across, plan.k), DTYPE)
    c = np.zeros((rows * down, columns * across), np.float32)
    run = kernel[(across, down), plan.threads].time(a, b, c, arch=plan.arch)
    return {**_times(plan, run), **_roof(plan, run, fits.cus, across), **_resources(compiled, fits)}


def _compiled(plan: PipelineConfig) -> CompiledKernel:
    a, c = np.zeros((1, 1), DTYPE), np.zeros((1, 1), np.float32)
    return pipeline_kernel(plan).compile(a, a, c, arch=plan.arch, block=plan.threads)


def _occupancy(plan: PipelineConfig, compiled: CompiledKernel) -> Occupancy:
    metadata = read_metadata(compiled.asm)[compiled.name]
    return occupancy(metadata, get_arch(plan.arch), plan.threads)


def _times(plan: PipelineConfig, run: TimedRun) -> dict[str, Any]:
    waits = [arrow.received - arrow.sent for arrow in run.arrows]
    result: dict[str, Any] = {
        "cycles": run.cycles,
        "workgroups": len(run.workgroups),
        "steps": plan.steps,
        "cycles_per_step": run.cycles / (plan.steps * len(run.workgroups)),
        "handoff_cycles": float(np.median(waits)) if waits else None,
        "handoffs_waited_for": len(waits),
        "matrix_utilisation": run.matrix_utilisation,
        "conflict_cycles": run.conflict_cycles,
    }
    for role in ("producer", "consumer"):
        spent = run.roles[role]
        whole = sum(spent.values()) or 1
        for name, places in _SHARES.items():
            result[f"{role}_{name}"] = sum(spent[place] for place in places) / whole
    return result


def _roof(plan: PipelineConfig, run: TimedRun, cus: int, across: int) -> dict[str, Any]:
    """How near the time is to that of the resource that bounds it: matrix cores or memory.

    What the workgroups of the compute unit share, they load once.
    """
    rows, columns, depth = plan.tile
    count = len(run.workgroups)
    flops = 2 * rows * columns * depth * plan.steps * count
    down_tiles = len({group // across for group in run.workgroups})
    across_tiles = len({group % across for group in run.workgroups})
    loaded = (rows * down_tiles + columns * across_tiles) * plan.k * DTYPE.itemsize
    bytes_moved = loaded + rows * columns * 4 * count
    rate = {name: find_constant(name, plan.arch).value for name in ("device_width", "cus", "clock")}
    share = rate["device_width"] * 1e3 / (rate["cus"] * rate["clock"])  # bytes a cycle and CU
    width = min(find_constant("memory_width", plan.arch).value, share) * cus
    busy = run.matrix_utilisation * run.cycles
    bound = max(busy, bytes_moved / width)
    return {
        "flops_per_cycle": flops / run.cycles,
        "peak_flops_per_cycle": flops / busy if busy else None,
        "bytes_per_cycle": bytes_moved / run.cycles,
        "peak_bytes_per_cycle": width,
        "flops_per_byte": flops / bytes_moved,
        "roof_fraction": bound / run.cycles,
        "bound": "matrix" if busy >= bytes_moved / width else "memory",
    }


def _resources(compiled: CompiledKernel, fits: Occupancy) -> dict[str, Any]:
    used = compiled.resources
    return {
        "waves_per_simd": fits.waves,
        "limited_by": fits.limited_by or "",
        "workgroups_per_cu": fits.workgroups / fits.cus,
        "vgprs": used.vgprs + used.agprs,
        "sgprs": used.sgprs,
        "lds_bytes": used.lds_bytes,
    }
