"""How fast the simulator runs wave instructions, one line per figure.

    python benchmarks/sim_speed.py [--foreign triton_matmul_gfx942.s]

Every figure is the best of several runs in one process on one host thread, translation excluded
unless the line says otherwise. These are host speeds of a simulator, not speeds of a GPU.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipedsl import sim
from pipedsl.core.arch import get_arch
from pipedsl.core.config import config
from pipedsl.core.image import Parameter

sys.path.append(str(Path(__file__).resolve().parent.parent / "kernels"))

from one_product import Matmul

import gemm_simple
from common import Gemm, presets_for
from stress import make_stress

_LOOP = """
\ts_mov_b32 s4, 0
.Lloop:
{body}
\ts_add_u32 s4, s4, 1
\ts_cmp_lt_u32 s4, {count:#x}
\ts_cbranch_scc1 .Lloop
"""
_MIX = (
    "v_add_u32_e32 v{0}, v{1}, v{2}",
    "v_fma_f32 v{1}, v{0}, v{2}, v{1}",
    "v_xor_b32_e32 v{2}, s4, v{0}",
    "v_mul_f32_e32 v{0}, v{1}, v{2}",
    "v_lshlrev_b32_e32 v{2}, 3, v{1}",
)


def best(run: Callable[[], int], repeats: int = 5) -> tuple[int, float]:
    """Instructions of one run and the shortest time."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        count = run()
        times.append(time.perf_counter() - start)
    return count, min(times)


def report(what: str, count: int, seconds: float, reference: float | None = None) -> float:
    """Print one line; returns the rate in instructions per second."""
    rate = count / seconds
    ratio = f"  {rate / reference:.2f} of the VALU loop" if reference else ""
    print(f"{what:<44} {rate / 1e6:8.1f} M wave instructions/s{ratio}", flush=True)
    return rate


def valu_loop() -> tuple[int, float]:
    """A loop of vector work in registers on gfx942."""
    lines = [_MIX[i % len(_MIX)].format(*((i + j) % 16 for j in range(3))) for i in range(60)]
    body = "\n".join(f"\t{line}" for line in lines)
    text = _kernel(_LOOP.format(body=body, count=100_000))
    kernel = sim.load_assembly(text).kernels["k"]
    return best(lambda: kernel.launch(1, 64, []).instructions)


def stress(arch: str) -> tuple[int, float]:
    """The stress kernel's mix: scalar work, LDS, polls, one store per item."""
    items = 65536
    result = np.zeros(items, np.int32)
    size = get_arch(arch).wave_size
    compiled = make_stress(4).compile(result, np.int32(items), arch=arch, block=2 * size)
    kernel = next(iter(sim.load_assembly(compiled.asm).kernels.values()))
    flat = [result if p.kind == "array" else np.int32(items) for p in compiled.image.parameters]
    args = [v for p, v in zip(compiled.image.parameters, flat, strict=True) for v in expand(p, v)]
    return best(lambda: kernel.launch(1, 2 * size, args).instructions)


def expand(parameter: Parameter, value: object) -> list:
    """The kernel arguments that one Python parameter stands for."""
    if parameter.kind == "scalar":
        return [value]
    array = np.asarray(value)
    fields = {"pointer": [array], "shape": array.shape, "stride": array.strides}
    parts = (part.partition(".") for part in parameter.parts)
    return [fields[name][int(axis or 0)] for name, _, axis in parts]


def _kernel(body: str) -> str:
    return f"""\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.text
k:
{body}
\ts_endpgm
\t.section .rodata
\t.amdhsa_kernel k
\t\t.amdhsa_next_free_vgpr 32
\t\t.amdhsa_float_denorm_mode_32 3
\t\t.amdhsa_accum_offset 32
\t\t.amdhsa_next_free_sgpr 16
\t.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .args: []
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 4
    .kernarg_segment_size: 0
    .max_flat_workgroup_size: 256
    .name: k
    .private_segment_fixed_size: 0
    .sgpr_count: 16
    .symbol: k.kd
    .vgpr_count: 32
    .wavefront_size: 64
amdhsa.version: [1, 2]
...
\t.end_amdgpu_metadata
"""


def foreign_matmul(path: Path, size: int) -> Matmul:
    """Triton's matmul for gfx942 (64 x 64 tiles, 4 waves)."""
    a, b = (small(size, seed) for seed in (1, 2))
    c = np.zeros((size, size), np.float16)
    args = [a, b, c, size, size, size, size, 1, size, 1, size, 1, None, None]
    grid = (size // 64, size // 64, 1)
    return Matmul("Triton matmul", path.read_text(), "mm", grid, 256, 32768, args, c)


def own_matmul(size: int) -> Matmul:
    """gemm_simple with its default tile."""
    fields = presets_for(gemm_simple.PRESETS, "gfx942")["128x128x64"]
    gemm = Gemm("gfx942", np.dtype(np.float16), **fields).fitted(size, size)
    a, b = (small(size, seed) for seed in (1, 2))
    c = np.zeros((size, size), np.float32)
    compiled = gemm_simple.make_kernel(gemm).compile(a, b, c, arch="gfx942", block=gemm.threads)
    pairs = zip(compiled.image.parameters, (a, b, c), strict=True)
    args = [value for parameter, array in pairs for value in expand(parameter, array)]
    grid = (*gemm.grid(size, size), 1)
    name = compiled.image.name
    return Matmul("gemm_simple", compiled.asm, name, grid, gemm.threads, 0, args, c)


def small(size: int, seed: int) -> np.ndarray:
    """A float16 matrix of small integers."""
    return np.random.default_rng(seed).integers(-2, 3, (size, size)).astype(np.float16)


def figure(what: str, value: float, unit: str, note: str = "") -> None:
    """Print one line."""
    print(f"{what:<44} {value:8.2f} {unit}{note}", flush=True)


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """Shortest time of one run, after a first."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def matmul(product: Matmul, size: int) -> None:
    """A whole product in fast and in checked mode, beside NumPy's in float32."""
    kernel = sim.load_assembly(product.text).kernels[product.kernel]
    fast = seconds(lambda: product.run(kernel))
    flops = 2 * size**3
    a, b = (small(size, seed).astype(np.float32) for seed in (1, 2))
    host = seconds(lambda: a @ b)
    what = f"{product.name}, {size} cubed, float16"
    figure(what, fast, "s", f", {config.threads} threads")
    figure("the same", flops / fast / 1e9, "GFLOP/s", f"  {host / fast:.4f} of NumPy's float32")
    figure("NumPy's float32 product", flops / host / 1e9, "GFLOP/s")
    checked = seconds(lambda: product.run(kernel, check=True), 1)
    figure("the same in checked mode", checked, "s", f"  {checked / fast:.2f} of fast mode")


def processes(product: Matmul) -> None:
    """Figures that take a process of their own."""
    count = len(sim.load_assembly(product.text).kernels[product.kernel].instructions)
    with tempfile.TemporaryDirectory(prefix="pipedsl-") as folder:
        path = Path(folder) / "product"
        once(product, path)  # also makes the micro-kernels, which every kernel shares
        cold, _, _, _ = once(product._replace(text=product.text + "; another\n"), path)
        _, running, peak, whole = once(product, path)
    figure("cold translation", cold * 1e3 / count, "ms per instruction", f", {count} of them")
    figure("a process with all cached", whole - running, "s", ", imports included, the product not")
    figure("its peak memory", peak, "MB")


def once(product: Matmul, path: Path) -> list[float]:
    """Seconds of translation and product, peak MB, and seconds of the whole process."""
    path.write_bytes(pickle.dumps(tuple(product)))
    environment = {**os.environ, "PIPEDSL_CACHE_DIR": str(path.parent)}
    command = [sys.executable, str(Path(__file__).parent / "one_product.py"), str(path)]
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [*map(float, done.stdout.split()), time.perf_counter() - start]


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--foreign", type=Path, help="Triton's matmul for gfx942, as assembly")
    parser.add_argument("--size", type=int, default=1024, help="of the product (default 1024)")
    options = parser.parse_args()
    foreign, size = options.foreign, options.size
    product = foreign_matmul(foreign, size) if foreign else own_matmul(size)
    with config.scope(threads=1):
        reference = report("VALU loop, gfx942, one core", *valu_loop())
        for arch in ("gfx942", "gfx1201"):
            report(f"stress kernel, {arch}, one core", *stress(arch), reference)
    matmul(product, size)
    processes(product)


if __name__ == "__main__":
    main()
