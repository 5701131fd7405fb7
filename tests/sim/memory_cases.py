"""Running memory instructions on small inputs."""

from __future__ import annotations

import numpy as np

from pipedsl import sim
from pipedsl.core.arch import ARCHS, get_arch

GFX9 = ("gfx90a", "gfx942", "gfx950")
GFX94 = ("gfx942", "gfx950")
RDNA = ("gfx1100", "gfx1201")
ALL = tuple(ARCHS)


def lanes_of(arch: str) -> int:
    return get_arch(arch).wave_size


def returning(arch: str) -> str:
    """The flag that makes a vector atomic return the old value."""
    flags = {"gfx90a": "glc", "gfx1100": "glc", "gfx1201": "th:TH_ATOMIC_RETURN"}
    return flags.get(arch, "sc0")


def run_on(arch: str, lines, data: np.ndarray, *, vgprs=None, sgprs=None, **more):
    """Run with the address of `data` in s[2:3]; `data` changes in place."""
    memory = sim.Memory()
    address = memory.map(data, "data")
    scalars = {2: address & 0xFFFFFFFF, 3: address >> 32, **(sgprs or {})}
    return sim.execute(lines, arch=arch, vgprs=vgprs, sgprs=scalars, memory=memory, **more)


def pointers(arch: str, low: int = 1, high: int = 2) -> list[str]:
    """Instructions that make v[low:high] = s[2:3] + the byte offset in v0 (no carry is needed)."""
    add = "v_add_nc_u32_e32" if arch in RDNA else "v_add_u32_e32"
    return [f"v_mov_b32_e32 v{high}, s3", f"{add} v{low}, s2, v0"]
