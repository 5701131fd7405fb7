import numpy as np

import pipedsl
from pipedsl import AmdCounterBackend, gpu, pipelined_kernel

STAGES = 2


@pipelined_kernel
def ring(out, n):
    backend = AmdCounterBackend(STAGES, producer_arrivals=1, consumer_arrivals=1)
    slots = gpu.shared.array((STAGES, 64), np.int32)
    lane = gpu.lane_id()
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % STAGES, i // STAGES + 1)
            slots[i % STAGES, lane] = i
            gpu.fence_lds()
            stage = slots[i % STAGES, lane] % STAGES
            gpu.atomic_add(backend.counters, stage, np.int64(1))  # every lane
    else:
        for i in range(n):
            backend.wait_full(i % STAGES, i // STAGES)
            out[i, lane] = slots[i % STAGES, lane]
            gpu.fence_lds()
            backend.arrive_empty(i % STAGES)


report = pipedsl.check(ring[1, 2 * gpu.wave_size()], np.zeros((8, 64), np.int32), 8)
# --- fixed ---
import numpy as np

import pipedsl
from pipedsl import AmdCounterBackend, gpu, pipelined_kernel

STAGES = 2


@pipelined_kernel
def ring(out, n):
    backend = AmdCounterBackend(STAGES, producer_arrivals=1, consumer_arrivals=1)
    slots = gpu.shared.array((STAGES, 64), np.int32)
    lane = gpu.lane_id()
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % STAGES, i // STAGES + 1)
            slots[i % STAGES, lane] = i
            gpu.fence_lds()
            backend.arrive_full(i % STAGES)
    else:
        for i in range(n):
            backend.wait_full(i % STAGES, i // STAGES)
            out[i, lane] = slots[i % STAGES, lane]
            gpu.fence_lds()
            backend.arrive_empty(i % STAGES)


report = pipedsl.check(ring[1, 2 * gpu.wave_size()], np.zeros((8, 64), np.int32), 8)
