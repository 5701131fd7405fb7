"""Rows of memory instructions: variants by flag, what they read and write, coverage."""

from __future__ import annotations

import csv

import pytest

from pipedsl.core.errors import UnsupportedInstruction
from pipedsl.isa.instruction import decode
from pipedsl.isa.opcode import TABLE, Fidelity
from pipedsl.isa.operands import M0, Reg


@pytest.mark.parametrize(
    ("arch", "line", "row", "reads", "writes"),
    [
        ("gfx942", "buffer_load_dword v1, v2, s[4:7], 0 offen", "buffer_load_dword",
         [Reg("v", 2), Reg("s", 4, 4)], [Reg("v", 1)]),
        ("gfx942", "buffer_load_dword v2, s[4:7], s8 offen lds", "buffer_load_dword lds",
         [Reg("v", 2), Reg("s", 4, 4), Reg("s", 8), Reg("s", M0)], []),
        ("gfx942", "global_atomic_add v1, v2, s[4:5]", "global_atomic_add",
         [Reg("v", 1), Reg("v", 2), Reg("s", 4, 2)], []),
        ("gfx942", "global_atomic_add v0, v1, v2, s[4:5] sc0", "global_atomic_add rtn",
         [Reg("v", 1), Reg("v", 2), Reg("s", 4, 2)], [Reg("v", 0)]),
        ("gfx1100", "buffer_atomic_add_u32 v0, v1, s[4:7], 0 offen glc", "buffer_atomic_add rtn",
         [Reg("v", 1), Reg("s", 4, 4), Reg("v", 0)], [Reg("v", 0)]),
        ("gfx1201", "flat_atomic_inc_u64 v[0:1], v[2:3], v[4:5] th:TH_ATOMIC_RETURN",
         "flat_atomic_inc_x2 rtn", [Reg("v", 2, 2), Reg("v", 4, 2)], [Reg("v", 0, 2)]),
        ("gfx90a", "global_load_short_d16_hi v0, v[2:3], off", "global_load_short_d16_hi",
         [Reg("v", 2, 2), Reg("v", 0)], [Reg("v", 0)]),
        ("gfx942", "global_load_dword v0, v1, s[2:3] sc0", "global_load_dword",
         [Reg("v", 1), Reg("s", 2, 2)], [Reg("v", 0)]),
    ],
)  # fmt: skip
def test_variants_and_registers(arch, line, row, reads, writes):
    mnemonic, _, operands = line.partition(" ")
    ins = decode(mnemonic, operands, arch)
    assert ins.opcode.name == row
    assert ins.reads() == reads
    assert ins.writes() == writes


@pytest.mark.parametrize(
    ("arch", "line"),
    [
        ("gfx90a", "global_load_lds_dword v[2:3], off"),
        ("gfx942", "global_load_lds_dwordx4 v[2:3], off"),
        ("gfx942", "ds_read_b64_tr_b16 v[0:1], v2"),
        ("gfx1100", "ds_add_f64 v0, v[2:3]"),
        ("gfx1100", "s_load_b96 s[4:6], s[2:3], 0x0"),
        ("gfx1201", "s_store_dword s4, s[2:3], 0x0"),
    ],
)
def test_targets_that_lack_an_instruction(arch, line):
    mnemonic, _, operands = line.partition(" ")
    with pytest.raises(UnsupportedInstruction, match=f"does not have {mnemonic} for {arch}"):
        decode(mnemonic, operands, arch)


def test_instructions_of_tuned_kernels(shared):
    with (shared / "reference" / "aiter_asm_instruction_histogram.csv").open() as file:
        for entry in csv.DictReader(line for line in file if line[0] != "#"):
            row = TABLE.find(entry["mnemonic"], entry["gfx"])
            assert row is not None, entry
            assert row.fidelity is not Fidelity.UNSUPPORTED, entry
