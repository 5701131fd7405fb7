"""Attention, forward: softmax(Q K^T / sqrt(D)) V by specialised waves.

    python kernels/attention.py --heads 2 --queries 256 --keys 256 --arch gfx942 --mask causal

Two producer waves bring tiles of K and of V, the latter transposed. Each consumer wave keeps 16 or 32
queries and their part of the result in registers, and normalises as it goes (Milakov and Gimelshein,
2018). The products are taken transposed, S^T = K Q^T and O^T = V^T P^T, because then the lanes that
hold P after the first are those that need it for the second. For CDNA.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from common import CDNA, element_type
from pipedsl import CompiledKernel, Kernel, Roles, device_function, gpu, pipelined_kernel
from pipedsl.core.arch import get_arch
from pipedsl.tiles import OUTSIDE, Fragments, MatrixUnit, Tile
from program import compare, run_program

KEYS = 64  # per tile
_PADDING = 4  # spreads the rows of transposed values over the banks
_NEVER = -1e30  # a score that is masked out; finite, so that differences of two are numbers


@dataclass(frozen=True)
class Attention:
    """One configuration.

    Attributes
    ----------
    arch : str
    dtype : NumPy dtype
        float16 or bfloat16, of Q, K, V and the result.
    width : int
        D: elements of a query, key or value; a multiple of 32.
    causal : bool
        Whether query i sees keys 0 to i only.
    columns : int
        Groups of 16 queries of a consumer wave.
    consumers : int
        Waves that multiply.
    stages : int
    """

    arch: str
    dtype: np.dtype
    width: int = 64
    causal: bool = False
    columns: int = 2
    consumers: int = 4
    stages: int = 2

    @property
    def queries(self) -> int:
        """Queries of a workgroup."""
        return 16 * self.columns * self.consumers

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return (2 + self.consumers) * get_arch(self.arch).wave_size

    def fitted(self) -> Attention:
        """This configuration with as many stages as LDS holds, up to its own."""
        stage = self.width * (KEYS + KEYS + _PADDING) * self.dtype.itemsize + 16  # and two counters
        return replace(self, stages=min(self.stages, get_arch(self.arch).lds_bytes // stage))


class KeyLoader:
    """A wave's part of bringing rows of K to LDS, as a swizzled tile."""

    def __init__(self, tile, matrix, thread):
        row = thread // tile.row_chunks
        chunk = thread % tile.row_chunks
        targets = gpu.local.array(tile.steps, np.int32)
        for i in gpu.static_range(tile.steps):
            target = row + i * tile.step_rows
            pattern = target // tile.pattern_rows % tile.patterns
            targets[i] = target * tile.columns + (chunk ^ pattern) * tile.chunk
        self.tile = tile
        self.buffer = gpu.buffer(matrix)
        self.place = row * tile.columns + chunk * tile.chunk
        self.targets = targets
        self.pieces = gpu.local.array(tile.steps, gpu.vec(tile.dtype, tile.chunk))

    def load(self, first):
        """Start loading the tile whose first element is `first`."""
        tile = self.tile
        for i in gpu.static_range(tile.steps):
            index = first + self.place + i * tile.step_rows * tile.columns
            self.pieces[i] = gpu.buffer_load(self.buffer, index, tile.chunk)

    def store(self, lds, base):
        """Put the loaded tile into `lds` from element `base` on."""
        tile = self.tile
        for i in gpu.static_range(tile.steps):
            gpu.store(lds, base + self.targets[i], self.pieces[i])


