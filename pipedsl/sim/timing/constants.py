"""Every number that the timing model uses: one row each, with where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipedsl.core.arch import ARCHS, Arch, get_arch
from pipedsl.core.errors import TargetError

_KINDS = ("measured", "published", "derived", "assumed")


@dataclass(frozen=True)
class Constant:
    """One number of the model on some targets.

    Attributes
    ----------
    name : str
    archs : frozenset of str
    value : int
    unit : str
    kind : {"measured", "published", "derived", "assumed"}
        ``derived`` follows from published or measured figures; ``assumed`` has no figure behind it.
    source : str
    """

    name: str
    archs: frozenset[str]
    value: int
    unit: str
    kind: str
    source: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value} {self.unit} ({self.kind}: {self.source})"


_ROWS: dict[tuple[str, str], Constant] = {}


def constant(
    name: str, value: int, unit: str, kind: str, source: str, archs: Iterable[str] = ARCHS
) -> Constant:
    """Add a row; a name may have rows for disjoint sets of targets."""
    row = Constant(name, frozenset(archs), value, unit, kind, source)
    if kind not in _KINDS:
        raise ValueError(f"{name}: {kind} is not one of {', '.join(_KINDS)}")
    for arch in row.archs:
        if (name, arch) in _ROWS:
            raise ValueError(f"{name} is given twice for {arch}")
        _ROWS[name, arch] = row
    return row


def constants(arch: str | Arch) -> list[Constant]:
    """The rows of a target, by name."""
    name = get_arch(arch).name
    return sorted((row for (_, a), row in _ROWS.items() if a == name), key=lambda row: row.name)


def find_constant(name: str, arch: str) -> Constant:
    """One row.

    Raises
    ------
    TargetError
        If the target has no such number.
    """
    row = _ROWS.get((name, arch))
    if row is None:
        raise TargetError(f"the timing model has no {name} for {arch}.")
    return row


class Used:
    """Reads constants of one target and keeps which were read.

    Attributes
    ----------
    rows : dict of str to Constant
        Those read so far.
    """

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.rows: dict[str, Constant] = {}

    def __call__(self, name: str) -> int:
        """The value of `name`."""
        row = self.rows[name] = find_constant(name, self.arch)
        return row.value


CDNA = ("gfx90a", "gfx942", "gfx950")
CDNA3 = ("gfx942", "gfx950")
RDNA = ("gfx1100", "gfx1201")
