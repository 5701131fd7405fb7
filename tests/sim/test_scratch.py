"""Private memory as LLVM uses it: dynamic indices, spilled registers, flat pointers to it."""

from __future__ import annotations

import numpy as np
import pytest

from pipedsl import codegen, sim
from pipedsl.core.arch import ARCHS

DYNAMIC = """
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out) #0 {
entry:
  %a = alloca [16 x i32], align 4, addrspace(5)
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%j, %loop]
  %v = mul i32 %i, %id
  %p = getelementptr i32, ptr addrspace(5) %a, i32 %i
  store volatile i32 %v, ptr addrspace(5) %p
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, 16
  br i1 %c, label %loop, label %done
done:
  %q = and i32 %id, 15
  %r = getelementptr i32, ptr addrspace(5) %a, i32 %q
  %w = load volatile i32, ptr addrspace(5) %r
  %f = addrspacecast ptr addrspace(5) %r to ptr
  %h = load volatile i16, ptr %f
  %hx = zext i16 %h to i32
  %s = add i32 %w, %hx
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %s, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
"""


def spilling(values: int) -> str:
    """A kernel that keeps more values alive than its registers hold, and sums them backwards."""
    loads, total = [], []
    for i in range(values):
        loads.append(
            f"  %p{i} = getelementptr i32, ptr addrspace(1) %q, i32 {i * 256}\n"
            f"  %v{i} = load volatile i32, ptr addrspace(1) %p{i}"
        )
    for i in reversed(range(values)):
        before = "0" if i == values - 1 else f"%t{i + 1}"
        total.append(f"  %m{i} = mul i32 {before}, 3\n  %t{i} = add i32 %m{i}, %v{i}")
    body = "\n".join(loads + total)
    return f"""
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {{
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr i32, ptr addrspace(1) %in, i32 %id
{body}
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %t0, ptr addrspace(1) %o
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = {{ "amdgpu-flat-work-group-size"="1024,1024" "amdgpu-waves-per-eu"="8,8" }}
!llvm.module.flags = !{{!0}}
!0 = !{{i32 1, !"amdhsa_code_object_version", i32 500}}
"""


def compiled(ir: str, arch: str) -> sim.Kernel:
    return sim.load_assembly(codegen.compile_ir(ir, arch, kernel="k").asm).kernels["k"]


@pytest.mark.parametrize("arch", ARCHS)
def test_dynamic_indices_and_flat_pointers(arch):
    kernel = compiled(DYNAMIC, arch)
    assert kernel.metadata.scratch_bytes >= 64
    out = np.zeros(256, np.int32)
    kernel.launch(1, 256, [out])
    lane = np.arange(256)
    value = (lane & 15) * lane
    assert np.array_equal(out, value + (value & 0xFFFF))


@pytest.mark.parametrize("arch", ARCHS)
def test_spilled_registers(arch):
    values = 200
    kernel = compiled(spilling(values), arch)
    assert kernel.metadata.vgpr_spills > 0
    data = np.random.default_rng(3).integers(0, 1 << 20, (values + 4) * 256).astype(np.uint32)
    out = np.zeros(1024, np.uint32)
    kernel.launch(1, 1024, [out, data])
    rows = np.lib.stride_tricks.sliding_window_view(data, 1024)[::256][:values]
    expected = np.zeros(1024, np.uint32)
    for row in rows[::-1]:
        expected = expected * np.uint32(3) + row
    assert np.array_equal(out, expected)
