"""Images for the arguments that are declared as such: of arrays, and those that are passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polygen.errors import LaunchFailed, WrongArgumentType
from polygen.ir.array import GlobalArg, ImageArg, is_array
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.runtime.backends.opencl.device_image import DeviceImage, HostImage
from polygen.runtime.backends.opencl.opencl_arrays import ARRAYS, copied
from polygen.runtime.backends.opencl.opencl_driver import Queue, is_image, pyopencl
from polygen.source import caller_location

# How an element is stored: one channel, of the element's own type.
_CHANNELS: Mapping[str, str] = {
    "float32": "FLOAT",
    "int8": "SIGNED_INT8",
    "int16": "SIGNED_INT16",
    "int32": "SIGNED_INT32",
    "uint8": "UNSIGNED_INT8",
    "uint16": "UNSIGNED_INT16",
    "uint32": "UNSIGNED_INT32",
}


@per_kernel
def image_names(kernel: Kernel) -> tuple[str, ...]:
    """Return the names of the arguments that are images."""
    return tuple(a.name for a in kernel.arguments if isinstance(a, ImageArg))


def with_images(
    kernel: Kernel, args: Mapping[str, Any], find_queue: Callable[[tuple[Any, ...]], Queue]
) -> dict[str, Any]:
    """Return what a call passes, with images for the arguments that are declared as such.

    Arrays are copied to images; what is neither an array nor an image is left as it is.

    Parameters:
        kernel: what is called.
        args: all that is passed.
        find_queue: returns the queue for some arrays on a device.

    Raises:
        WrongArgumentType: if an image has other elements than images of polygen's.
        LaunchFailed: if the device makes no such image.
    """
    found = dict(args)
    for name in image_names(kernel):
        value = args.get(name)
        if is_image(value):
            found[name] = _passed(name, value)
        elif isinstance(value, DeviceImage) or value is None or _is_unknown(value):
            continue  # which the checks of arrays refuse, or do not
        elif ARRAYS.knows(value):
            found[name] = _copied(name, value, value.queue or find_queue((value,)))
        elif is_array(value):
            on_device = tuple(v for v in args.values() if ARRAYS.knows(v))
            found[name] = _made(name, value, find_queue(on_device))
    return found


def _is_unknown(value: Any) -> bool:
    """Tell whether something is an array of what no image has."""
    return getattr(value, "dtype", None) is not None and value.dtype.name not in _CHANNELS


def with_arrays(
    kernel: Kernel, args: Mapping[str, Any], find_queue: Callable[[tuple[Any, ...]], Queue]
) -> Mapping[str, Any]:
    """Return what a call passes, with NumPy arrays for the images among it.

    Parameters and errors are those of `with_images`.
    """
    found = dict(args)
    for name in image_names(kernel):
        if is_image(args.get(name)):
            image = _passed(name, args[name])
            host = np.empty(image.shape, image.dtype)
            size = tuple(reversed(image.shape))
            pyopencl().enqueue_copy(
                find_queue(()), host, image.base_data, origin=(0,) * len(size), region=size
            )
            found[name] = host
    return found


def _passed(name: str, image: Any) -> DeviceImage:
    cl = pyopencl()
    form = image.format
    types = {getattr(cl.channel_type, channel): name for name, channel in _CHANNELS.items()}
    dtype = types.get(form.channel_data_type)
    if dtype is None or form.channel_order != cl.channel_order.R:
        raise WrongArgumentType(
            f"argument '{name}' is an image of format {form}; it has to have one channel, R, of "
            "integers or of floats",
            where=caller_location(),
            remedy="make it with pyopencl.ImageFormat(channel_order.R, channel_type.FLOAT), say, "
            "or pass an array",
        )
    shape = (image.depth, image.height, image.width)[0 if image.depth else 1 :]
    return DeviceImage(image, np.dtype(dtype), shape, None)


def _made(name: str, value: np.ndarray[Any, Any], queue: Queue) -> HostImage:
    """Return an image with the elements of a NumPy array."""
    host = np.ascontiguousarray(value)
    image = _new(name, value.shape, value.dtype, queue, host if host.size else None)
    return HostImage(image, value.dtype, value.shape, queue)


def _copied(name: str, value: Any, queue: Queue) -> DeviceImage:
    """Return an image with the elements of an array on the device."""
    cl = pyopencl()
    if not value.flags.c_contiguous:
        return _made(name, copied(GlobalArg(name), value), queue).on_device()
    image = _new(name, value.shape, value.dtype, queue, None)
    events = list(value.events)
    if value.size:
        size = tuple(reversed(value.shape))
        event = cl.enqueue_copy(
            queue,
            image,
            value.base_data,
            offset=value.offset,
            origin=(0,) * len(size),
            region=size,
            wait_for=events,
        )
        events = [event]
    return DeviceImage(image, value.dtype, value.shape, queue, events)


def _new(name: str, shape: tuple[int, ...], dtype: DType, queue: Queue, host: Any) -> Any:
    cl = pyopencl()
    flags = cl.mem_flags.READ_ONLY | (0 if host is None else cl.mem_flags.COPY_HOST_PTR)
    channel = getattr(cl.channel_type, _CHANNELS[dtype.name])
    form = cl.ImageFormat(cl.channel_order.R, channel)
    size = tuple([max(1, extent) for extent in reversed(shape)])  # there is no empty image
    try:
        return cl.create_image(queue.context, flags, form, shape=size, hostbuf=host)
    except (cl.Error, ValueError) as error:
        raise LaunchFailed(
            f"the device makes no image of shape {shape} and type {dtype} for '{name}': {error}",
            where=caller_location(),
            remedy=f"declare '{name}' a GlobalArg",
        ) from None
