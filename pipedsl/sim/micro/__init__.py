"""Micro-kernels: precompiled host functions that translated code and the scheduler call."""

from pipedsl.sim.micro import atomics, mathematics, memory, narrow_floats, scheduler
from pipedsl.sim.micro.registry import address, micro_key

__all__ = ["address", "atomics", "mathematics", "memory", "micro_key", "narrow_floats", "scheduler"]
