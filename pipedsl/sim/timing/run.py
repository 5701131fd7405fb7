"""Timing a launch: some workgroups in detail on one compute unit, the others without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipedsl.core.errors import DeadlockError, ResourceError
from pipedsl.isa.occupancy import Occupancy, occupancy
from pipedsl.sim import layout as at
from pipedsl.sim.faults import raise_outcome
from pipedsl.sim.group import Group
from pipedsl.sim.launch import Launch
from pipedsl.sim.run import RunStats, run
from pipedsl.sim.timing import records as r
from pipedsl.sim.timing.constants import find_constant
from pipedsl.sim.timing.program import TimedProgram
from pipedsl.sim.timing.report import report
from pipedsl.sim.timing.unit import ComputeUnit

_LOG_LIMIT = 2_000_000  # entries kept for the timeline
_IDLE = 1_000_000  # instructions of polling loops alone, longer than any access takes
_OUTCOMES = {r.DEADLOCK: at.DEADLOCK, r.FAULTED: at.FAULTED, r.OVER_BUDGET: at.OVER_BUDGET}


def run_timed(
    launch: Launch,
    program: TimedProgram,
    workgroups: Sequence[int] | None,
    budget: int,
    rest: bool = True,
) -> RunStats:
    """Run a launch and model its time.

    As many workgroups are modelled as one compute unit gets when the launch is spread evenly over
    the device, at most those that fit on it together. The `rest` runs as usual, so that memory
    ends up as after any other run.
    """
    ids = list(range(launch.total)) if workgroups is None else list(workgroups)
    units, resident, rounds = _resident(launch, len(ids))
    detailed = ids[::units][:resident]  # they are dealt to the compute units in turn
    try:
        groups = [_group(launch, program, index) for index in detailed]
        cus = _occupancy(launch).cus
        active = min(units, len(ids)) * cus
        unit = ComputeUnit(program, groups, cus, active, budget)
        log, complete = _finish(unit, groups, detailed, launch, budget)
        timed = report(unit, log, detailed, len(ids), rounds, complete)
        instructions = timed.instructions
        left = [index for index in ids if index not in detailed] if rest else []
        if left:
            instructions += run(launch, left, budget, None).instructions
    finally:
        launch.template.close()
    ran = len(ids if rest else detailed)
    return RunStats(instructions, ran, ran * launch.shape.waves, timed=timed)


def _occupancy(launch: Launch) -> Occupancy:
    kernel, shape = launch.kernel, launch.shape
    return occupancy(
        kernel.metadata, kernel.arch, shape.items, shape.lds_bytes - kernel.metadata.lds_bytes
    )


def _resident(launch: Launch, count: int) -> tuple[int, int, int]:
    """Compute units, workgroups that share one, and rounds until all have run."""
    fits = _occupancy(launch)
    if fits.workgroups < 1:
        raise ResourceError(
            f"a workgroup of {launch.kernel.name} does not fit on a compute unit of "
            f"{launch.kernel.arch.name}.",
            fix="use fewer registers, less LDS or a smaller block.",
        )
    units = find_constant("cus", launch.kernel.arch.name).value // fits.cus
    resident = min(fits.workgroups, -(-count // units))
    return units, resident, -(-count // (resident * units))


def _group(launch: Launch, program: TimedProgram, index: int) -> Group:
    group = launch.group(index)
    header = group.arena[: at.GROUP_HEADER].view(np.int64)
    header[at.ENTRY // 8] = program.code.address
    return group


def _finish(
    unit: ComputeUnit,
    groups: Sequence[Group],
    workgroups: Sequence[int],
    launch: Launch,
    budget: int,
) -> tuple[np.ndarray, bool]:
    """Step until every workgroup has ended; the log, and whether it is complete."""
    parts: list[np.ndarray] = []
    kept, left = 0, len(groups)
    while left:
        outcome, logged = unit.step()
        if outcome in _OUTCOMES:
            current = int(unit.waves[unit["current"], r.WAVE_FIELDS["group_index"]])
            raise_outcome(_OUTCOMES[outcome], groups[current], launch, budget)
        if unit["instructions"] - unit["worked"] > _IDLE:
            run(launch, workgroups, budget, None)  # proves who waits for whom, and raises
            raise DeadlockError(
                f"the modelled workgroups of {launch.kernel.name} wait for others that come later.",
                fix="model a launch whose workgroups do not wait for each other.",
            )
        if kept < _LOG_LIMIT:
            parts.append(logged)
        kept += len(logged)
        left -= outcome == r.GROUP_DONE
    return np.concatenate(parts), kept <= sum(map(len, parts))
