"""``pipedsl check FILE.s``: what is wrong with a kernel of an assembly file."""

from __future__ import annotations

import argparse
from typing import Any

from pipedsl.cli.run import add_launch_options, read_kernel
from pipedsl.cli.values import SYNTAX, parse_argument


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
    parser.add_argument(
        "--explore",
        type=_explore,
        metavar="exhaustive|N",
        help="also try every interleaving of the first workgroup, or N that are rare",
    )
    parser.add_argument("--format", choices=("text", "json", "sarif"), default="text")
    parser.set_defaults(run=run)


def _explore(text: str) -> str | int:
    if text == "exhaustive":
        return text
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError("expected exhaustive or a positive number")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Check, then print the report."""
    kernel = read_kernel(options.file, options.kernel)
    args = [parse_argument(text, seed) for seed, text in enumerate(options.arg)]
    report = kernel.check(
        options.grid, options.block, args, options.lds, seeds=range(options.seeds), explore=options.explore
    )
    if options.format == "text":
        print(report)
    else:
        print(report.to_json() if options.format == "json" else report.to_sarif())
    return 0 if report else 1
