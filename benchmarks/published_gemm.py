"""Two GEMM kernels built as HipKittens describes those of its table, to compare the model with it.

Both copy from memory straight to LDS, 16 bytes a lane, in two stages of 64 along K, so they are for
gfx950. In the specialised ones four waves only copy. With a barrier, each step they bring the next
stage, wait for all of it, and meet the others; that is how their kernel of 4 and 8 waves works. With
counters, as with 4 and 12 waves, copies of the next stage are on their way while one is handed over.
In the ping-pong kernel eight waves in two groups take turns: a group multiplies one quarter of its
tile while the other reads operands, and every phase copies half of a tile that is needed later.
`kernels/` has kernels of another design.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernels"))

from published_parts import Part, TileCopier, WholeDepth, meet, multiply

from pipedsl import AmdCounterBackend, Kernel, gpu, pipelined_kernel
from pipedsl.core.arch import get_arch
from pipedsl.sim.timing.result import TimedRun
from pipedsl.tiles import Accumulator, MatrixUnit, Tile

DEPTH = 64
DTYPE = np.dtype(ml_dtypes.bfloat16)
_CHUNK = 8  # elements of 16 bytes
_UNIT = MatrixUnit.of(get_arch("gfx950"), DTYPE)
_PRODUCERS = 4


@cache
def with_barrier(rows: int, columns: int) -> tuple[Kernel, int]:
    """The kernel ``(a, b, c)`` with four producers and a consumer for every 64x64; its threads."""
    a_tile, b_tile = (Tile(n, DEPTH, DTYPE.type, _PRODUCERS * 64, _CHUNK) for n in (rows, columns))
    across, consumers = columns // 64, rows // 64 * (columns // 64)
    scalar, unit = DTYPE.type, _UNIT

    @pipelined_kernel
    def gemm_with_barrier(a, b, c):
        lds_a = gpu.shared.array(2 * a_tile.size, scalar)
        lds_b = gpu.shared.array(2 * b_tile.size, scalar)
        first_row = gpu.block_idx.y * rows
        first_column = gpu.block_idx.x * columns
        stage = 0
        k = 0
        if gpu.wave_id() < _PRODUCERS:
            copy_a = TileCopier(a_tile, a, first_row, gpu.thread_idx.x)
            copy_b = TileCopier(b_tile, b, first_column, gpu.thread_idx.x)
            while k < a.shape[1]:
                copy_a.copy(lds_a, stage * a_tile.size, k)
                copy_b.copy(lds_b, stage * b_tile.size, k)
                gpu.waitcnt(vmcnt=0)
                gpu.barrier()
                stage = 1 - stage
                k += DEPTH
        else:
            part = Part(a_tile, b_tile, unit, gpu.wave_id() - _PRODUCERS, across)
            gpu.barrier()
            while k < a.shape[1]:
                part.multiply(lds_a, lds_b, stage)
                k += DEPTH
                stage = 1 - stage
                if k < a.shape[1]:
                    gpu.barrier()
            part.store(c, first_row, first_column)

    return gemm_with_barrier, (_PRODUCERS + consumers) * 64


@cache
def with_counters(rows: int, columns: int) -> tuple[Kernel, int]:
    """As `with_barrier`, with counters in LDS instead."""
    a_tile, b_tile = (Tile(n, DEPTH, DTYPE.type, _PRODUCERS * 64, _CHUNK) for n in (rows, columns))
    across, consumers = columns // 64, rows // 64 * (columns // 64)
    copies = a_tile.steps + b_tile.steps
    scalar, unit = DTYPE.type, _UNIT

    @pipelined_kernel
    def gemm_with_counters(a, b, c):
        lds_a = gpu.shared.array(2 * a_tile.size, scalar)
        lds_b = gpu.shared.array(2 * b_tile.size, scalar)
        ring = AmdCounterBackend(2, _PRODUCERS, consumers)
        if gpu.thread_idx.x == 0:
            ring.init_barriers(_PRODUCERS, consumers)
        gpu.barrier()
        first_row = gpu.block_idx.y * rows
        first_column = gpu.block_idx.x * columns
        stage = 0
        lap = 0
        k = 0
        if gpu.wave_id() < _PRODUCERS:
            copy_a = TileCopier(a_tile, a, first_row, gpu.thread_idx.x)
            copy_b = TileCopier(b_tile, b, first_column, gpu.thread_idx.x)
            while k < a.shape[1]:
                ring.wait_empty(stage, lap + 1)
                copy_a.copy(lds_a, stage * a_tile.size, k)
                copy_b.copy(lds_b, stage * b_tile.size, k)
                if k > 0:
                    gpu.waitcnt(vmcnt=copies)
                    ring.arrive_full(1 - stage)
                lap += stage
                stage = 1 - stage
                k += DEPTH
            gpu.waitcnt(vmcnt=0)
            ring.arrive_full(1 - stage)
        else:
            part = Part(a_tile, b_tile, unit, gpu.wave_id() - _PRODUCERS, across)
            while k < a.shape[1]:
                ring.wait_full(stage, lap)
                part.multiply(lds_a, lds_b, stage)
                ring.arrive_empty(stage)
                lap += stage
                stage = 1 - stage
                k += DEPTH
            part.store(c, first_row, first_column)

    return gemm_with_counters, (_PRODUCERS + consumers) * 64


@cache
def ping_pong(rows: int, columns: int) -> tuple[Kernel, int]:
    """The kernel ``(a, b, c)`` of two by four waves, for K in steps of 128; its threads."""
    threads = 512
    a_half, b_half = (Tile(n // 2, DEPTH, DTYPE.type, threads, _CHUNK) for n in (rows, columns))
    wave_rows, wave_columns = rows // 4, columns // 8  # of a quarter
    in_flight = a_half.whole_steps + 2 * b_half.whole_steps  # of a wave, for the stage after next
    scalar, unit = DTYPE.type, _UNIT

    @pipelined_kernel
    def gemm_ping_pong(a, b, c):
        lds_a = gpu.shared.array(4 * a_half.size, scalar)  # two stages of two halves
        lds_b = gpu.shared.array(4 * b_half.size, scalar)
        first_row = gpu.block_idx.y * rows
        first_column = gpu.block_idx.x * columns
        group = gpu.wave_id() // 4
        low_a = TileCopier(a_half, a, first_row, gpu.thread_idx.x)
        high_a = TileCopier(a_half, a, first_row + rows // 2, gpu.thread_idx.x)
        low_b = TileCopier(b_half, b, first_column, gpu.thread_idx.x)
        high_b = TileCopier(b_half, b, first_column + columns // 2, gpu.thread_idx.x)
        part_a = WholeDepth(a_half, unit, group * wave_rows, wave_rows // 16)
        low_part = WholeDepth(b_half, unit, gpu.wave_id() % 4 * wave_columns, wave_columns // 16)
        high_part = WholeDepth(b_half, unit, gpu.wave_id() % 4 * wave_columns, wave_columns // 16)
        total_00 = Accumulator(unit, wave_rows // 16, wave_columns // 16)
        total_01 = Accumulator(unit, wave_rows // 16, wave_columns // 16)
        total_10 = Accumulator(unit, wave_rows // 16, wave_columns // 16)
        total_11 = Accumulator(unit, wave_rows // 16, wave_columns // 16)
        low_b.copy(lds_b, 0, 0)
        low_a.copy(lds_a, 0, 0)
        high_b.copy(lds_b, b_half.size, 0)
        high_a.copy(lds_a, a_half.size, 0)
        if group == 1:
            meet()
        low_b.copy(lds_b, 2 * b_half.size, DEPTH)
        low_a.copy(lds_a, 2 * a_half.size, DEPTH)
        high_b.copy(lds_b, 3 * b_half.size, DEPTH)
        gpu.waitcnt(vmcnt=in_flight)
        meet()
        k = 0
        while k < a.shape[1]:
            for stage in gpu.static_range(2):
                here_a, here_b = stage * 2 * a_half.size, stage * 2 * b_half.size
                low_part.read(lds_b, here_b)
                part_a.read(lds_a, here_a)
                there_a = (1 - stage) * 2 * a_half.size + a_half.size
                high_a.copy(lds_a, there_a, k + (stage + 1) * DEPTH)
                multiply(total_00, part_a, low_part)
                high_part.read(lds_b, here_b + b_half.size)
                low_b.copy(lds_b, here_b, k + (stage + 2) * DEPTH)
                multiply(total_01, part_a, high_part)
                part_a.read(lds_a, here_a + a_half.size)
                low_a.copy(lds_a, here_a, k + (stage + 2) * DEPTH)
                multiply(total_10, part_a, low_part)
                high_b.copy(lds_b, here_b + b_half.size, k + (stage + 2) * DEPTH)
                gpu.waitcnt(vmcnt=in_flight)
                multiply(total_11, part_a, high_part)
            k += 2 * DEPTH
        if group == 0:
            meet()
        row = first_row + group * wave_rows
        column = first_column + gpu.wave_id() % 4 * wave_columns
        total_00.store(c, row, column, 4)
        total_01.store(c, row, column + columns // 2, 4)
        total_10.store(c, row + rows // 2, column, 4)
        total_11.store(c, row + rows // 2, column + columns // 2, 4)

    return gemm_ping_pong, threads


KERNELS = {"with_barrier": with_barrier, "with_counters": with_counters, "ping_pong": ping_pong}


def time(name: str, rows: int, columns: int, m: int, n: int = 8192, k: int = 8192) -> TimedRun:
    """The modelled time of a product of `m` x `n` x `k` in tiles of `rows` x `columns`.

    The workgroups that are modelled compute the first column of tiles.
    """
    kernel, threads = KERNELS[name](rows, columns)
    workgroups = m // rows * (n // columns)
    a, b = np.zeros((rows, k), DTYPE), np.zeros((columns, k), DTYPE)
    c = np.zeros((rows, columns), np.float32)
    return kernel[(1, workgroups), threads].time(a, b, c, arch="gfx950")
