"""What a kernel can ask of the GPU; public as ``pipedsl.gpu``.

Everything here is for kernels and device functions, where it compiles to a few instructions.
Called from ordinary Python it raises `KernelError`, except `wave_size`, which answers for the
current device.
"""

from __future__ import annotations

from typing import Any, NoReturn

from pipedsl.core.current import current_arch
from pipedsl.core.errors import KernelError
from pipedsl.target.matrix_table import NAMES
from pipedsl.target.vector_type import VectorType, vec

__all__ = [
    "Index3",
    "VectorType",
    "any_lane",
    "asm",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "barrier",
    "bitcast",
    "block_dim",
    "block_idx",
    "bpermute",
    "buffer",
    "buffer_load",
    "buffer_load_to_lds",
    "buffer_store",
    "clock",
    "counter_load",
    "counter_signal",
    "declare_ring",
    "declare_roles",
    "declare_stages",
    "element",
    "fence_lds",
    "floor",
    "fma",
    "grid_dim",
    "lane_id",
    "load",
    "load_transposed",
    "local",
    "mfma",
    "permlane32_swap",
    "readfirstlane",
    "rint",
    "sched_barrier",
    "sched_group_barrier",
    "setprio",
    "shared",
    "shuffle_xor",
    "size_of",
    "sleep",
    "static_check",
    "static_range",
    "store",
    "thread_idx",
    "vec",
    "waitcnt",
    "wave_id",
    "wave_max",
    "wave_min",
    "wave_size",
    "wave_sum",
]
__all__ += list(NAMES)


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


def load(array: Any, index: Any, count: int, offset: int = 0) -> Any:
    """`count` consecutive elements from `index` on as a vector, in as few instructions as possible.

    The address must be a multiple of the vector's size (of 16 bytes for larger ones). `count` is a
    constant: 2, 3, 4, 8, 16 or 32. `offset`, a constant, is a number of elements more: it becomes
    part of the instruction, so that accesses at several offsets share one address.
    """
    _device_only("load()")


def load_transposed(array: Any, index: Any) -> Any:
    """64 bits from LDS, transposed among 16 lanes; gfx950 only.

    Each of 16 consecutive lanes addresses 8 bytes; together they read rows of 16 elements, 4 rows
    of 16-bit or 8 rows of 8-bit elements. Lane ``l`` of the 16 gets column ``l`` (CDNA4 ISA,
    DS_READ_B64_TR_B16 and DS_READ_B64_TR_B8): what the operands of matrix instructions want of a
    matrix whose other axis is contiguous.

    Returns
    -------
    vector
        4 or 8 elements of the array's dtype.
    """
    _device_only("load_transposed()")


def store(array: Any, index: Any, value: Any, offset: int = 0) -> None:
    """Store a vector to consecutive elements from `index` on; alignment and `offset` as of `load`."""
    _device_only("store()")


def bitcast(value: Any, kind: Any) -> Any:
    """The bits of a number or vector as another dtype or ``gpu.vec(...)`` of the same size."""
    _device_only("bitcast()")


def buffer(array: Any, size: int | None = None) -> Any:
    """A buffer resource over a C-contiguous global array below 4 GiB.

    Parameters
    ----------
    array : array in global memory
    size : int, optional
        Elements in range; the array's size by default.
    """
    _device_only("buffer()")


def buffer_load(buffer: Any, index: int, count: int = 1, base: int = 0) -> Any:
    """`count` elements at ``index + base``; 0 out of range.

    `index` is per lane (a VGPR), `base` uniform (an SGPR); `count` elements take 1 to 16 bytes.
    """
    _device_only("buffer_load()")


def buffer_store(buffer: Any, index: int, value: Any, base: int = 0) -> None:
    """Store a number or vector at ``index + base``; out of range, nothing."""
    _device_only("buffer_store()")


def buffer_load_to_lds(
    buffer: Any, index: int, array: Any, start: int, count: int = 1, base: int = 0
) -> None:
    """Copy to LDS without registers: lane i's elements land at ``start + i * count``.

    `start` is uniform. 4 bytes per lane on gfx90a and gfx942, also 12 and 16 on gfx950. The copy is
    done when ``vmcnt`` says so: `fence_lds`, `barrier` and `waitcnt` wait for it.
    """
    _device_only("buffer_load_to_lds()")


def setprio(priority: int) -> None:
    """Priority of the wave against the others of its SIMD, 0 (normal) to 3."""
    _device_only("setprio()")


