"""Damaged texts and senseless launches, a few of them; ``fuzz.py`` runs as many as you like."""

from __future__ import annotations

import pytest
from fuzz import fuzz

from pipedsl.core.config import config


@pytest.mark.parametrize("seed", range(3))
def test_inputs_run_or_are_refused_in_one_sentence(seed: int) -> None:
    with config.scope(cache=False):
        outcomes = fuzz(80, seed)
    assert outcomes.total() == 80
    assert outcomes["ran"] < 80
