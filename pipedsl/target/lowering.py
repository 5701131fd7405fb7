"""Typed Numba IR to LLVM IR.

Numba's own lowering assumes a heap, exceptions and a generic stack pointer, none of which a kernel
has. Here every call of a device function is expanded in place, so that each expansion owns its
LDS arrays and there are no functions but kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llvmlite import ir as llvm

from pipedsl.core.errors import SourceLocation
from pipedsl.target.footprint import Footprint
from pipedsl.target.frame import Frame, StackSlot
from pipedsl.target.operations import Value
from pipedsl.target.stamps import Stamper, stamp

if TYPE_CHECKING:
    from pipedsl.target.compilation import Compilation, TypedFunction
    from pipedsl.target.module import KernelModule


class Lowering:
    """Emits one kernel.

    Attributes
    ----------
    compilation : Compilation
    module : KernelModule
        The LLVM module, with declarations, LDS and debug information.
    builder : llvmlite.ir.IRBuilder
    footprint : Footprint
        The register arrays.
    roles : tuple of int or None
        Producer and consumer waves of a workgroup, where the kernel declares them.
    stages : int
        Slots of the longest ring that the kernel declares; 0 without one.
    stamper : Stamper or None
        Of a kernel with ``trace=True``.
    """

    def __init__(self, compilation: Compilation, module: KernelModule) -> None:
        self.compilation = compilation
        self.module = module
        self._entry = llvm.IRBuilder(module.function.append_basic_block("entry"))
        self.builder = llvm.IRBuilder(module.function.append_basic_block("body"))
        self._body = self.builder.block
        self.frames: list[Frame] = []
        self.footprint = Footprint()
        self.roles: tuple[int, int] | None = None
        self.stages = 0
        self.stamper: Stamper | None = None

    def kernel(self, typed: TypedFunction, args: Sequence[Value]) -> None:
        """Emit the whole body of the kernel."""
        if self.compilation.trace:
            self.stamper = Stamper(self)
        stamp(self, "start")
        self.expand(typed, args)
        stamp(self, "end")
        self.builder.ret_void()
        self._entry.branch(self._body)

    def expand(self, typed: TypedFunction, args: Sequence[Value]) -> Value:
        """Emit the body of `typed` here and return its result."""
        frame = Frame(self, typed, args)
        self.frames.append(frame)
        result = frame.emit()
        self.frames.pop()
        if self.frames:
            self.frames[-1].restore_location()
        return result

    def slot(self, kind: llvm.Type, name: str = "") -> StackSlot:
        """A stack slot; LLVM turns it into a register."""
        pointer = StackSlot(self._entry.block, kind, name)
        self._entry._insert(pointer)
        return pointer

    def load_slots(self, slots: Sequence[StackSlot]) -> Value:
        """The values in `slots`."""
        return tuple(self.builder.load(slot, typ=slot.allocated_type) for slot in slots)

    def store_slots(self, value: Value, slots: Sequence[StackSlot]) -> None:
        """Put `value` in `slots`."""
        for register, slot in zip(value, slots, strict=True):
            self.builder.store(register, slot)
            self.footprint.keep(register, slot)

    def where(self) -> SourceLocation:
        """The user's line that is being emitted."""
        frame = self.frames[-1]
        return SourceLocation(frame.typed.filename, frame.line)

    def user_line(self) -> int:
        """The line of the user's code that is being emitted, in whatever file."""
        return next((f.line for f in reversed(self.frames) if not f.in_library), 0)

    def call(self, name: str, result: llvm.Type, args: Sequence[llvm.Value]) -> llvm.Value:
        """Call the LLVM intrinsic `name`."""
        callee = self.module.declare(name, result, [arg.type for arg in args])
        return self.builder.call(callee, args)
