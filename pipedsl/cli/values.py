"""What options of several commands mean: kernel arguments, extents, a kernel's name."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pipedsl.core.dtypes import DTYPES
from pipedsl.core.errors import LaunchError

K = TypeVar("K")

SYNTAX = """arguments, in the order of the kernel's metadata:
  TYPE:VALUE          a scalar, e.g. i32:64, u64:0x1000, f32:0.5
                      (i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool)
  zeros:DTYPE:SHAPE   an array, e.g. zeros:int32:8192 or zeros:float16:64x64
  ones:DTYPE:SHAPE    an array of ones
  arange:DTYPE:SHAPE  0, 1, 2, ...
  rand:DTYPE:SHAPE    floats in [-1, 1), integers in [-8, 8), the same at every run
  npy:FILE            an array from a NumPy file
"""


def parse_argument(text: str, seed: int) -> Any:
    """The NumPy scalar or array that `text` describes; `seed` is for ``rand``.

    Raises
    ------
    LaunchError
        If `text` is none of the forms in `SYNTAX`.
    """
    kind, _, rest = text.partition(":")
    if kind in _SCALARS:
        return _scalar(kind, rest)
    if kind == "npy":
        try:
            return np.ascontiguousarray(np.load(rest, allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            raise LaunchError(f"{rest!r} cannot be read as a NumPy file: {error}.") from None
    if kind in _FILLS:
        dtype, _, shape = rest.partition(":")
        if dtype not in DTYPES:
            raise LaunchError(
                f"{dtype!r} in {text!r} is not a dtype.", fix=f"use one of {', '.join(DTYPES)}."
            )
        return _FILLS[kind](_shape(shape, text), np.dtype(dtype), seed)
    raise LaunchError(
        f"{text!r} is not a kernel argument.",
        fix="write TYPE:VALUE, KIND:DTYPE:SHAPE or npy:FILE, e.g. i32:64 or zeros:int32:8192.",
    )


def parse_extents(text: str) -> tuple[int, ...]:
    """``X``, ``X,Y`` or ``X,Y,Z`` as integers; for argparse."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not one to three integers")
    return tuple(int(part) for part in parts)


def pick_kernel(path: Path, kernels: Mapping[str, K], name: str | None) -> K:
    """The kernel called `name`, or the only one of `kernels`, which the file `path` has.

    Raises
    ------
    LaunchError
        If there is no such kernel, or no only one.
    """
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name is not None and name in kernels:
        return kernels[name]
    listed = ", ".join(kernels) or "none"
    asked = "no kernel" if not kernels else "several kernels" if name is None else f"no {name!r}"
    raise LaunchError(f"{str(path)!r} has {asked}.", fix=f"--kernel takes one of: {listed}.")


_SCALARS = {
    "bool": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
}


def _scalar(kind: str, text: str) -> np.generic:
    dtype = np.dtype(_SCALARS[kind])
    try:
        if dtype.kind == "b":
            return np.bool_({"true": True, "1": True, "false": False, "0": False}[text.lower()])
        if dtype.kind == "f":
            return dtype.type(float(text))
        value = int(text, 0)
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise ValueError
        return dtype.type(value)
    except (KeyError, ValueError):
        raise LaunchError(f"{text!r} is not a value of {dtype}.") from None


def _shape(text: str, whole: str) -> tuple[int, ...]:
    parts = text.split("x")
    if not all(part.isdecimal() for part in parts):
        raise LaunchError(
            f"{text!r} in {whole!r} is not a shape.", fix="write extents with x, e.g. 64x32."
        )
    return tuple(int(part) for part in parts)


def _random(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if dtype.kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    return generator.integers(-8, 8, shape).astype(dtype)


_FILLS: dict[str, Callable[[tuple[int, ...], np.dtype, int], np.ndarray]] = {
    "zeros": lambda shape, dtype, seed: np.zeros(shape, dtype),
    "ones": lambda shape, dtype, seed: np.ones(shape, dtype),
    "arange": lambda shape, dtype, seed: np.arange(np.prod(shape)).reshape(shape).astype(dtype),
    "rand": _random,
}
