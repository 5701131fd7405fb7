"""From source and argument types to a compiled kernel: memory, then disk, then the compiler."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Sequence
from types import MappingProxyType

import llvmlite
import numba

from pipedsl.codegen import compile_ir, start_worker
from pipedsl.codegen.store import Artifact, load, save
from pipedsl.core.arch import Arch
from pipedsl.core.cache import content_key
from pipedsl.core.image import KernelImage
from pipedsl.core.version import __version__, source_fingerprint
from pipedsl.dispatch.compiled import CompiledKernel
from pipedsl.frontend import KernelSource, Options, lower, signature_key
from pipedsl.runtime.device import Dim3
from pipedsl.target.signature import ArgumentType


def compile_kernel(
    source: KernelSource,
    arg_types: Sequence[ArgumentType],
    arch: Arch,
    block: Dim3 | None,
    options: Options,
) -> CompiledKernel:
    """The kernel for these types, made once per process and once per cache directory.

    Threads that want the same kernel at once wait for one compilation; a compilation that
    raises leaves nothing behind.

    Raises
    ------
    KernelError, CompilationError
    """
    key = _key(source, arg_types, arch, block, options)
    with _lock:
        turn = _turns.setdefault(key, threading.Lock())
    with turn:
        compiled = _compiled.get(key)
        if compiled is None:
            artifact = load(key)
            if artifact is None:
                artifact = _compile(source, arg_types, arch, block, options)
                save(key, artifact)
            compiled = _compiled[key] = CompiledKernel(artifact)
    return compiled


_compiled: dict[str, CompiledKernel] = {}
_turns: dict[str, threading.Lock] = {}
_lock = threading.Lock()


def _compile(
    source: KernelSource,
    arg_types: Sequence[ArgumentType],
    arch: Arch,
    block: Dim3 | None,
    options: Options,
) -> Artifact:
    start_worker()
    typed = lower(source, arg_types, arch, block, options)
    lowered = compile_ir(typed.llvm_ir, arch.name, kernel=typed.kernel, where=source.where)
    image = KernelImage(
        typed.kernel,
        arch.name,
        lowered.asm,
        typed.parameters,
        None if block is None else math.prod(block),
        MappingProxyType(dict(typed.sources)),
    )
    stages = {
        "source": source.text,
        "llvm": typed.llvm_ir,
        "llvm_optimized": lowered.optimized_ir,
        "asm": lowered.asm,
    }
    return Artifact(image, MappingProxyType(stages), typed.budget)


_COMPILER = ("core", "isa", "codegen", "pipeline", "tiles", "target", "frontend", "dispatch")


def _key(
    source: KernelSource,
    arg_types: Sequence[ArgumentType],
    arch: Arch,
    block: Dim3 | None,
    options: Options,
) -> str:
    versions = (__version__, numba.__version__, llvmlite.__version__, sys.version)
    return content_key(
        source.fingerprint(),
        signature_key(arg_types),
        arch.name,
        str(block),
        repr(options),
        *versions,
        source_fingerprint(*_COMPILER),
    )
