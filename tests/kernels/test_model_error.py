"""The timing model against measurements; the kernels that it is compared with HipKittens by."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import model_error
import published_gemm

from common import operands, reference
from pipedsl import use_device


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [("with_barrier", 128, 256), ("with_counters", 192, 256), ("ping_pong", 192, 256)],
)
def test_integers_are_exact(name: str, rows: int, columns: int) -> None:
    kernel, threads = published_gemm.KERNELS[name](rows, columns)
    a, b = operands(2 * rows, columns, 384, published_gemm.DTYPE)
    c = np.zeros((2 * rows, columns), np.float32)
    with use_device("sim:gfx950"):
        kernel[(1, 2), threads](a, b, c)
    assert (c == reference(a, b, np.float32)).all()


def test_products_come_out_in_the_measured_order_within_15_percent() -> None:
    ratios, runs = model_error.products()
    assert [ratio.value for ratio in ratios] == sorted(ratio.value for ratio in ratios)
    assert [ratio.modelled for ratio in ratios] == sorted(ratio.modelled for ratio in ratios)
    assert max(abs(ratio.error) for ratio in ratios) < 0.15
    # 8192 / 128 * 32, twice 40 * 32, 32 * 32 workgroups on 256 CUs
    assert [run.rounds for run in runs] == [8, 5, 5, 4]
    assert all("device_width" in {row.name for row in run.assumed} for run in runs)


def test_measured_figures_come_out_within_15_percent() -> None:
    results = list(model_error.figures({}, ["measured"]))
    assert {result.arch for result in results} == {"gfx942", "gfx950"}
    assert len(results) == 27
    assert not [str(result) for result in results if abs(result.error) > 0.15]
