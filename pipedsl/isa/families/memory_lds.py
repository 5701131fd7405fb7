"""DS: loads and stores of LDS, and the permutations that go through its crossbar."""

from __future__ import annotations

from typing import Any

from pipedsl.isa.families.memory_forms import loaded, stored
from pipedsl.isa.opcode import ALL, GFX9, GFX11, GFX12, RDNA, TABLE, Fidelity, Unit


def _row(names: str, signature: str, **traits: Any) -> None:
    traits = {"space": "lds", **traits}
    TABLE.add(names, signature, None, unit=Unit.DS, style="memory", **traits)


for _words, _form in {
    "b32": "b32", "b64": "b64", "b96": "b96", "b128": "b128", "u8": "u8", "i8": "i8", "u16": "u16",
    "i16": "i16", "u8_d16": "u8l", "u8_d16_hi": "u8h", "i8_d16": "i8l", "i8_d16_hi": "i8h",
    "u16_d16": "u16l", "u16_d16_hi": "u16h",
}.items():  # fmt: skip
    _row(f"ds_read_{_words} ds_load_{_words}", f"{loaded(_form)} = b32", kind="load", form=_form)
for _words, _form in {
    "b32": "b32", "b64": "b64", "b96": "b96", "b128": "b128", "b8": "u8", "b16": "u16",
    "b8_d16_hi": "u8h", "b16_d16_hi": "u16h",
}.items():  # fmt: skip
    _row(
        f"ds_write_{_words} ds_store_{_words}", f"= b32, {stored(_form)}", kind="store", form=_form
    )

# Two addresses; offsets count elements, or with stride 64 elements times 64.
for _bits in (32, 64):
    for _old, _new, _stride in (("", "", 1), ("st64", "_stride64", 64)):
        _traits = {"form": f"b{_bits}", "stride": _bits // 8 * _stride}
        _row(
            f"ds_read2{_old}_b{_bits} ds_load_2addr{_new}_b{_bits}", f"b{2 * _bits} = b32",
            kind="load2", **_traits,
        )  # fmt: skip
        _row(
            f"ds_write2{_old}_b{_bits} ds_store_2addr{_new}_b{_bits}", f"= b32, b{_bits}, b{_bits}",
            kind="store2", **_traits,
        )  # fmt: skip
        _row(
            f"ds_wrxchg2{_old}_rtn_b{_bits} ds_storexchg_2addr{_new}_rtn_b{_bits}",
            f"b{2 * _bits} = b32, b{_bits}, b{_bits}", kind="swap2", **_traits,
        )  # fmt: skip

# M0 + offset + lane * 4 is the address.
_row(
    "ds_read_addtid_b32 ds_load_addtid_b32", "b32 = m0", kind="load_addtid", form="b32"
)  # fmt: skip
_row(
    "ds_write_addtid_b32 ds_store_addtid_b32", "= b32, m0", kind="store_addtid", form="b32"
)  # fmt: skip

# The number of active lanes is added to, or taken from, the dword at M0 + offset.
for _name, _op in (("ds_append", "add"), ("ds_consume", "sub")):
    _row(_name, "b32 = m0", kind="count", op=_op, archs=GFX9 + GFX11)
    _row(
        _name, "b32 =", kind="count", op=_op, archs=GFX12, fidelity=Fidelity.UNSUPPORTED,
        reason="compilers pass the address in M0, which gfx12's ISA document ignores",
    )  # fmt: skip

# Within each 16 lanes, rows of 16 elements are read across lanes and returned by column
# (CDNA4 ISA 11.4).
for _name, _form, _bits in (
    ("ds_read_b64_tr_b16", "b64", 16), ("ds_read_b64_tr_b8", "b64", 8),
    ("ds_read_b64_tr_b4", "b64", 4), ("ds_read_b96_tr_b6", "b96", 6),
):  # fmt: skip
    _row(
        _name, f"{_form} = b32", kind="load_transposed", form=_form, bits=_bits, archs=("gfx950",)
    )  # fmt: skip

# Lane to lane; no memory is touched.
_row("ds_permute_b32", "b32 = b32, b32", space="lanes", kind="scatter")
_row("ds_bpermute_b32", "b32 = b32, b32", space="lanes", kind="gather", inactive=False)
_row(
    "ds_bpermute_fi_b32", "b32 = b32, b32", space="lanes", kind="gather", inactive=True, archs=GFX12
)  # fmt: skip
_row("ds_swizzle_b32", "b32 = b32", space="lanes", kind="swizzle")
TABLE.add(
    "ds_nop", "", None, unit=Unit.INTERNAL, style="memory", archs=ALL, space="lanes", kind="nop"
)
for _name in ("ds_gws_init", "ds_gws_barrier", "ds_gws_sema_br"):
    _row(
        _name, "= text", kind="gws", archs=GFX9 + GFX11, fidelity=Fidelity.UNSUPPORTED,
        reason="global wave sync needs a driver",
    )  # fmt: skip
_row(
    "ds_bvh_stack_rtn_b32", "= text", kind="bvh", archs=RDNA, fidelity=Fidelity.UNSUPPORTED,
    reason="ray tracing",
)  # fmt: skip
