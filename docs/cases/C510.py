import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def kernel(data):
    t = gpu.thread_idx.x
    value = data[t // 64, t % 64]
    gpu.waitcnt(vmcnt=0)  # the compiler waits for the value where it is used
    gpu.waitcnt(vmcnt=0)
    data[t // 64, t % 64] = value + 1


data = np.zeros((64, 64), np.float32)
report = pipedsl.check(kernel[1, 2 * gpu.wave_size()], data, seeds=2, hints=True)
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def kernel(data):
    t = gpu.thread_idx.x
    value = data[t // 64, t % 64]
    data[t // 64, t % 64] = value + 1


data = np.zeros((64, 64), np.float32)
report = pipedsl.check(kernel[1, 2 * gpu.wave_size()], data, seeds=2, hints=True)
