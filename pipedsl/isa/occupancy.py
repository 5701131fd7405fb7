"""How many waves and workgroups of a kernel fit on a compute unit."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.core.arch import Arch
from pipedsl.isa.metadata import KernelMetadata


@dataclass(frozen=True)
class Occupancy:
    """What fits beside what.

    Attributes
    ----------
    waves : int
        Waves per SIMD.
    limited_by : str or None
        The resource that keeps `waves` below the slots of a SIMD: ``"VGPRs"``, ``"SGPRs"``,
        ``"LDS"`` or ``"block"`` (whole workgroups leave slots empty).
    workgroups : int
        Whole workgroups on the CUs that one spreads over.
    cus : int
        CUs that a workgroup spreads over: both of a WGP (gfx11, gfx12) unless the code asks for CU
        mode.
    """

    waves: int
    limited_by: str | None
    workgroups: int
    cus: int


def occupancy(
    metadata: KernelMetadata, arch: Arch, block: int, dynamic_lds: int = 0
) -> Occupancy:
    """Occupancy of `metadata`'s kernel with `block` work-items and `dynamic_lds` bytes beyond its own."""
    cus = 1 + metadata.descriptor.get("workgroup_processor_mode", 0)
    simds = arch.simds_per_cu * cus
    waves_per_group = -(-block // metadata.wave_size)

    by_registers = {
        "VGPRs": arch.vgprs_per_simd // _align(max(metadata.vgpr_count, 1), arch.vgpr_granule)
    }
    if arch.sgprs_per_simd is not None:
        by_registers["SGPRs"] = arch.sgprs_per_simd // max(metadata.sgpr_count, 1)
    by_groups = {"block": arch.max_waves_per_simd * simds // waves_per_group}
    if lds_bytes := metadata.lds_bytes + dynamic_lds:
        lds = _align(lds_bytes, arch.lds_granule)
        by_groups["LDS"] = arch.lds_bytes * cus // lds

    limits = {
        **{name: -(-groups * waves_per_group // simds) for name, groups in by_groups.items()},
        **by_registers,
    }
    limiting = min(limits, key=lambda name: limits[name])
    waves = min(limits[limiting], arch.max_waves_per_simd)
    register_waves = min(arch.max_waves_per_simd, min(by_registers.values()))
    groups = min(min(by_groups.values()), register_waves * simds // waves_per_group)
    return Occupancy(waves, limiting if waves < arch.max_waves_per_simd else None, groups, cus)


def _align(value: int, granule: int) -> int:
    return -(-value // granule) * granule
