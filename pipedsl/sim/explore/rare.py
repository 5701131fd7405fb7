"""Interleavings that a fair scheduler hardly ever makes.

Waves have random priorities, and the one with the highest that can go on does, until one of a few random
moments at which it drops behind all others (Burckhardt et al., "A randomized scheduler with
probabilistic guarantees of finding bugs", ASPLOS 2010).
"""

from __future__ import annotations

import random

from pipedsl.core.errors import SimulationError
from pipedsl.sim.explore.search import Explored
from pipedsl.sim.explore.stepper import Moment, Stepper

_DROPS = 3  # moments per run at which a wave drops behind
_SPAN = 400  # steps among which they are


def run_rare(stepper: Stepper, runs: int) -> Explored:
    """Run `runs` times from the present moment, with priorities drawn from seeds 0, 1, ..."""
    start = stepper.save()
    errors: dict[str, SimulationError] = {}
    orders: set[tuple[int, ...]] = set()
    steps = 0
    for seed in range(runs):
        stepper.restore(start)
        order: list[int] = []
        try:
            _run(stepper, random.Random(seed), order)
        except SimulationError as error:
            errors.setdefault(error.message, error)
        orders.add(tuple(order))
        steps += len(order)
    return Explored(
        stepper.findings(), tuple(errors.values()), len(orders), steps, steps, False,
        stepper.instructions,
    )  # fmt: skip


def _run(stepper: Stepper, draw: random.Random, order: list[int]) -> None:
    priority = {wave: draw.random() for wave in range(stepper.waves)}
    drops = {draw.randrange(_SPAN) for _ in range(_DROPS)}
    while stepper.live():
        waves = sorted(stepper.ready(), key=lambda wave: -priority[wave])
        moment: Moment = stepper.save()
        for wave in waves:
            if stepper.step(wave):
                if len(order) in drops:
                    priority[wave] = min(priority.values()) - 1
                order.append(wave)
                break
            stepper.restore(moment)
        else:
            error = stepper.stuck()
            if error is not None:
                raise error
            for wave in waves:  # a loop that does more than wait
                stepper.step(wave)
