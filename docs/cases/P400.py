import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def fill(out, value):
    out[gpu.thread_idx.x] = value


fill[1, 2048](np.zeros(2048, np.float32), 1.0)
# --- fixed ---
import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def fill(out, value):
    out[gpu.block_idx.x * gpu.block_dim.x + gpu.thread_idx.x] = value


fill[2, 1024](np.zeros(2048, np.float32), 1.0)
