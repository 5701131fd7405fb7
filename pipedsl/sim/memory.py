"""Device memory of the simulator: allocations, each with its own range of addresses."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import numpy as np

from pipedsl.core.errors import DeviceError
from pipedsl.sim import layout

_SLOTS = 1 << 16
_SPAN = 1 << 32


@dataclass
class Allocation:
    """One allocation.

    Attributes
    ----------
    address : int
        Device address of its first byte.
    nbytes : int
    name : str
        What errors call it.
    writable : bool
    array : numpy.ndarray
        The host bytes; kept alive here.
    """

    address: int
    nbytes: int
    name: str
    writable: bool
    array: np.ndarray = field(repr=False)
    itemsize: int = 1


class Memory:
    """A device address space.

    Every allocation starts its own 4 GiB range, so an index that runs off an array, in either
    direction, never lands in another. Addresses are handed out in the same order every time and
    freed ranges are reused last.
    """

    def __init__(self) -> None:
        self.table = np.zeros((_SLOTS, 2), np.uint64)
        self._allocations: dict[int, Allocation] = {}
        self._freed: dict[int, Allocation] = {}
        self._free_slots: list[int] = []
        self._next = layout.FIRST_SLOT
        self._lock = threading.Lock()

    def allocate(self, nbytes: int, name: str = "buffer", itemsize: int = 1) -> int:
        """Reserve `nbytes` zeroed bytes; returns their device address.

        Errors count places in elements of `itemsize` bytes.

        Raises
        ------
        DeviceError
            If the host has no memory for it.
        """
        if nbytes < 0:
            raise DeviceError(f"an allocation cannot have {nbytes} bytes.")
        try:
            array = np.zeros(max(nbytes, 1), np.uint8)
        except (MemoryError, ValueError):
            raise DeviceError(f"there is no memory for {nbytes} bytes.") from None
        return self._place(array, nbytes, name, writable=True, itemsize=itemsize)

    def map(self, array: np.ndarray, name: str = "array", *, writable: bool = True) -> int:
        """Make the bytes of a C-contiguous `array` visible to kernels, in place.

        Raises
        ------
        DeviceError
            If the array is not C-contiguous.
        """
        if not array.flags.c_contiguous:
            raise DeviceError(f"{name} is not C-contiguous.", fix="pass np.ascontiguousarray(...).")
        data = array.reshape(-1).view(np.uint8) if array.size else np.zeros(1, np.uint8)
        writable = writable and array.flags.writeable
        return self._place(data, array.nbytes, name, writable=writable, itemsize=array.itemsize)

    def _place(
        self, data: np.ndarray, nbytes: int, name: str, *, writable: bool, itemsize: int = 1
    ) -> int:
        slots = max(-(-nbytes // _SPAN), 1)
        with self._lock:
            slot = self._take(slots)
            address = slot * _SPAN
            for part in range(slots):
                size = min(nbytes - part * _SPAN, _SPAN)
                flag = layout.SLOT_WRITABLE if writable else 0
                self.table[slot + part] = (data.ctypes.data + part * _SPAN, size | flag)
            self._freed.pop(address, None)
            self._allocations[address] = Allocation(address, nbytes, name, writable, data, itemsize)
        return address

    def _take(self, slots: int) -> int:
        if self._next + slots <= _SLOTS:
            slot = self._next
            self._next += slots
            return slot
        if slots == 1 and self._free_slots:
            return self._free_slots.pop(0)
        raise DeviceError("the simulator's address space is used up.", fix="free some arrays.")

    def free(self, address: int) -> None:
        """Give an allocation back; its addresses fault from now on.

        Raises
        ------
        DeviceError
            If nothing is allocated at `address`.
        """
        with self._lock:
            found = self._allocations.pop(address, None)
            if found is None:
                raise DeviceError(f"nothing is allocated at {address:#x}.")
            first, slots = address // _SPAN, max(-(-found.nbytes // _SPAN), 1)
            self.table[first : first + slots] = 0
            self._free_slots += range(first, first + slots)
            found.array = np.empty(0, np.uint8)
            self._freed[address] = found

    def view(self, address: int, nbytes: int) -> np.ndarray:
        """The bytes ``[address, address + nbytes)`` as a uint8 array that shares memory.

        Raises
        ------
        DeviceError
            If they are not all inside one allocation.
        """
        found = self.find(address)
        if found is None or address + nbytes > found.address + found.nbytes:
            raise DeviceError(f"{nbytes} bytes at {address:#x} are not allocated.")
        start = address - found.address
        return found.array[start : start + nbytes]

    def writable(self) -> list[Allocation]:
        """The allocations that kernels may write, in the order of their addresses."""
        with self._lock:
            return [self._allocations[a] for a in sorted(self._allocations) if self._allocations[a].writable]

    def writable_bytes(self) -> int:
        """Bytes of the allocations that kernels may write."""
        return sum(found.nbytes for found in self.writable())

    def total_bytes(self) -> int:
        """Bytes of all allocations, each rounded up to a page of 4 KiB and one more."""
        with self._lock:
            return sum((found.nbytes >> 12) + 2 << 12 for found in self._allocations.values())

    def clone(self) -> Memory:
        """The same addresses; what kernels may write is copied."""
        other = Memory()
        with self._lock:
            other.table[:] = self.table
            other._next = self._next
            for address, found in self._allocations.items():
                array = found.array.copy() if found.writable else found.array
                other._allocations[address] = replace(found, array=array)
                first = address // _SPAN
                for part in range(max(-(-found.nbytes // _SPAN), 1)):
                    other.table[first + part, 0] = array.ctypes.data + part * _SPAN
        return other

    def find(self, address: int) -> Allocation | None:
        """The allocation whose range of addresses holds `address`, even past its end."""
        slot = address // _SPAN
        for first in range(slot, max(slot - 64, 0), -1):
            found = self._allocations.get(first * _SPAN)
            if found is not None:
                spans = max(-(-found.nbytes // _SPAN), 1)
                return found if slot < first + spans else None
        return None

    def find_freed(self, address: int) -> Allocation | None:
        """The freed allocation that `address` belonged to."""
        return self._freed.get(address // _SPAN * _SPAN)
