"""The stress kernel: exact on every target with every ring size."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import pipedsl
from pipedsl import gpu
from pipedsl.core.arch import ARCHS

PROGRAM = Path(__file__).resolve().parents[2] / "kernels" / "stress.py"


@pytest.fixture(scope="module")
def stress():
    spec = importlib.util.spec_from_file_location("stress_under_test", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("stages", [1, 2, 4, 8])
@pytest.mark.parametrize("arch", ARCHS)
def test_every_item_arrives(stress, arch: str, stages: int) -> None:
    outcome = stress.check(stages, 8192, arch)
    assert (outcome.wrong, outcome.arch, outcome.items) == (0, arch, 8192)


@pytest.mark.parametrize("items", [0, 1, 7])
def test_few_items(stress, items: int) -> None:
    assert stress.check(4, items, "gfx942").wrong == 0


def test_the_program_checks_all(stress, capsys) -> None:
    assert stress.main(["--all", "--items", "50"]) == 0
    *lines, closing = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [arch for arch in ARCHS for _ in range(4)]
    assert closing.startswith("20 of 20 exact in ")


def test_a_mismatch_is_exit_status_1(stress, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    @pipedsl.pipelined_kernel
    def skips_the_first(result, n_items):
        if gpu.thread_idx.x == 0:
            for i in range(1, n_items):
                result[i] = i + 1

    monkeypatch.setattr(stress, "make_stress", lambda stages: skips_the_first)
    assert stress.main(["--items", "50", "--arch", "gfx942"]) == 1
    out = capsys.readouterr().out
    assert "1 items WRONG" in out
    assert "0 of 1 exact" in out
