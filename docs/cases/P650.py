import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def halve(out):
    n = 100
    while n > 0:
        n = n // 2 + 1
    out[gpu.thread_idx.x] = n


with pipedsl.config.scope(step_budget=100_000):
    halve[1, 64](np.zeros(64, np.int32))
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def halve(out):
    n = 100
    while n > 0:
        n = n // 2
    out[gpu.thread_idx.x] = n


with pipedsl.config.scope(step_budget=100_000):
    halve[1, 64](np.zeros(64, np.int32))
