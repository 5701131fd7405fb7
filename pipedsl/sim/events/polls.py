"""Loads whose value the next instructions compare: tests of a counter or a flag."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipedsl.checker.events import RELATIONS, holds
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import Reg

_REACH = 24  # instructions between a load and the comparison of what it loaded
_COMPARE = re.compile(r"[sv]_cmp(?:k|x)?_(eq|ne|lg|gt|ge|lt|le)_([iu])(16|32|64)")
_COPIES = ("v_readfirstlane_b32", "v_mov_b32", "s_mov_b32", "s_mov_b64")
_MIRRORED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge", "eq": "eq", "ne": "ne", "lg": "ne"}


@dataclass(frozen=True)
class Comparison:
    """A comparison of a loaded word with something else.

    Attributes
    ----------
    load : int
        The instruction that loaded the word.
    operand : int
        Which source is the other side.
    relation : str
        ``eq ne gt ge lt le``, with the word on the left.
    bits : int
    signed : bool
    polls : bool
        Whether it is the test of a loop that only waits, or the same test in front of one.
    """

    load: int
    operand: int
    relation: str
    bits: int
    signed: bool
    polls: bool = False

    def needed(self, word: int, other: int) -> str:
        """What would change the outcome for the present `word`, e.g. ``">= 3"``."""
        flipped = {"eq": "!=", "ne": "==", "gt": "<=", "ge": "<", "lt": ">=", "le": ">"}
        same = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
        table = flipped if holds(RELATIONS.index(self.relation), word, other) else same
        return f"{table[self.relation]} {other}"


def find_comparisons(
    code: Sequence[Instruction], labels: Mapping[str, int], wave_size: int
) -> dict[int, Comparison]:
    """Comparison instruction to what it compares, for words loaded shortly before it.

    Parameters
    ----------
    code : sequence of Instruction
    labels : mapping of str to int
        Label to the instruction behind it.
    wave_size : int
    """
    found: dict[int, Comparison] = {}
    targets = _branch_targets(code, labels)
    polling = _polling(code, targets)
    for index, ins in enumerate(code):
        if _loads_a_word(ins):
            hit = _follow(code, index, set(targets.values()), wave_size)
            if hit is not None:
                found.setdefault(hit[0], replace(hit[1], polls=index in polling))
    return found


def _polling(code: Sequence[Instruction], targets: Mapping[int, int]) -> set[int]:
    """Loads of loops that only wait, and the same loads a few instructions in front of them."""
    loads: set[int] = set()
    for last, first in targets.items():
        if first <= last < first + _REACH and not any(map(_acts, code[first : last + 1])):
            inside = {i for i in range(first, last + 1) if _loads_a_word(code[i])}
            texts = {str(code[i]) for i in inside}
            before = range(max(first - _REACH, 0), first)
            loads |= inside | {i for i in before if str(code[i]) in texts}
    return loads


def _acts(ins: Instruction) -> bool:
    """Whether an instruction does more than look and compute."""
    kind = str(ins.opcode.traits.get("kind", ""))
    writes = ins.opcode.style == "memory" and not kind.startswith("load")
    return writes or kind == "load_lds" or "barrier" in ins.mnemonic


def _branch_targets(code: Sequence[Instruction], labels: Mapping[str, int]) -> dict[int, int]:
    """Branch instruction to the one that it jumps to."""
    names = (
        (index, getattr(operand.value, "text", ""))
        for index, ins in enumerate(code)
        if ins.opcode.traits.get("flow") in ("jump", "branch")
        for slot, operand in ins.srcs
        if slot.file == "label" and operand is not None
    )
    return {index: labels[name] for index, name in names if name in labels}


def _loads_a_word(ins: Instruction) -> bool:
    traits = ins.opcode.traits
    return (
        ins.opcode.style == "memory"
        and traits.get("kind") == "load"
        and traits.get("form") in ("b32", "b64")
        and bool(ins.dsts)
    )


def _follow(
    code: Sequence[Instruction], load: int, leaders: set[int], wave_size: int
) -> tuple[int, Comparison] | None:
    holds = {name for reg in code[load].writes(wave_size) for name in _names(reg)}
    for index in range(load + 1, min(load + _REACH, len(code))):
        ins = code[index]
        if index in leaders:
            return None
        match = _COMPARE.match(ins.mnemonic)
        if match is not None:
            hit = _compared(ins, holds, match)
            if hit is not None:
                operand, relation = hit
                return index, Comparison(load, operand, relation, int(match[3]), match[2] == "i")
        if ins.opcode.traits.get("flow"):
            return None
        read = {name for reg in ins.reads(wave_size) for name in _names(reg)}
        written = {name for reg in ins.writes(wave_size) for name in _names(reg)}
        if ins.opcode.name in _COPIES and read & holds:
            holds |= written
        else:
            holds -= written
    return None


def _compared(
    ins: Instruction, holds: set[tuple[str, int]], match: re.Match[str]
) -> tuple[int, str] | None:
    """Index of the other side and the relation with the word on the left."""
    sides = [i for i, (slot, _) in enumerate(ins.srcs) if not slot.implicit][:2]
    relation = "ne" if match[1] == "lg" else match[1]
    for this, other in (sides, sides[::-1]) if len(sides) == 2 else ():
        operand = ins.srcs[this][1]
        if operand is not None and isinstance(operand.value, Reg):
            names = set(_names(operand.value))
            if names & holds:
                return other, relation if this == sides[0] else _MIRRORED[relation]
    return None


def _names(reg: Reg) -> list[tuple[str, int]]:
    return [(reg.file, index) for index in range(reg.index, reg.index + reg.count)]
