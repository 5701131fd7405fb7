"""C = A B^T by specialised waves: some only bring A, some only bring B, the others multiply.

    python kernels/gemm_warp_specialized.py --m 512 --n 512 --k 512 --arch gfx942 --preset mojo

A is M x K and B is N x K, both with K contiguous. A ring of tiles in LDS connects the waves. Its
slots are handed over by a ProducerConsumerPipeline, whole stages at a time, or by counters of each
wave's tile (SingleCounterSync, SplitCounterSync), so that a consumer starts when its own rows of A
and of B are there.
"""

from __future__ import annotations

import sys
from functools import cache

from common import CDNA, LARGE_LDS, Gemm, gemm_main
from pipedsl import Kernel, Roles, SingleCounterSync, SplitCounterSync, gpu, pipelined_kernel
from pipedsl.tiles import Accumulator, Fragments

_DEFAULT = {"block": (128, 128, 32), "wave": (64, 64), "producers": (2, 2), "stages": 3}
_MOJO = {"block": (64, 64, 64), "wave": (32, 32), "producers": (2, 2), "stages": 2}
_NARROW = {"block": (128, 256, 64), "wave": (64, 64), "producers": (2, 2), "stages": 2}
_WIDE = {"block": (192, 256, 64), "wave": (64, 64), "producers": (2, 2), "stages": 2}
PRESETS = {
    "128x128x32": {**_DEFAULT, "sync": "pipeline", "archs": CDNA},
    "mojo": {**_MOJO, "sync": "single"},
    "mojo-split": {**_MOJO, "sync": "split"},
    "mojo-pipeline": {**_MOJO, "sync": "pipeline"},
    "4p8c-128x256": {**_NARROW, "sync": "pipeline", "archs": LARGE_LDS},
    "4p12c-192x256": {**_WIDE, "sync": "pipeline", "archs": LARGE_LDS},
}
_SYNCS = {"single": SingleCounterSync, "split": SplitCounterSync}


def make_kernel(gemm: Gemm) -> Kernel:
    """The kernel ``(a, b, c)``; its grid is ``gemm.grid(m, n)``, its block ``gemm.threads``."""
    return _with_pipeline(gemm) if gemm.sync == "pipeline" else _with_tile_counters(gemm)


