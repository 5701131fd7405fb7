import numpy as np

from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def ring(out):
    backend = AmdCounterBackend(2, producer_arrivals=1, consumer_arrivals=1)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(2, 1)
    gpu.barrier()


ring[1, 64](np.zeros(1, np.int32))
# --- fixed ---
import numpy as np

from pipedsl import AmdCounterBackend, gpu, pipelined_kernel


@pipelined_kernel
def ring(out):
    backend = AmdCounterBackend(2, producer_arrivals=1, consumer_arrivals=1)
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()


ring[1, 64](np.zeros(1, np.int32))
