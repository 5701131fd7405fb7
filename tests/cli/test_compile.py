"""``pipedsl compile``."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipedsl.cli.main import main

TEXT = """
from factor import FACTOR
import pipedsl
from pipedsl import gpu

@pipedsl.pipelined_kernel
def scale(x):
    x[gpu.thread_idx.x] *= FACTOR
"""
SECOND = """
@pipedsl.pipelined_kernel
def clear(x):
    x[gpu.thread_idx.x] = 0
"""


@pytest.fixture
def compile_(tmp_path: Path, capsys):
    """Function that compiles from a file; exit status, output, errors."""
    (tmp_path / "factor.py").write_text("FACTOR = 3\n")
    path = tmp_path / "kernels.py"

    def run(*options: str, text: str = TEXT) -> tuple[int, str, str]:
        path.write_text(text)
        status = main(["compile", str(path), "--arg", "zeros:int32:64", *options])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_resources_are_shown(compile_) -> None:
    status, out, _ = compile_("--arch", "gfx1100", "--block", "8,4")
    assert status == 0
    assert out.startswith("scale on gfx1100, block 32\n")
    assert "VGPRs" in out


@pytest.mark.parametrize(
    ("stage", "start"),
    [("source", "@pipedsl.pipelined_kernel\ndef scale(x):"), ("asm", "\t.amdgcn_target")],
)
def test_a_stage_is_printed(compile_, stage: str, start: str) -> None:
    _, out, _ = compile_("--arch", "gfx942", "--stage", stage)
    assert out.startswith(start)


def test_the_code_object_is_saved(compile_, tmp_path: Path) -> None:
    target = tmp_path / "scale.hsaco"
    assert compile_("--arch", "gfx942", "--hsaco", str(target))[0] == 0
    assert target.read_bytes()[:4] == b"\x7fELF"


def test_a_kernel_is_chosen_by_name(compile_) -> None:
    _, out, _ = compile_("--kernel", "clear", "--arch", "gfx942", text=TEXT + SECOND)
    assert out.startswith("clear on gfx942")


@pytest.mark.parametrize(
    ("text", "options", "message", "fix"),
    [
        (TEXT + SECOND, [], "has several kernels.", "--kernel takes one of: scale, clear."),
        (TEXT, ["--kernel", "clear"], "has no 'clear'.", "--kernel takes one of: scale."),
        ("", [], "has no kernel.", "--kernel takes one of: none."),
        (TEXT, ["--stage", "ptx"], "there is no stage 'ptx'.",
         "--stage takes one of: source, llvm, llvm_optimized, asm."),
        (TEXT, ["--arg", "i32:1"], "kernel 'scale' takes 1 argument (x), not 2.", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_message(
    compile_, text: str, options: list[str], message: str, fix: str
) -> None:
    status, _, err = compile_("--arch", "gfx942", *options, text=text)
    assert status == 1
    assert message in err
    assert fix in err


def test_a_file_that_is_absent(capsys) -> None:
    assert main(["compile", "/nonexistent.py"]) == 1
    assert "'/nonexistent.py' is not a file." in capsys.readouterr().err
