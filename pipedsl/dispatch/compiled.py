"""A kernel after compilation, to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from pipedsl.checker.report import Report
from pipedsl.codegen.hsaco import assemble
from pipedsl.codegen.resources import Resources, read_resources
from pipedsl.codegen.store import Artifact
from pipedsl.core.html import Shown
from pipedsl.core.image import KernelImage
from pipedsl.dispatch.listing import listing_of
from pipedsl.isa.budget import Budget
from pipedsl.sim.timing.result import TimedRun
from pipedsl.views.listing import Listing


class CompiledKernel(Shown):
    """A kernel compiled for one arch and one set of argument types.

    Attributes
    ----------
    image : KernelImage
        What executors take.
    stages : mapping of str to str
        Text of every stage in order: ``"source"``, ``"llvm"``, ``"llvm_optimized"``, ``"asm"``.
    budget : Budget or None
        What a kernel with roles may take of a compute unit, and takes before LLVM's own choices.
    """

    def __init__(self, artifact: Artifact) -> None:
        self.image: KernelImage = artifact.image
        self.stages: Mapping[str, str] = artifact.stages
        self.budget: Budget | None = artifact.budget

    @property
    def name(self) -> str:
        """Symbol of the kernel."""
        return self.image.name

    @property
    def arch(self) -> str:
        """The target, e.g. ``"gfx942"``."""
        return self.image.arch

    @property
    def asm(self) -> str:
        """The assembly text."""
        return self.image.asm

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR that the frontend made, before optimisation."""
        return self.stages["llvm"]

    @cached_property
    def resources(self) -> Resources:
        """Registers, LDS, scratch, spills and occupancy; with roles, also the budget."""
        return replace(
            read_resources(self.asm, self.name, self.arch, self.image.block), budget=self.budget
        )

    def hsaco(self) -> bytes:
        """The loadable code object, assembled and linked now.

        Raises
        ------
        ToolchainMissing
            If no assembler for the arch is on this machine; the message says what to install.
        """
        return assemble(self.asm, self.arch)

    def listing(self, run: TimedRun | None = None, report: Report | None = None) -> Listing:
        """The assembly beside Python lines; see `pipedsl.views.annotate`."""
        return listing_of(self.image, run, report)

    def __str__(self) -> str:
        return f"{self!r}\n{self.resources}"

    def __repr__(self) -> str:
        block = "" if self.image.block is None else f", block {self.image.block}"
        used = self.resources
        return (
            f"<CompiledKernel {self.name} for {self.arch}{block}: {used.vgprs} VGPRs, "
            f"{used.sgprs} SGPRs, {used.lds_bytes} bytes of LDS>"
        )