def sched_barrier(mask: int = 0) -> None:
    """Let the compiler move only the instruction kinds of `mask` across (LLVM AMDGPUUsage)."""
    _device_only("sched_barrier()")


def sched_group_barrier(mask: int, size: int, group: int = 0) -> None:
    """Ask for `size` instructions of the kinds in `mask` here, in order within `group`."""
    _device_only("sched_group_barrier()")


def waitcnt(vmcnt: int | None = None, lgkmcnt: int | None = None, vscnt: int | None = None) -> None:
    """Wait until at most so many of the wave's accesses are in flight.

    On gfx12 the names stand for ``loadcnt``, ``dscnt`` and ``storecnt``; on gfx9 stores count in
    ``vmcnt``.
    """
    _device_only("waitcnt()")


def clock() -> int:
    """The shader clock, int64: ``s_memtime`` on gfx9, the cycle counter elsewhere."""
    _device_only("clock()")


def asm(text: str, *operands: Any) -> Any:
    """Inline assembly: ``gpu.asm("v_add_f32 $0, $1, $2", np.float32, x, y)``.

    A dtype or ``gpu.vec(...)`` as first operand is the result's type; `$0` is then the result.
    Operands are in VGPRs. Memory is taken to change; waits inside the text are the writer's duty.
    """
    _device_only("asm()")


def mfma(a: Any, b: Any, c: Any) -> Any:
    """``a @ b + c`` of the wave's tiles, by the arch's instruction for the operands' types.

    MFMA on gfx9, WMMA on gfx11 and gfx12. What a lane holds of each tile is in the tables of the
    docs page "Matrix instructions"; the instructions also have functions of their own names, e.g.
    ``gpu.mfma_f32_16x16x16_f16``.
    """
    _device_only("mfma()")


class MatrixFunction:
    """One matrix instruction: ``a @ b + c`` of the wave's tiles."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, a: Any, b: Any, c: Any) -> Any:
        """Raise: matrix instructions exist in kernels only."""
        _device_only(f"{self.__name__}()")

    def __repr__(self) -> str:
        return f"gpu.{self.__name__}"


globals().update({name: MatrixFunction(name) for name in NAMES})


def barrier() -> None:
    """Wait for all threads of the block; what they wrote to LDS and memory is visible after it."""
    _device_only("barrier()")


def fence_lds(vmcnt: int | None = None) -> None:
    """Wait until this wave's LDS accesses are done, e.g. before it signals that data is ready.

    Orders LDS only: it does not wait for global memory.

    Parameters
    ----------
    vmcnt : int, optional
        How many of the wave's youngest vector memory operations may stay in flight, for copies to
        LDS; a constant. By default all copies in flight are waited for, where there are any.
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


def readfirstlane(value: Any) -> Any:
    """The value of the first active lane, in every lane: uniform for the compiler too."""
    _device_only("readfirstlane()")


def bpermute(lane: int, value: Any) -> Any:
    """The value that lane `lane` (modulo the wave size) has."""
    _device_only("bpermute()")


def shuffle_xor(value: Any, mask: int) -> Any:
    """The value of the lane whose number is this lane's xor `mask`, a constant."""
    _device_only("shuffle_xor()")


def wave_sum(value: Any) -> Any:
    """The sum over the wave's lanes, all of which must be active; in every lane."""
    _device_only("wave_sum()")


def wave_max(value: Any) -> Any:
    """The largest value of the wave's lanes, all of which must be active; in every lane."""
    _device_only("wave_max()")


def wave_min(value: Any) -> Any:
    """The smallest value of the wave's lanes, all of which must be active; in every lane."""
    _device_only("wave_min()")


def any_lane(condition: bool) -> bool:
    """Whether `condition` holds in an active lane of the wave; the same value in all lanes."""
    _device_only("any_lane()")


def atomic_add(
    array: Any, index: Any, value: Any, scope: str = "agent", order: str = "relaxed"
) -> Any:
    """Add `value` at ``array[index]`` atomically; returns what was there. The atomics take 32- and 64-bit numbers.

    `scope` is ``"wave"``, ``"workgroup"``, ``"agent"`` or ``"system"``; `order` ``"relaxed"``,
    ``"acquire"``, ``"release"`` or ``"acq_rel"``.
    """
    _device_only("atomic_add()")


