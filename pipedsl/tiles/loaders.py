"""How tiles of a matrix travel from memory to LDS.

A loader is one thread's part. ``load(k)`` says which tile is the next, ``store(lds, base)`` brings it
to LDS; a fence of the wave's accesses to LDS ends it. Threads are one behind the other in LDS, a
chunk each; the tile's permutation is in where they load from. Addresses are a uniform base and a
32-bit index.
"""

from __future__ import annotations

import numpy as np

from pipedsl.target import gpu
from pipedsl.tiles.shape import OUTSIDE


class TileLoader:
    """Through registers: `load` starts loading, so that there is time until `store`.

    Parameters
    ----------
    tile : Tile
    matrix : array of shape (rows, K)
    first_row : int
        Row of the matrix at which the tiles begin; what lies beyond the matrix is 0.
    thread : int
        Position among the tile's threads.
    """

    def __init__(self, tile, matrix, first_row, thread):
        gpu.static_check(
            tile.step_rows % (tile.pattern_rows * tile.patterns) == 0,
            "{} threads bring {} rows at a time, less than the permutation repeats in.",
            "give the tile more threads.",
            tile.threads,
            tile.step_rows,
        )
        depth = matrix.shape[1]
        row = thread // tile.row_chunks
        pattern = row // tile.pattern_rows % tile.patterns
        column = (thread % tile.row_chunks ^ pattern) * tile.chunk
        indices = gpu.local.array(tile.steps, np.int32)
        for i in gpu.static_range(tile.steps):
            indices[i] = (first_row + row + i * tile.step_rows) * depth + column
        self.tile = tile
        self.buffer = gpu.buffer(matrix)
        self.depth = depth
        self.row = row
        self.column = column
        self.indices = indices
        self.thread = thread
        self.next = gpu.local.array(1, np.int32)
        self.chunks = gpu.local.array(tile.steps, gpu.vec(tile.dtype, tile.chunk))

    def load(self, k):
        """Start loading the tile whose first column is `k`."""
        tile, buffer, indices, chunks = self.tile, self.buffer, self.indices, self.chunks
        inside = self.column < self.depth - k
        for i in gpu.static_range(tile.steps):
            index = indices[i] if inside else OUTSIDE
            chunks[i] = gpu.buffer_load(buffer, index, tile.chunk, k)

    def store(self, lds, base):
        """Bring the tile to `lds` from element `base` on."""
        self.store_steps(lds, base, 0, self.tile.steps)

    def store_steps(self, lds, base, first, count):
        """As `store`, but only `count` steps from `first` on: rows ``first * tile.step_rows`` ..."""
        tile, chunks = self.tile, self.chunks
        place = base + self.thread * tile.chunk
        for i in gpu.static_range(first, first + count):
            if i < tile.whole_steps or self.row + i * tile.step_rows < tile.rows:
                gpu.store(lds, place, chunks[i], offset=i * tile.step_rows * tile.columns)


class TileCopier(TileLoader):
    """Straight to LDS, 16 bytes per lane, where the arch can: `store` starts copying."""

    def load(self, k):
        """Note which tile is the next."""
        self.next[0] = k

    def store_steps(self, lds, base, first, count):
        """Start copying; the wave's first thread tells where in LDS."""
        tile, buffer, indices, k = self.tile, self.buffer, self.indices, self.next[0]
        inside = self.column < self.depth - k
        place = base + gpu.readfirstlane(self.thread) * tile.chunk
        for i in gpu.static_range(first, first + count):
            if i < tile.whole_steps or self.row + i * tile.step_rows < tile.rows:
                index = indices[i] if inside else OUTSIDE
                start = place + i * tile.step_rows * tile.columns
                gpu.buffer_load_to_lds(buffer, index, lds, start, tile.chunk, k)


class PieceLoader(TileLoader):
    """Rows that are no multiple of a chunk: ``tile.vector`` elements at a time.

    Each piece takes registers of its own, too many to hold a tile: `store` loads and stores.
    """

    def load(self, k):
        """Note which tile is the next."""
        self.next[0] = k

    def store_steps(self, lds, base, first, count):
        """Load pieces and store them."""
        tile, buffer, indices, k = self.tile, self.buffer, self.indices, self.next[0]
        place = base + self.thread * tile.chunk
        for i in gpu.static_range(first, first + count):
            if i < tile.whole_steps or self.row + i * tile.step_rows < tile.rows:
                for part in gpu.static_range(0, tile.chunk, tile.vector):
                    inside = self.column + part < self.depth - k
                    index = indices[i] + part if inside else OUTSIDE
                    piece = gpu.buffer_load(buffer, index, tile.vector, k)
                    offset = i * tile.step_rows * tile.columns + part
                    if tile.vector == 1:
                        lds[place + offset] = piece
                    else:
                        gpu.store(lds, place, piece, offset=offset)
                gpu.sched_barrier()
