"""The detector on hand-written traces: no simulator, no instructions, only events."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl.checker.detector import Conflict, Detector, Early
from pipedsl.checker.events import (
    ACCESS,
    ARRIVE,
    ATOMIC,
    COMPARE,
    END,
    GLOBAL,
    LDS,
    LEAVE,
    READ,
    USE,
    WAIT,
    WRITE,
    Comparison,
    Site,
    encode,
)
from pipedsl.isa.counters import Queue
from pipedsl.isa.rings import Ring

VECTOR, DS, SCALAR = range(3)
QUEUES = (Queue("vmcnt", 63), Queue("lgkmcnt", 15), Queue("lgkmcnt", 15, ordered=False))
COUNTER = 1024  # a word of LDS that waves raise

STORE, LOAD, RAISE, POLL, TEST, COPY, FETCH, STAY, USE_R5, ADD, LOOK, CHECK, DONE, LDS_DONE = range(14)
SITES = (
    Site("store", access={LDS: WRITE}, queues=(DS,)),
    Site("load", access={LDS: READ}, queues=(DS,)),
    Site("raise", access={LDS: WRITE | ATOMIC}, queues=(DS,)),
    Site("poll", access={LDS: READ}, queues=(DS,)),
    Site("test", compares=Comparison(POLL, "ge")),
    Site("copy to LDS", access={LDS: WRITE, GLOBAL: READ}, queues=(VECTOR,)),
    Site("fetch r5", access={GLOBAL: READ}, queues=(VECTOR,), loads=(5, 1)),
    Site("global store", access={GLOBAL: WRITE}, queues=(VECTOR,)),
    Site("use r5", uses=((5, 1, 0),)),
    Site("global add", access={GLOBAL: WRITE | ATOMIC}, queues=(VECTOR,)),
    Site("global poll", access={GLOBAL: READ}, queues=(VECTOR,)),
    Site("global test", compares=Comparison(LOOK, "ge")),
    Site("vmcnt(0)", limits={VECTOR: 0}),
    Site("lgkmcnt(0)", limits={DS: 0, SCALAR: 0}),
)


class Trace:
    """Feeds a detector of `groups` workgroups of two waves."""

    def __init__(self, groups: int = 1, rings: tuple[Ring, ...] = (), sites=SITES) -> None:
        self.detector = Detector(
            sites, groups, 2, QUEUES, frozenset({DS}), rings, lds_bytes=2048, registers=16
        )

    def access(self, wave, site, *addresses, space=LDS, width=4, value=0, group=0) -> Trace:
        return self._feed(
            group,
            encode(ACCESS, wave, site, addresses or (0,), space=space, width=width, value=value),
        )

    def event(self, kind, wave, site=0, value=0, group=0) -> Trace:
        return self._feed(group, encode(kind, wave, site, value=value))

    def _feed(self, group, words) -> Trace:
        self.detector.feed(group, words)
        return self

    def signal(self, wave, value) -> Trace:
        return self.access(wave, RAISE, COUNTER, width=8, value=value)

    def await_(self, wave, needed, value) -> Trace:
        self.access(wave, POLL, COUNTER, width=8, value=value)
        return self.event(COMPARE, wave, TEST, value=needed)

    def barrier(self) -> Trace:
        for kind in (ARRIVE, LEAVE):
            for wave in (0, 1):
                self.event(kind, wave)
        return self

    def end(self) -> list[Conflict | Early]:
        for wave in (0, 1):
            self.event(END, wave)
        return self.detector.conflicts()


def test_two_writes_without_order_are_a_race() -> None:
    (found,) = Trace().access(0, STORE).access(1, STORE).end()
    assert found == Conflict("LDS", True, (0, 1), (STORE, STORE), (True, True), 0, found.allowed)


def test_reads_commute() -> None:
    assert not Trace().access(0, LOAD).access(1, LOAD).end()


@pytest.mark.parametrize(("first", "second"), [(STORE, LOAD), (LOAD, STORE)])
def test_read_and_write_race(first, second) -> None:
    (found,) = Trace().access(0, first).access(1, second).end()
    assert found.unordered
    assert found.writes == (first == STORE, second == STORE)


def test_other_bytes_do_not_race() -> None:
    assert not Trace().access(0, STORE, 0, 4, 8).access(1, STORE, 12, 16).end()


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_races_are_told_apart_by_bytes(width) -> None:
    clean = Trace().access(0, STORE, 16 - width, width=width).access(1, STORE, 16, width=1)
    assert not clean.end()
    racing = Trace().access(0, STORE, 16 - width, width=width).access(1, STORE, 15, width=1)
    assert [found.address for found in racing.end()] == [15]


def test_a_barrier_orders_what_is_complete() -> None:
    assert not Trace().access(0, STORE).event(WAIT, 0, LDS_DONE).barrier().access(1, LOAD).end()


def test_lds_keeps_its_order_behind_a_barrier() -> None:
    # LDS performs all operations of a wave in the order of issue, but a barrier is no LDS operation.
    (found,) = Trace().access(0, STORE).barrier().access(1, LOAD).end()
    assert not found.unordered
    assert found.allowed == 0


def test_a_signal_in_lds_publishes_lds_writes_without_a_wait() -> None:
    trace = Trace().access(0, STORE).signal(0, 1).await_(1, 1, 1).access(1, LOAD)
    assert not trace.end()


def test_a_signal_says_nothing_of_copies_to_lds() -> None:
    trace = Trace().access(0, COPY).signal(0, 1).await_(1, 1, 1).access(1, LOAD)
    (found,) = trace.end()
    assert (found.sites, found.unordered) == ((COPY, LOAD), False)


def test_a_wait_before_the_signal_proves_the_copy() -> None:
    trace = Trace().access(0, COPY).event(WAIT, 0, DONE).signal(0, 1).await_(1, 1, 1)
    assert not trace.access(1, LOAD).end()


def test_the_weakest_wait_counts_younger_operations() -> None:
    trace = Trace().access(0, COPY, 0).access(0, COPY, 64).access(0, COPY, 128)
    (found,) = trace.signal(0, 1).await_(1, 1, 1).access(1, LOAD, 0).end()
    assert found.allowed == 2


def test_an_unsatisfied_wait_learns_nothing() -> None:
    trace = Trace().access(0, STORE).signal(0, 1).await_(1, 2, 1).access(1, LOAD)
    assert trace.end()[0].unordered


def test_a_wait_learns_no_more_than_its_threshold_proves() -> None:
    # The counter had already gone to 2, but the wait would have been satisfied by 1.
    trace = Trace().signal(0, 1).access(0, STORE).signal(0, 2).await_(1, 1, 2).access(1, LOAD)
    assert trace.end()[0].unordered


def test_order_is_transitive_through_a_counter() -> None:
    sites_ordered = Trace(groups=1).access(0, STORE).signal(0, 1).await_(1, 1, 1)
    sites_ordered.access(1, STORE).signal(1, 2).await_(0, 2, 2).access(0, LOAD)
    assert not sites_ordered.end()


def test_use_of_a_register_before_its_load_is_complete() -> None:
    (found,) = Trace().access(0, FETCH, space=GLOBAL).event(USE, 0, USE_R5).end()
    assert found == Early(0, (FETCH, USE_R5), 5, False, 0)


def test_younger_loads_may_stay_in_flight() -> None:
    other = Site("fetch r6", access={GLOBAL: READ}, queues=(VECTOR,), loads=(6, 1))
    trace = Trace(sites=(*SITES, other)).access(0, FETCH, space=GLOBAL)
    trace.access(0, len(SITES), 64, space=GLOBAL)
    (found,) = trace.event(USE, 0, USE_R5).end()
    assert found.allowed == 1


def test_a_waited_register_is_used_freely() -> None:
    trace = Trace().access(0, FETCH, space=GLOBAL).event(WAIT, 0, DONE).event(USE, 0, USE_R5)
    assert not trace.end()


def test_workgroups_share_global_memory_and_not_lds() -> None:
    trace = Trace(groups=2).access(0, STORE).access(0, STORE, group=1)
    trace.access(0, STAY, 0, space=GLOBAL).access(0, STAY, 0, space=GLOBAL, group=1)
    (found,) = trace.end()
    assert (found.space, found.waves) == ("global", (0, 2))


def test_atomics_order_workgroups() -> None:
    trace = Trace(groups=2).access(0, STAY, 0, space=GLOBAL).event(WAIT, 0, DONE)
    trace.access(0, ADD, 4096, space=GLOBAL)
    trace.access(0, LOOK, 4096, space=GLOBAL, group=1).event(COMPARE, 0, CHECK, value=1, group=1)
    trace.access(0, STAY, 0, space=GLOBAL, group=1)
    assert not trace.end()


@pytest.mark.parametrize("seed", range(6))
def test_a_mutex_by_barriers_is_clean_for_random_accesses(seed) -> None:
    """Waves take turns between barriers; whatever they touch, nothing races."""
    draw = np.random.default_rng(seed)
    trace = Trace()
    for turn in range(40):
        wave = turn % 2
        for _ in range(draw.integers(1, 4)):
            site = STORE if draw.random() < 0.5 else LOAD
            width = int(draw.choice([1, 2, 4, 8, 16]))
            start = int(draw.integers(0, 500)) * width % 960
            lanes = [start + i * width for i in range(int(draw.integers(1, 64))) if start + i * width < 1000]
            trace.access(wave, site, *lanes, width=width)
        trace.event(WAIT, wave, LDS_DONE).barrier()
    assert not trace.end()


RING = Ring(COUNTER, 64, 2, 1, 1)  # full[0], full[1], empty[0], empty[1]
EMPTY = COUNTER + 16


def ring() -> Trace:
    trace = Trace(rings=(RING,))
    return trace.access(0, STORE, *range(COUNTER, COUNTER + 32, 4)).event(WAIT, 0, LDS_DONE).barrier()


def codes(trace: Trace) -> list[str]:
    """Of a trace that stops in the middle of the waves' work."""
    return [found.code for found in trace.detector.violations()]


