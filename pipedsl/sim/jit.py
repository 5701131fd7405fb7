"""Host machine code: compile LLVM IR once, keep the object on disk, link it into this process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping

import llvmlite
from llvmlite import binding

from pipedsl.core.cache import FileCache, content_key


class HostCompiler:
    """Compiles and links host code; one per process.

    Objects are cached on disk by the text, the host CPU, the optimisation level and llvmlite's
    version. A linked library stays for as long as its handle is referenced.
    """

    def __init__(self) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self._cpu = binding.get_host_cpu_name()
        features = binding.get_host_cpu_features()
        # Objects built for 256-bit vectors would split every register row in two.
        self._features = features.flatten() + ",-prefer-256-bit"
        self._target = binding.Target.from_default_triple()
        self._machines: dict[int, binding.TargetMachine] = {}
        self._jit = binding.create_lljit_compiler(self._machine(0))
        self._names = itertools.count()
        self._lock = threading.Lock()
        self._cache = FileCache("host")

    def _machine(self, level: int) -> binding.TargetMachine:
        if level not in self._machines:
            self._machines[level] = self._target.create_target_machine(
                cpu=self._cpu, features=self._features, opt=level, codemodel="large", reloc="static",
                jit=True,
            )  # fmt: skip
        return self._machines[level]

    def key(self, text: str, level: int) -> str:
        """Cache key of `text` compiled at `level` on this host."""
        return content_key(text, str(level), self._cpu, self._features, llvmlite.__version__)

    def compile(self, text: str, level: int) -> bytes:
        """Object code of the LLVM IR in `text`.

        Parameters
        ----------
        text : str
        level : int
            0 translates fast (kernels); 3 runs the IR optimiser too (micro-kernels).
        """
        key = self.key(text, level)
        found = self._cache.get(key)
        if found is not None:
            return found
        with self._lock:
            machine = self._machine(level)
            module = binding.parse_assembly(text)
            module.verify()
            if level:
                options = binding.create_pipeline_tuning_options(level)
                options.loop_vectorization = options.slp_vectorization = True
                passes = binding.create_pass_builder(machine, options)
                passes.getModulePassManager().run(module, passes)
            image = machine.emit_object(module)
        self._cache.put(key, image)
        return image

    def link(self, image: bytes, symbol: str, imports: Mapping[str, int]) -> Linked:
        """Load an object, resolve `imports`, and return the address of `symbol`."""
        with self._lock:
            builder = binding.JITLibraryBuilder()
            builder.add_object_img(image).add_current_process().export_symbol(symbol)
            for name, address in imports.items():
                builder.import_symbol(name, address)
            tracker = builder.link(self._jit, f"lib{next(self._names)}")
            return Linked(tracker[symbol], tracker)


class Linked:
    """A linked function: `address` is valid while this object lives."""

    def __init__(self, address: int, tracker: object) -> None:
        self.address = address
        self._tracker = tracker


_host: HostCompiler | None = None
_host_lock = threading.Lock()


def host() -> HostCompiler:
    """The process's compiler, made at first use."""
    global _host
    with _host_lock:
        if _host is None:
            _host = HostCompiler()
        return _host
