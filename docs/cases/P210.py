from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def double(out):
    values = [2 * i for i in range(4)]
    out[gpu.thread_idx.x] = values[0]


# --- fixed ---
import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def double(out):
    values = gpu.local.array(4, np.int32)
    for i in gpu.static_range(4):
        values[i] = 2 * i
    out[gpu.thread_idx.x] = values[0]


double[1, 64](np.zeros(64, np.int32))