def test_a_lap_of_a_ring_breaks_no_rule() -> None:
    trace = ring().access(0, STORE, 0).signal(0, 1).await_(1, 1, 1).access(1, LOAD, 0)
    assert not codes(trace.access(1, RAISE, EMPTY, width=8, value=1))


def test_full_twice_in_a_lap() -> None:
    trace = ring().access(0, STORE, 0).signal(0, 1).access(0, STORE, 0).signal(0, 2)
    assert codes(trace) == ["C320"]


def test_empty_before_full() -> None:
    assert codes(ring().access(1, RAISE, EMPTY, width=8, value=1)) == ["C321"]


def test_signal_without_data() -> None:
    assert codes(ring().signal(0, 1)) == ["C350"]


def test_signal_of_several_lanes() -> None:
    trace = ring().access(0, STORE, 0).access(0, RAISE, COUNTER, COUNTER, width=8, value=1)
    assert codes(trace) == ["C322"]


def test_counters_that_nobody_initialised() -> None:
    trace = Trace(rings=(RING,)).access(0, STORE, 0).signal(0, 1)
    assert codes(trace) == ["C331"]


def test_initialised_in_use() -> None:
    trace = ring().access(0, STORE, 0).signal(0, 1).access(1, STORE, COUNTER, width=8)
    assert codes(trace) == ["C332"]


