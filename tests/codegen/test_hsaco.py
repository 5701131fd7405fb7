"""hsaco files: what is in them, which toolchain made them, what a refusal says."""

from __future__ import annotations

import struct
import sys

import pytest

from pipedsl import codegen
from pipedsl.codegen import hsaco
from pipedsl.core.config import config
from pipedsl.core.errors import CompilationError, TargetError, ToolchainMissing

EM_AMDGPU = 224
# EF_AMDGPU_MACH of LLVM's AMDGPUUsage.
MACH = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F, "gfx1100": 0x41, "gfx1201": 0x4E}


@pytest.fixture
def toolchain():
    try:
        return hsaco.find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(missing.message)


@pytest.fixture
def asm(kernel_ir):
    return codegen.compile_ir(kernel_ir(lds=256), "gfx942", kernel="k").asm


@pytest.fixture
def no_toolchain(monkeypatch, tmp_path):
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    monkeypatch.delenv("HIP_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(hsaco, "_SYSTEM_ROCM", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ziglang", None)


@pytest.mark.usefixtures("toolchain")
def test_elf_of_every_arch(kernel_ir, arch):
    text = codegen.compile_ir(kernel_ir(lds=256), arch, kernel="k").asm
    elf = hsaco.assemble(text, arch)
    assert elf[:4] == b"\x7fELF"
    kind, machine = struct.unpack_from("<HH", elf, 16)
    (flags,) = struct.unpack_from("<I", elf, 48)
    assert (kind, machine) == (3, EM_AMDGPU)  # ET_DYN
    assert elf[7:9] == bytes([64, 3])  # ELFOSABI_AMDGPU_HSA, code object V5
    assert flags & 0xFF == MACH[arch]
    assert b"k.kd" in elf


@pytest.mark.usefixtures("toolchain")
def test_second_time_from_the_cache(asm, monkeypatch):
    first = hsaco.assemble(asm, "gfx942")
    monkeypatch.setattr(hsaco, "_run", lambda command: pytest.fail(f"ran {command}"))
    assert hsaco.assemble(asm, "gfx942:sramecc+:xnack-") == first


@pytest.mark.usefixtures("toolchain")
def test_a_torn_cache_file_is_made_again(asm):
    first = hsaco.assemble(asm, "gfx942")
    (file,) = (f for f in (config.cache_dir / "hsaco").rglob("*") if f.is_file())
    file.write_bytes(file.read_bytes()[:100])
    assert hsaco.assemble(asm, "gfx942") == first


@pytest.mark.usefixtures("toolchain")
def test_the_assemblers_first_error_and_its_line():
    text = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nv_frobnicate v1\nv_foo v2\n'
    with pytest.raises(CompilationError, match=r"line 2 of the assembly: invalid instruction\.$"):
        hsaco.assemble(text, "gfx942")


@pytest.mark.usefixtures("toolchain")
def test_text_of_another_arch_is_refused(asm):
    with pytest.raises(CompilationError, match=r"line 1 of the assembly: .*target"):
        hsaco.assemble(asm, "gfx90a")


def test_the_toolchain_says_what_it_is(toolchain):
    assert "clang version" in str(toolchain)
    assert f"from {toolchain.origin} ({toolchain.clang[0]})" in str(toolchain)


@pytest.mark.usefixtures("no_toolchain")
def test_no_toolchain():
    with pytest.raises(ToolchainMissing) as caught:
        hsaco.assemble("", "gfx942")
    assert caught.value.message == "no assembler for gfx942 was found."
    assert caught.value.fix == (
        "pip install 'pipedsl[hsaco]', or set ROCM_PATH to a ROCm installation."
    )


@pytest.mark.usefixtures("no_toolchain")
def test_a_toolchain_that_cannot_is_named(fake_rocm):
    fake_rocm('echo "clang: error: unknown target CPU" >&2; exit 1')
    with pytest.raises(ToolchainMissing) as caught:
        hsaco.assemble("", "gfx942")
    assert caught.value.message.startswith(
        "no assembler for gfx942 was found; these cannot make code for it: "
    )
    assert caught.value.message.endswith("/clang (clang: unknown target CPU).")


@pytest.mark.usefixtures("no_toolchain")
def test_rocm_comes_first_and_a_new_version_misses_the_cache(fake_rocm):
    fake_rocm('while [ "$1" != -o ]; do shift; done; echo one > "$2"')
    assert hsaco.find_toolchain().origin == "ROCm"
    assert hsaco.assemble("text", "gfx942") == b"one\n"
    fake_rocm('while [ "$1" != -o ]; do shift; done; echo second > "$2"')
    assert hsaco.assemble("text", "gfx942") == b"second\n"


@pytest.mark.usefixtures("no_toolchain")
def test_an_assembler_that_hangs(fake_rocm):
    fake_rocm("exec /bin/sleep 600")
    with config.scope(compile_timeout=0.2), pytest.raises(CompilationError) as caught:
        hsaco.Toolchain("ROCm", (str(fake_rocm.clang),), ()).build("", "gfx942")
    assert caught.value.message == "clang took more than 0.2 s."
    assert caught.value.fix == "raise config.compile_timeout."


@pytest.mark.usefixtures("no_toolchain")
def test_an_unknown_arch_is_refused_before_anything_runs():
    with pytest.raises(TargetError, match="'gfx803' is not a supported arch"):
        hsaco.assemble("", "gfx803")


@pytest.fixture
def fake_rocm(tmp_path):
    """Write shell scripts in place of ROCm's clang and ld.lld."""
    folder = tmp_path / "llvm" / "bin"
    folder.mkdir(parents=True)

    def write(body):
        for name in ("clang", "ld.lld"):
            (folder / name).write_text(f"#!/bin/sh\n{body}\n")
            (folder / name).chmod(0o755)

    write.clang = folder / "clang"
    return write
