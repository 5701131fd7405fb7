"""Wrong launches, each with the kind of error that mypy reports for its line."""

from typing import Any

import numpy as np

import pipedsl
from pipedsl import gpu, pipelined_kernel


@pipelined_kernel
def scale(out: Any, factor: float) -> None:
    out[gpu.thread_idx.x] *= factor


out = np.zeros(64, np.float32)
scale[1, 64](out)  # error: call-arg
scale[1, 64](out, 2.0, 3)  # error: call-arg
scale[1, 64](out, factr=2.0)  # error: call-arg
scale[1, 64](out, "two")  # error: arg-type
scale[1](out, 2.0)  # error: index
scale[1, "64"](out, 2.0)  # error: index
scale[1, 64].launch(out, 2.0)  # error: attr-defined
pipedsl.use_device(942)  # error: arg-type
pipelined_kernel(timeout="soon")  # error: call-overload
