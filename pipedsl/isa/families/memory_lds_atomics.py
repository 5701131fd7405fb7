"""DS: atomic operations on LDS, with and without the old value."""

from __future__ import annotations

from pipedsl.isa.families.memory_forms import GFX94
from pipedsl.isa.opcode import ALL, GFX9, GFX11, GFX12, RDNA, TABLE, Unit


def _rows(names: str, op: str, bits: int, operands: int, archs: tuple[str, ...]) -> None:
    """``ds_<head>_<type>`` and ``ds_<head>_rtn_<type>`` for names such as ``add_u32``."""
    data = ", ".join([f"b{bits}"] * operands)
    silent, returning = [], []
    for name in names.split():
        head, _, kind = name.rpartition("_")
        silent.append(f"ds_{name}")
        returning.append(f"ds_{head}_rtn_{kind}")
    for words, dst, returns in ((silent, "", False), (returning, f"b{bits}", True)):
        if returns or op not in _RETURNING:
            TABLE.add(
                " ".join(words), f"{dst} = b32, {data}", None, unit=Unit.DS, style="memory",
                archs=archs, space="lds", kind="atomic", op=op, bits=bits, returns=returns,
            )  # fmt: skip


# Without a result these would be plain stores, or do not exist.
_RETURNING = ("swap", "wrap", "condxchg")
_INTEGER = {
    "add_u": "add", "sub_u": "sub", "rsub_u": "rsub", "inc_u": "inc", "dec_u": "dec",
    "min_i": "smin", "max_i": "smax", "min_u": "umin", "max_u": "umax", "and_b": "and",
    "or_b": "or", "xor_b": "xor",
}  # fmt: skip
for _bits in (32, 64):
    for _name, _op in _INTEGER.items():
        _rows(f"{_name}{_bits}", _op, _bits, 1, ALL)
    _rows(f"mskor_b{_bits}", "mskor", _bits, 2, ALL)
    _rows(f"wrxchg_b{_bits} storexchg_b{_bits}", "swap", _bits, 1, ALL)
    # gfx9: comparand, then new value. gfx11 swapped them.
    _rows(f"cmpst_b{_bits}", "cmpst", _bits, 2, GFX9)
    _rows(f"cmpst_f{_bits}", "fcmpst", _bits, 2, GFX9)
    _rows(f"cmpstore_b{_bits}", "cmpstore", _bits, 2, RDNA)
    _rows(f"cmpstore_f{_bits}", "fcmpstore", _bits, 2, GFX11)
    for _word in ("min", "max"):
        _rows(f"{_word}_f{_bits} {_word}_num_f{_bits}", f"f{_word}", _bits, 1, ALL)

_rows("add_f32", "fadd", 32, 1, ALL)
_rows("add_f64", "fadd", 64, 1, GFX9)
_rows("pk_add_f16", "pk_add_f16", 32, 1, GFX94 + GFX12)
_rows("pk_add_bf16", "pk_add_bf16", 32, 1, GFX94 + GFX12)
_rows("sub_clamp_u32", "sub_clamp", 32, 1, GFX12)
_rows("cond_sub_u32", "cond_sub", 32, 1, GFX12)
_rows("wrap_b32", "wrap", 32, 2, GFX9 + GFX11)
_rows("condxchg32_b64", "condxchg", 64, 1, ALL)
