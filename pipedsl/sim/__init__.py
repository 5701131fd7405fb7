"""The simulator: runs AMDGPU assembly text on the host."""

from pipedsl.sim.arguments import Pointer
from pipedsl.sim.execute import State, execute
from pipedsl.sim.memory import Memory
from pipedsl.sim.module import Kernel, Module, load_assembly
from pipedsl.sim.run import RunStats

__all__ = ["Kernel", "Memory", "Module", "Pointer", "RunStats", "State", "execute", "load_assembly"]
