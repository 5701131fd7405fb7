"""The ``pipedsl`` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pipedsl.cli import bench, check, compile, doctor, isa, run, trace
from pipedsl.core.errors import PipedslError
from pipedsl.core.version import __version__

_COMMANDS = (doctor, run, compile, bench, check, trace, isa)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, 1 for a reported error, 2 for wrong usage.

    130 says that Ctrl-C ended it.
    """
    parser = argparse.ArgumentParser(
        prog="pipedsl", description="Warp-specialised AMD GPU kernels in Python."
    )
    parser.add_argument("--version", action="version", version=f"pipedsl {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    options = parser.parse_args(argv)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except PipedslError as error:
        if error.where is not None and error.where.filename == sys.argv[0]:
            error.where = None  # the command itself called, not a line of the user's
        print(f"pipedsl: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("pipedsl: stopped; results of a sweep so far are kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, e.g. head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
