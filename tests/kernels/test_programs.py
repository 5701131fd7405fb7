"""Copy, reduction, softmax and attention against NumPy, on shapes that fit and shapes that do not."""

from __future__ import annotations

import numpy as np
import pytest

import attention as attention_program
import copy_pipeline
import reduction
import softmax
from attention import Attention
from common import CDNA, element_type
from pipedsl import config, use_device
from pipedsl.core.arch import ARCHS
from program import compare, random_floats, run_program

ALL = list(ARCHS)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize(
    ("n", "stages", "producers", "consumers"),
    [(1, 1, 1, 1), (1023, 2, 2, 1), (3002, 3, 1, 2), (5000, 2, 3, 2)],
)
def test_copies_are_exact(arch: str, n: int, stages: int, producers: int, consumers: int) -> None:
    source = random_floats(n)
    with use_device(f"sim:{arch}"), config.scope(seed=n):
        target = copy_pipeline.copy(source, stages, producers, consumers, groups=2)
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("n", [1, 63, 1000, 4099])
def test_sums_of_integers_are_exact(arch: str, n: int) -> None:
    values = np.random.default_rng(n).integers(-9, 10, n).astype(np.float32)
    with use_device(f"sim:{arch}"):
        assert reduction.reduce(values, groups=3) == values.sum(dtype=np.float64)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("shape", [(1, 1), (3, 63), (2, 1000)])
def test_softmax(arch: str, shape: tuple[int, int]) -> None:
    x = 10 * random_floats(shape)
    with use_device(f"sim:{arch}"):
        result = softmax.softmax(x)
    np.testing.assert_allclose(result, softmax.reference(x), rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("arch", "dtype", "causal"),
    [
        ("gfx90a", "bf16", True),
        ("gfx942", "f16", False),
        ("gfx942", "bf16", True),
        ("gfx950", "f16", True),
    ],
)
def test_attention(arch: str, dtype: str, causal: bool) -> None:
    check_attention(arch, dtype, causal, (2, 128, 128, 64))


@pytest.mark.parametrize("shape", [(1, 1, 1, 32), (2, 77, 100, 64), (1, 130, 65, 128)])
def test_attention_off_the_tile(shape: tuple[int, int, int, int]) -> None:
    check_attention("gfx942", "f16", shape[1] <= shape[2], shape)


def check_attention(arch: str, dtype: str, causal: bool, shape: tuple[int, int, int, int]) -> None:
    kind = element_type(dtype, arch)
    configuration = Attention(arch, kind, shape[3], causal)
    q, k, v = attention_program.operands(*shape, kind)
    with use_device(f"sim:{arch}"):
        result = attention_program.attention(q, k, v, configuration)
    wanted = attention_program.reference(q, k, v, causal)
    tolerance = 2e-3 if dtype == "f16" else 1e-2
    np.testing.assert_allclose(
        result.astype(np.float64), wanted, atol=tolerance * np.abs(wanted).max()
    )


@pytest.mark.parametrize("program", [copy_pipeline, reduction, softmax])
def test_programs_check_themselves(program, capsys) -> None:
    assert run_program("", program.OPTIONS, program.run, ["--arch", "gfx950"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("sim:gfx950: ")
    assert f"{program.__name__} on gfx950" in printed


def test_a_wrong_result_is_exit_status_1(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(softmax, "reference", lambda x: np.ones(x.shape))
    assert run_program("", softmax.OPTIONS, softmax.run, ["--arch", "gfx942"]) == 1
    assert "the largest error is" in capsys.readouterr().err


def test_an_error_that_is_not_a_number_is_wrong() -> None:
    with pytest.raises(Exception, match="the largest error is nan"):
        compare(np.array([np.nan]), np.array([1.0]), 1e-3)


def test_a_kernel_for_some_archs_says_so(capsys) -> None:
    with pytest.raises(SystemExit):
        run_program(
            "", attention_program.OPTIONS, attention_program.run, ["--arch", "gfx1100"], CDNA
        )
    assert "invalid choice: 'gfx1100'" in capsys.readouterr().err
