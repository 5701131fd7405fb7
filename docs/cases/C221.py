import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def shift(out, data):
    t = gpu.block_idx.x * 64 + gpu.thread_idx.x
    data[t] = t
    if t > 0:
        out[t] = data[t - 1]


report = pipedsl.check(shift[4, 64], np.zeros(256, np.int32), np.zeros(256, np.int32))
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def shift(out, data):
    t = gpu.block_idx.x * 64 + gpu.thread_idx.x
    data[t] = t
    if t > 0:
        out[t] = t - 1


report = pipedsl.check(shift[4, 64], np.zeros(256, np.int32), np.zeros(256, np.int32))
