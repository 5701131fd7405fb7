"""do_bench: what is timed, in which unit."""

from __future__ import annotations

import numpy as np
import pytest

import pipedsl
from pipedsl import gpu, pipelined_kernel
from pipedsl.bench import do_bench


@pipelined_kernel
def double(out):
    out[gpu.block_idx.x * 64 + gpu.thread_idx.x] *= 2


def test_the_model_counts_cycles_of_all_launches_once():
    out = np.ones(128, np.int32)
    with pipedsl.use_device("sim:gfx942"):
        one = double[2, 64].time(out).launch_cycles
        found = do_bench(lambda: [double[2, 64](out) for _ in range(3)])
    assert found.unit == "modelled cycles"
    assert found.samples == (3 * one,)
    assert float(found) == found.median == 3 * one
    assert (out == 8).all()


def test_without_the_rest_only_modelled_workgroups_run():
    out = np.ones(64 * 4096, np.int32)
    with pipedsl.use_device("sim:gfx942"):
        whole = double[4096, 64].time(out)
        found = do_bench(lambda: double[4096, 64](out), whole=False)
    assert float(found) == whole.launch_cycles
    assert (out == 2).sum() == 64 * len(whole.workgroups)


def test_the_hosts_clock_gives_many_samples_and_quantiles():
    found = do_bench(lambda: None, 0, 0.01, [0.0, 0.5, 1.0], clock="host")
    assert found.unit == "ms"
    assert found.quantiles == (min(found.samples), np.median(found.samples), max(found.samples))
    assert len(found.samples) > 1
    assert sum(found.samples) >= 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clock": "wall"}, "clock is 'wall'"),
        ({"quantiles": [2.0]}, "quantiles"),
        ({"rep": 0}, "rep 0"),
        ({}, "launched no kernel"),
    ],
)
def test_what_cannot_be_timed(options, message):
    with pytest.raises(pipedsl.LaunchError, match=message) as caught:
        do_bench(lambda: None, **options)
    assert caught.value.where.filename == __file__


def test_a_gpu_is_timed_by_events(run_hip):
    output = run_hip("""
        import pipedsl
        from pipedsl.bench import do_bench
        calls = []
        found = do_bench(lambda: calls.append(1), warmup=3, rep=6, quantiles=[0.5])
        print(found.unit, found.samples, found.quantiles, len(calls))
    """)
    # 1.5 ms each: one call that compiles, two to warm up, four that count.
    assert output.split("\n")[0] == "ms (1.5, 1.5, 1.5, 1.5) (1.5,) 7"
