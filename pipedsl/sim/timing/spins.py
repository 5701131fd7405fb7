"""Waits that are loops: a wave polls a word of LDS until another wave changes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipedsl.isa.instruction import Instruction
from pipedsl.isa.opcode import Unit
from pipedsl.isa.operands import Reg

_LONGEST = 24  # instructions of a polling loop
_HARMLESS = frozenset(
    {Unit.SALU, Unit.VALU, Unit.DS, Unit.WAIT, Unit.SYNC, Unit.BRANCH, Unit.INTERNAL}
)


@dataclass(frozen=True)
class Spin:
    """One polling loop.

    Attributes
    ----------
    number : int
        Counted from 1.
    members : frozenset of int
        Instructions that only wait: the loop, and a first test in front of it.
    polls : frozenset of int
        The loads of the polled word.
    """

    number: int
    members: frozenset[int]
    polls: frozenset[int]


def find_spins(code: Sequence[Instruction], targets: dict[int, int], wave_size: int) -> list[Spin]:
    """Polling loops: they load from LDS, write no memory, and carry no register around the loop.

    Parameters
    ----------
    code : sequence of Instruction
    targets : dict of int to int
        Branch instruction to the instruction it jumps to.
    wave_size : int
    """
    spins: list[Spin] = []
    for last, first in sorted(targets.items()):
        if first <= last < first + _LONGEST and _is_spin(code, first, last, targets, wave_size):
            members, polls = _with_first_test(code, first, last)
            spins.append(Spin(len(spins) + 1, frozenset(members), frozenset(polls)))
    return spins


def _is_poll(ins: Instruction) -> bool:
    traits = ins.opcode.traits
    return ins.opcode.unit is Unit.DS and str(traits.get("kind", "")) == "load"


def _is_spin(
    code: Sequence[Instruction], first: int, last: int, targets: dict[int, int], wave_size: int
) -> bool:
    body = code[first : last + 1]
    if not any(_is_poll(ins) for ins in body):
        return False
    for place, ins in enumerate(body, first):
        unit = ins.opcode.unit
        inner = place != last and first < targets.get(place, last + 1) <= last
        barrier = unit is Unit.SYNC and "sleep" not in ins.mnemonic
        if unit not in _HARMLESS or barrier or inner or (unit is Unit.DS and not _is_poll(ins)):
            return False
    return not _carries(body, wave_size)


def _carries(body: Sequence[Instruction], wave_size: int) -> bool:
    """Whether an iteration reads a register that the one before wrote."""
    written = {r for ins in body for reg in ins.writes(wave_size) for r in _names(reg)}
    fresh: set[tuple[str, int]] = set()
    for ins in body:
        for reg in ins.reads(wave_size):
            if any(name in written and name not in fresh for name in _names(reg)):
                return True
        fresh.update(name for reg in ins.writes(wave_size) for name in _names(reg))
    return False


def _names(reg: Reg) -> list[tuple[str, int]]:
    return [(reg.file, index) for index in range(reg.index, reg.index + reg.count)]


def _with_first_test(code: Sequence[Instruction], first: int, last: int) -> tuple[set, set]:
    """Compilers peel the first test off: the same load, a wait, a compare, right before the loop."""
    members = set(range(first, last + 1))
    polls = {i for i in members if _is_poll(code[i])}
    texts = {str(code[i]) for i in polls}
    before = range(first - 1, max(first - _LONGEST, -1), -1)
    peeled = next((i for i in before if str(code[i]) in texts), None)
    if peeled is not None:
        wait = next((i for i in range(peeled, first) if code[i].opcode.unit is Unit.WAIT), None)
        if wait is not None:
            members |= set(range(wait, first))
            polls.add(peeled)
    return members, polls