def atomic_sub(
    array: Any, index: Any, value: Any, scope: str = "agent", order: str = "relaxed"
) -> Any:
    """Subtract `value` at ``array[index]`` atomically; returns what was there."""
    _device_only("atomic_sub()")


def atomic_min(
    array: Any, index: Any, value: Any, scope: str = "agent", order: str = "relaxed"
) -> Any:
    """Take the minimum with `value` at ``array[index]`` atomically; returns what was there."""
    _device_only("atomic_min()")


def atomic_max(
    array: Any, index: Any, value: Any, scope: str = "agent", order: str = "relaxed"
) -> Any:
    """Take the maximum with `value` at ``array[index]`` atomically; returns what was there."""
    _device_only("atomic_max()")


def atomic_and(
    array: Any, index: Any, value: Any, scope: str = "agent", order: str = "relaxed"
) -> Any:
    """And `value` at ``array[index]`` atomically; returns what was there."""
    _device_only("atomic_and()")


def atomic_or(
    array: Any, index: Any, value: Any, scope: str = "agent", order: str = "relaxed"
) -> Any:
    """Or `value` at ``array[index]`` atomically; returns what was there."""
    _device_only("atomic_or()")


def atomic_xor(
    array: Any, index: Any, value: Any, scope: str = "agent", order: str = "relaxed"
) -> Any:
    """Exclusive-or `value` at ``array[index]`` atomically; returns what was there."""
    _device_only("atomic_xor()")


def atomic_exchange(
    array: Any, index: Any, value: Any, scope: str = "agent", order: str = "relaxed"
) -> Any:
    """Store `value` at ``array[index]`` atomically; returns what was there."""
    _device_only("atomic_exchange()")


def atomic_cas(array: Any, index: Any, expected: int, value: int) -> int:
    """Store `value` where ``array[index] == expected``, atomically; returns what was there."""
    _device_only("atomic_cas()")


def counter_load(counters: Any, index: int) -> int:
    """Atomic load of an int32 or int64 LDS counter; later LDS accesses stay after it."""
    _device_only("counter_load()")


def counter_signal(counters: Any, index: int, offset: int = 0) -> None:
    """Add 1 to the int32 or int64 LDS counter ``index + offset``, once per wave.

    The wave's first active lane does it. Earlier accesses of the wave are not waited for: put
    `fence_lds` before it. `offset` is a constant.
    """
    _device_only("counter_signal()")


def stopwatch() -> int:
    """When a wait began, for `give_up`; 0, and no code, in a kernel without ``timeout_ms``."""
    _device_only("stopwatch()")


def give_up(started: int, counters: Any, index: int, wanted: int) -> None:
    """End the wave, with a note for the host, if it has waited since `started` for too long.

    In a kernel without ``timeout_ms`` it is no code at all.

    Parameters
    ----------
    started : int
        What `stopwatch` said.
    counters : LDS array
    index : int
    wanted : int
        The value of ``counters[index]`` that ends the wait.
    """
    _device_only("give_up()")


def stamp(kind: str, counters: Any, index: int, slot: int, lap: int) -> None:
    """Note the shader clock, in a kernel with ``trace=True``; no code at all in another.

    Parameters
    ----------
    kind : str
        A constant of `pipedsl.core.stamps.KINDS`.
    counters : LDS array
    index : int
        The counter that is waited for or raised.
    slot, lap : int
        What a timeline shows.
    """
    _device_only("stamp()")


def declare_ring(
    counters: Any, num_stages: int, producer_arrivals: int, consumer_arrivals: int
) -> None:
    """Tell checkers that `counters` are a ring's: `num_stages` full counters, then as many empty ones.

    The numbers are constants: the arrivals at a slot per lap, of producers and of consumers. It
    costs one move of the address to a register.
    """
    _device_only("declare_ring()")


def declare_roles(producers: int, consumers: int) -> None:
    """Say how many waves of the block produce and consume: the kernel's budget is then checked."""
    _device_only("declare_roles()")


def declare_stages(num_stages: int) -> None:
    """Say that the LDS arrays hold the slots of a ring of `num_stages`, for the kernel's budget."""
    _device_only("declare_stages()")


def element(array: Any, index: Any) -> Any:
    """The element at `index` as an array of length 1 over the same memory: a pointer to it."""
    _device_only("element()")


def size_of(kind: Any) -> int:
    """Bytes of a dtype or ``gpu.vec(...)``; a constant."""
    _device_only("size_of()")


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
