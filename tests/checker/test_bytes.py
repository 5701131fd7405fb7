"""Which bytes race: the detector's tables against a comparison of every pair of accesses."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipedsl.checker.detector import Conflict, Detector
from pipedsl.checker.events import ACCESS, END, GLOBAL, LDS, READ, WRITE, Site, encode
from pipedsl.isa.counters import Queue

QUEUES = (Queue("vmcnt", 63),)
SITES = tuple(
    Site(f"{'write' if bits == WRITE else 'read'} {space}", access={space: bits}, queues=(0,))
    for space in (LDS, GLOBAL)
    for bits in (READ, WRITE)
)
LAST = 4096 + 96  # addresses reach across the end of a page

access = st.tuples(
    st.integers(0, 1),  # wave
    st.integers(0, 1),  # reads or writes
    st.sampled_from([1, 2, 4, 8, 16]),
    st.lists(st.integers(0, 96), min_size=1, max_size=8),  # of the lanes, in units of the width
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([LDS, GLOBAL]), st.lists(access, min_size=2, max_size=8), st.booleans())
def test_a_race_is_reported_if_and_only_if_two_waves_meet_in_a_byte(space, accesses, contiguous):
    detector = Detector(
        SITES, 1, 2, QUEUES, frozenset(), lds_bytes=LAST + 2048, registers=4, global_bytes=4 * LAST
    )
    touched: list[tuple[int, int, set[int]]] = []
    for wave, writes, width, places in accesses:
        if contiguous:
            places = range(places[0], places[0] + len(places))
        addresses = [4096 - 64 * (space == GLOBAL) + place * width for place in places]
        site = 2 * space + writes
        detector.feed(0, encode(ACCESS, wave, site, addresses, space=space, width=width))
        touched.append((wave, writes, {a + i for a in addresses for i in range(width)}))
    for wave in (0, 1):
        detector.feed(0, encode(END, wave))
    wanted = {
        ("read", "write")[one_writes] + ("read", "write")[two_writes]
        for i, (one, one_writes, ours) in enumerate(touched)
        for two, two_writes, theirs in touched[i + 1 :]
        if one != two and (one_writes or two_writes) and ours & theirs
    }
    found = [conflict for conflict in detector.conflicts() if isinstance(conflict, Conflict)]
    assert bool(found) == bool(wanted)
    for conflict in found:
        kinds = "".join(("read", "write")[w] for w in conflict.writes)
        assert kinds in wanted
        first = [bytes_ for wave, w, bytes_ in touched if (wave, w) == (conflict.waves[0], conflict.writes[0])]
        second = [bytes_ for wave, w, bytes_ in touched if (wave, w) == (conflict.waves[1], conflict.writes[1])]
        assert any(conflict.address in a and conflict.address in b for a in first for b in second)
