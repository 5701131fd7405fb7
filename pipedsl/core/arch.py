"""The supported targets: one row each."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.core.errors import TargetError


@dataclass(frozen=True)
class Arch:
    """Limits and features of one AMDGPU target.

    Sources: LLVM AMDGPUUsage and ``AMDGPUBaseInfo`` (register files, granules, LDS), AMD's
    CDNA3, CDNA4, RDNA3 and RDNA4 ISA documents (waits, barriers, matrix types).

    Attributes
    ----------
    name : str
        LLVM's processor name, e.g. ``"gfx942"``.
    generation : int
        9, 11 or 12.
    wave_size : int
        Lanes per wave that kernels are compiled for.
    lds_bytes : int
        Most LDS that one workgroup can have.
    lds_granule : int
        LDS is allocated in multiples of this many bytes.
    vgprs_per_simd : int
        VGPRs per lane and SIMD, shared by the resident waves.
    vgpr_granule : int
        VGPRs of a wave are allocated in multiples of this.
    max_vgprs : int
        Most VGPRs (AGPRs included on gfx9) that one wave can have.
    max_sgprs : int
    sgprs_per_simd : int or None
        SGPRs per SIMD, shared by the resident waves; None where every wave has a full set.
    simds_per_cu : int
        SIMDs that share one LDS (a CU on gfx9, a WGP counts as two CUs on gfx11/12).
    max_waves_per_simd : int
    max_block : int
        Most work-items in a workgroup.
    features : frozenset of str
        ``mfma``, ``wmma``, ``agpr``, ``fp8_fnuz``, ``fp8_ocp``, ``split_waits``,
        ``split_barrier``, ``lds_dma4``, ``lds_dma16``, ``lds_transpose``, ``permlane_swap``,
        ``vscnt``.
    """

    name: str
    generation: int
    wave_size: int
    lds_bytes: int
    lds_granule: int
    vgprs_per_simd: int
    vgpr_granule: int
    max_vgprs: int
    max_sgprs: int
    sgprs_per_simd: int | None
    simds_per_cu: int
    max_waves_per_simd: int
    max_block: int
    features: frozenset[str]

    def has(self, feature: str) -> bool:
        """Whether the target has `feature`."""
        return feature in self.features


def _cdna(name: str, lds_kib: int, granule: int, *features: str) -> Arch:
    return Arch(
        name=name, generation=9, wave_size=64, lds_bytes=lds_kib * 1024, lds_granule=granule,
        vgprs_per_simd=512, vgpr_granule=8, max_vgprs=512, max_sgprs=102, sgprs_per_simd=800,
        simds_per_cu=4, max_waves_per_simd=8, max_block=1024,
        features=frozenset({"mfma", "agpr", "lds_dma4", *features}),
    )  # fmt: skip


def _rdna(name: str, generation: int, *features: str) -> Arch:
    return Arch(
        name=name, generation=generation, wave_size=32, lds_bytes=64 * 1024, lds_granule=1024,
        vgprs_per_simd=1536, vgpr_granule=24, max_vgprs=256, max_sgprs=106, sgprs_per_simd=None,
        simds_per_cu=2, max_waves_per_simd=16, max_block=1024,
        features=frozenset({"wmma", "vscnt", *features}),
    )  # fmt: skip


ARCHS: dict[str, Arch] = {
    arch.name: arch
    for arch in (
        _cdna("gfx90a", 64, 512),
        _cdna("gfx942", 64, 512, "fp8_fnuz", "xf32"),
        _cdna("gfx950", 160, 1280, "fp8_ocp", "lds_dma16", "lds_transpose", "mfma_scale", "permlane_swap"),
        _rdna("gfx1100", 11),
        _rdna("gfx1201", 12, "fp8_ocp", "split_waits", "split_barrier"),
    )
}


def get_arch(name: str | Arch) -> Arch:
    """The row for `name`; feature suffixes (``gfx942:sramecc+:xnack-``) are ignored.

    Raises
    ------
    TargetError
        If the target is not supported.
    """
    if isinstance(name, Arch):
        return name
    arch = ARCHS.get(name.partition(":")[0]) if isinstance(name, str) else None
    if arch is None:
        raise TargetError(
            f"{name!r} is not a supported arch.", fix=f"use one of {', '.join(ARCHS)}."
        )
    return arch
