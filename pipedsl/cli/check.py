"""``pipedsl check FILE.s``: what is wrong with a kernel of an assembly file."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from pipedsl.cli.run import add_launch_options, read_kernel
from pipedsl.cli.values import SYNTAX, parse_argument
from pipedsl.sim import Memory
from pipedsl.sim.arguments import pack_arguments
from pipedsl.sim.check import check_kernel


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "check",
        help="look for missing waits, races and deadlocks in a kernel of an assembly file",
        description="Run a kernel of an AMDGPU assembly file in several interleavings and report "
        "missing waits, races, protocol errors and deadlocks. The exit status is 1 if there are any.",
        epilog=SYNTAX
        + "\nexample:\n  pipedsl check ring.s --block 128 --arg zeros:int32:64 --arg i32:64",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_launch_options(parser)
    parser.add_argument(
        "--seeds", type=int, default=4, metavar="N", help="interleavings (default 4)"
    )
    parser.add_argument("--format", choices=("text", "json", "sarif"), default="text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, then print the report."""
    kernel = read_kernel(options.file, options.kernel)
    args = [parse_argument(text, seed) for seed, text in enumerate(options.arg)]
    grid, block = ((*extents, 1, 1)[:3] for extents in (options.grid, options.block))

    def prepare() -> tuple[Memory, bytes]:
        memory = Memory()
        fresh = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        return memory, pack_arguments(kernel.metadata, fresh, memory, grid, block, options.lds)

    report = check_kernel(kernel, grid, block, prepare, range(options.seeds), lds_bytes=options.lds)
    if options.format == "text":
        print(report)
    else:
        print(report.to_json() if options.format == "json" else report.to_sarif())
    return 0 if report else 1
