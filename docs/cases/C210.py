import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def share(out):
    total = gpu.shared.array(1, np.int32)
    if gpu.lane_id() == 0:
        total[0] = gpu.wave_id()
    gpu.barrier()
    out[gpu.thread_idx.x] = total[0]


report = pipedsl.check(share[1, 128], np.zeros(128, np.int32))
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def share(out):
    total = gpu.shared.array(1, np.int32)
    if gpu.lane_id() == 0 and gpu.wave_id() == 0:
        total[0] = 2
    gpu.barrier()
    out[gpu.thread_idx.x] = total[0]


report = pipedsl.check(share[1, 128], np.zeros(128, np.int32))
