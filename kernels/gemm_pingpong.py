"""C = A B^T by eight waves in two groups that take turns: one multiplies while the other moves data.

    python kernels/gemm_pingpong.py --m 512 --n 512 --k 512 --arch gfx942 --dtype bf16

A is M x K and B is N x K, both with K contiguous. Two waves share a SIMD, one of each group. A
barrier ends every phase; the second group runs one phase behind, so that on each SIMD one wave
reads LDS while the other has the matrix unit. Nobody is a producer, so that all registers hold
accumulators: see docs/gemm.md. For CDNA, whose SIMDs have two of eight waves each.
"""

from __future__ import annotations

import sys
from functools import cache

from common import CDNA, Gemm, gemm_main
from pipedsl import Kernel, gpu, pipelined_kernel
from pipedsl.tiles import CHUNK_BYTES, Accumulator, Fragments, Tile

PRESETS = {
    "256x256x64": {"block": (256, 256, 64), "wave": (128, 64), "archs": CDNA},
    "192x256x64": {"block": (192, 256, 64), "wave": (96, 64), "archs": CDNA},
}


@cache
def make_kernel(gemm: Gemm) -> Kernel:
    """The kernel ``(a, b, c)``; its grid is ``gemm.grid(m, n)``, its block ``gemm.threads``."""
    rows, columns, _ = gemm.block
    depth = 4 * CHUNK_BYTES // gemm.dtype.itemsize  # of a phase; LDS holds two
    vector = gemm.vector or gemm.unit.chunk
    a_tile = Tile(rows, depth, gemm.scalar, gemm.threads, vector)
    b_tile = Tile(columns, depth, gemm.scalar, gemm.threads, vector)
    wave_rows, wave_columns = gemm.wave
    across, group_waves = columns // wave_columns, gemm.waves // 2
    unit, lds_type, vector_out = gemm.unit, gemm.scalar, gemm.vector_out
    loader = gemm.loader(direct=False)

    @pipelined_kernel
    def gemm_pingpong(a, b, c):
        lds_a = gpu.shared.array(2 * a_tile.size, lds_type)
        lds_b = gpu.shared.array(2 * b_tile.size, lds_type)
        first_row = gpu.block_idx.y * rows
        first_column = gpu.block_idx.x * columns
        wave_row = gpu.wave_id() // across * wave_rows
        wave_column = gpu.wave_id() % across * wave_columns
        load_a = loader(a_tile, a, first_row, gpu.thread_idx.x)
        load_b = loader(b_tile, b, first_column, gpu.thread_idx.x)
        part_a = Fragments(a_tile, unit, wave_row, wave_rows // 16)
        part_b = Fragments(b_tile, unit, wave_column, wave_columns // 16)
        total = Accumulator(unit, wave_rows // 16, wave_columns // 16)
        load_a.load(0)
        load_b.load(0)
        load_a.store(lds_a, 0)
        load_b.store(lds_b, 0)
        load_a.load(depth)
        load_b.load(depth)
        gpu.barrier()
        if gpu.wave_id() >= group_waves:
            gpu.barrier()  # from here on one phase behind
        k = 0
        while k < a.shape[1]:
            for half in gpu.static_range(2):
                part_a.read(lds_a, half * a_tile.size, 0)
                part_b.read(lds_b, half * b_tile.size, 0)
                load_a.store(lds_a, (1 - half) * a_tile.size)
                load_b.store(lds_b, (1 - half) * b_tile.size)
                load_a.load(k + (half + 2) * depth)
                load_b.load(k + (half + 2) * depth)
                gpu.barrier()
                gpu.sched_barrier()
                gpu.setprio(1)
                total.multiply(part_a, part_b)
                gpu.setprio(0)
                gpu.sched_barrier()
                gpu.barrier()
            k += 2 * depth
        if gpu.wave_id() < group_waves:
            gpu.barrier()  # for the other group's last phase
        total.store(c, first_row + wave_row, first_column + wave_column, vector_out)

    return gemm_pingpong


if __name__ == "__main__":
    sys.exit(gemm_main(__doc__, make_kernel, PRESETS))
