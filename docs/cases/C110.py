import numpy as np

from pipedsl.sim import load_assembly

TEXT = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl k
k:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v2, v1, s[4:5]
	v_add_u32_e32 v2, 1, v2
	global_store_dword v1, v2, s[4:5]
	s_endpgm
	.section .rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - {.address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}
    .group_segment_fixed_size: 1024
    .kernarg_segment_size: 8
    .name: k
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .kernarg_segment_align: 8
    .sgpr_count: 16
    .symbol: k.kd
    .vgpr_count: 8
    .wavefront_size: 64
...
	.end_amdgpu_metadata
"""

kernel = load_assembly(TEXT).kernels["k"]
report = kernel.check(1, 64, [np.zeros(256, np.int32)])
# --- fixed ---
import numpy as np

from pipedsl.sim import load_assembly

TEXT = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl k
k:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_and_b32_e32 v0, 0x3ff, v0
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v2, v1, s[4:5]
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v2, 1, v2
	global_store_dword v1, v2, s[4:5]
	s_endpgm
	.section .rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - {.address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}
    .group_segment_fixed_size: 1024
    .kernarg_segment_size: 8
    .name: k
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .kernarg_segment_align: 8
    .sgpr_count: 16
    .symbol: k.kd
    .vgpr_count: 8
    .wavefront_size: 64
...
	.end_amdgpu_metadata
"""

kernel = load_assembly(TEXT).kernels["k"]
report = kernel.check(1, 64, [np.zeros(256, np.int32)])
