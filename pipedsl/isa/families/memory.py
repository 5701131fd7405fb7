"""Loads and stores: scalar, global, LDS."""

from __future__ import annotations

from pipedsl.isa.opcode import TABLE, Unit

_LOADS = {
    "ubyte load_u8": "u8", "sbyte load_i8": "i8", "ushort load_u16": "u16", "sshort load_i16": "i16",
    "dword load_b32": "b32", "dwordx2 load_b64": "b64", "dwordx3 load_b96": "b96", "dwordx4 load_b128": "b128",
}  # fmt: skip
_STORES = {
    "byte store_b8": "u8", "short store_b16": "u16", "dword store_b32": "b32",
    "dwordx2 store_b64": "b64", "dwordx3 store_b96": "b96", "dwordx4 store_b128": "b128",
}  # fmt: skip


def _kind(form: str) -> str:
    """Signature type of a form's register operand."""
    return form if form[0] == "b" else "b32"


for _names, _form in _LOADS.items():
    _old, _new = _names.split()
    TABLE.add(
        f"global_load_{_old} global_{_new}", f"{_kind(_form)} = v:any, s:any", None,
        unit=Unit.GLOBAL, style="memory", space="global", kind="load", form=_form,
    )  # fmt: skip
for _names, _form in _STORES.items():
    _old, _new = _names.split()
    TABLE.add(
        f"global_store_{_old} global_{_new}", f"= v:any, {_kind(_form)}, s:any", None,
        unit=Unit.GLOBAL, style="memory", space="global", kind="store", form=_form,
    )  # fmt: skip

for _names, _form in {
    "ds_read_b32 ds_load_b32": "b32", "ds_read_b64 ds_load_b64": "b64",
    "ds_read_b96 ds_load_b96": "b96", "ds_read_b128 ds_load_b128": "b128",
    "ds_read_u8 ds_load_u8": "u8", "ds_read_i8 ds_load_i8": "i8",
    "ds_read_u16 ds_load_u16": "u16", "ds_read_i16 ds_load_i16": "i16",
}.items():  # fmt: skip
    TABLE.add(
        _names, f"{_kind(_form)} = b32", None,
        unit=Unit.DS, style="memory", space="lds", kind="load", form=_form,
    )  # fmt: skip
for _names, _form in {
    "ds_write_b32 ds_store_b32": "b32", "ds_write_b64 ds_store_b64": "b64",
    "ds_write_b96 ds_store_b96": "b96", "ds_write_b128 ds_store_b128": "b128",
    "ds_write_b8 ds_store_b8": "u8", "ds_write_b16 ds_store_b16": "u16",
}.items():  # fmt: skip
    TABLE.add(
        _names, f"= b32, {_kind(_form)}", None,
        unit=Unit.DS, style="memory", space="lds", kind="store", form=_form,
    )  # fmt: skip

for _dwords, _old, _new in (
    (1, "dword", "b32"), (2, "dwordx2", "b64"), (3, "dwordx3", "b96"), (4, "dwordx4", "b128"),
    (8, "dwordx8", "b256"), (16, "dwordx16", "b512"),
):  # fmt: skip
    TABLE.add(
        f"s_load_{_old} s_load_{_new}", f"s:b{32 * _dwords} = s:b64, s:b32", None,
        unit=Unit.SMEM, style="memory", space="scalar", kind="load", form=f"b{32 * _dwords}",
    )  # fmt: skip

for _bits in (32, 64):
    for _stride, _alias in (("", "2addr"), ("st64", "2addr_stride64")):
        TABLE.add(
            f"ds_read2{_stride}_b{_bits} ds_load_{_alias}_b{_bits}", f"b{2 * _bits} = b32", None,
            unit=Unit.DS, style="memory", space="lds", kind="load2", form=f"b{_bits}",
        )  # fmt: skip
        TABLE.add(
            f"ds_write2{_stride}_b{_bits} ds_store_{_alias}_b{_bits}",
            f"= b32, b{_bits}, b{_bits}", None,
            unit=Unit.DS, style="memory", space="lds", kind="store2", form=f"b{_bits}",
        )  # fmt: skip

_LDS_ATOMICS = {
    "add_u": "add", "sub_u": "sub", "rsub_u": "rsub", "inc_u": "inc", "dec_u": "dec",
    "min_i": "smin", "max_i": "smax", "min_u": "umin", "max_u": "umax", "and_b": "and",
    "or_b": "or", "xor_b": "xor",
}  # fmt: skip
for _bits in (32, 64):
    for _name, _op in _LDS_ATOMICS.items():
        TABLE.add(
            f"ds_{_name}{_bits}", f"= b32, b{_bits}", None,
            unit=Unit.DS, style="memory", space="lds", kind="atomic", op=_op, bits=_bits, returns=False,
        )  # fmt: skip
        _head, _, _type = _name.rpartition("_")
        TABLE.add(
            f"ds_{_head}_rtn_{_type}{_bits}", f"b{_bits} = b32, b{_bits}", None,
            unit=Unit.DS, style="memory", space="lds", kind="atomic", op=_op, bits=_bits, returns=True,
        )  # fmt: skip
