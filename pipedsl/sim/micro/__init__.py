"""Micro-kernels: precompiled host functions that translated code and the scheduler call."""

from pipedsl.sim.micro import (
    atomics,
    byte_functions,
    conversions,
    division,
    mathematics,
    matrix,
    memory,
    narrow_floats,
    ordering,
    scheduler,
)
from pipedsl.sim.micro.registry import address, micro_key

__all__ = [
    "address",
    "atomics",
    "byte_functions",
    "conversions",
    "division",
    "mathematics",
    "matrix",
    "memory",
    "micro_key",
    "narrow_floats",
    "ordering",
    "scheduler",
]
