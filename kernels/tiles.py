"""Tiles of a matrix in LDS, and how they become the operands of matrix instructions.

A matrix is row-major with K along its rows, so that 16 consecutive bytes of a row, a *chunk*, are
one load, one LDS access, and elements of K that a lane multiplies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pipedsl import gpu
from pipedsl.core.arch import Arch

CHUNK_BYTES = 16
OUTSIDE = -(2**29)
"""Bits that put an index out of range of every matrix below 2 GiB, whose elements have 1 to 4 bytes."""


@dataclass(frozen=True)
class MatrixUnit:
    """Lanes of an arch's 16x16 matrix instruction (CDNA, RDNA3 and RDNA4 ISA documents).

    Lane ``l`` holds row ``l % 16`` of A and of B, and of K the elements of group ``l // 16``. Of the
    result it holds column ``l % 16``. Which elements of K a group has does not matter, as long as
    it has the same of A and of B.

    Attributes
    ----------
    operand : int
        Elements of A, and of B, per lane.
    chunk : int
        Elements of 16 bytes: what a lane reads from LDS at a time.
    groups : int
        Groups of lanes that hold different elements of K: 1 where both hold the same (gfx11).
    result : int
        Elements of the result per lane.
    interleaved : bool
        Whether the groups' rows of the result alternate (gfx11) instead of being consecutive.
    """

    operand: int
    chunk: int
    groups: int
    result: int
    interleaved: bool

    @staticmethod
    def of(arch: Arch, dtype: np.dtype) -> MatrixUnit:
        """The unit of `arch` for a `dtype` of one or two bytes."""
        chunk = CHUNK_BYTES // dtype.itemsize
        if arch.generation == 11:
            return MatrixUnit(16, chunk, 1, 8, True)
        if arch.generation == 12:
            return MatrixUnit(8, chunk, 2, 8, False)
        nbytes = 16 if arch.name == "gfx950" and dtype.itemsize == 2 else 8
        return MatrixUnit(nbytes // dtype.itemsize, chunk, 4, 4, False)

    @property
    def reads(self) -> int:
        """Chunks that a lane reads per step along K."""
        return max(1, self.operand // self.chunk)

    @property
    def parts(self) -> int:
        """Instructions that multiply what one step reads."""
        return max(1, self.chunk // self.operand)

    @property
    def depth(self) -> int:
        """Elements along K of a step."""
        return self.groups * self.reads * self.chunk


@dataclass(frozen=True)
class Tile:
    """A tile of a matrix in LDS, which `threads` threads bring there.

    Chunks are permuted within their row by an XOR with the row, so that 8 lanes that read the same
    chunk of consecutive rows meet 8 different groups of banks, without padding.

    Attributes
    ----------
    rows, columns : int
        Elements; the columns are along K.
    dtype : NumPy scalar type
    threads : int
    vector : int
        Elements per load from memory: the largest power of two that divides the length of the
        matrix's rows, but at most a chunk.
    """

    rows: int
    columns: int
    dtype: Any
    threads: int
    vector: int

    @property
    def size(self) -> int:
        """Elements."""
        return self.rows * self.columns

    @property
    def chunk(self) -> int:
        """Elements of a chunk."""
        return CHUNK_BYTES // np.dtype(self.dtype).itemsize

    @property
    def row_chunks(self) -> int:
        """Chunks of a row."""
        return self.columns // self.chunk

    @property
    def steps(self) -> int:
        """Chunks that each thread brings; in the last step some threads may have none."""
        return -(-self.rows * self.row_chunks // self.threads)

    @property
    def step_rows(self) -> int:
        """Rows that all threads bring in one step."""
        return self.threads // self.row_chunks

    @property
    def whole_steps(self) -> int:
        """Steps in which every thread has a chunk."""
        return self.rows // self.step_rows

    @property
    def pattern_rows(self) -> int:
        """Consecutive rows with the same permutation: together they span all banks."""
        return max(1, 8 // self.row_chunks)

    @property
    def patterns(self) -> int:
        """Different permutations."""
        return min(8, self.row_chunks)


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
