"""The pipeline that is swept, and its command."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pipedsl
from pipedsl.bench import PipelineConfig, measure_pipeline, pipeline_kernel
from pipedsl.bench.pipelines import _SHARES
from pipedsl.cli.main import main
from pipedsl.core.arch import ARCHS


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("stages", "producers", "consumers"), [(1, 2, 1), (3, 2, 4), (2, 4, 8)])
def test_the_product_is_exact_for_integers(arch, stages, producers, consumers):
    plan = PipelineConfig(arch, stages, producers, consumers, (64, 64, 32), 160)
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (128, plan.k)).astype(np.float16)
    b = random.integers(-3, 4, (64, plan.k)).astype(np.float16)
    c = np.zeros((128, 64), np.float32)
    with pipedsl.use_device(f"sim:{arch}"):
        pipeline_kernel(plan)[(1, 2), plan.threads](a, b, c)
    assert np.array_equal(c, a.astype(np.float64) @ b.astype(np.float64).T)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "gfx1201"])
def test_a_row_says_where_the_time_went(arch):
    plan = PipelineConfig(arch, 2, 2, 4, (64, 64, 32), 256)
    row = measure_pipeline(plan)
    for role in ("producer", "consumer"):
        assert sum(row[f"{role}_{share}"] for share in _SHARES) == pytest.approx(1)
    assert row["producer_full"] == row["consumer_empty"] == 0
    assert row["steps"] == 8
    assert row["cycles_per_step"] * 8 * row["workgroups"] == pytest.approx(row["cycles"])
    assert 0 < row["matrix_utilisation"] <= row["roof_fraction"] < 1.1
    # What a compute unit can multiply: AMD's peak figures for float16 without sparsity.
    peak = {"gfx942": 2048, "gfx950": 4096, "gfx1201": 2048}  # of a WGP on gfx1201
    assert row["peak_flops_per_cycle"] == pytest.approx(peak[arch], rel=0.01)


def test_configurations_that_do_not_work_say_why(fresh_cache, tmp_path, capsys):
    saved = [str(tmp_path / name) for name in ("s.csv", "s.json", "s.svg")]
    command = [
        "bench", "pipeline", "--arch", "gfx942", "--stages", "2,9", "--producers", "2",
        "--consumers", "1:3", "--tile", "64x64x32", "--k", "128", "--jobs", "2",
        "--save", saved[0], "--save", saved[1], "--plot", saved[2],
    ]  # fmt: skip
    pytest.importorskip("matplotlib")
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "9 stages and gfx942 has 65536 per workgroup" in out
    assert "3 consumers cannot share 64x64" in out
    with open(saved[0], newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["stages"], row["consumers"]) for row in rows] == [("2", "1"), ("2", "2")]
    assert len(json.loads(Path(saved[1]).read_text())["failures"]) == 4
    assert "<svg" in Path(saved[2]).read_text()


@pytest.mark.parametrize("text", ["0", "3:1", "x", "1,,2", "1:2:3"])
def test_numbers_that_are_none(text, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["bench", "pipeline", "--stages", text])
    assert caught.value.code == 2
    assert "is not a number or a range" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--save", "x.xls"], ["--plot", "x.bmp"]])
def test_files_are_refused_before_anything_is_measured(option, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["bench", "pipeline", *option])
    assert caught.value.code == 2
    assert "does not end in" in capsys.readouterr().err


def test_ctrl_c_ends_a_sweep_without_a_traceback(fresh_cache):
    command = [sys.executable, "-c", STOPPED]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        _, shown = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in shown
    assert "pipedsl: stopped; results of a sweep so far are kept." in shown


STOPPED = """
import os, signal, sys, threading
from pipedsl.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
if __name__ == "__main__":
    sys.exit(main(["bench", "pipeline", "--k", "8192"]))
"""


def test_the_microbenchmark_command(capsys):
    assert main(["bench", "micro", "barrier", "--arch", "gfx950"]) == 0
    assert "barrier of 8 waves" in capsys.readouterr().out
