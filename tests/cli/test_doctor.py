"""``pipedsl doctor``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pipedsl
from pipedsl.cli.main import main
from pipedsl.core.arch import ARCHS


@pytest.fixture
def report(capsys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Function that runs the command; the exit status, and the report's lines as words."""
    monkeypatch.setenv("PIPEDSL_CACHE_DIR", str(tmp_path / "cache"))

    def run(**environment: str) -> tuple[int, list[list[str]]]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        status = main(["doctor"])
        return status, [line.split() for line in capsys.readouterr().out.splitlines()]

    return run


def test_it_names_the_device_and_where_the_choice_came_from(report) -> None:
    status, lines = report(PIPEDSL_DEVICE="sim:gfx950")
    assert status == 0
    assert ["current", "sim:gfx950", "chosen", "by", "PIPEDSL_DEVICE"] in lines
    assert ["device", "sim:gfx950", "PIPEDSL_DEVICE"] in lines


def test_it_lists_versions_archs_and_the_cache(report, tmp_path: Path) -> None:
    _, lines = report(PIPEDSL_DEVICE="sim")
    assert ["pipedsl", pipedsl.__version__] in lines
    assert ["folder", str(tmp_path / "cache")] in lines
    assert ["holds", "0", "files,", "0.0", "MB"] in lines
    assert {line[0] for line in lines} >= set(ARCHS)
    assert ["gfx950", "64", "160", "KiB", "512"] in [line[:5] for line in lines]


def test_a_device_that_cannot_be_used_is_status_1(report) -> None:
    status, lines = report(PIPEDSL_DEVICE="sim:gfx906")
    assert status == 1
    assert ["current", "none", "'gfx906'", "is", "not", "a", "supported", "arch."] in lines


def test_auto_says_why(report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIPEDSL_DEVICE", raising=False)
    _, lines = report()
    current = next(line for line in lines if line[:1] == ["current"])
    assert " ".join(current[2:]) in (
        "no supported AMD GPU was found",
        "the first supported AMD GPU",
    )


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "pipedsl", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"pipedsl {pipedsl.__version__}\n"


def test_no_command_is_wrong_usage(capsys) -> None:
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "COMMAND" in capsys.readouterr().err
