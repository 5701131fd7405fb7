"""Fixtures of this folder."""

from tests.runtime.hip_fixtures import hip_environment, run_hip, run_python

__all__ = ["hip_environment", "run_hip", "run_python"]
