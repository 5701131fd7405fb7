"""LDS: dynamic size, padded and swizzled tiles, transposed loads."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pipedsl import (
    MemoryFault,
    ProtocolError,
    SharedTile,
    TargetError,
    gpu,
    pipelined_kernel,
    use_device,
)
from pipedsl.core.arch import ARCHS

ALL = list(ARCHS)


@pipelined_kernel
def reversed_through_lds(out, n):
    ring = gpu.shared.array(4, np.int32)
    pool = gpu.shared.array(0, np.int32)
    t = gpu.thread_idx.x
    if t < 4:
        ring[t] = 7
    if t < n:
        pool[t] = t * t
    gpu.barrier()
    if t < n:
        out[t] = pool[n - 1 - t] + ring[t % 4]


@pytest.mark.parametrize("arch", ALL)
def test_dynamic_lds_has_the_size_of_the_launch(arch: str) -> None:
    out = np.zeros(40, np.int32)
    with use_device(f"sim:{arch}"):
        reversed_through_lds[1, 64, 0, 160](out, np.int32(40))
        np.testing.assert_array_equal(out, np.arange(40)[::-1] ** 2 + 7)
        with pytest.raises(MemoryFault, match="outside the workgroup's"):
            reversed_through_lds[1, 64, 0, 64](out, np.int32(40))


@pytest.mark.parametrize("options", [{}, {"padding": 8}, {"swizzle": True}])
@pytest.mark.parametrize(("rows", "columns"), [(16, 64), (32, 32), (8, 128)])
@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_tiles_hold_what_was_stored(arch: str, rows: int, columns: int, options: dict) -> None:
    padding, swizzle = options.get("padding", 0), options.get("swizzle", False)

    @pipelined_kernel
    def kernel(out, source):
        tile = SharedTile(rows, columns, np.float16, padding, swizzle)
        t = gpu.thread_idx.x
        for i in range(t, rows * columns // 8, gpu.block_dim.x):
            row, column = i * 8 // columns, i * 8 % columns
            tile.store(row, column, gpu.load(source, (row, column), 8))
        gpu.barrier()
        if t == 0:
            tile.put(1, 3, tile.get(0, 0) + np.float16(1))
        gpu.barrier()
        for i in range(t, rows * columns // 4, gpu.block_dim.x):
            row, column = i * 4 // columns, i * 4 % columns
            gpu.store(out, (row, column), tile.load(row, column, 4))

    source = np.arange(rows * columns, dtype=np.float16).reshape(rows, columns) % 997
    out = np.zeros_like(source)
    with use_device(f"sim:{arch}"):
        kernel[1, 64](out, source)
    wanted = source.copy()
    wanted[1, 3] = source[0, 0] + 1
    np.testing.assert_array_equal(out, wanted)


def banks(rows: int, columns: int, padding: int = 0, swizzle: bool = False) -> int:
    """The most lanes of 8 that meet one bank, when lane i reads 16 bytes of row i."""

    @pipelined_kernel
    def kernel(out):
        tile = SharedTile(rows, columns, np.float16, padding, swizzle)
        out[gpu.thread_idx.x] = tile.index(gpu.thread_idx.x % rows, 8)

    out = np.zeros(64, np.int32)
    kernel[1, 64](out)
    words = out[:8, None] * 2 // 4 + np.arange(4)
    return int(np.bincount(words.ravel() % 32).max())


def test_swizzles_and_padding_avoid_bank_conflicts() -> None:
    """32 banks of 4 bytes: 8 lanes with 16 bytes each fill them exactly."""
    assert banks(16, 64) == 8
    assert banks(16, 64, swizzle=True) == 1
    assert banks(16, 32, swizzle=True) == 1
    assert banks(16, 128, swizzle=True) == 1
    assert banks(16, 64, padding=8) == 1


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (60, {"swizzle": True}, "a row of 60 elements cannot be swizzled"),
        (96, {"swizzle": True}, "a row of 96 elements cannot be swizzled"),
        (64, {"swizzle": True, "padding": 4}, "a tile is padded or swizzled"),
    ],
)
def test_tiles_that_cannot_be(columns: int, options: dict, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        banks(16, columns, **options)


@pytest.mark.parametrize("dtype", [np.float16, np.int16, ml_dtypes.bfloat16, np.uint8])
def test_transposed_loads(dtype) -> None:
    """16 lanes read rows of 16 elements that follow each other; each gets its column."""
    count = 8 // np.dtype(dtype).itemsize

    @pipelined_kernel
    def kernel(out, source):
        lds = gpu.shared.array(64 * count, dtype)
        t = gpu.thread_idx.x
        gpu.store(lds, t * count, gpu.load(source, t * count, count))
        gpu.barrier()
        gpu.store(out, t * count, gpu.load_transposed(lds, t * count))

    source = (np.arange(64 * count) % 251).astype(dtype)
    out = np.zeros_like(source)
    with use_device("sim:gfx950"):
        kernel[1, 64](out, source)
    wanted = source.reshape(4, count, 16).swapaxes(1, 2).ravel()
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("arch", [arch for arch in ALL if arch != "gfx950"])
def test_transposed_loads_are_refused_elsewhere(arch: str) -> None:
    @pipelined_kernel
    def kernel(out):
        lds = gpu.shared.array(256, np.int16)
        out[0] = gpu.load_transposed(lds, 0)[0]

    with pytest.raises(TargetError, match=rf"{arch} has no gpu.load_transposed\(\)") as caught:
        kernel.compile(np.zeros(1, np.int16), arch=arch)
    assert caught.value.fix == "compile for gfx950."
