"""Fixtures of this folder, and a cache of its own for every test."""

from pathlib import Path

import pytest

from pipedsl import config
from tests.runtime.hip_fixtures import hip_environment, run_hip, run_python

__all__ = ["hip_environment", "run_hip", "run_python"]


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    """An empty cache directory, also for processes that the test starts."""
    # Processes that the test starts import its module by name.
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    monkeypatch.setenv("PIPEDSL_CACHE_DIR", str(tmp_path / "cache"))
    assert config.cache_dir == tmp_path / "cache"
    return tmp_path / "cache"
