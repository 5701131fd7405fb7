"""What a kernel can ask of the GPU; public as ``pipedsl.gpu``.

Everything here is for kernels and device functions, where it compiles to a few instructions.
Called from ordinary Python it raises `KernelError`, except `wave_size`, which answers for the
current device.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pipedsl.core.current import current_arch
from pipedsl.core.errors import KernelError
from pipedsl.target.vector_type import VectorType, vec

__all__ = [
    "Index3",
    "VectorType",
    "any_lane",
    "barrier",
    "bitcast",
    "block_dim",
    "block_idx",
    "counter_load",
    "counter_signal",
    "element",
    "fence_lds",
    "floor",
    "fma",
    "grid_dim",
    "lane_id",
    "load",
    "local",
    "permlane32_swap",
    "rint",
    "shared",
    "sleep",
    "static_check",
    "static_range",
    "store",
    "thread_idx",
    "vec",
    "wave_id",
    "wave_size",
]


def _device_only(name: str) -> NoReturn:
    raise KernelError(
        f"gpu.{name} exists in kernels and device functions only.",
        fix="call it from a function decorated with @pipedsl.pipelined_kernel or "
        "@pipedsl.device_function.",
    )


class Index3:
    """Three coordinates of the launch: ``.x``, ``.y`` and ``.z``, each an int32."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    @property
    def x(self) -> int:
        """Along the first axis."""
        _device_only(f"{self.__name__}.x")

    @property
    def y(self) -> int:
        """Along the second axis."""
        _device_only(f"{self.__name__}.y")

    @property
    def z(self) -> int:
        """Along the third axis."""
        _device_only(f"{self.__name__}.z")

    def __repr__(self) -> str:
        return f"gpu.{self.__name__}"


thread_idx = Index3("thread_idx")
"""Position of the thread in its block."""
block_idx = Index3("block_idx")
"""Position of the block in the grid."""
block_dim = Index3("block_dim")
"""Threads of a block per axis."""
grid_dim = Index3("grid_dim")
"""Blocks of the grid per axis."""


def lane_id() -> int:
    """Position of the thread in its wave: 0 up to ``wave_size() - 1``, int32."""
    _device_only("lane_id()")


def wave_id() -> int:
    """Position of the wave in its block, int32; the same value in all lanes."""
    _device_only("wave_id()")


def wave_size() -> int:
    """Lanes per wave: a compile-time constant in a kernel.

    On the host, of the current device: 64 for gfx9, 32 for gfx11 and gfx12.
    """
    return current_arch().wave_size


class _Shared:
    """LDS: memory that the threads of a block share."""

    def array(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """An array in LDS with undefined contents.

        Parameters
        ----------
        shape : int or tuple of int
            Compile-time constants, 1 to 3 axes. 0 gives the launch's dynamic LDS, whose size is
            the launch's `lds_bytes`.
        dtype : NumPy scalar type or dtype

        Notes
        -----
        Each place in the source that a kernel reaches has one array, however often it runs; a
        device function has one per call.
        """
        _device_only("shared.array()")

    def __repr__(self) -> str:
        return "gpu.shared"


shared = _Shared()
"""LDS: memory that the threads of a block share."""


class _Local:
    """A thread's own registers."""

    def array(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """An array in registers with undefined contents.

        Parameters
        ----------
        shape : int or tuple of int
            Compile-time constants, 1 to 3 axes. So is every index: registers have no addresses.
        dtype : NumPy scalar type, dtype or ``gpu.vec(...)``
        """
        _device_only("local.array()")

    def __repr__(self) -> str:
        return "gpu.local"


local = _Local()
"""A thread's own registers."""


def load(array: Any, index: Any, count: int) -> Any:
    """`count` consecutive elements from `index` on as a vector, in as few instructions as possible.

    The address must be a multiple of the vector's size (of 16 bytes for larger ones). `count` is a
    constant: 2, 3, 4, 8, 16 or 32.
    """
    _device_only("load()")


def store(array: Any, index: Any, value: Any) -> None:
    """Store a vector to consecutive elements from `index` on; aligned as for `load`."""
    _device_only("store()")


def bitcast(value: Any, kind: Any) -> Any:
    """The bits of a number or vector as another dtype or ``gpu.vec(...)`` of the same size."""
    _device_only("bitcast()")


def barrier() -> None:
    """Wait for all threads of the block; what they wrote to LDS and memory is visible after it."""
    _device_only("barrier()")


def fence_lds() -> None:
    """Wait until this wave's LDS accesses are done, e.g. before it signals that data is ready.

    Orders LDS only: it waits neither for global memory nor for copies from memory to LDS.
    """
    _device_only("fence_lds()")


def sleep(amount: int) -> None:
    """Let other waves run for about ``64 * amount`` clocks; `amount` is a constant, 0 to 127."""
    _device_only("sleep()")


def fma(a: float, b: float, c: float) -> float:
    """``a * b + c`` with one rounding, in the float type that the operands have in common."""
    _device_only("fma()")


def rint(x: float) -> float:
    """The nearest integer, ties to even, as a float."""
    _device_only("rint()")


def floor(x: float) -> float:
    """The largest integer that is not above `x`, as a float."""
    _device_only("floor()")


def permlane32_swap(a: int, b: int) -> tuple[int, int]:
    """Exchange the upper half of `a` with the lower half of `b` across the wave; gfx950 only.

    Lanes 32 to 63 of the first result hold lanes 0 to 31 of `b`, lanes 0 to 31 of the second
    result hold lanes 32 to 63 of `a`; the other lanes keep their value. Both are int32.

    Raises
    ------
    TargetError
        At compile time, on an arch without the instruction.
    """
    _device_only("permlane32_swap()")


def any_lane(condition: bool) -> bool:
    """Whether `condition` holds in an active lane of the wave; the same value in all lanes."""
    _device_only("any_lane()")


def counter_load(counters: Any, index: int) -> int:
    """Atomic load of an int64 LDS counter; later LDS accesses stay after it."""
    _device_only("counter_load()")


def counter_signal(counters: Any, index: int, offset: int = 0) -> None:
    """Add 1 to the int64 LDS counter ``index + offset``, once per wave.

    The wave's first active lane does it. Earlier accesses of the wave are not waited for: put
    `fence_lds` before it. `offset` is a constant.
    """
    _device_only("counter_signal()")


def element(array: Any, index: Any) -> Any:
    """The element at `index` as an array of length 1 over the same memory: a pointer to it."""
    _device_only("element()")


def static_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """``range`` for a loop that is unrolled before types are inferred.

    The bounds are compile-time constants, and in each iteration so is the loop variable. An
    unrolled loop may nest, and may be left with ``break`` and ``continue``.
    """
    _device_only("static_range()")


def static_check(condition: bool, message: str, fix: str | None = None, *values: Any) -> None:
    """Refuse to compile where `condition` is known to be false; do nothing otherwise.

    `message` is formatted with `values`, where those are known. The error is a `ProtocolError` at
    the line of the user's code that led here.
    """
    _device_only("static_check()")
