"""Kernels of the dispatch tests run on one simulator, with a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipedsl import config, use_device
from tests.runtime.hip_fixtures import hip_environment, run_hip

__all__ = ["hip_environment", "run_hip", "simulator"]


@pytest.fixture(autouse=True)
def simulator(tmp_path: Path):
    with config.scope(cache_dir=tmp_path / "cache"), use_device("sim:gfx942") as device:
        yield device
