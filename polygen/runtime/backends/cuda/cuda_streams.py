"""Streams of CUDA's, whichever library made them, and what has to be over on them."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, cast

from polygen.errors import WrongArgumentType
from polygen.runtime.backends.cuda.cuda_driver import driver
from polygen.runtime.calls.device_errors import DriverError, driver_error
from polygen.source import caller_location


def stream_address(queue: Any) -> int | None:
    """Return the address of a stream; None if a value is none."""
    kind: type[Any] = queue.__class__
    find = _STREAMS.get(kind)
    return _find_stream(queue) if find is None else find(queue)


_STREAMS: dict[type, Callable[[Any], int]] = {int: int}


def _find_stream(queue: Any) -> int | None:
    kind: type[Any] = queue.__class__
    for module, attribute in (("cupy", "ptr"), ("torch", "cuda_stream")):
        if kind.__module__.split(".")[0] == module and hasattr(queue, attribute):
            _STREAMS[kind] = attrgetter(attribute)
            return stream_address(queue)
    if hasattr(queue, "__cuda_stream__"):
        given: Any = queue.__cuda_stream__
        pair = cast("tuple[int, int]", given() if callable(given) else given)
        return int(pair[1])
    return None


def stream_of(queue: Any) -> int:
    """Return the address of a stream.

    Raises:
        WrongArgumentType: if a value is none.
    """
    found = stream_address(queue)
    if found is None:
        raise WrongArgumentType(
            f"{queue!r} was passed for a stream of CUDA's",
            where=caller_location(),
            remedy="pass a stream of CuPy's or PyTorch's, the address of one, or nothing",
        )
    return found


def event_address(event: Any) -> int | None:
    """Return the address of an event of CuPy's or PyTorch's that was recorded; None of another."""
    kind: type[Any] = event.__class__
    for module, attribute in (("cupy", "ptr"), ("torch", "cuda_event")):
        if kind.__module__.split(".")[0] == module and hasattr(event, attribute):
            return int(getattr(event, attribute)) or None
    return None


class CudaEvent:
    """The event of a call: over when all is that was on its stream when somebody asks.

    Attributes:
        stream: the address of the stream.
        owner: what keeps it there: without a stream, nobody can be asked.
        kernel: the name of the kernel that was called.
    """

    __slots__ = ("kernel", "owner", "stream")

    def __init__(self, stream: int, owner: Any, kernel: str) -> None:
        self.stream, self.owner, self.kernel = stream, owner, kernel

    def wait(self) -> None:
        """Wait until it is over.

        Raises:
            KernelFault: if the device failed in the kernel, or in what was started before it.
        """
        try:
            driver().wait(self.stream)
        except DriverError as error:
            raise driver_error(self.kernel, error) from None

    synchronize = wait


class Mark:
    """A place in what is started on streams, for which others can wait."""

    def __init__(self) -> None:
        """Make one; there is nothing to wait for yet."""
        self._driver = driver()
        self._event = self._driver.new_event()

    def put(self, stream: int) -> None:
        """Put it behind what was started on a stream."""
        self._driver.put_event(self._event, stream)

    def let_wait(self, stream: int) -> None:
        """Let what is started on a stream from now on wait for it."""
        self._driver.wait_for_event(stream, self._event)

    def __del__(self) -> None:
        if hasattr(self, "_event"):
            self._driver.drop_event(self._event)
