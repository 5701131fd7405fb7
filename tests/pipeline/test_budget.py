"""Budgets of kernels with roles: the table, and errors before LLVM runs."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from pipedsl import ResourceError, Roles, gpu, pipelined_kernel

OUT = np.zeros(64, np.float32)


def accumulate(tiles: int, waves: int, stages: int = 2, columns: int = 64, **options):
    """A kernel whose consumers have `tiles` accumulators of 4 VGPRs."""

    def kernel(out):
        roles = Roles(producers=1, consumers=waves - 1)
        pipe = roles.pipeline(stages)
        slots = gpu.shared.array((stages, 64, columns), np.float32)  # slots
        pipe.init()
        if roles.producer.mine():
            with pipe.produce() as stage:
                slots[stage.index(), gpu.lane_id(), 0] = 1.0
        else:
            total = gpu.local.array(tiles, gpu.vec(np.float32, 4))  # accumulators
            for i in gpu.static_range(tiles):
                total[i] = 0.0
            with pipe.consume() as stage:
                x = gpu.vec(np.float16, 4)(slots[stage.index(), gpu.lane_id(), 0])
                for i in gpu.static_range(tiles):
                    total[i] = gpu.mfma(x, x, total[i])
            for i in gpu.static_range(tiles):
                out[gpu.lane_id()] = total[i][0]

    return pipelined_kernel(**options)(kernel)


def compiled(arch: str, tiles: int, waves: int, **numbers):
    return accumulate(tiles, waves, **numbers).compile(OUT, arch=arch, block=64 * waves)


def line_of(part: str) -> int:
    lines, first = inspect.getsourcelines(accumulate)
    return next(first + i for i, text in enumerate(lines) if part in text)


def test_the_table() -> None:
    kernel = compiled("gfx942", 10, 12)
    assert kernel.budget.accumulators == 40
    assert str(kernel.resources).splitlines()[-5:] == [
        "  roles             1 producer and 11 consumer waves, 3 per SIMD",
        "  VGPRs per wave    168 of 512; producers keep 8% of the registers",
        "  accumulators      40 VGPRs per wave",
        "  LDS by stages     2 stages of 16,400 bytes; 32,800 of 65,536 bytes",
        "  fits at most      1 per CU, 3 waves per SIMD",
    ]
    again = accumulate(10, 12).compile(OUT, arch="gfx942", block=768)
    assert again.budget == kernel.budget


def test_a_kernel_without_roles_has_no_budget() -> None:
    @pipelined_kernel
    def kernel(out):
        out[gpu.lane_id()] = 1.0

    assert kernel.compile(OUT, arch="gfx942", block=64).budget is None


def test_accumulators_over_the_share_of_a_wave() -> None:
    message = r"accumulators take 176 VGPRs .* gfx942 has 168 for each of 3 waves on a SIMD \(12"
    with pytest.raises(ResourceError, match=message) as caught:
        compiled("gfx942", 44, 12)
    assert caught.value.where.line == line_of("# accumulators")
    assert caught.value.fix == "use 8 waves or fewer, or give each consumer a smaller tile."
    assert compiled("gfx942", 44, 8).resources.vgpr_spills == 0


def test_accumulators_that_no_wave_can_hold() -> None:
    with pytest.raises(ResourceError, match="take 520 VGPRs") as caught:
        compiled("gfx942", 130, 2)
    assert caught.value.fix == "give each consumer a smaller tile."


def test_accumulators_over_what_waves_per_eu_leaves() -> None:
    with pytest.raises(ResourceError, match="take 80 VGPRs .* has 64 for each of 8") as caught:
        compiled("gfx942", 20, 4, waves_per_eu=8)
    assert caught.value.fix == "use a waves_per_eu below 8, or give each consumer a smaller tile."


def test_stages_over_the_lds() -> None:
    message = "takes 65600 bytes of LDS in 4 stages and gfx942 has 65536 .* array takes 65536"
    with pytest.raises(ResourceError, match=message) as caught:
        compiled("gfx942", 1, 4, stages=4)
    assert caught.value.where.line == line_of("# slots")
    assert caught.value.fix == "use num_stages=3, which takes 49200 bytes, or smaller tiles."
    assert compiled("gfx942", 1, 4, stages=3).resources.lds_bytes == 49200
    assert compiled("gfx950", 1, 4, stages=4).budget.stages == 4


def test_one_stage_over_the_lds() -> None:
    with pytest.raises(ResourceError, match="in 2 stages") as caught:
        compiled("gfx942", 1, 4, columns=512)
    assert caught.value.fix == "use smaller tiles: one stage takes 131088 bytes."


@pytest.mark.parametrize("together", [False, True])
def test_only_accumulators_that_live_at_once_add_up(together: bool) -> None:
    """Two tests of the role one after the other, as two branches that exclude each other."""

    @pipelined_kernel
    def kernel(out):
        roles = Roles(producers=1, consumers=1)
        x = gpu.vec(np.float16, 4)(1.0)
        if roles.producer.mine():
            first = gpu.local.array(3, gpu.vec(np.float32, 4))
            for i in gpu.static_range(3):
                first[i] = gpu.mfma(x, x, gpu.vec(np.float32, 4)(0.0))
            if together:
                third = gpu.local.array(4, gpu.vec(np.float32, 4))
                for i in gpu.static_range(4):
                    third[i] = gpu.mfma(x, x, gpu.vec(np.float32, 4)(0.0))
                out[gpu.lane_id()] = third[0][0]
            out[gpu.lane_id()] = first[0][0]
        if roles.consumer.mine():
            second = gpu.local.array(5, gpu.vec(np.float32, 4))
            for i in gpu.static_range(5):
                second[i] = gpu.mfma(x, x, gpu.vec(np.float32, 4)(0.0))
            out[gpu.lane_id()] = second[0][0]

    budget = kernel.compile(OUT, arch="gfx942", block=128).budget
    assert budget.accumulators == (28 if together else 20)
