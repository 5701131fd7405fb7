"""The Numba target: types, operations and their lowering; the only user of ``numba.core``."""

from pipedsl.target import gpu

__all__ = ["gpu"]
