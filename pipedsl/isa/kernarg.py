"""The kernarg segment: where arguments go and what hidden ones hold."""

from __future__ import annotations

from collections.abc import Sequence

from pipedsl.isa.metadata import KernelMetadata

Triple = tuple[int, int, int]


def hidden_value(kind: str, grid: Triple, block: Triple, lds_bytes: int) -> int:
    """Value of a hidden argument (LLVM AMDGPUUsage, code object V5 "hidden" kinds).

    Parameters
    ----------
    kind : str
        ``value_kind`` of the metadata. Kinds that name a runtime service (printf, heap, queue)
        are 0: kernels of this project use none.
    grid, block : tuple of int
        Workgroups, and work-items of one.
    lds_bytes : int
        Dynamic LDS of the launch.
    """
    axis = "xyz".find(kind[-1]) if kind[-2:-1] == "_" else -1
    if kind.startswith("hidden_block_count_"):
        return grid[axis]
    if kind.startswith("hidden_group_size_"):
        return block[axis]
    if kind == "hidden_grid_dims":
        return max((i + 1 for i in range(3) if grid[i] * block[i] > 1), default=1)
    if kind == "hidden_dynamic_lds_size":
        return lds_bytes
    return 0


def pack_segment(
    metadata: KernelMetadata,
    explicit: Sequence[bytes],
    grid: Triple,
    block: Triple,
    lds_bytes: int = 0,
) -> bytes:
    """The whole segment from the explicit arguments' bytes, in metadata order."""
    segment = bytearray(metadata.kernarg_size)
    values = iter(explicit)
    for arg in metadata.args:
        if arg.hidden:
            data = hidden_value(arg.value_kind, grid, block, lds_bytes).to_bytes(arg.size, "little")
        else:
            data = next(values)
        segment[arg.offset : arg.offset + arg.size] = data
    return bytes(segment)
