"""What the GEMM programs share: their configuration, their launch, their check, their options."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from pipedsl import CompiledKernel, Kernel, PipedslError, get_device, use_device
from pipedsl.core.arch import ARCHS, get_arch
from pipedsl.tiles import MatrixUnit, PieceLoader, Tile, TileCopier, TileLoader

TYPES = ("f16", "bf16", "fp8", "f32")
CDNA = ("gfx90a", "gfx942", "gfx950")
LARGE_LDS = ("gfx950",)  # 160 KiB


def element_type(name: str, arch: str) -> np.dtype:
    """The NumPy dtype of one of `TYPES`; ``"fp8"`` is E4M3 in the form that `arch` has."""
    if name == "fp8":
        fnuz = get_arch(arch).has("fp8_fnuz")
        return np.dtype(ml_dtypes.float8_e4m3fnuz if fnuz else ml_dtypes.float8_e4m3fn)
    return np.dtype({"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}[name])


@dataclass(frozen=True)
class Gemm:
    """One configuration of ``C = A B^T``, for A of shape (M, K) and B of shape (N, K).

    Attributes
    ----------
    arch : str
    dtype : NumPy dtype
        Of A and B: float16, bfloat16 or fp8.
    block : (int, int, int)
        M, N and K of a workgroup's tile.
    wave : (int, int)
        M and N of a wave's part of it.
    producers : (int, int)
        Waves that only bring A, and waves that only bring B.
    stages : int
        Tiles of A and of B that LDS holds.
    sync : str
        How producers and consumers synchronise; ``"none"`` without producers.
    vector : int
        Elements per load of A and B; 0 for 16 bytes.
    vector_out : int
        Elements per store of C: 4 if a lane has them in a row and 4 divides N, else 1.
    """

    arch: str
    dtype: np.dtype
    block: tuple[int, int, int] = (128, 128, 64)
    wave: tuple[int, int] = (64, 64)
    producers: tuple[int, int] = (0, 0)
    stages: int = 1
    sync: str = "none"
    vector: int = 0
    vector_out: int = 4

    @property
    def unit(self) -> MatrixUnit:
        """The matrix instruction's layout."""
        return MatrixUnit.of(get_arch(self.arch), self.dtype)

    @property
    def waves(self) -> int:
        """Waves that multiply."""
        return self.block[0] // self.wave[0] * (self.block[1] // self.wave[1])

    @property
    def wave_size(self) -> int:
        """Lanes of a wave."""
        return get_arch(self.arch).wave_size

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return (self.waves + sum(self.producers)) * self.wave_size

    @property
    def scalar(self) -> Any:
        """Scalar type of A and B."""
        return self.dtype.type

    def loader(self, *, direct: bool) -> type[TileLoader]:
        """What brings tiles to LDS; `direct` allows copies that registers do not hold."""
        if self.vector not in (0, self.unit.chunk):
            return PieceLoader
        return TileCopier if direct and get_arch(self.arch).has("lds_dma16") else TileLoader

    def a_tile(self, threads: int) -> Tile:
        """A's tile of a block, brought by `threads` threads."""
        return self._tile(self.block[0], threads)

    def b_tile(self, threads: int) -> Tile:
        """B's tile of a block, brought by `threads` threads."""
        return self._tile(self.block[1], threads)

    def _tile(self, rows: int, threads: int) -> Tile:
        vector = self.vector or self.unit.chunk
        return Tile(rows, self.block[2], self.scalar, threads, vector)

    def grid(self, m: int, n: int) -> tuple[int, int]:
        """Workgroups for a result of shape (m, n)."""
        return -(-n // self.block[1]), -(-m // self.block[0])

    def fitted(self, n: int, k: int) -> Gemm:
        """This configuration with the widest accesses that rows of `k` and `n` elements allow."""
        quads = n % 4 == 0 and not self.unit.interleaved
        return replace(self, vector=math.gcd(k, self.unit.chunk), vector_out=4 if quads else 1)


Presets = Mapping[str, Mapping[str, Any]]
"""Fields of `Gemm` by name, and under ``archs`` where they fit; the first that fits is the default."""


def presets_for(presets: Presets, arch: str) -> dict[str, dict[str, Any]]:
    """The presets that fit `arch`, as fields of `Gemm`."""
    return {
        name: {field: value for field, value in preset.items() if field != "archs"}
        for name, preset in presets.items()
        if arch in preset.get("archs", ARCHS)
    }


MakeKernel = Callable[[Gemm], Kernel]


def matmul(
    make_kernel: MakeKernel, gemm: Gemm, a: np.ndarray, b: np.ndarray, out: Any = np.float32
) -> np.ndarray:
    """``a @ b.T`` on the current device.

    Parameters
    ----------
    make_kernel : callable
    gemm : Gemm
        Its access widths are fitted to the shapes.
    a, b : array of shape (M, K) and (N, K), of the configuration's dtype
    out : dtype
        float32, float16 or bfloat16.

    Returns
    -------
    array of shape (M, N)
    """
    (m, k), n = a.shape, b.shape[0]
    gemm = gemm.fitted(n, k)
    c = np.zeros((m, n), out)
    make_kernel(gemm)[gemm.grid(m, n), gemm.threads](a, b, c)
    return c


def reference(a: np.ndarray, b: np.ndarray, out: Any = np.float32) -> np.ndarray:
    """``a @ b.T`` in float64, rounded once."""
    return (a.astype(np.float64) @ b.astype(np.float64).T).astype(out)


def operands(
    m: int, n: int, k: int, dtype: np.dtype, *, seed: int = 0, integers: bool = True
) -> Iterator[np.ndarray]:
    """Matrices of shape (m, k) and (n, k): small integers, whose products are exact, or normal."""
    random = np.random.default_rng(seed)
    for rows in (m, n):
        shape = (rows, k)
        values = random.integers(-3, 4, shape) if integers else random.standard_normal(shape)
        yield values.astype(dtype)


def check(
    make_kernel: MakeKernel, gemm: Gemm, shape: tuple[int, int, int], out: Any, integers: bool
) -> str:
    """Run twice, compare with NumPy, and describe the outcome; the second run is timed.

    Integers must come out exactly, normal values within a relative error of 1e-2 of the largest.

    Raises
    ------
    WrongResultError
    """
    a, b = operands(*shape, gemm.dtype, integers=integers)
    matmul(make_kernel, gemm, a, b, out)
    start = time.perf_counter()
    c = matmul(make_kernel, gemm, a, b, out)
    seconds = time.perf_counter() - start
    wanted = reference(a, b, out)
    if integers:
        wrong = np.count_nonzero(c != wanted)
    else:
        error = np.abs(c.astype(np.float64) - wanted.astype(np.float64))
        wrong = np.count_nonzero(error > 1e-2 * np.abs(wanted.astype(np.float64)).max())
    if wrong:
        raise WrongResultError(f"{wrong} of {c.size} elements are wrong")
    return f"{'exact' if integers else 'within 1e-2'}, {seconds:.3f} s of kernel time"


def compile_for(make_kernel: MakeKernel, gemm: Gemm, out: Any = np.float32) -> CompiledKernel:
    """The kernel for aligned shapes, without a device."""
    row = np.zeros((1, 16), gemm.dtype)
    kernel = make_kernel(gemm.fitted(16, 16))
    return kernel.compile(row, row, np.zeros((1, 16), out), arch=gemm.arch, block=gemm.threads)


class WrongResultError(Exception):
    """The result differs from NumPy's."""


def gemm_main(
    description: str,
    make_kernel: MakeKernel,
    presets: Presets,
    argv: Sequence[str] | None = None,
) -> int:
    """The command line of a GEMM program; 0 if the result is right.

    Parameters
    ----------
    presets : Presets
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for axis in "mnk":
        parser.add_argument(f"--{axis}", type=int, default=512, help="default 512")
    parser.add_argument("--arch", choices=ARCHS, help="default: the current device's")
    parser.add_argument("--dtype", choices=TYPES[:3], default="bf16", help="of A and B")
    parser.add_argument("--out", choices=("f32", "f16", "bf16"), default="f32", help="of C")
    parser.add_argument("--preset", choices=presets, help="default: the first for the arch")
    parser.add_argument("--random", action="store_true", help="normal values instead of integers")
    options = parser.parse_args(argv)
    current = get_device()
    arch = options.arch or current.arch.name
    dtype, out = element_type(options.dtype, arch), element_type(options.out, arch)
    fitting = presets_for(presets, arch)
    preset = options.preset or next(iter(fitting), None)
    if preset not in fitting:
        parser.error(f"for {arch} there is {', '.join(fitting) or 'no preset'}.")
    gemm = Gemm(arch, dtype, **fitting[preset])
    shape = (options.m, options.n, options.k)
    try:
        with use_device(current.name if arch == current.arch.name else f"sim:{arch}") as device:
            outcome = check(make_kernel, gemm, shape, out, not options.random)
        print(f"{shape[0]} x {shape[1]} x {shape[2]}, {dtype} to {out}, {preset}")
        print(f"{device.name}: {outcome}")
        print(compile_for(make_kernel, gemm, out).resources)
    except (PipedslError, WrongResultError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
