"""Specialised and ping-pong GEMMs: exact on integers, whatever shape, type, target and hand-over."""

from __future__ import annotations

import numpy as np
import pytest

import common
import gemm_pingpong
import gemm_warp_specialized
from common import Gemm, element_type, matmul, operands, presets_for, reference
from pipedsl import config, use_device

SPECIALIZED = ["mojo", "mojo-split", "mojo-pipeline"]


def run(module, preset: str, arch: str, shape, dtype: str = "bf16", out: str = "f32", **more):
    fields = presets_for(module.PRESETS, arch)[preset]
    gemm = Gemm(arch, element_type(dtype, arch), **fields)
    a, b = operands(*shape, gemm.dtype, **more)
    wanted = element_type(out, arch)
    with use_device(f"sim:{arch}"):
        c = matmul(module.make_kernel, gemm, a, b, wanted)
    return c, reference(a, b, wanted)


@pytest.mark.parametrize("preset", SPECIALIZED)
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_integers_are_exact(arch: str, preset: str) -> None:
    c, wanted = run(gemm_warp_specialized, preset, arch, (128, 64, 192))
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("preset", SPECIALIZED)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_published_configuration_on_a_large_product(arch: str, preset: str) -> None:
    """64x64x64 block, 32x32x64 per wave, 2 + 2 + 4 waves, 2 stages."""
    c, wanted = run(gemm_warp_specialized, preset, arch, (1024, 1024, 256))
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize(
    ("module", "preset"),
    [
        (gemm_warp_specialized, "4p8c-128x256"),
        (gemm_warp_specialized, "4p12c-192x256"),
        (gemm_pingpong, "256x256x64"),
        (gemm_pingpong, "192x256x64"),
    ],
)
def test_large_tiles(module, preset: str) -> None:
    c, wanted = run(module, preset, "gfx950", (192, 256, 192))
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("dtype", ["f16", "fp8"])
def test_other_types(dtype: str) -> None:
    c, wanted = run(gemm_warp_specialized, "mojo-pipeline", "gfx942", (64, 128, 128), dtype, "bf16")
    np.testing.assert_array_equal(c, wanted)


def shapes(count: int, seed: int):
    random = np.random.default_rng(seed)
    return [tuple(int(n) for n in random.integers(1, 200, 3)) for _ in range(count)]


@pytest.mark.parametrize(
    ("module", "preset"),
    [
        (gemm_warp_specialized, "mojo"),
        (gemm_warp_specialized, "mojo-pipeline"),
        (gemm_pingpong, "256x256x64"),
    ],
)
@pytest.mark.parametrize("shape", shapes(2, seed=1))
def test_shapes_off_the_tile(module, preset: str, shape: tuple[int, int, int]) -> None:
    c, wanted = run(module, preset, "gfx942", shape)
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_interleaving_gives_the_same(seed: int) -> None:
    with config.scope(seed=seed):
        c, wanted = run(gemm_warp_specialized, "mojo", "gfx942", (64, 64, 256))
    np.testing.assert_array_equal(c, wanted)


def test_normal_values_are_near() -> None:
    c, wanted = run(
        gemm_warp_specialized, "mojo-pipeline", "gfx942", (128, 128, 512), integers=False
    )
    np.testing.assert_allclose(c, wanted, rtol=1e-2, atol=1e-2 * np.abs(wanted).max())


def test_a_preset_that_is_not_for_the_arch(capsys) -> None:
    options = ["--arch", "gfx942", "--preset", "4p12c-192x256"]
    module = gemm_warp_specialized
    with pytest.raises(SystemExit):
        common.gemm_main("", module.make_kernel, module.PRESETS, options)
    assert (
        "for gfx942 there is 128x128x32, mojo, mojo-split, mojo-pipeline."
        in capsys.readouterr().err
    )
