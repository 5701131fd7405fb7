"""Kernels with trace=True: what they note, and the timeline that comes of it."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import pipedsl
from pipedsl import Kernel, Roles, gpu, pipelined_kernel
from pipedsl.core.arch import ARCHS
from pipedsl.core.stamps import CAPACITY, GROUPS
from pipedsl.dispatch.pictures import picture_of
from pipedsl.frontend import Options

ITEMS, STAGES = 12, 3


@pipelined_kernel(trace=True)
def relay(out, n):
    roles = Roles(producers=1, consumers=1)
    pipe = roles.pipeline(STAGES)
    slots = gpu.shared.array((STAGES, 64), np.float32)
    pipe.init()
    if roles.producer.mine():
        for i in range(n):
            with pipe.produce() as stage:
                slots[stage.index(), gpu.lane_id()] = i
    else:
        for _ in range(n):
            with pipe.consume() as stage:
                out[gpu.block_idx.x, gpu.lane_id()] += slots[stage.index(), gpu.lane_id()]


def traced(arch: str, items: int = ITEMS, groups: int = 1):
    with pipedsl.use_device(f"sim:{arch}"), pipedsl.trace(stamps=True) as t:
        lanes = gpu.wave_size()
        out = np.zeros((groups, lanes), np.float32)
        relay[groups, 2 * lanes](out, np.int32(items))
    assert (out == items * (items - 1) / 2).all()
    return t


@pytest.mark.parametrize("arch", ARCHS)
def test_every_wait_and_signal_is_noted(arch):
    (run,) = traced(arch).runs
    assert [(group, wave) for group, wave, _ in run.waves] == [(0, 0), (0, 1)]
    for (_, _, stamps), kind, first in zip(run.waves, ("empty", "full"), (1, 0), strict=True):
        times = [stamp.time for stamp in stamps]
        assert times == sorted(times)
        assert (stamps[0].kind, stamps[-1].kind) == ("start", "end")
        waits = [stamp for stamp in stamps if stamp.kind == kind]
        assert [(w.slot, w.lap) for w in waits] == [
            (i % STAGES, i // STAGES + first) for i in range(ITEMS)
        ]
        signals = [stamp.slot for stamp in stamps if stamp.kind == "signal"]
        assert signals == [i % STAGES for i in range(ITEMS)]
        assert {stamp.kind for stamp in stamps} >= {"barrier", "got"}


def test_waits_name_the_users_lines_and_arrows_go_forward():
    picture = picture_of(traced("gfx942").runs[0])
    assert [row.name for row in picture.rows] == ["wave 0 (producer)", "wave 1 (consumer)"]
    hovers = {bar.kind: bar.hover for bar in picture.bars}
    assert "with pipe.produce() as stage:" in hovers["empty"]
    assert "with pipe.consume() as stage:" in hovers["full"]
    assert picture.arrows
    for arrow in picture.arrows:
        assert arrow.sent <= arrow.received
        assert arrow.source != arrow.target
    for row in range(2):
        bars = [bar for bar in picture.bars if bar.row == row]
        assert all(one.end <= two.start for one, two in pairwise(bars))


def test_the_notes_agree_with_the_model():
    """The notes take time themselves; the modelled run of the same code is as long."""
    with pipedsl.use_device("sim:gfx942"):
        out = np.zeros((1, 64), np.float32)
        modelled = relay[1, 128].time(out, np.int32(ITEMS))
    noted = picture_of(traced("gfx942").runs[0])
    assert noted.end == pytest.approx(modelled.cycles, rel=0.15)


def test_the_newest_notes_are_kept():
    (run,) = traced("gfx942", items=1000).runs
    assert run.lost > 0
    for _, _, stamps in run.waves:
        assert len(stamps) == CAPACITY
        assert stamps[-1].kind == "end"
    waits = [stamp for stamp in run.waves[1][2] if stamp.kind == "full"]
    assert (waits[-1].slot, waits[-1].lap) == (999 % STAGES, 999 // STAGES)
    assert "older notes were replaced" in picture_of(run).summary[-1]


def test_the_first_workgroups_are_traced():
    (run,) = traced("gfx942", groups=GROUPS + 3).runs
    assert sorted({group for group, _, _ in run.waves}) == list(range(GROUPS))


def test_without_the_option_there_is_no_code():
    def plain(out):
        out[0] = 1

    def stamped(out):
        counters = gpu.shared.array(2, np.int64)
        gpu.stamp("signal", counters, 1, 1, 7)
        out[0] = 1

    texts = []
    for function in (plain, stamped):
        function.__name__ = "same"
        kernel = Kernel(function, Options())
        compiled = kernel.compile(np.zeros(1, np.int32), arch="gfx942", block=64)
        texts.append([line.split(";")[0] for line in compiled.asm.splitlines() if ".loc" not in line])
    keep = [[line for line in text if line.startswith("\ts_") or "global" in line] for text in texts]
    assert keep[0] == keep[1]
    relayed = Kernel(relay.source.function, Options())
    code = relayed.compile(np.zeros((1, 64), np.float32), np.int32(1), arch="gfx942", block=128)
    assert "s_memtime" not in code.asm
    assert [p.name for p in code.image.parameters] == ["out", "n"]


def test_a_traced_kernel_is_clean_for_the_checker():
    with pipedsl.use_device("sim:gfx942"):
        out = np.zeros((2, 64), np.float32)
        report = pipedsl.check(relay[2, 128], out, np.int32(ITEMS))
    assert report, report


def test_a_gpu_gives_a_timeline(run_hip):
    output = run_hip("""
        import json
        import numpy as np
        import hip_simulation, pipedsl
        from tests.dispatch.test_stamps import relay
        hip_simulation.know_all()
        hip_simulation.install()
        out = np.zeros((1, 64), np.float32)
        relay[1, 128](out, np.int32(5))
        with pipedsl.trace() as t:
            relay[1, 128](out, np.int32(5))
        run, = t.runs
        assert (out == 20).all()
        print(json.dumps([run.device, [[s.kind for s in stamps] for _, _, stamps in run.waves]]))
    """)
    device, (producer, consumer) = json.loads(output.splitlines()[-1])
    assert device == "hip:0"
    assert producer == ["start", "barrier", "got", *["empty", "got", "signal"] * 5, "end"]
    assert consumer == ["start", "barrier", "got", *["full", "got", "signal"] * 5, "end"]


def test_a_trace_without_traced_kernels_says_what_to_do(run_hip):
    output = run_hip("""
        import pipedsl
        with pipedsl.trace() as t:
            pass
        try:
            t.save("x.svg")
        except pipedsl.LaunchError as error:
            print(error.fix)
    """)
    assert "@pipelined_kernel(trace=True)" in output
