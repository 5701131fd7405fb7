import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel(unchecked=True)  # LLVM sees what would be refused before
def multiply(out):
    a = gpu.vec(np.float16, 8)(1.0)
    out[0] = gpu.mfma_f32_16x16x32_f16(a, a, gpu.vec(np.float32, 4)(0.0))[0]


multiply.compile(np.zeros(1, np.float32), arch="gfx942")
# --- fixed ---
import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def multiply(out):
    a = gpu.vec(np.float16, 8)(1.0)
    out[0] = gpu.mfma_f32_16x16x32_f16(a, a, gpu.vec(np.float32, 4)(0.0))[0]


multiply.compile(np.zeros(1, np.float32), arch="gfx950")
