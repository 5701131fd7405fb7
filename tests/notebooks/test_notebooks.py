"""The notebooks of the docs run from their first cell to their last."""

from __future__ import annotations

from pathlib import Path

import jupytext
import nbclient
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.md"))

# What each must have shown: (MIME type, text).
SHOWN = {
    "first_pipeline": ("text/html", "waits for full"),
    "race_and_hang": ("text/html", "C310"),
    "tune_gemm": ("image/png", ""),
}


def test_there_are_three():
    assert {path.stem for path in NOTEBOOKS} == set(SHOWN)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    notebook = jupytext.read(path)
    client = nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3")
    client.execute(cwd=str(FOLDER))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kind, text = SHOWN[path.stem]
    data = [output.data for output in outputs if "data" in output]
    assert any(text in shown.get(kind, "") for shown in data if kind in shown)
    assert not [output for output in outputs if output.output_type == "error"]
    for output in outputs:
        assert len(output.get("data", {}).get("text/html", "")) < 300_000
