"""Micro-kernels: precompiled host functions that translated code and the scheduler call."""

from pipedsl.sim.micro import atomics, memory, scheduler
from pipedsl.sim.micro.registry import address, micro_key

__all__ = ["address", "atomics", "memory", "micro_key", "scheduler"]
