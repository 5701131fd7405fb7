"""One expansion of a function body: variables, statements, expressions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llvmlite import ir as llvm
from numba.core import ir, types

from pipedsl.target.composites import Method
from pipedsl.target.conversion import convert
from pipedsl.target.dataflow import block_local, phi_copies
from pipedsl.target.operations import Operation, Value
from pipedsl.target.types import STACK, registers

if TYPE_CHECKING:
    from pipedsl.target.compilation import TypedFunction
    from pipedsl.target.lowering import Lowering

_LIBRARY = Path(__file__).resolve().parent.parent


class Frame:
    """One expansion of a function body."""

    def __init__(self, low: Lowering, typed: TypedFunction, args: Sequence[Value]) -> None:
        self.low = low
        self.typed = typed
        self.args = args
        self.scope = low.module.debug.scope(typed.filename, typed.name, typed.line)
        self.called_from: Any = low.frames[-1].location if low.frames else None
        # What a library function does is attributed to the user's line that called it.
        self.in_library = self.called_from is not None and Path(typed.filename).is_relative_to(
            _LIBRARY
        )
        if self.called_from is None:
            low.module.function.set_metadata("dbg", self.scope)
        self.location: Any = self._location(typed.line)
        self.line = typed.line
        self.values: dict[str, Value] = {}
        self.slots: dict[str, list[StackSlot]] = {}
        self.result = [low.slot(kind) for kind in registers(typed.return_type)]

    def emit(self) -> Value:
        blocks = self.typed.func_ir.blocks
        function = self.low.builder.function
        self._phis = phi_copies(blocks)
        self._local = block_local(blocks)
        self.blocks = {label: function.append_basic_block() for label in sorted(blocks)}
        self.exit = function.append_basic_block()
        builder = self.low.builder
        self.restore_location()
        builder.branch(self.blocks[min(blocks)])
        for label in sorted(blocks):
            builder.position_at_end(self.blocks[label])
            for inst in blocks[label].body:
                self._at(inst.loc.line)
                self._statement(inst, label)
        builder.position_at_end(self.exit)
        self.restore_location()
        return self.low.load_slots(self.result)

    def _at(self, line: int) -> None:
        self.line = line
        self.location = self._location(line)
        self.low.builder.debug_metadata = self.location

    def _location(self, line: int) -> Any:
        if self.in_library:
            return self.called_from
        return self.low.module.debug.location(self.scope, line, self.called_from)

    def restore_location(self) -> None:
        """Attribute what follows to the line being emitted."""
        self.low.builder.debug_metadata = self.location

    # Variables

    def type_of(self, var: ir.Var) -> types.Type:
        return self.typed.variables[var.name]

    def load(self, var: ir.Var) -> Value:
        """The registers of `var`."""
        if var.name in self.values:
            return self.values[var.name]
        return self.low.load_slots(self._slots_of(var.name))

    def store(self, name: str, value: Value) -> None:
        if name in self._local:
            self.values[name] = value
        else:
            self.low.store_slots(value, self._slots_of(name))

    def _slots_of(self, name: str) -> list[StackSlot]:
        if name not in self.slots:
            kinds = registers(self.typed.variables[name])
            self.slots[name] = [self.low.slot(kind, name) for kind in kinds]
        return self.slots[name]

    def _converted(self, var: ir.Var, target: types.Type) -> Value:
        return convert(self.low.builder, self.load(var), self.type_of(var), target)

    # Statements

    def _statement(self, inst: ir.Stmt, label: int) -> None:
        builder = self.low.builder
        if isinstance(inst, ir.Assign):
            self._assign(inst)
        elif isinstance(inst, ir.SetItem):
            operation = self.typed.operations[inst]
            self._apply(operation, [inst.target, inst.index, inst.value])
        elif isinstance(inst, ir.StaticSetItem):
            operation = self.typed.operations[inst]
            self._apply(operation, [inst.target, inst.index_var, inst.value])
        elif isinstance(inst, ir.Jump):
            self._copy_phis(label)
            builder.branch(self.blocks[inst.target])
        elif isinstance(inst, ir.Branch):
            self._copy_phis(label)
            (condition,) = self._converted(inst.cond, types.boolean)
            builder.cbranch(condition, self.blocks[inst.truebr], self.blocks[inst.falsebr])
        elif isinstance(inst, ir.Return):
            value = self._converted(inst.value, self.typed.return_type)
            self.low.store_slots(value, self.result)
            builder.branch(self.exit)
        elif not isinstance(inst, (ir.Del, ir.PopBlock)):
            raise AssertionError(f"no lowering of {inst}")

    def _copy_phis(self, label: int) -> None:
        copies = [
            (target, self._converted(source, self.typed.variables[target]))
            for target, source in self._phis[label]
        ]
        for target, value in copies:
            self.low.store_slots(value, self._slots_of(target))

    def _assign(self, inst: ir.Assign) -> None:
        value = inst.value
        target = self.typed.variables[inst.target.name]
        if isinstance(value, ir.Expr) and value.op == "phi":
            return
        if not registers(target) and isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            self.store(inst.target.name, ())
            return
        if isinstance(value, ir.Arg):
            result, kind = self.args[value.index], self.typed.args[value.index]
        elif isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            kind = self.low.compilation.context.resolve_value_type(value.value)
            result = ()
        elif isinstance(value, ir.Var):
            result, kind = self.load(value), self.type_of(value)
        else:
            result, kind = self._expression(value)
        self.store(inst.target.name, convert(self.low.builder, result, kind, target))

    def _expression(self, expr: ir.Expr) -> tuple[Value, types.Type]:
        op = expr.op
        if op == "cast":
            return self.load(expr.value), self.type_of(expr.value)
        if op == "build_tuple":
            items = tuple(self.type_of(item) for item in expr.items)
            parts = [register for item in expr.items for register in self.load(item)]
            return tuple(parts), types.BaseTuple.from_types(items)
        if op == "exhaust_iter":
            return self.load(expr.value), self.type_of(expr.value)
        if op in ("pair_first", "pair_second"):
            pair = self.type_of(expr.value)
            width = len(registers(pair.first_type))
            value = self.load(expr.value)
            if op == "pair_first":
                return value[:width], pair.first_type
            return value[width:], pair.second_type
        if op == "getattr":
            source = self.type_of(expr.value)
            operation = self.low.compilation.resolve_attribute(source, expr.attr)
            return operation.emit(self.low, [self.load(expr.value)]), operation.return_type
        if op == "static_getitem" and expr.index_var is None:
            source = self.type_of(expr.value)
            start = len(registers(*source.types[: expr.index]))
            item = source.types[expr.index]
            return self.load(expr.value)[start : start + len(registers(item))], item
        operation = self.typed.operations[expr]
        return self._apply(operation, *self._operands(expr)), operation.return_type

    def _operands(self, expr: ir.Expr) -> tuple[list[ir.Var], dict[str, ir.Var]]:
        op = expr.op
        if op == "call":
            callee = [expr.func] if isinstance(self.type_of(expr.func), Method) else []
            return [*callee, *expr.args], dict(expr.kws)
        if op in ("binop", "inplace_binop"):
            return [expr.lhs, expr.rhs], {}
        if op in ("unary", "getiter", "iternext"):
            return [expr.value], {}
        if op == "getitem":
            return [expr.value, expr.index], {}
        assert op == "static_getitem", op
        return [expr.value, expr.index_var], {}

    def _apply(
        self, operation: Operation, args: list[ir.Var], kws: dict[str, ir.Var] | None = None
    ) -> Value:
        values: list[Value] = []
        for origin, target in zip(operation.pick, operation.args, strict=True):
            if origin is None:
                values.append(())
                continue
            var = args[origin] if isinstance(origin, int) else (kws or {})[origin]
            values.append(self._converted(var, target))
        return operation.emit(self.low, values)


class StackSlot(llvm.AllocaInstr):
    """An alloca in the stack's address space, which llvmlite's own does not print."""

    def __init__(self, block: llvm.Block, kind: llvm.Type, name: str) -> None:
        super().__init__(block, kind, None, name)
        self.type = llvm.PointerType(addrspace=STACK)

    def descr(self, buf: list[str]) -> None:
        buf.append(f"alloca {self.allocated_type}, addrspace({STACK})\n")
