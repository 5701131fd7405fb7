"""Timing rows as the arrays that the scheduler reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pipedsl.isa.instruction import Instruction
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import Constant
from pipedsl.sim.timing.row import Target
from pipedsl.sim.timing.rows import instruction_row


@dataclass
class Tables:
    """Rows of a kernel as arrays that the scheduler reads.

    Attributes
    ----------
    rows : numpy.ndarray
        int64, shape (instructions, `records.ROW_SIZE`).
    registers : numpy.ndarray
        int64; rows name slices of it.
    lanes : dict of tuple to numpy.ndarray
        Orders of lanes that rows point to.
    constants : list of dict
        Constants behind each row.
    """

    rows: np.ndarray
    registers: np.ndarray
    lanes: dict[tuple[int, ...], np.ndarray]
    constants: list[dict[str, Constant]]


def build_tables(code: Sequence[Instruction], reached: Iterable[int], target: Target) -> Tables:
    """Timing rows of the instructions `reached`; the others are never looked at."""
    rows = np.zeros((len(code), r.ROW_SIZE), np.int64)
    registers: list[int] = []
    lanes: dict[tuple[int, ...], np.ndarray] = {}
    constants: list[dict[str, Constant]] = [{} for _ in code]
    for index in reached:
        row = instruction_row(code[index], target)
        for name, numbers in (
            ("source", row.sources), ("accumulator", row.accumulators), ("target", row.targets),
        ):  # fmt: skip
            row.values[f"{name}s"], row.values[f"{name}_count"] = len(registers), len(numbers)
            registers += numbers
        if row.lanes:
            order = lanes.setdefault(row.lanes, np.array(row.lanes, np.int64))
            row.values["phase_lanes"] = order.ctypes.data
        for name, value in row.values.items():
            rows[index, r.ROW_FIELDS[name]] = value
        for name, per_counter in (("limits", row.limits), ("wait_kinds", row.wait_kinds)):
            first = r.ROW_FIELDS[name]
            rows[index, first : first + r.COUNTERS] = per_counter
        constants[index] = row.constants
    return Tables(rows, np.array([*registers, 0], np.int64), lanes, constants)
