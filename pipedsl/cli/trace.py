"""``pipedsl trace FILE.s``: where the modelled time of a kernel of an assembly file goes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pipedsl.cli.run import add_launch_options, read_kernel
from pipedsl.cli.values import SYNTAX, parse_argument
from pipedsl.dispatch.tracing import Trace


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "trace",
        help="draw where the modelled time of a kernel of an assembly file goes",
        description="Model the time of a kernel of an AMDGPU assembly file on one compute unit and "
        "draw a line per wave. Modelled cycles are not a GPU's time.",
        epilog=SYNTAX
        + "\nexamples:\n  pipedsl trace ring.s --block 128 --arg zeros:int32:64 --arg i32:64"
        "\n  pipedsl trace ring.s --block 128 --arg zeros:int32:64 --arg i32:64 --save ring.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_launch_options(parser)
    parser.add_argument("--save", action="append", default=[], type=Path, metavar="FILE", help="also write FILE.svg, .html, .txt, or .json for Perfetto")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Model the launch, then print and save its timeline."""
    kernel = read_kernel(options.file, options.kernel)
    args = [parse_argument(text, seed) for seed, text in enumerate(options.arg)]
    traced = Trace([kernel.time(options.grid, options.block, args, options.lds)])
    print(traced)
    for path in options.save:
        traced.save(path)
    return 0
