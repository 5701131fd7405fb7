"""``pipedsl run``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pipedsl
from pipedsl import LaunchError, gpu
from pipedsl.cli.main import main
from pipedsl.cli.values import parse_argument


@pipedsl.pipelined_kernel
def double(x, y, offset):
    i = gpu.thread_idx.x
    if i < x.shape[0]:
        y[i] = x[i] * 2 + offset


@pytest.fixture
def assembly(tmp_path: Path) -> str:
    x = np.zeros(4, np.int32)
    path = tmp_path / "double.s"
    path.write_text(double.compile(x, x, np.int32(0), arch="gfx942", block=64).asm)
    return str(path)


ARGUMENTS = ["--arg", "arange:int32:4", "--arg", "i32:4", "--arg", "zeros:int32:4", "--arg", "i32:4",
             "--arg", "i32:-5"]  # fmt: skip


def test_a_launch_prints_and_saves(assembly: str, tmp_path: Path, capsys) -> None:
    out = tmp_path / "y.npy"
    status = main(
        ["run", assembly, "--block", "64", *ARGUMENTS, "--print", "3", "--out", f"2={out}"]
    )
    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert lines[:2] == ["x: 0 1 2", "y: -5 -3 -1"]
    assert lines[2].startswith("double on sim:gfx942: ")
    assert np.load(out).tolist() == [-5, -3, -1, 1]


def test_the_first_array_is_saved_by_default(assembly: str, tmp_path: Path) -> None:
    out = tmp_path / "x.npy"
    main(["run", assembly, "--block", "64", *ARGUMENTS, "--out", str(out)])
    assert np.load(out).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--arg", "i32:1"], "double takes 5 arguments, got 6."),
        (["--kernel", "triple"], "has no 'triple'."),
        (["--out", "1=x.npy"], "--out '1=x.npy': argument 1 is not an array."),
        (["--grid", "0"], "grid must be one to three positive integers"),
    ],
)
def test_what_cannot_be_done_is_one_message(
    assembly: str, capsys, extra: list[str], message: str
) -> None:
    assert main(["run", assembly, "--block", "64", *ARGUMENTS, *extra]) == 1
    assert message in capsys.readouterr().err


def test_a_file_that_is_absent(tmp_path: Path, capsys) -> None:
    assert main(["run", str(tmp_path / "none.s"), "--block", "64"]) == 1
    assert "none.s' cannot be read" in capsys.readouterr().err


def test_extents_are_checked_by_the_parser(assembly: str, capsys) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["run", assembly, "--block", "8,8,1,1"])
    assert stop.value.code == 2
    assert "'8,8,1,1' is not one to three integers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("i32:-7", "int32", -7),
        ("u64:0x10", "uint64", 16),
        ("f32:0.5", "float32", 0.5),
        ("bool:true", "bool", True),
        ("ones:float16:2x3", "float16", [[1, 1, 1], [1, 1, 1]]),
        ("arange:int64:2x2", "int64", [[0, 1], [2, 3]]),
        ("zeros:uint8:0", "uint8", []),
    ],
)
def test_argument_values(text: str, dtype: str, value: object) -> None:
    parsed = parse_argument(text, 0)
    assert parsed.dtype == dtype
    assert parsed.tolist() == value


def test_random_arrays_are_small_and_repeatable() -> None:
    ints = parse_argument("rand:int32:1000", 1)
    assert (ints.min(), ints.max()) == (-8, 7)
    floats = parse_argument("rand:float32:100", 1)
    assert np.abs(floats).max() < 1
    np.testing.assert_array_equal(floats, parse_argument("rand:float32:100", 1))


def test_arrays_from_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6).reshape(2, 3).T)
    loaded = parse_argument(f"npy:{path}", 0)
    assert loaded.flags.c_contiguous
    assert loaded.tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("64", "'64' is not a kernel argument."),
        ("i32:x", "'x' is not a value of int32."),
        ("i8:128", "'128' is not a value of int8."),
        ("bool:2", "'2' is not a value of bool."),
        ("zeros:bf16:4", "'bf16' in 'zeros:bf16:4' is not a dtype."),
        ("zeros:int32:4*4", "'4*4' in 'zeros:int32:4*4' is not a shape."),
        ("zeros:int32:", "'' in 'zeros:int32:' is not a shape."),
        ("npy:/nonexistent.npy", "'/nonexistent.npy' cannot be read as a NumPy file"),
    ],
)
def test_arguments_that_are_none(text: str, message: str) -> None:
    with pytest.raises(LaunchError) as caught:
        parse_argument(text, 0)
    assert caught.value.message.startswith(message)
