"""The rows of the instruction table, one module per family."""

from pipedsl.isa.families import control, memory, salu, valu_integer

__all__ = ["control", "memory", "salu", "valu_integer"]
