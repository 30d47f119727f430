"""NumPy arrays on an OpenCL device: copied there, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.ir.array import GlobalArg
from polygen.runtime.arrays.array_facts import ArrayInfo
from polygen.runtime.arrays.output_allocation import span, view
from polygen.runtime.backends.opencl.device_image import DeviceImage, HostImage
from polygen.runtime.backends.opencl.opencl_driver import OpenCLArray, Queue, pyopencl
from polygen.runtime.calls.arguments import Form
from polygen.runtime.calls.staging import check_hosts, copied_place


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
