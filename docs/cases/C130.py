import numpy as np

import pipedsl
from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def handover(out, data):
    backend = AmdCounterBackend(1, producer_arrivals=1, consumer_arrivals=1)
    lane = gpu.lane_id()
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        data[lane] = lane
        backend.arrive_full(0)
    else:
        backend.wait_full(0, 0)
        out[lane] = data[lane]


data = np.zeros(64, np.int32)
report = pipedsl.check(handover[1, 2 * gpu.wave_size()], data, data.copy())
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def handover(out, data):
    backend = AmdCounterBackend(1, producer_arrivals=1, consumer_arrivals=1)
    lane = gpu.lane_id()
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        data[lane] = lane
        gpu.waitcnt(vmcnt=0)
        backend.arrive_full(0)
    else:
        backend.wait_full(0, 0)
        out[lane] = data[lane]


data = np.zeros(64, np.int32)
report = pipedsl.check(handover[1, 2 * gpu.wave_size()], data, data.copy())
