"""Code objects (``.hsaco``, ``.co``) as assembly text, with the help of LLVM's own tools.

``llvm-objdump`` disassembles and ``llvm-readelf`` prints the metadata; the kernel descriptors are read
here (LLVM AMDGPUUsage, "Kernel Descriptor"). Constant data is not taken over.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pipedsl.core.errors import AssemblyError, ToolchainMissing

_ROCM = "/opt/rocm/llvm/bin"
_TARGET = re.compile(r"amdhsa\.target:\s+(\S+)")
_NAME = re.compile(r"^\s+\.symbol:\s+(\S+)\.kd", re.MULTILINE)
_SYMBOL = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
_LOCAL = re.compile(r"^L\d+$")
# Bits of the descriptor's words: name of the directive, first bit, width.
_RSRC1 = (
    ("float_round_mode_32", 12, 2), ("float_round_mode_16_64", 14, 2),
    ("float_denorm_mode_32", 16, 2), ("float_denorm_mode_16_64", 18, 2),
)  # fmt: skip
_RSRC1_UP_TO_GFX11 = (("dx10_clamp", 21, 1), ("ieee_mode", 23, 1))
_RSRC2 = (
    ("user_sgpr_count", 1, 5), ("system_sgpr_workgroup_id_x", 7, 1),
    ("system_sgpr_workgroup_id_y", 8, 1), ("system_sgpr_workgroup_id_z", 9, 1),
    ("system_vgpr_workitem_id", 11, 2),
)  # fmt: skip
_PROPERTIES = (
    ("user_sgpr_private_segment_buffer", 0, 1), ("user_sgpr_dispatch_ptr", 1, 1),
    ("user_sgpr_queue_ptr", 2, 1), ("user_sgpr_kernarg_segment_ptr", 3, 1),
    ("user_sgpr_dispatch_id", 4, 1), ("user_sgpr_flat_scratch_init", 5, 1),
    ("user_sgpr_private_segment_size", 6, 1),
)  # fmt: skip
_PRELOAD = (
    ("user_sgpr_kernarg_preload_length", 0, 7), ("user_sgpr_kernarg_preload_offset", 7, 9),
)  # fmt: skip


def disassemble(path: Path) -> str:
    """The assembly text of a code object.

    Raises
    ------
    ToolchainMissing
        If there is no llvm-objdump and llvm-readelf, or they do not know the target.
    AssemblyError
        If the file is no AMDGPU code object.
    """
    objdump, readelf = _tools()
    notes = _output([readelf, "--notes", str(path)])
    target = _TARGET.search(notes)
    start, end = notes.find("---"), notes.rfind("...")
    if target is None or start < 0:
        raise AssemblyError(f"{path.name} is no AMDGPU code object with metadata.")
    arch = target[1].rpartition("--")[2].partition(":")[0]
    options = ["-d", "--symbolize-operands", "--no-show-raw-insn", f"--mcpu={arch}"]
    listing = _output([objdump, *options, str(path)])
    if "<unknown>" in listing or "not a recognized processor" in listing:
        raise ToolchainMissing(
            f"{Path(objdump).name} does not know {arch}.", fix="put a newer one on PATH."
        )
    data = path.read_bytes()
    gfx12 = arch.startswith("gfx12")
    lines = [f'\t.amdgcn_target "{target[1]}"', "\t.text", *_code(listing)]
    for name in _NAME.findall(notes):
        lines += ["\t.section .rodata", f"\t.amdhsa_kernel {name}"]
        lines += [f"\t\t.amdhsa_{key} {value}" for key, value in _descriptor(data, name, gfx12)]
        lines.append("\t.end_amdhsa_kernel")
    lines += ["\t.amdgpu_metadata", *_metadata(notes[start:end]), "...", "\t.end_amdgpu_metadata"]
    return "\n".join(lines) + "\n"


def _tools() -> tuple[str, str]:
    """llvm-objdump and llvm-readelf of one LLVM, the newest found."""
    found = []
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), _ROCM):
        for path in Path(folder).glob("llvm-objdump*") if folder and Path(folder).is_dir() else ():
            suffix = path.name.removeprefix("llvm-objdump")
            readelf = path.with_name(f"llvm-readelf{suffix}")
            if re.fullmatch(r"(-\d+)?", suffix) and shutil.which(str(readelf)):
                version = int(suffix[1:] or 0)
                found.append((version or _version(path), str(path), str(readelf)))
    if not found:
        raise ToolchainMissing(
            "there is no llvm-objdump with its llvm-readelf on PATH.",
            fix="install LLVM's tools, or pass assembly text.",
        )
    return max(found)[1:]


def _version(path: Path) -> int:
    match = re.search(r"version (\d+)", _output([str(path), "--version"]))
    return int(match[1]) if match else 0


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode < 0:
        raise ToolchainMissing(
            f"{Path(command[0]).name} crashed: it may not know the target.",
            fix="put a newer one on PATH.",
        )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it failed"])[-1].rstrip(".")
        raise AssemblyError(f"{Path(command[0]).name}: {reason}.")
    return done.stdout


def _code(listing: str) -> Iterator[str]:
    """The instructions, with labels that are unique in the text."""
    function = ""
    for raw in listing.splitlines():
        symbol = _SYMBOL.match(raw)
        if symbol is not None:
            if not _LOCAL.match(symbol[1]):
                function = symbol[1]
                yield f"{function}:"
            else:
                yield f".L{function}_{symbol[1]}:"
        elif raw.startswith("\t"):
            text = raw.partition("//")[0].strip()
            mnemonic, _, rest = text.partition(" ")
            if _LOCAL.match(rest):
                text = f"{mnemonic} .L{function}_{rest}"
            if text:
                yield f"\t{text}"


def _descriptor(data: bytes, kernel: str, gfx12: bool) -> Iterator[tuple[str, int]]:
    raw = _symbol_bytes(data, f"{kernel}.kd", 64)
    group, private, kernarg = struct.unpack_from("<3I", raw, 0)
    rsrc3, rsrc1, rsrc2 = struct.unpack_from("<3I", raw, 44)
    properties, preload = struct.unpack_from("<2H", raw, 56)
    yield "group_segment_fixed_size", group
    yield "private_segment_fixed_size", private
    yield "kernarg_size", kernarg
    words = [(rsrc1, _RSRC1), (rsrc2, _RSRC2), (properties, _PROPERTIES), (preload, _PRELOAD)]
    if not gfx12:
        words.append((rsrc1, _RSRC1_UP_TO_GFX11))
    for word, fields in words:
        for name, first, width in fields:
            yield name, word >> first & (1 << width) - 1
    yield "accum_offset", 4 * ((rsrc3 & 63) + 1)


def _symbol_bytes(data: bytes, name: str, size: int) -> bytes:
    """`size` bytes at a dynamic symbol of a 64-bit little-endian ELF file."""
    try:
        offset, entry, count = (
            struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<2H", data, 58)
        )  # fmt: skip
        sections = [struct.unpack_from("<2I4Q2I2Q", data, offset + i * entry) for i in range(count)]
        for section in sections:
            if section[1] != 11:  # SHT_DYNSYM
                continue
            strings = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                text, _, _, _, value, _ = struct.unpack_from("<I2BH2Q", data, at)
                end = data.index(b"\0", strings + text)
                if data[strings + text : end].decode() == name:
                    home = next(s for s in sections if s[3] <= value < s[3] + s[5] and s[1] == 1)
                    start = home[4] + value - home[3]
                    return data[start : start + size]
    except (struct.error, IndexError, StopIteration, ValueError):
        raise AssemblyError("the code object is damaged.") from None
    raise AssemblyError(f"the code object has no symbol {name}.")


def _metadata(text: str) -> list[str]:
    """The YAML document without the indentation of its first line."""
    lines = text.splitlines()
    return ["---", *lines[1:]]
