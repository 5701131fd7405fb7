import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def kernel(data):
    cells = gpu.shared.array((128, 32), np.float32)
    t = gpu.thread_idx.x
    cells[t, 0] = t  # rows of 32 words begin in one bank
    gpu.barrier()
    data[t // 64, t % 64] = cells[127 - t, 0]


data = np.zeros((64, 64), np.float32)
report = pipedsl.check(kernel[1, 2 * gpu.wave_size()], data, seeds=2, hints=True)
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def kernel(data):
    cells = gpu.shared.array((128, 33), np.float32)
    t = gpu.thread_idx.x
    cells[t, 0] = t
    gpu.barrier()
    data[t // 64, t % 64] = cells[127 - t, 0]


data = np.zeros((64, 64), np.float32)
report = pipedsl.check(kernel[1, 2 * gpu.wave_size()], data, seeds=2, hints=True)
