"""Resources against LLVM's own report of the same kernel."""

from __future__ import annotations

import re

import pytest
from llvmlite import binding

from pipedsl import codegen
from pipedsl.codegen.resources import read_resources
from pipedsl.core.arch import get_arch
from pipedsl.core.errors import CompilationError

# Block, clobbered registers, LDS bytes (whole allocation granules of every arch: LLVM does not
# round up).
KERNELS = [
    (64, "~{v3}", 0),
    (64, "~{v95}", 0),
    (64, "~{v96}", 0),
    (64, "~{v250}", 0),
    (64, "~{v31},~{s93}", 0),
    (64, "~{v31},~{s96}", 0),
    (256, "~{v31}", 40960),
    (320, "~{v31}", 0),
    (320, "~{v97}", 20480),
    (1024, "~{v63}", 0),
    (128, "~{v63}", 61440),
]
WITH_AGPRS = [(64, "~{v94},~{a15}", 0), (256, "~{v60},~{a60}", 0), (64, "~{v99},~{a200}", 0)]


@pytest.fixture(scope="module")
def llvm_report():
    """What LLVM writes about a kernel in verbose assembly: ``report(ir, arch)[field]``."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple("amdgcn-amd-amdhsa")

    def report(ir, arch):
        machine = target.create_target_machine(cpu=arch, opt=3, reloc="pic")
        machine.set_asm_verbosity(True)
        text = machine.emit_assembly(binding.parse_assembly(ir))
        fields = re.findall(r"^; (\w+) ?: (\d+)", text, re.M)
        return text, {name: int(value) for name, value in fields}

    return report


def _cases():
    for arch in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"):
        for case in KERNELS + (WITH_AGPRS if get_arch(arch).has("agpr") else []):
            yield pytest.param(arch, *case, id=f"{arch}-{'-'.join(map(str, case))}")


@pytest.mark.parametrize(("arch", "block", "clobbers", "lds"), list(_cases()))
def test_agrees_with_llvm(kernel_ir, llvm_report, arch, block, clobbers, lds):
    ir = kernel_ir(f'call void asm sideeffect "", "{clobbers}"()', lds=lds, block=block)
    text, llvm = llvm_report(ir, arch)
    resources = read_resources(text, "k", arch, block)
    assert resources.waves_per_simd == llvm["Occupancy"]
    assert resources.sgprs == llvm["TotalNumSgprs"]
    assert resources.lds_bytes == llvm["LDSByteSize"] == lds
    assert resources.scratch_bytes == llvm["ScratchSize"] == 0
    assert resources.agprs == llvm.get("NumAgprs", 0)
    if resources.agprs:
        assert resources.vgprs == llvm["AccumOffset"]
    else:
        assert resources.vgprs == llvm["NumVgprs"]


@pytest.mark.parametrize(
    ("arch", "block", "clobbers", "lds", "waves", "limited_by", "workgroups"),
    [
        # 512 VGPRs / 96 = 5 waves on each of 4 SIMDs; 20 waves are five workgroups of 4.
        ("gfx942", 256, "~{v95}", 0, 5, "VGPRs", 5),
        # 5 waves a SIMD are 20 a CU: only one workgroup of 16.
        ("gfx942", 1024, "~{v95}", 0, 5, "VGPRs", 1),
        ("gfx942", 64, "~{v3}", 0, 8, None, 32),
        # 64 KiB / 20 KiB = 3 workgroups of 2 waves; 160 KiB hold 8.
        ("gfx942", 128, "~{v3}", 20480, 2, "LDS", 3),
        ("gfx950", 128, "~{v3}", 20480, 4, "LDS", 8),
        # One byte takes a granule: 128 of 1280 bytes fit, so the wave slots limit.
        ("gfx950", 64, "~{v3}", 1, 8, None, 32),
        # 6 workgroups of 5 waves fill 30 of 32 slots of a CU, one SIMD still all its 8.
        ("gfx90a", 320, "~{v3}", 0, 8, None, 6),
        # A WGP: 4 SIMDs of 16 waves, 128 KiB: 6 workgroups of 10 waves (60 of 64 slots).
        ("gfx1100", 320, "~{v3}", 0, 15, "block", 3),
        ("gfx1100", 64, "~{v3}", 49152, 1, "LDS", 1),
        # 1536 VGPRs / 168 = 9 waves a SIMD, 36 a WGP: one workgroup of 32 waves for two CUs.
        ("gfx1201", 1024, "~{v150}", 0, 9, "VGPRs", 0.5),
    ],
)
def test_occupancy(
    kernel_ir, llvm_report, arch, block, clobbers, lds, waves, limited_by, workgroups
):
    ir = kernel_ir(f'call void asm sideeffect "", "{clobbers}"()', lds=lds, block=min(block, 512))
    text, _ = llvm_report(ir, arch)
    resources = read_resources(text, "k", arch, block)
    assert resources.waves_per_simd == waves
    assert resources.limited_by == limited_by
    assert resources.workgroups_per_cu == workgroups


def test_table(kernel_ir):
    asm = codegen.compile_ir(kernel_ir(lds=1280, block=128), "gfx942", kernel="k").asm
    resources = read_resources(asm, "k", "gfx942:sramecc+:xnack-")
    assert str(resources).splitlines() == [
        "k on gfx942, block 128",
        f"  VGPRs             {resources.vgprs}",
        "  AGPRs             0",
        f"  SGPRs             {resources.sgprs}",
        "  LDS               1,280 bytes per workgroup",
        "  scratch           0 bytes per work-item",
        "  spills            0 VGPRs, 0 SGPRs",
        "  waves per SIMD    8 of 8",
        "  workgroups per CU 16",
    ]
    assert "\n" not in repr(resources)


def test_spills_are_counted(kernel_ir):
    loads = "\n".join(f"%v{i} = load volatile i32, ptr addrspace(1) %result" for i in range(90))
    stores = "\n".join(f"store volatile i32 %v{i}, ptr addrspace(1) %result" for i in range(90))
    ir = kernel_ir(loads + "\n" + stores, block=1024).replace(
        '"amdgpu-no-implicitarg-ptr"', '"amdgpu-num-vgpr"="32"'
    )
    asm = codegen.compile_ir(ir, "gfx1100", kernel="k").asm
    resources = read_resources(asm, "k", "gfx1100")
    assert resources.vgprs <= 32
    assert resources.vgpr_spills > 0
    assert resources.scratch_bytes >= 4 * resources.vgpr_spills


def test_a_kernel_that_is_not_there(kernel_ir):
    asm = codegen.compile_ir(kernel_ir(), "gfx942", kernel="k").asm
    with pytest.raises(CompilationError) as caught:
        read_resources(asm, "other", "gfx942")
    assert caught.value.message == "the assembly has no kernel 'other'."
    assert caught.value.fix == "its kernels are 'k'."
