"""What the programs that are no matrix products share: their options, their device, their verdict."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pipedsl import CompiledKernel, PipedslError, get_device, use_device
from pipedsl.core.arch import ARCHS

Options = Mapping[str, tuple[int, str]]
"""Integer options by name: default and help."""


class WrongResultError(Exception):
    """The result differs from NumPy's."""


def compare(result: np.ndarray, wanted: np.ndarray, tolerance: float) -> str:
    """Describe how near `result` is; the tolerance is relative to the largest wanted value.

    Raises
    ------
    WrongResultError
    """
    scale = np.abs(wanted).max(initial=0) or 1
    error = np.abs(result.astype(np.float64) - wanted).max(initial=0) / scale
    if not error <= tolerance:
        raise WrongResultError(f"the largest error is {error:.3g} of the largest value")
    return "exact" if error == 0 else f"within {error:.1e}"


def run_program(
    description: str,
    options: Options,
    run: Callable[..., tuple[str, CompiledKernel]],
    argv: Sequence[str] | None = None,
    archs: Sequence[str] = tuple(ARCHS),
    **choices: Sequence[str],
) -> int:
    """Parse the options, run on the device of the arch, print the outcome; 0 if it is right.

    Parameters
    ----------
    run : callable
        Gets the arch and the options by name, on the current device; launches, compares, and
        returns the outcome and the compiled kernel.
    archs : sequence of str
        Targets of the kernel.
    **choices
        Options with text values: the values, the default first.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, (default, text) in options.items():
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=int, default=default, help=f"{text} (default {default})")
    for name, values in choices.items():
        parser.add_argument(f"--{name}", choices=values, default=values[0])
    parser.add_argument("--arch", choices=archs, help="default: the current device's")
    values = vars(parser.parse_args(argv))
    current = get_device()
    arch = values.pop("arch") or current.arch.name
    if arch not in archs:
        parser.error(f"this kernel is for {', '.join(archs)}, not {arch}.")
    try:
        with use_device(current.name if arch == current.arch.name else f"sim:{arch}") as device:
            run(arch, **values)  # compiles and translates
            start = time.perf_counter()
            outcome, compiled = run(arch, **values)
            seconds = time.perf_counter() - start
    except (PipedslError, WrongResultError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{device.name}: {outcome}, {seconds:.3f} s with its check")
    print(compiled.resources)
    return 0


def random_floats(shape: Any, seed: int = 0) -> np.ndarray:
    """Normal values, float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
