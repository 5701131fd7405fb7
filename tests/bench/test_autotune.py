"""Tuning: what is measured, what is kept, what is left alone."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pipedsl
from pipedsl import Config, gpu, pipelined_kernel
from tests.bench.tuned import matmul


@pipelined_kernel
def count(out, n):
    for _ in range(n):
        out[gpu.thread_idx.x] += 1
        gpu.sleep(1)


def make(configs, **options):
    @pipedsl.autotune(configs, key=["out", "extra"], **options)
    def run(out, extra=0, *, n):
        count[1, 64](out, np.int32(n))

    return run


def test_the_fastest_is_taken_and_arrays_are_left_alone(fresh_cache):
    run, out = make([Config(n=20), Config(n=3), Config(n=9)]), np.zeros(64, np.int32)
    with pipedsl.use_device("sim:gfx942"):
        run(out)
    assert run.best_config == Config(n=3)
    assert (out == 3).all()  # only the real call
    times = [row["time"] for row in run.timings]
    assert times[0] > times[2] > times[1]


def test_a_choice_is_kept_per_key_device_and_source(fresh_cache):
    configs = [Config(n=4), Config(n=2)]
    run, out = make(configs), np.zeros(64, np.int32)
    with pipedsl.use_device("sim:gfx942"):
        run(out)
        run.timings = None
        run(out)
        again = make(configs)
        again(out)
        assert (run.timings, again.timings) == (None, None)  # from memory, from disk
        assert again.best_config == Config(n=2)
        run(out, 1)
        assert run.timings is not None
        run.timings = None
        run(np.zeros(128, np.int32))
        assert run.timings is not None
        other = make([*configs, Config(n=1)])
        other(out)
        assert other.timings is not None
    with pipedsl.use_device("sim:gfx950"):
        run.timings = None
        run(out)
        assert run.timings is not None


def test_the_switch_skips_measuring(fresh_cache):
    run, out = make([Config(n=5), Config(n=1)]), np.zeros(64, np.int32)
    with pipedsl.config.scope(autotune=False, device="sim:gfx942"):
        run(out)
    assert (out == 5).all()
    assert run.timings is None


def test_pruned_configurations_are_not_measured(fresh_cache):
    def prune(configs, named):
        assert named["out"].shape == (64,)
        return [c for c in configs if c.kwargs["n"] > 2]

    run, out = make([Config(n=1), Config(n=5), Config(n=3)], prune=prune), np.zeros(64, np.int32)
    with pipedsl.use_device("sim:gfx942"):
        run(out)
    assert run.best_config == Config(n=3)
    assert len(run.timings) == 2


def test_device_arrays_and_executors(fresh_cache):
    with pipedsl.use_device("sim:gfx942"), ThreadPoolExecutor(2) as pool:
        out = pipedsl.to_device(np.zeros(64, np.int32))
        run = make([Config(n=7), Config(n=2)], executor=pool)
        run(out)
        assert (out.copy_to_host() == 2).all()


def test_processes_measure_the_functions_of_modules(fresh_cache):
    a = np.ones((64, 64), np.float16)
    c = np.zeros((64, 64), np.float32)
    with pipedsl.use_device("sim:gfx942"):
        matmul(a, a, c)
    assert matmul.best_config == Config(stages=2, consumers=4)
    assert (c == 64).all()
    assert [row["stages"] for row in matmul.timings.failures] == [9]


def test_a_program_without_a_file_measures_in_its_own_process(fresh_cache):
    script = """
import numpy as np, pipedsl
from tests.bench.tuned import matmul
a, c = np.ones((64, 64), np.float16), np.zeros((64, 64), np.float32)
with pipedsl.use_device("sim:gfx942"):
    matmul(a, a, c)
print(matmul.best_config)
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable], input=script, cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Config(stages=2, consumers=4)\n"


def test_nothing_works():
    with pytest.raises(pipedsl.LaunchError, match="has no parameter 'm'"):
        make([Config(m=1)])
    with pytest.raises(pipedsl.LaunchError, match="has no configurations"):
        make([])
    run = make([Config(n=1)])
    with (
        pipedsl.use_device("sim:gfx942"),
        pytest.raises(pipedsl.LaunchError, match="no configuration of run.. works"),
    ):
        run(np.zeros((8, 8), np.int32))
