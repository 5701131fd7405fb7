import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def share(out):
    cells = gpu.shared.array(128, np.int32)
    t = gpu.thread_idx.x
    cells[t] = t
    out[t] = cells[127 - t]


report = pipedsl.check(share[1, 128], np.zeros(128, np.int32))
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def share(out):
    cells = gpu.shared.array(128, np.int32)
    t = gpu.thread_idx.x
    cells[t] = t
    gpu.barrier()
    out[t] = cells[127 - t]


report = pipedsl.check(share[1, 128], np.zeros(128, np.int32))
