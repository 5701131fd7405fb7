"""Softmax of the rows of a matrix, one workgroup per row.

python kernels/softmax.py --rows 64 --columns 1000 --arch gfx942
"""

from __future__ import annotations

import math
import sys
from functools import cache

import numpy as np

from pipedsl import CompiledKernel, Kernel, device_function, gpu, pipelined_kernel
from program import compare, random_floats, run_program

WAVES = 4


@device_function
def combined(partial, value, is_sum):
    """The sum or the maximum of `value` over the workgroup, in every thread."""
    value = gpu.wave_sum(value) if is_sum else gpu.wave_max(value)
    gpu.barrier()  # `partial` may still be read for an earlier result
    if gpu.lane_id() == 0:
        partial[gpu.wave_id()] = value
    gpu.barrier()
    result = partial[0]
    for wave in gpu.static_range(1, WAVES):
        if is_sum:
            result += partial[wave]
        else:
            result = max(result, partial[wave])
    return result


@cache
def make_kernel() -> Kernel:
    """The kernel ``(out, x)``; its grid has a workgroup per row."""

    @pipelined_kernel
    def softmax(out, x):
        partial = gpu.shared.array(WAVES, np.float32)
        row = gpu.block_idx.x
        largest = np.float32(-math.inf)
        for i in range(gpu.thread_idx.x, x.shape[1], WAVES * gpu.wave_size()):
            largest = max(largest, x[row, i])
        largest = combined(partial, largest, False)
        total = np.float32(0)
        for i in range(gpu.thread_idx.x, x.shape[1], WAVES * gpu.wave_size()):
            total += math.exp(x[row, i] - largest)
        scale = 1 / combined(partial, total, True)
        for i in range(gpu.thread_idx.x, x.shape[1], WAVES * gpu.wave_size()):
            out[row, i] = math.exp(x[row, i] - largest) * scale

    return softmax


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax along the rows of a float32 matrix, on the current device."""
    out = np.zeros_like(x)
    make_kernel()[x.shape[0], WAVES * gpu.wave_size()](out, x)
    return out


def reference(x: np.ndarray) -> np.ndarray:
    """The same in float64."""
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def run(arch: str, rows: int, columns: int) -> tuple[str, CompiledKernel]:
    """Compare with NumPy."""
    x = random_floats((rows, columns))
    outcome = compare(softmax(x), reference(x), 1e-6)
    compiled = make_kernel().compile(x, x, arch=arch, block=WAVES * gpu.wave_size())
    return f"{rows} x {columns}, {outcome}", compiled


OPTIONS = {"rows": (64, "rows"), "columns": (1000, "columns")}

if __name__ == "__main__":
    sys.exit(run_program(__doc__, OPTIONS, run))
