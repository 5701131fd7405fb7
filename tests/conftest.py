"""Shared by all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "sim"))
# The check of first launches has tests of its own; elsewhere it would only take time.
os.environ.setdefault("PIPEDSL_CHECK_FIRST", "0")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of foreign kernels and recorded vectors; tests that need it skip without it."""
    folder = Path(os.environ.get("PIPEDSL_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the folder of foreign test material is absent")
    return folder
