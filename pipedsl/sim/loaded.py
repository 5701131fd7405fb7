"""A kernel of an assembly text: what the text says of it, and its host code."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pipedsl.core.arch import Arch, get_arch
from pipedsl.core.cache import FileCache, content_key
from pipedsl.core.config import config
from pipedsl.core.errors import AssemblyError
from pipedsl.core.version import source_fingerprint
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.metadata import KernelMetadata
from pipedsl.sim import micro
from pipedsl.sim.jit import Linked, host
from pipedsl.sim.layout import WaveLayout
from pipedsl.sim.reader import Program
from pipedsl.sim.sgprs import mode_register
from pipedsl.sim.translator import ENTRY_SYMBOL, Translator


class LoadedKernel:
    """One kernel of a program, translated on demand.

    Attributes
    ----------
    name : str
    program : Program
    metadata : KernelMetadata
    """

    def __init__(self, program: Program, name: str, text_key: str) -> None:
        self.name = name
        self.program = program
        self.metadata: KernelMetadata = program.kernels[name]
        _check(self.metadata, self.arch)
        self._text_key = text_key
        self._lock = threading.Lock()
        self._code: dict[tuple[str, type[Translator]], Code] = {}

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
        source = source_fingerprint("sim", "isa", "core")
        key = content_key(self._text_key, self.name, variant, source, host().key("", 0))
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


_VALUES = {"ieee_mode": 2, "dx10_clamp": 2}  # number of values of fields of the MODE register
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
            raise AssemblyError(
                f"kernel {meta.name} asks for {value} {what}, {arch.name} has {limit}."
            )
    for name, value in meta.descriptor.items():
        values = _VALUES.get(name, 4 if name.startswith("float_") else 1 << 32)
        if not 0 <= value < values:
            raise AssemblyError(f"kernel {meta.name}: .amdhsa_{name} cannot be {value}.")
    if meta.wave_size != arch.wave_size:
        raise AssemblyError(
            f"kernel {meta.name} is for waves of {meta.wave_size} lanes; the simulator runs "
            f"{arch.name} with {arch.wave_size}."
        )
    for arg in meta.args:
        if arg.offset < 0 or arg.size < 1 or arg.offset + arg.size > meta.kernarg_size:
            raise AssemblyError(
                f"kernel {meta.name}: an argument lies outside the kernarg segment."
            )
