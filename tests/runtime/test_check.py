"""Checked launches on the simulated device."""

from __future__ import annotations

import warnings

import pytest

from kernels import kernel_text
from pipedsl import config
from pipedsl.core.arch import get_arch
from pipedsl.core.findings import CheckWarning
from pipedsl.core.image import KernelImage, Parameter
from pipedsl.runtime.simulated import SimulatedDevice

EARLY = "\ts_load_dwordx2 s[4:5], s[0:1], 0x0\n\ts_mov_b32 s6, s4\n\ts_waitcnt lgkmcnt(0)\n"


@pytest.fixture
def launch():
    device = SimulatedDevice(get_arch("gfx942"))
    text = kernel_text(EARLY, args=[("n", "by_value", 8)])
    parameter = Parameter("n", "scalar", "int64", 0, ("value",))
    image = KernelImage("k", "gfx942", text, (parameter,), 64)
    return lambda: device.launch(image, (1, 1, 1), (64, 1, 1), (5,))


def test_a_finding_is_a_warning(launch):
    with config.scope(check=True), pytest.warns(CheckWarning) as caught:
        launch()
    (warning,) = [w.message for w in caught]
    assert warning.finding.code == "C110"
    assert str(warning).startswith("[C110] s4 is read by `s_mov_b32 s6, s4`")


def test_launches_are_not_checked_by_default(launch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch()
