"""The shape of a tile of a matrix in LDS, and what a lane holds of a matrix instruction.

A matrix is row-major with K along its rows, so that 16 consecutive bytes of a row, a *chunk*, are
one load, one LDS access, and elements of K that a lane multiplies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
