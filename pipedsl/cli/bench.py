"""``pipedsl bench``: sweeps of GEMM-style pipelines, and microbenchmarks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipedsl.bench import microbench, pipelines
from pipedsl.bench.plots import FORMATS, plot
from pipedsl.bench.probes import PROBES
from pipedsl.bench.records import Records
from pipedsl.core.arch import ARCHS
from pipedsl.core.config import config


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "bench",
        help="benchmark pipelines and single mechanisms",
        description="Benchmark GEMM-style pipelines or single mechanisms. Without a GPU the figures "
        "are modelled cycles, which are no GPU's time.",
    )
    kinds = parser.add_subparsers(title="benchmarks", metavar="WHAT", required=True)
    pipeline: argparse.ArgumentParser = kinds.add_parser(
        "pipeline",
        help="model GEMM-style pipelines of many configurations",
        description="Model C = A B^T of float16 matrices in every combination of the given numbers, "
        "one row per configuration. Results are kept: what was measured is not measured again.",
        epilog="numbers are lists and ranges with both ends: 1:4,8\n"
        "example:\n  pipedsl bench pipeline --arch gfx942 --stages 1:4 --producers 1,2 "
        "--consumers 2,4 --tile 64x64x32 --save sweep.csv --plot sweep.svg",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    pipeline.add_argument("--arch", choices=ARCHS, default="gfx942", help="target (default: gfx942)")
    pipeline.add_argument("--stages", type=_numbers, default=[1, 2, 3, 4], metavar="N", help="slots of the ring (default: 1:4)")  # fmt: skip
    pipeline.add_argument("--producers", type=_numbers, default=[1, 2, 4], metavar="N", help="producer waves (default: 1,2,4)")  # fmt: skip
    pipeline.add_argument("--consumers", type=_numbers, default=[1, 2, 4, 8], metavar="N", help="consumer waves (default: 1,2,4,8)")  # fmt: skip
    pipeline.add_argument("--tile", type=_tiles, default=[(64, 64, 32)], metavar="MxNxK[,...]", help="a workgroup's step (default: 64x64x32)")  # fmt: skip
    pipeline.add_argument("--k", type=_positive, default=1024, metavar="N", help="length of the product (default: 1024)")  # fmt: skip
    pipeline.add_argument("--jobs", type=_positive, metavar="N", help="processes (default: one per core)")  # fmt: skip
    _add_outputs(pipeline)
    pipeline.add_argument("--plot", type=_file(*FORMATS), metavar="FILE", help="draw throughput and a roofline to FILE.svg, .png or .pdf")  # fmt: skip
    pipeline.set_defaults(run=_run_pipelines)
    micro: argparse.ArgumentParser = kinds.add_parser(
        "micro",
        help="measure hand-offs, copies, matrix instructions, LDS, memory, waits and barriers",
        description="Measure single mechanisms with kernels of our own, on the current device.",
        epilog="example:\n  pipedsl bench micro handoff barrier --arch gfx950",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    micro.add_argument("name", nargs="*", metavar="NAME", help=f"of {', '.join(PROBES)} (default: all)")  # fmt: skip
    micro.add_argument("--arch", choices=ARCHS, help="model this target instead of the current device")  # fmt: skip
    _add_outputs(micro)
    micro.set_defaults(run=_run_micro)


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--save", action="append", default=[], type=_file(".csv", ".json"), metavar="FILE", help="also write FILE.csv or .json")  # fmt: skip


def _run_pipelines(options: argparse.Namespace) -> int:
    with config.scope(**({"threads": options.jobs} if options.jobs else {})):
        records = pipelines(
            options.arch, options.stages, options.producers, options.consumers, options.tile,
            options.k,
        )  # fmt: skip
    status = _show(records, options.save)
    if options.plot is not None and records.rows:
        plot(records).save(options.plot)
    return status


def _run_micro(options: argparse.Namespace) -> int:
    device = f"sim:{options.arch}" if options.arch else config.device
    with config.scope(device=device):
        return _show(microbench(*options.name), options.save)


def _show(records: Records, paths: list[Path]) -> int:
    print(records)
    for path in paths:
        records.save(path)
    return 0 if records.rows else 1


def _file(*suffixes: str) -> Callable[[str], Path]:
    """Type of an option that names a file, refused before anything is measured."""

    def parse(text: str) -> Path:
        if Path(text).suffix not in suffixes:
            raise argparse.ArgumentTypeError(f"{text!r} does not end in {' or '.join(suffixes)}")
        return Path(text)

    return parse


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,4})(?::(\d{1,4}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 0 < first <= last:
            raise argparse.ArgumentTypeError(f"{part!r} is not a number or a range such as 1:4")
        found += range(first, last + 1)
    return found


_Tile = tuple[int, int, int]


def _tiles(text: str) -> list[_Tile]:
    parse: Callable[[str], Any] = re.compile(r"(\d{1,4})x(\d{1,4})x(\d{1,4})").fullmatch
    found: list[_Tile] = []
    for part in text.split(","):
        match = parse(part)
        if match is None:
            raise argparse.ArgumentTypeError(f"{part!r} is not a tile such as 64x64x32")
        found.append((int(match[1]), int(match[2]), int(match[3])))
    return found
