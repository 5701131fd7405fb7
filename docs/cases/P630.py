import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def scale(data, factor):
    data[gpu.block_idx.x * 64 + gpu.thread_idx.x] *= factor


scale[2, 64](np.ones(100, np.float32), 2.0)
# --- fixed ---
import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def scale(data, factor):
    i = gpu.block_idx.x * 64 + gpu.thread_idx.x
    if i < data.shape[0]:
        data[i] *= factor


scale[2, 64](np.ones(100, np.float32), 2.0)
