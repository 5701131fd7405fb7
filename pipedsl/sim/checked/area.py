"""The checked area of a workgroup, and what a launch gathers from all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pipedsl.core.findings import Finding, IdleWait
from pipedsl.isa.counters import queues
from pipedsl.sim import layout as at
from pipedsl.sim import micro
from pipedsl.sim.checked import layout as c
from pipedsl.sim.checked.findings import idle_waits, render
from pipedsl.sim.checked.layout import AreaLayout
from pipedsl.sim.group import Group
from pipedsl.sim.shape import GroupShape

# Turns of the scheduler that an operation may stay in flight: a power of two, less one.
_FIXED_LATENESS, _SEEDED_LATENESS = 3, 15
QUIET_ROUNDS = _SEEDED_LATENESS + 2  # turns after which nothing old is in flight any more


class Checker:
    """Makes areas for the workgroups of one launch and gathers what they found.

    Attributes
    ----------
    findings : list of Finding
    """

    def __init__(self, shape: GroupShape, sources: Mapping[str, str]) -> None:
        self.kernel = kernel = shape.kernel
        self.sources = sources
        self.layout = AreaLayout(kernel.wave, shape.waves)
        code = kernel.instructions
        self.lines = np.array([ins.line for ins in code], np.int32)
        self.useful = np.zeros(len(code), np.uint16)
        self.findings: list[Finding] = []
        self._seen: set[tuple[int, ...]] = set()
        self._free: list[Area] = []
        self.services = {
            c.COMMIT: micro.address(micro.micro_key("checked_commit")),
            c.TOUCH: micro.address(micro.micro_key("checked_touch")),
            c.TICK: micro.address(micro.micro_key("checked_tick")),
        }

    def attach(self, group: Group, seed: int) -> Area:
        """Give `group` a fresh area; one seed is one choice of what completes when."""
        area = self._free.pop() if self._free else Area(self)
        area.reset(group, seed)
        return area

    def collect(self, group: Group, area: Area) -> None:
        """Take over what a finished group found."""
        self.useful |= area.useful
        for record in area.reports():
            key = tuple(int(record[f // 4]) for f in (c.R_KIND, c.R_USER, c.R_PRODUCER))
            if key not in self._seen:
                self._seen.add(key)
                self.findings.append(render(record, self.kernel, group.ids, self.sources))
        self._free.append(area)

    def idle_waits(self) -> tuple[IdleWait, ...]:
        """Fields of executed waits that never proved anything."""
        return idle_waits(self.kernel, self.useful, self.sources)


class Area:
    """The books of one workgroup (see `layout`)."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        lay, waves = checker.layout, checker.layout.waves
        rows = waves * waves * c.ROW
        sizes = {
            c.KNOWLEDGE: rows, c.BARRIER_CLOCKS: 2 * waves * c.ROW, c.FLOORS: waves * waves * 4,
            c.CLOCKS: lay.clocks, c.CLOCKS + 8: lay.clocks, c.REPORTS: c.REPORT_LIMIT * c.REPORT,
            c.USEFUL: 2 * len(checker.lines), c.SEEN: len(checker.lines),
        }  # fmt: skip
        self._places: dict[int, int] = {}
        end = self._records_end = c.HEADER + waves * lay.record
        for field, size in sizes.items():
            self._places[field] = end
            end += c.align(size)
        raw = np.empty(end + 64, np.uint8)
        start = -raw.ctypes.data % 64
        self.bytes = raw[start : start + end]
        self.pointer = self.bytes.ctypes.data
        useful = self._places[c.USEFUL]
        self.useful = self.bytes[useful : useful + sizes[c.USEFUL]].view(np.uint16)

    def reset(self, group: Group, seed: int) -> None:
        """Make everything as it is before the first instruction of `group`."""
        lay = self.checker.layout
        header = self.bytes[: c.HEADER]
        header[:] = 0
        self.bytes[self._records_end :] = 0
        i64, i32 = header.view(np.int64), header.view(np.int32)
        i64[c.RANDOM // 8] = seed & 0x7FFFFFFFFFFFFFFF
        i64[c.LATENESS // 8] = _SEEDED_LATENESS if seed else _FIXED_LATENESS
        i64[c.WAVE_STRIDE // 8] = lay.record
        i64[c.LINES // 8] = self.checker.lines.ctypes.data
        for field, place in self._places.items():
            i64[field // 8] = self.pointer + place
        for field, offset in (
            (c.ENTRIES_AT, lay.entries), (c.LOGS_AT, lay.logs), (c.PAYLOADS_AT, lay.payloads),
        ):  # fmt: skip
            i64[field // 8] = offset
        for field, address in self.checker.services.items():
            i64[field // 8] = address
        ordered = queues(self.checker.kernel.arch).values()
        i32[c.ORDERED // 4] = sum(q.ordered << number for number, q in enumerate(ordered))
        for table in (c.CLOCKS, c.CLOCKS + 8):
            place = self._places[table]
            self.bytes[place + 8 : place + 16] = 0xFF  # the lowest address of no words
        records = group.shape.wave_records(group.arena)
        for wave in range(lay.waves):
            start = c.HEADER + wave * lay.record
            self.bytes[start : start + lay.logs] = 0
            self.bytes[start + c.TAIL] = 1
            pointer = np.array([self.pointer + start], np.int64).view(np.uint8)
            records[wave, at.CHECKED_WAVE : at.CHECKED_WAVE + 8] = pointer
        group.set_checked_area(self.pointer)

    def reports(self) -> np.ndarray:
        """Records of findings as rows of i32."""
        count = int(self.bytes[: c.HEADER].view(np.int32)[c.REPORT_COUNT // 4])
        place = self._places[c.REPORTS]
        records = self.bytes[place : place + count * c.REPORT].view(np.int32)
        return records.reshape(count, c.REPORT // 4)
