"""The cases behind the pages of errors and findings meet their code, and their repair is clean."""

from __future__ import annotations

import pytest

import reference
from pipedsl.core.findings import CODES

NAMES = sorted(path.stem for path in reference.CASES.glob("*.py"))


@pytest.mark.filterwarnings("ignore::pipedsl.core.findings.CheckWarning")
@pytest.mark.parametrize("code", NAMES)
def test_a_case_meets_its_code_and_its_repair_nothing(code: str) -> None:
    case = reference.Case.read(code)
    assert code in reference.run(case.faulty).codes
    assert reference.run(case.fixed).codes == ()


def test_every_code_has_a_case() -> None:
    missing = {*reference.error_classes(), *CODES} - {*NAMES} - {*reference.WITHOUT_CASE}
    assert not missing


def test_errors_take_six_lines_at_most() -> None:
    for code in NAMES:
        if code.startswith("P"):
            assert len(reference.run(reference.Case.read(code).faulty).text.splitlines()) <= 6
