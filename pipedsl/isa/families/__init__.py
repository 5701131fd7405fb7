"""The rows of the instruction table, one module per family."""

from pipedsl.isa.families import (
    control,
    matrix,
    matrix_wmma,
    memory_buffer,
    memory_flat,
    memory_forms,
    memory_lds,
    memory_lds_atomics,
    memory_scalar,
    salu,
    valu_integer,
)

__all__ = [
    "control",
    "matrix",
    "matrix_wmma",
    "memory_buffer",
    "memory_flat",
    "memory_forms",
    "memory_lds",
    "memory_lds_atomics",
    "memory_scalar",
    "salu",
    "valu_integer",
]
