"""The timing mode: modelled cycles of a launch, and where they went."""

from pipedsl.sim.timing import figures as _figures  # noqa: F401  (fills the constants)
from pipedsl.sim.timing import scheduler as _scheduler  # noqa: F401  (registers its micro-kernel)
from pipedsl.sim.timing.constants import Constant, constants
from pipedsl.sim.timing.program import TimedProgram
from pipedsl.sim.timing.result import Arrow, InstructionTime, Interval, TimedRun, WaveTime
from pipedsl.sim.timing.run import run_timed

__all__ = [
    "Arrow",
    "Constant",
    "InstructionTime",
    "Interval",
    "TimedProgram",
    "TimedRun",
    "WaveTime",
    "constants",
    "run_timed",
]
