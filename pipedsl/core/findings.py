"""Findings: what a checked run reports about a kernel that does not fail."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.core.errors import SourceLocation
from pipedsl.core.html import Shown


@dataclass(frozen=True)
class Code:
    """A row of the table of findings.

    Attributes
    ----------
    code : str
        Stable.
    title : str
        What is wrong, in a few words.
    explanation : str
        Why it is wrong, and what usually helps.
    level : {"error", "note"}
    """

    code: str
    title: str
    explanation: str
    level: str = "error"


CODES: dict[str, Code] = {
    row.code: row
    for row in (
        Code(
            "C110", "a register is read before the load into it is proven complete",
            "A load returns later; only a wait on its counter proves that the register holds the "
            "loaded value.",
        ),
        Code(
            "C111", "a register is overwritten while a load into it is in flight",
            "The load may still write the register after the instruction that overwrote it.",
        ),
        Code(
            "C120", "LDS bytes are used before the write that another operation signals is complete",
            "A signal or barrier tells other waves that data is there; the data must be complete "
            "before it: `gpu.fence_lds()` in front of it, or a wait for copies from memory to LDS.",
        ),
        Code(
            "C121", "LDS bytes are overwritten before a read of them is complete",
            "A slot may be given back when the reads of it have returned, not when they were issued.",
        ),
        Code(
            "C130", "global bytes are used before a store to them is complete",
            "Stores to global memory complete out of order with LDS operations and signals.",
        ),
        Code(
            "C131", "global bytes are overwritten before a read of them is complete",
            "The read may return what the later store wrote.",
        ),
        Code(
            "C210", "two waves write the same LDS bytes and nothing orders them",
            "The result depends on which wave is faster. A barrier, or a signal that one wave raises "
            "and the other awaits, orders them.",
        ),
        Code(
            "C211", "LDS bytes are read and written by two waves and nothing orders them",
            "The reader may see old, new or mixed bytes. A barrier, or a signal that one wave raises "
            "and the other awaits, orders them.",
        ),
        Code(
            "C220", "two waves write the same global bytes and nothing orders them",
            "The result depends on which wave is faster. Waves of different workgroups are ordered by "
            "the end of a kernel, or by atomic operations that one performs and the other awaits.",
        ),
        Code(
            "C221", "global bytes are read and written by two waves and nothing orders them",
            "The reader may see old, new or mixed bytes; see C220.",
        ),
        Code(
            "C310", "a slot is overwritten before all its consumers have released it",
            "A producer may write a slot in lap n when every consumer has signalled that it drained "
            "lap n - 1: it waits for the slot's empty signal, and consumers raise it after their reads.",
        ),
        Code(
            "C311", "a slot is read before its producers have filled it",
            "A consumer may read a slot in lap n when every producer has signalled lap n.",
        ),
        Code(
            "C320", "a full signal is raised more often than its slot is free",
            "Each producer wave raises the full signal of a slot once per lap, after it waited for "
            "the slot to be empty.",
        ),
        Code(
            "C321", "an empty signal is raised more often than its slot is full",
            "Each consumer wave raises the empty signal of a slot once per lap, after it waited for "
            "the slot to be full.",
        ),
        Code(
            "C322", "a signal is raised by several lanes of a wave",
            "A signal counts waves: one lane raises it, as `arrive_full` and `arrive_empty` do.",
        ),
        Code(
            "C330", "counters are used before their initialisation is published",
            "One thread calls `init_barriers`, and `gpu.barrier()` makes all waves see it.",
        ),
        Code(
            "C331", "counters are used that were never initialised",
            "LDS holds whatever it held before: call `init_barriers`, then `gpu.barrier()`.",
        ),
        Code(
            "C332", "counters are initialised while they are in use",
            "Counters only grow; to use a ring again, carry on with the next lap.",
        ),
        Code(
            "C340", "a wait is satisfied by an earlier lap",
            "The phase must grow by one per lap: consumers wait for full from phase 0, producers for "
            "empty from phase 1.",
        ),
        Code(
            "C341", "a wait asks for a number of arrivals that no lap ends with",
            "The arrivals per lap that a wait assumes differ from those that the ring declares, or the "
            "phase is one that never comes, as phase 0 of `wait_empty`.",
        ),
        Code(
            "C350", "a slot is signalled full and no data was written",
            "No wave that raised the signal in this lap has written memory since its last signal.",
        ),
        Code(
            "C351", "a slot is filled and no consumer ever waits for it",
            "All waves have ended and what lies in the slot was never asked for: the consumers left "
            "early, or the producers went too far.",
        ),
        Code(
            "C360", "a signal or wait uses a stage that the ring does not have",
            "Stages count from 0 to `num_stages` - 1; beyond lie other counters, or other data.",
        ),
        Code(
            "C370", "a 32-bit counter comes near its end",
            "Counters only grow and must not wrap: use 64-bit counters.",
        ),
        Code(
            "C400", "waves wait for what no wave can do any more",
            "A proven deadlock: no wave that could change the polled words is left running.",
        ),
        Code(
            "C510", "a wait proves nothing that anything relies on",
            "Without it the same runs are clean: what it waits for has been proven before, or nobody "
            "uses it before a later wait.",
            "note",
        ),
        Code(
            "C511", "a wait is stronger than needed",
            "Fewer operations have to be complete there: the others may stay in flight behind it.",
            "note",
        ),
        Code(
            "C512", "a barrier orders nothing",
            "Without it the same runs are free of races: other signals and barriers order all that the "
            "waves share.",
            "note",
        ),
        Code(
            "C520", "lanes of an LDS access meet in the same banks",
            "LDS serves a bank once a cycle; lanes that want different words of one bank take turns. "
            "Padding or permuting rows spreads them over the banks.",
            "note",
        ),
        Code(
            "C521", "lanes of a memory access are scattered",
            "Memory is read and written in segments of 64 bytes; lanes that are neighbours should access "
            "neighbouring bytes.",
            "note",
        ),
        Code(
            "C410", "the run stopped with an error",
            "What else a run would have found is not known.",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Finding(Shown):
    """One thing that is wrong with a kernel, found by running it.

    Attributes
    ----------
    code : str
        A key of `CODES`; stable.
    message : str
        What is wrong, in one sentence.
    fix : str
        What to change, with the weakest wait that suffices.
    kernel : str
    workgroup : tuple of int
    wave : int
        The wave that used what was not complete.
    lane : int or None
    line : int
        Line of the assembly text that used it.
    where : SourceLocation or None
        Its Python line.
    related : tuple of (int, SourceLocation or None)
        Other lines that take part: what is not complete, then the signal that promised it.
    """

    code: str
    message: str
    fix: str
    kernel: str
    workgroup: tuple[int, int, int]
    wave: int
    lane: int | None
    line: int
    where: SourceLocation | None = None
    related: tuple[tuple[int, SourceLocation | None], ...] = ()

    @property
    def title(self) -> str:
        """What the code stands for."""
        return CODES[self.code].title

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two findings one: the code and both lines, Python's where known."""
        places = [(self.line, self.where), *self.related[:1]]
        return self.code, *sorted(
            (w.filename, w.line) if w is not None else ("", n) for n, w in places
        )

    def __str__(self) -> str:
        out = [f"[{self.code}] {self.message}"]
        if self.where is not None:
            out.append(f"  at {self.where.filename}:{self.where.line}")
            text = self.where.source_line()
            if text is not None:
                out.append(f"    {text.strip()}")
        out.append(f"  fix: {self.fix}")
        return "\n".join(out)


@dataclass(frozen=True)
class IdleWait:
    """A field of a wait that never proved anything in a run.

    Attributes
    ----------
    line : int
        Line of the assembly text.
    counter : str
    where : SourceLocation or None
    """

    line: int
    counter: str
    where: SourceLocation | None = None


class CheckWarning(UserWarning):
    """A checked launch has a finding.

    Parameters
    ----------
    finding : Finding
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding
