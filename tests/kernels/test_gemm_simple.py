"""GEMM without specialisation: exact on integers, whatever the shape; its inner loop."""

from __future__ import annotations

import numpy as np
import pytest

import common
import gemm_simple
from common import Gemm, element_type, matmul, operands, reference
from pipedsl import use_device

SMALL = {"block": (64, 64, 64), "wave": (32, 32)}


def run(arch: str, dtype: str, shape: tuple[int, int, int], out: str = "f32", **fields):
    gemm = Gemm(arch, element_type(dtype, arch), **(fields or SMALL))
    a, b = operands(*shape, gemm.dtype)
    wanted = element_type(out, arch)
    with use_device(f"sim:{arch}"):
        c = matmul(gemm_simple.make_kernel, gemm, a, b, wanted)
    return c, reference(a, b, wanted)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "fp8"])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1201"])
def test_integers_are_exact(arch: str, dtype: str) -> None:
    if (arch, dtype) == ("gfx90a", "fp8"):
        pytest.skip("CDNA2 has no fp8")
    c, wanted = run(arch, dtype, (128, 64, 192))
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_gfx1100(dtype: str) -> None:
    c, wanted = run("gfx1100", dtype, (64, 128, 128))
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (65, 63, 64), (3, 130, 72), (64, 5, 66), (127, 64, 4), (17, 33, 101)]
)
def test_shapes_off_the_tile(shape: tuple[int, int, int]) -> None:
    c, wanted = run("gfx942", "bf16", shape)
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("out", ["f16", "bf16"])
def test_narrow_results_are_rounded_once(out: str) -> None:
    c, wanted = run("gfx942", "bf16", (64, 64, 512), out)
    np.testing.assert_array_equal(c, wanted)


def test_the_program_checks_itself(capsys) -> None:
    options = [
        "--arch",
        "gfx942",
        "--preset",
        "64x64x64",
        *["--m", "70", "--n", "64", "--k", "64", "--random"],
    ]
    assert common.gemm_main("", gemm_simple.make_kernel, gemm_simple.PRESETS, options) == 0
    out = capsys.readouterr().out
    assert "sim:gfx942: within 1e-2" in out
    assert "gemm_simple on gfx942, block 256" in out


def test_a_wrong_result_is_exit_status_1(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "reference", lambda a, b, out: reference(a, b, out) + 1)
    options = ["--arch", "gfx942", "--preset", "64x64x64", *["--m", "64", "--n", "64", "--k", "64"]]
    assert common.gemm_main("", gemm_simple.make_kernel, gemm_simple.PRESETS, options) == 1
    assert "4096 of 4096 elements are wrong" in capsys.readouterr().err
