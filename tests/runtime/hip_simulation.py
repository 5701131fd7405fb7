"""Runs the launches of the test HIP library on the simulator; imported by test subprocesses.

A launch is believed only as far as HIP would know it: the bytes of the loaded code object, the
kernel's name, extents and the kernarg buffer. The simulator gets the assembly whose hsaco has
these bytes, and kernarg offsets are checked against the metadata note of the code object.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any

import numpy as np

import pipedsl.runtime.hip
from pipedsl.codegen.hsaco import assemble
from pipedsl.sim import Memory, load_assembly

_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32),
    ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p,
    ctypes.c_size_t,
)  # fmt: skip

library = ctypes.CDLL("libamdhip64.so")
library.pipedsl_test_allocation_bytes.restype = ctypes.c_size_t
library.pipedsl_test_allocation_bytes.argtypes = [ctypes.c_void_p]

_texts: dict[bytes, str] = {}
launches: list[dict[str, Any]] = []


def know(asm: str, arch: str) -> None:
    """Let launches of the hsaco of `asm` run."""
    _texts[assemble(asm, arch)] = asm


def know_all() -> None:
    """Let launches of everything run that pipedsl assembles from now on."""
    make = pipedsl.runtime.hip.assemble

    def assemble_and_know(asm: str, arch: str) -> bytes:
        code = make(asm, arch)
        _texts[code] = asm
        return code

    pipedsl.runtime.hip.assemble = assemble_and_know


def install() -> None:
    """Run every launch of the HIP library on the simulator from now on."""
    library.pipedsl_test_set_launch_callback(_callback)


def note_metadata(code: bytes) -> Any:
    """The ``NT_AMDGPU_METADATA`` note (type 32, owner ``AMDGPU``) of a code object."""
    start = struct.unpack_from("<Q", code, 32)[0]
    entry, count = struct.unpack_from("<HH", code, 54)
    for index in range(count):
        kind, _, offset = struct.unpack_from("<IIQ", code, start + index * entry)
        if kind == 4:
            owner_size, _, note = struct.unpack_from("<III", code, offset)
            assert (code[offset + 12 : offset + 12 + owner_size], note) == (b"AMDGPU\0", 32)
            data = offset + 12 + (owner_size + 3) // 4 * 4
            return _unpack(code, data)[0]
    raise AssertionError("the code object has no note")


def _unpack(data: bytes, at: int) -> tuple[Any, int]:
    """One MessagePack value and the offset after it."""
    tag, at = data[at], at + 1
    if tag < 0x80:
        return tag, at
    if tag < 0xA0:
        return (_map if tag < 0x90 else _list)(data, at, tag & 15)
    if tag < 0xC0:
        return data[at : at + (tag & 31)].decode(), at + (tag & 31)
    if tag in (0xC2, 0xC3):
        return tag == 0xC3, at
    width = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD9: 1, 0xDA: 2, 0xDC: 2, 0xDE: 2}[tag]
    number, at = int.from_bytes(data[at : at + width], "big"), at + width
    if tag in (0xD9, 0xDA):
        return data[at : at + number].decode(), at + number
    if tag in (0xDC, 0xDE):
        return (_list if tag == 0xDC else _map)(data, at, number)
    return number, at


def _list(data: bytes, at: int, count: int) -> tuple[Any, int]:
    items = []
    for _ in range(count):
        item, at = _unpack(data, at)
        items.append(item)
    return items, at


def _map(data: bytes, at: int, count: int) -> tuple[Any, int]:
    flat, at = _list(data, at, 2 * count)
    return dict(zip(flat[::2], flat[1::2], strict=True)), at


def _code_object(address: int) -> bytes:
    header = ctypes.string_at(address, 64)
    sections, size, count = struct.unpack_from("<Q10xHH", header, 40)
    return ctypes.string_at(address, sections + size * count)


def _launch(
    image: int, name: bytes, grid: Any, block: Any, lds: int, stream: int | None,
    kernarg_address: int, kernarg_bytes: int,
) -> int:  # fmt: skip
    try:
        code = _code_object(image)
        entry = next(
            kernel
            for kernel in note_metadata(code)["amdhsa.kernels"]
            if kernel[".name"] == name.decode()
        )
        assert kernarg_bytes == entry[".kernarg_segment_size"]
        segment = bytearray(ctypes.string_at(kernarg_address, kernarg_bytes))
        memory = Memory()
        for arg in entry[".args"]:
            if arg[".value_kind"] == "global_buffer":
                place = slice(arg[".offset"], arg[".offset"] + arg[".size"])
                pointer = int.from_bytes(segment[place], "little")
                segment[place] = memory.map(_host_array(pointer), arg[".name"]).to_bytes(
                    8, "little"
                )
        launches.append(
            {
                "name": name.decode(),
                "grid": tuple(grid[:3]),
                "block": tuple(block[:3]),
                "lds_bytes": lds,
                "stream": stream or 0,
            }
        )
        assert code in _texts, "a code object that know() was not told about"
        kernel = load_assembly(_texts[code]).kernels[name.decode()]
        kernel.run(memory, tuple(grid[:3]), tuple(block[:3]), bytes(segment), lds_bytes=lds)
    except BaseException as error:  # a ctypes callback cannot raise
        print(f"launch failed: {type(error).__name__}: {error}", file=sys.stderr)
        return 999
    return 0


def _host_array(pointer: int) -> np.ndarray:
    size = library.pipedsl_test_allocation_bytes(pointer)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(pointer))


_callback = _CALLBACK(_launch)
