"""Small assembly texts for the simulator's tests."""

from __future__ import annotations

from collections.abc import Sequence

from pipedsl.core.arch import get_arch

Arg = tuple[str, str, int]  # name, value kind, bytes


def kernel_text(
    body: str,
    arch: str = "gfx942",
    *,
    args: Sequence[Arg] = (("out", "global_buffer", 8),),
    lds_bytes: int = 0,
    vgprs: int = 32,
    extra: str = "",
    scratch: int = 0,
) -> str:
    """A complete text around `body`: kernarg pointer in s[0:1], workgroup id x in s2.

    On gfx12 the workgroup id is in ttmp9, as the hardware has it.
    """
    row = get_arch(arch)
    offset, entries = 0, []
    for name, kind, size in args:
        offset = -(-offset // size) * size
        space = "\n        .address_space: global" if kind == "global_buffer" else ""
        entries.append(
            f"      - .name: {name}\n        .offset: {offset}\n        .size: {size}\n"
            f"        .value_kind: {kind}{space}"
        )
        offset += size
    accum = f"\t\t.amdhsa_accum_offset {-(-vgprs // 4) * 4}\n" if row.has("agpr") else ""
    wave32 = "\t\t.amdhsa_wavefront_size32 1\n" if row.wave_size == 32 else ""
    arguments = "\n".join(entries) or "      []"
    listing = f"    .args:\n{arguments}" if entries else "    .args: []"
    return f"""\
\t.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
\t.amdhsa_code_object_version 5
\t.text
\t.globl\tk
\t.p2align\t8
\t.type\tk,@function
k:
{body.strip(chr(10))}
\ts_endpgm
{extra}
\t.section\t.rodata,"a",@progbits
\t.p2align\t6, 0x0
\t.amdhsa_kernel k
\t\t.amdhsa_group_segment_fixed_size {lds_bytes}
\t\t.amdhsa_private_segment_fixed_size {scratch}
\t\t.amdhsa_kernarg_size {offset}
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_system_sgpr_workgroup_id_x 1
\t\t.amdhsa_system_vgpr_workitem_id 2
\t\t.amdhsa_next_free_vgpr {vgprs}
\t\t.amdhsa_next_free_sgpr 32
{accum}{wave32}\t.end_amdhsa_kernel
\t.text
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .group_segment_fixed_size: {lds_bytes}
{listing}
    .kernarg_segment_align: 8
    .kernarg_segment_size: {offset}
    .max_flat_workgroup_size: 1024
    .name: k
    .private_segment_fixed_size: {scratch}
    .sgpr_count: 32
    .sgpr_spill_count: 0
    .symbol: k.kd
    .vgpr_count: {vgprs}
    .vgpr_spill_count: 0
    .wavefront_size: {row.wave_size}
amdhsa.target: amdgcn-amd-amdhsa--{arch}
amdhsa.version:
  - 1
  - 2
...
\t.end_amdgpu_metadata
"""
