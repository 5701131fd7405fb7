"""What an assembly text says about its kernels: target, arguments, registers, LDS, modes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import yaml

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.expressions import Evaluator, ExpressionError, LayoutDependent


@dataclass(frozen=True)
class ArgMetadata:
    """One kernel argument in the kernarg segment.

    Attributes
    ----------
    name : str or None
    offset, size : int
        Bytes.
    value_kind : str
        ``"by_value"``, ``"global_buffer"``, ``"hidden_block_count_x"``, ...
    address_space : str or None
        ``"global"``, ``"generic"``, ... for pointers.
    """

    name: str | None
    offset: int
    size: int
    value_kind: str
    address_space: str | None = None

    @property
    def hidden(self) -> bool:
        """Whether the launcher, not the user, supplies the value."""
        return self.value_kind.startswith("hidden_")


@dataclass(frozen=True)
class KernelMetadata:
    """One kernel, as its ``.amdgpu_metadata`` entry and ``.amdhsa_kernel`` descriptor give it.

    Attributes
    ----------
    name : str
        Symbol of the kernel's code.
    arch : str
        Processor of the text's target, e.g. ``"gfx942"``.
    args : tuple of ArgMetadata
        In kernarg order, hidden ones included.
    kernarg_size : int
        Bytes of the kernarg segment.
    lds_bytes, scratch_bytes : int
        LDS of a workgroup; scratch of a work-item. Both without what a launch adds.
    wave_size : int
    vgpr_count : int
        Registers that a wave occupies per lane: on gfx90a and later gfx9 VGPRs, aligned to 4,
        and AGPRs together.
    agpr_count, sgpr_count : int
    vgpr_spills, sgpr_spills : int
        Registers that the compiler spilled.
    max_block : int
        Most work-items in a workgroup.
    descriptor : mapping of str to int
        The ``.amdhsa_`` directives by name without the prefix. A directive whose value depends on
        code addresses (``inst_pref_size``) is absent.
    """

    name: str
    arch: str
    args: tuple[ArgMetadata, ...]
    kernarg_size: int
    lds_bytes: int
    scratch_bytes: int
    wave_size: int
    vgpr_count: int
    agpr_count: int
    sgpr_count: int
    vgpr_spills: int
    sgpr_spills: int
    max_block: int
    descriptor: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def read_metadata(text: str) -> dict[str, KernelMetadata]:
    """Read the kernels of an AMDGPU assembly text.

    Parameters
    ----------
    text : str
        Assembly for the ``amdhsa`` OS, code object V3 or later.

    Returns
    -------
    dict of str to KernelMetadata
        By symbol of the kernel; empty for a text without kernels.

    Raises
    ------
    AssemblyError
        If a directive or the metadata is malformed; the message names the line.
    """
    directives = _scan(text)
    if not directives.entries:
        return {}
    arch = directives.arch
    if arch is None:
        raise AssemblyError(
            "the text names no target.",
            fix='start it with a line like .amdgcn_target "amdgcn-amd-amdhsa--gfx942".',
        )
    evaluator = Evaluator(
        directives.symbols,
        is_label=lambda name: re.search(rf'^"?{re.escape(name)}"?:', text, re.M) is not None,
        unified_agprs=re.fullmatch(r"gfx9(0a|[45].)", arch) is not None,
    )
    kernels = {}
    for line, entry in directives.entries:
        fields = _Fields(entry, line, "the metadata of a kernel")
        name = fields.text(".symbol").removesuffix(".kd")
        descriptor = directives.descriptors.get(name)
        if descriptor is None:
            raise _malformed(line, f"the metadata names {name!r}, which has no .amdhsa_kernel")
        kernels[name] = _kernel(name, arch, fields, _evaluate(descriptor, evaluator))
    return kernels


def processor(target: str) -> str:
    """Processor of a target string: ``"gfx942"`` for ``"amdgcn-amd-amdhsa--gfx942:xnack-"``."""
    return "gfx" + target.rpartition("-gfx")[2].partition(":")[0]


@dataclass
class _Directives:
    """The directives that matter, values as text, with the line of each."""

    arch: str | None
    symbols: dict[str, str]
    descriptors: dict[str, dict[str, tuple[int, str]]]
    entries: list[tuple[int, Any]]


_DIRECTIVE = re.compile(
    r"^[ \t]*\.(amdgcn_target|amdhsa_\w+|end_amdhsa_kernel|amdgpu_metadata|set|equ)\b[ \t]*(.*)$",
    re.M,
)
_COMMENT = re.compile(r"[ \t]*(?:;|//).*$")
_SET = re.compile(r'([A-Za-z_.$][\w.$@]*|"[^"\n]+")[ \t]*,[ \t]*(\S.*)')
_END_METADATA = re.compile(r"^[ \t]*\.end_amdgpu_metadata\b", re.M)


def _scan(text: str) -> _Directives:
    found = _Directives(None, {}, {}, [])
    kernel: dict[str, tuple[int, str]] | None = None
    opened = line = position = end_of_metadata = 0
    for match in _DIRECTIVE.finditer(text):
        if match.start() < end_of_metadata:
            continue
        line += text.count("\n", position, match.start(1))
        position = match.start(1)
        name, value = match[1], _COMMENT.sub("", match[2]).strip()
        number = line + 1
        if name == "amdgcn_target":
            found.arch = _target(value.strip('"'), number)
        elif name in ("set", "equ"):
            definition = _SET.fullmatch(value)
            if definition is None:
                raise _malformed(number, f"a symbol and its value must follow .{name}")
            found.symbols[definition[1].strip('"')] = definition[2]
        elif name == "amdhsa_kernel":
            if kernel is not None:
                raise _malformed(opened, ".amdhsa_kernel has no .end_amdhsa_kernel")
            if not value:
                raise _malformed(number, "a kernel's name must follow .amdhsa_kernel")
            kernel, opened = found.descriptors.setdefault(value.strip('"'), {}), number
        elif name == "end_amdhsa_kernel":
            if kernel is None:
                raise _malformed(number, ".end_amdhsa_kernel has no .amdhsa_kernel")
            kernel = None
        elif name == "amdgpu_metadata":
            end = _END_METADATA.search(text, match.end())
            if end is None:
                raise _malformed(number, ".amdgpu_metadata has no .end_amdgpu_metadata")
            end_of_metadata = end.start()
            found.entries += _entries(text[match.end() : end_of_metadata], number)
        elif kernel is not None:
            if not value:
                raise _malformed(number, f"a value must follow .{name}")
            kernel[name.removeprefix("amdhsa_")] = (number, value)
    if kernel is not None:
        raise _malformed(opened, ".amdhsa_kernel has no .end_amdhsa_kernel")
    return found


def _target(target: str, line: int) -> str:
    arch = processor(target)
    if re.fullmatch(r"gfx[0-9]+[0-9a-f]{2}", arch) is None:
        raise _malformed(line, f"{target!r} names no AMDGPU processor")
    return arch


# CBaseLoader leaves scalars as text: an argument may be called "no" or "1e3".
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _entries(block: str, line: int) -> list[tuple[int, Any]]:
    try:
        document = yaml.load(block, _LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise _malformed(line + (mark.line if mark else 0), f"{error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _malformed(line, "the metadata is not YAML") from None
    kernels = _Fields(document, line, "the metadata").items("amdhsa.kernels")
    return [(line, kernel) for kernel in kernels]


class _Fields:
    """A mapping of the metadata whose reads raise AssemblyError."""

    def __init__(self, mapping: Any, line: int, what: str) -> None:
        if not isinstance(mapping, dict):
            raise _malformed(line, f"{what} is not a mapping")
        self.mapping, self.line, self.what = mapping, line, what

    def text(self, key: str) -> str:
        value = self.mapping.get(key)
        if not isinstance(value, str):
            raise _malformed(self.line, f"{self.what} has no {key}")
        return value

    def optional(self, key: str) -> str | None:
        return self.text(key) if key in self.mapping else None

    def integer(self, key: str, default: int | None = None) -> int:
        if default is not None and key not in self.mapping:
            return default
        text = self.text(key)
        if re.fullmatch(r"[0-9]{1,18}", text) is None:
            raise _malformed(self.line, f"{key} of {self.what} must be a number, not {text!r}")
        return int(text)

    def items(self, key: str) -> list[Any]:
        value = self.mapping.get(key, [])
        if not isinstance(value, list):
            raise _malformed(self.line, f"{key} of {self.what} is not a list")
        return value


def _kernel(name: str, arch: str, fields: _Fields, descriptor: Mapping[str, int]) -> KernelMetadata:
    return KernelMetadata(
        name=name,
        arch=arch,
        args=tuple(_argument(entry, fields.line, name) for entry in fields.items(".args")),
        kernarg_size=fields.integer(".kernarg_segment_size"),
        lds_bytes=fields.integer(".group_segment_fixed_size"),
        scratch_bytes=fields.integer(".private_segment_fixed_size"),
        wave_size=fields.integer(".wavefront_size"),
        vgpr_count=fields.integer(".vgpr_count"),
        agpr_count=fields.integer(".agpr_count", 0),
        sgpr_count=fields.integer(".sgpr_count"),
        vgpr_spills=fields.integer(".vgpr_spill_count", 0),
        sgpr_spills=fields.integer(".sgpr_spill_count", 0),
        max_block=fields.integer(".max_flat_workgroup_size"),
        descriptor=descriptor,
    )


def _argument(entry: Any, line: int, kernel: str) -> ArgMetadata:
    fields = _Fields(entry, line, f"an argument of {kernel!r}")
    return ArgMetadata(
        name=fields.optional(".name"),
        offset=fields.integer(".offset"),
        size=fields.integer(".size"),
        value_kind=fields.text(".value_kind"),
        address_space=fields.optional(".address_space"),
    )


def _evaluate(directives: Mapping[str, tuple[int, str]], evaluator: Evaluator) -> Mapping[str, int]:
    values = {}
    for name, (line, text) in directives.items():
        try:
            values[name] = evaluator.evaluate(text)
        except LayoutDependent:
            continue
        except ExpressionError as error:
            raise _malformed(line, f".amdhsa_{name}: {error}") from None
    return MappingProxyType(values)


def _malformed(line: int, reason: str) -> AssemblyError:
    return AssemblyError(f"line {line} of the assembly: {reason}.")
