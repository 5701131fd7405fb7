"""MUBUF: loads, stores and atomics through a buffer resource, and loads to LDS."""

from __future__ import annotations

from typing import Any

from pipedsl.isa.families.memory_flat import LDS_FORMS
from pipedsl.isa.families.memory_forms import (
    CLAMPED_ATOMICS,
    FLOAT_ATOMICS,
    INTEGER_ATOMICS,
    LOADS,
    STORES,
    loaded,
    stored,
)
from pipedsl.isa.opcode import ALL, GFX9, GFX12, RDNA, TABLE, Fidelity, Unit

# Index and/or offset VGPRs (or ``off``), resource, scalar offset.
_ADDRESS = "v:any, s:b128, s:b32"


def _row(names: str, signature: str, **traits: Any) -> None:
    TABLE.add(names, signature, None, unit=Unit.BUFFER, style="memory", space="buffer", **traits)


for _old, _new, _form in LOADS:
    _row(
        f"buffer_load_{_old} buffer_load_{_new}", f"{loaded(_form)} = {_ADDRESS}",
        kind="load", form=_form,
    )  # fmt: skip
for _old, _new, _form in STORES:
    _row(
        f"buffer_store_{_old} buffer_store_{_new}", f"= {stored(_form)}, {_ADDRESS}",
        kind="store", form=_form,
    )  # fmt: skip

_TARGETS = {"pk_add_bf16": ("gfx950", *GFX12)}
for _atomic in INTEGER_ATOMICS + FLOAT_ATOMICS + CLAMPED_ATOMICS:
    _names = " ".join(f"buffer_atomic_{name}" for name in _atomic.names.split())
    _traits = {
        "kind": "atomic", "op": _atomic.op, "bits": _atomic.bits,
        "archs": _TARGETS.get(_atomic.names, _atomic.archs),
    }  # fmt: skip
    _row(_names, f"= {_atomic.data}, {_ADDRESS}", returns=False, **_traits)
    # The old value replaces the operand.
    _row(_names, f"+{_atomic.data} = {_ADDRESS}", returns=True, variant="rtn", **_traits)

for _old, _form, _stride, _archs in LDS_FORMS:
    _targets = tuple(arch for arch in GFX9 if arch in _archs)
    _row(
        f"buffer_load_{_old}", f"= {_ADDRESS}, m0", kind="load_lds", form=_form, stride=_stride,
        archs=_targets, variant="lds",
    )  # fmt: skip

for _components in ("x", "xy", "xyz", "xyzw"):
    for _direction in ("load", "store"):
        for _names, _archs in (
            (f"buffer_{_direction}_format_{_components}", ALL),
            (f"buffer_{_direction}_format_d16_{_components}", GFX9),
            (f"buffer_{_direction}_d16_format_{_components}", RDNA),
            (f"tbuffer_{_direction}_format_{_components}", ALL),
        ):
            _row(
                _names, "= text", kind="format", archs=_archs, fidelity=Fidelity.UNSUPPORTED,
                reason="conversion between texel formats is graphics work",
            )  # fmt: skip
