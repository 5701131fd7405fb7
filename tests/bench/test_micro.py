"""Microbenchmarks: the same kernels on the model and through HIP."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pipedsl
from pipedsl.bench import PROBES, microbench
from pipedsl.bench.probes import ROUNDS, _ring_copy, table
from pipedsl.core.arch import ARCHS


@pytest.fixture(scope="module")
def cycles() -> dict[str, float]:
    with pipedsl.use_device("sim:gfx942"):
        return {row["name"]: row["cycles"] for row in microbench()}


@pytest.mark.parametrize(
    ("name", "published", "beside"),
    [
        # What stands beside it in the loop is counted too: adds, the branch, the clock.
        ("MFMA, four accumulators", 16, 2.5),
        ("LDS read, dependent", 52, 5),
        ("global load, dependent", 650, 30),
        ("LDS write, stride 1", 8, 1),
        ("LDS write, stride 32", 64, 1),
        ("LDS read, stride 32", 64, 12),
    ],
)
def test_figures_are_near_the_published_ones(cycles, name, published, beside):
    assert abs(cycles[name] - published) <= beside


def test_more_stages_copy_faster_until_memory_bounds(cycles):
    one, two, four = (cycles[f"ring copy, {n} stages"] for n in (1, 2, 4))
    assert one > two > four


@pytest.mark.parametrize("arch", ARCHS)
def test_every_target_has_every_figure(arch):
    with pipedsl.use_device(f"sim:{arch}"):
        rows = microbench("handoff", "fence", "barrier", rounds=16).rows
    assert [row["probe"] for row in rows] == ["handoff"] * 4 + ["fence"] + ["barrier"] * 3
    assert all(row["cycles"] > 0 and row["source"] == f"timing model of {arch}" for row in rows)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_the_ring_copies(arch):
    values = table()
    with pipedsl.use_device(f"sim:{arch}") as device:
        size = 4 * device.arch.wave_size * 4 * ROUNDS
        ticks = np.zeros(8, np.int64)
        _ring_copy(2, 4)[1, 8 * device.arch.wave_size](ticks, values, np.int32(ROUNDS))
    half = values.size // 2
    assert np.array_equal(values[half : half + size], table()[:size])
    assert (ticks > 0).all()


def test_unknown_names_are_refused():
    with pytest.raises(pipedsl.LaunchError, match="'speed' is not a microbenchmark"):
        microbench("speed")


def test_all_of_them_run_through_hip(run_hip):
    """Against the tests' HIP library: launches are simulated, event times are synthetic."""
    output = run_hip("""
        import json, hip_simulation, pipedsl
        from pipedsl.bench import microbench
        hip_simulation.know_all()
        hip_simulation.install()
        found = microbench(rounds=8)
        print(json.dumps([found.rows, len(hip_simulation.launches)]))
    """)
    rows, launches = json.loads(output.splitlines()[-1])
    assert {row["probe"] for row in rows} == set(PROBES)
    assert {(row["time"], row["time_unit"]) for row in rows} == {(1.5, "ms")}
    assert {row["source"] for row in rows} == {"Test GPU 0 (gfx942:sramecc+:xnack-)"}
    # Outside of its timing mode the simulator's clock moves only when another wave has its turn.
    assert next(row["cycles"] for row in rows if row["name"] == "hand-off latency") > 0
    copies = [row["bytes_per_time"] for row in rows if row["probe"] == "copy"]
    assert copies == [8 * 4 * 64 * 16 / 1.5] * 4
    # For each: one that compiles, one to warm up, seven until 10 ms are full.
    assert launches == 9 * len(rows)
