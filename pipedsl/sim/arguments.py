"""Arguments of `Kernel.launch`, checked against the metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipedsl.core.errors import LaunchError
from pipedsl.isa.kernarg import Triple, pack_segment
from pipedsl.isa.metadata import ArgMetadata, KernelMetadata
from pipedsl.sim.memory import Memory

_POINTERS = ("global_buffer", "dynamic_shared_pointer")


@dataclass(frozen=True)
class Pointer:
    """A device address as an argument."""

    address: int


def pack_arguments(
    metadata: KernelMetadata,
    args: Sequence[Any],
    memory: Memory,
    grid: Triple,
    block: Triple,
    lds_bytes: int,
) -> bytes:
    """The kernarg segment for `args`; arrays are mapped into `memory` in place.

    Raises
    ------
    LaunchError
        For a wrong number of arguments, or one that does not fit its place.
    """
    expected = [arg for arg in metadata.args if not arg.hidden]
    if len(args) != len(expected):
        raise LaunchError(
            f"{metadata.name} takes {len(expected)} arguments, got {len(args)}.",
            fix=f"pass {', '.join(arg.name or arg.value_kind for arg in expected) or 'none'}.",
        )
    explicit = [
        _argument(arg, value, index, memory)
        for index, (arg, value) in enumerate(zip(expected, args, strict=True))
    ]
    return pack_segment(metadata, explicit, grid, block, lds_bytes)


def _argument(arg: ArgMetadata, value: Any, index: int, memory: Memory) -> bytes:
    name = arg.name or f"argument {index}"
    if isinstance(value, np.ndarray) and value.ndim:
        if arg.value_kind not in _POINTERS:
            raise LaunchError(f"{name} takes a {arg.size}-byte scalar, not an array.")
        return memory.map(value, name).to_bytes(8, "little")
    if isinstance(value, Pointer):
        return value.address.to_bytes(8, "little")
    if arg.value_kind in _POINTERS:
        if value is None or (isinstance(value, (int, np.integer)) and value == 0):
            return bytes(arg.size)
        raise LaunchError(f"{name} takes an array, not {value!r}.")
    return _scalar(arg, value, name)


def _scalar(arg: ArgMetadata, value: Any, name: str) -> bytes:
    if isinstance(value, (np.generic, np.ndarray)):
        data = value.tobytes()
        if len(data) != arg.size:
            raise LaunchError(f"{name} takes {arg.size} bytes, not the {len(data)} of {value!r}.")
        return data
    if isinstance(value, bool):
        return int(value).to_bytes(arg.size, "little")
    if isinstance(value, int):
        bits = 8 * arg.size
        if not -(1 << (bits - 1)) <= value < 1 << bits:
            raise LaunchError(f"{value} does not fit the {arg.size} bytes of {name}.")
        return (value & ((1 << bits) - 1)).to_bytes(arg.size, "little")
    if isinstance(value, float) and arg.size in (2, 4, 8):
        return np.array(value, f"<f{arg.size}").tobytes()
    raise LaunchError(f"{name} takes a {arg.size}-byte scalar, not {value!r}.")
