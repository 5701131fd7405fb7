"""Text in, program out: what is read, what is refused and how."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import kernel_text
from pipedsl import sim
from pipedsl.core.errors import AssemblyError, PipedslError, UnsupportedInstruction
from pipedsl.isa.operands import Imm, Reg, parse_fields, parse_operand

BODY = """
\t.file\t1 "src" "user.py"
\t.loc\t1 3 0
\ts_load_dwordx2 s[4:5], s[0:1], 0x0   ; a comment
\tv_mov_b32_e32 v1, 0 // another
.Lloop: s_add_u32 s6, s6, 1
\ts_cmp_lt_u32 s6, 4
\t.loc\t1 4 7
\ts_cbranch_scc1 .Lloop
\tds_write_b32 v1, v1 offset:4
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v2, s6
\tglobal_store_dword v1, v2, s[4:5]
"""


def test_instructions_carry_text_line_source_and_operands():
    kernel = sim.load_assembly(kernel_text(BODY, lds_bytes=16)).kernels["k"]
    store = kernel.instructions[-2]
    assert store.mnemonic == "global_store_dword"
    assert store.source == ("src/user.py", 4)
    assert kernel.instructions[0].source == ("src/user.py", 3)
    assert kernel_text(BODY, lds_bytes=16).splitlines()[store.line - 1].strip().startswith("global_store")
    assert store.reads() == [Reg("v", 1), Reg("v", 2), Reg("s", 4, 2)]
    assert kernel.instructions[0].writes() == [Reg("s", 4, 2)]


@pytest.mark.parametrize(
    ("text", "value", "neg", "absolute"),
    [
        ("v3", Reg("v", 3), False, False),
        ("-v3", Reg("v", 3), True, False),
        ("-|v3|", Reg("v", 3), True, True),
        ("abs(v3)", Reg("v", 3), False, True),
        ("a[0:3]", Reg("a", 0, 4), False, False),
        ("ttmp9", Reg("s", 117), False, False),
        ("vcc", Reg("s", 106, 2), False, False),
        ("exec_hi", Reg("s", 127), False, False),
        ("v1.h", Reg("v", 1, 1, "h"), False, False),
        ("-1", Imm(-1), False, False),
        ("0xff", Imm(255, True), False, False),
        ("-0.5", Imm(-0.5), False, False),
        ("1.0", Imm(1.0), False, False),
    ],
)
def test_operands(text, value, neg, absolute):
    operand = parse_operand(text)
    assert operand.value == value
    assert (operand.neg, operand.abs) == (neg, absolute)


def test_modifiers_and_brackets():
    fields = parse_fields("v0, v1, s[2:3] offset:-16 nt quad_perm:[0,1,2,3] op_sel:[0,1]")
    assert len(fields.operands) == 3
    assert fields.modifiers == {"offset": "-16", "nt": "1", "quad_perm": "[0,1,2,3]", "op_sel": "[0,1]"}


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("v_mov_b32_e32 v1, 0", "v_mov_b23_e32 v1, 0", UnsupportedInstruction, "line 11: the simulator does not have v_mov_b23_e32 for gfx942"),
        ("v_mov_b32_e32 v1, 0", "v_mov_b32_e32 v1", AssemblyError, "line 11: v_mov_b32_e32 v1: expected 2 operands, got 1"),
        ("v_mov_b32_e32 v1, 0", "v_mov_b32_e32 here, 0", AssemblyError, "line 11: .* cannot be written"),
        ("v_mov_b32_e32 v1, 0", "v_mov_b32_e32 7, 0", AssemblyError, "line 11: .* cannot be written"),
        ("\t.globl\tk", "\t.section", AssemblyError, "line 4: malformed .section"),
        ("v_mov_b32_e32 v1, 0", "v_mov_b32_e32 s1, 0", AssemblyError, "line 11: .* expected a vector register"),
        ("v_mov_b32_e32 v1, 0", "v_mov_b32_e32 v[5:4], 0", AssemblyError, "line 11: .* runs backwards"),
        ("s_add_u32 s6, s6, 1", "s_add_u32 s6, v6, 1", AssemblyError, "line 12: .* expected a scalar register"),
        ("s_add_u32 s6, s6, 1", "s_add_u32 s206, s6, 1", AssemblyError, "line 12: .* out of range"),
        ("s_cbranch_scc1 .Lloop", "s_cbranch_scc1 .Lnowhere", AssemblyError, "there is no label .Lnowhere"),
        ("v_mov_b32_e32 v2, s6", "v_mov_b32_e32 v99, s6", AssemblyError, "v99 is beyond the kernel's 32 registers"),
        ("\t.globl\tk", "\t.glowball\tk", AssemblyError, "line 4: .glowball is not a directive"),
        ("s_load_dwordx2 s[4:5]", "s_load_dwordx2 s4", AssemblyError, "expected 2 registers for b64, got 1"),
        (".amdgcn_target", ".amdgcn_tarmac", AssemblyError, "no .amdgcn_target"),
        ("--gfx942", "--gfx555", PipedslError, "'gfx555' is not a supported arch"),
        ("\ts_endpgm", "", AssemblyError, "runs past the end of the text without s_endpgm"),
        (".Lloop: s_add", ".Lloop: .Lloop: s_add", AssemblyError, "label .Lloop is defined twice"),
        ("_free_vgpr 32", "_free_vgpr 70000", AssemblyError, "asks for 70000 VGPRs, gfx942 has 512"),
    ],
)  # fmt: skip
def test_wrong_text_is_refused_with_its_line(old, new, error, message):
    text = kernel_text(BODY, lds_bytes=16)
    assert old in text
    with pytest.raises(error, match=message):
        sim.load_assembly(text.replace(old, new)).kernels["k"].launch(1, 64, [np.zeros(1, np.int32)])


def test_an_unknown_instruction_names_its_kernel_and_python_line():
    text = kernel_text('.file 1 "here" "k.py"\n.loc 1 7 0\nv_frobnicate_b32 v0, v1\n')
    with pytest.raises(UnsupportedInstruction, match=r"^\[P620\] k, line \d+: .* v_frobnicate_b32") as caught:
        sim.load_assembly(text)
    assert (caught.value.where.filename, caught.value.where.line) == ("here/k.py", 7)


def test_constant_data_is_read_through_getpc():
    body = """
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_getpc_b64 s[6:7]
\ts_add_u32 s6, s6, table@rel32@lo+4
\ts_addc_u32 s7, s7, table@rel32@hi+12
\ts_load_dwordx2 s[8:9], s[6:7], 0x4
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, s8
\tv_mov_b32_e32 v3, s9
\tglobal_store_dwordx2 v1, v[2:3], s[4:5]
"""
    data = '\t.section\t.rodata.x,"a",@progbits\n\t.p2align 2\n\t.ascii "ab\\001\\000"\ntable:\n\t.long 11\n\t.long 22, 33\n'
    out = np.zeros(2, np.int32)
    sim.load_assembly(kernel_text(body, extra=data)).kernels["k"].launch(1, 1, [out])
    assert out.tolist() == [22, 33]
