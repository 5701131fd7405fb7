"""Arguments of a launch: signature, kernarg fields, copies of NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipedsl.core.errors import KernelTypeError, LaunchError
from pipedsl.core.image import Parameter
from pipedsl.frontend import type_of
from pipedsl.runtime import Device, DeviceArray
from pipedsl.target.signature import ArgumentType


def signature(args: Sequence[Any]) -> tuple[Any, ...]:
    """What of `args` decides their kernel types, as a hashable key."""
    return tuple([_kind(arg) for arg in args])


def argument_type(name: str, value: Any) -> ArgumentType:
    """The type of the argument for the parameter `name`.

    Raises
    ------
    KernelTypeError
        If kernels cannot take it; the message names the parameter.
    """
    try:
        return type_of(value)
    except KernelTypeError as error:
        raise KernelTypeError(f"argument {name!r}: {error.message}", fix=error.fix) from None


def _kind(arg: Any) -> Any:
    kind = type(arg)
    if kind is DeviceArray and arg.nbytes < _WIDE:
        return arg.kind
    if kind is int and -0x80000000 <= arg <= 0x7FFFFFFF:
        return int
    if kind is np.ndarray and arg.flags.c_contiguous and arg.nbytes < _WIDE:
        return arg.dtype, arg.ndim
    if kind is bool or kind is float or isinstance(arg, np.generic):
        return kind
    try:
        return type_of(arg)
    except KernelTypeError:
        return _NO_TYPE


_NO_TYPE = object()  # no plan has it; compiling for it raises
_WIDE = 2**31  # bytes; from here on the type can depend on the extents


Fields = Callable[[int, Sequence[int], Sequence[int]], tuple[int, ...]]


def array_fields(parameter: Parameter) -> Fields:
    """Function of address, shape and strides that gives the kernarg fields of `parameter`."""
    axes = parameter.ndim
    places = []
    for part in parameter.parts:
        what, _, axis = part.partition(".")
        start = {"pointer": 0, "shape": 1, "stride": 1 + axes}[what]
        places.append(start + int(axis or 0))
    pick = operator.itemgetter(*places)

    def fields(address: int, shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
        picked = pick((address, *shape, *strides))
        return picked if len(places) > 1 else (picked,)

    return fields


class HostArrays:
    """Device copies of the NumPy arrays of one launch.

    Every distinct array is copied once, densely; the ones that the kernel writes come back after
    the launch, into the caller's strides.
    """

    def __init__(self, device: Device, stream: int) -> None:
        self._device = device
        self._stream = stream
        self._copies: dict[int, _Copy] = {}

    def place(self, parameter: Parameter, array: np.ndarray) -> _Copy:
        """Copy `array` to the device, unless another parameter did.

        Raises
        ------
        LaunchError
            If the kernel writes the array and it is read-only, or overlaps another argument.
        """
        if parameter.written and not array.flags.writeable:
            raise LaunchError(
                f"the kernel writes {parameter.name!r}, which is a read-only array.",
                fix="pass a writeable array, e.g. a copy.",
            )
        copy = self._copies.get(id(array))
        if copy is None:
            address = self._device.allocate(array.nbytes, parameter.name, array.itemsize)
            copy = _Copy(parameter.name, array, np.ascontiguousarray(array), address)
            self._copies[id(array)] = copy
            self._device.copy_to_device(address, copy.dense, self._stream)
        copy.written |= parameter.written
        self._refuse_overlap(copy)
        return copy

    def _refuse_overlap(self, new: _Copy) -> None:
        for other in self._copies.values():
            if (
                other is not new
                and (other.written or new.written)
                and _overlap(other.array, new.array)
            ):
                raise LaunchError(
                    f"{other.name!r} and {new.name!r} overlap in memory and the kernel writes one.",
                    fix="pass copies, or one array and offsets into it.",
                )

    def copy_back(self) -> None:
        """Wait for the kernel, then update the arrays that it writes."""
        self._device.synchronize(self._stream)
        for copy in self._copies.values():
            if copy.written:
                self._device.copy_to_host(copy.dense, copy.address, self._stream)
                if copy.dense is not copy.array:
                    copy.array[...] = copy.dense

    def release(self) -> None:
        """Free the device copies."""
        for copy in self._copies.values():
            self._device.free(copy.address)


def _overlap(first: np.ndarray, second: np.ndarray) -> bool:
    if not np.may_share_memory(first, second):
        return False
    try:
        return np.shares_memory(first, second, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


@dataclass
class _Copy:
    """`dense` is `array` itself where that is C-contiguous."""

    name: str
    array: np.ndarray
    dense: np.ndarray
    address: int
    written: bool = False
