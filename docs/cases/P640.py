import numpy as np

from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def ring(out):
    backend = AmdCounterBackend(1, producer_arrivals=1, consumer_arrivals=1)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(4):
            backend.wait_empty(0, i + 1)
            backend.arrive_full(0)
    else:
        for i in range(4):
            backend.wait_full(0, i)
            if i != 2:
                backend.arrive_empty(0)


ring[1, 2 * gpu.wave_size()](np.zeros(1, np.int32))
# --- fixed ---
import numpy as np

from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def ring(out):
    backend = AmdCounterBackend(1, producer_arrivals=1, consumer_arrivals=1)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(4):
            backend.wait_empty(0, i + 1)
            backend.arrive_full(0)
    else:
        for i in range(4):
            backend.wait_full(0, i)
            backend.arrive_empty(0)


ring[1, 2 * gpu.wave_size()](np.zeros(1, np.int32))
