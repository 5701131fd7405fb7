"""``pipedsl isa``: which instructions the simulator has, and which of a file's it lacks."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipedsl.core.arch import ARCHS, get_arch
from pipedsl.core.errors import AssemblyError
from pipedsl.isa.metadata import processor
from pipedsl.isa.opcode import TABLE, Fidelity
from pipedsl.sim.reader import strip_comment


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "isa",
        help="list the simulator's instructions, or those of a file that it lacks",
        description="List the simulator's instructions: exact, approximate or unsupported, and "
        "why. With --missing, list a file's instructions that it lacks; the exit status is 1 if "
        "there are any.",
    )
    parser.add_argument("--arch", choices=ARCHS, help="only the instructions of this target")
    parser.add_argument("--missing", type=Path, metavar="FILE.s", help="assembly to look through")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table, or what is missing."""
    if options.missing is not None:
        return _report_missing(options.missing, options.arch)
    rows = [row for row in TABLE.rows() if options.arch is None or options.arch in row.archs]
    for row in rows:
        where = "" if options.arch else " ".join(arch for arch in ARCHS if arch in row.archs)
        reason = f"({row.reason})" if row.reason else ""
        print(
            f"{row.name:<36} {row.unit.value:<9} {row.fidelity.value:<12} {where} {reason}".rstrip()
        )
    counts = Counter(row.fidelity for row in rows)
    print(", ".join(f"{counts[fidelity]} {fidelity.value}" for fidelity in Fidelity))
    return 0


def _report_missing(path: Path, arch: str | None) -> int:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise AssemblyError(f"{str(path)!r} cannot be read: {error}.") from None
    target = arch or _target(text, path)
    used = Counter(_mnemonics(text))
    missing = {name: count for name, count in sorted(used.items()) if not _has(name, target)}
    for name, count in missing.items():
        print(f"{name:<36} {count} uses")
    print(f"{len(missing)} of {len(used)} mnemonics are missing for {target}")
    return 1 if missing else 0


def _target(text: str, path: Path) -> str:
    found = re.search(r'^\s*\.amdgcn_target\s+"([^"]+)"', text, re.M)
    if found is None:
        raise AssemblyError(f"{str(path)!r} names no target.", fix="pass --arch.")
    return get_arch(processor(found[1])).name


def _mnemonics(text: str) -> Iterator[str]:
    # Metadata is YAML, whose lines look like code.
    code = re.sub(r"\.amdgpu_metadata\b.*?\.end_amdgpu_metadata\b", "", text, flags=re.S)
    for line in code.splitlines():
        for half in strip_comment(line).split("::"):
            found = re.match(r"\s*([a-z][a-z0-9]*_\w+)(?=\s|$)", half)
            if found:
                yield found[1]


def _has(mnemonic: str, arch: str) -> bool:
    row = TABLE.find(mnemonic, arch) or TABLE.find(mnemonic.replace("v_dual_", "v_", 1), arch)
    return row is not None and row.fidelity is not Fidelity.UNSUPPORTED
