"""NumPy arrays on a device that has memory of its own: copied there, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.layout import Auto, unit
from polygen.runtime.allocation import span, view
from polygen.runtime.arguments import Form
from polygen.runtime.array_library import NUMPY
from polygen.runtime.arrays import ArrayInfo, describe, rounded_up
from polygen.runtime.device_image import DeviceImage, HostImage
from polygen.runtime.distinct import check_distinct
from polygen.runtime.evaluate import value_of
from polygen.runtime.opencl import OpenCLArray, Queue, pyopencl
from polygen.runtime.outputs import is_fully_written, must_be_passed, written_arrays
from polygen.runtime.overlap import check_apart, raise_read_only

_REMEDY = "pass a copy of one of them: on a device, NumPy arrays that overlap would not"


@dataclass(frozen=True)
class Staged:
    """A copy on the device.

    Attributes:
        host: the array that it is a copy of.
        array: the copy, with the same shape.
        flat: all of the copy's memory, as an array of one axis.
        info: where the copy's elements lie in it.
    """

    host: Any
    array: OpenCLArray
    flat: OpenCLArray
    info: ArrayInfo

    def copy_back(self) -> None:
        """Copy the device's elements into the host's array."""
        if self.info.size:
            self.host[...] = view(self.flat.get(), self.info)


@dataclass(frozen=True)
class StagedImage:
    """An image on the device of an array that is only read.

    Attributes:
        array: the image.
    """

    array: DeviceImage

    def copy_back(self) -> None:
        """Do nothing."""


def stage_all(queue: Queue, form: Form, args: Mapping[str, Any]) -> dict[str, Staged | StagedImage]:
    """Return copies on the device of all NumPy arrays among the arguments of a call.

    Raises:
        ReadOnlyOutput: if one that is written is read-only.
        OverlappingArguments: if one that is written overlaps another: copies would not.
    """
    staged: dict[str, Staged | StagedImage] = {}
    for arg, needed in check_hosts(form, args):
        staged[arg.name] = stage(queue, arg, args, copy=needed)
    images = {name: v.on_device() for name, v in args.items() if isinstance(v, HostImage)}
    return staged | {name: StagedImage(image) for name, image in images.items()}


def check_hosts(form: Form, args: Mapping[str, Any]) -> list[tuple[GlobalArg, bool]]:
    """Check the NumPy arrays among the arguments of a call, all of which are to be copied.

    Returns:
        What they are passed for, and whether their elements are needed on the device.

    Raises:
        ReadOnlyOutput: if one that is written is read-only.
        OverlappingArguments: if one that is written overlaps another: copies would not.
    """
    kernel = form.kernel
    written = written_arrays(kernel)
    on_host = [arg for arg in form.arrays if form.libraries[arg.name] is NUMPY]
    for arg in on_host:
        value = args[arg.name]
        # What is wrong with an array is said before anything is copied.
        info = describe(arg, value, NUMPY)
        if arg.name in written:
            check_distinct(kernel, info)  # copies would be
            if not value.flags.writeable:
                raise_read_only(arg.name)
            for other in on_host:
                if other.name != arg.name:
                    check_apart(arg.name, value, other.name, args[other.name], _REMEDY)
    return [
        (a, must_be_passed(kernel, a.name) or not is_fully_written(kernel, a.name)) for a in on_host
    ]


def stage(queue: Queue, arg: GlobalArg, args: Mapping[str, Any], *, copy: bool) -> Staged:
    """Return a copy on the device of a NumPy array.

    It is row-major, unless the kernel declares a layout: then it has the strides of the original,
    and the offset of the layout.

    Parameters:
        queue: where to copy.
        arg: the argument that it is passed for.
        args: all that is passed.
        copy: whether its elements are needed there.
    """
    array, value = pyopencl().array, args[arg.name]
    info = copied_place(arg, value, args)
    if not copy:
        flat = array.Array(queue, span(info), value.dtype)
    elif info.is_row_major and info.offset == 0 and value.flags.c_contiguous:
        flat = array.to_device(queue, value.reshape(-1))
    else:
        host = np.zeros(span(info), value.dtype)
        view(host, info)[...] = value
        flat = array.to_device(queue, host)
    size = value.dtype.itemsize
    staged = array.Array(
        queue,
        value.shape,
        value.dtype,
        strides=tuple(stride * size for stride in info.strides),
        data=flat.base_data,
        offset=info.offset * size,
        events=flat.events,
    )
    return Staged(value, staged, flat, info)


def copied_place(arg: GlobalArg, value: Any, args: Mapping[str, Any]) -> ArrayInfo:
    """Return where the elements of a copy of a NumPy array are to lie."""
    given = describe(arg, value, NUMPY)
    strides = given.strides
    if arg.dim_tags is None:
        step, row_major = 1, [0] * len(given.shape)
        for axis in reversed(range(len(given.shape))):
            row_major[axis] = step
            step *= given.shape[axis]
        strides = tuple(row_major)
    info = ArrayInfo(arg.name, given.dtype, given.shape, strides)
    offset = max(_offset(arg, args), rounded_up(-info.reach[0], unit(arg)))
    return ArrayInfo(arg.name, given.dtype, given.shape, strides, offset, unit(arg))


def _offset(arg: GlobalArg, args: Mapping[str, Any]) -> int:
    """Return the offset that is declared; 0 if what it depends on is found from the array."""
    if isinstance(arg.offset, Auto) or not walk.free_variables(arg.offset) <= args.keys():
        return 0
    return value_of(arg.offset, args)