def test_wait_for_a_lap_that_is_over() -> None:
    trace = ring().access(0, STORE, 0).signal(0, 1).await_(1, 1, 1).access(1, LOAD, 0)
    trace.access(1, RAISE, EMPTY, width=8, value=1)
    assert codes(trace.await_(1, 1, 1)) == ["C340"]


def test_a_slot_that_nobody_awaits() -> None:
    trace = ring().access(0, STORE, 0).signal(0, 1)
    trace.end()
    assert codes(trace) == ["C351"]


def test_a_phase_that_never_comes() -> None:
    trace = ring().access(0, POLL, EMPTY, width=8, value=0)
    assert codes(trace.event(COMPARE, 0, TEST, value=2**32 - 1)) == ["C341"]


def test_operations_without_memory_count_on_their_queue() -> None:
    swizzle = Site("swizzle", queues=(DS,), loads=(6, 1))
    fetch = Site("ds fetch", access={LDS: READ}, queues=(DS,), loads=(5, 1))
    wait = Site("lgkmcnt(1)", limits={DS: 1})
    trace = Trace(sites=(*SITES, swizzle, fetch, wait)).access(0, len(SITES) + 1, 64)
    trace.event(ACCESS, 0, len(SITES)).event(WAIT, 0, len(SITES) + 2).event(USE, 0, USE_R5)
    assert not trace.end()


def test_going_back_to_a_moment_forgets_what_came_after() -> None:
    trace = Trace().access(0, STORE)
    moment = trace.detector.save()
    trace.access(1, LOAD, 64).access(1, STORE, 128)
    trace.detector.restore(moment)
    trace.access(0, STORE, 64).access(0, STORE, 128)
    assert not trace.end()
