"""What a type checker says of user code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Function that checks a file of this folder strictly; its output."""
    cache = tmp_path_factory.mktemp("mypy")

    def check(name: str) -> str:
        options = ["--strict", "--no-error-summary", "--cache-dir", str(cache), "--config-file="]
        # The user's code is checked, not what it imports.
        silent = ["--follow-imports=silent", "--ignore-missing-imports"]
        out, problems, _ = api.run([*options, *silent, str(HERE / name)])
        assert not problems
        return out

    return check


def test_right_code_is_right(mypy):
    assert mypy("good.py") == ""


def test_wrong_launches_are_type_errors(mypy):
    found = {
        (int(line), kind)
        for line, kind in re.findall(r"bad\.py:(\d+): error: .*\[([a-z-]+)\]", mypy("bad.py"))
    }
    lines = (HERE / "bad.py").read_text().splitlines()
    wanted = {
        (number, match[1])
        for number, line in enumerate(lines, 1)
        if (match := re.search(r"# error: ([a-z-]+)", line))
    }
    assert len(wanted) == 9
    assert found == wanted
