"""A HIP library for tests, built once, and subprocesses that find it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import hip_library  # noqa: E402 (beside this file)


@pytest.fixture(scope="session")
def hip_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment in which hip-python finds the test HIP library."""
    environment = hip_library.build(tmp_path_factory.mktemp("hip"))
    if environment is None:
        pytest.skip("no C compiler and no ziglang to build the test HIP library with")
    return environment


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Function that runs Python text in a new process; its output."""
    return _run_python


@pytest.fixture
def run_hip(hip_environment: dict[str, str]) -> Callable[..., str]:
    """Function that runs Python text in a process with the test HIP library; its output."""

    def run(script: str, **environment: str) -> str:
        return _run_python(script, **hip_environment, PYTHONPATH=os.pathsep.join(map(str, (HERE, HERE.parents[1]))), **environment)

    return run


def _run_python(script: str, **environment: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "PIPEDSL_DEVICE"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
