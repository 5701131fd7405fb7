"""Registers, LDS and scratch of a compiled kernel, and how many of it fit on a compute unit."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.core.arch import Arch, get_arch
from pipedsl.core.errors import CompilationError
from pipedsl.core.html import Shown
from pipedsl.isa.budget import Budget
from pipedsl.isa.metadata import read_metadata
from pipedsl.isa.occupancy import occupancy


@dataclass(frozen=True)
class Resources(Shown):
    """What one kernel takes.

    Attributes
    ----------
    kernel, arch : str
    block : int
        Work-items of the workgroup that the occupancy is for.
    vgprs : int
        Architectural VGPRs of a wave, per lane; rounded up to 4 where AGPRs follow them.
    agprs : int
        Accumulation VGPRs; they come from the same register file (gfx9 only).
    sgprs : int
        SGPRs of a wave, VCC and the like included.
    lds_bytes : int
        Static LDS of a workgroup.
    scratch_bytes : int
        Scratch of a work-item.
    vgpr_spills, sgpr_spills : int
        Registers spilled to memory.
    waves_per_simd : int
        Waves that registers, LDS and wave slots allow on a SIMD: LLVM's "Occupancy", but with
        LDS rounded up to the granule of its allocation.
    max_waves_per_simd : int
        Wave slots of a SIMD.
    limited_by : str or None
        The resource that keeps `waves_per_simd` below the slots: ``"VGPRs"``, ``"SGPRs"``,
        ``"LDS"`` or ``"block"`` (whole workgroups leave slots empty).
    workgroups_per_cu : float
        Whole workgroups that fit on a compute unit; 0 where not one fits. On gfx11 and gfx12
        a workgroup runs on a WGP, a pair of CUs: the figure is half of what fits on the pair.
    budget : Budget or None
        Of a kernel with roles.
    """

    kernel: str
    arch: str
    block: int
    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    vgpr_spills: int
    sgpr_spills: int
    waves_per_simd: int
    max_waves_per_simd: int
    limited_by: str | None
    workgroups_per_cu: float
    budget: Budget | None = None

    def __str__(self) -> str:
        limit = f", limited by {self.limited_by}" if self.limited_by else ""
        rows = [
            ("VGPRs", f"{self.vgprs}"),
            ("AGPRs", f"{self.agprs}"),
            ("SGPRs", f"{self.sgprs}"),
            ("LDS", f"{self.lds_bytes:,} bytes per workgroup"),
            ("scratch", f"{self.scratch_bytes:,} bytes per work-item"),
            ("spills", f"{self.vgpr_spills} VGPRs, {self.sgpr_spills} SGPRs"),
            ("waves per SIMD", f"{self.waves_per_simd} of {self.max_waves_per_simd}{limit}"),
            ("workgroups per CU", f"{self.workgroups_per_cu:g}"),
        ]
        if self.budget is not None:
            rows += self.budget.rows()
        title = f"{self.kernel} on {self.arch}, block {self.block}"
        return "\n".join([title, *(f"  {name:<18}{value}" for name, value in rows)])


def read_resources(asm: str, kernel: str, arch: str | Arch, block: int | None = None) -> Resources:
    """Read the resources of `kernel` from its assembly.

    Parameters
    ----------
    asm : str
        Assembly with kernel metadata.
    kernel : str
        Symbol of the kernel.
    arch : str or Arch
    block : int, optional
        Work-items per workgroup; by default the most that the kernel was compiled for.

    Raises
    ------
    AssemblyError
        If the metadata is malformed.
    CompilationError
        If `asm` has no such kernel.
    """
    kernels = read_metadata(asm)
    if kernel not in kernels:
        raise CompilationError(
            f"the assembly has no kernel {kernel!r}.",
            fix=f"its kernels are {', '.join(map(repr, kernels))}." if kernels else None,
        )
    metadata, row = kernels[kernel], get_arch(arch)
    block = metadata.max_block if block is None else block
    fits = occupancy(metadata, row, block)
    return Resources(
        kernel=kernel,
        arch=row.name,
        block=block,
        vgprs=metadata.vgpr_count - metadata.agpr_count,
        agprs=metadata.agpr_count,
        sgprs=metadata.sgpr_count,
        lds_bytes=metadata.lds_bytes,
        scratch_bytes=metadata.scratch_bytes,
        vgpr_spills=metadata.vgpr_spills,
        sgpr_spills=metadata.sgpr_spills,
        waves_per_simd=fits.waves,
        max_waves_per_simd=row.max_waves_per_simd,
        limited_by=fits.limited_by,
        workgroups_per_cu=fits.workgroups / fits.cus,
    )
