"""Kernel metadata and descriptors, as LLVM, Triton and Mojo write them, and malformed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipedsl.core.errors import AssemblyError
from pipedsl.isa.metadata import ArgMetadata, processor, read_metadata

SHARED = Path(os.environ.get("PIPEDSL_SHARED", Path(__file__).parents[3] / "shared"))
FOREIGN = SHARED / "examples" / "foreign_asm"

# As LLVM 22 writes it for a kernel that calls a function: directives refer to symbols that are
# set after the descriptor.
TEXT = """\
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 5
k:
	s_endpgm
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 80
		.amdhsa_user_sgpr_count 2 ; a comment
		.amdhsa_next_free_vgpr max(totalnumvgprs(k.num_agpr, k.num_vgpr), 1, 0)
		.amdhsa_next_free_sgpr max(k.numbered_sgpr+6, 1, 0)-6
		.amdhsa_accum_offset (((((alignto(max(1, k.num_vgpr), 4)/4)-1)&~65536)&63)+1)*4
		.amdhsa_inst_pref_size ((instprefsize(.Lfunc_end0-k)<<4)&1008)>>4
	.end_amdhsa_kernel
.Lfunc_end0:
	.set k.num_vgpr, max(41, .Lhelper.num_vgpr)
	.set k.num_agpr, 8
	.set k.numbered_sgpr, max(38, amdgpu.max_num_sgpr)
	.set .Lhelper.num_vgpr, 43
	.set amdgpu.max_num_sgpr, 36
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     8
    .args:
      - .address_space:  global
        .name:           result
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .name:           no
        .offset:         8
        .size:           4
        .value_kind:     by_value
      - .offset:         16
        .size:           4
        .value_kind:     hidden_block_count_x
    .group_segment_fixed_size: 80
    .kernarg_segment_align: 8
    .kernarg_segment_size: 272
    .max_flat_workgroup_size: 128
    .name:           k
    .private_segment_fixed_size: 32
    .sgpr_count:     44
    .sgpr_spill_count: 3
    .symbol:         k.kd
    .vgpr_count:     52
    .vgpr_spill_count: 5
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
...
	.end_amdgpu_metadata
