import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def count(out):
    if gpu.thread_idx.x == 0:
        out[0] = gpu.block_idx.x


report = pipedsl.check(count[4, 64], np.zeros(4, np.int32))
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def count(out):
    if gpu.thread_idx.x == 0:
        out[gpu.block_idx.x] = gpu.block_idx.x


report = pipedsl.check(count[4, 64], np.zeros(4, np.int32))
