"""The kernel image: the one value that the compiler hands to the executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pipedsl.core.cache import content_key


@dataclass(frozen=True)
class Parameter:
    """One Python-level parameter of a kernel and where its parts go in the kernarg segment.

    Attributes
    ----------
    name : str
        The name in the Python signature.
    kind : {"array", "scalar", "hidden"}
        A hidden one is no parameter of the Python function; `pipedsl.core.timeouts` has it.
    dtype : str
        Canonical dtype name (``"int32"``, ``"float16"``, ...).
    ndim : int
        0 for a scalar.
    parts : tuple of str
        The kernarg fields that this parameter fills, in order: ``"pointer"``, ``"shape.0"``,
        ``"stride.0"`` (bytes) ... for an array, ``"value"`` for a scalar.
    written : bool
        Whether the kernel can write through it (arrays only).
    """

    name: str
    kind: str
    dtype: str
    ndim: int
    parts: tuple[str, ...]
    written: bool = False


@dataclass(frozen=True)
class KernelImage:
    """Assembly text of one kernel with what an executor must know to launch it.

    Attributes
    ----------
    name : str
        Symbol of the kernel in `asm`.
    arch : str
    asm : str
        Complete AMDGPU assembly with ``.amdhsa_kernel`` directives and ``.amdgpu_metadata``;
        register counts, LDS size and kernarg offsets are read from it.
    parameters : tuple of Parameter
        In the order of the Python signature. Their parts, flattened, are the explicit kernel
        arguments of the metadata, in order.
    block : int or None
        The largest workgroup size (work-items) that the code was compiled for.
    sources : mapping of str to str
        Text of the Python files that ``.loc`` directives refer to, as captured at decoration.
    """

    name: str
    arch: str
    asm: str
    parameters: tuple[Parameter, ...] = ()
    block: int | None = None
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def key(self) -> str:
        """Hash of all of the image."""
        files = [part for item in sorted(self.sources.items()) for part in item]
        return content_key(self.name, self.arch, self.asm, repr(self.parameters), *files)
