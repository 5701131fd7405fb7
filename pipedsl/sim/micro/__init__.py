"""Micro-kernels: precompiled host functions that translated code and the scheduler call."""

from pipedsl.sim.micro import (
    atomics,
    buffers,
    conversions,
    crossbar,
    division,
    dot_products,
    integers,
    lds,
    mathematics,
    matrix,
    memory,
    narrow_floats,
    ordering,
    scalar,
    scheduler,
)
from pipedsl.sim.micro.registry import address, micro_key

__all__ = [
    "address",
    "atomics",
    "buffers",
    "conversions",
    "crossbar",
    "division",
    "dot_products",
    "integers",
    "lds",
    "mathematics",
    "matrix",
    "memory",
    "micro_key",
    "narrow_floats",
    "ordering",
    "scalar",
    "scheduler",
]
