"""Every public object: one line, and HTML that stands alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

import pipedsl
from pipedsl import Roles, gpu, pipelined_kernel, sim
from pipedsl.bench import Measurement, Records
from pipedsl.core.html import LIMIT
from pipedsl.views import annotate


@pipelined_kernel
def relay(out, n):
    roles = Roles(producers=1, consumers=1)
    pipe = roles.pipeline(2)
    slots = gpu.shared.array((2, 64), np.float32)
    pipe.init()
    if roles.producer.mine():
        for i in range(n):
            with pipe.produce() as stage:
                slots[stage.index(), gpu.lane_id()] = i
    else:
        for _ in range(n):
            with pipe.consume() as stage:
                out[gpu.lane_id()] += slots[stage.index(), gpu.lane_id()]


def objects() -> dict[str, object]:
    with pipedsl.use_device("sim:gfx942") as device:
        out = np.zeros(64, np.float32)
        launch = relay[1, 128]
        with pipedsl.trace() as t:
            launch(out, 3000)
        compiled = relay.compile(out, 4, block=128)
        tuned = pipedsl.autotune([pipedsl.Config(n=1)], key=[])(lambda n: None)
        module = sim.load_assembly(compiled.asm)
        return {
            "kernel": relay, "launcher": launch, "compiled": compiled, "trace": t,
            "resources": compiled.resources, "budget": compiled.budget, "run": t.runs[0],
            "device": device, "array": pipedsl.to_device(out), "stream": pipedsl.stream(),
            "event": pipedsl.event(), "report": pipedsl.check(launch, out, 4),
            "listing": annotate(launch, out, 4), "config": pipedsl.config,
            "records": Records([{"a": n} for n in range(100_000)], title="many"),
            "measurement": Measurement((1.0, 2.0), "ms"), "tuned": tuned,
            "choice": pipedsl.Config(stages=2), "module": module,
            "sim kernel": module.kernels[compiled.name],
            "state": sim.execute(["s_mov_b32 s0, 1"], arch="gfx942"),
        }  # fmt: skip


FOUND = objects()


@pytest.mark.parametrize("name", FOUND)
def test_it_has_a_line_and_a_box(name):
    thing = FOUND[name]
    assert "\n" not in repr(thing)
    assert " object at 0x" not in repr(thing)
    assert len(repr(thing)) < 1000
    html = thing._repr_html_()
    assert "prefers-color-scheme:dark" in html
    assert len(html.encode()) < LIMIT
    links = re.findall(r"https?://[^\s\"<]+", html)
    assert set(links) <= {"http://www.w3.org/2000/svg"}  # a namespace, nothing to load
