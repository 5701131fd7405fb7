"""Builds the HIP library of the tests (hip_shim.c)."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("hip_shim.c")


def build(root: Path) -> dict[str, str] | None:
    """Build ``lib/libamdhip64.so`` below `root`.

    Returns
    -------
    dict or None
        Environment in which hip-python finds it; None if this machine has no C compiler.
    """
    compiler = _compiler()
    if compiler is None:
        return None
    library = root / "lib"
    library.mkdir()
    flags = ["-shared", "-fPIC", "-O1", "-w", "-Wl,-soname,libamdhip64.so"]
    subprocess.run([*compiler, *flags, "-o", library / "libamdhip64.so", SOURCE], check=True)
    # hip-python looks into ROCM_PATH before the loader's path.
    return {"LD_LIBRARY_PATH": str(library), "ROCM_PATH": str(root)}


def _compiler() -> list[str] | None:
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    return None
