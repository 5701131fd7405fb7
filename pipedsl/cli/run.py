"""``pipedsl run FILE.s``: one launch of an assembly file on the simulator."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from pipedsl.cli.values import SYNTAX, parse_argument, parse_extents, pick_kernel
from pipedsl.core.errors import LaunchError
from pipedsl.sim import Kernel, load_assembly
from pipedsl.sim.code_object import disassemble


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="run a kernel of an AMDGPU assembly file on the simulator",
        description="Run a kernel of an AMDGPU assembly file on the simulator.",
        epilog=SYNTAX
        + "\nexample:\n  pipedsl run ring.s --grid 1 --block 128 --arg zeros:int32:64 --arg i32:64 "
        "--print 8",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_launch_options(parser)
    parser.add_argument("--out", action="append", default=[], metavar="[N=]FILE.npy", help="save array argument N, counted from 0 (default: the first array)")  # fmt: skip
    parser.add_argument("--print", type=int, default=0, metavar="N", help="print the first N elements of every array")  # fmt: skip
    parser.set_defaults(run=run)


def add_launch_options(parser: argparse.ArgumentParser) -> None:
    """The file, its kernel, and what it is launched with."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="complete assembly text, or a code object (.hsaco, .co)",
    )
    parser.add_argument("--kernel", metavar="NAME", help="default: the file's only kernel")
    parser.add_argument("--grid", type=parse_extents, default=(1,), metavar="X[,Y[,Z]]", help="workgroups (default 1)")  # fmt: skip
    parser.add_argument("--block", type=parse_extents, required=True, metavar="X[,Y[,Z]]", help="work-items of a workgroup")  # fmt: skip
    parser.add_argument("--lds", type=int, default=0, metavar="BYTES", help="dynamic LDS")
    parser.add_argument("--arg", action="append", default=[], metavar="SPEC", help="next argument, see below")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Launch, then print and save what was asked for."""
    kernel = read_kernel(options.file, options.kernel)
    args = [parse_argument(text, seed) for seed, text in enumerate(options.arg)]
    outputs = [_output(text, args) for text in options.out]
    start = time.perf_counter()
    stats = kernel.launch(options.grid, options.block, args, lds_bytes=options.lds)
    seconds = time.perf_counter() - start
    names = [arg.name or str(i) for i, arg in enumerate(kernel.metadata.args)]
    for name, arg in zip(names, args, strict=False):
        if options.print > 0 and isinstance(arg, np.ndarray):
            print(f"{name}: {' '.join(str(value) for value in arg.flat[: options.print])}")
    for path, array in outputs:
        np.save(path, array)
    print(
        f"{kernel.name} on sim:{kernel.arch.name}: {stats.instructions} wave instructions in "
        f"{seconds:.3f} s"
    )
    return 0


def read_kernel(path: Path, name: str | None) -> Kernel:
    """The kernel `name`, or the only one, of an assembly file."""
    try:
        text = disassemble(path) if path.suffix in (".hsaco", ".co") else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise LaunchError(f"{str(path)!r} cannot be read: {error}.") from None
    kernels = load_assembly(text).kernels
    return pick_kernel(path, kernels, name)


def _output(text: str, args: list[Any]) -> tuple[str, np.ndarray]:
    position, separator, path = text.rpartition("=")
    arrays = {str(i): arg for i, arg in enumerate(args) if isinstance(arg, np.ndarray)}
    if not separator:
        position = next(iter(arrays), "0")
    if position not in arrays:
        raise LaunchError(f"--out {text!r}: argument {position} is not an array.")
    return path, arrays[position]
