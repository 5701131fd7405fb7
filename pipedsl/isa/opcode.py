"""One row of the instruction table, and the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pipedsl.core.arch import ARCHS


class Unit(Enum):
    """The unit that executes an instruction; its issue class and its wait counter follow."""

    SALU = "salu"
    VALU = "valu"
    TRANS = "trans"
    MATRIX = "matrix"
    SMEM = "smem"
    DS = "ds"
    FLAT = "flat"
    GLOBAL = "global"
    SCRATCH = "scratch"
    BUFFER = "buffer"
    BRANCH = "branch"
    WAIT = "wait"
    SYNC = "sync"
    INTERNAL = "internal"


@dataclass(frozen=True)
class Slot:
    """One operand of a row.

    Attributes
    ----------
    type : str
        ``f32``, ``u32``, ``b64``, ... ; ``f16x2`` a pair of halves picked by ``op_sel``; ``mix`` f32
        or an f16 half; ``mask`` is one bit per lane; ``imm`` an integer in the text; ``label`` a
        branch target; ``text`` everything that follows the mnemonic.
    file : str
        ``v`` VGPR or AGPR, ``s`` scalar register or constant, ``any`` both, ``scc``, ``exec``,
        ``vcc``, ``m0``: implicit, ``imm``/``label``/``text``: not a register.
    updated : bool
        A destination that is also read.
    """

    type: str
    file: str
    updated: bool = False

    @property
    def implicit(self) -> bool:
        """Whether the operand is absent from the text."""
        return self.file in IMPLICIT

    @property
    def dwords(self) -> int:
        """Registers that an operand of this type takes."""
        bits = self.type.lstrip("abcdefghijklmnopqrstuvwxyz")
        return max(int(bits) // 32, 1) if bits.isdigit() else 1


IMPLICIT = ("scc", "exec", "vcc", "m0")


class Fidelity(Enum):
    """How close the simulator is to the ISA document."""

    EXACT = "exact"
    APPROXIMATE = "approximate"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Opcode:
    """One row: what an instruction is called, reads, writes and means.

    Attributes
    ----------
    name : str
        Canonical mnemonic, without encoding suffix.
    dsts, srcs : tuple of Slot
        In the order of the text; implicit ones anywhere.
    unit : Unit
    meaning : callable or None
        For arithmetic: ``meaning(b, *sources)`` returns the destinations' values, where `b` is a
        builder over lanes or scalars. For ``style="machine"``: ``meaning(machine, instruction)``.
    style : {"lanes", "packed", "scalar", "machine", "memory", "matrix"}
        How the translator applies the meaning.
    aliases : tuple of str
        Other targets' spellings.
    archs : frozenset of str
    fidelity : Fidelity
    reason : str
        Why a row is not exact.
    traits : mapping
        Family-specific facts (memory width, matrix shape, ...).
    """

    name: str
    dsts: tuple[Slot, ...]
    srcs: tuple[Slot, ...]
    unit: Unit
    meaning: Callable[..., Any] | None
    style: str
    aliases: tuple[str, ...] = ()
    archs: frozenset[str] = frozenset(ARCHS)
    fidelity: Fidelity = Fidelity.EXACT
    reason: str = ""
    traits: Mapping[str, Any] = field(default_factory=dict)

    def in_text(self) -> tuple[Slot, ...]:
        """The operands that the text shows, in order."""
        return tuple(s for s in (*self.dsts, *self.srcs) if not s.implicit)


_DEFAULT_FILES = {
    "lanes": ("v", "any"),
    "packed": ("v", "any"),
    "scalar": ("s", "s"),
    "memory": ("v", "v"),
    "machine": ("v", "any"),
    "matrix": ("v", "v"),
}


def parse_signature(text: str, style: str) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """Slots of a signature such as ``"u32, mask = u32, u32"`` or ``"s:b32 = b32"``.

    A leading ``+`` marks an updated destination; ``file:`` overrides the style's register file.
    """
    left, _, right = text.partition("=")
    dst_file, src_file = _DEFAULT_FILES[style]

    def slots(side: str, default: str) -> Iterable[Slot]:
        for item in filter(None, (part.strip() for part in side.split(","))):
            updated, item = item.startswith("+"), item.lstrip("+")
            file, _, kind = item.rpartition(":")
            if kind in IMPLICIT or kind in ("imm", "label", "text"):
                file = kind
            elif kind == "mask":
                file = file or "s"
            yield Slot(kind, file or default, updated)

    return tuple(slots(left, dst_file)), tuple(slots(right, src_file))


class OpcodeTable:
    """All rows, by name and alias.

    Family modules add rows with `add`; one mnemonic may have rows for disjoint sets of targets.
    """

    def __init__(self) -> None:
        self._rows: dict[str, list[Opcode]] = {}

    def add(
        self,
        names: str,
        signature: str,
        meaning: Callable[..., Any] | None,
        *,
        unit: Unit,
        style: str,
        archs: Iterable[str] = ARCHS,
        fidelity: Fidelity = Fidelity.EXACT,
        reason: str = "",
        variant: str = "",
        **traits: Any,
    ) -> Opcode:
        """Add a row for `names` (the canonical one first, then aliases, separated by blanks).

        `variant` names a flag that gives the mnemonic other operands; the row's names carry it
        behind a blank: ``buffer_load_dword lds``.
        """
        name, *aliases = (f"{name} {variant}".rstrip() for name in names.split())
        dsts, srcs = parse_signature(signature, style)
        row = Opcode(
            name, dsts, srcs, unit, meaning, style, tuple(aliases), frozenset(archs),
            fidelity, reason, traits,
        )  # fmt: skip
        for key in (name, *aliases):
            rows = self._rows.setdefault(key, [])
            clash = [r for r in rows if r.archs & row.archs]
            if clash:
                raise ValueError(f"{key} is already in the table for {sorted(clash[0].archs)}")
            rows.append(row)
        return row

    def find(self, mnemonic: str, arch: str) -> Opcode | None:
        """The row for `mnemonic` on `arch`; an encoding suffix is ignored."""
        for key in (mnemonic, strip_encoding(mnemonic)):
            for row in self._rows.get(key, ()):
                if arch in row.archs:
                    return row
        return None

    def rows(self) -> list[Opcode]:
        """Every row once, in the order of names."""
        unique = {id(row): row for rows in self._rows.values() for row in rows}
        return sorted(unique.values(), key=lambda row: (row.name, sorted(row.archs)))

    def __len__(self) -> int:
        return len(self.rows())


_ENCODINGS = ("_e64_dpp", "_e32", "_e64", "_dpp8", "_dpp", "_sdwa")


def strip_encoding(mnemonic: str) -> str:
    """`mnemonic` without ``_e32``, ``_e64``, ``_dpp``, ``_sdwa``."""
    for suffix in _ENCODINGS:
        if mnemonic.endswith(suffix):
            return mnemonic.removesuffix(suffix)
    return mnemonic


TABLE = OpcodeTable()

GFX9 = ("gfx90a", "gfx942", "gfx950")
GFX11 = ("gfx1100",)
GFX12 = ("gfx1201",)
RDNA = GFX11 + GFX12
ALL = tuple(ARCHS)
