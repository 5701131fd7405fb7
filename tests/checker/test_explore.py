"""Exploration: how many interleavings there are, and that it finds what only some of them show."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import pipedsl
from pipedsl import LaunchError
from tests.checker.protocol_bugs import BUGS, right

ITEMS = 6


def report(kernel, waves=2, items=ITEMS, **more):
    with pipedsl.use_device("sim:gfx942"):
        out = np.zeros(256, np.float32 if "write_is_complete" in kernel.name else np.int32)
        return pipedsl.check(kernel[1, 64 * waves], out, np.int32(items), seeds=1, **more)


def interleavings(items: int, stages: int, consumers: int) -> int:
    """Orders in which the waves of a ring can wait and signal, counted without a simulator.

    A wave comes to the barrier, passes it when all have come, and then waits and signals once an
    item; a wait can be passed when the counters say so.
    """
    last = 2 + 2 * items

    @cache
    def ways(producer: int, *done: int) -> int:
        if producer == last and all(step == last for step in done):
            return 1
        total = 0
        opened = producer >= 1 and all(step >= 1 for step in done)

        def filled(stage: int) -> int:
            return sum(1 for i in range(max(producer - 2, 0) // 2) if i % stages == stage)

        def drained(stage: int) -> int:
            return sum(
                1 for step in done for i in range(max(step - 2, 0) // 2) if i % stages == stage
            )

        def may(step: int, is_producer: bool) -> bool:
            if step == last or (step == 1 and not opened):
                return False
            if step < 2 or step % 2:
                return True
            item = (step - 2) // 2
            stage, lap = item % stages, item // stages
            if is_producer:
                return drained(stage) >= lap * consumers
            return filled(stage) >= lap + 1

        if may(producer, True):
            total += ways(producer + 1, *done)
        for index, step in enumerate(done):
            if may(step, False):
                total += ways(producer, *done[:index], step + 1, *done[index + 1 :])
        return total

    return ways(0, *(0,) * consumers)


@pytest.mark.parametrize("items", [1, 3, ITEMS])
def test_all_interleavings_of_a_right_ring_are_tried_and_clean(items: int) -> None:
    found = report(right, items=items, explore="exhaustive")
    assert found, found
    assert f"all {interleavings(items, 2, 1)} interleavings" in str(found)


@pytest.mark.parametrize("kernel", BUGS, ids=lambda kernel: kernel.name)
def test_exhaustive_exploration_finds_every_bug(kernel) -> None:
    waves = 3 if "two_consumers" in kernel.name else 2
    found = report(kernel, waves, 4 if waves == 3 else ITEMS, explore="exhaustive")
    assert {finding.code for finding in found.findings} & BUGS[kernel], found


def test_rare_orders_find_a_slot_that_is_given_back_too_early() -> None:
    (kernel,) = (k for k in BUGS if "two_consumers" in k.name)
    found = report(kernel, 3, explore=5)
    assert "C310" in {finding.code for finding in found.findings}, found


@pytest.mark.parametrize("explore", [0, -1, True, "all", 2.5])
def test_what_explore_takes(explore) -> None:
    with pytest.raises(LaunchError, match="explore is"):
        report(right, explore=explore)
