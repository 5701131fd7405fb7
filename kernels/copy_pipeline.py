"""Global memory to LDS to global memory through a ring: what a hand-over costs, and nothing else.

    python kernels/copy_pipeline.py --n 65536 --stages 4 --producers 1 --consumers 1 --arch gfx942

Producer waves bring 16 bytes per lane into a slot of the ring, consumer waves take them away. Each
workgroup copies its own run of slots.
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np

from pipedsl import CompiledKernel, Kernel, Roles, gpu, pipelined_kernel
from program import compare, run_program

LANE = 4  # float32 elements of a lane


@cache
def make_kernel(stages: int, producers: int, consumers: int, vector: int = LANE) -> Kernel:
    """The kernel ``(target, source, slots)``: `slots` per workgroup.

    `vector`, a divisor of `LANE`, is how many elements one access of memory has; it must divide the
    number of elements.
    """
    parts = LANE // vector
    rounds = -(-producers // consumers)  # of a consumer per slot
    piece = gpu.vec(np.float32, vector) if vector > 1 else np.float32

    @pipelined_kernel
    def copy_pipeline(target, source, slots):
        roles = Roles(producers=producers, consumers=consumers)
        pipe = roles.pipeline(stages)
        size = roles.producer.threads() * LANE
        ring = gpu.shared.array((stages, producers * gpu.wave_size() * LANE), np.float32)
        pipe.init()
        first = gpu.block_idx.x * slots * size
        reading = gpu.buffer(source)
        writing = gpu.buffer(target)
        if roles.producer.mine():
            place = roles.producer.thread() * LANE
            pieces = gpu.local.array(parts, piece)
            for part in gpu.static_range(parts):
                index = first + place + part * vector
                pieces[part] = gpu.buffer_load(reading, index, vector)
            for i in range(slots):
                with pipe.produce() as stage:
                    for part in gpu.static_range(parts):
                        if vector == 1:
                            ring[stage.index(), place + part] = pieces[part]
                        else:
                            gpu.store(ring, (stage.index(), place + part * vector), pieces[part])
                    for part in gpu.static_range(parts):  # on its way while others use the slot
                        index = first + (i + 1) * size + place + part * vector
                        pieces[part] = gpu.buffer_load(reading, index, vector)
        else:
            for i in range(slots):
                with pipe.consume() as stage:
                    for turn in gpu.static_range(rounds):
                        thread = roles.consumer.thread() + turn * roles.consumer.threads()
                        if thread < roles.producer.threads():
                            place = thread * LANE
                            for part in gpu.static_range(parts):
                                at = place + part * vector
                                index = first + i * size + at
                                if vector == 1:
                                    value = ring[stage.index(), at]
                                    gpu.buffer_store(writing, index, value)
                                else:
                                    values = gpu.load(ring, (stage.index(), at), vector)
                                    gpu.buffer_store(writing, index, values)

    return copy_pipeline


def copy(
    source: np.ndarray, stages: int = 4, producers: int = 1, consumers: int = 1, groups: int = 4
) -> np.ndarray:
    """A copy of a float32 array of one axis, by `groups` workgroups of the current device."""
    kernel, grid, block, slots = _launch(source.size, stages, producers, consumers, groups)
    target = np.zeros_like(source)
    kernel[grid, block](target, source, slots)
    return target


def _launch(
    n: int, stages: int, producers: int, consumers: int, groups: int
) -> tuple[Kernel, int, int, np.int32]:
    vector = next(size for size in (4, 2, 1) if n % size == 0)
    slot = producers * gpu.wave_size() * LANE
    slots = max(1, -(-n // (slot * groups)))
    kernel = make_kernel(stages, producers, consumers, vector)
    grid = -(-n // (slot * slots))
    return kernel, grid, (producers + consumers) * gpu.wave_size(), np.int32(slots)


def run(
    arch: str, n: int, stages: int, producers: int, consumers: int, groups: int
) -> tuple[str, CompiledKernel]:
    """Copy, compare, and say how it went."""
    source = np.arange(n, dtype=np.float32)
    outcome = compare(copy(source, stages, producers, consumers, groups), source, 0)
    kernel, _, block, slots = _launch(n, stages, producers, consumers, groups)
    return f"{n} elements, {outcome}", kernel.compile(source, source, slots, arch=arch, block=block)


OPTIONS = {
    "n": (65536, "float32 elements"),
    "stages": (4, "slots of the ring"),
    "producers": (1, "waves that fill slots"),
    "consumers": (1, "waves that drain slots"),
    "groups": (4, "workgroups"),
}

if __name__ == "__main__":
    sys.exit(run_program(__doc__, OPTIONS, run))
