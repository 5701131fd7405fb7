"""Kernels as LLVM IR, small enough to know what the compiler must make of them."""

from __future__ import annotations

import pytest

ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PIPEDSL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(params=ARCHS)
def arch(request):
    return request.param


@pytest.fixture
def kernel_ir():
    """Build a module: ``kernel_ir(body, lds=0, block=64, declarations="", version=500)``."""

    def build(body="", lds=0, block=64, declarations="", version=500):
        storage = (
            f"@lds = internal addrspace(3) global [{lds} x i8] poison, align 16" if lds else ""
        )
        touch = "store volatile i8 1, ptr addrspace(3) @lds" if lds else ""
        return f"""
target triple = "amdgcn-amd-amdhsa"
{storage}
{declarations}
define amdgpu_kernel void @k(ptr addrspace(1) %result, i32 %n) #0 {{
  {touch}
  {body}
  store i32 %n, ptr addrspace(1) %result
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="{block},{block}" "amdgpu-no-implicitarg-ptr" }}
!llvm.module.flags = !{{!0}}
!0 = !{{i32 1, !"amdhsa_code_object_version", i32 {version}}}
"""

    return build
