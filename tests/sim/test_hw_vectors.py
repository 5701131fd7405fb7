"""757 recorded gfx1100 programs: the differences are exactly those that the documentation settles."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hw_respell import convertible, respell
from hw_vectors import differences, program, read_vectors, run_vector

from pipedsl.core.errors import UnsupportedInstruction

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("PIPEDSL_SHARED", ROOT.parent / "shared"))
VECTORS = SHARED / "cases" / "hw_vectors_gfx1100.jsonl"
DOCUMENT = ROOT / "docs" / "hw-vectors.md"

pytestmark = pytest.mark.skipif(not VECTORS.exists(), reason="the recorded programs are not here")


@pytest.fixture(scope="module")
def vectors() -> list[dict]:
    return read_vectors(VECTORS)


def documented(arch: str) -> dict[str, set[tuple[str, str, str]]]:
    """Program to its (register, ours, recorded) of lane 0, from the table of the document."""
    found: dict[str, set[tuple[str, str, str]]] = {}
    for line in DOCUMENT.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0].startswith("test_") and arch in cells[1].split():
            parts = [re.split(r",\s*", cell) for cell in cells[2:5]]
            found[cells[0]] = set(zip(*parts, strict=True))
    return found


def found(vector: dict, arch: str) -> set[tuple[str, str, str]]:
    """(register, ours, recorded) of lane 0 and of the scalars."""
    state = run_vector(vector, arch, (lambda line: respell(line, arch)) if arch != "gfx1100" else str)
    differing = differences(vector, state)
    firsts = {tuple(d.replace("[0]", "").split()) for d in differing if "[" not in d.replace("[0]", "")}
    assert bool(firsts) == bool(differing)
    return firsts


def test_every_recorded_program_runs_and_differs_only_as_documented(vectors):
    assert len(vectors) == 757
    differing = {v["test"]: d for v in vectors if (d := found(v, "gfx1100"))}
    assert differing == documented("gfx1100")


def test_respelled_programs_on_gfx1201(vectors):
    chosen = [v for v in vectors if convertible(program(v), "gfx1201")]
    assert len(chosen) == 744
    differing = {v["test"]: d for v in chosen if (d := found(v, "gfx1201"))}
    assert differing == documented("gfx1201")


def test_respelled_programs_on_gfx942(vectors):
    chosen = [v for v in vectors if convertible(program(v), "gfx942")]
    absent, differing = set(), {}
    for vector in chosen:
        try:
            if differs := found(vector, "gfx942"):
                differing[vector["test"]] = differs
        except UnsupportedInstruction as error:
            absent.add(re.search(r"not have (\w+)", error.message)[1])
    assert len(chosen) == 463
    assert absent == {
        "v_dot4_i32_iu8", "v_dot8_i32_iu4", "v_mullit_f32", "s_pack_hl_b32_b16",
        "v_cvt_pk_i16_f32", "v_cvt_pk_u16_f32",
    }  # fmt: skip
    assert differing == documented("gfx942")
