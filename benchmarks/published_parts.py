"""Parts of the kernels of `published_gemm`: copies, operands, phases."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernels"))

from pipedsl import device_function, gpu
from pipedsl.tiles import Accumulator, Fragments


class TileCopier:
    """One thread's part of copying tiles along K to LDS; parameters as of `TileLoader`.

    A copy puts the lanes of a wave one behind the other in LDS, so the chunks of a row are permuted
    by where each lane reads.
    """

    def __init__(self, tile, matrix, first_row, thread):
        depth = matrix.shape[1]
        row = thread // tile.row_chunks
        chunk = thread % tile.row_chunks ^ row // tile.pattern_rows % tile.patterns
        self.tile = tile
        self.buffer = gpu.buffer(matrix)
        self.index = (first_row + row) * depth + chunk * tile.chunk
        self.stride = tile.step_rows * depth
        self.wave = gpu.readfirstlane(thread // 64)

    def copy(self, lds, base, k):
        """Start copying the tile whose first column is `k` to element `base` of `lds`."""
        tile = self.tile
        for i in gpu.static_range(tile.steps):
            if i < tile.whole_steps or self.wave < tile.rows * tile.row_chunks % tile.threads // 64:
                start = base + (i * tile.threads + self.wave * 64) * tile.chunk
                index = self.index + i * self.stride
                gpu.buffer_load_to_lds(self.buffer, index, lds, start, tile.chunk, k)


class Part:
    """One consumer's 64x64 of the result."""

    def __init__(self, a_tile, b_tile, unit, wave, across):
        self.a_tile = a_tile
        self.b_tile = b_tile
        self.unit = unit
        self.row = wave // across * 64
        self.column = wave % across * 64
        self.a = Fragments(a_tile, unit, self.row, 4)
        self.b = Fragments(b_tile, unit, self.column, 4)
        self.total = Accumulator(unit, 4, 4)

    def multiply(self, lds_a, lds_b, stage):
        """Add the product of a stage."""
        for step in gpu.static_range(self.a_tile.columns // self.unit.depth):
            self.a.read(lds_a, stage * self.a_tile.size, step)
            self.b.read(lds_b, stage * self.b_tile.size, step)
            gpu.waitcnt(lgkmcnt=0)
            gpu.sched_barrier()
            gpu.setprio(1)
            self.total.multiply(self.a, self.b)
            gpu.setprio(0)
            gpu.sched_barrier()

    def store(self, c, first_row, first_column):
        """Store it."""
        self.total.store(c, first_row + self.row, first_column + self.column, 4)


@device_function
def meet():
    """A barrier that lets copies stay in flight."""
    gpu.sched_barrier()
    gpu.asm("s_barrier")
    gpu.sched_barrier()


@device_function
def multiply(total, a, b):
    """One phase: after everyone has read, multiply ahead of the waves that read next."""
    meet()
    gpu.waitcnt(lgkmcnt=0)
    gpu.sched_barrier()
    gpu.setprio(1)
    for step in gpu.static_range(a.steps):
        total.multiply(a.parts[step], b.parts[step])
    gpu.setprio(0)
    meet()


class WholeDepth:
    """A wave's operands of all steps along K of a tile; parameters as of `Fragments`."""

    def __init__(self, tile, unit, first_row, count):
        self.steps = tile.columns // unit.depth
        self.first = Fragments(tile, unit, first_row, count)
        self.second = Fragments(tile, unit, first_row, count)
        self.parts = self.first, self.second

    def read(self, lds, base):
        """Read the operands from the tile at element `base` of `lds`."""
        for step in gpu.static_range(self.steps):
            self.parts[step].read(lds, base, step)
