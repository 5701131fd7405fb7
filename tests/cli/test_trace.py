"""``pipedsl trace``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pipedsl
from pipedsl import gpu
from pipedsl.cli.main import main


@pipedsl.pipelined_kernel
def fill(out):
    out[gpu.thread_idx.x] = gpu.wave_id()


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    path = tmp_path / "fill.s"
    path.write_text(fill.compile(np.zeros(128, np.int32), arch="gfx942", block=128).asm)
    return ["trace", str(path), "--block", "128", "--arg", "zeros:int32:128", "--arg", "i32:128"]


def test_a_timeline_is_printed_and_saved(command, tmp_path, capsys) -> None:
    target = tmp_path / "fill.json"
    assert main([*command, "--save", str(target)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fill on gfx942: ")
    assert [line[:15] for line in lines[1:3]] == ["wave 0 (worker)", "wave 1 (worker)"]
    spans = [e for e in json.loads(target.read_text())["traceEvents"] if e["ph"] == "X"]
    assert {span["tid"] for span in spans} == {0, 1}


@pytest.mark.parametrize(
    ("name", "message"),
    [("fill.png", "cannot be saved as 'fill.png'"), ("none/fill.svg", "cannot be written")],
)
def test_what_cannot_be_saved_is_one_message(command, tmp_path, capsys, name, message) -> None:
    assert main([*command, "--save", str(tmp_path / name)]) == 1
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["fill.s"]
