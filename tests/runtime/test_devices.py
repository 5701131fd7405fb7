"""Choosing a device."""

from __future__ import annotations

import threading

import pytest

import pipedsl
from pipedsl import ConfigError, TargetError, config, gpu
from pipedsl.core.arch import ARCHS


@pytest.fixture(autouse=True)
def no_choice(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PIPEDSL_DEVICE", raising=False)
    before = config.set_for_thread(device=None)
    yield
    config.set_for_thread(**before)


@pytest.mark.parametrize("arch", ARCHS)
def test_every_arch_has_a_simulator(arch: str) -> None:
    device = pipedsl.get_device(f"sim:{arch}")
    assert (device.name, device.arch.name) == (f"sim:{arch}", arch)
    assert pipedsl.get_device(f"sim:{arch}") is device


def test_sim_alone_is_gfx942() -> None:
    assert pipedsl.get_device("sim") is pipedsl.get_device("sim:gfx942")


def test_the_environment_is_read_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPEDSL_DEVICE", "sim:gfx950")
    assert pipedsl.get_device().name == "sim:gfx950"
    monkeypatch.setenv("PIPEDSL_DEVICE", "sim:gfx1201")
    assert pipedsl.get_device().name == "sim:gfx1201"


def test_use_device_as_a_call_holds_until_the_next() -> None:
    pipedsl.use_device("sim:gfx90a")
    assert pipedsl.get_device().name == "sim:gfx90a"
    pipedsl.use_device("sim:gfx1100")
    assert pipedsl.get_device().name == "sim:gfx1100"


def test_use_device_as_a_context_manager_nests_and_restores() -> None:
    pipedsl.use_device("sim:gfx90a")
    with pipedsl.use_device("sim:gfx950") as outer:
        assert pipedsl.get_device() is outer
        with pipedsl.use_device("sim:gfx1100"):
            assert pipedsl.get_device().name == "sim:gfx1100"
        assert pipedsl.get_device() is outer
    assert pipedsl.get_device().name == "sim:gfx90a"


def test_a_thread_has_its_own_device() -> None:
    config.set_for_thread(device="sim:gfx90a")
    seen = []

    def work() -> None:
        pipedsl.use_device("sim:gfx950")
        seen.append(pipedsl.get_device().name)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["sim:gfx950"]
    assert pipedsl.get_device().name == "sim:gfx90a"


def test_wave_size_on_the_host_is_the_current_device_s() -> None:
    for name, arch in ARCHS.items():
        with pipedsl.use_device(f"sim:{name}"):
            assert gpu.wave_size() == arch.wave_size


@pytest.mark.parametrize("spec", ["", "cuda", "hip:x", "sim:", "sim:gfx942:0", "auto:1"])
def test_a_spec_that_is_none(spec: str) -> None:
    with pytest.raises(ConfigError, match=f"'{spec}' is not a device") as caught:
        pipedsl.use_device(spec)
    assert caught.value.fix == "use auto, hip, hip:N, sim or sim:ARCH."


def test_an_arch_that_is_not_supported() -> None:
    with pytest.raises(TargetError, match="'gfx906' is not a supported arch"):
        pipedsl.get_device("sim:gfx906")


def test_a_refused_device_leaves_the_current_one() -> None:
    pipedsl.use_device("sim:gfx950")
    with pytest.raises(TargetError):
        pipedsl.use_device("sim:gfx906")
    assert pipedsl.get_device().name == "sim:gfx950"


def test_no_hip_library_means_the_simulator_and_hip_says_why(run_python) -> None:
    output = run_python(
        """
        import pipedsl
        from pipedsl.runtime import candidates
        print(pipedsl.get_device().name)
        for candidate in candidates():
            print(candidate.spec, candidate.reason)
        try:
            pipedsl.get_device("hip")
        except pipedsl.DeviceError as error:
            print(error.message)
        """,
        ROCM_PATH="/nonexistent", ROCM_HOME="/nonexistent", LD_LIBRARY_PATH="/nonexistent",
    )  # fmt: skip
    missing = "the HIP library (libamdhip64.so) was not found"
    assert output.splitlines() == [
        "sim:gfx942",
        f"hip {missing}",
        "sim:gfx942 None",
        f"there is no device 'hip' (hip: {missing}).",
    ]
