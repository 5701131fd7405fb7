"""``pipedsl isa``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipedsl.cli.main import main
from pipedsl.isa.opcode import TABLE

TEXT = """
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
kernel:                                  ; @kernel
\ts_load_b32 s0, s[0:1], 0x0             ; v_in_a_comment
\tv_dual_mov_b32 v0, 0 :: v_dual_frob_b32 v1, v2
\tv_frob_b32_e32 v0, v1
\tv_frob_b32_e32 v0, v1
\ts_endpgm
\t.amdgpu_metadata
amdhsa.kernels:
  - .name: v_in_metadata
\t.end_amdgpu_metadata
"""


def test_every_row_of_an_arch_is_listed(capsys) -> None:
    assert main(["isa", "--arch", "gfx942"]) == 0
    *rows, summary = capsys.readouterr().out.splitlines()
    expected = [row for row in TABLE.rows() if "gfx942" in row.archs]
    assert [(line[:36].rstrip(), *line[36:].split()[:2]) for line in rows] == [
        (row.name, row.unit.value, row.fidelity.value) for row in expected
    ]
    assert sum(int(part.split()[0]) for part in summary.split(", ")) == len(expected)


def test_without_an_arch_rows_say_who_has_them(capsys) -> None:
    main(["isa"])
    line = next(
        line for line in capsys.readouterr().out.splitlines() if line.split()[0] == "s_endpgm"
    )
    assert line.split()[3:] == ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]


def test_what_a_file_has_and_the_simulator_lacks(tmp_path: Path, capsys) -> None:
    path = tmp_path / "kernel.s"
    path.write_text(TEXT)
    assert main(["isa", "--missing", str(path)]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["v_dual_frob_b32", "1", "uses"],
        ["v_frob_b32_e32", "2", "uses"],
        ["2", "of", "5", "mnemonics", "are", "missing", "for", "gfx1100"],
    ]


def test_a_file_that_lacks_nothing(tmp_path: Path, capsys) -> None:
    path = tmp_path / "kernel.s"
    path.write_text("\ts_endpgm\n")
    assert main(["isa", "--arch", "gfx942", "--missing", str(path)]) == 0
    assert capsys.readouterr().out == "0 of 1 mnemonics are missing for gfx942\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s_endpgm\n", "names no target"),
        ('.amdgcn_target "amdgcn-amd-amdhsa--gfx906"\n', "'gfx906' is not a supported arch"),
    ],
)
def test_a_file_without_a_usable_target(tmp_path: Path, capsys, text: str, message: str) -> None:
    path = tmp_path / "kernel.s"
    path.write_text(text)
    assert main(["isa", "--missing", str(path)]) == 1
    assert message in capsys.readouterr().err


def test_a_file_that_is_absent(tmp_path: Path, capsys) -> None:
    assert main(["isa", "--missing", str(tmp_path / "none.s")]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_a_reader_that_stops_early_is_no_error() -> None:
    command = [sys.executable, "-m", "pipedsl", "isa"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
