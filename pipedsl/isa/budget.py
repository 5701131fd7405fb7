"""What a workgroup of producers and consumers asks of a compute unit, before registers are
allocated."""

from __future__ import annotations

from dataclasses import dataclass

from pipedsl.core.arch import get_arch
from pipedsl.core.html import Shown
from pipedsl.isa.occupancy import Occupancy, fitting


@dataclass(frozen=True)
class Budget(Shown):
    """The numbers that a kernel with roles fixes before code is generated.

    All waves of a kernel have as many registers, whatever their role: the register file of a SIMD
    is split evenly among the waves on it.

    Attributes
    ----------
    arch : str
    producers, consumers : int
        Waves of a workgroup.
    accumulators : int
        VGPRs (AGPRs included) per lane that hold results of matrix instructions at once.
    stages : int
        Slots of the longest ring; 0 without a pipeline.
    stage_bytes, lds_bytes : int
        LDS that each stage adds, and LDS of the workgroup.
    waves_per_eu : int or None
        Waves per SIMD that the kernel asks registers to be left for.
    """

    arch: str
    producers: int
    consumers: int
    accumulators: int
    stages: int
    stage_bytes: int
    lds_bytes: int
    waves_per_eu: int | None = None

    @property
    def waves(self) -> int:
        """Waves of a workgroup."""
        return self.producers + self.consumers

    @property
    def waves_per_simd(self) -> int:
        """Waves that share the registers of a SIMD."""
        return max(-(-self.waves // self._simds), self.waves_per_eu or 1)

    @property
    def vgprs(self) -> int:
        """VGPRs per lane that each wave can have."""
        row = get_arch(self.arch)
        share = row.vgprs_per_simd // self.waves_per_simd // row.vgpr_granule * row.vgpr_granule
        return min(share, row.max_vgprs)

    @property
    def occupancy(self) -> Occupancy:
        """What fits if a wave takes registers for its accumulators alone."""
        row = get_arch(self.arch)
        return fitting(
            row, self.waves, vgprs=self.accumulators, lds_bytes=self.lds_bytes, cus=self._cus
        )

    def waves_with(self, vgprs: int) -> int:
        """The most waves of a workgroup that can have `vgprs` each."""
        row = get_arch(self.arch)
        granules = -(-max(vgprs, 1) // row.vgpr_granule)
        return row.vgprs_per_simd // (granules * row.vgpr_granule) * self._simds

    def stages_within(self, lds_bytes: int) -> int:
        """The most stages that fit in `lds_bytes`."""
        rest = self.lds_bytes - self.stages * self.stage_bytes
        return max((lds_bytes - rest) // self.stage_bytes, 0) if self.stage_bytes else 0

    def rows(self) -> list[tuple[str, str]]:
        """The table: name and value of each line."""
        row, fits = get_arch(self.arch), self.occupancy
        kept = self.producers * self.vgprs / (row.vgprs_per_simd * self._simds)
        stages = f"{self.stages} stages of {self.stage_bytes:,} bytes; " if self.stages else ""
        roles = f"{self.producers} producer and {self.consumers} consumer waves"
        share = f"{self.vgprs} of {row.vgprs_per_simd}; producers keep {kept:.0%} of the registers"
        return [
            ("roles", f"{roles}, {self.waves_per_simd} per SIMD"),
            ("VGPRs per wave", share),
            ("accumulators", f"{self.accumulators} VGPRs per wave"),
            ("LDS by stages", f"{stages}{self.lds_bytes:,} of {row.lds_bytes:,} bytes"),
            ("fits at most", f"{fits.workgroups / fits.cus:g} per CU, {fits.waves} waves per SIMD"),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<18}{value}" for name, value in self.rows())

    @property
    def _cus(self) -> int:
        """CUs that a workgroup spreads over: gfx11 and gfx12 code runs in WGP mode."""
        return 1 if get_arch(self.arch).generation == 9 else 2

    @property
    def _simds(self) -> int:
        return get_arch(self.arch).simds_per_cu * self._cus
