"""Images on a device, with what calls ask of an array."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from polygen.ir.dtype import DType


@dataclass(frozen=True, slots=True)
class DeviceImage:
    """An image on a device.

    Attributes:
        base_data: the image.
        dtype: the type of its elements.
        shape: its extents, the number of columns last.
        queue: where it was filled, or None.
        events: of what fills it.
        offset: 0.
        allocator: None: what allocates arrays beside it is up to pyopencl.
    """

    base_data: Any
    dtype: DType
    shape: tuple[int, ...]
    queue: Any
    events: list[Any] = field(default_factory=list[Any])
    offset: int = 0
    allocator: Any = None

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides of a row-major array of its shape, in bytes: all that anybody asks."""
        return tuple(
            [self.dtype.itemsize * prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        )

    @property
    def context(self) -> Any:
        """The context that it belongs to."""
        return self.base_data.context


class HostImage(DeviceImage):
    """An image that was made of a NumPy array, for one call."""

    __slots__ = ()

    def on_device(self) -> DeviceImage:
        """Return it as one that has always been there."""
        return DeviceImage(self.base_data, self.dtype, self.shape, self.queue, self.events)
