"""The programs of ``kernels/`` import each other by name, as they do when they are run."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "kernels"))
