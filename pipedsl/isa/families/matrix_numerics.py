"""How each generation rounds matrix products: fidelity of the rows, and the rules of exact mode.

The rules are those of MMA-Sim (Xie et al., arXiv:2511.10909), which its authors found to agree with
the hardware bit by bit.
"""

from __future__ import annotations

from typing import Any

from pipedsl.isa.opcode import Fidelity

# Per target and input type: the rule, and the number of products that it adds at once.
_RULES: dict[str, dict[str, tuple[str, int]]] = {
    "gfx90a": {"f16": ("flushed", 4), "bf16_1k": ("flushed", 4), "bf16": ("flushed", 2)},
    "gfx942": {
        "f16": ("fused", 8), "bf16_1k": ("fused", 8), "xf32": ("fused", 4),
        "fp8": ("interleaved", 16),
    },
    "gfx950": {
        "f16": ("fused", 8), "bf16_1k": ("fused", 8), "bf16": ("fused", 8),
        "fp8": ("interleaved", 16),
    },
}  # fmt: skip
_EXACT = ("f64", "f32", "i8", "iu8", "iu4")


def numerics(arch: str, kind: str) -> dict[str, Any]:
    """Fidelity, reason and the trait ``exact`` of a row with inputs of type `kind` on `arch`."""
    if kind in _EXACT:
        return {}
    rule = _RULES.get(arch, {}).get(kind)
    if rule is None:
        reason = "rounds like f32 FMA in the order of k; the hardware's rule is not published"
        return {"fidelity": Fidelity.APPROXIMATE, "reason": reason}
    reason = "rounds like f32 FMA in the order of k; bit-exact with PIPEDSL_MATRIX=exact"
    if arch == "gfx950":
        reason = "the rule of CDNA4 is not published: f32 FMA, or with PIPEDSL_MATRIX=exact CDNA3's"
    return {"fidelity": Fidelity.APPROXIMATE, "reason": reason, "exact": rule}
