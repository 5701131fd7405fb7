"""Loading a text: modules and kernels."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pipedsl.core.arch import Arch, get_arch
from pipedsl.core.cache import FileCache, content_key
from pipedsl.core.config import config
from pipedsl.core.errors import AssemblyError, LaunchError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.metadata import KernelMetadata
from pipedsl.sim import micro
from pipedsl.sim.arguments import pack_arguments
from pipedsl.sim.jit import Linked, host
from pipedsl.sim.layout import WaveLayout
from pipedsl.sim.memory import Memory
from pipedsl.sim.reader import Program, read_program
from pipedsl.sim.run import Launch, RunStats, run
from pipedsl.sim.sgprs import mode_register
from pipedsl.sim.timing import TimedProgram, run_timed
from pipedsl.sim.translator import ENTRY_SYMBOL, Translator
from pipedsl.sim.version import FINGERPRINT


@dataclass(frozen=True)
class Module:
    """An assembly text, ready to run.

    Attributes
    ----------
    arch : str
    kernels : mapping of str to Kernel
    """

    arch: str
    kernels: Mapping[str, Kernel]

    def __repr__(self) -> str:
        return f"<sim.Module {self.arch}: {', '.join(self.kernels)}>"


def load_assembly(text: str) -> Module:
    """Load AMDGPU assembly.

    Parameters
    ----------
    text : str
        Complete text with ``.amdgcn_target``, ``.amdhsa_kernel`` and ``.amdgpu_metadata``.

    Raises
    ------
    AssemblyError
        For text that is not assembly of a supported target; the message names the line.
    UnsupportedInstruction
        For an instruction that the simulator does not have; nothing has run.
    """
    program = read_program(text)
    key = content_key(text)
    kernels = {name: Kernel(program, name, key) for name in program.kernels}
    return Module(program.arch, kernels)


@dataclass(frozen=True)
class Code:
    """A translated kernel in this process.

    Attributes
    ----------
    linked : Linked
    resume : tuple of int
        As in `Translation`.
    """

    linked: Linked
    resume: tuple[int, ...]

    @property
    def address(self) -> int:
        """Where the kernel starts."""
        return self.linked.address


class Kernel:
    """One kernel of a module."""

    def __init__(self, program: Program, name: str, text_key: str) -> None:
        self.name = name
        self.program = program
        self.metadata: KernelMetadata = program.kernels[name]
        _check(self.metadata, self.arch)
        self._text_key = text_key
        self._lock = threading.Lock()
        self._code: dict[tuple[str, type[Translator]], Code] = {}
        self._timed: TimedProgram | None = None

    @property
    def arch(self) -> Arch:
        """The target."""
        return get_arch(self.program.arch)

    @property
    def instructions(self) -> Sequence[Instruction]:
        """The text's instructions, with line, source line, operands and unit."""
        return self.program.instructions

    @cached_property
    def wave(self) -> WaveLayout:
        """Registers of one wave."""
        meta = self.metadata
        total = max(meta.descriptor.get("next_free_vgpr", 0), meta.vgpr_count, 1)
        if self.arch.has("agpr"):
            vgprs = meta.descriptor.get("accum_offset", total)
            return WaveLayout(meta.wave_size, vgprs, max(total - vgprs, 0))
        return WaveLayout(meta.wave_size, total, 0)

    def code(self, translator: type[Translator] = Translator) -> Code:
        """The kernel as `translator` makes it, from memory, disk or the translator."""
        matrix = config.matrix
        with self._lock:
            if (matrix, translator) not in self._code:
                self._code[matrix, translator] = self._link(matrix, translator)
            return self._code[matrix, translator]

    def _link(self, matrix: str, translator: type[Translator]) -> Code:
        cache = FileCache("sim")
        variant = f"{matrix} {translator.__name__}"
        key = content_key(self._text_key, self.name, variant, FINGERPRINT, host().key("", 0))
        found = cache.get(key) if self._text_key else None
        if found is None:
            entry, mode = self.program.labels[self.name], mode_register(self.metadata)
            translation = translator(self.program, entry, self.wave, mode, matrix).run()
            image = host().compile(translation.text, 0)
            parts = (list(translation.micros.items()), translation.resume)
            header = json.dumps(parts).encode()
            if self._text_key:
                cache.put(key, len(header).to_bytes(4, "little") + header + image)
            micros, resume = translation.micros, translation.resume
        else:
            size = int.from_bytes(found[:4], "little")
            listed, resume = json.loads(found[4 : 4 + size])
            micros = {name: tuple(parts) for name, parts in listed}
            image = found[4 + size :]
        imports = {name: micro.address(parts) for name, parts in micros.items()}
        return Code(host().link(image, ENTRY_SYMBOL, imports), tuple(resume))

    def run(
        self,
        memory: Memory,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        kernarg: bytes,
        *,
        lds_bytes: int = 0,
        workgroups: Sequence[int] | None = None,
        step_budget: int | None = None,
        seed: int | None = None,
        sources: Mapping[str, str] | None = None,
        check: bool | None = None,
        timing: bool = False,
    ) -> RunStats:
        """Run on prepared memory and kernel arguments.

        Parameters
        ----------
        memory : Memory
        grid, block : tuple of int
            Workgroups, and work-items of one, along x, y, z.
        kernarg : bytes
            The whole kernarg segment, hidden arguments included.
        lds_bytes : int
            Dynamic LDS beyond what the kernel declares.
        workgroups : sequence of int, optional
            Linear ids of the workgroups to run; all by default.
        step_budget, seed : int, optional
            Overrides of ``config.step_budget`` and ``config.seed``.
        sources : mapping of str to str, optional
            Text of source files that ``.loc`` names, for error messages.
        check : bool, optional
            Checked mode: operations complete as late as the ISA allows, and what uses them too early
            is reported in the result's `findings`. ``config.check`` by default.
        timing : bool
            Timing mode: modelled cycles are reported in the result's `timed`. Not with `check`.

        Raises
        ------
        MemoryFault, DeadlockError, StepBudgetExceeded
        LaunchError
            If the block or LDS does not fit.
        """
        if timing and check:
            raise LaunchError("a launch is checked or timed.", fix="run it twice.")
        checked = not timing and (config.check if check is None else check)
        launch = Launch(self, memory, grid, block, kernarg, lds_bytes, sources or {}, checked)
        if timing:
            budget = config.step_budget if step_budget is None else step_budget
            if self._timed is None:
                self._timed = TimedProgram(self)
            return run_timed(launch, self._timed, workgroups, budget)
        return run(launch, workgroups, step_budget, seed)

    def launch(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        lds_bytes: int = 0,
        workgroups: Sequence[int] | None = None,
        *,
        seed: int | None = None,
        check: bool | None = None,
        timing: bool = False,
    ) -> RunStats:
        """Run with arguments in metadata order.

        Parameters
        ----------
        grid, block : int or sequence of int
        args : sequence
            NumPy arrays (C-contiguous; used in place) for pointers, scalars for values. Hidden
            arguments are filled in where the metadata names their kind and may be left out.
        lds_bytes : int
        workgroups : sequence of int, optional
        seed, check, timing : optional
            As in `run`.
        """
        grid3, block3 = _triple(grid, "grid"), _triple(block, "block")
        memory = Memory()
        kernarg = pack_arguments(self.metadata, args, memory, grid3, block3, lds_bytes)
        return self.run(
            memory, grid3, block3, kernarg, lds_bytes=lds_bytes, workgroups=workgroups, seed=seed,
            check=check, timing=timing,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<sim.Kernel {self.name} for {self.program.arch}>"


_SCRATCH_LIMIT = 1 << 20  # bytes per lane; more is no program but a damaged number


def _check(meta: KernelMetadata, arch: Arch) -> None:
    """Refuse sizes that the target does not have before memory is reserved for them."""
    limits = (
        ("VGPRs", max(meta.descriptor.get("next_free_vgpr", 0), meta.vgpr_count), arch.max_vgprs),
        ("VGPRs before the AGPRs", meta.descriptor.get("accum_offset", 0), 256),
        ("bytes of LDS", meta.lds_bytes, arch.lds_bytes),
        ("bytes of scratch a lane", meta.scratch_bytes, _SCRATCH_LIMIT),
        ("bytes of arguments", meta.kernarg_size, 1 << 16),
        ("user SGPRs", meta.descriptor.get("user_sgpr_count", 0), 32),
        ("preloaded SGPRs", meta.descriptor.get("user_sgpr_kernarg_preload_length", 0), 16),
    )
    for what, value, limit in limits:
        if not 0 <= value <= limit:
            raise AssemblyError(f"kernel {meta.name} asks for {value} {what}, {arch.name} has {limit}.")
    if meta.wave_size != arch.wave_size:
        raise AssemblyError(
            f"kernel {meta.name} is for waves of {meta.wave_size} lanes; the simulator runs "
            f"{arch.name} with {arch.wave_size}."
        )
    for arg in meta.args:
        if arg.offset < 0 or arg.size < 1 or arg.offset + arg.size > meta.kernarg_size:
            raise AssemblyError(f"kernel {meta.name}: an argument lies outside the kernarg segment.")


def _triple(value: int | Sequence[int], what: str) -> tuple[int, int, int]:
    items = list(value) if isinstance(value, Sequence) else [value]
    if not 1 <= len(items) <= 3 or not all(
        isinstance(i, (int, np.integer)) and i > 0 for i in items
    ):
        raise LaunchError(f"{what} must be one to three positive integers, not {value!r}.")
    x, y, z = (int(i) for i in (*items, 1, 1)[:3])
    return x, y, z
