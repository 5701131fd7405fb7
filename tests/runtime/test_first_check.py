"""The check of a kernel's first launch on the simulator."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pipedsl
from pipedsl import config, gpu, pipelined_kernel
from pipedsl.core.findings import CheckWarning


@pytest.fixture(autouse=True)
def on():
    with pipedsl.use_device("sim:gfx942"), config.scope(check_first=True):
        yield


def racing_kernel():
    @pipelined_kernel
    def racing(out):
        cells = gpu.shared.array(128, np.int32)
        t = gpu.thread_idx.x
        cells[t] = t
        out[t] += cells[127 - t]

    return racing


def test_the_first_launch_warns_once_and_computes_as_ever() -> None:
    racing = racing_kernel()
    out = np.zeros(128, np.int32)
    with pytest.warns(CheckWarning) as caught:
        racing[1, 128](out)
    assert [w.message.finding.code for w in caught] == ["C211"]
    assert "test_first_check.py" in str(caught[0].message)
    # The checker worked on a copy: had it run on the array too, sums would be doubled.
    assert out.max() <= 127
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        racing[1, 128](out)


def test_a_right_kernel_is_silent_and_other_workgroups_are_left_out() -> None:
    @pipelined_kernel
    def late_race(out):
        if gpu.block_idx.x == 1:
            cells = gpu.shared.array(128, np.int32)
            cells[gpu.thread_idx.x] = 1
            out[gpu.thread_idx.x] = cells[127 - gpu.thread_idx.x]

    out = np.zeros(128, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        late_race[2, 128](out)


def test_the_cost_is_bounded() -> None:
    @pipelined_kernel
    def long(out, n):
        value = 0
        for i in range(n):
            value = value * 3 + i
        out[gpu.thread_idx.x] = value

    out = np.zeros(64, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        long[1, 64](out, 1_000_000)
    assert (out == out[0]).all()


def test_it_can_be_switched_off() -> None:
    with config.scope(check_first=False), warnings.catch_warnings():
        warnings.simplefilter("error")
        racing_kernel()[1, 128](np.zeros(128, np.int32))


def test_every_launch_is_checked_in_all_workgroups_where_asked() -> None:
    racing = racing_kernel()
    for _ in range(2):
        with config.scope(check=True), pytest.warns(CheckWarning) as caught:
            racing[2, 128](np.zeros(128, np.int32))
        assert "C211" in {w.message.finding.code for w in caught}
