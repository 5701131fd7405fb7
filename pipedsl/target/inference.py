"""Numba's type inference with the rules of this target."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from numba.core import errors, ir, types
from numba.core.target_extension import GPU, target_registry
from numba.core.typeinfer import ConstraintNetwork, TypeInferer
from numba.core.typing.context import BaseContext

from pipedsl.target.operations import Operation, TypeMismatch
from pipedsl.target.promotion import unify
from pipedsl.target.types import constant

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation


class AMDGPU(GPU):
    """The target's place in Numba's hierarchy."""


target_registry["amdgpu"] = AMDGPU


class TypingContext(BaseContext):
    """Answers Numba's questions about types from the target's own tables.

    None of Numba's registries is installed: what the tables do not have is a typing error.
    """

    def __init__(self, compilation: Compilation) -> None:
        super().__init__()
        self.compilation = compilation

    def resolve_value_type(self, val: Any) -> types.Type:
        return constant(val)

    def resolve_function_type(
        self, func: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]
    ) -> Operation:
        function = func if isinstance(func, types.Type) else constant(func)
        return self.compilation.resolve_call(function, tuple(args), dict(kws))

    def resolve_getattr(self, typ: types.Type, attr: str) -> types.Type:
        return self.compilation.resolve_attribute(typ, attr).return_type

    def resolve_static_getitem(self, value: types.Type, index: Any) -> Operation | None:
        if isinstance(value, types.BaseTuple) and isinstance(index, int):
            return Operation(value.types[index], (), lambda low, args: ())
        return None

    def resolve_static_setitem(self, target: types.Type, index: Any, value: types.Type) -> None:
        return None

    def resolve_setitem(
        self, target: types.Type, index: types.Type, value: types.Type
    ) -> Operation:
        return self.compilation.resolve_setitem(target, index, value)

    def resolve_setattr(self, target: types.Type, attr: str, value: types.Type) -> None:
        raise TypeMismatch(
            f"the attribute {attr!r} cannot be assigned: objects in kernels do not change.",
            "use a local variable, or make a new object.",
        )

    def unify_pairs(self, first: types.Type, second: types.Type) -> types.Type | None:
        return unify(first, second)

    def unify_types(self, *typelist: types.Type) -> types.Type | None:
        result = typelist[0]
        for ty in typelist[1:]:
            joined = unify(result, ty)
            if joined is None:
                return None
            result = joined
        return result


_STATEMENTS = (
    ir.Assign, ir.SetItem, ir.StaticSetItem, ir.SetAttr, ir.Jump, ir.Branch, ir.Return, ir.PopBlock,
)  # fmt: skip
_EXPRESSIONS = frozenset(
    [
        "binop",
        "inplace_binop",
        "unary",
        "call",
        "getattr",
        "getitem",
        "static_getitem",
        "build_tuple",
        "exhaust_iter",
        "getiter",
        "iternext",
        "pair_first",
        "pair_second",
        "cast",
        "phi",
    ]
)
_UNSUPPORTED = "this line uses a Python construct that kernels do not have."


class Constraints(ConstraintNetwork):
    """Numba's constraints, whose errors keep their class and say where they are."""

    def propagate(self, typeinfer: TypeInferer) -> list[errors.TypingError]:
        found: list[errors.TypingError] = []
        for constraint in self.constraints:
            try:
                constraint(typeinfer)
            except errors.TypingError as error:
                error.loc = constraint.loc
                found.append(error)
        return found


class Inferer(TypeInferer):
    """Type inference of one function body."""

    def __init__(self, context: TypingContext, func_ir: ir.FunctionIR) -> None:
        super().__init__(context, func_ir, errors.WarningsFixer(errors.NumbaWarning))
        self.constraints = Constraints()

    def constrain_statement(self, inst: ir.Stmt) -> None:
        if not isinstance(inst, _STATEMENTS):
            raise _located(TypeMismatch(_UNSUPPORTED), inst.loc)
        super().constrain_statement(inst)

    def typeof_expr(self, inst: ir.Assign, target: ir.Var, expr: ir.Expr) -> None:
        if expr.op not in _EXPRESSIONS or (expr.op == "call" and expr.vararg is not None):
            raise _located(TypeMismatch(_UNSUPPORTED), inst.loc)
        super().typeof_expr(inst, target, expr)

    def typeof_const(self, inst: ir.Assign, target: ir.Var, const: Any) -> None:
        self.add_type(target.name, self.resolve_value_type(inst, const), loc=inst.loc)

    def typeof_global(self, inst: ir.Assign, target: ir.Var, gvar: ir.Global | ir.FreeVar) -> None:
        self.lock_type(target.name, self._global_type(inst, gvar), loc=inst.loc)
        self.assumed_immutables.add(inst)

    def _global_type(self, inst: ir.Assign, gvar: ir.Global | ir.FreeVar) -> types.Type:
        if gvar.value is ir.UNDEFINED:
            raise self._undefined(gvar, inst)
        try:
            return constant(gvar.value)
        except ValueError as error:
            mismatch = TypeMismatch(f"{gvar.name!r}: {error}.", "pass it as an argument.")
            raise _located(mismatch, inst.loc) from None

    def _undefined(self, gvar: ir.Global | ir.FreeVar, inst: ir.Assign) -> errors.TypingError:
        return _located(TypeMismatch(f"the name {gvar.name!r} is not defined."), inst.loc)

    def resolve_call(
        self, fnty: Any, pos_args: tuple[types.Type, ...], kw_args: dict[str, types.Type]
    ) -> Operation:
        return self.context.resolve_function_type(fnty, pos_args, kw_args)

    def run(self, args: dict[str, types.Type]) -> tuple[dict, types.Type, dict]:
        """Types of all variables, the return type, and the operation of every instruction.

        Raises
        ------
        numba.core.errors.TypingError
        """
        for index, (name, ty) in enumerate(args.items()):
            self.seed_argument(name, index, ty)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.NumbaWarning)
            self.build_constraint()
            self.propagate()
            return self.unify()


def _located(error: TypeMismatch, loc: ir.Loc) -> TypeMismatch:
    error.loc = loc
    return error
