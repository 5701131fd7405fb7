"""One kernel's compilation: types first, then LLVM IR."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm
from numba.core import errors, ir, types
from numba.core.compiler_lock import global_compiler_lock

from pipedsl.core.arch import ARCHS, Arch
from pipedsl.core.errors import KernelTypeError, SourceLocation, TargetError
from pipedsl.isa.budget import Budget
from pipedsl.target.budget import budget_of, check_lds, check_registers
from pipedsl.target.composites import Array, LocalArray, Method, Object
from pipedsl.target.copies import least_copies, state_counts
from pipedsl.target.diagnosis import innermost, user_error
from pipedsl.target.function import DeviceFunction, translate, translate_init
from pipedsl.target.inference import Inferer, TypingContext
from pipedsl.target.linear import check_linear
from pipedsl.target.local import setitem as local_setitem
from pipedsl.target.lowering import Lowering
from pipedsl.target.members import attribute, has_init, not_callable
from pipedsl.target.module import KernelModule
from pipedsl.target.operations import (
    FUNCTIONS,
    Operation,
    TypeMismatch,
    bind,
    resolve_builtin,
)
from pipedsl.target.types import Constant, registers
from pipedsl.target.vector_type import VectorType
from pipedsl.target.vectors import construct


@dataclass(frozen=True)
class TypedFunction:
    """A function body with the types of one specialisation.

    Attributes
    ----------
    name, filename, line
        Where the user defined it.
    func_ir : numba.core.ir.FunctionIR
    args : tuple of numba.types.Type
    variables : dict of str to numba.types.Type
    return_type : numba.types.Type
    operations : dict
        The `Operation` of every instruction that has one.
    fields : tuple of str
        Of an ``__init__``: the names of the fields, whose tuple it returns.
    copies : int or None
        How many copies to LDS it issues at least; None if it issues none.
    """

    name: str
    filename: str
    line: int
    func_ir: ir.FunctionIR
    args: tuple[types.Type, ...]
    variables: dict[str, types.Type]
    return_type: types.Type
    operations: dict[Any, Operation]
    fields: tuple[str, ...] = ()
    copies: int | None = None


class Compilation:
    """Compiles one kernel for one signature, arch and block.

    Parameters
    ----------
    arch : Arch
    block : tuple of int, optional
        Workgroup size per axis; without it, it is read at run time.
    unchecked : bool
        Leave arch limits and features to LLVM.
    waves_per_eu : int, optional
        Waves per SIMD that LLVM leaves registers for.
    timeout : int, optional
        Ticks of the steady counter after which waits give up.
    trace : bool
        Note the shader clock at waits and signals.
    hidden : sequence of str
        Names of arguments that the kernel has beyond the function's, pointers to buffers.

    Attributes
    ----------
    context : TypingContext
    written : set of int
        Positions of the kernel parameters that the kernel writes through.
    budget : Budget or None
        Of the compiled kernel, where it has roles.
    """

    def __init__(
        self,
        arch: Arch,
        block: tuple[int, int, int] | None = None,
        *,
        unchecked: bool = False,
        waves_per_eu: int | None = None,
        timeout: int | None = None,
        trace: bool = False,
        hidden: Sequence[str] = (),
    ) -> None:
        self.arch = arch
        self.trace = trace
        self.hidden = tuple(hidden)
        self.timeout = timeout
        self.block = block
        self.unchecked = unchecked
        self.waves_per_eu = waves_per_eu
        self.context = TypingContext(self)
        self.written: set[int] = set()
        self.budget: Budget | None = None
        self._typed: dict[tuple[Any, tuple[types.Type, ...]], TypedFunction] = {}
        self._methods: dict[Any, DeviceFunction] = {}
        self._stack: list[Any] = []

    @global_compiler_lock
    def compile(self, function: Any, args: Sequence[types.Type], symbol: str) -> KernelModule:
        """Type and lower `function` as the kernel `symbol`.

        Raises
        ------
        KernelError
            Of the user's source, with the user's line.
        TargetError
            If the arch lacks a feature.
        ResourceError
            If the kernel needs more LDS, or for its accumulators more registers, than there are.
        """
        kinds = [
            ty.attributed_to(frozenset({i})) if isinstance(ty, Array) else ty
            for i, ty in enumerate(args)
        ]
        try:
            typed = self.typed(function, tuple(kinds))
        except errors.NumbaError as error:
            raise user_error(error, function) from None
        code = function.__code__
        if typed.return_type != types.none:
            raise KernelTypeError(
                "a kernel returns nothing.",
                fix="write results to an array.",
                where=SourceLocation(code.co_filename, code.co_firstlineno),
            )
        names = list(inspect.signature(function).parameters)
        parameters = [
            (label, kind)
            for name, ty in zip(names, kinds, strict=True)
            for label, kind in zip(labels(name, ty), _argument_types(ty), strict=True)
        ]
        parameters += [(name, llvm.PointerType(addrspace=1)) for name in self.hidden]
        module = KernelModule(
            symbol, code.co_filename, code.co_firstlineno, self.arch, self.block, parameters
        )
        low = Lowering(self, module)
        low.kernel(typed, self._arguments(low, kinds))
        self.budget = budget_of(low, self.waves_per_eu)
        if not self.unchecked:
            check_lds(low)
        if not self.unchecked and self.budget is not None:
            check_registers(low, self.budget)
        return module

    def _arguments(self, low: Lowering, kinds: Sequence[types.Type]) -> list[Any]:
        incoming = iter(low.module.function.args)
        values = []
        for ty in kinds:
            value = [next(incoming) for _ in registers(ty)]
            if ty == types.boolean:
                zero = llvm.Constant(value[0].type, 0)
                value = [low.builder.icmp_unsigned("!=", value[0], zero)]
            values.append(tuple(value))
        return values

    # Typing

    def typed(self, function: Any, args: tuple[types.Type, ...]) -> TypedFunction:
        """`function` specialised for argument types."""
        return self._specialise(function, args, is_init=False)

    def _specialise(
        self, function: Any, args: tuple[types.Type, ...], *, is_init: bool
    ) -> TypedFunction:
        key = (function, args)
        if key in self._typed:
            return self._typed[key]
        if function in self._stack:
            raise TypeMismatch(
                f"{function.__name__}() calls itself: kernels have no recursion.",
                "use a loop.",
            )
        self._stack.append(function)
        try:
            typed = self._infer(function, args, is_init)
        finally:
            self._stack.pop()
        self._typed[key] = typed
        return typed

    def _infer(self, function: Any, args: tuple[types.Type, ...], is_init: bool) -> TypedFunction:
        code = function.__code__
        named = dict(zip(inspect.signature(function).parameters, args, strict=True))
        fields: tuple[str, ...] = ()
        try:
            if is_init:
                func_ir, fields = translate_init(function, named)
            else:
                func_ir = translate(function, named)
            variables, return_type, operations = Inferer(self.context, func_ir).run(named)
            fences = check_linear(func_ir, variables, operations, function)
            if fences:
                state_counts(func_ir.blocks, fences)
                variables, return_type, operations = Inferer(self.context, func_ir).run(named)
        except errors.NumbaError as error:
            raise innermost(error, function) from None
        return TypedFunction(
            name=function.__name__,
            filename=code.co_filename,
            line=code.co_firstlineno,
            func_ir=func_ir,
            args=args,
            variables=variables,
            return_type=return_type,
            operations=operations,
            fields=fields,
            copies=least_copies(func_ir.blocks, operations),
        )

    # Calls and attributes

    def resolve_call(
        self, function: types.Type, args: tuple[types.Type, ...], kws: dict[str, types.Type]
    ) -> Operation:
        """The operation for a call.

        Raises
        ------
        TypeMismatch
        """
        if isinstance(function, Method):
            args = (function.receiver, *args)
            callee = function.function
        elif isinstance(function, Constant):
            callee = function.value
        else:
            raise TypeMismatch(f"{function} cannot be called.")
        builtin = resolve_builtin(self, callee, args, kws)
        if builtin is not None:
            return builtin
        if isinstance(callee, VectorType) and not kws:
            return construct(self, callee, args)
        if isinstance(callee, DeviceFunction):
            return self._call(callee, args, kws)
        if has_init(callee):
            return self._construct(callee, args, kws)
        raise not_callable(callee)

    def _call(
        self, callee: DeviceFunction, args: tuple[types.Type, ...], kws: dict[str, types.Type]
    ) -> Operation:
        kinds, pick = bind(callee.__name__, callee.signature, args, kws)
        typed = self.typed(callee.function, tuple(kinds))
        return Operation(
            typed.return_type,
            kinds,
            lambda low, values: low.expand(typed, values),
            pick,
            typed.copies,
        )

    def _construct(
        self, cls: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]
    ) -> Operation:
        init = inspect.getattr_static(cls, "__init__")
        full = inspect.signature(init)
        visible = full.replace(parameters=list(full.parameters.values())[1:])
        kinds, pick = bind(cls.__name__, visible, args, kws)
        kinds = [Constant(cls), *kinds]
        typed = self._specialise(init, tuple(kinds), is_init=True)
        fields = zip(typed.fields, typed.return_type.types, strict=True)
        return Operation(
            Object(cls, tuple(fields)),
            kinds,
            lambda low, values: low.expand(typed, values),
            [None, *pick],
            typed.copies,
        )

    def resolve_attribute(self, source: types.Type, name: str) -> Operation:
        """The operation for reading an attribute.

        Raises
        ------
        TypeMismatch
        """
        return attribute(self, source, name)

    def require(self, feature: str, what: str) -> None:
        """Refuse the arch if it lacks `feature`, which `what` needs.

        Raises
        ------
        TypeMismatch
            Which becomes a `TargetError` at the user's line.
        """
        if self.unchecked or self.arch.has(feature):
            return
        able = ", ".join(arch.name for arch in ARCHS.values() if arch.has(feature))
        raise TypeMismatch(
            f"{self.arch.name} has no {what}.", f"compile for {able}.", kind=TargetError
        )

    def method(self, function: Any) -> DeviceFunction:
        """A class's function as a device function; one per function, so that types are equal."""
        if isinstance(function, DeviceFunction):
            return function
        return self._methods.setdefault(function, DeviceFunction(function))

    def resolve_setitem(
        self, target: types.Type, index: types.Type, value: types.Type
    ) -> Operation:
        """The operation for ``target[index] = value``."""
        if isinstance(target, LocalArray):
            return local_setitem(self, target, index, value)
        if not isinstance(target, Array):
            raise TypeMismatch(f"items of {target} cannot be assigned.")
        self.written |= target.parameters
        return FUNCTIONS["setitem"](self, target, index, value)


def labels(name: str, ty: types.Type) -> tuple[str, ...]:
    """Names of the kernel arguments of one parameter."""
    if isinstance(ty, Array):
        return tuple(name if part == "pointer" else f"{name}.{part}" for part in ty.parts)
    return (name,) * len(registers(ty))


def _argument_types(ty: types.Type) -> tuple[llvm.Type, ...]:
    return (llvm.IntType(8),) if ty == types.boolean else registers(ty)
