"""The sum of an array: registers, then the lanes of a wave, then LDS, then one atomic addition.

python kernels/reduction.py --n 100000 --groups 8 --arch gfx942
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np

from pipedsl import CompiledKernel, Kernel, gpu, pipelined_kernel
from program import compare, run_program

WAVES = 4


@cache
def make_kernel() -> Kernel:
    """The kernel ``(total, values, n)``, which adds the sum of `values` to ``total[0]``."""

    @pipelined_kernel
    def reduction(total, values, n):
        partial = gpu.shared.array(WAVES, np.float32)
        stride = gpu.grid_dim.x * gpu.block_dim.x
        i = gpu.block_idx.x * gpu.block_dim.x + gpu.thread_idx.x
        sum = np.float32(0)
        while i < n:
            sum += values[i]
            i += stride
        sum = gpu.wave_sum(sum)
        if gpu.lane_id() == 0:
            partial[gpu.wave_id()] = sum
        gpu.barrier()
        if gpu.thread_idx.x == 0:
            for wave in gpu.static_range(1, WAVES):
                sum += partial[wave]
            gpu.atomic_add(total, 0, sum)

    return reduction


def reduce(values: np.ndarray, groups: int = 8) -> np.float32:
    """The sum of a float32 array of one axis, by `groups` workgroups of the current device."""
    total = np.zeros(1, np.float32)
    make_kernel()[groups, WAVES * gpu.wave_size()](total, values, np.int32(values.size))
    return total[0]


def run(arch: str, n: int, groups: int) -> tuple[str, CompiledKernel]:
    """Sum small integers, whose sum is exact in any order, and compare."""
    values = np.random.default_rng(0).integers(-8, 9, n).astype(np.float32)
    outcome = compare(
        np.array([reduce(values, groups)]), np.array([values.sum(dtype=np.float64)]), 0
    )
    block = WAVES * gpu.wave_size()
    compiled = make_kernel().compile(values, values, np.int32(n), arch=arch, block=block)
    return f"{n} elements, {outcome}", compiled


OPTIONS = {"n": (100_000, "float32 elements"), "groups": (8, "workgroups")}

if __name__ == "__main__":
    sys.exit(run_program(__doc__, OPTIONS, run))