@cache
def _with_pipeline(gemm: Gemm) -> Kernel:
    a_waves, b_waves = gemm.producers
    a_tile = gemm.a_tile(a_waves * gemm.wave_size)
    b_tile = gemm.b_tile(b_waves * gemm.wave_size)
    rows, columns, depth = gemm.block
    stages, waves, unit, lds_type = gemm.stages, gemm.waves, gemm.unit, gemm.scalar
    loader = gemm.loader(direct=True)
    wave_rows, wave_columns = gemm.wave
    across, vector_out = columns // wave_columns, gemm.vector_out

    @pipelined_kernel
    def gemm_warp_specialized(a, b, c):
        lds_a = gpu.shared.array(stages * a_tile.size, lds_type)
        lds_b = gpu.shared.array(stages * b_tile.size, lds_type)
        roles = Roles(producers=a_waves + b_waves, consumers=waves)
        a_role = roles.producer.part(0, a_waves)
        b_role = roles.producer.part(a_waves, b_waves)
        pipe = roles.pipeline(stages)
        pipe.init()
        first_row = gpu.block_idx.y * rows
        first_column = gpu.block_idx.x * columns
        k = 0
        if a_role.mine():
            load_a = loader(a_tile, a, first_row, a_role.thread())
            load_a.load(0)
            while k < a.shape[1]:
                for _ in gpu.static_range(stages):
                    with pipe.produce() as stage:
                        load_a.store(lds_a, stage.index() * a_tile.size)
                        k += depth
                        load_a.load(k)
        elif b_role.mine():
            load_b = loader(b_tile, b, first_column, b_role.thread())
            load_b.load(0)
            while k < a.shape[1]:
                for _ in gpu.static_range(stages):
                    with pipe.produce() as stage:
                        load_b.store(lds_b, stage.index() * b_tile.size)
                        k += depth
                        load_b.load(k)
        else:
            wave_row = roles.consumer.wave() // across * wave_rows
            wave_column = roles.consumer.wave() % across * wave_columns
            part_a = Fragments(a_tile, unit, wave_row, wave_rows // 16)
            part_b = Fragments(b_tile, unit, wave_column, wave_columns // 16)
            total = Accumulator(unit, wave_rows // 16, wave_columns // 16)
            while k < a.shape[1]:
                for _ in gpu.static_range(stages):
                    with pipe.consume() as stage:
                        for step in gpu.static_range(depth // unit.depth):
                            part_a.read(lds_a, stage.index() * a_tile.size, step)
                            part_b.read(lds_b, stage.index() * b_tile.size, step)
                            total.multiply(part_a, part_b)
                k += stages * depth
            total.store(c, first_row + wave_row, first_column + wave_column, vector_out)

    return gemm_warp_specialized


@cache
def _with_tile_counters(gemm: Gemm) -> Kernel:
    a_waves, b_waves = gemm.producers
    a_tile = gemm.a_tile(a_waves * gemm.wave_size)
    b_tile = gemm.b_tile(b_waves * gemm.wave_size)
    rows, columns, depth = gemm.block
    stages, waves, unit, lds_type = gemm.stages, gemm.waves, gemm.unit, gemm.scalar
    loader = gemm.loader(direct=True)
    wave_rows, wave_columns = gemm.wave
    down, across, vector_out = rows // wave_rows, columns // wave_columns, gemm.vector_out
    a_steps, b_steps = wave_rows // a_tile.step_rows, wave_columns // b_tile.step_rows
    sync = _SYNCS[gemm.sync]

    @pipelined_kernel
    def gemm_warp_specialized(a, b, c):
        lds_a = gpu.shared.array(stages * a_tile.size, lds_type)
        lds_b = gpu.shared.array(stages * b_tile.size, lds_type)
        roles = Roles(producers=a_waves + b_waves, consumers=waves)
        a_role = roles.producer.part(0, a_waves)
        b_role = roles.producer.part(a_waves, b_waves)
        a_sync = sync(down, stages, writes=a_waves, reads=across)
        b_sync = sync(across, stages, writes=b_waves, reads=down)
        a_sync.init()
        b_sync.init()
        first_row = gpu.block_idx.y * rows
        first_column = gpu.block_idx.x * columns
        k = 0
        lap = 0
        if a_role.mine():
            load_a = loader(a_tile, a, first_row, a_role.thread())
            load_a.load(0)
            while k < a.shape[1]:
                for stage in gpu.static_range(stages):
                    for tile in gpu.static_range(down):
                        a_sync.wait_empty(tile, stage, lap)
                        load_a.store_steps(lds_a, stage * a_tile.size, tile * a_steps, a_steps)
                        gpu.fence_lds()
                        a_sync.arrive_full(tile, stage)
                    k += depth
                    load_a.load(k)
                lap += 1
        elif b_role.mine():
            load_b = loader(b_tile, b, first_column, b_role.thread())
            load_b.load(0)
            while k < a.shape[1]:
                for stage in gpu.static_range(stages):
                    for tile in gpu.static_range(across):
                        b_sync.wait_empty(tile, stage, lap)
                        load_b.store_steps(lds_b, stage * b_tile.size, tile * b_steps, b_steps)
                        gpu.fence_lds()
                        b_sync.arrive_full(tile, stage)
                    k += depth
                    load_b.load(k)
                lap += 1
        else:
            tile_row = roles.consumer.wave() // across
            tile_column = roles.consumer.wave() % across
            part_a = Fragments(a_tile, unit, tile_row * wave_rows, wave_rows // 16)
            part_b = Fragments(b_tile, unit, tile_column * wave_columns, wave_columns // 16)
            total = Accumulator(unit, wave_rows // 16, wave_columns // 16)
            while k < a.shape[1]:
                for stage in gpu.static_range(stages):
                    a_sync.wait_full(tile_row, stage, lap)
                    b_sync.wait_full(tile_column, stage, lap)
                    for step in gpu.static_range(depth // unit.depth):
                        part_a.read(lds_a, stage * a_tile.size, step)
                        part_b.read(lds_b, stage * b_tile.size, step)
                        total.multiply(part_a, part_b)
                    gpu.fence_lds()
                    a_sync.arrive_empty(tile_row, stage)
                    b_sync.arrive_empty(tile_column, stage)
                k += stages * depth
                lap += 1
            row = first_row + tile_row * wave_rows
            total.store(c, row, first_column + tile_column * wave_columns, vector_out)

    return gemm_warp_specialized


if __name__ == "__main__":
    sys.exit(gemm_main(__doc__, make_kernel, PRESETS))
