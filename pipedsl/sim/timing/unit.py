"""One compute unit with the workgroups that are resident on it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from pipedsl.sim import layout as at
from pipedsl.sim import micro
from pipedsl.sim.group import Group
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing import scheduler as _scheduler  # noqa: F401  (registers its micro-kernel)
from pipedsl.sim.timing.constants import Used
from pipedsl.sim.timing.program import TimedProgram

_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_SLICE = 500_000  # instructions between looks at Ctrl-C
_LOG = 1 << 14
_SPARE = 64  # log entries that one instruction can add


class ComputeUnit:
    """State of the cycle scheduler.

    Parameters
    ----------
    program : TimedProgram
    groups : sequence of Group
        Resident workgroups, ready to run.
    cus : int
        CUs that form the unit: 2 for a WGP.
    active : int
        CUs of the device that run at the same time, with which memory bandwidth is shared.
    budget : int
        Instructions that may be executed.

    Attributes
    ----------
    counts, spent, stalls, conflicts : numpy.ndarray
        int64 per instruction: executions, cycles, cycles of waiting in them, LDS conflict cycles.
    waves : numpy.ndarray
        int64, a record of `records.WAVE_FIELDS` per wave.
    used : Used
        The constants of the unit itself.
    """

    def __init__(
        self, program: TimedProgram, groups: Sequence[Group], cus: int, active: int, budget: int
    ) -> None:
        self.program = program
        self.used = Used(program.kernel.arch.name)
        self.simds = self.used("simds") * cus
        per_group = groups[0].shape.waves
        code = program.kernel.program.instructions
        self.counts, self.spent, self.stalls, self.conflicts = np.zeros((4, len(code)), np.int64)
        self.log = np.zeros((_LOG + _SPARE, r.LOG_SIZE), np.int64)
        self.trace = np.zeros(at.TRACE_PARTS * at.TRACE_PART // 8, np.int64)
        self.waves = np.zeros((len(groups) * per_group, r.WAVE_SIZE), np.int64)
        self.groups = np.zeros((len(groups), r.GROUP_SIZE), np.int64)
        self.record = np.zeros(r.CU_SIZE, np.int64)
        self._caches(cus, active)
        self._sizes(budget)
        self._constants()
        for index, group in enumerate(groups):
            self._place(index, group, per_group)
        self.enter = _RUN(micro.address(micro.micro_key("run_cu")))

    def __getitem__(self, name: str) -> int:
        return int(self.record[r.CU_FIELDS[name]])

    def __setitem__(self, name: str, value: int) -> None:
        self.record[r.CU_FIELDS[name]] = value

    def step(self) -> tuple[int, np.ndarray]:
        """Run a slice; its outcome, and what was logged (a copy)."""
        outcome = self.enter(self.record.ctypes.data, None)
        logged = self.log[: self["log_count"]].copy()
        self["log_count"] = self["finished"] = 0
        return outcome, logged

    def _caches(self, cus: int, active: int) -> None:
        used = self.used
        line = used("l1_line")
        alone = used("memory_width") * cus
        share = used("device_width") * 1000 * cus / (used("clock") * active)  # bytes per cycle
        self["memory_cycles"] = round((line << r.FRACTION) / min(alone, share))
        self.l1, self["l1_sets"] = _cache(used("l1_bytes") // line)
        self.l2, self["l2_sets"] = _cache(used("l2_bytes") // line)
        self.scalar_cache, _ = _cache(64 * r.WAYS)
        self["line_shift"] = _log2(line)
        self["l1_shift"] = _log2(used("l1_width"))
        self["l2_cycles"] = line // used("l2_width")
        for name in ("l1_latency", "l2_latency", "memory_latency", "scalar_hit"):
            self[name] = used(name)

    def _sizes(self, budget: int) -> None:
        arrays = {
            "waves": self.waves, "groups": self.groups, "rows": self.program.tables.rows,
            "registers": self.program.tables.registers,
            "counts": self.counts, "spent": self.spent, "stalls": self.stalls,
            "conflicts": self.conflicts, "log": self.log, "trace": self.trace, "l1": self.l1,
            "l2": self.l2, "scalar_cache": self.scalar_cache,
        }  # fmt: skip
        for name, array in arrays.items():
            self[name] = array.ctypes.data
        self["entry"] = self.program.code.address
        self["wave_count"] = len(self.waves)
        self["log_limit"], self["limit"], self["slice"] = _LOG, budget, _SLICE

    def _constants(self) -> None:
        used = self.used
        self["turn"] = used("turn")
        self["simd_mask"] = used("turn") - 1
        self["port_shift"] = 1 if used("lds_ports") == 2 else _log2(r.SIMDS)
        self["lds_read_shift"] = _log2(used("lds_port_bytes"))
        self["lds_write_shift"] = _log2(used("lds_write_bytes"))
        for name in ("lds_latency", "lds_conflict", "lds_address", "barrier_latency", "sleep_unit"):
            self[name] = used(name)

    def _place(self, index: int, group: Group, waves: int) -> None:
        """Waves take the SIMDs in turn; the first ones of two workgroups may share one."""
        header = group.arena[: at.GROUP_HEADER].view(np.int64)
        header[at.TRACE // 8] = self.trace.ctypes.data
        self.groups[index, r.GROUP_FIELDS["live"]] = waves
        self.groups[index, r.GROUP_FIELDS["waves"]] = waves
        records = group.shape.wave_records(group.arena)
        records[:, at.PC : at.PC + 4].view(np.int32)[:] = self.program.entry
        for wave in range(waves):
            number = index * waves + wave
            start = group.pointer + at.GROUP_HEADER + wave * group.shape.wave.bytes
            values = {
                "group": group.pointer, "record": start, "state": r.RUNNING,
                "pc": self.program.entry, "simd": number % self.simds, "group_index": index,
            }  # fmt: skip
            for name, value in values.items():
                self.waves[number, r.WAVE_FIELDS[name]] = value


def _cache(lines: int) -> tuple[np.ndarray, int]:
    """An empty cache and its number of sets, a power of two."""
    sets = 1 << _log2(lines // r.WAYS)
    return np.zeros((sets, r.WAYS, r.ENTRY), np.int64), sets


def _log2(value: int) -> int:
    return value.bit_length() - 1
