"""``pipedsl compile FILE.py``: what a kernel compiles to, without running it."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

from pipedsl.cli.values import SYNTAX, parse_argument, parse_extents, pick_kernel
from pipedsl.core.arch import ARCHS
from pipedsl.core.errors import LaunchError
from pipedsl.dispatch import Kernel


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "compile",
        help="compile a kernel of a Python file and show a stage of it",
        description="Compile a kernel of a Python file for one target and show its resources, or "
        "the text of a stage, or save its code object.",
        epilog=SYNTAX
        + "\nexample:\n  pipedsl compile kernels.py --kernel scale --arch gfx942 --block 128 "
        "--arg zeros:float32:64 --arg f32:2 --stage asm",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE.py", help="run to find its kernels")
    parser.add_argument("--kernel", metavar="NAME", help="default: the file's only kernel")
    parser.add_argument("--arch", choices=ARCHS, help="default: the current device's")
    parser.add_argument("--block", type=parse_extents, metavar="X[,Y[,Z]]", help="work-items of a workgroup (default: known only at launch)")  # fmt: skip
    parser.add_argument("--arg", action="append", default=[], metavar="SPEC", help="example of the next argument, see below")  # fmt: skip
    parser.add_argument("--stage", metavar="NAME", help="print source, llvm, llvm_optimized or asm")
    parser.add_argument("--hsaco", type=Path, metavar="FILE", help="save the code object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compile, then print and save what was asked for."""
    kernel = _kernel(options.file, options.kernel)
    args = [parse_argument(text, seed) for seed, text in enumerate(options.arg)]
    compiled = kernel.compile(*args, arch=options.arch, block=options.block)
    if options.hsaco is not None:
        options.hsaco.write_bytes(compiled.hsaco())
    if options.stage is None:
        print(compiled.resources)
        return 0
    if options.stage not in compiled.stages:
        raise LaunchError(
            f"there is no stage {options.stage!r}.",
            fix=f"--stage takes one of: {', '.join(compiled.stages)}.",
        )
    print(compiled.stages[options.stage].rstrip())
    return 0


def _kernel(path: Path, name: str | None) -> Kernel:
    if not path.is_file():
        raise LaunchError(f"{str(path)!r} is not a file.")
    sys.path.insert(0, str(path.parent))
    try:
        names = runpy.run_path(str(path))
    finally:
        sys.path.remove(str(path.parent))
    kernels = {key: value for key, value in names.items() if isinstance(value, Kernel)}
    return pick_kernel(path, kernels, name)
