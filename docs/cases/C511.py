import numpy as np

import pipedsl
from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def kernel(out, data):
    backend = AmdCounterBackend(2, producer_arrivals=1, consumer_arrivals=1)
    slots = gpu.shared.array(128, np.float32)
    source = gpu.buffer(data)
    lane = gpu.lane_id()
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for stage in gpu.static_range(2):
            gpu.buffer_load_to_lds(source, stage * 64 + lane, slots, stage * 64)
        gpu.fence_lds(vmcnt=0)
        backend.arrive_full(0)
        gpu.fence_lds(vmcnt=0)
        backend.arrive_full(1)
    else:
        for stage in gpu.static_range(2):
            backend.wait_full(stage, 0)
            out[stage, lane] = slots[stage * 64 + lane]


data = np.zeros((8, 64), np.float32)
launch = kernel[1, 2 * gpu.wave_size()]
report = pipedsl.check(launch, data, data.copy(), seeds=2, hints=True)
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def kernel(out, data):
    backend = AmdCounterBackend(2, producer_arrivals=1, consumer_arrivals=1)
    slots = gpu.shared.array(128, np.float32)
    source = gpu.buffer(data)
    lane = gpu.lane_id()
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for stage in gpu.static_range(2):
            gpu.buffer_load_to_lds(source, stage * 64 + lane, slots, stage * 64)
        gpu.fence_lds(vmcnt=1)
        backend.arrive_full(0)
        gpu.fence_lds(vmcnt=0)
        backend.arrive_full(1)
    else:
        for stage in gpu.static_range(2):
            backend.wait_full(stage, 0)
            out[stage, lane] = slots[stage * 64 + lane]


data = np.zeros((8, 64), np.float32)
launch = kernel[1, 2 * gpu.wave_size()]
report = pipedsl.check(launch, data, data.copy(), seeds=2, hints=True)
