"""``pipedsl.check``: what is wrong with a launch, without launching it for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipedsl.checker.report import Report
from pipedsl.core.errors import LaunchError
from pipedsl.dispatch.callsite import caller
from pipedsl.dispatch.kernel import Launcher
from pipedsl.dispatch.rehearsal import Rehearsal
from pipedsl.runtime import get_device
from pipedsl.sim.check import check_kernel


def check(
    launch: Launcher,
    /,
    *args: Any,
    seeds: int | Sequence[int] = 4,
    explore: str | int | None = None,
    hints: bool = False,
    **named: Any,
) -> Report:
    """Run a launch in the simulator and report missing waits, races, protocol errors, deadlocks.

    The runs are made for the current device's arch, on copies of the arguments: arrays stay as they
    are. What a seed does not meet is not found; more seeds meet more.

    Parameters
    ----------
    launch : Launcher
        ``kernel[grid, block]``.
    *args, **named
        As for the launch.
    seeds : int or sequence of int
        Interleavings to run: how many, or which.
    explore : "exhaustive" or int, optional
        Also drive the first workgroup, one synchronisation operation at a time: through every
        interleaving that can matter, which is for a few waves, stages and laps; or through so many
        that a fair scheduler hardly makes.
    hints : bool
        Also look, in the first workgroup, for waits and barriers that nothing relies on, for bank
        conflicts and for scattered accesses.

    Returns
    -------
    Report
        True if nothing was found.

    Examples
    --------
    ::

        report = pipedsl.check(stress[1, 128], result, np.int32(64))
        assert report, report
    """
    if not isinstance(launch, Launcher):
        raise LaunchError(
            f"check() takes kernel[grid, block], not {launch!r}.",
            fix="write pipedsl.check(kernel[grid, block], *args).",
            where=caller(),
        )
    if not (explore in (None, "exhaustive") or _is_count(explore)):
        raise LaunchError(
            f"explore is {explore!r}.",
            fix='use explore="exhaustive" or a number of interleavings.',
            where=caller(),
        )
    chosen = range(seeds) if isinstance(seeds, int) else seeds
    geometry = launch.geometry
    arguments, compiled = launch.compile(args, named, get_device().arch)
    rehearsal = Rehearsal(compiled.image, geometry, arguments)
    return check_kernel(
        rehearsal.kernel, geometry.grid, geometry.block, rehearsal.prepare, list(chosen),
        lds_bytes=geometry.lds_bytes, sources=compiled.image.sources, explore=explore,
        hints=hints,
    )  # fmt: skip


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
