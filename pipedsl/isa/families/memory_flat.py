"""FLAT encoding: GLOBAL, FLAT and SCRATCH loads, stores and atomics, and GLOBAL to LDS."""

from __future__ import annotations

from typing import Any

from pipedsl.isa.families.memory_forms import (
    CLAMPED_ATOMICS,
    FLOAT_ATOMICS,
    GFX94,
    INTEGER_ATOMICS,
    LOADS,
    STORES,
    Atomic,
    loaded,
    stored,
)
from pipedsl.isa.opcode import ALL, GFX12, RDNA, TABLE, Fidelity, Unit

_UNITS = {"global": Unit.GLOBAL, "flat": Unit.FLAT, "scratch": Unit.SCRATCH}


def _row(names: str, signature: str, space: str, **traits: Any) -> None:
    TABLE.add(names, signature, None, unit=_UNITS[space], style="memory", space=space, **traits)


def _address(space: str) -> tuple[str, str]:
    """Signature of the address: before the data, and behind it.

    GLOBAL: a VGPR pair and ``off``, or a 32-bit VGPR and an SGPR pair. SCRATCH: a VGPR or ``off``,
    and an SGPR or ``off``. FLAT: a VGPR pair.
    """
    return ("v:b64", "") if space == "flat" else ("v:any", ", s:any")


for _space in _UNITS:
    _vector, _scalar = _address(_space)
    for _old, _new, _form in LOADS:
        _row(
            f"{_space}_load_{_old} {_space}_load_{_new}", f"{loaded(_form)} = {_vector}{_scalar}",
            _space, kind="load", form=_form,
        )  # fmt: skip
    for _old, _new, _form in STORES:
        _row(
            f"{_space}_store_{_old} {_space}_store_{_new}",
            f"= {_vector}, {stored(_form)}{_scalar}", _space, kind="store", form=_form,
        )  # fmt: skip


def _atomics(space: str, atomics: tuple[Atomic, ...]) -> None:
    vector, scalar = _address(space)
    for atomic in atomics:
        names = " ".join(f"{space}_atomic_{name}" for name in atomic.names.split())
        traits = {"kind": "atomic", "op": atomic.op, "bits": atomic.bits, "archs": atomic.archs}
        source = f"{vector}, {atomic.data}{scalar}"
        _row(names, f"= {source}", space, returns=False, **traits)
        _row(names, f"b{atomic.bits} = {source}", space, returns=True, variant="rtn", **traits)


_atomics("global", INTEGER_ATOMICS + FLOAT_ATOMICS + CLAMPED_ATOMICS)
_FLAT_FLOATS = {
    "add_f32": GFX94 + RDNA, "pk_add_f16": GFX94 + GFX12, "csub_u32 csub sub_clamp_u32": GFX12,
}  # fmt: skip
_atomics(
    "flat",
    INTEGER_ATOMICS
    + tuple(
        a._replace(archs=_FLAT_FLOATS.get(a.names, a.archs))
        for a in FLOAT_ATOMICS + CLAMPED_ATOMICS
    ),
)

# The lane's number times 4 is the vector part of the address.
_row(
    "global_load_addtid_b32", "b32 = s:any", "global", kind="load_addtid", form="b32", archs=RDNA
)  # fmt: skip
_row(
    "global_store_addtid_b32", "= b32, s:any", "global", kind="store_addtid", form="b32", archs=RDNA
)  # fmt: skip

# Each lane's data go to LDS at M0 + offset + lane * stride (CDNA3 and CDNA4 ISA 9.1.9).
LDS_FORMS = (
    ("ubyte", "u8", 4, ALL), ("sbyte", "i8", 4, ALL), ("ushort", "u16", 4, ALL),
    ("sshort", "i16", 4, ALL), ("dword", "b32", 4, ALL), ("dwordx3", "b96", 16, ("gfx950",)),
    ("dwordx4", "b128", 16, ("gfx950",)),
)  # fmt: skip
for _space in ("global", "scratch"):
    for _old, _form, _stride, _archs in LDS_FORMS:
        _targets = tuple(arch for arch in GFX94 if arch in _archs)
        if _space == "global" or _stride == 4:
            _row(
                f"{_space}_load_lds_{_old}", "= v:any, s:any, m0", _space, kind="load_lds",
                form=_form, stride=_stride, archs=_targets,
            )  # fmt: skip

for _names, _reason in (
    ("global_load_tr_b128 global_load_tr_b64", "its transposition is not public"),
    ("global_load_block global_store_block scratch_load_block scratch_store_block",
     "blocks are for whole-register saves by a trap handler or a callee"),
    ("global_atomic_ordered_add_b64", "ordering among waves needs the dispatcher"),
):  # fmt: skip
    _row(
        _names, "= text", "global", kind="other", archs=GFX12, fidelity=Fidelity.UNSUPPORTED,
        reason=_reason,
    )  # fmt: skip
