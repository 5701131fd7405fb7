import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def kernel(data):
    t = gpu.thread_idx.x
    if t < 64:
        data[t, 0] += 1  # a column of a row-major matrix


data = np.zeros((64, 64), np.float32)
report = pipedsl.check(kernel[1, 2 * gpu.wave_size()], data, seeds=2, hints=True)
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def kernel(data):
    t = gpu.thread_idx.x
    if t < 64:
        data[0, t] += 1


data = np.zeros((64, 64), np.float32)
report = pipedsl.check(kernel[1, 2 * gpu.wave_size()], data, seeds=2, hints=True)
