"""Types of launch arguments."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from pipedsl.core.dtypes import DTYPES
from pipedsl.core.errors import KernelTypeError
from pipedsl.frontend import signature_key, type_of


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_scalars_keep_their_dtype(name):
    assert str(type_of(np.dtype(name).type(1))) == name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (True, "bool"),
        (7, "int32"),
        (-(2**31), "int32"),
        (2**31, "int64"),
        (2**63, "uint64"),
        (0.5, "float32"),
    ],
)
def test_python_numbers(value, name):
    assert str(type_of(value)) == name


def test_int_over_64_bits():
    with pytest.raises(KernelTypeError, match="needs more than 64 bits"):
        type_of(2**64)


def fake(shape, strides, dtype="float32"):
    return SimpleNamespace(shape=shape, strides=strides, dtype=np.dtype(dtype))


@pytest.mark.parametrize(
    ("array", "parts", "wide"),
    [
        (np.zeros(4, np.float32), ("pointer", "shape.0"), False),
        (np.zeros((4, 5)), ("pointer", "shape.0", "shape.1"), False),
        (
            np.zeros((4, 5)).T,
            ("pointer", "shape.0", "shape.1", "stride.0", "stride.1"),
            False,
        ),
        (np.zeros(8, np.int8)[::2], ("pointer", "shape.0", "stride.0"), False),
        (np.zeros(8)[::-1], ("pointer", "shape.0", "stride.0"), True),
        (fake((2**30,), (4,)), ("pointer", "shape.0"), False),
        (fake((2**30 + 1,), (4,)), ("pointer", "shape.0"), True),
        (fake((2**31,), (1,), "int8"), ("pointer", "shape.0"), True),
        (np.zeros((0, 3)), ("pointer", "shape.0", "shape.1"), False),
    ],
)
def test_layout(array, parts, wide):
    ty = type_of(array)
    assert ty.parts == parts
    assert ty.wide == wide


def test_equal_layouts_are_one_type():
    assert type_of(np.zeros(4)) is type_of(np.zeros(9))
    assert type_of(np.zeros(4)) != type_of(np.zeros(4)[::2])


def test_signature_key_tells_types_apart():
    values = [np.zeros(4), np.zeros(8)[::2], np.zeros(4, np.float32), np.zeros((2, 2)), 1, 1.0]
    keys = {signature_key([type_of(value)]) for value in values}
    assert len(keys) == len(values)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", "a kernel cannot take a str."),
        (None, "a kernel cannot take a NoneType."),
        (np.zeros(()), "a kernel cannot take a 0-D array."),
        (np.zeros((1, 1, 1, 1)), "a kernel cannot take a 4-D array."),
        (np.zeros(2, np.complex64), "kernels cannot take the dtype <c8."),
        (np.zeros(2, ">f4"), "kernels cannot take the dtype >f4."),
        (np.complex128(1), "kernels cannot take the dtype <c16."),
        (
            np.zeros(4, [("a", "i1"), ("b", "<f4")])["b"],
            "the array's strides (5,) are no multiples of its item size 4.",
        ),
    ],
)
def test_refused(value, message):
    with pytest.raises(KernelTypeError) as caught:
        type_of(value)
    assert caught.value.message == message
    assert caught.value.fix
