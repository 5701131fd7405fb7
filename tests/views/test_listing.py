"""annotate: assembly beside Python lines."""

from __future__ import annotations

import numpy as np
import pytest

import pipedsl
from pipedsl import gpu, pipelined_kernel
from pipedsl.views import annotate


@pipelined_kernel
def scale(out, factor):
    i = gpu.block_idx.x * 64 + gpu.thread_idx.x
    out[i] *= factor


@pipelined_kernel
def unfenced(out):
    slot = gpu.shared.array(64, np.int32)
    if gpu.wave_id() == 0:
        slot[gpu.lane_id()] = 7
    else:
        out[gpu.lane_id()] = slot[gpu.lane_id()]


def line_of(kernel, text: str) -> tuple[str, int]:
    first, lines = kernel.source.first_line, kernel.source.text.splitlines()
    return __file__, first + next(n for n, line in enumerate(lines) if text in line)


def test_every_instruction_is_listed_once_with_its_line():
    compiled = scale.compile(np.zeros(64, np.float32), 2.0, arch="gfx942", block=64)
    listing = annotate(compiled)
    texts = [one.text.split()[0] for one in listing.instructions]
    body = [line.split()[0] for line in compiled.asm.splitlines() if line[:1] == "\t"]
    assert texts == [m for m in body if m[0] != "."][: len(texts)]
    assert texts[-1] == "s_endpgm"
    (store,) = [one for one in listing.instructions if "store" in one.text]
    assert store.source == line_of(scale, "out[i] *= factor")
    assert not listing.timed
    assert "out[i] *= factor" in str(listing)


def test_counts_are_those_of_the_run():
    with pipedsl.use_device("sim:gfx942"):
        out = np.ones(128, np.float32)
        run = scale[2, 64].time(out, 2.0)
        listing = annotate(scale[2, 64], out, 2.0)
    assert (out == 1).all()
    assert sum(one.count for one in listing.instructions) == run.instructions
    assert sum(cycles for _, _, cycles, _ in listing.lines.values()) == sum(
        cycles for _, cycles, _ in run.lines.values()
    )
    assert f"{run.cycles} modelled cycles, 0 findings" in str(listing)


def test_findings_stand_at_their_lines():
    with pipedsl.use_device("sim:gfx942"):
        listing = annotate(unfenced[1, 128], np.zeros(64, np.int32))
    assert listing.notes
    text = str(listing)
    (line,) = {number for _, number in listing.notes}
    place = text.index(f"test_listing.py:{line} ")
    assert "! [C" in text[place:].splitlines()[1]
    html = listing._repr_html_()
    assert '<span class="bad">[C' in html


def test_a_kernel_alone_has_no_listing():
    with pytest.raises(pipedsl.LaunchError, match="no listing without a grid") as caught:
        annotate(scale)
    assert caught.value.where.filename == __file__
