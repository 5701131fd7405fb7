"""Kernels of the dispatch tests run on one simulator, with a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipedsl import config, use_device


@pytest.fixture(autouse=True)
def simulator(tmp_path: Path):
    with config.scope(cache_dir=tmp_path / "cache"), use_device("sim:gfx942") as device:
        yield device
