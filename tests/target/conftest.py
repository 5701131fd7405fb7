"""Running a kernel on the simulator."""

from __future__ import annotations

import pytest

from pipedsl import pipelined_kernel, use_device


@pytest.fixture
def run():
    """``run(function, *args, grid=1, block=64, arch="gfx942")``: compile, launch, copy back."""

    def launch(function, *args, grid=1, block=64, arch="gfx942"):
        with use_device(f"sim:{arch}"):
            pipelined_kernel(function)[grid, block](*args)

    return launch
