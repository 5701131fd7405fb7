"""Timelines: what the picture, the trace events and the text say of a modelled launch."""

from __future__ import annotations

import json
import linecache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import pipedsl
from pipedsl import LaunchError, Roles, gpu, pipelined_kernel
from pipedsl.dispatch.pictures import picture_of
from pipedsl.views.picture import Arrow, Bar, Picture, Row
from pipedsl.views.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"


@pipelined_kernel
def relay(out, n):
    roles = Roles(producers=1, consumers=1)
    pipe = roles.pipeline(num_stages=2)
    slots = gpu.shared.array((2, 64), np.float32)
    pipe.init()
    if roles.producer.mine():
        for i in range(n):
            with pipe.produce() as stage:
                slots[stage.index(), gpu.lane_id()] = i
    else:
        for i in range(n):
            with pipe.consume() as stage:
                out[i, gpu.lane_id()] = slots[stage.index(), gpu.lane_id()]


@pytest.fixture(scope="module")
def traced():
    out = np.zeros((16, 64), np.float32)
    with pipedsl.use_device("sim:gfx942"), pipedsl.trace() as t:
        relay[1, 128](out, 16)
    assert (out == np.arange(16)[:, None]).all()
    return t


def bars(text: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(text)
    return [e for e in root.iter(f"{SVG}rect") if e.get("height") == "18"]


def test_a_row_per_wave_and_bars_where_the_intervals_are(traced) -> None:
    run = traced.runs[0]
    text = traced._repr_html_()
    root = ElementTree.fromstring(text)
    names = [e.text for e in root.iter(f"{SVG}text") if e.get("class") == "row"]
    assert names == ["wave 0 (producer)", "wave 1 (consumer)"]
    scale = (960 - 150 - 10) / run.cycles
    drawn = {(e.get("class"), e.get("y"), e.get("x")): float(e.get("width")) for e in bars(text)}
    rows = sorted({key[1] for key in drawn}, key=float)
    wide = [i for i in run.intervals if (i.end - i.start) * scale >= 0.6]
    assert wide
    for interval in wide:
        width = drawn[interval.kind, rows[interval.wave], f"{150 + interval.start * scale:.1f}"]
        assert width == pytest.approx((interval.end - interval.start) * scale, abs=0.06)


def test_hover_text_names_the_python_line(traced) -> None:
    assert "with pipe.consume() as stage:" in traced._repr_html_()
    assert "test_timeline.py:" in traced._repr_html_()


def test_every_signal_has_an_arrow(traced) -> None:
    root = ElementTree.fromstring(traced._repr_html_())
    arrows = [e for e in root.iter(f"{SVG}path") if e.get("class") == "arrow"]
    assert len(arrows) == len(traced.runs[0].arrows) > 0


def test_the_summary_adds_up(traced) -> None:
    run = traced.runs[0]
    consumer = [i for i in run.intervals if run.waves[i.wave].role == "consumer"]
    share = sum(i.end - i.start for i in consumer if i.kind == "full") / sum(
        i.end - i.start for i in consumer
    )
    (line,) = [text for text in traced.summary if text.startswith("consumer")]
    assert f"waits for full {share:.0%} of the time" in line
    assert line[:60] in traced._repr_html_()


def test_trace_events_are_complete(traced, tmp_path) -> None:
    traced.save(tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    run = traced.runs[0]
    spans = [e for e in events if e["ph"] == "X"]
    assert [(e["tid"], e["ts"], e["dur"]) for e in spans] == [
        (i.wave, i.start, i.end - i.start) for i in run.intervals
    ]
    starts = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
    ends = {e["id"]: e["ts"] for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(starts) == len(run.arrows)
    assert all(starts[number] <= ends[number] for number in starts)
    assert {e["name"] for e in events if e["ph"] == "M"} == {"process_name", "thread_name"}


@pytest.mark.parametrize(
    ("suffix", "begins"), [(".svg", "<svg"), (".html", "<!doctype"), (".txt", "relay on gfx942")]
)
def test_files(traced, tmp_path, suffix, begins) -> None:
    traced.save(tmp_path / f"run{suffix}")
    assert (tmp_path / f"run{suffix}").read_text().startswith(begins)
    assert [path.name for path in tmp_path.iterdir()] == [f"run{suffix}"]


def test_what_cannot_be_saved(traced, tmp_path) -> None:
    with pytest.raises(LaunchError, match=r"cannot be saved as 'run\.png'"):
        traced.save(tmp_path / "run.png")
    with pipedsl.trace() as empty:
        pass
    with pytest.raises(LaunchError, match="no launch was traced"):
        empty.save(tmp_path / "run.svg")
    assert str(empty) == "<Trace of 0 launches>"


def test_text_has_a_line_per_wave(traced) -> None:
    lines = str(traced).splitlines()
    assert lines[1].startswith("wave 0 (producer) |")
    assert len(lines[1]) == len(lines[2])
    assert set(lines[2].split("|")[1]) <= set("#fepmlb ")


def test_long_runs_stay_small_and_say_what_was_merged() -> None:
    many = tuple(
        Bar(0, "work" if i % 2 else "full", i, i + 1, "x", "y" * 60) for i in range(200_000)
    )
    arrows = tuple(Arrow(0, 1, i, i + 1, "full[0]") for i in range(5000))
    picture = Picture(
        "long", "cycles", (Row("wave 0", "g"), Row("wave 1", "g")), many, arrows, 200_000
    )
    text = to_svg(picture)
    assert len(text) < 300_000
    ElementTree.fromstring(text)
    assert "narrower than a pixel" in text
    assert "The first 400 of 5000 signals" in text


def test_names_are_escaped() -> None:
    picture = Picture(
        "<b>&", "cycles", (Row("<w>", "g"),), (Bar(0, "work", 0, 9, "", "a<b"),), (), 9
    )
    ElementTree.fromstring(to_svg(picture))


def test_times_are_those_of_a_timed_launch(traced) -> None:
    with pipedsl.use_device("sim:gfx942"):
        run = relay[1, 128].time(np.zeros((16, 64), np.float32), 16)
    assert picture_of(run).end == traced.runs[0].cycles


def test_hover_text_knows_the_lines_of_a_notebook_cell(tmp_path):
    """A cell is in no file; `linecache` has its text."""
    text = Path(__file__).read_text()
    first, last = text.index("@pipelined_kernel"), text.index("\n\n\n", text.index("def relay("))
    name, cell = str(tmp_path / "cell.py"), text[first:last] + "\n"
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    scope = dict(globals())
    exec(compile(cell, name, "exec"), scope)
    with pipedsl.use_device("sim:gfx942"):
        run = scope["relay"][1, 128].time(np.zeros((16, 64), np.float32), 16)
    hovers = [bar.hover for bar in picture_of(run).bars if bar.kind == "full"]
    assert any("with pipe.consume() as stage:" in hover for hover in hovers)
