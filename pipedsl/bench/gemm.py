"""A GEMM-style pipeline with any number of stages, producer and consumer waves: what is swept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from pipedsl.core.arch import get_arch
from pipedsl.core.errors import LaunchError
from pipedsl.dispatch import Kernel, pipelined_kernel
from pipedsl.pipeline import Roles
from pipedsl.target import gpu
from pipedsl.tiles import Accumulator, Fragments, MatrixUnit, Tile, TileCopier, TileLoader

DTYPE = np.dtype(np.float16)


@dataclass(frozen=True)
class PipelineConfig:
    """One pipeline: ``C = A B^T`` of float16 matrices with K contiguous, in tiles.

    Attributes
    ----------
    arch : str
    stages : int
        Slots of the ring; each holds a tile of A and one of B.
    producers, consumers : int
        Waves. Every producer brings a part of both tiles, every consumer computes a part of the
        result.
    tile : (int, int, int)
        M, N and K of a workgroup's step.
    k : int
        Length of the product.
    """

    arch: str
    stages: int
    producers: int
    consumers: int
    tile: tuple[int, int, int]
    k: int = 1024

    @property
    def unit(self) -> MatrixUnit:
        """The matrix instruction's layout."""
        return MatrixUnit.of(get_arch(self.arch), DTYPE)

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return (self.producers + self.consumers) * get_arch(self.arch).wave_size

    @property
    def steps(self) -> int:
        """Steps along K."""
        return -(-self.k // self.tile[2])

    @property
    def wave_grid(self) -> tuple[int, int]:
        """Consumers down and across the tile: the split that reads the fewest operands.

        Raises
        ------
        LaunchError
            If they cannot share the tile in parts of 16x16.
        """
        rows, columns, depth = self.tile
        if min(self.tile) < 1 or depth % self.unit.depth:
            raise LaunchError(
                f"tile {rows}x{columns}x{depth} is no multiple of {self.unit.depth} along K.",
                fix="use a larger K.",
            )
        splits = [
            (down, self.consumers // down)
            for down in range(1, self.consumers + 1)
            if self.consumers % down == 0
            and rows % (16 * down) == 0
            and columns % (16 * (self.consumers // down)) == 0
        ]
        if not splits:
            raise LaunchError(
                f"{self.consumers} consumers cannot share {rows}x{columns} in parts of 16x16.",
                fix="use a larger tile, or a power of two.",
            )
        return min(splits, key=lambda s: (rows // s[0] + columns // s[1], s[0]))


@cache
def pipeline_kernel(plan: PipelineConfig) -> Kernel:
    """The kernel ``(a, b, c)`` of float16, float16 and float32; block ``plan.threads``."""
    rows, columns, depth = plan.tile
    down, across = plan.wave_grid
    wave_rows, wave_columns = rows // down, columns // across
    stages, unit, scalar = plan.stages, plan.unit, DTYPE.type
    producers, consumers = plan.producers, plan.consumers
    bringing = producers * get_arch(plan.arch).wave_size
    a_tile, b_tile = (Tile(n, depth, scalar, bringing, unit.chunk) for n in (rows, columns))
    loader = TileCopier if get_arch(plan.arch).has("lds_dma16") else TileLoader
    vector_out = 1 if unit.interleaved else 4

    @pipelined_kernel
    def gemm_pipeline(a, b, c):
        lds_a = gpu.shared.array(stages * a_tile.size, scalar)
        lds_b = gpu.shared.array(stages * b_tile.size, scalar)
        roles = Roles(producers, consumers)
        pipe = roles.pipeline(stages)
        pipe.init()
        first_row = gpu.block_idx.y * rows
        first_column = gpu.block_idx.x * columns
        k = 0
        if roles.producer.mine():
            load_a = loader(a_tile, a, first_row, roles.producer.thread())
            load_b = loader(b_tile, b, first_column, roles.producer.thread())
            load_a.load(0)
            load_b.load(0)
            while k < a.shape[1]:
                with pipe.produce() as stage:
                    load_a.store(lds_a, stage.index() * a_tile.size)
                    load_b.store(lds_b, stage.index() * b_tile.size)
                    k += depth
                    load_a.load(k)
                    load_b.load(k)
        else:
            wave_row = roles.consumer.wave() // across * wave_rows
            wave_column = roles.consumer.wave() % across * wave_columns
            part_a = Fragments(a_tile, unit, wave_row, wave_rows // 16)
            part_b = Fragments(b_tile, unit, wave_column, wave_columns // 16)
            total = Accumulator(unit, wave_rows // 16, wave_columns // 16)
            while k < a.shape[1]:
                with pipe.consume() as stage:
                    for step in gpu.static_range(depth // unit.depth):
                        part_a.read(lds_a, stage.index() * a_tile.size, step)
                        part_b.read(lds_b, stage.index() * b_tile.size, step)
                        total.multiply(part_a, part_b)
                k += depth
            total.store(c, first_row + wave_row, first_column + wave_column, vector_out)

    return gemm_pipeline
