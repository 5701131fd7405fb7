"""``pipedsl doctor``: which device is used and why, and what else this machine has."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from llvmlite import binding

from pipedsl.codegen.hsaco import find_toolchain
from pipedsl.core.arch import ARCHS
from pipedsl.core.config import KNOBS, config
from pipedsl.core.errors import PipedslError, ToolchainMissing
from pipedsl.core.version import __version__
from pipedsl.runtime import candidates, get_device


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="say which device is used and why, and what this machine has",
        description="Say which device is used and why, which versions and tools are installed, "
        "where the cache is, and what each arch has. The exit status is 1 if no device can be used.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report."""
    usable, device_rows = _device()
    for title, rows in (
        ("versions", _versions()),
        ("device", device_rows),
        ("hsaco", _toolchain()),
        ("cache", _cache()),
        ("settings", _settings()),
        ("archs", _archs()),
    ):
        print(title)
        for line in _table(rows):
            print(f"  {line}")
    return 0 if usable else 1


Rows = list[tuple[str, ...]]


def _device() -> tuple[bool, Rows]:
    rows: Rows = [
        (candidate.spec, candidate.description, candidate.reason or "usable")
        for candidate in candidates()
    ]
    try:
        device = get_device()
    except PipedslError as error:
        return False, [*rows, ("current", "none", error.message)]
    why = f"chosen by {_origin('device')}"
    if config.device == "auto":
        on_gpu = device.name.startswith("hip")
        why = "the first supported AMD GPU" if on_gpu else "no supported AMD GPU was found"
    return True, [*rows, ("current", device.name, why)]


def _versions() -> Rows:
    rows: Rows = [("pipedsl", __version__), ("Python", platform.python_version())]
    for package in ("numba", "llvmlite", "numpy", "hip-python", "ziglang"):
        try:
            rows.append((package, version(package)))
        except PackageNotFoundError:
            rows.append((package, "not installed"))
    rows.insert(4, ("LLVM", ".".join(str(part) for part in binding.llvm_version_info)))
    return rows


def _toolchain() -> Rows:
    try:
        return [("assembler", str(find_toolchain()))]
    except ToolchainMissing as error:
        return [("assembler", "none; the simulator needs none"), ("", error.fix or "")]


def _cache() -> Rows:
    folder = Path(config.cache_dir)
    if not config.cache:
        return [("folder", str(folder)), ("state", "off")]
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    state = "writable" if os.access(existing, os.W_OK) else "not writable: nothing is kept"
    return [
        ("folder", str(folder)),
        ("state", state),
        ("holds", f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB"),
    ]


def _settings() -> Rows:
    return [(name, str(getattr(config, name)), _origin(name)) for name in KNOBS]


def _origin(name: str) -> str:
    variable = KNOBS[name].variable
    return variable if variable in os.environ else "default"


def _archs() -> Rows:
    rows: Rows = [("arch", "wave", "LDS", "VGPRs", "features")]
    for arch in ARCHS.values():
        features = " ".join(sorted(arch.features))
        lds = f"{arch.lds_bytes // 1024} KiB"
        rows.append((arch.name, str(arch.wave_size), lds, str(arch.max_vgprs), features))
    return rows


def _table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Lines with aligned columns; the last column is as wide as it is."""
    rows = list(rows)
    count = max(len(row) for row in rows)
    widths = [
        max((len(row[i]) for row in rows if i < len(row) - 1), default=0) for i in range(count)
    ]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()
