"""SMEM: loads of scalar registers, and gfx9's scalar stores and atomics."""

from __future__ import annotations

from typing import Any

from pipedsl.isa.families.memory_forms import INTEGER_ATOMICS
from pipedsl.isa.opcode import ALL, GFX9, GFX12, TABLE, Fidelity, Unit


def _row(names: str, signature: str, **traits: Any) -> None:
    """A row; operands are data, base (a pointer, or a buffer resource), offset."""
    TABLE.add(names, signature, None, unit=Unit.SMEM, style="memory", **traits)


_WIDTHS = {
    "dword b32": ("b32", ALL), "dwordx2 b64": ("b64", ALL), "dwordx4 b128": ("b128", ALL),
    "dwordx8 b256": ("b256", ALL), "dwordx16 b512": ("b512", ALL), "b96": ("b96", GFX12),
    "u8": ("u8", GFX12), "i8": ("i8", GFX12), "u16": ("u16", GFX12), "i16": ("i16", GFX12),
}  # fmt: skip
# Where the base is: a pointer, or a buffer resource.
_BASES = (("s", "b64", "scalar"), ("s_buffer", "b128", "scalar_buffer"))
for _prefix, _base, _space in _BASES:
    for _words, (_form, _archs) in _WIDTHS.items():
        _names = " ".join(f"{_prefix}_load_{word}" for word in _words.split())
        _data = _form if _form[0] == "b" else "b32"
        _row(
            _names, f"s:{_data} = s:{_base}, s:b32", space=_space, kind="load", form=_form,
            archs=_archs,
        )  # fmt: skip
    for _word, _form in (("dword", "b32"), ("dwordx2", "b64"), ("dwordx4", "b128")):
        _row(
            f"{_prefix}_store_{_word}", f"= s:{_form}, s:{_base}, s:b32", space=_space, kind="store",
            form=_form, archs=GFX9,
        )  # fmt: skip
    for _atomic in INTEGER_ATOMICS:
        _name = f"{_prefix}_atomic_{_atomic.names.split()[0]}"
        _traits = {
            "space": _space, "kind": "atomic", "op": _atomic.op, "bits": _atomic.bits,
            "archs": GFX9,
        }  # fmt: skip
        _row(_name, f"= s:{_atomic.data}, s:{_base}, s:b32", returns=False, **_traits)
        # The old value replaces the operand.
        _row(_name, f"+s:{_atomic.data} = s:{_base}, s:b32", returns=True, variant="rtn", **_traits)

for _word in ("dword", "dwordx2", "dwordx4"):
    for _direction in ("load", "store"):
        _row(
            f"s_scratch_{_direction}_{_word}", "= text", space="scalar", kind="scratch", archs=GFX9,
            fidelity=Fidelity.UNSUPPORTED, reason="private memory has no scalar address here",
        )  # fmt: skip
_row(
    "s_dcache_discard s_dcache_discard_x2", "= text", space="scalar", kind="discard", archs=GFX9,
    fidelity=Fidelity.UNSUPPORTED, reason="what memory holds afterwards is undefined",
)  # fmt: skip
