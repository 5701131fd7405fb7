"""Kernels: decorate, compile on demand, launch."""

from pipedsl.dispatch.compiled import CompiledKernel
from pipedsl.dispatch.kernel import Kernel, pipelined_kernel
from pipedsl.frontend import device_function
from pipedsl.target import gpu

__all__ = ["CompiledKernel", "Kernel", "device_function", "gpu", "pipelined_kernel"]
