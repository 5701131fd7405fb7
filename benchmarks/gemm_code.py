"""The code of the GEMM kernels: what their K loops consist of, per matrix instruction.

    python benchmarks/gemm_code.py [--arch gfx942]

Each kernel is compiled, not run. Counts are of instructions in the innermost loop that holds matrix
instructions. ``peer`` is what Triton 3.9 needs for the same tile (compiled by the authors of the
table; nobody ran either on a GPU for it).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "kernels"))

import gemm_pingpong
import gemm_simple
import gemm_warp_specialized
from common import Gemm, compile_for, element_type, presets_for
from pipedsl import CompiledKernel, config, sim
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit

PEERS = {
    ("gfx942", (128, 128, 64)): 2.19,
    ("gfx942", (256, 256, 64)): 1.70,
    ("gfx950", (128, 128, 64)): 3.34,
    ("gfx950", (256, 256, 64)): 2.75,
}
PROGRAMS = {
    "simple": gemm_simple,
    "pingpong": gemm_pingpong,
    "specialized": gemm_warp_specialized,
}
CLASSES = ("matrix", "valu", "lds", "vmem", "salu", "wait", "sync")
_MEMORY = (Unit.BUFFER, Unit.GLOBAL, Unit.FLAT, Unit.SCRATCH)


def k_loop(compiled: CompiledKernel) -> list[Instruction]:
    """Instructions of the innermost loop with the most matrix instructions."""
    kernel = next(iter(sim.load_assembly(compiled.asm).kernels.values()))
    code, labels = kernel.instructions, kernel.program.labels
    loops = []
    for end, ins in enumerate(code):
        if not ins.mnemonic.startswith(("s_cbranch", "s_branch")):
            continue
        start = labels.get(ins.fields.text.strip(), len(code))
        body = code[start : end + 1]
        if start <= end and any(i.opcode.unit is Unit.MATRIX for i in body):
            loops.append(list(body))
    if not loops:
        return []
    inner = [a for a in loops if not any(_inside(b, a) for b in loops)]
    return max(inner, key=lambda body: sum(i.opcode.unit is Unit.MATRIX for i in body))


def _inside(inner: list[Instruction], outer: list[Instruction]) -> bool:
    return len(inner) < len(outer) and {i.line for i in inner} <= {i.line for i in outer}


def class_of(ins: Instruction) -> str:
    """The class that a count is kept under."""
    unit = ins.opcode.unit
    if unit in _MEMORY:
        return "vmem"
    names = {Unit.TRANS: "valu", Unit.DS: "lds", Unit.BRANCH: "salu", Unit.SMEM: "salu"}
    return names.get(unit, unit.value)


def wide_addresses(loop: list[Instruction]) -> int:
    """Vector instructions that add 64-bit addresses."""
    wide = ("v_lshl_add_u64", "v_addc_co", "v_add_co_ci", "v_mad_u64", "v_mad_i64", "v_ashrrev_i64")
    return sum(i.mnemonic.startswith(wide) for i in loop)


def row(name: str, gemm: Gemm, compiled: CompiledKernel, seconds: float) -> str:
    """One line of the table."""
    loop = k_loop(compiled)
    counts = Counter(map(class_of, loop))
    per = len(loop) / counts["matrix"]
    peer = PEERS.get((gemm.arch, gemm.block)) if not sum(gemm.producers) else None
    found = compiled.resources
    cells = " ".join(f"{counts[c] / counts['matrix']:6.2f}" for c in CLASSES[1:])
    return (
        f"{gemm.arch:<8}{name:<30}{counts['matrix']:>5} {per:6.2f} "
        f"{f'{peer:6.2f}' if peer else '     -'} {cells} {wide_addresses(loop):>5} "
        f"{found.vgprs:>5}{found.agprs:>5} {found.vgpr_spills:>6} {found.scratch_bytes:>7} "
        f"{found.waves_per_simd:>5} {seconds:7.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", choices=("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"))
    options = parser.parse_args()
    heads = " ".join(f"{c:>6}" for c in CLASSES[1:])
    print(
        f"{'arch':<8}{'kernel':<30}{'mfma':>5} {'/mfma':>6} {'peer':>6} {heads} {'wide':>5} "
        f"{'vgpr':>5}{'agpr':>5} {'spills':>6} {'scratch':>7} {'waves':>5} {'seconds':>7}"
    )
    for arch in (options.arch,) if options.arch else ("gfx942", "gfx950"):
        for program, module in PROGRAMS.items():
            for preset, fields in presets_for(module.PRESETS, arch).items():
                gemm = Gemm(arch, element_type("bf16", arch), **fields)
                name = f"{program} {preset}"
                with config.scope(cache=False):
                    start = time.perf_counter()
                    compiled = compile_for(module.make_kernel, gemm, np.float32)
                    seconds = time.perf_counter() - start
                print(row(name, gemm, compiled, seconds), flush=True)


if __name__ == "__main__":
    main()
