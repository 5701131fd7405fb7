"""Recorded gfx1100 programs: reading them, running them, telling the states apart.

The recording comes as LLVM's text of machine code. Where the text loses what the code says, the
code is asked: halves of registers in 16-bit operands (`op_sel`, ``v128`` and up), and branch
distances.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from kernels import kernel_text
from pipedsl.core.arch import get_arch
from pipedsl.sim import Memory, State, execute, load_assembly

# What the recorded kernels start with: the assembler's default descriptor flushes float32
# denormals (MODE.denorm: f32 0, f16 and f64 3). Their prologue puts the lane id into v255 and the
# kernarg pointer into s[80:81].
PROLOGUE = ("s_denorm_mode 0xc",)

_BUFFER = 1 << 16  # bytes of the buffer that s[80:81] leads to

_HALVES = re.compile(r"v(\d+)/\*[^*]*Lo128[^*]*\*/")
_VECTOR = re.compile(r"s(\d+)/\*[^*]*'VGPR_32'[^*]*\*/")
_BRANCH = re.compile(r"(s_c?branch\w*) (\d+)$")
_SIXTEEN = re.compile(r"v_(?!cvt_(f32|pk)|pk_|dot|fma_mix|pack|mad_[iu]32)\w*(16|16_f16|f16_\w+)(_e64)?$")


def read_vectors(path: Path) -> list[dict]:
    """The recorded programs, one a line."""
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def run_vector(
    vector: dict, arch: str = "gfx1100", respell: Callable[[str], str] = lambda text: text
) -> State:
    """Run one recorded program; `respell` turns instructions into those of `arch`."""
    text = [respell(line) for line in (*PROLOGUE, *program(vector))]
    lanes = vector["n_lanes"]
    if lanes > get_arch(arch).wave_size:
        return _run_group(text, arch, lanes)
    memory = Memory()
    kernarg, buffer = memory.allocate(8), memory.allocate(_BUFFER)
    memory.view(kernarg, 8).view(np.uint64)[0] = buffer
    return execute(
        text, arch=arch, lanes=lanes, lds_bytes=65536, scratch_bytes=1024, memory=memory,
        vgprs={255: np.arange(lanes)}, sgprs={80: kernarg, 81: kernarg >> 32},
    )  # fmt: skip


def _run_group(text: list[str], arch: str, lanes: int) -> State:
    """Run a program in a workgroup of several waves; scalars are those of the last one."""
    body = ["s_load_b128 s[84:87], s[0:1], 0x0", "v_mov_b32 v255, v0"]
    body += [f"v_mov_b32 v{i}, 0" for i in range(16)] + [f"s_mov_b32 s{i}, 0" for i in range(16)]
    body += ["s_mov_b32 vcc_lo, 0", *text, "s_cselect_b32 s90, 1, 0", "v_mov_b32 v254, 0"]
    named = [*(f"s{i}" for i in range(16)), "s90", "vcc_lo", "exec_lo"]
    for place, name in enumerate(named):
        body.append(f"v_mov_b32 v253, {name}")
        body.append(f"global_store_b32 v254, v253, s[86:87] offset:{4 * place}")
    body.append("v_lshlrev_b32 v254, 2, v255")
    body += [
        f"global_store_b32 v254, v{i}, s[84:85] offset:{4 * lanes * i}" for i in range(16)
    ]  # fmt: skip
    args = [("vectors", "global_buffer", 8), ("scalars", "global_buffer", 8)]
    source = kernel_text("\n".join(body), arch, args=args, lds_bytes=65536, vgprs=256)
    vectors, scalars = np.zeros((16, lanes), np.uint32), np.zeros(19, np.uint32)
    load_assembly(source).kernels["k"].launch(1, lanes, [vectors, scalars])
    scc, vcc, exec_ = (int(value) for value in scalars[16:])
    empty = np.zeros(0, np.uint32)
    return State(
        vectors, empty, scalars[:16], scc, vcc, exec_, 0, empty.view(np.uint8), len(text)
    )


def program(vector: dict) -> list[str]:
    """The instructions of a recorded program, as text that says all that the code does."""
    lines: list[str] = []
    pending: dict[int, str] = {}
    for place, (text, words) in enumerate(zip(vector["asm"], _instructions(vector), strict=True)):
        if place in pending:
            lines.append(pending.pop(place) + ":")
        text = _HALVES.sub(_half, text)
        text = _VECTOR.sub(r"v\1", text)
        if branch := _BRANCH.match(text):
            target = _after(vector, place, int(branch[2]))
            pending[target] = f"label{target}"
            text = f"{branch[1]} label{target}"
        elif "op_sel" not in text and words[0] >> 26 == 0b110101 and _SIXTEEN.match(text.split()[0]):
            bits = words[0] >> 11 & 15
            if bits:
                text += f" op_sel:[{','.join(str(bits >> i & 1) for i in range(4))}]"
        lines.append(text)
    return lines + [f"{label}:" for label in pending.values()]


def _half(match: re.Match[str]) -> str:
    number = int(match[1])
    return f"v{number - 128}.h" if number >= 128 else f"v{number}"


def _after(vector: dict, place: int, distance: int) -> int:
    """Index of the instruction `distance` dwords behind instruction `place`."""
    sizes = [len(words) for words in _instructions(vector)]
    target = place + 1
    while distance > 0:
        distance -= sizes[target]
        target += 1
    return target


def _instructions(vector: dict) -> Iterator[list[int]]:
    """Dwords of each instruction (RDNA3 ISA, microcode formats)."""
    code = np.frombuffer(bytes.fromhex(vector["code"]), "<u4").tolist()
    at = 0
    while at < len(code):
        size = _dwords(code[at], code[at + 1] if at + 1 < len(code) else 0)
        yield code[at : at + size]
        at += size


def _dwords(first: int, second: int) -> int:
    top = first >> 26
    if first >> 31 == 0:  # VOP2, VOP1, VOPC: a literal or DPP in the first source takes a dword
        source = first & 0x1FF
        literal = first >> 25 in (0x2C, 0x2D, 0x37, 0x38)  # fmamk, fmaak: f32 and f16
        return 2 if literal or source in (255, 233, 234, 249, 250) else 1
    if top in (0b110101, 0b110011):  # VOP3, VOP3P
        sources = [second & 0x1FF, second >> 9 & 0x1FF, second >> 18 & 0x1FF]
        return 3 if any(s in (255, 233, 234, 250) for s in sources) else 2
    if top == 0b110010:  # VOPD
        return 3 if 255 in (first & 0x1FF, second & 0x1FF) or _fused_literal(first, second) else 2
    if first >> 30 == 0b10:  # SOP: SOPP and SOPK have no source but s_setreg_imm32
        if first >> 23 == 0b101111101:  # SOP1
            return 2 if first & 0xFF == 255 else 1
        if first >> 23 == 0b101111111:  # SOPP
            return 1
        if first >> 28 == 0b1011 and first >> 23 != 0b101111110:  # SOPK
            return 2 if first >> 23 & 31 == 19 else 1
        return 2 if 255 in (first & 0xFF, first >> 8 & 0xFF) else 1
    return 2


def _fused_literal(first: int, second: int) -> bool:
    """Whether a half of a VOPD instruction is fmaak or fmamk, whose constant follows."""
    return bool({first >> 22 & 15, first >> 17 & 31} & {1, 2})


def differences(vector: dict, state: State) -> list[str]:
    """What differs from the recorded state, as ``register[lane] ours recorded``."""
    found = []
    lanes = vector["n_lanes"]
    ours = state.vgprs[:16, :lanes].T
    recorded = np.array(vector["vgpr"], np.uint32)
    for lane, reg in zip(*np.nonzero(ours != recorded), strict=True):
        found.append(f"v{reg}[{lane}] {ours[lane, reg]:#010x} {recorded[lane, reg]:#010x}")
    scalars = np.array(vector["sgpr"], np.uint32)
    for reg in np.nonzero(state.sgprs[:16] != scalars)[0]:
        found.append(f"s{reg} {state.sgprs[reg]:#010x} {scalars[reg]:#010x}")
    for name, value in (("vcc", state.vcc), ("scc", state.scc), ("exec_lo", state.exec)):
        if value != vector[name]:
            found.append(f"{name} {value:#x} {vector[name]:#x}")
    return found
