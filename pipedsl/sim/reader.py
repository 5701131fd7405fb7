"""Assembly text to a program: instructions, labels, data, kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipedsl.core.arch import get_arch
from pipedsl.core.errors import AssemblyError, SimulationError, SourceLocation
from pipedsl.isa.instruction import Instruction, decode
from pipedsl.isa.metadata import KernelMetadata, processor, read_metadata
from pipedsl.isa.rings import Ring, read_ring


@dataclass
class Program:
    """What one assembly text holds.

    Attributes
    ----------
    arch : str
    instructions : list of Instruction
        In text order.
    labels : dict of str to int
        Label to index into `instructions` (one past the end is possible).
    data : bytearray
        The constant data sections, one after another.
    symbols : dict of str to int
        Data symbol to byte offset in `data`.
    kernels : dict of str to KernelMetadata
    rings : list of Ring
        Rings of LDS counters that the text declares.
    """

    arch: str
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)
    symbols: dict[str, int] = field(default_factory=dict)
    kernels: dict[str, KernelMetadata] = field(default_factory=dict)
    rings: list[Ring] = field(default_factory=list)


_LABEL = re.compile(r'([\w.$@]+|"[^"]+"):\s*')
_TARGET = re.compile(r'^\s*\.amdgcn_target\s+"([^"\n]*)"', re.MULTILINE)
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_DATA_WIDTHS = {
    ".byte": 1, ".short": 2, ".hword": 2, ".2byte": 2, ".long": 4, ".int": 4, ".word": 4,
    ".4byte": 4, ".quad": 8, ".8byte": 8,
}  # fmt: skip
_SPANS = {".amdhsa_kernel": ".end_amdhsa_kernel", ".amdgpu_metadata": ".end_amdgpu_metadata"}
_IGNORED = frozenset(
    [
        ".amdgcn_target",
        ".amdhsa_code_object_version",
        ".globl",
        ".global",
        ".weak",
        ".hidden",
        ".protected",
        ".local",
        ".type",
        ".size",
        ".set",
        ".ident",
        ".addrsig",
        ".addrsig_sym",
        ".file",
        ".cfi_sections",
        ".cfi_startproc",
        ".cfi_endproc",
        ".cfi_escape",
        ".cfi_undefined",
        ".cfi_def_cfa",
        ".cfi_def_cfa_offset",
        ".cfi_def_cfa_register",
        ".cfi_offset",
        ".cfi_restore",
        ".cfi_same_value",
        ".cfi_register",
        ".p2alignl",
        ".p2alignw",
        ".balign",
        ".align",
        ".amd_kernel_code_t",
        ".end_amd_kernel_code_t",
        ".uleb128",
        ".sleb128",
        ".comm",
        ".lcomm",
        ".amdgpu_lds",
        ".private",
        ".internal",
        ".previous",
        ".reloc",
        ".amdgpu_info",
        ".cfi_llvm_def_aspace_cfa",
        ".cfi_b_key_frame",
        ".cfi_llvm_register_pair",
    ]
)


def read_program(text: str) -> Program:
    """Parse a complete assembly text.

    Raises
    ------
    AssemblyError
        For text that is not assembly; the message has the line number.
    UnsupportedInstruction
        For an instruction that the table does not have.
    """
    target = _TARGET.search(text)
    if target is None:
        raise AssemblyError("the text has no .amdgcn_target, so its arch is unknown.")
    arch = get_arch(processor(target[1])).name
    program = Program(arch, kernels=read_metadata(text))
    _Reader(program).read(text)
    for name in program.kernels:
        if name not in program.labels:
            raise AssemblyError(f"kernel {name} has metadata but no code.")
    return program


class _Reader:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.section = ".text"
        self.files: dict[int, str] = {}
        self.source: tuple[str, int] | None = None
        self.function: str | None = None
        self.until: str | None = None

    def read(self, text: str) -> None:
        for number, raw in enumerate(text.splitlines(), 1):
            line = strip_comment(raw)
            if not line:
                self._comment(raw)
            while line and self.until is None and (label := _LABEL.match(line)):
                self._label(label[1].strip('"'), number)
                line = line[label.end() :]
            if line:
                self._line(line, number)

    def _comment(self, raw: str) -> None:
        ring = read_ring(raw, self.source, self.program.instructions)
        if ring is not None:
            self.program.rings.append(ring)

    def _label(self, name: str, number: int) -> None:
        program = self.program
        if self._is_code():
            if name in program.labels:
                raise AssemblyError(f"line {number}: label {name} is defined twice.")
            program.labels[name] = len(program.instructions)
            if not name.startswith(".L"):
                self.function = name
        elif self._is_data():
            program.symbols[name] = len(program.data)

    def _is_code(self) -> bool:
        return self.section.startswith(".text")

    def _is_data(self) -> bool:
        return self.section.startswith((".rodata", ".data", ".bss"))

    def _line(self, line: str, number: int) -> None:
        if self.until is not None:
            if line.startswith(self.until):
                self.until = None
            return
        word = line.split(None, 1)[0]
        if word[0] == ".":
            try:
                self._directive(word, line, number)
            except (IndexError, ValueError):
                raise AssemblyError(f"line {number}: malformed {word}.") from None
        elif self._is_code():
            self.program.instructions.append(self._instruction(line, number))
        else:
            raise AssemblyError(f"line {number}: {word} stands in section {self.section}.")

    def _instruction(self, line: str, number: int) -> Instruction:
        mnemonic, _, rest = line.replace("\t", " ").partition(" ")
        try:
            return decode(
                mnemonic, rest.strip(), self.program.arch, line=number, source=self.source
            )
        except SimulationError as error:
            if self.function is not None:
                error.message = f"{self.function}, {error.message}"
            if self.source is not None:
                error.where = SourceLocation(*self.source)
            raise

    def _directive(self, word: str, line: str, number: int) -> None:
        if word in _SPANS:
            self.until = _SPANS[word]
        elif word == ".text":
            self.section = ".text"
        elif word in (".section", ".pushsection"):
            self.section = re.split(r"[,\s]+", line, maxsplit=2)[1].strip('"')
        elif word == ".popsection":
            self.section = ".text"
        elif word in (".data", ".bss", ".rodata"):
            self.section = word
        elif word == ".loc":
            self._loc(line, number)
        elif self._is_data() and (word in _DATA_WIDTHS or word in _DATA):
            self._data(word, line[len(word) :].strip(), number)
        elif word == ".file":
            if file := _FILE.match(line):
                directory, name = (file[2], file[3]) if file[3] is not None else ("", file[2])
                self.files[int(file[1])] = _join(directory, name)
        elif word not in _IGNORED and word not in _DATA_WIDTHS and word not in _DATA:
            raise AssemblyError(f"line {number}: {word} is not a directive of AMDGPU assembly.")

    def _loc(self, line: str, number: int) -> None:
        loc = _LOC.match(line)
        if loc is None:
            raise AssemblyError(f"line {number}: malformed .loc.")
        row = int(loc[2])
        # Line 0 marks code that belongs to no line; the last real one serves a user better.
        if row:
            self.source = (self.files.get(int(loc[1]), "?"), row)

    def _data(self, word: str, rest: str, number: int) -> None:
        data = self.program.data
        try:
            if word in _DATA_WIDTHS:
                width = _DATA_WIDTHS[word]
                for item in rest.split(","):
                    data += (int(item.strip(), 0) & ((1 << 8 * width) - 1)).to_bytes(
                        width, "little"
                    )
            else:
                _DATA[word](data, rest)
        except (ValueError, IndexError, OverflowError, SyntaxError):
            raise AssemblyError(f"line {number}: malformed data {word} {rest}.") from None


_MAX_DATA = 1 << 28


def _zero(data: bytearray, rest: str) -> None:
    count, *fill = (int(part, 0) for part in rest.split(","))
    _append(data, bytes([fill[0] & 255 if fill else 0]), count)


def _fill(data: bytearray, rest: str) -> None:
    count, size, value = ([int(part, 0) for part in rest.split(",")] + [1, 0])[:3]
    if not 0 < size <= 8:
        raise ValueError(size)
    _append(data, (value & ((1 << 8 * size) - 1)).to_bytes(size, "little"), count)


def _align(data: bytearray, rest: str) -> None:
    power = int(rest.split(",", maxsplit=1)[0], 0)
    if not 0 <= power <= 16:
        raise ValueError(power)
    data += bytes(-len(data) % (1 << power))


def _append(data: bytearray, unit: bytes, count: int) -> None:
    if count < 0 or count * len(unit) > _MAX_DATA:
        raise ValueError(count)
    data += unit * count


def _text(data: bytearray, rest: str) -> None:
    if len(rest) < 2 or rest[0] != '"' or rest[-1] != '"':
        raise ValueError(rest)
    body = rest[1:-1]
    data += re.sub(r"\\([0-7]{1,3}|.)", _escape, body).encode("latin-1")


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "01234567":
        return chr(int(code, 8) & 255)
    return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(code, code)


def _text_zero(data: bytearray, rest: str) -> None:
    _text(data, rest)
    data += b"\0"


_DATA = {
    ".zero": _zero, ".skip": _zero, ".space": _zero, ".fill": _fill, ".p2align": _align,
    ".ascii": _text, ".asciz": _text_zero, ".string": _text_zero,
}  # fmt: skip


def strip_comment(line: str) -> str:
    """`line` without comments and outer blanks."""
    quote = False
    for position, char in enumerate(line):
        if char == '"':
            quote = not quote
        elif not quote and (char == ";" or line.startswith("//", position)):
            line = line[:position]
            break
    return line.strip()


def _join(directory: str, name: str) -> str:
    return name if not directory or name.startswith("/") else f"{directory}/{name}"
