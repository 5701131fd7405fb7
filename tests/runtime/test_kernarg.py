"""The kernarg segment, byte by byte."""

from __future__ import annotations

import struct

import pytest

from pipedsl.core.errors import LaunchError
from pipedsl.core.image import KernelImage, Parameter
from pipedsl.isa.metadata import ArgMetadata, KernelMetadata
from pipedsl.runtime.kernarg import KernargLayout

GRID, BLOCK = (5, 6, 7), (64, 2, 1)


def metadata(*args: ArgMetadata, size: int) -> KernelMetadata:
    return KernelMetadata("k", "gfx942", args, size, 0, 0, 64, 8, 0, 16, 0, 0, 1024)


def image(*parameters: Parameter) -> KernelImage:
    return KernelImage("k", "gfx942", "", parameters)


def scalar(name: str, dtype: str) -> Parameter:
    return Parameter(name, "scalar", dtype, 0, ("value",))


def pack(layout: KernargLayout, *values: object, lds_bytes: int = 0) -> bytes:
    buffer = bytearray(b"\xff" * layout.size)
    layout.pack_into(buffer, values, GRID, BLOCK, lds_bytes)
    return bytes(buffer)


def test_arguments_go_to_the_offsets_of_the_metadata_and_gaps_are_zero() -> None:
    layout = KernargLayout(
        metadata(
            ArgMetadata("flag", 0, 1, "by_value"),
            ArgMetadata("x", 8, 8, "global_buffer", "global"),
            ArgMetadata("x.shape.0", 16, 4, "by_value"),
            ArgMetadata("x.stride.0", 24, 8, "by_value"),
            ArgMetadata("half", 34, 2, "by_value"),
            size=40,
        ),
        image(
            scalar("flag", "bool"),
            Parameter("x", "array", "float32", 1, ("pointer", "shape.0", "stride.0")),
            scalar("half", "float16"),
        ),
    )
    data = pack(layout, True, 0x1122334455667788, 9, -4, 1.5)
    assert data == (
        b"\x01" + bytes(7)
        + bytes.fromhex("8877665544332211")
        + b"\x09\0\0\0" + bytes(4)
        + struct.pack("<q", -4)
        + bytes(2) + b"\x00\x3e" + bytes(4)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("int8", -1, b"\xff"),
        ("uint16", 65535, b"\xff\xff"),
        ("int32", -2, b"\xfe\xff\xff\xff"),
        ("uint64", 2**64 - 1, b"\xff" * 8),
        ("float32", 1.0, b"\x00\x00\x80\x3f"),
        ("float64", -2.0, b"\0\0\0\0\0\0\0\xc0"),
    ],
)
def test_scalars_are_encoded_as_their_dtype(dtype: str, value: object, expected: bytes) -> None:
    size = len(expected)
    layout = KernargLayout(
        metadata(ArgMetadata("v", 0, size, "by_value"), size=size), image(scalar("v", dtype))
    )
    assert pack(layout, value) == expected


def test_hidden_arguments_hold_the_geometry_of_the_launch() -> None:
    kinds = [
        ("hidden_block_count_x", 4, 5), ("hidden_block_count_y", 4, 6),
        ("hidden_block_count_z", 4, 7), ("hidden_group_size_x", 2, 64),
        ("hidden_group_size_y", 2, 2), ("hidden_group_size_z", 2, 1),
        ("hidden_remainder_x", 2, 0), ("hidden_remainder_y", 2, 0),
        ("hidden_global_offset_x", 8, 0), ("hidden_grid_dims", 2, 3),
        ("hidden_dynamic_lds_size", 4, 4096), ("hidden_printf_buffer", 8, 0),
    ]  # fmt: skip
    args, expected, offset = [], {}, 16
    for kind, size, value in kinds:
        offset = -(-offset // size) * size
        args.append(ArgMetadata(None, offset, size, kind))
        expected[kind] = value
        offset += size
    layout = KernargLayout(
        metadata(ArgMetadata("n", 0, 4, "by_value"), *args, size=96), image(scalar("n", "int32"))
    )
    data = pack(layout, 3, lds_bytes=4096)
    found = {
        arg.value_kind: int.from_bytes(data[arg.offset : arg.offset + arg.size], "little")
        for arg in args
    }
    assert found == expected


def test_a_signature_with_other_arguments_than_the_code_is_refused() -> None:
    code = metadata(ArgMetadata("n", 0, 4, "by_value"), size=4)
    with pytest.raises(LaunchError, match="kernel 'k' has 1 arguments in its code but 0 in its"):
        KernargLayout(code, image())
    with pytest.raises(LaunchError, match=r"argument 'n.value' has 4 bytes in the code but 8 in"):
        KernargLayout(code, image(scalar("n", "int64")))


def test_a_value_out_of_range_is_refused() -> None:
    layout = KernargLayout(
        metadata(ArgMetadata("n", 0, 4, "by_value"), size=4), image(scalar("n", "int32"))
    )
    with pytest.raises(LaunchError, match="an argument does not fit its kernel parameter"):
        pack(layout, 2**31)
