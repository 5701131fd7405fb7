"""Random programs: the host and the simulated targets must agree bit for bit."""

from __future__ import annotations

import pytest
from differential import compare

from pipedsl.core.arch import ARCHS


@pytest.mark.parametrize("first", [1, 100_001])
def test_random_programs_agree(first):
    seeds = range(first, first + 15)
    wrong = compare(seeds, list(ARCHS))
    assert wrong == {arch: [] for arch in ARCHS}, "run differential.py --show SEED"
