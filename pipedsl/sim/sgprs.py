"""Scalar registers of a new wave, as the kernel descriptor asks for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pipedsl.core.arch import Arch
from pipedsl.isa.metadata import KernelMetadata
from pipedsl.sim import layout

# In the order in which the hardware packs them (LLVM AMDGPUUsage, initial kernel state).
_USER = (
    ("user_sgpr_private_segment_buffer", 4),
    ("user_sgpr_dispatch_ptr", 2),
    ("user_sgpr_queue_ptr", 2),
    ("user_sgpr_kernarg_segment_ptr", 2),
    ("user_sgpr_dispatch_id", 2),
    ("user_sgpr_flat_scratch_init", 2),
    ("user_sgpr_private_segment_size", 1),
)
_SYSTEM = ("system_sgpr_workgroup_id_x", "system_sgpr_workgroup_id_y", "system_sgpr_workgroup_id_z")
# Buffer resource of the private segment: its aperture as base, swizzled by lane, unbounded. Kernels
# add the wave's offset to the base; here every wave has offset 0 in an aperture of its own.
_PRIVATE_RESOURCE = (
    layout.PRIVATE_APERTURE << 32 | 1 << 63 | 0xFFFFFFFF << 64 | 1 << (96 + 23)
)  # fmt: skip


def initial_sgprs(
    metadata: KernelMetadata, arch: Arch, addresses: Mapping[str, int], kernarg: bytes
) -> tuple[np.ndarray, dict[int, int]]:
    """User SGPRs, and where each axis of the workgroup id goes (axis to SGPR; none on gfx12)."""
    descriptor = metadata.descriptor
    values: list[int] = []
    for name, dwords in _USER:
        if not descriptor.get(name):
            continue
        word = {
            "user_sgpr_private_segment_buffer": _PRIVATE_RESOURCE,
            "user_sgpr_kernarg_segment_ptr": addresses["kernarg"],
            "user_sgpr_dispatch_ptr": addresses["packet"],
            "user_sgpr_private_segment_size": metadata.scratch_bytes,
        }.get(name, 0)
        values += [(word >> 32 * i) & 0xFFFFFFFF for i in range(dwords)]
    preload = descriptor.get("user_sgpr_kernarg_preload_length", 0)
    start = 4 * descriptor.get("user_sgpr_kernarg_preload_offset", 0)
    padded = kernarg[start : start + 4 * preload].ljust(4 * preload, b"\0")
    values += np.frombuffer(padded, np.uint32).tolist()
    count = max(descriptor.get("user_sgpr_count", len(values)), len(values))
    values += [0] * (count - len(values))
    axes: dict[int, int] = {}
    if arch.generation < 12:
        for axis, name in enumerate(_SYSTEM):
            if descriptor.get(name, axis == 0):
                axes[axis] = count
                count += 1
    return np.array(values, np.uint32), axes


def mode_register(metadata: KernelMetadata) -> int:
    """The MODE register: rounding in bits 0-3, denormals in 4-7, DX10 clamp 8, IEEE 9."""
    get = metadata.descriptor.get
    return (
        get("float_round_mode_32", 0)
        | get("float_round_mode_16_64", 0) << 2
        | get("float_denorm_mode_32", 0) << 4
        | get("float_denorm_mode_16_64", 3) << 6
        | get("dx10_clamp", 1) << 8
        | get("ieee_mode", 1) << 9
    )
