"""What a user sees of an error, in a terminal and in a notebook."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

import pipedsl
from pipedsl.core import errors

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.PipedslError)
]

SCRIPT = """
import numpy as np
import pipedsl

@pipedsl.pipelined_kernel
def broken(out):
    out[0] = "text"

def outer():
    broken.compile(np.zeros(4, np.int32), arch="gfx942", block=64)

outer()
"""


def fail(tmp_path, **environment: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr


def test_a_terminal_shows_six_lines_at_most(tmp_path):
    lines = fail(tmp_path).splitlines()
    assert len(lines) <= 6
    assert lines[0].startswith("KernelTypeError: [P220] ")
    assert lines[1].endswith("script.py:7")
    assert lines[2].strip() == 'out[0] = "text"'


def test_a_switch_shows_pythons_traceback(tmp_path):
    text = fail(tmp_path, PIPEDSL_TRACEBACK="1")
    assert text.startswith("Traceback (most recent call last):")
    assert "in outer" in text


def test_other_errors_look_as_ever(tmp_path):
    script = "import pipedsl\npipedsl.LaunchError('x')\n1 / 0"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_another_hook_is_left_alone():
    script = (
        "import sys, pipedsl\nmine = lambda *error: print('mine')\nsys.excepthook = mine\n"
        "raise pipedsl.LaunchError('x')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "mine\n"


def test_a_notebook_shows_the_same_and_has_the_switch():
    error = errors.LaunchError("no.", fix="do.", where=errors.SourceLocation("f.py", 3, 2, "  x()"))
    assert error._render_traceback_() == [f"LaunchError: {error}"]
    assert str(error).splitlines() == ["[P400] no.", "  at f.py:3", "    x()", "    ^", "  fix: do."]
    with pipedsl.config.scope(traceback=True):
        try:
            raise error
        except errors.LaunchError as caught:
            assert caught._render_traceback_()[0].startswith("Traceback")


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_pickles(kind):
    error = kind("what is wrong.", fix="what to do.", where=errors.SourceLocation("f.py", 1))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert again.where == error.where
