"""Kernels around the counter backend that several tests share."""

from __future__ import annotations

import numpy as np

from pipedsl import AmdCounterBackend, gpu
from pipedsl.codegen import compile_ir
from pipedsl.core.arch import get_arch
from pipedsl.frontend import KernelSource, lower, type_of


def make_ring(num_stages, backend_class=AmdCounterBackend, dtype=np.int32):
    """The stress kernel: wave 0 produces ``i + 1``, wave 1 writes it to ``result[i]``."""

    def ring(result, n_items):
        backend = backend_class(num_stages, producer_arrivals=1, consumer_arrivals=1)
        slots = gpu.shared.array(num_stages, dtype)
        if gpu.thread_idx.x == 0:
            backend.init_barriers(1, 1)
        gpu.barrier()
        if gpu.wave_id() == 0:
            for i in range(n_items):
                stage = i % num_stages
                backend.wait_empty(stage, i // num_stages + 1)
                if gpu.lane_id() == 0:
                    slots[stage] = i + 1
                gpu.fence_lds()
                backend.arrive_full(stage)
        elif gpu.wave_id() == 1:
            for i in range(n_items):
                stage = i % num_stages
                backend.wait_full(stage, i // num_stages)
                if gpu.lane_id() == 0:
                    result[i] = slots[stage]
                gpu.fence_lds()
                backend.arrive_empty(stage)

    return ring


def assembly(function, arch, block, *arguments):
    """Assembly text of a kernel."""
    types = [type_of(argument) for argument in arguments]
    result = lower(KernelSource.capture(function), types, arch, block)
    return compile_ir(result.llvm_ir, get_arch(arch).name, kernel=result.kernel).asm