"""


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def test_every_field():
    (kernel,) = read_metadata(TEXT).values()
    assert (kernel.name, kernel.arch) == ("k", "gfx942")
    assert kernel.args == (
        ArgMetadata("result", 0, 8, "global_buffer", "global"),
        ArgMetadata("no", 8, 4, "by_value"),
        ArgMetadata(None, 16, 4, "hidden_block_count_x"),
    )
    assert [argument.hidden for argument in kernel.args] == [False, False, True]
    assert (kernel.kernarg_size, kernel.lds_bytes, kernel.scratch_bytes) == (272, 80, 32)
    assert (kernel.wave_size, kernel.max_block) == (64, 128)
    assert (kernel.vgpr_count, kernel.agpr_count, kernel.sgpr_count) == (52, 8, 44)
    assert (kernel.vgpr_spills, kernel.sgpr_spills) == (5, 3)
    assert kernel.descriptor == {
        "group_segment_fixed_size": 80,
        "user_sgpr_count": 2,
        "next_free_vgpr": 52,  # 43 rounded up to 4, and 8 AGPRs
        "next_free_sgpr": 38,
        "accum_offset": 44,
    }


def test_registers_without_a_unified_file():
    kernel = read_metadata(TEXT.replace("gfx942", "gfx1100"))["k"]
    assert kernel.descriptor["next_free_vgpr"] == 43


@pytest.mark.parametrize("separator", ["\n", "\r\n"])
def test_line_endings(separator):
    assert read_metadata(TEXT.replace("\n", separator)) == read_metadata(TEXT)


def test_quoted_symbols():
    text = TEXT.replace("amdhsa_kernel k\n", 'amdhsa_kernel "k<1>"\n').replace("k.kd", "'k<1>.kd'")
    assert list(read_metadata(text)) == ["k<1>"]


def test_optional_fields_have_defaults():
    lines = [line for line in TEXT.splitlines() if "agpr_count" not in line]
    text = "\n".join(line for line in lines if "spill" not in line)
    text = text.replace("    .args:", "  - .args:")
    kernel = read_metadata(text)["k"]
    assert (kernel.agpr_count, kernel.vgpr_spills, kernel.sgpr_spills) == (0, 0, 0)


def test_text_without_kernels():
    assert read_metadata("") == {}
    assert read_metadata("\ts_endpgm\n") == {}


@pytest.mark.parametrize(
    ("target", "arch"),
    [
        ("amdgcn-amd-amdhsa--gfx942", "gfx942"),
        ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a"),
        ("amdgpu9.42-amd-amdhsa-unknown-gfx942", "gfx942"),
        ("amdgpu12.01-amd-amdhsa-unknown-gfx1201", "gfx1201"),
    ],
)
def test_processor_of_a_target(target, arch):
    assert processor(target) == arch
    text = TEXT.replace("amdgcn-amd-amdhsa--gfx942", target)
    assert read_metadata(text)["k"].arch == arch


@pytest.mark.parametrize(
    ("old", "new", "marker", "reason"),
    [
        ("--gfx942", "--sm_90", ".amdgcn_target", "'amdgcn-amd-amdhsa--sm_90' names no AMDGPU processor"),
        ("set k.num_agpr, 8", "set k.num_agpr", "set k.num_agpr", "a symbol and its value must follow .set"),
        (".amdhsa_kernel k", ".amdhsa_kernel", ".amdhsa_kernel", "a kernel's name must follow .amdhsa_kernel"),
        (".amdhsa_kernel k", "", ".end_amdhsa_kernel", ".end_amdhsa_kernel has no .amdhsa_kernel"),
        (".end_amdhsa_kernel", "", ".amdhsa_kernel", ".amdhsa_kernel has no .end_amdhsa_kernel"),
        (".end_amdhsa_kernel", ".amdhsa_kernel j", ".amdhsa_kernel k", ".amdhsa_kernel has no .end_amdhsa_kernel"),
        ("fixed_size 80", "fixed_size", ".amdhsa_group", "a value must follow .amdhsa_group_segment_fixed_size"),
        ("fixed_size 80", "fixed_size 8 0", ".amdhsa_group", ".amdhsa_group_segment_fixed_size: unexpected '0' in the expression '8 0'"),
        ("fixed_size 80", "fixed_size later", ".amdhsa_group", ".amdhsa_group_segment_fixed_size: 'later' is not defined"),
        ("fixed_size 80", "fixed_size 1/0", ".amdhsa_group", ".amdhsa_group_segment_fixed_size: division by zero"),
        ("num_vgpr, 43", "num_vgpr, k.num_vgpr", ".amdhsa_next_free_vgpr", ".amdhsa_next_free_vgpr: 'k.num_vgpr' is defined by itself"),
        (".end_amdgpu_metadata", "", ".amdgpu_metadata", ".amdgpu_metadata has no .end_amdgpu_metadata"),
        (".symbol:         k.kd", ".symbol: j.kd", ".amdgpu_metadata", "the metadata names 'j', which has no .amdhsa_kernel"),
        (".symbol:         k.kd", ".other: 1", ".amdgpu_metadata", "the metadata of a kernel has no .symbol"),
        (".vgpr_count:     52", ".vgpr_count: many", ".amdgpu_metadata", ".vgpr_count of the metadata of a kernel must be a number, not 'many'"),
        (".vgpr_count:     52", ".vgpr_count: -1", ".amdgpu_metadata", ".vgpr_count of the metadata of a kernel must be a number, not '-1'"),
        (".offset:         8", ".off: 8", ".amdgpu_metadata", "an argument of 'k' has no .offset"),
        ("amdhsa.kernels:\n  - .agpr_count:     8", "amdhsa.kernels:\n    .agpr_count:     8", ".amdgpu_metadata", "amdhsa.kernels of the metadata is not a list"),
        (".wavefront_size: 64", ".wavefront_size: ]", ".wavefront_size", "did not find expected node content"),
        (".wavefront_size: 64", ".wavefront_size: \x07", ".amdgpu_metadata", "the metadata is not YAML"),
    ],
)  # fmt: skip
def test_malformed_text_names_the_line(old, new, marker, reason):
    text = TEXT.replace(old, new, 1)
    with pytest.raises(AssemblyError) as caught:
        read_metadata(text)
    assert caught.value.message == f"line {line_of(text, marker)} of the assembly: {reason}."


def test_text_without_a_target():
    with pytest.raises(AssemblyError) as caught:
        read_metadata(TEXT.replace(".amdgcn_target", "; "))
    assert caught.value.message == "the text names no target."
    assert caught.value.fix == (
        'start it with a line like .amdgcn_target "amdgcn-amd-amdhsa--gfx942".'
    )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_raises_nothing_but_assembly_errors(data):
    text = TEXT
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 12))
        text = text[:start] + data.draw(st.text(max_size=6)) + text[end:]
    with contextlib.suppress(AssemblyError):
        read_metadata(text)


@pytest.mark.skipif(not FOREIGN.is_dir(), reason="the examples are not on this machine")
@pytest.mark.parametrize(
    ("file", "arch", "arguments", "vgprs", "sgprs", "free_sgprs"),
    [
        ("mojo_counter_ring_gfx942", "gfx942", 2, 4, 30, 24),
        ("triton_matmul_gfx90a", "gfx90a", 14, 84, 50, 46),
        ("triton_matmul_gfx942", "gfx942", 14, 78, 30, 24),
        ("triton_matmul_gfx950", "gfx950", 14, 96, 30, 24),
        ("triton_matmul_gfx1100", "gfx1100", 14, 148, 24, 22),
        ("triton_matmul_gfx1201", "gfx1201", 14, 133, 24, 22),
    ],
)
def test_other_compilers_kernels(file, arch, arguments, vgprs, sgprs, free_sgprs):
    (kernel,) = read_metadata((FOREIGN / f"{file}.s").read_text()).values()
    assert (kernel.arch, len(kernel.args)) == (arch, arguments)
    assert (kernel.vgpr_count, kernel.sgpr_count) == (vgprs, sgprs)
    assert kernel.descriptor["next_free_vgpr"] == vgprs
    assert kernel.descriptor["next_free_sgpr"] == free_sgprs
