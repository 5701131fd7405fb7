"""The state of one wave inside a translated function: registers, masks, suspension, faults."""

from __future__ import annotations

from llvmlite import ir

from pipedsl.core.arch import Arch
from pipedsl.core.errors import AssemblyError
from pipedsl.isa.instruction import Instruction
from pipedsl.isa.operands import EXEC, M0, VCC, Imm, Operand, Reg, Symbol, constant_bits
from pipedsl.sim import layout
from pipedsl.sim.builder import ELEMENTS, HALF, I1, I8, I32, I64, PTR, Builder, micro_symbol
from pipedsl.sim.layout import WaveLayout
from pipedsl.sim.modes import FP16_OVERFLOW, Modes

_FLOATS = ("f16", "f32", "f64", "bf16")


class Machine:
    """Reads and writes of one wave's state, as IR at the builder's position.

    The meanings of ``style="machine"`` rows are written against this class.

    Attributes
    ----------
    b : Builder
        Operations over lanes.
    s : Builder
        Operations over scalars.
    lanes : int
    indexed : int
        Operands whose VGPR numbers M0 is added to: sources 0, 1, 2 (bits 0-2), results (bit 3).
    relative : bool
        Whether that holds for the operand at hand.
    arch : Arch
    modes : Modes
        The MODE register as far as it is known.
    wave, group : ir.Value
        Pointers to the wave's and the group's records (see `layout`).
    matrix_numerics : {"fast", "exact"}
        How matrix instructions round.
    """

    def __init__(
        self, function: ir.Function, arch: Arch, wave: WaveLayout, modes: Modes | None = None
    ) -> None:
        self.function = function
        self.group, self.wave = function.args
        self.arch = arch
        self.layout = wave
        self.lanes = wave.lanes
        self.modes = modes or Modes(0xF0, ())
        self.irb = ir.IRBuilder()
        self.micros: dict[str, tuple] = {}
        self.b = Builder(self.irb, self.lanes, self.micros)
        self.s = Builder(self.irb, 0, self.micros)
        self.mask_int = ir.IntType(self.lanes)
        self.matrix_numerics = "fast"
        self.resume_points: list[ir.Block] = []
        self.resume_lines: list[int] = []
        self.current: Instruction | None = None
        self.next_address = 0
        self.indexed = 0
        self.relative = False
        self._uncounted = 0
        self._exec: ir.Value | None = None
        self._narrowed: ir.Value | None = None

    # memory of the wave's record
    def at(self, offset: int) -> ir.Value:
        """Pointer to a byte of the wave's record."""
        return self.irb.gep(self.wave, [I64(offset)], source_etype=I8)

    def at_group(self, offset: int) -> ir.Value:
        """Pointer to a byte of the group header."""
        return self.irb.gep(self.group, [I64(offset)], source_etype=I8)

    def load(self, pointer: ir.Value, kind: ir.Type, align: int = 4) -> ir.Value:
        return self.irb.load(pointer, align=align, typ=kind)

    def store(self, value: ir.Value, pointer: ir.Value, align: int = 4) -> None:
        self.irb.store(value, pointer, align=align)

    # scalar file
    def scalar_pointer(self, index: int) -> ir.Value:
        """Pointer to scalar register `index`."""
        return self.at(self.layout.scalar(index))

    def read_scalar_index(self, index: int, dwords: int = 1) -> ir.Value:
        """Integer of `dwords` * 32 bits from consecutive scalar registers."""
        return self.load(self.scalar_pointer(index), ir.IntType(32 * dwords))

    def write_scalar_index(self, index: int, value: ir.Value) -> None:
        """Write an integer to consecutive scalar registers."""
        self.store(value, self.scalar_pointer(index))
        if index <= EXEC + 1 and index + value.type.width // 32 > EXEC:
            self._exec = None

    def read_scalar(self, operand: Operand, bits: int = 32, kind: str = "b") -> ir.Value:
        """Integer of `bits` bits: a scalar register, a constant or a special source."""
        value = operand.value
        if isinstance(value, Imm):
            return ir.IntType(bits)(constant_bits(value.value, bits, kind in ("f", "bf")))
        if isinstance(value, Reg):
            if value.file != "s":
                raise AssemblyError(f"line {self._line()}: expected a scalar register.")
            if bits < 32:
                return self.irb.trunc(self.read_scalar_index(value.index), ir.IntType(bits))
            return self.read_scalar_index(value.index, bits // 32)
        return self._special(value, bits)

    def _special(self, value: Symbol, bits: int) -> ir.Value:
        integer = ir.IntType(bits)
        if value.text in ("null", "off"):
            return integer(0)
        if value.text in ("src_scc", "scc"):
            return self.irb.zext(self.read_scc(), integer)
        if value.text in ("src_vccz", "vccz"):
            return self.irb.zext(self.s.ucmp("==", self.read_vcc(), 0), integer)
        if value.text in ("src_execz", "execz"):
            return self.irb.zext(self.s.ucmp("==", self.read_exec(), 0), integer)
        apertures = {
            "src_shared_base": layout.SHARED_APERTURE << 32,
            "src_shared_limit": (layout.SHARED_APERTURE << 32) | 0xFFFFFFFF,
            "src_private_base": layout.PRIVATE_APERTURE << 32,
            "src_private_limit": (layout.PRIVATE_APERTURE << 32) | 0xFFFFFFFF,
        }
        if value.text in apertures:
            full = apertures[value.text]
            # A 32-bit read of an aperture register yields the high half.
            return integer(full if bits == 64 else full >> 32)
        return integer(self.resolve(value.text) & ((1 << bits) - 1))

    def resolve(self, expression: str) -> int:
        """Value of a symbolic constant; the translator supplies the symbols."""
        raise AssemblyError(f"line {self._line()}: {expression} has no value.")

    def write_scalar(self, operand: Operand, value: ir.Value) -> None:
        """Write an integer to the scalar register(s) that `operand` names; ``null`` drops it."""
        target = operand.value
        if isinstance(target, Symbol) and target.text == "null":
            return
        if not isinstance(target, Reg) or target.file != "s":
            raise AssemblyError(f"line {self._line()}: the destination must be a scalar register.")
        if value.type.width < 32:
            value = self.irb.zext(value, I32)
        self.write_scalar_index(target.index, value)

    def read_scc(self) -> ir.Value:
        """SCC as i1."""
        return self.irb.trunc(self.load(self.at(layout.SCC), I32), I1)

    def write_scc(self, bit: ir.Value) -> None:
        self.store(self.irb.zext(bit, I32), self.at(layout.SCC))

    def read_m0(self) -> ir.Value:
        return self.read_scalar_index(M0)

    def write_m0(self, value: ir.Value) -> None:
        self.write_scalar_index(M0, value)

    def overflow_clamps(self) -> bool | ir.Value:
        """MODE.FP16_OVFL: conversions to narrow floats clamp instead of overflowing."""
        return self.modes.test(self, FP16_OVERFLOW)

    def read_mode(self) -> ir.Value:
        return self.load(self.at(layout.MODE), I32)

    def write_mode(self, mask: int, value: ir.Value) -> None:
        """Replace the bits of MODE in `mask` by those of `value`."""
        kept = self.irb.and_(self.read_mode(), I32(~mask & 0xFFFFFFFF))
        self.store(self.irb.or_(kept, self.irb.and_(value, I32(mask))), self.at(layout.MODE))

    def clock(self) -> ir.Value:
        """Instructions that the group has executed up to the wave's last turn, as i64."""
        return self.load(self.at_group(layout.STEPS), I64, 8)

    def read_vcc(self) -> ir.Value:
        """VCC as an integer of one bit per lane."""
        return self.read_scalar_index(VCC, self.lanes // 32)

    def write_vcc(self, bits: ir.Value) -> None:
        self.write_scalar_index(VCC, bits)

    def read_exec(self) -> ir.Value:
        """EXEC as an integer of one bit per lane."""
        return self.read_scalar_index(EXEC, self.lanes // 32)

    def write_exec(self, bits: ir.Value) -> None:
        self.write_scalar_index(EXEC, bits)

    def exec_mask(self) -> ir.Value:
        """EXEC as a lane mask; read once per stretch of code that does not change it."""
        if self._exec is None:
            self._exec = self.b.int_to_mask(self.read_exec())
        return self._exec

    def narrow(self, mask: ir.Value) -> None:
        """Let only the lanes of `mask` be written until `widen` (DPP disables lanes)."""
        self._narrowed = mask

    def widen(self) -> None:
        """End the effect of `narrow`."""
        self._narrowed = None

    def write_mask(self) -> ir.Value:
        """Lanes that the current instruction writes."""
        return self._narrowed if self._narrowed is not None else self.exec_mask()

    def forget(self) -> None:
        """Drop values that do not reach the next block."""
        self._exec = None

    # vector registers
    def vector_pointer(self, reg: Reg, dword: int = 0) -> ir.Value:
        """Pointer to the row of a VGPR or AGPR."""
        if self.relative and reg.file == "v":
            offset = self.irb.and_(self.read_m0(), I32(0xFF))
            return self.vector_pointer_at(Reg("v", reg.index + dword), offset)
        index = reg.index + dword
        limit = self.layout.vgprs if reg.file == "v" else self.layout.agprs
        if index >= limit:
            raise AssemblyError(
                f"line {self._line()}: {reg.file}{index} is beyond the kernel's {limit} registers."
            )
        return self.at(self.layout.vgpr(index) if reg.file == "v" else self.layout.agpr(index))

    def vector_pointer_at(self, reg: Reg, offset: ir.Value) -> ir.Value:
        """Pointer to the row `offset` (i32, at run time) registers beyond `reg`; faults outside."""
        index = self.irb.add(offset, I32(reg.index))
        self._check_register(index, self.layout.vgprs)
        place = self.irb.mul(self.irb.zext(index, I64), I64(self.layout.row))
        return self.irb.gep(self.at(self.layout.vgpr(0)), [place], source_etype=I8)

    def scalar_pointer_at(self, reg: Reg, offset: ir.Value, dwords: int) -> ir.Value:
        """Pointer to the scalar register `offset` (i32, at run time) beyond `reg`."""
        index = self.irb.add(offset, I32(reg.index))
        self._check_register(index, VCC - dwords + 1)
        place = self.irb.shl(self.irb.zext(index, I64), I64(2))
        return self.irb.gep(self.scalar_pointer(0), [place], source_etype=I8)

    def _check_register(self, index: ir.Value, limit: int) -> None:
        stop = self.function.append_basic_block("bad_register")
        go_on = self.function.append_basic_block("register")
        counted = self._uncounted
        self.irb.cbranch(self.irb.icmp_unsigned("<", index, I32(limit)), go_on, stop)
        self.irb.position_at_end(stop)
        self.fault(layout.BAD_REGISTER)
        self._uncounted = counted
        self.irb.position_at_end(go_on)

    def read_dword(self, operand: Operand, dword: int) -> ir.Value:
        """Dword `dword` of a 64-bit operand as lanes; constants are 32 bits for both."""
        value = operand.value
        if isinstance(value, Reg) and value.file != "s":
            return self.read_row(value, dword)
        if isinstance(value, Reg):
            return self.b.splat(self.read_scalar_index(value.index + dword))
        return self.b.splat(self.read_scalar(operand))

    def read_row(self, reg: Reg, dword: int = 0) -> ir.Value:
        """One register, all lanes, as u32."""
        return self.load(self.vector_pointer(reg, dword), self.b.type(I32), align=64)

    def write_row(self, reg: Reg, value: ir.Value, dword: int = 0, *, masked: bool = True) -> None:
        """Write one register in the lanes that EXEC has set, or in all."""
        pointer = self.vector_pointer(reg, dword)
        if masked:
            old = self.load(pointer, value.type, align=64)
            value = self.irb.select(self.write_mask(), value, old)
        self.store(value, pointer, align=64)

    def read_lanes(self, operand: Operand, kind: str) -> ir.Value:
        """An operand of any file as lanes of element type `kind`, without source modifiers."""
        element = ELEMENTS[kind]
        bits = {HALF: 16}.get(element) or _width(element)
        value = operand.value
        if isinstance(value, Reg) and value.file != "s":
            raw = self.read_row(value)
            if value.half == "h":
                raw = self.b.lshr(raw, 16)
            if bits < 32:
                raw = self.b.trunc(f"u{bits}", raw)
            elif bits == 64:
                raw = self._join(raw, self.read_row(value, 1))
        else:
            raw = self.b.splat(self.read_scalar(operand, bits, kind.rstrip("0123456789")))
        return self.b.bitcast(kind, raw)

    def _join(self, low: ir.Value, high: ir.Value) -> ir.Value:
        wide = self.b.shl(self.b.zext("u64", high), 32)
        return self.b.or_(self.b.zext("u64", low), wide)

    def write_lanes(self, reg: Reg, kind: str, value: ir.Value, *, masked: bool = True) -> None:
        """Write lanes of 32 or 64 bits to a register or a pair."""
        bits = _width(ELEMENTS[kind])
        if bits == 64:
            wide = self.b.bitcast("u64", value)
            self.write_row(reg, self.b.trunc("u32", wide), masked=masked)
            self.write_row(reg, self.b.trunc("u32", self.b.lshr(wide, 32)), 1, masked=masked)
        else:
            self.write_row(reg, self.b.bitcast("u32", value), masked=masked)

    # control
    def count(self) -> None:
        """Count one instruction against the wave's fuel."""
        self._uncounted += 1

    def settle(self) -> None:
        """Write the count back; before every way out of a block."""
        if self._uncounted:
            pointer = self.at(layout.FUEL)
            left = self.irb.sub(self.load(pointer, I64, 8), I64(self._uncounted))
            self.store(left, pointer, 8)
            self._uncounted = 0

    def suspend(self, status: int) -> None:
        """Leave the function with `status`; the wave resumes behind this point."""
        self.settle()
        block = self.function.append_basic_block("resume")
        self.store(I32(self._resume_index(block)), self.at(layout.PC))
        self.irb.ret(I32(status))
        self.irb.position_at_end(block)
        self.forget()

    def _resume_index(self, block: ir.Block) -> int:
        if block not in self.resume_points:
            self.resume_points.append(block)
            self.resume_lines.append(self._line())
        return self.resume_points.index(block)

    def leave(self, status: int) -> None:
        """Leave the function for good."""
        self.settle()
        self.irb.ret(I32(status))

    def goto(self, block: ir.Block, *, backward: bool) -> None:
        """Jump; a backward jump yields when the wave is out of fuel, so that loops share the core."""
        self.settle()
        if not backward:
            self.irb.branch(block)
            return
        low = self.irb.icmp_signed("<", self.load(self.at(layout.FUEL), I64, 8), I64(0))
        stop = self.function.append_basic_block("out_of_fuel")
        self.irb.cbranch(low, stop, block)
        self.irb.position_at_end(stop)
        self.store(I32(self._resume_index(block)), self.at(layout.PC))
        self.irb.ret(I32(layout.YIELDED))

    def jump(self) -> tuple[ir.Block, bool]:
        """Block that the current instruction's label names, and whether it lies behind us."""
        raise NotImplementedError

    def jump_indirect(self, address: ir.Value) -> None:
        """Jump to a code address."""
        raise NotImplementedError

    def branch_if(self, condition: ir.Value | None) -> None:
        """Take the current instruction's branch where `condition`, or always."""
        target, backward = self.jump()
        if condition is None:
            self.goto(target, backward=backward)
            return
        self.settle()
        taken = self.function.append_basic_block("taken")
        fall = self.function.append_basic_block("fall")
        self.irb.cbranch(condition, taken, fall)
        self.irb.position_at_end(taken)
        self.goto(target, backward=backward)
        self.irb.position_at_end(fall)

    def fault(self, kind: int) -> None:
        """Stop the run with a fault at the current instruction."""
        self.settle()
        self.store(I32(kind), self.at(layout.FAULT_KIND))
        self._mark_fault()
        self.irb.ret(I32(layout.FAULT))

    def _mark_fault(self) -> None:
        self.store(I32(self._line()), self.at(layout.FAULT_INSTRUCTION))

    def micro(self, key: tuple, *args: ir.Value) -> None:
        """Call the micro-kernel `key` with group, wave and `args`; a nonzero result is a fault."""
        name = micro_symbol(key)
        self.micros[name] = key
        module = self.function.module
        callee = module.globals.get(name)
        if callee is None:
            kind = ir.FunctionType(I32, [PTR, PTR, *(a.type for a in args)])
            callee = ir.Function(module, kind, name)
        failed = self.irb.icmp_unsigned(
            "!=", self.irb.call(callee, [self.group, self.wave, *args]), I32(0)
        )
        stop = self.function.append_basic_block("fault")
        go_on = self.function.append_basic_block("ok")
        self.irb.cbranch(failed, stop, go_on)
        self.irb.position_at_end(stop)
        self._mark_fault()
        self.irb.ret(I32(layout.FAULT))
        self.irb.position_at_end(go_on)

    def _line(self) -> int:
        return self.current.line if self.current is not None else 0


def _width(element: ir.Type) -> int:
    if isinstance(element, ir.IntType):
        return element.width
    return {"half": 16, "float": 32, "double": 64}[str(element)]
