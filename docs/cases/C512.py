import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def kernel(data):
    cells = gpu.shared.array(128, np.float32)
    t = gpu.thread_idx.x
    cells[t] = t
    gpu.barrier()  # every lane reads what it wrote itself
    data[t // 64, t % 64] = cells[t]


data = np.zeros((64, 64), np.float32)
report = pipedsl.check(kernel[1, 2 * gpu.wave_size()], data, seeds=2, hints=True)
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def kernel(data):
    cells = gpu.shared.array(128, np.float32)
    t = gpu.thread_idx.x
    cells[t] = t
    data[t // 64, t % 64] = cells[t]


data = np.zeros((64, 64), np.float32)
report = pipedsl.check(kernel[1, 2 * gpu.wave_size()], data, seeds=2, hints=True)
