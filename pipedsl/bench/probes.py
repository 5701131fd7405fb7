"""The kernels of the microbenchmarks. Each reads the shader clock around what it measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from pipedsl.core.arch import Arch
from pipedsl.dispatch import Kernel, pipelined_kernel
from pipedsl.pipeline import AmdCounterBackend, Roles
from pipedsl.target import gpu
from pipedsl.tiles import MatrixUnit

ROUNDS = 128
TABLE = 1 << 20  # int32: 4 MiB
_STEP = (1 << 16) + 32  # elements, so that a chase meets no line and no page twice
_UNROLL = 8
_AHEAD = 4  # loads of a producer in flight


@dataclass(frozen=True)
class Case:
    """One measurement.

    Attributes
    ----------
    name, unit : str
    kernel : Kernel
        ``(ticks, table, rounds)``: int64 per wave, int32 of `TABLE` elements, int32.
    waves : int
    count : int
        How many of what `unit` names one round holds.
    nbytes : int
        Bytes that one round moves; 0 where that is not the question.
    """

    name: str
    unit: str
    kernel: Kernel
    waves: int = 1
    count: int = 1
    nbytes: int = 0


def table() -> np.ndarray:
    """What probes read: every element names the next one of a chase."""
    return ((np.arange(TABLE, dtype=np.int64) + _STEP) % TABLE).astype(np.int32)


@cache
def _handoff(stages: int) -> Kernel:
    @pipelined_kernel
    def handoff(ticks, table, rounds):
        ring = AmdCounterBackend(stages)
        if gpu.thread_idx.x == 0:
            ring.init_barriers(1, 1)
        gpu.barrier()
        stage = 0
        lap = 0
        start = gpu.clock()
        for _ in range(rounds):
            if gpu.wave_id() == 0:
                ring.wait_empty(stage, lap + 1)
                ring.arrive_full(stage)
            else:
                ring.wait_full(stage, lap)
                ring.arrive_empty(stage)
            stage += 1
            if stage == stages:
                stage = 0
                lap += 1
        ticks[gpu.wave_id()] = gpu.clock() - start

    return handoff


@cache
def _ring_copy(stages: int, waves: int) -> Kernel:
    four = 4

    @pipelined_kernel
    def ring_copy(ticks, table, rounds):
        roles = Roles(producers=waves, consumers=waves)
        pipe = roles.pipeline(stages)
        step = roles.producer.threads() * four
        slots = gpu.shared.array(stages * step, np.int32)
        pipe.init()
        source = gpu.buffer(table)
        half = table.shape[0] // 2
        ahead = gpu.local.array(_AHEAD, gpu.vec(np.int32, four))
        start = gpu.clock()
        if roles.producer.mine():
            place = roles.producer.thread() * four
            for j in gpu.static_range(_AHEAD):
                ahead[j] = gpu.buffer_load(source, place + j * step, four)
            for i in range(0, rounds, _AHEAD):
                for j in gpu.static_range(_AHEAD):
                    with pipe.produce() as stage:
                        gpu.store(slots, stage.index() * step + place, ahead[j])
                        ahead[j] = gpu.buffer_load(source, place + (i + j + _AHEAD) * step, four)
        else:
            place = half + roles.consumer.thread() * four
            for i in range(0, rounds, _AHEAD):
                for j in gpu.static_range(_AHEAD):
                    with pipe.consume() as stage:
                        taken = gpu.load(slots, stage.index() * step + place - half, four)
                        gpu.buffer_store(source, place + (i + j) * step, taken)
            gpu.waitcnt(vmcnt=0, vscnt=0)
        ticks[gpu.wave_id()] = gpu.clock() - start

    return ring_copy


@cache
def _matrix(unit: MatrixUnit, streams: int) -> Kernel:
    @pipelined_kernel
    def matrix(ticks, table, rounds):
        operand = gpu.vec(np.float16, unit.operand)(np.float16(table[gpu.lane_id()]))
        totals = gpu.local.array(streams, gpu.vec(np.float32, unit.result))
        for i in gpu.static_range(streams):
            totals[i] = 0.0
        start = gpu.clock()
        for _ in range(rounds):
            for _ in gpu.static_range(_UNROLL // streams):
                for i in gpu.static_range(streams):
                    totals[i] = gpu.mfma(operand, operand, totals[i])
        ticks[gpu.wave_id()] = gpu.clock() - start
        total = np.float32(0)
        for i in gpu.static_range(streams):
            total += totals[i][0]
        table[gpu.lane_id()] = np.int32(total)

    return matrix


_APART = 257  # elements: beyond what two accesses of one instruction reach


@cache
def _lds_read(stride: int) -> Kernel:
    @pipelined_kernel
    def lds_read(ticks, table, rounds):
        slots = gpu.shared.array(32 * 64 + _UNROLL * _APART, np.int32)
        place = gpu.lane_id() * stride
        for i in gpu.static_range(_UNROLL):
            slots[place + i * _APART] = 0
        gpu.barrier()
        start = gpu.clock()
        for _ in range(rounds):
            total = 0
            for i in gpu.static_range(_UNROLL):
                total |= slots[place + i * _APART]
            place += total
        ticks[gpu.wave_id()] = gpu.clock() - start
        table[gpu.lane_id()] = place

    return lds_read


@cache
def _lds_write(stride: int) -> Kernel:
    @pipelined_kernel
    def lds_write(ticks, table, rounds):
        slots = gpu.shared.array(32 * 64 + _UNROLL * _APART, np.int32)
        place = gpu.lane_id() * stride
        start = gpu.clock()
        for n in range(rounds):
            place += n >> 20  # nothing, but the compiler cannot know: every write stays
            for i in gpu.static_range(_UNROLL):
                slots[place + i * _APART] = n
        gpu.fence_lds()
        ticks[gpu.wave_id()] = gpu.clock() - start
        table[gpu.lane_id()] = slots[place]

    return lds_write


@cache
def _lds_latency() -> Kernel:
    @pipelined_kernel
    def lds_latency(ticks, table, rounds):
        slots = gpu.shared.array(64, np.int32)
        slots[gpu.lane_id()] = gpu.lane_id()
        gpu.barrier()
        place = gpu.lane_id()
        start = gpu.clock()
        for _ in range(rounds):
            for _ in gpu.static_range(_UNROLL):
                place = slots[place]
        table[gpu.lane_id()] = place
        ticks[gpu.wave_id()] = gpu.clock() - start

    return lds_latency


@cache
def _global_latency() -> Kernel:
    @pipelined_kernel
    def global_latency(ticks, table, rounds):
        source = gpu.buffer(table)
        place = gpu.lane_id()
        start = gpu.clock()
        for _ in range(rounds):
            place = gpu.buffer_load(source, place)
        ticks[gpu.wave_id()] = gpu.clock() - start + (place >> 30)

    return global_latency


@cache
def _fence() -> Kernel:
    @pipelined_kernel
    def fence(ticks, table, rounds):
        slots = gpu.shared.array(64, np.int32)
        start = gpu.clock()
        for n in range(rounds):
            for _ in gpu.static_range(_UNROLL):
                slots[gpu.lane_id()] = n
                gpu.fence_lds()
        ticks[gpu.wave_id()] = gpu.clock() - start
        table[gpu.lane_id()] = slots[gpu.lane_id()]

    return fence


@cache
def _barrier() -> Kernel:
    @pipelined_kernel
    def barrier(ticks, table, rounds):
        start = gpu.clock()
        for _ in range(rounds):
            for _ in gpu.static_range(_UNROLL):
                gpu.barrier()
        ticks[gpu.wave_id()] = gpu.clock() - start

    return barrier


def handoffs(arch: Arch) -> Iterator[Case]:
    """One wave signals, another waits; with one slot they take turns."""
    yield Case("hand-off latency", "cycles per hand-off", _handoff(1), 2, 2)
    for stages in (2, 4, 8):
        yield Case(f"hand-off, {stages} stages", "cycles per item", _handoff(stages), 2)


def copies(arch: Arch) -> Iterator[Case]:
    """Memory to LDS by producers, LDS to memory by consumers, 16 bytes a lane."""
    for stages in (1, 2, 4, 8):
        nbytes = 4 * arch.wave_size * 16
        kernel = _ring_copy(stages, 4)
        yield Case(f"ring copy, {stages} stages", "cycles per slot", kernel, 8, 1, nbytes)


def matrices(arch: Arch) -> Iterator[Case]:
    """float16 matrix instructions of one wave."""
    unit = MatrixUnit.of(arch, np.dtype(np.float16))
    for streams, name in ((1, "dependent"), (4, "four accumulators")):
        yield Case(f"MFMA, {name}", "cycles per instruction", _matrix(unit, streams), 1, _UNROLL)


def reads(arch: Arch) -> Iterator[Case]:
    """LDS reads of 4 bytes a lane, lanes some elements apart."""
    yield Case("LDS read, dependent", "cycles per read", _lds_latency(), 1, _UNROLL)
    for stride in (1, 2, 4, 8, 16, 32):
        yield Case(f"LDS read, stride {stride}", "cycles per read", _lds_read(stride), 1, _UNROLL)


def writes(arch: Arch) -> Iterator[Case]:
    """LDS writes of 4 bytes a lane, lanes some elements apart."""
    for stride in (1, 2, 4, 8, 16, 32):
        kernel = _lds_write(stride)
        yield Case(f"LDS write, stride {stride}", "cycles per write", kernel, 1, _UNROLL)


def memory(arch: Arch) -> Iterator[Case]:
    """Loads whose address is what the load before brought, from lines that no cache holds."""
    yield Case("global load, dependent", "cycles per load", _global_latency())


def fences(arch: Arch) -> Iterator[Case]:
    """An LDS write and the wait for it."""
    yield Case("LDS write and fence", "cycles", _fence(), 1, _UNROLL)


def barriers(arch: Arch) -> Iterator[Case]:
    """Barriers at which the waves arrive together."""
    for waves in (2, 4, 8):
        yield Case(f"barrier of {waves} waves", "cycles per barrier", _barrier(), waves, _UNROLL)


PROBES: dict[str, Callable[[Arch], Iterator[Case]]] = {
    "handoff": handoffs, "copy": copies, "mfma": matrices, "lds_read": reads,
    "lds_write": writes, "global": memory, "fence": fences, "barrier": barriers,
}  # fmt: skip
