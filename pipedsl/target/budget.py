"""The roles and rings that a kernel declares, and what they may take: checked before LLVM runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numba.core import types

from pipedsl.core.errors import ResourceError
from pipedsl.isa.budget import Budget
from pipedsl.target import gpu
from pipedsl.target.operations import Operation, TypeMismatch, Value, implements
from pipedsl.target.types import Constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation
    from pipedsl.target.lowering import Lowering


def _constant(what: str, kind: types.Type) -> int:
    if not isinstance(kind, Constant) or not isinstance(kind.value, int):
        raise TypeMismatch(
            f"the number of {what} is not a compile-time constant.",
            "use literals, globals or values that the kernel's factory closes over.",
        )
    return int(kind.value)


@implements(gpu.declare_roles)
def _declare_roles(
    compilation: Compilation, producers: types.Type, consumers: types.Type
) -> Operation:
    roles = _constant("producer waves", producers), _constant("consumer waves", consumers)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        low.roles = roles
        return ()

    return Operation(types.none, [producers, consumers], emit)


@implements(gpu.declare_stages)
def _declare_stages(compilation: Compilation, num_stages: types.Type) -> Operation:
    stages = _constant("stages", num_stages)

    def emit(low: Lowering, values: Sequence[Value]) -> Value:
        low.stages = max(low.stages, stages)
        return ()

    return Operation(types.none, [num_stages], emit)


def budget_of(low: Lowering, waves_per_eu: int | None) -> Budget | None:
    """The budget of a kernel that was lowered; None where it declares no roles."""
    if low.roles is None:
        return None
    return _budget(low, *low.roles, waves_per_eu)


def _budget(low: Lowering, producers: int, consumers: int, waves_per_eu: int | None) -> Budget:
    stages, arrays = low.stages, low.module.lds_arrays
    staged = sum(array.nbytes for array in arrays if stages and array.count % stages == 0)
    return Budget(
        arch=low.module.arch.name,
        producers=producers,
        consumers=consumers,
        accumulators=low.footprint.at_once(),
        stages=stages,
        stage_bytes=staged // stages if stages else 0,
        lds_bytes=low.module.lds_bytes,
        waves_per_eu=waves_per_eu,
    )


def check_lds(low: Lowering) -> None:
    """Compare a kernel's LDS with what a workgroup can have.

    Raises
    ------
    ResourceError
        At the array that takes most.
    """
    module, limit = low.module, low.module.arch.lds_bytes
    if module.lds_bytes <= limit:
        return
    largest = max(module.lds_arrays, key=lambda array: array.nbytes)
    budget = _budget(low, *(low.roles or (0, 0)), None)
    fitting = budget.stages_within(limit)
    fix = "use fewer stages, smaller tiles or a narrower dtype."
    if fitting:
        left = budget.lds_bytes - (budget.stages - fitting) * budget.stage_bytes
        fix = f"use num_stages={fitting}, which takes {left} bytes, or smaller tiles."
    elif budget.stages > 1:
        fix = f"use smaller tiles: one stage takes {budget.stage_bytes} bytes."
    raise ResourceError(
        f"the kernel takes {module.lds_bytes} bytes of LDS{_staged(budget)} and "
        f"{module.arch.name} has {limit} per workgroup; this array takes {largest.nbytes}.",
        fix=fix,
        where=largest.where,
    )


def _staged(budget: Budget) -> str:
    return f" in {budget.stages} stages" if budget.stages > 1 else ""


def check_registers(low: Lowering, budget: Budget) -> None:
    """Compare a kernel's accumulators with the registers that each of its waves can have.

    Raises
    ------
    ResourceError
        At the accumulators that take most.
    """
    needed, given = budget.accumulators, budget.vgprs
    if needed <= given:
        return
    largest = max(low.footprint.accumulators(), key=lambda array: array.vgprs)
    most = budget.waves_with(needed)
    fewer = f"use {most} waves or fewer, or give each consumer" if most else "give each consumer"
    if budget.waves <= most:
        fewer = f"use a waves_per_eu below {budget.waves_per_eu}, or give each consumer"
    raise ResourceError(
        f"the accumulators take {needed} VGPRs per lane, and {budget.arch} has {given} for each "
        f"of {budget.waves_per_simd} waves on a SIMD ({budget.waves} waves a workgroup).",
        fix=f"{fewer} a smaller tile.",
        where=largest.where,
    )