class ValueLoader:
    """A wave's part of bringing rows of V to LDS transposed: a row there is one column of V."""

    def __init__(self, matrix, width, pitch, thread):
        self.width = width
        self.pitch = pitch
        self.chunks = KEYS * width // 8 // 64
        self.row = thread % KEYS
        self.buffer = gpu.buffer(matrix)
        self.pieces = gpu.local.array(KEYS * width // 8 // 64, gpu.vec(matrix.dtype, 8))

    def load(self, first):
        """Start loading the tile whose first element is `first`."""
        for i in gpu.static_range(self.chunks):
            index = first + self.row * self.width + i * 8
            self.pieces[i] = gpu.buffer_load(self.buffer, index, 8)

    def store(self, lds, base):
        """Put the loaded tile into `lds` from element `base` on."""
        for i in gpu.static_range(self.chunks):
            piece = self.pieces[i]
            for e in gpu.static_range(8):
                lds[base + (i * 8 + e) * self.pitch + self.row] = piece[e]


@device_function
def across_groups_max(x):
    """The maximum over the four lanes that hold the same query."""
    x = max(x, gpu.shuffle_xor(x, 16))
    return max(x, gpu.shuffle_xor(x, 32))


@device_function
def across_groups_sum(x):
    """The sum over the four lanes that hold the same query."""
    x = x + gpu.shuffle_xor(x, 16)
    return x + gpu.shuffle_xor(x, 32)


@cache
def make_kernel(attention: Attention) -> Kernel:
    """The kernel ``(out, q, k, v, num_queries, num_keys)`` on matrices of ``heads * rows`` rows.

    Its grid is (tiles of queries, heads), its block ``attention.threads``.
    """
    width, columns, stages = attention.width, attention.columns, attention.stages
    consumers, causal, queries = attention.consumers, attention.causal, attention.queries
    dtype = attention.dtype.type
    unit = MatrixUnit.of(get_arch(attention.arch), attention.dtype)
    key_tile = Tile(KEYS, width, dtype, 64, unit.chunk)
    pitch = KEYS + _PADDING  # of a transposed value
    value_size = width * pitch
    steps, key_blocks, value_blocks = width // unit.depth, KEYS // 16, width // 16
    halves = unit.operand // 4  # blocks of 16 keys that one product of V takes
    scale = 1 / math.sqrt(width)

    @pipelined_kernel
    def attention_forward(out, q, k, v, num_queries, num_keys):
        lds_k = gpu.shared.array(stages * key_tile.size, dtype)
        lds_v = gpu.shared.array(stages * value_size, dtype)
        roles = Roles(producers=2, consumers=consumers)
        pipe = roles.pipeline(stages)
        pipe.init()
        head = gpu.block_idx.y
        first_query = gpu.block_idx.x * queries
        end = num_keys
        if causal:
            end = min(num_keys, first_query + queries)
        first = head * num_keys * width
        key = 0
        if roles.producer.wave() == 0:
            load_k = KeyLoader(key_tile, k, roles.producer.thread())
            load_k.load(first)
            while key < end:
                with pipe.produce() as stage:
                    load_k.store(lds_k, stage.index() * key_tile.size)
                    key += KEYS
                    load_k.load(first + key * width)
        elif roles.producer.wave() == 1:
            load_v = ValueLoader(v, width, pitch, gpu.lane_id())
            load_v.load(first)
            while key < end:
                with pipe.produce() as stage:
                    load_v.store(lds_v, stage.index() * value_size)
                    key += KEYS
                    load_v.load(first + key * width)
        else:
            lane, group = gpu.lane_id() % 16, gpu.lane_id() // 16
            query = first_query + roles.consumer.wave() * 16 * columns + lane
            part_k = Fragments(key_tile, unit, 0, key_blocks)
            part_q = gpu.local.array((steps, columns, unit.parts), gpu.vec(dtype, unit.operand))
            reading = gpu.buffer(q)
            for j in gpu.static_range(columns):
                row = query + j * 16
                for step in gpu.static_range(steps):
                    at = (head * num_queries + row) * width + step * unit.depth + group * unit.chunk
                    chunk = gpu.buffer_load(
                        reading, at if row < num_queries else OUTSIDE, unit.chunk
                    )
                    pairs = gpu.bitcast(chunk, gpu.vec(np.int64, 2))
                    for part in gpu.static_range(unit.parts):
                        if unit.parts == 1:
                            part_q[step, j, part] = chunk
                        else:
                            part_q[step, j, part] = gpu.bitcast(
                                pairs[part], gpu.vec(dtype, unit.operand)
                            )
            largest = gpu.local.array(columns, np.float32)
            total = gpu.local.array(columns, np.float32)
            result = gpu.local.array((value_blocks, columns), gpu.vec(np.float32, 4))
            scores = gpu.local.array((key_blocks, columns), gpu.vec(np.float32, 4))
            score = gpu.local.array((key_blocks, 4), np.float32)
            weights = gpu.local.array((key_blocks, columns), gpu.vec(dtype, 4))
            for j in gpu.static_range(columns):
                largest[j] = _NEVER
                total[j] = 0.0
                for i in gpu.static_range(value_blocks):
                    result[i, j] = 0.0
            while key < end:
                with pipe.consume() as stage:
                    for i in gpu.static_range(key_blocks):
                        for j in gpu.static_range(columns):
                            scores[i, j] = 0.0
                    for step in gpu.static_range(steps):
                        part_k.read(lds_k, stage.index() * key_tile.size, step)
                        for part in gpu.static_range(unit.parts):
                            for i in gpu.static_range(key_blocks):
                                for j in gpu.static_range(columns):
                                    scores[i, j] = gpu.mfma(
                                        part_k.operands[i, part],
                                        part_q[step, j, part],
                                        scores[i, j],
                                    )
                    for j in gpu.static_range(columns):
                        top = largest[j]
                        for i in gpu.static_range(key_blocks):
                            s = scores[i, j]
                            for e in gpu.static_range(4):
                                number = key + i * 16 + group * 4 + e
                                seen = number < num_keys
                                if causal:
                                    seen = number < num_keys and number <= query + j * 16
                                score[i, e] = (
                                    s[e] * np.float32(scale) if seen else np.float32(_NEVER)
                                )
                                top = max(top, score[i, e])
                        top = across_groups_max(top)
                        shrink = math.exp(largest[j] - top)
                        largest[j] = top
                        sum = np.float32(0)
                        for i in gpu.static_range(key_blocks):
                            a = math.exp(score[i, 0] - top)
                            b = math.exp(score[i, 1] - top)
                            c = math.exp(score[i, 2] - top)
                            d = math.exp(score[i, 3] - top)
                            sum += (a + b) + (c + d)
                            weights[i, j] = gpu.vec(dtype, 4)(a, b, c, d)
                        total[j] = total[j] * shrink + across_groups_sum(sum)
                        for i in gpu.static_range(value_blocks):
                            result[i, j] = result[i, j] * shrink
                    at = stage.index() * value_size + lane * pitch + group * 4
                    for i in gpu.static_range(value_blocks):
                        for number in gpu.static_range(0, key_blocks, halves):
                            low = gpu.load(lds_v, at, 4, offset=i * 16 * pitch + number * 16)
                            if halves == 1:
                                for j in gpu.static_range(columns):
                                    result[i, j] = gpu.mfma(low, weights[number, j], result[i, j])
                            else:
                                high = gpu.load(
                                    lds_v, at, 4, offset=i * 16 * pitch + number * 16 + 16
                                )
                                values = joined(low, high)
                                for j in gpu.static_range(columns):
                                    both = joined(weights[number, j], weights[number + 1, j])
                                    result[i, j] = gpu.mfma(values, both, result[i, j])
                    key += KEYS
            writing = gpu.buffer(out)
            for j in gpu.static_range(columns):
                row = query + j * 16
                inverse = 1 / total[j]
                for i in gpu.static_range(value_blocks):
                    at = (head * num_queries + row) * width + i * 16 + group * 4
                    o = result[i, j] * inverse
                    index = at if row < num_queries else OUTSIDE
                    gpu.buffer_store(writing, index, gpu.vec(dtype, 4)(o[0], o[1], o[2], o[3]))

    return attention_forward


@device_function
def joined(low, high):
    """Two vectors of four as one of eight."""
    return gpu.vec(low.dtype, 8)(low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3])


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, configuration: Attention) -> np.ndarray:
    """Attention on the current device.

    Parameters
    ----------
    q : array of shape (heads, queries, width)
    k, v : array of shape (heads, keys, width)

    Returns
    -------
    array of the shape and dtype of `q`
    """
    heads, queries, width = q.shape
    keys = k.shape[1]
    out = np.zeros((heads * queries, width), q.dtype)
    configuration = configuration.fitted()
    grid = (-(-queries // configuration.queries), heads)
    flat = [x.reshape(-1, width) for x in (q, k, v)]
    kernel = make_kernel(configuration)
    kernel[grid, configuration.threads](out, *flat, np.int32(queries), np.int32(keys))
    return out.reshape(q.shape)


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    """The same in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[2])
    if causal:
        seen = np.arange(k.shape[1]) <= np.arange(q.shape[1])[:, None]
        scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ v


def operands(heads: int, queries: int, keys: int, width: int, dtype: np.dtype, seed: int = 0):
    """Normal Q, K and V."""
    random = np.random.default_rng(seed)
    shapes = ((heads, queries, width), (heads, keys, width), (heads, keys, width))
    return [random.standard_normal(shape).astype(np.float32).astype(dtype) for shape in shapes]


def run(
    arch: str, heads: int, queries: int, keys: int, width: int, dtype: str, mask: str
) -> tuple[str, CompiledKernel]:
    """Compare with NumPy."""
    kind = element_type(dtype, arch)
    configuration = Attention(arch, kind, width, mask == "causal").fitted()
    q, k, v = operands(heads, queries, keys, width, kind)
    result = attention(q, k, v, configuration)
    outcome = compare(result, reference(q, k, v, configuration.causal), 2e-2)
    flat = q.reshape(-1, width)
    numbers = np.int32(queries), np.int32(keys)
    compiled = make_kernel(configuration).compile(
        flat, flat, flat, flat, *numbers, arch=arch, block=configuration.threads
    )
    return f"{heads} x {queries} x {keys} x {width}, {kind}, {mask}: {outcome}", compiled


OPTIONS = {
    "heads": (2, "heads"),
    "queries": (256, "queries of a head"),
    "keys": (256, "keys of a head"),
    "width": (64, "elements of a query, key or value"),
}

if __name__ == "__main__":
    choices = {"dtype": ("f16", "bf16"), "mask": ("none", "causal")}
    sys.exit(run_program(__doc__, OPTIONS, run, archs=CDNA, **choices))
