"""Assembly text to hsaco, by the first assembler and linker on the machine that can."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from pipedsl.core.arch import Arch, get_arch
from pipedsl.core.cache import FileCache, content_key
from pipedsl.core.config import config
from pipedsl.core.errors import CompilationError, ToolchainMissing

_cache = FileCache("hsaco")
_SYSTEM_ROCM = "/opt/rocm"


@dataclass(frozen=True)
class Toolchain:
    """An assembler and a linker.

    Attributes
    ----------
    origin : str
        Where it was found: ``"ROCm"``, ``"PATH"`` or ``"ziglang"``.
    clang, linker : tuple of str
        Commands, without arguments.
    """

    origin: str
    clang: tuple[str, ...]
    linker: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.version} from {self.origin} ({self.clang[0]})"

    @cached_property
    def version(self) -> str:
        """First line of what ``clang --version`` says."""
        return _run([*self.clang, "--version"]).partition("\n")[0].strip()

    @cached_property
    def identity(self) -> str:
        """Changes when the assembler's file does; costs no process."""
        path = Path(self.clang[0]).resolve()
        status = path.stat()
        return f"{path}:{status.st_size}:{status.st_mtime_ns}"

    def build(self, asm: str, arch: str) -> bytes:
        """Assemble and link, without a cache; raises CompilationError."""
        with tempfile.TemporaryDirectory(prefix="pipedsl-") as folder:
            source, obj, out = (str(Path(folder, name)) for name in ("x.s", "x.o", "x.hsaco"))
            Path(source).write_text(asm)
            flags = ["--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c", source, "-o", obj]
            _run([*self.clang, *flags])
            _run([*self.linker, "-shared", "-o", out, obj])
            return Path(out).read_bytes()

    def supports(self, arch: str) -> bool:
        """Whether it can make an hsaco for `arch`; tried once."""
        return _probe(self, arch) is None


def assemble(asm: str, arch: str | Arch) -> bytes:
    """Make an hsaco (a loadable ELF code object) of assembly text.

    Parameters
    ----------
    asm : str
        Assembly for the ``amdhsa`` OS.
    arch : str or Arch

    Returns
    -------
    bytes
        From the disk cache where this toolchain has made it before.

    Raises
    ------
    ToolchainMissing
        If no assembler for `arch` is on the machine.
    CompilationError
        If the assembler or the linker refuses the text; the message has its first error.
    """
    name = get_arch(arch).name
    for toolchain in _candidates():
        hsaco = _cache.get(content_key(asm, name, toolchain.identity))
        if hsaco is not None:
            return hsaco
    toolchain = find_toolchain(name)
    hsaco = toolchain.build(asm, name)
    _cache.put(content_key(asm, name, toolchain.identity), hsaco)
    return hsaco


def find_toolchain(arch: str | Arch = "gfx942") -> Toolchain:
    """The toolchain that `assemble` uses for `arch`; its str says which and where.

    Raises
    ------
    ToolchainMissing
        If there is none; the message names those that were tried.
    """
    name = get_arch(arch).name
    tried = []
    for toolchain in _candidates():
        if toolchain.supports(name):
            return toolchain
        tried.append(f"{toolchain.clang[0]} ({_probe(toolchain, name)})")
    raise ToolchainMissing(
        f"no assembler for {name} was found"
        + (f"; these cannot make code for it: {', '.join(tried)}." if tried else "."),
        fix="pip install 'pipedsl[hsaco]', or set ROCM_PATH to a ROCm installation.",
    )


def _candidates() -> Iterator[Toolchain]:
    for root in (os.environ.get("ROCM_PATH"), os.environ.get("HIP_PATH"), _SYSTEM_ROCM):
        for folder in (Path(root, "llvm/bin"), Path(root, "lib/llvm/bin")) if root else ():
            if (folder / "clang").exists() and (folder / "ld.lld").exists():
                yield Toolchain("ROCm", (str(folder / "clang"),), (str(folder / "ld.lld"),))
    clang, linker = shutil.which("clang"), shutil.which("ld.lld")
    if clang and linker:
        yield Toolchain("PATH", (clang,), (linker,))
    ziglang = importlib.util.find_spec("ziglang")
    if ziglang is not None and ziglang.origin is not None:
        zig = Path(ziglang.origin).with_name("zig")
        if zig.exists():
            yield Toolchain("ziglang", (str(zig), "clang"), (str(zig), "ld.lld"))


_PROBE = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.amdhsa_code_object_version 5
.globl probe
.p2align 8
.type probe,@function
probe:
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel probe
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 1
{accum_offset}
.end_amdhsa_kernel
"""


@cache
def _probe(toolchain: Toolchain, arch: str) -> str | None:
    """Why `toolchain` cannot make code for `arch`, or None if it can."""
    accum_offset = ".amdhsa_accum_offset 4" if get_arch(arch).has("agpr") else ""
    try:
        toolchain.build(_PROBE.format(arch=arch, accum_offset=accum_offset), arch)
    except CompilationError as error:
        return error.message.rstrip(".")
    return None


_ERROR = re.compile(r"^(?:.*?x\.s:(?P<line>\d+):\d+: |.*?)(?:fatal )?error: (?P<text>.+)$", re.M)


def _run(command: Sequence[str]) -> str:
    tool = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=config.compile_timeout,
            check=False,
        )
    except OSError as error:
        raise CompilationError(f"{tool} cannot be run: {error}.") from None
    except subprocess.TimeoutExpired as expiry:
        raise CompilationError(
            f"{tool} took more than {expiry.timeout:g} s.", fix="raise config.compile_timeout."
        ) from None
    if done.returncode == 0:
        return done.stdout
    complaint = _ERROR.search(done.stderr)
    if complaint is None:
        raise CompilationError(f"{tool} ended with status {done.returncode}.")
    place = f"line {complaint['line']} of the assembly: " if complaint["line"] else ""
    raise CompilationError(f"{tool}: {place}{complaint['text'].rstrip('.')}.")
