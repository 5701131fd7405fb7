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


def occupancy(metadata: KernelMetadata, arch: Arch, block: int, dynamic_lds: int = 0) -> Occupancy:
    """Occupancy of `metadata`'s kernel with `block` work-items and `dynamic_lds` bytes beyond its own."""
    return fitting(
        arch,
        -(-block // metadata.wave_size),
        vgprs=metadata.vgpr_count,
        sgprs=metadata.sgpr_count,
        lds_bytes=metadata.lds_bytes + dynamic_lds,
        cus=1 + metadata.descriptor.get("workgroup_processor_mode", 0),
    )


def fitting(
    arch: Arch, waves: int, *, vgprs: int = 1, sgprs: int = 1, lds_bytes: int = 0, cus: int = 1
) -> Occupancy:
    """Occupancy of workgroups of `waves` waves that spread over `cus` CUs.

    Parameters
    ----------
    vgprs, sgprs : int
        Of a wave, per lane; AGPRs count as VGPRs.
    lds_bytes : int
        Of a workgroup.
    """
    simds = arch.simds_per_cu * cus
    by_registers = {"VGPRs": arch.vgprs_per_simd // _align(max(vgprs, 1), arch.vgpr_granule)}
    if arch.sgprs_per_simd is not None:
        by_registers["SGPRs"] = arch.sgprs_per_simd // max(sgprs, 1)
    by_groups = {"block": arch.max_waves_per_simd * simds // waves}
    if lds_bytes:
        by_groups["LDS"] = arch.lds_bytes * cus // _align(lds_bytes, arch.lds_granule)

    limits = {
        **{name: -(-groups * waves // simds) for name, groups in by_groups.items()},
        **by_registers,
    }
    limiting = min(limits, key=lambda name: limits[name])
    resident = min(limits[limiting], arch.max_waves_per_simd)
    register_waves = min(arch.max_waves_per_simd, min(by_registers.values()))
    groups = min(min(by_groups.values()), register_waves * simds // waves)
    return Occupancy(
        resident, limiting if resident < arch.max_waves_per_simd else None, groups, cus
    )


def _align(value: int, granule: int) -> int:
    return -(-value // granule) * granule
