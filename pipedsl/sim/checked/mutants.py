"""Texts with one wait dropped or weakened: does the checked mode notice?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipedsl.core.config import config
from pipedsl.core.errors import SimulationError
from pipedsl.core.findings import IdleWait
from pipedsl.isa.counters import queues, wait_limits
from pipedsl.isa.instruction import Instruction
from pipedsl.sim.module import Kernel, load_assembly
from pipedsl.sim.run import RunStats

# Runs a kernel in checked mode with a seed; returns what it did and the bytes that it computed.
Runner = Callable[[Kernel, int], tuple[RunStats, np.ndarray]]


@dataclass(frozen=True)
class Mutant:
    """One change of one wait.

    Attributes
    ----------
    line : int
    change : str
        The wait as it was, and as it is.
    counters : tuple of str
        Counters whose wait is dropped or weakened.
    text : str
        The whole assembly text.
    dropped : bool
    """

    line: int
    change: str
    counters: tuple[str, ...]
    text: str
    dropped: bool


@dataclass(frozen=True)
class Verdict:
    """What the checked mode says about a mutant.

    Attributes
    ----------
    mutant : Mutant
    outcome : str
        ``reported``; ``idle``: the unchanged wait never proved anything; ``redundant``: it proved
        something, but nothing that any run used relies on it, and every run computed the same;
        ``missed``: some run went wrong without a report.
    why : str
        The finding, or what went wrong.
    """

    mutant: Mutant
    outcome: str
    why: str = ""


def mutants(text: str, kernel: str) -> Iterator[Mutant]:
    """Every wait of a kernel dropped, and each of its fields weakened by one."""
    lines = text.splitlines()
    loaded = load_assembly(text).kernels[kernel]
    counted = {queue.counter: queue.capacity for queue in queues(loaded.arch).values()}
    for ins in loaded.instructions:
        limits = wait_limits(ins, loaded.arch)
        counters = tuple(name for name in limits if name in counted)
        if not counters:
            continue
        changes = [("s_nop 0", counters, True)]
        changes += [
            (_weakened(ins, name, limits), (name,), False)
            for name in counters
            if limits[name] < counted[name]
        ]
        for new, affected, dropped in changes:
            changed = [*lines[: ins.line - 1], f"\t{new}", *lines[ins.line :]]
            yield Mutant(ins.line, f"{ins} -> {new}", affected, "\n".join(changed) + "\n", dropped)


def _weakened(ins: Instruction, counter: str, limits: dict[str, int]) -> str:
    more = {**limits, counter: limits[counter] + 1}
    if ins.opcode.name == "s_waitcnt":
        return f"s_waitcnt {' '.join(f'{name}({value})' for name, value in more.items())}"
    values = list(more.values())
    number = values[0] << 8 | values[1] if len(values) == 2 else values[0]
    head = "null, " if re.match(r"\s*null", ins.fields.text) else ""
    return f"{ins.mnemonic} {head}{number:#x}"


def judge(mutant: Mutant, kernel: str, run: Runner, seeds: Sequence[int], good: Reference) -> Verdict:
    """Run a mutant with some seeds and compare with the unchanged kernel."""
    with config.scope(cache=False):  # its translation is of no use to anyone else
        return _judge(mutant, load_assembly(mutant.text).kernels[kernel], run, seeds, good)


def _judge(
    mutant: Mutant, loaded: Kernel, run: Runner, seeds: Sequence[int], good: Reference
) -> Verdict:
    wrong = ""
    for seed in seeds:
        try:
            stats, result = run(loaded, seed)
        except SimulationError as error:
            if error.findings:
                return Verdict(mutant, "reported", str(error.findings[0]))
            wrong = wrong or f"seed {seed}: {error.message}"
            continue
        if stats.findings:
            return Verdict(mutant, "reported", str(stats.findings[0]))
        if not np.array_equal(result, good.result):
            wrong = wrong or f"seed {seed}: the result differs."
    if wrong:
        return Verdict(mutant, "missed", wrong)
    idle = {(wait.line, wait.counter) for wait in good.idle}
    if all((mutant.line, counter) in idle for counter in mutant.counters):
        return Verdict(mutant, "idle")
    return Verdict(mutant, "redundant")


@dataclass(frozen=True)
class Reference:
    """What the unchanged kernel computes, and its waits that are idle with every seed."""

    result: np.ndarray
    idle: frozenset[IdleWait]


def reference(text: str, kernel: str, run: Runner, seeds: Sequence[int]) -> Reference:
    """Run the unchanged kernel with some seeds.

    Raises
    ------
    SimulationError
        If it has a finding, or computes different results with different seeds.
    """
    loaded = load_assembly(text).kernels[kernel]
    idle: frozenset[IdleWait] | None = None
    results = []
    for seed in seeds:
        stats, result = run(loaded, seed)
        if stats.findings:
            raise SimulationError(f"{kernel} has a finding before any change: {stats.findings[0]}")
        results.append(result)
        idle = frozenset(stats.idle_waits) if idle is None else idle & frozenset(stats.idle_waits)
    if any(not np.array_equal(result, results[0]) for result in results):
        raise SimulationError(f"{kernel} computes different results with different seeds.")
    return Reference(results[0], idle or frozenset())
