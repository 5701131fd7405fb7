"""Every Python example in the README and the docs runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    """The blocks of one page share names, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(_BLOCK.findall(page.read_text())):
        name = str(tmp_path / f"{page.stem}_{number}.py")
        Path(name).write_text(block)
        exec(compile(block, name, "exec"), scope)


def test_the_readme_has_examples():
    assert len(_BLOCK.findall((ROOT / "README.md").read_text())) >= 2
