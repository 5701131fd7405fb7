"""A wave's operands and results of matrix instructions, in registers."""

from __future__ import annotations

import numpy as np

from pipedsl.target import gpu
from pipedsl.tiles.shape import OUTSIDE


class Fragments:
    """A wave's matrix operands from a tile in LDS.

    Parameters
    ----------
    tile : Tile
    unit : MatrixUnit
    first_row : int
        Row of the tile at which the wave's part begins, a multiple of 16.
    count : int
        Operands of 16 rows each.
    """

    def __init__(self, tile, unit, first_row, count):
        lane = gpu.lane_id() % 16
        group = gpu.lane_id() // 16 % unit.groups
        pattern = lane // tile.pattern_rows % tile.patterns
        row = (first_row + lane) * tile.columns
        chunks = tile.row_chunks // unit.groups  # of a lane
        places = gpu.local.array(chunks, np.int32)
        for number in gpu.static_range(chunks):
            places[number] = row + ((number * unit.groups + group) ^ pattern) * tile.chunk
        self.tile = tile
        self.unit = unit
        self.count = count
        self.places = places
        self.operands = gpu.local.array((count, unit.parts), gpu.vec(tile.dtype, unit.operand))

    def read(self, lds, base, step):
        """Read what step `step` along K multiplies, of the tile at element `base` of `lds`."""
        unit = self.unit
        place = base + self.places[step * unit.reads]
        if unit.reads == 2:
            self.read_joined(lds, place, base + self.places[step * 2 + 1])
        elif unit.parts == 2:
            self.read_halves(lds, place)
        else:
            self.read_whole(lds, place)

    def read_whole(self, lds, place):
        """Operands of a chunk."""
        tile, operands = self.tile, self.operands
        for i in gpu.static_range(self.count):
            operands[i, 0] = gpu.load(lds, place, tile.chunk, offset=i * 16 * tile.columns)

    def read_halves(self, lds, place):
        """Operands of half a chunk."""
        tile, operands = self.tile, self.operands
        half, halves = gpu.vec(tile.dtype, tile.chunk // 2), gpu.vec(np.int64, 2)
        for i in gpu.static_range(self.count):
            chunk = gpu.load(lds, place, tile.chunk, offset=i * 16 * tile.columns)
            pair = gpu.bitcast(chunk, halves)
            operands[i, 0] = gpu.bitcast(pair[0], half)
            operands[i, 1] = gpu.bitcast(pair[1], half)

    def read_joined(self, lds, place, next_place):
        """Operands of two chunks."""
        tile, operands = self.tile, self.operands
        pair = gpu.vec(np.int64, 2)
        for i in gpu.static_range(self.count):
            offset = i * 16 * tile.columns
            first = gpu.bitcast(gpu.load(lds, place, tile.chunk, offset=offset), pair)
            second = gpu.bitcast(gpu.load(lds, next_place, tile.chunk, offset=offset), pair)
            joined = gpu.vec(np.int64, 4)(first[0], first[1], second[0], second[1])
            operands[i, 0] = gpu.bitcast(joined, gpu.vec(tile.dtype, 2 * tile.chunk))


class Accumulator:
    """A wave's part of the result: ``rows x columns`` tiles of 16x16 in registers.

    The instruction gets B as its first operand: a lane then holds consecutive columns of a row of
    the result, which it stores at once.
    """

    def __init__(self, unit, rows, columns):
        tiles = gpu.local.array((rows, columns), gpu.vec(np.float32, unit.result))
        for i in gpu.static_range(rows):
            for j in gpu.static_range(columns):
                tiles[i, j] = 0.0
        self.unit = unit
        self.rows = rows
        self.columns = columns
        self.tiles = tiles

    def multiply(self, a, b):
        """Add the product of the operands that `a` and `b` have read."""
        tiles, left, right = self.tiles, b.operands, a.operands
        for part in gpu.static_range(self.unit.parts):
            for i in gpu.static_range(self.rows):
                for j in gpu.static_range(self.columns):
                    tiles[i, j] = gpu.mfma(left[j, part], right[i, part], tiles[i, j])

    def store(self, c, first_row, first_column, vector):
        """Store to the matrix `c` what lies within it, `vector` (1 or 4) elements at a time."""
        unit, tiles, buffer = self.unit, self.tiles, gpu.buffer(c)
        height, width = c.shape
        group = gpu.lane_id() // 16
        stride = 2 if unit.interleaved else 1
        column = first_column + (group if unit.interleaved else group * unit.result)
        indices = gpu.local.array(self.rows, np.int32)
        below = gpu.local.array(self.rows, np.int32)
        for i in gpu.static_range(self.rows):
            row = first_row + gpu.lane_id() % 16 + i * 16
            indices[i] = row * width + column
            below[i] = 0 if row < height else OUTSIDE
        for j in gpu.static_range(self.columns):
            for e in gpu.static_range(0, unit.result, vector):
                offset = j * 16 + e * stride
                beyond = 0 if column + offset < width else OUTSIDE
                for i in gpu.static_range(self.rows):
                    index = indices[i] + offset | below[i] | beyond
                    self.store_part(buffer, index, tiles[i, j], e, vector)

    def store_part(self, buffer, index, tile, e, vector):
        """Store `vector` elements of `tile` from its element `e` on."""
        if vector == 1:
            gpu.buffer_store(buffer, index, tile[e])
        else:
            part = gpu.vec(np.float32, 4)(tile[e], tile[e + 1], tile[e + 2], tile[e + 3])
            gpu.buffer_store(buffer, index, part)
