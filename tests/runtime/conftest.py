"""A HIP library for tests, built once, and subprocesses that find it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def hip_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose ``lib`` holds the test ``libamdhip64.so``."""
    compiler = _c_compiler()
    if compiler is None:
        pytest.skip("no C compiler and no ziglang to build the test HIP library with")
    root = tmp_path_factory.mktemp("hip")
    (root / "lib").mkdir()
    flags = ["-shared", "-fPIC", "-O1", "-w", "-Wl,-soname,libamdhip64.so"]
    subprocess.run(
        [*compiler, *flags, "-o", root / "lib/libamdhip64.so", HERE / "hip_shim.c"], check=True
    )
    return root


def _c_compiler() -> list[str] | None:
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Function that runs Python text in a new process; its output."""
    return _run_python


@pytest.fixture
def run_hip(hip_root: Path) -> Callable[..., str]:
    """Function that runs Python text in a process with the test HIP library; its output."""

    def run(script: str, **environment: str) -> str:
        # hip-python looks into ROCM_PATH before the loader's path.
        found = {"LD_LIBRARY_PATH": str(hip_root / "lib"), "ROCM_PATH": str(hip_root)}
        return _run_python(script, **found, PYTHONPATH=str(HERE), **environment)

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
