import numpy as np

from pipedsl import gpu, pipelined_kernel


def half(x):
    return x / 2


@pipelined_kernel
def halve(data):
    i = gpu.thread_idx.x
    data[i] = half(data[i])


halve[1, 64](np.ones(64, np.float32))
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipedsl.device_function
def half(x):
    return x / 2


@pipelined_kernel
def halve(data):
    i = gpu.thread_idx.x
    data[i] = half(data[i])


halve[1, 64](np.ones(64, np.float32))
