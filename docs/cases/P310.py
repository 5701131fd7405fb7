import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def staged(out):
    tiles = gpu.shared.array((4, 128, 64), np.float32)
    tiles[0, 0, 0] = 1
    out[0] = tiles[0, 0, 0]


staged.compile(np.zeros(1, np.float32), arch="gfx942")
# --- fixed ---
import numpy as np

from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def staged(out):
    tiles = gpu.shared.array((4, 128, 64), np.float16)
    tiles[0, 0, 0] = 1
    out[0] = tiles[0, 0, 0]


staged.compile(np.zeros(1, np.float32), arch="gfx942")
