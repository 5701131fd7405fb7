import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def napping(out):
    gpu.asm("s_nap 1")


napping[1, 64](np.zeros(1, np.int32))
# --- fixed ---
import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def napping(out):
    gpu.asm("s_sleep 1")


napping[1, 64](np.zeros(1, np.int32))
