"""The kernarg segment: explicit arguments and the hidden ones that a launcher supplies."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from pipedsl.core.errors import LaunchError
from pipedsl.core.image import KernelImage
from pipedsl.isa.kernarg import hidden_value
from pipedsl.isa.metadata import ArgMetadata, KernelMetadata
from pipedsl.runtime.device import Dim3


class KernargLayout:
    """Packs one kernel's arguments at the offsets that its metadata states.

    Parameters
    ----------
    metadata : KernelMetadata
    image : KernelImage
        Its parameters say how each explicit argument is encoded.

    Raises
    ------
    LaunchError
        If the parameters and the metadata disagree.
    """

    def __init__(self, metadata: KernelMetadata, image: KernelImage) -> None:
        explicit = [arg for arg in metadata.args if not arg.hidden]
        kinds = [
            (f"{parameter.name}.{part}", part, parameter.dtype)
            for parameter in image.parameters
            for part in parameter.parts
        ]
        if len(kinds) != len(explicit):
            raise LaunchError(
                f"kernel {metadata.name!r} has {len(explicit)} arguments in its code but "
                f"{len(kinds)} in its signature."
            )
        codes = [
            _code(name, part, dtype, arg)
            for (name, part, dtype), arg in zip(kinds, explicit, strict=True)
        ]
        self.size = metadata.kernarg_size
        self._explicit = _struct(zip(explicit, codes, strict=True), self.size)
        self._hidden = [
            (arg.offset, arg.size, arg.value_kind) for arg in metadata.args if arg.hidden
        ]

    def pack_into(
        self, buffer: Any, values: Sequence[Any], grid: Dim3, block: Dim3, lds_bytes: int
    ) -> None:
        """Fill `buffer` (`size` bytes) for one launch."""
        try:
            self._explicit.pack_into(buffer, 0, *values)
        except struct.error as error:
            raise LaunchError(f"an argument does not fit its kernel parameter: {error}.") from None
        for offset, size, kind in self._hidden:
            value = hidden_value(kind, grid, block, lds_bytes)
            buffer[offset : offset + size] = value.to_bytes(size, "little")


def _struct(fields: Iterable[tuple[ArgMetadata, str]], size: int) -> struct.Struct:
    layout, position = ["<"], 0
    for arg, code in fields:
        layout.append(f"{arg.offset - position}x{code}")
        position = arg.offset + arg.size
    return struct.Struct("".join([*layout, f"{size - position}x"]))


_SCALARS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
    "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


def _code(name: str, part: str, dtype: str, arg: ArgMetadata) -> str:
    if part == "pointer":
        code = "Q"
    elif part == "value":
        code = _SCALARS[dtype]
    else:
        code = "i" if arg.size == 4 else "q"
    if struct.calcsize(f"<{code}") != arg.size:
        raise LaunchError(
            f"argument {name!r} has {arg.size} bytes in the code but "
            f"{struct.calcsize(f'<{code}')} in the kernel's signature."
        )
    return code
