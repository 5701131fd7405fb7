"""The timing mode: modelled cycles of a launch, and where they went."""

from pipedsl.sim.timing import figures as _figures  # noqa: F401  (fills the constants)
from pipedsl.sim.timing import scheduler as _scheduler  # noqa: F401  (registers its micro-kernel)
from pipedsl.sim.timing.constants import Constant, constants
from pipedsl.sim.timing.program import TimedProgram
from pipedsl.sim.timing.result import InstructionTime, TimedRun, WaveTime
from pipedsl.sim.timing.run import run_timed
from pipedsl.sim.timing.timeline import Arrow, Interval, Timeline

__all__ = [
    "Arrow",
    "Constant",
    "InstructionTime",
    "Interval",
    "TimedProgram",
    "TimedRun",
    "Timeline",
    "WaveTime",
    "constants",
    "run_timed",
]
