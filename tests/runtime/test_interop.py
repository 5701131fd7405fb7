"""Arrays of other libraries without copies, pinned arrays, copies in flight."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import pipedsl
from pipedsl import gpu, pipelined_kernel
from pipedsl.core.dtypes import DTYPES
from pipedsl.runtime import dlpack


@pipelined_kernel
def double(out):
    i = gpu.thread_idx.x
    if i < out.shape[0]:
        out[i] *= 2


class Tensor:
    """A tensor of some other library: all it has is DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **_):
        array = self.array
        return dlpack.export(self, array.ctypes.data, array.shape, array.dtype, (dlpack.CPU, 0))

    def __dlpack_device__(self):
        return dlpack.CPU, 0


@pytest.fixture(autouse=True)
def simulator():
    with pipedsl.use_device("sim:gfx942"):
        yield


@pytest.mark.parametrize("dtype", [n for n in DTYPES if not n.startswith(("float8", "bfloat"))])
def test_numpy_and_a_device_array_share_memory(dtype):
    values = np.arange(12).reshape(3, 4).astype(dtype)
    array = pipedsl.to_device(values)
    seen = np.from_dlpack(array)
    assert seen.dtype == values.dtype
    assert np.array_equal(seen, values)
    array.copy_from_host(np.zeros_like(values))
    assert not seen.any()


@pytest.mark.parametrize("dtype", [np.float32, np.int64, ml_dtypes.bfloat16])
def test_kernels_write_another_librarys_memory(dtype):
    values = np.arange(16).astype(dtype)
    array = pipedsl.from_dlpack(Tensor(values))
    double[1, 64](array)
    assert np.array_equal(values, 2 * np.arange(16))
    double[1, 64](Tensor(values))  # the launch takes it as it is
    assert np.array_equal(values, 4 * np.arange(16))


def test_what_numpy_lends_is_used_in_place():
    values = np.arange(8, dtype=np.float32)
    array = pipedsl.from_dlpack(values)
    double[1, 64](array)
    assert np.array_equal(values, 2 * np.arange(8))


def test_lent_memory_is_given_back():
    values = np.zeros(4, np.float32)
    tensor = Tensor(values)
    gone = weakref.ref(tensor)
    array = pipedsl.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert gone() is not None
    del array
    gc.collect()
    assert gone() is None
    dropped = pipedsl.to_device(values)
    gone = weakref.ref(dropped)
    capsule = dropped.__dlpack__()
    del dropped
    gc.collect()
    assert gone() is not None
    del capsule
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(np.zeros((4, 4), np.complex64).view(np.float64)), None),
        (np.zeros((4, 4), np.float32).T, "not C-contiguous"),
        (object(), "lends no memory"),
    ],
)
def test_what_cannot_be_borrowed(tensor, message):
    if message is None:
        assert pipedsl.from_dlpack(tensor).shape == (4, 4)
        return
    with pytest.raises(pipedsl.DeviceError, match=message):
        pipedsl.from_dlpack(tensor)


def test_a_capsule_is_taken_once():
    capsule = pipedsl.to_device(np.zeros(4)).__dlpack__()
    dlpack.take(capsule)
    with pytest.raises(pipedsl.DeviceError, match="was used before"):
        dlpack.take(capsule)


def test_memory_of_a_gpu_is_not_the_simulators():
    class Elsewhere(Tensor):
        def __dlpack__(self, **_):
            return dlpack.export(self, 4096, (4,), np.dtype(np.float32), (dlpack.ROCM, 1))

        def __dlpack_device__(self):
            return dlpack.ROCM, 1

    tensor = Elsewhere(np.zeros(4))
    for use in (pipedsl.from_dlpack, double[1, 64]):
        with pytest.raises(pipedsl.DeviceError, match="in the memory of AMD GPU 1"):
            use(tensor)


def test_a_simulated_array_has_no_cuda_interface():
    assert not hasattr(pipedsl.to_device(np.zeros(4)), "__cuda_array_interface__")


def test_copies_in_flight_need_dense_arrays():
    array = pipedsl.to_device(np.zeros((4, 4)))
    host = pipedsl.pinned_array((4, 4), np.float64)
    host[...] = 3
    array.copy_from_host(host, wait=False)
    out = pipedsl.pinned_array((4, 4), np.float64)
    assert array.copy_to_host(out, wait=False) is out
    pipedsl.synchronize()
    assert (out == 3).all()
    with pytest.raises(pipedsl.DeviceError, match="source is not C-contiguous"):
        array.copy_from_host(np.zeros((4, 4)).T, wait=False)
    with pytest.raises(pipedsl.DeviceError, match="out is not C-contiguous"):
        array.copy_to_host(np.zeros((4, 4)).T, wait=False)


def test_on_a_gpu(run_hip):
    output = run_hip("""
        import numpy as np
        import hip_simulation, pipedsl
        from tests.runtime.test_interop import double
        hip_simulation.know_all()
        hip_simulation.install()
        array = pipedsl.to_device(np.arange(8, dtype=np.float32))
        print(array.__dlpack_device__(), array.__cuda_array_interface__["typestr"])

        class Torch:  # what PyTorch on ROCm shows
            def __dlpack__(self): return array.__dlpack__()
            def __dlpack_device__(self): return array.__dlpack_device__()
        class CuPy:
            __cuda_array_interface__ = array.__cuda_array_interface__

        for other in (Torch(), CuPy()):
            same = pipedsl.from_dlpack(other)
            print(same.address == array.address, same.shape, same.dtype)
            double[1, 64](other)
        print(array.copy_to_host().tolist())
        before = hip_simulation.library.pipedsl_test_synchronisations()
        stream, pinned = pipedsl.stream(), pipedsl.pinned_array(8, np.float32)
        array.copy_to_host(pinned, stream, wait=False)
        array.copy_from_host(pinned, stream, wait=False)
        print(hip_simulation.library.pipedsl_test_synchronisations() - before)
        stream.synchronize()
        print(pinned.tolist()[1])
        del pinned, same, other, array
        Torch = CuPy = None
        import gc; gc.collect()
    """)
    assert output.splitlines() == [
        "(10, 0) <f4",
        "True (8,) float32",
        "True (8,) float32",
        str([4.0 * n for n in range(8)]),
        "0",
        "4.0",
    ]
