"""What the checker says of one changed program. Imports the sources that come first in the path."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from source_mutants import Mutant, Verdict

import attention
import copy_pipeline
import pipedsl
import reduction
import softmax
import stress
from common import Gemm, operands, reference
from pipedsl.core.arch import get_arch
from pipedsl.sim import load_assembly
from pipedsl.sim.events.polls import find_comparisons


def launch_of(name: str) -> tuple[Any, tuple[Any, ...], np.ndarray, Any]:
    """The launcher of a case, its arguments, which one is the result, and what that must be."""
    if name == "stress":
        out = np.zeros(12, np.int32)
        return stress.make_stress(2)[1, 128], (out, np.int32(12)), out, np.arange(1, 13)
    if name == "copy_pipeline":
        source = np.arange(64 * copy_pipeline.LANE * 4, dtype=np.float32)
        out, args = np.zeros_like(source), (2, 1, 2, 4)  # stages, producers, consumers, vector
        return copy_pipeline.make_kernel(*args)[1, 192], (out, source, np.int32(4)), out, source
    if name == "reduction":
        values = np.ones(700, np.float32)
        out = np.zeros(1, np.float32)
        return reduction.make_kernel()[2, 256], (out, values, np.int32(700)), out, np.float32(700)
    if name == "softmax":
        values = np.zeros((2, 512), np.float32)
        out = np.zeros_like(values)
        return softmax.make_kernel()[2, 256], (out, values), out, np.full_like(out, 1 / 512)
    if name == "attention":
        return _attention()
    bf16 = np.dtype(ml_dtypes.bfloat16)
    if name in ("gemm_simple", "gemm_pingpong"):
        module = importlib.import_module(name)
        blocks = {"block": (128, 128, 32), "wave": (64, 64)}
        if name == "gemm_pingpong":
            blocks = {"block": (256, 256, 64), "wave": (128, 64)}
        gemm = Gemm("gfx942", bf16, **blocks)
    else:
        module = importlib.import_module("gemm_warp_specialized")
        gemm = Gemm("gfx942", bf16, (64, 64, 32), (32, 32), (1, 1), 2, name.removeprefix("gemm_"))
    m, n, k = gemm.block[0], gemm.block[1], 6 * gemm.block[2]
    gemm = gemm.fitted(n, k)
    a, b = operands(m, n, k, bf16)
    out = np.zeros((m, n), np.float32)
    return (
        module.make_kernel(gemm)[gemm.grid(m, n), gemm.threads],
        (a, b, out),
        out,
        reference(a, b),
    )


def _attention() -> tuple[Any, tuple[Any, ...], np.ndarray, Any]:
    shape = attention.Attention("gfx942", np.dtype(np.float16), 64, False).fitted()
    queries, keys = shape.queries, 160
    q, k, v = attention.operands(1, queries, keys, 64, np.dtype(np.float16))
    out = np.zeros((queries, 64), np.float16)
    launcher = attention.make_kernel(shape)[(1, 1), shape.threads]
    flat = [x.reshape(-1, 64) for x in (q, k, v)]
    wanted = attention.reference(q, k, v, False).reshape(-1, 64)
    return launcher, (out, *flat, np.int32(queries), np.int32(keys)), out, wanted


def judge(name: str, file: Path, mutant: Mutant | None, base: str) -> Verdict:
    """Check the program that the changed sources, which were imported from, make."""
    assert Path(pipedsl.__file__).is_relative_to(file.parents[2 if "pipeline" in file.parts else 1])
    with pipedsl.use_device("sim:gfx942"):
        try:
            launcher, args, out, wanted = launch_of(name)
            code = _instructions(launcher, args)
        except pipedsl.PipedslError as error:
            return Verdict("refused", f"{error.code} {error.message}")
        if code == base:
            return Verdict("clean", "", code)
        report = pipedsl.check(launcher, *args, seeds=3)
        if report and mutant is not None:
            small = name in ("stress", "copy_pipeline")
            report = pipedsl.check(launcher, *args, seeds=8, explore="exhaustive" if small else 12)
        if report.findings:
            return _compare(report, file, mutant)
        with pipedsl.config.scope(check=False):
            launcher(*args)
        if not np.allclose(out.astype(np.float64), wanted, rtol=2e-2, atol=2e-2):
            return Verdict("missed", f"the result is wrong; {report.explored}")
        if _barriers_only(launcher, args):
            return Verdict("clean", "barriers alone: all orders are alike", code, True)
        return Verdict("clean", report.explored, code, "all" in report.explored)


def _instructions(launcher: Any, args: tuple[Any, ...]) -> str:
    text = "\n".join(f"{ins}" for ins in _kernel(launcher, args).instructions)
    return hashlib.sha256(text.encode()).hexdigest()


def _kernel(launcher: Any, args: tuple[Any, ...]) -> Any:
    _, compiled = launcher.compile(args, {}, get_arch("gfx942"))
    return load_assembly(compiled.image.asm).kernels[compiled.image.name]


def _barriers_only(launcher: Any, args: tuple[Any, ...]) -> bool:
    """Whether waves meet at barriers alone, so that what orders what is the same in every run."""
    kernel = _kernel(launcher, args)
    tests = find_comparisons(kernel.instructions, kernel.program.labels, kernel.wave.lanes)
    atomics = any("atomic" in str(ins.opcode.traits.get("kind")) for ins in kernel.instructions)
    return not atomics and not any(test.polls for test in tests.values())


def _compare(report: Any, file: Path, mutant: Mutant | None) -> Verdict:
    text = ", ".join(sorted({finding.code for finding in report.findings}))
    if mutant is None:
        return Verdict("FALSE ALARM", str(report))
    chosen = [finding for finding in report.findings if finding.code in mutant.codes]
    if not chosen:
        return Verdict("wrong code", text)
    places = [
        where for finding in chosen
        for where in (finding.where, *(place for _, place in finding.related)) if where is not None
    ]  # fmt: skip
    near = [w for w in places if Path(w.filename).parent.name in ("kernels", "pipeline")]
    return Verdict("found" if near else "no line", text)
