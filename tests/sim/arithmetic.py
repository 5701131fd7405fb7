"""Running one instruction over lanes of chosen values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipedsl.core.arch import ARCHS, get_arch
from pipedsl.sim import State, execute

GFX9 = ("gfx90a", "gfx942", "gfx950")
RDNA = ("gfx1100", "gfx1201")
ALL = tuple(ARCHS)


def lanes(arch: str) -> int:
    return get_arch(arch).wave_size


def run(text: str | Sequence[str], arch: str, *sources: np.ndarray, **more) -> State:
    """Registers after `text`, with source i from v[2 * i] on; results belong from v20 on.

    64-bit values take pairs; 16-bit ones the low half.
    """
    registers: dict[int, np.ndarray] = {}
    for index, values in enumerate(sources):
        values = np.asarray(values)
        raw = values.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[values.dtype.itemsize])
        registers[2 * index] = raw.astype(np.uint32)
        if raw.dtype.itemsize == 8:
            registers[2 * index + 1] = (raw >> 32).astype(np.uint32)
    lines = [text] if isinstance(text, str) else list(text)
    return execute(lines, arch=arch, vgprs=registers, **more)


def result(state, dtype: type, register: int = 20) -> np.ndarray:
    """The lanes of a result register (pair) as `dtype`."""
    size = np.dtype(dtype).itemsize
    if size == 8:
        pair = state.vgprs[register : register + 2].astype(np.uint64)
        return (pair[0] | pair[1] << np.uint64(32)).view(dtype)
    if size == 2:
        return (state.vgprs[register] & 0xFFFF).astype(np.uint16).view(dtype)
    return state.vgprs[register].view(dtype)


def same(ours: np.ndarray, wanted: np.ndarray) -> None:
    """Bit-equal, any NaN counting as any other."""
    kind = {2: np.uint16, 4: np.uint32, 8: np.uint64}[ours.dtype.itemsize]
    wanted = np.asarray(wanted, ours.dtype)
    nan = np.isnan(ours) & np.isnan(wanted) if ours.dtype.kind == "f" else False
    equal = (ours.view(kind) == wanted.view(kind)) | nan
    assert equal.all(), (ours[~equal][:4], wanted[~equal][:4])


def patterns(dtype: type, count: int, seed: int) -> np.ndarray:
    """Random bit patterns of a float or integer type, special values first."""
    kind = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    rng = np.random.default_rng(seed)
    values = rng.integers(0, np.iinfo(kind).max, count, dtype=kind, endpoint=True).view(dtype)
    if np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, info.max, info.tiny]
        special += [info.smallest_subnormal, -info.smallest_subnormal, 0.5]
    else:
        info = np.iinfo(dtype)
        special = [0, 1, info.max, info.min, info.max - 1]
    chosen = np.array(special, dtype)
    values[: len(chosen)] = rng.permutation(chosen)
    return values
