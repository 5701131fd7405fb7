"""Which lanes of an LDS instruction are served together, and over how many banks."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.core.arch import Arch

_PYHIP = "tingqli/pyhip, bank-conflict/README.md (MI300)"
_KITTENS = "HipKittens, analysis/paper_experiments/phases (MI355X)"
_CK = "ROCm Composable Kernel documentation, LDS bank conflicts"


@dataclass(frozen=True)
class Phases:
    """Phases of one width on one target.

    Attributes
    ----------
    lanes : tuple of tuple of int
        The lanes of each phase.
    banks : int
        Banks of 4 bytes that a phase sees.
    kind, source : str
        As those of a `Constant`.
    """

    lanes: tuple[tuple[int, ...], ...]
    banks: int
    kind: str
    source: str


def _runs(lanes: int, per_phase: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(i, i + per_phase)) for i in range(0, lanes, per_phase))


def _from_ranges(*phases: str) -> tuple[tuple[int, ...], ...]:
    """Phases written as ``"0-3,20-23"``, for the lower half of the wave; the upper half is alike."""
    lower = []
    for text in phases:
        spans = [[int(n) for n in span.split("-")] for span in text.split(",")]
        lower.append(tuple(lane for first, last in spans for lane in range(first, last + 1)))
    return (*lower, *(tuple(lane + 32 for lane in phase) for phase in lower))


_QUADS = _from_ranges("0-3,20-23", "4-7,16-19", "8-11,28-31", "12-15,24-27")
_OCTETS = _from_ranges("0-3,12-15,20-27", "4-11,16-19,28-31")

# (arch, "read" or "write", bytes per lane)
_TABLE: dict[tuple[str, str, int], Phases] = {
    ("gfx942", "read", 8): Phases(_runs(64, 16), 32, "measured", _PYHIP),
    ("gfx942", "read", 16): Phases(_QUADS, 32, "measured", _PYHIP),
    ("gfx942", "write", 16): Phases(_runs(64, 8), 32, "published", _CK),
    ("gfx950", "read", 8): Phases(_runs(64, 32), 64, "measured", _KITTENS),
    ("gfx950", "read", 12): Phases(_QUADS, 32, "measured", _KITTENS),
    ("gfx950", "read", 16): Phases(_OCTETS, 64, "measured", _KITTENS),
    ("gfx950", "write", 8): Phases(_runs(64, 16), 32, "measured", _KITTENS),
}


def phases(arch: Arch, access: str, width: int) -> Phases:
    """Phases of an access of `width` bytes per lane.

    Parameters
    ----------
    arch : Arch
    access : {"read", "write"}
    width : int
        Bytes per lane: 1, 2, 4, 8, 12 or 16.
    """
    found = _TABLE.get((arch.name, access, width))
    if found is not None:
        return found
    if width <= 4 and arch.generation == 9:
        source = "tingqli/pyhip, docs/mem_latency.md: strides of 8 and 32 dwords"
        kind = "measured" if arch.name == "gfx942" and access == "read" else "assumed"
        return Phases(_runs(64, 32), 32, kind, source)
    if width == 12 and arch.generation == 9:
        return Phases(_QUADS, 32, "assumed", "as measured for ds_read_b96 on gfx950")
    if arch.name == "gfx90a" and access == "read" and width == 16:
        return Phases(_QUADS, 32, "assumed", "as measured on gfx942")
    per_phase = max(128 // max(width, 4), 1)
    per_phase = 8 if width == 12 else min(per_phase, arch.wave_size)
    return Phases(
        _runs(arch.wave_size, per_phase), 32, "assumed", "128 bytes a phase, lanes in order"
    )
