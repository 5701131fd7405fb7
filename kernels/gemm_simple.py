"""C = A B^T without specialisation: every wave loads, and every wave multiplies.

    python kernels/gemm_simple.py --m 512 --n 512 --k 512 --arch gfx942 --dtype bf16

A is M x K and B is N x K, both with K contiguous. While a tile in LDS is multiplied, the next one
is on its way to registers; two barriers per tile keep the one LDS buffer whole.
"""

from __future__ import annotations

import sys
from functools import cache

from common import CDNA, Gemm, gemm_main
from pipedsl import Kernel, gpu, pipelined_kernel
from pipedsl.tiles import Accumulator, Fragments

PRESETS = {
    "128x128x64": {"block": (128, 128, 64), "wave": (64, 64), "archs": CDNA},
    "64x64x64": {"block": (64, 64, 64), "wave": (32, 32)},
}


@cache
def make_kernel(gemm: Gemm) -> Kernel:
    """The kernel ``(a, b, c)``; its grid is ``gemm.grid(m, n)``, its block ``gemm.threads``."""
    a_tile, b_tile, unit = gemm.a_tile(gemm.threads), gemm.b_tile(gemm.threads), gemm.unit
    rows, columns, depth = gemm.block
    wave_rows, wave_columns = gemm.wave
    across = columns // wave_columns
    loader, lds_type, vector_out = gemm.loader(direct=False), gemm.scalar, gemm.vector_out

    @pipelined_kernel
    def gemm_simple(a, b, c):
        lds_a = gpu.shared.array(a_tile.size, lds_type)
        lds_b = gpu.shared.array(b_tile.size, lds_type)
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
        k = 0
        while k < a.shape[1]:
            gpu.barrier()  # the tile before is read
            load_a.store(lds_a, 0)
            load_b.store(lds_b, 0)
            gpu.barrier()
            k += depth
            load_a.load(k)
            load_b.load(k)
            for step in gpu.static_range(depth // unit.depth):
                part_a.read(lds_a, 0, step)
                part_b.read(lds_b, 0, step)
                total.multiply(part_a, part_b)
        total.store(c, first_row + wave_row, first_column + wave_column, vector_out)

    return gemm_simple


if __name__ == "__main__":
    sys.exit(gemm_main(__doc__, make_kernel, PRESETS))
