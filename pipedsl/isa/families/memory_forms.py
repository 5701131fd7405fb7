"""What the memory families share: data forms and atomic operations, with their spellings."""

from __future__ import annotations

from typing import NamedTuple

from pipedsl.isa.opcode import ALL, GFX9, GFX11, GFX12, RDNA


class Form(NamedTuple):
    """How a value lies in memory and in registers.

    ``b32`` to ``b512`` are whole dwords. ``u8 i8 u16 i16`` are extended to a dword by loads. A
    trailing ``l`` or ``h`` (D16) is the low or high half of the register; the other half is kept.
    """

    old: str  # gfx9's word in the mnemonic
    new: str  # gfx11's and gfx12's
    form: str


LOADS = (
    Form("ubyte", "u8", "u8"), Form("sbyte", "i8", "i8"),
    Form("ushort", "u16", "u16"), Form("sshort", "i16", "i16"),
    Form("dword", "b32", "b32"), Form("dwordx2", "b64", "b64"),
    Form("dwordx3", "b96", "b96"), Form("dwordx4", "b128", "b128"),
    Form("ubyte_d16", "d16_u8", "u8l"), Form("ubyte_d16_hi", "d16_hi_u8", "u8h"),
    Form("sbyte_d16", "d16_i8", "i8l"), Form("sbyte_d16_hi", "d16_hi_i8", "i8h"),
    Form("short_d16", "d16_b16", "u16l"), Form("short_d16_hi", "d16_hi_b16", "u16h"),
)  # fmt: skip
STORES = (
    Form("byte", "b8", "u8"), Form("byte_d16_hi", "d16_hi_b8", "u8h"),
    Form("short", "b16", "u16"), Form("short_d16_hi", "d16_hi_b16", "u16h"),
    Form("dword", "b32", "b32"), Form("dwordx2", "b64", "b64"),
    Form("dwordx3", "b96", "b96"), Form("dwordx4", "b128", "b128"),
)  # fmt: skip


def loaded(form: str) -> str:
    """Signature of the register(s) that a load of `form` writes; D16 forms update theirs."""
    if form[0] == "b":
        return form
    return "+b32" if form[-1] in "lh" else "b32"


def stored(form: str) -> str:
    """Signature of the register(s) that a store of `form` reads."""
    return form if form[0] == "b" else "b32"


class Atomic(NamedTuple):
    """An atomic operation on memory.

    Attributes
    ----------
    names : str
        Words in the mnemonic: gfx9's first, then gfx11's and gfx12's.
    op : str
        The operation; `cmpswap` and `fcmpswap` take a pair of operands: new value, comparand.
    bits : int
        Bits in memory.
    archs : tuple of str
        Targets on which GLOBAL has it.
    """

    names: str
    op: str
    bits: int
    archs: tuple[str, ...] = ALL

    @property
    def data(self) -> str:
        """Signature of the operand(s)."""
        return f"b{self.bits * (2 if self.op in ('cmpswap', 'fcmpswap') else 1)}"


_INTEGER = (
    ("swap", "swap_b", "swap"), ("cmpswap", "cmpswap_b", "cmpswap"), ("add", "add_u", "add"),
    ("sub", "sub_u", "sub"), ("smin", "min_i", "smin"), ("umin", "min_u", "umin"),
    ("smax", "max_i", "smax"), ("umax", "max_u", "umax"), ("and", "and_b", "and"),
    ("or", "or_b", "or"), ("xor", "xor_b", "xor"), ("inc", "inc_u", "inc"), ("dec", "dec_u", "dec"),
)  # fmt: skip
GFX94 = ("gfx942", "gfx950")
INTEGER_ATOMICS = tuple(
    Atomic(f"{old}{'_x2' if bits == 64 else ''} {new}{bits}", op, bits)
    for bits in (32, 64)
    for old, new, op in _INTEGER
)
FLOAT_ATOMICS = (
    Atomic("add_f32", "fadd", 32),
    Atomic("pk_add_f16", "pk_add_f16", 32, GFX9 + GFX12),
    Atomic("pk_add_bf16", "pk_add_bf16", 32, GFX94 + GFX12),
    Atomic("add_f64", "fadd", 64, GFX9),
    Atomic("min_f64", "fmin", 64, GFX9),
    Atomic("max_f64", "fmax", 64, GFX9),
    Atomic("min_f32 fmin min_num_f32", "fmin", 32, RDNA),
    Atomic("max_f32 fmax max_num_f32", "fmax", 32, RDNA),
    Atomic("cmpswap_f32 fcmpswap", "fcmpswap", 32, GFX11),
)
CLAMPED_ATOMICS = (
    Atomic("csub_u32 csub sub_clamp_u32", "sub_clamp", 32, RDNA),
    Atomic("cond_sub_u32", "cond_sub", 32, GFX12),
)
