"""Rings of LDS counters that an assembly text declares in a comment, for checkers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Imm


@dataclass(frozen=True)
class Ring:
    """Counters in LDS through which producers and consumers share a ring of slots.

    A counter grows by one per arrival of a wave. ``full[i]`` is raised by producers when slot i
    holds data, ``empty[i]`` by consumers when it was drained.

    Attributes
    ----------
    base : int
        LDS byte of ``full[0]``; the other full counters follow, then the empty ones.
    bits : int
        Of a counter.
    num_stages : int
    producer_arrivals, consumer_arrivals : int
        Arrivals at a slot per lap.
    source : tuple of (str, int) or None
        File and line where it is declared.
    """

    base: int
    bits: int
    num_stages: int
    producer_arrivals: int
    consumer_arrivals: int
    source: tuple[str, int] | None = None

    @property
    def end(self) -> int:
        """LDS byte behind the last counter."""
        return self.base + 2 * self.num_stages * self.bits // 8

    def counter(self, address: int) -> tuple[str, int] | None:
        """Kind (``"full"`` or ``"empty"``) and stage of the counter at an LDS byte."""
        if not self.base <= address < self.end:
            return None
        index = (address - self.base) * 8 // self.bits
        return ("full", index) if index < self.num_stages else ("empty", index - self.num_stages)

    def arrivals(self, kind: str) -> int:
        """Arrivals per lap at a counter of `kind`."""
        return self.producer_arrivals if kind == "full" else self.consumer_arrivals


_COMMENT = re.compile(
    r"; pipedsl ring bits=(\d+) stages=(\d+) producers=(\d+) consumers=(\d+) base=v(\d+)"
)


def ring_comment(bits: int, stages: int, producers: int, consumers: int, base: str) -> str:
    """The comment that declares a ring; `base` is the VGPR that holds its address."""
    return (
        f"; pipedsl ring bits={bits} stages={stages} producers={producers} "
        f"consumers={consumers} base={base}"
    )


def read_ring(
    line: str, source: tuple[str, int] | None, before: Sequence[Instruction]
) -> Ring | None:
    """The ring that a line of text declares; None where it declares none at a known address.

    Parameters
    ----------
    line : str
    source : tuple of (str, int) or None
        Its Python line.
    before : sequence of Instruction
        What precedes it in the text.
    """
    found = _COMMENT.search(line)
    if found is None:
        return None
    bits, stages, producers, consumers, register = (int(found[i]) for i in range(1, 6))
    base = _constant_in(register, before)
    return None if base is None else Ring(base, bits, stages, producers, consumers, source)


def _constant_in(register: int, before: Sequence[Instruction]) -> int | None:
    """What the last instruction that writes VGPR `register` moved to it, if it is a constant."""
    for ins in reversed(before):
        if any(r.file == "v" and r.index <= register < r.index + r.count for r in ins.writes()):
            operand = ins.srcs[0][1] if ins.opcode.name == "v_mov_b32" else None
            value = operand.value if operand is not None else None
            return value.value if isinstance(value, Imm) and isinstance(value.value, int) else None
    return None
