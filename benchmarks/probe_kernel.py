"""A kernel around a few instructions, which reads the clock before and after them."""

from __future__ import annotations

import numpy as np

from pipedsl import sim
from pipedsl.sim.timing.result import TimedRun

_LDS = 32768


class Bench:
    """Runs probes on one target in the timing mode.

    Attributes
    ----------
    runs : list of TimedRun
        Of the probes so far.
    """

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.runs: list[TimedRun] = []

    def cycles(self, body: str, *, prepare: str = "", waves: int = 1) -> int:
        """Clock difference around `body`, of the slowest wave.

        ``v0`` is the work-item, ``v1`` its place in LDS for `prepare` to set, ``s[12:13]`` the
        address of a buffer that is not in any cache.
        """
        clocked = f"s_memtime s[8:9]\n{body}\ns_memtime s[10:11]"
        text = _TEXT.format(arch=self.arch, body=clocked, prepare=prepare, lds=_LDS)
        out = np.zeros(64 * waves, np.uint32)
        buffer = np.zeros(1 << 20, np.uint32)
        kernel = sim.load_assembly(text).kernels["probe"]
        self.runs.append(kernel.time(1, 64 * waves, [out, buffer]))
        return int(out.max())


_TEXT = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
\t.text
probe:
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_load_dwordx2 s[12:13], s[0:1], 0x8
{prepare}
s_waitcnt vmcnt(0) lgkmcnt(0)
s_nop 15
{body}
s_waitcnt lgkmcnt(0)
s_sub_u32 s6, s10, s8
v_mov_b32 v3, s6
v_lshlrev_b32 v2, 2, v0
global_store_dword v2, v3, s[4:5]
s_endpgm
\t.section .rodata
\t.amdhsa_kernel probe
\t\t.amdhsa_group_segment_fixed_size {lds}
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_next_free_vgpr 256
\t\t.amdhsa_accum_offset 256
\t\t.amdhsa_next_free_sgpr 32
\t.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - {{.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.name: buffer, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
    .group_segment_fixed_size: {lds}
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .name: probe
    .private_segment_fixed_size: 0
    .sgpr_count: 32
    .symbol: probe.kd
    .vgpr_count: 256
    .wavefront_size: 64
amdhsa.version: [1, 2]
...
\t.end_amdgpu_metadata
"""
