"""How tiles of a matrix travel from memory through LDS into the operands of matrix instructions.

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
"""Index out of range of every buffer below 2 GiB whose elements have up to 4 bytes."""


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
    """A tile of a matrix in LDS, and how `threads` threads bring it there.

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
    def parts(self) -> int:
        """Loads from memory per chunk."""
        return self.chunk // self.vector

    @property
    def piece(self) -> Any:
        """What one load yields."""
        return self.dtype if self.vector == 1 else gpu.vec(self.dtype, self.vector)

    @property
    def pattern_rows(self) -> int:
        """Consecutive rows with the same permutation: together they span all banks."""
        return max(1, 8 // self.row_chunks)

    @property
    def patterns(self) -> int:
        """Different permutations."""
        return min(8, self.row_chunks)


class TileLoader:
    """One thread's part of bringing tiles along K from memory to LDS, through registers.

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
        chunk = thread % tile.row_chunks
        pattern = row // tile.pattern_rows % tile.patterns
        indices = gpu.local.array(tile.steps, np.int32)
        for i in gpu.static_range(tile.steps):
            indices[i] = (first_row + row + i * tile.step_rows) * depth + chunk * tile.chunk
        self.tile = tile
        self.buffer = gpu.buffer(matrix)
        self.depth = depth
        self.row = row
        self.column = chunk * tile.chunk
        self.indices = indices
        self.target = row * tile.columns + (chunk ^ pattern) * tile.chunk
        self.pieces = gpu.local.array((tile.steps, tile.parts), tile.piece)

    def load(self, k):
        """Start loading the tile whose first column is `k`."""
        tile = self.tile
        for part in gpu.static_range(tile.parts):
            inside = self.column + part * tile.vector < self.depth - k
            for i in gpu.static_range(tile.steps):
                index = self.indices[i] + part * tile.vector if inside else OUTSIDE
                self.pieces[i, part] = gpu.buffer_load(self.buffer, index, tile.vector, k)

    def store(self, lds, base):
        """Put the loaded tile into `lds` from element `base` on."""
        self.store_steps(lds, base, 0, self.tile.steps)

    def store_steps(self, lds, base, first, count):
        """As `store`, but only `count` steps from `first` on: rows ``first * tile.step_rows`` ..."""
        tile = self.tile
        for i in gpu.static_range(first, first + count):
            if i < tile.whole_steps or self.row + i * tile.step_rows < tile.rows:
                self.store_step(lds, base, i)

    def store_step(self, lds, base, i):
        """Put what step `i` loaded into `lds`."""
        tile = self.tile
        for part in gpu.static_range(tile.parts):
            place = base + self.target
            offset = i * tile.step_rows * tile.columns + part * tile.vector
            if tile.vector == 1:
                lds[place + offset] = self.pieces[i, part]
            else:
                gpu.store(lds, place, self.pieces[i, part], offset=offset)


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
        for i in gpu.static_range(self.count):
            first = self.chunk(lds, base, i, step * self.unit.reads)
            if self.unit.reads == 2:
                second = self.chunk(lds, base, i, step * 2 + 1)
                self.operands[i, 0] = gpu.bitcast(
                    gpu.vec(np.int64, 4)(first[0], first[1], second[0], second[1]),
                    gpu.vec(self.tile.dtype, self.unit.operand),
                )
            elif self.unit.parts == 1:
                self.operands[i, 0] = gpu.bitcast(
                    first, gpu.vec(self.tile.dtype, self.unit.operand)
                )
            else:
                for part in gpu.static_range(2):
                    self.operands[i, part] = gpu.bitcast(
                        first[part], gpu.vec(self.tile.dtype, self.unit.operand)
                    )

    def chunk(self, lds, base, i, number):
        """Chunk `number` of the lane's K elements, of operand `i`, as two int64."""
        tile = self.tile
        place = base + self.places[number]
        loaded = gpu.load(lds, place, tile.chunk, offset=i * 16 * tile.columns)
        return gpu.bitcast(loaded, gpu.vec(np.int64, 2))


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
        for part in gpu.static_range(self.unit.parts):
            for i in gpu.static_range(self.rows):
                for j in gpu.static_range(self.columns):
                    self.tiles[i, j] = gpu.mfma(
                        b.operands[j, part], a.operands[i, part], self.tiles[i, j]
                    )

    def store(self, c, first_row, first_column, vector):
        """Store to the matrix `c` what lies within it, `vector` (1 or 4) elements at a time."""
        unit = self.unit
        buffer = gpu.buffer(c)
        width = c.shape[1]
        group = gpu.lane_id() // 16
        stride = 2 if unit.interleaved else 1
        start = group if unit.interleaved else group * unit.result
        row = (first_row + gpu.lane_id() % 16) * width
        for j in gpu.static_range(self.columns):
            for e in gpu.static_range(0, unit.result, vector):
                column = first_column + start + j * 16 + e * stride
                for i in gpu.static_range(self.rows):
                    index = row + column + i * 16 * width if column < width else OUTSIDE
                    t = self.tiles[i, j]
                    if vector == 1:
                        gpu.buffer_store(buffer, index, t[e])
                    else:
                        part = gpu.vec(np.float32, 4)(t[e], t[e + 1], t[e + 2], t[e + 3])
                        gpu.buffer_store(buffer, index, part)
