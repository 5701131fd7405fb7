"""Every arithmetic mnemonic that other compilers were seen to emit has a row."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest

from pipedsl.isa import instruction  # noqa: F401  (fills the table)
from pipedsl.isa.opcode import TABLE, Fidelity

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("PIPEDSL_SHARED", ROOT.parent / "shared"))
HISTOGRAM = SHARED / "reference" / "aiter_asm_instruction_histogram.csv"
FOREIGN = sorted((SHARED / "examples" / "foreign_asm").glob("*.s"))

_OTHER = re.compile(r"v_s?w?mfma|v_mfma|v_wmma|s_load|s_store|s_buffer|s_atomic|s_barrier")


def has_row(mnemonic: str, arch: str) -> bool:
    name = mnemonic.replace("v_dual_", "v_", 1)
    row = TABLE.find(mnemonic, arch) or TABLE.find(name, arch)
    return row is not None and row.fidelity is not Fidelity.UNSUPPORTED


def arithmetic(mnemonic: str) -> bool:
    return mnemonic.startswith(("v_", "s_")) and not _OTHER.match(mnemonic)


@pytest.mark.skipif(not HISTOGRAM.exists(), reason="the histogram is not here")
def test_the_histogram_of_hand_written_kernels():
    with HISTOGRAM.open() as text:
        rows = [(row["gfx"], row["mnemonic"]) for row in csv.DictReader(text)]
    assert len(rows) > 250
    missing = [row for row in rows if arithmetic(row[1]) and not has_row(row[1], row[0])]
    assert not missing


@pytest.mark.skipif(not FOREIGN, reason="the foreign assembly is not here")
@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.stem)
def test_foreign_assembly(path):
    arch = re.search(r"gfx\w+", path.stem)[0]
    found = set()
    for line in path.read_text().splitlines():
        for part in line.split(";")[0].split("::"):
            if (word := re.match(r"\s*([vs]_\w+)", part)) and arithmetic(word[1]):
                found.add(word[1])
    assert len(found) > 10
    assert not [mnemonic for mnemonic in found if not has_row(mnemonic, arch)]


def test_an_inexact_row_says_why():
    inexact = [row for row in TABLE.rows() if row.fidelity is not Fidelity.EXACT]
    assert len(inexact) > 20
    assert not [row.name for row in inexact if not row.reason]
