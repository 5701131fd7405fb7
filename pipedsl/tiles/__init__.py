"""Tiles of matrices between memory, LDS and the registers of matrix instructions, for GEMM kernels."""

from pipedsl.tiles.loaders import PieceLoader, TileCopier, TileLoader
from pipedsl.tiles.registers import Accumulator, Fragments
from pipedsl.tiles.shape import CHUNK_BYTES, OUTSIDE, MatrixUnit, Tile

__all__ = [
    "CHUNK_BYTES",
    "OUTSIDE",
    "Accumulator",
    "Fragments",
    "MatrixUnit",
    "PieceLoader",
    "Tile",
    "TileCopier",
    "TileLoader",
]
