"""Division and square root as LLVM expands them: bit-equal to the host's on every target."""

from __future__ import annotations

import numpy as np
import pytest
from arithmetic import ALL, patterns, same

from pipedsl import codegen
from pipedsl.sim import load_assembly

TYPES = {"half": np.float16, "float": np.float32, "double": np.float64}

MODULE = """
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare {type} @llvm.sqrt.{mangled}({type})
define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) %x, ptr addrspace(1) %y) #0 {{
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %px = getelementptr {type}, ptr addrspace(1) %x, i32 %i
  %py = getelementptr {type}, ptr addrspace(1) %y, i32 %i
  %po = getelementptr {type}, ptr addrspace(1) %out, i32 %i
  %a = load {type}, ptr addrspace(1) %px
  %b = load {type}, ptr addrspace(1) %py
  %r = {operation}
  store {type} %r, ptr addrspace(1) %po
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,256" }}
!llvm.module.flags = !{{!0}}
!0 = !{{i32 1, !"amdhsa_code_object_version", i32 500}}
"""


def kernel(name: str, operation: str, arch: str):
    mangled = {"half": "f16", "float": "f32", "double": "f64"}[name]
    text = MODULE.format(type=name, mangled=mangled, operation=operation)
    return load_assembly(codegen.compile_ir(text, arch, kernel="k").asm).kernels["k"]


def near_denormal(dtype: type, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Operands whose quotients are denormal or just above."""
    info, rng = np.finfo(dtype), np.random.default_rng(seed)
    low = info.minexp - info.nmant
    x = np.ldexp(rng.normal(size=256), rng.integers(low, info.minexp + 4, 256)).astype(dtype)
    return x, np.ldexp(rng.uniform(1, 2, 256), rng.integers(-2, 6, 256)).astype(dtype)


def special_pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    info = np.finfo(dtype)
    values = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, info.max, info.tiny, info.smallest_subnormal, 3,
         info.tiny / 3, info.max / 2, -info.tiny, 1.5, 7], dtype,
    )  # fmt: skip
    return np.repeat(values, 16), np.tile(values, 16)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("name", TYPES)
def test_quotients(name, arch):
    dtype = TYPES[name]
    run = kernel(name, f"fdiv {name} %a, %b", arch)
    pairs = [special_pairs(dtype)]
    pairs += [(patterns(dtype, 256, seed), patterns(dtype, 256, seed + 50)) for seed in range(3)]
    pairs += [near_denormal(dtype, seed) for seed in range(3)]
    for x, y in pairs:
        out = np.zeros(256, dtype)
        run.launch(1, 256, [out, x, y])
        with np.errstate(all="ignore"):
            same(out, x / y)


@pytest.mark.parametrize("arch", ALL)
@pytest.mark.parametrize("name", ["float", "double"])
def test_square_roots(name, arch):
    mangled = {"float": "f32", "double": "f64"}[name]
    run = kernel(name, f"call {name} @llvm.sqrt.{mangled}({name} %a)", arch)
    x = patterns(TYPES[name], 256, 9)
    out = np.zeros_like(x)
    run.launch(1, 256, [out, x, x])
    with np.errstate(all="ignore"):
        same(out, np.sqrt(x))
