"""Copies of NumPy's arrays on a device, kept from one call to the next: for a function's kernels.

with resident_arrays(count) as arrays:
first(a=x, b=y)         x and y are copied to the device
second(a=y, c=z)        z is; y is there
arrays.forget()         what was written is copied back: Python may look at it
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polygen.ir.array import GlobalArg
from polygen.runtime.arrays.array_facts import ArrayInfo
from polygen.runtime.arrays.array_library import NUMPY
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.backends.backend import Backend, Copy
from polygen.runtime.calls.arguments import Form
from polygen.runtime.calls.staging import copied_place, needs_elements

_FEW = 16  # elements: of fewer, copies are made each time, for who reads numbers and counts at once


@dataclass
class CopyCount:
    """The bytes that the last call copied.

    Attributes:
        to_device: those that went to the device.
        to_host: those that came back.
    """

    to_device: int = 0
    to_host: int = 0


@dataclass
class _Resident:
    """A copy on the device.

    Attributes:
        host: the array that it is a copy of.
        info: where the elements of the copy lie.
        copy: the copy.
        is_newer: whether a kernel wrote it since.
    """

    host: Any
    info: ArrayInfo
    copy: Copy
    is_newer: bool = False


class ResidentArrays:
    """The copies of NumPy's arrays that are on a device.

    Attributes:
        count: the bytes that were copied.
    """

    def __init__(self) -> None:
        self.count = CopyCount()
        self._copies: dict[int, _Resident] = {}  # by identity of the host's array

    def stage(
        self, backend: Backend, queue: Any, form: Form, args: Mapping[str, Any]
    ) -> dict[str, Copy]:
        """Return copies on the device of the NumPy arrays among the arguments of a call.

        Parameters:
            backend: the target.
            queue: where to copy.
            form: the form of the call.
            args: its arguments.

        Raises:
            ReadOnlyOutput: if one that is written is read-only.
            OverlappingArguments: if one that is written overlaps another: copies would not.
        """
        hosts = {a.name: a for a in form.arrays if form.libraries[a.name] is NUMPY}
        self._forget_others([args[name] for name in hosts])
        known = {
            name: found
            for name, arg in hosts.items()
            if (found := self._known(arg, args, form)) is not None
        }
        rest = replace(form, arrays=tuple([a for a in form.arrays if a.name not in known]))
        staged = dict(backend.stage(queue, rest, args))
        for name in hosts.keys() - known.keys():
            host = args[name]
            if needs_elements(form.kernel, name):
                self.count.to_device += host.nbytes
            if host.size >= _FEW:
                info = copied_place(hosts[name], host, args)
                self._copies[id(host)] = _Resident(host, info, staged[name])
        return {**staged, **{name: found.copy for name, found in known.items()}}

    def wrote(self, host: Any, copy: Copy) -> None:
        """Note that a kernel wrote a copy: a small one is copied back at once.

        Parameters:
            host: the array that it is a copy of.
            copy: the copy.
        """
        found = self._copies.get(id(host))
        if found is None:
            self._copy_back(host, copy)
        else:
            found.is_newer = True

    def give_back(self, only: Any = None) -> None:
        """Copy back what kernels wrote.

        Parameters:
            only: the array that is asked for; None for all.
        """
        for found in self._copies.values():
            if found.is_newer and (only is None or np.may_share_memory(found.host, only)):
                self._copy_back(found.host, found.copy)
                found.is_newer = False

    def forget(self) -> None:
        """Copy back what kernels wrote, and keep nothing: Python may write any of it."""
        self.give_back()
        self._copies.clear()

    def _copy_back(self, host: Any, copy: Copy) -> None:
        copy.copy_back()
        self.count.to_host += host.nbytes

    def _known(self, arg: GlobalArg, args: Mapping[str, Any], form: Form) -> _Resident | None:
        """Return the copy of an argument that is there, if it lies as the kernel has it."""
        host = args[arg.name]
        found = self._copies.get(id(host))
        if found is None:
            return None
        is_written = arg.name in written_arrays(form.kernel)
        fits = found.info == replace(copied_place(arg, host, args), name=found.info.name)
        if fits and (host.flags.writeable or not is_written):
            return found
        self._drop(found)
        return None

    def _forget_others(self, hosts: list[Any]) -> None:
        """Drop copies that share memory with an array of a call, and are none of it."""
        passed = {id(host) for host in hosts}
        for found in list(self._copies.values()):
            if id(found.host) not in passed and any(
                np.may_share_memory(found.host, host) for host in hosts
            ):
                self._drop(found)
        for found in [self._copies[key] for key in passed & self._copies.keys()]:
            if any(h is not found.host and np.may_share_memory(found.host, h) for h in hosts):
                self._drop(found)

    def _drop(self, found: _Resident) -> None:
        if found.is_newer:
            self._copy_back(found.host, found.copy)
        del self._copies[id(found.host)]


_RESIDENT: ContextVar[ResidentArrays | None] = ContextVar("arrays on a device", default=None)


@contextmanager
def resident_arrays(count: CopyCount) -> Generator[ResidentArrays]:
    """Keep copies of NumPy's arrays on the device from one call to the next; copy back at the end.

    Parameters:
        count: gets the bytes that were copied.
    """
    arrays = ResidentArrays()
    token = _RESIDENT.set(arrays)
    try:
        yield arrays
    finally:
        _RESIDENT.reset(token)
        arrays.forget()
        count.to_device, count.to_host = arrays.count.to_device, arrays.count.to_host


def now_resident() -> ResidentArrays | None:
    """Return what `resident_arrays` keeps; None outside of it."""
    return _RESIDENT.get()


def arrays_to_host() -> None:
    """Copy back what kernels wrote, where copies are kept: Python may read and write all arrays."""
    arrays = _RESIDENT.get()
    if arrays is not None:
        arrays.forget()


def array_to_host(array: Any) -> None:
    """Copy back what kernels wrote of an array, where copies are kept: Python is to read it."""
    arrays = _RESIDENT.get()
    if arrays is not None:
        arrays.give_back(array)
