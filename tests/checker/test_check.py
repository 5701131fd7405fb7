"""``pipedsl.check``: what it takes, what it leaves alone, and the forms of its report.

What it finds is tested by the cases of the docs (tests/docs/test_reference.py), one per code.
"""

from __future__ import annotations

import json
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

import pipedsl
from pipedsl import AmdCounterBackend, LaunchError, gpu, pipelined_kernel, use_device
from pipedsl.cli.main import main
from pipedsl.core.arch import ARCHS
from pipedsl.core.findings import CODES
from pipedsl.sim import load_assembly


@pipelined_kernel
def racing(out):
    cells = gpu.shared.array(128, np.int32)
    t = gpu.thread_idx.x
    cells[t] = t
    out[t] = cells[127 - t]  # the other wave's


@pipelined_kernel
def ring(out, n):
    backend = AmdCounterBackend(2)
    slots = gpu.shared.array((2, 64), np.int32)
    lane = gpu.lane_id()
    if gpu.thread_idx.x == 0:
        backend.init_barriers(1, 1)
    gpu.barrier()
    if gpu.wave_id() == 0:
        for i in range(n):
            backend.wait_empty(i % 2, i // 2 + 1)
            slots[i % 2, lane] = i
            gpu.fence_lds()
            backend.arrive_full(i % 2)
    else:
        for i in range(n):
            backend.wait_full(i % 2, i // 2)
            out[i, lane] += slots[i % 2, lane]
            gpu.fence_lds()
            backend.arrive_empty(i % 2)


@pytest.fixture
def report():
    return pipedsl.check(racing[1, 128], np.zeros(128, np.int32), seeds=[0])


@pytest.mark.parametrize("arch", ARCHS)
def test_a_right_ring_is_clean_everywhere(arch: str) -> None:
    with use_device(f"sim:{arch}"):
        block = 2 * gpu.wave_size()
        report = pipedsl.check(ring[2, block], np.zeros((6, 64), np.int32), 6, seeds=2)
    # Two workgroups add to the same places.
    assert {finding.code for finding in report.findings} <= {"C220", "C221"}
    with use_device(f"sim:{arch}"):
        report = pipedsl.check(ring[1, block], np.zeros((6, 64), np.int32), n=6, seeds=2)
    assert report, report
    assert report.runs == 4
    assert report.instructions > 100


def test_arguments_stay_as_they_are() -> None:
    out = np.full((6, 64), 5, np.int32)
    kept = pipedsl.to_device(out)
    assert pipedsl.check(ring[1, 128], out, 6, seeds=1)
    assert pipedsl.check(ring[1, 128], kept, 6, seeds=1)
    assert (out == 5).all()
    assert (kept.copy_to_host() == 5).all()


def test_the_text_names_waves_lines_and_a_fix(report) -> None:
    assert not report
    assert report.findings[0].code == "C211"
    text = str(report)
    assert "racing on gfx942: " in text
    assert "nothing orders them" in text
    assert "cells[t] = t" in text or "out[t] = cells[127 - t]" in text
    assert "fix: put gpu.barrier()" in text
    assert repr(report).startswith("<Report racing on gfx942: C211")


def test_json_and_sarif(report) -> None:
    record = json.loads(report.to_json())
    assert record["kernel"] == "racing"
    assert record["findings"][0]["code"] == "C211"
    assert record["findings"][0]["where"]["file"] == __file__
    log = json.loads(report.to_sarif())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    results = run["results"]
    assert {result["ruleId"] for result in results} == {
        rule["id"] for rule in run["tool"]["driver"]["rules"]
    }
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("file://")
    assert place["region"]["startLine"] == record["findings"][0]["where"]["line"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_whole_and_escaped(report) -> None:
    tags = Tags()
    tags.feed(report._repr_html_())
    assert tags.open == []
    assert "C211" in report._repr_html_()


def test_reports_pickle(report) -> None:
    assert pickle.loads(pickle.dumps(report)) == report


def test_codes_are_complete() -> None:
    for code, row in CODES.items():
        assert code == row.code
        assert row.explanation.endswith(".")


def test_what_is_not_a_launch() -> None:
    with pytest.raises(LaunchError, match=r"check\(\) takes kernel\[grid, block\]"):
        pipedsl.check(racing, np.zeros(128, np.int32))


def test_wrong_arguments_show_the_users_line() -> None:
    with pytest.raises(LaunchError, match="kernel 'racing' takes 1 argument") as caught:
        pipedsl.check(racing[1, 128])
    assert caught.value.where.filename == __file__


def test_the_command_checks_an_assembly_file(tmp_path, capsys) -> None:
    path = tmp_path / "racing.s"
    text = racing.compile(np.zeros(128, np.int32), arch="gfx942", block=128).asm
    path.write_text(text)
    count = len(load_assembly(text).kernels["racing"].metadata.args)
    numbers = ["--arg", "i32:128"] * (count - 1)
    options = [str(path), "--block", "128", "--arg", "zeros:int32:128", *numbers]
    assert main(["check", *options]) == 1
    assert "[C211]" in capsys.readouterr().out
    fixed = "s_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32"
    path.write_text(text.replace("ds_read_b32", fixed))
    assert main(["check", *options]) == 0
    assert "clean in 8 runs" in capsys.readouterr().out
