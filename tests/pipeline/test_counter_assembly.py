"""The hand-off in the final code: how many instructions, and which are not there."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from rings import assembly, make_ring

from pipedsl import AmdCounterBackend, ProducerConsumerPipeline, gpu
from pipedsl.core.arch import ARCHS, get_arch

RESULT, ITEMS = np.zeros(8, np.int32), np.int32(8)


def instructions(asm):
    """(label or None, mnemonic, line) of every instruction of the kernel, comments removed."""
    found, label = [], None
    for line in asm[: asm.index("s_endpgm")].splitlines():
        text = line.partition(";")[0].strip()
        if match := re.match(r"(\.LBB\d+_\d+):", text):
            label = match[1]
        elif text and not text.startswith(".") and not text.endswith(":"):
            found.append((label, text.split()[0], text))
    return found


def loop_around(code, mnemonic):
    """Instructions of the innermost loops that contain `mnemonic`, one list per loop."""
    starts = {}
    for position, (label, *_rest) in enumerate(code):
        starts.setdefault(label, position)
    loops = []
    for position, (_, name, text) in enumerate(code):
        if name.startswith("s_cbranch"):
            start = starts.get(text.split()[-1], len(code))
            body = code[start : position + 1]
            if start <= position and mnemonic in [entry[1] for entry in body]:
                loops.append([entry[1] for entry in body])
    shortest = min(map(len, loops))
    return [loop for loop in loops if len(loop) <= shortest + 3]


@pytest.fixture(scope="module", params=ARCHS)
def ring(request):
    arch = get_arch(request.param)
    return arch, assembly(make_ring(4), arch, 2 * arch.wave_size, RESULT, ITEMS)


def test_spin_is_five_instructions(ring):
    arch, asm = ring
    loops = loop_around(instructions(asm), "s_sleep")
    load = "ds_read_b64" if arch.generation == 9 else "ds_load_b64"
    wait = "s_wait_dscnt" if arch.generation == 12 else "s_waitcnt"
    assert len(loops) == 2
    for loop in loops:
        assert [name for name in loop if name != "s_delay_alu"] == [
            "s_sleep", load, wait, "v_cmp_gt_i64_e32", "s_cbranch_vccnz",
        ]  # fmt: skip


def test_no_fence_is_wider_than_lds(ring):
    """Up to the workgroup barrier memory is ordered too; the hand-off orders LDS alone."""
    _, asm = ring
    code = [text for _, _, text in instructions(asm)]
    barrier = max(i for i, text in enumerate(code) if text.startswith("s_barrier"))
    cache = ("buffer_", "global_wb", "global_inv", "flat_", "scratch_")
    after = code[barrier + 1 :]
    while after[0].startswith(("buffer_gl0_inv", "global_inv")):
        del after[0]
    assert not [text for text in after if text.startswith(cache)]
    waits = [text for text in after if text.startswith(("s_waitcnt", "s_wait_"))]
    assert waits
    assert not [text for text in waits if "vmcnt" in text or "loadcnt" in text]


def test_arrival(ring):
    """Save EXEC, take the first lane, add, restore; the operands are registers."""
    arch, asm = ring
    wide = arch.wave_size == 64
    exec_, bits = ("exec", "b64") if wide else ("exec_lo", "b32")
    find = "s_ff1_i32" if arch.generation == 9 else "s_ctz_i32"
    arrivals = re.findall(r"#ASMSTART\n((?:.*\n)*?)\s*;;#ASMEND", asm)
    bodies = [body for body in arrivals if "ds_add_u64" in body]
    assert len(bodies) == 2
    for body, offset in zip(bodies, (" offset:32", ""), strict=True):
        save, first, narrow, add, restore = (line.strip() for line in body.splitlines())
        register = re.fullmatch(rf"s_mov_{bits} (\S+), {exec_}", save)[1]
        assert first == f"{find}_{bits} exec_lo, {exec_}"
        assert narrow == f"s_lshl_{bits} {exec_}, 1, exec_lo"
        assert re.fullmatch(rf"ds_add_u64 v\d+, v\[\d+:\d+\]{offset}", add)
        assert restore == f"s_mov_{bits} {exec_}, {register}"


def arrive_only(out):
    backend = AmdCounterBackend(4)
    stage = gpu.block_idx.x
    backend.arrive_full(stage)


def test_arrival_on_its_own_is_four_instructions_beyond_the_mask():
    asm = assembly(arrive_only, "gfx942", 64, RESULT)
    code = [name for _, name, _ in instructions(asm)]
    mask = ["s_mov_b64", "s_ff1_i32_b64", "s_lshl_b64", "s_mov_b64"]
    rest = list(code)
    for name in mask:
        rest.remove(name)
    assert "mbcnt" not in asm
    declared = code.index("v_mov_b32_e32")  # the address, for the comment that declares the ring
    rest.remove(code[declared])
    assert sorted(rest) == ["ds_add_u64", "s_lshl_b32", "v_mov_b32_e32", "v_mov_b64_e32"]


def test_the_wave_test_is_a_scalar_branch(ring):
    _, asm = ring
    code = [text for _, _, text in instructions(asm)]
    assert any(text.startswith("v_readfirstlane_b32") for text in code)
    assert any(text.startswith("s_cbranch_scc") for text in code)


def test_storage_is_two_counters_per_stage_and_the_slots(ring):
    _, asm = ring
    assert ".amdhsa_group_segment_fixed_size 80" in asm


def piped(result, n_items):
    """`make_ring(4)` with a pipeline."""
    pipe = ProducerConsumerPipeline(AmdCounterBackend(4))
    slots = gpu.shared.array(4, np.int32)
    pipe.init()
    if gpu.wave_id() == 0:
        for i in range(n_items):
            with pipe.produce() as stage:
                if gpu.lane_id() == 0:
                    slots[stage.index()] = i + 1
    elif gpu.wave_id() == 1:
        for i in range(n_items):
            with pipe.consume() as stage:
                if gpu.lane_id() == 0:
                    result[i] = slots[stage.index()]


def test_a_pipeline_costs_what_its_backend_costs(ring):
    """The same spins, signals and waits; a step is about 4 scalar instructions."""
    arch, by_hand = ring
    asm = assembly(piped, arch, 2 * arch.wave_size, RESULT, ITEMS)
    ours, theirs = (
        Counter(name for _, name, _ in instructions(text) if not name.endswith("_alu"))
        for text in (asm, by_hand)
    )
    more = ours - theirs
    assert {name for name in more if not name.startswith("s_")} <= {"v_mov_b32_e32"}
    assert not [name for name in more if name.startswith(("s_wait", "s_sleep", "s_barrier"))]
    assert more.total() - (theirs - ours).total() <= 11
    spins = loop_around(instructions(asm), "s_sleep")
    assert spins == loop_around(instructions(by_hand), "s_sleep")


def reread(out):
    """The second load of each pair sees what another wave may have written meanwhile."""
    slots = gpu.shared.array(64, np.int32)
    lane = gpu.lane_id()
    slots[lane] = 1
    first = slots[lane]
    gpu.fence_lds(vmcnt=3)
    second = slots[lane]
    gpu.waitcnt(lgkmcnt=0)
    out[lane] = first + second + slots[lane]


@pytest.mark.parametrize("arch", ARCHS)
def test_no_access_moves_across_a_wait(arch):
    code = [name for _, name, _ in instructions(assembly(reread, arch, 64, RESULT))]
    accesses = [name for name in code if name.startswith("ds_")]
    load, store = ("ds_read", "ds_write") if arch.startswith("gfx9") else ("ds_load", "ds_store")
    assert [name[: len(load)] for name in accesses if name.startswith(load)] == [load, load]
    assert accesses[0].startswith(store)
