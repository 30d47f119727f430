"""Memory of graphs that users record: it lives as long as they do."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.runtime.backends.cuda.cuda_driver import Driver
from polygen.runtime.backends.cuda.device_array import DeviceMemory


class GraphMemory:
    """The temporaries of a program, for each stream that is recorded.

    What is recorded on a stream runs in order: all calls of the program there share them.  To
    allocate within the graph would keep launches from starting before those ahead are over.
    """

    def __init__(self, cuda: Driver, sizes: Mapping[str, int]) -> None:
        """Allocate nothing yet.

        Parameters:
            cuda: the driver.
            sizes: the bytes of each temporary.
        """
        self._driver = cuda
        self._sizes = sizes
        self._recording = 0
        self._of_streams: dict[int, dict[str, int]] = {}

    def on(self, stream: int) -> Mapping[str, int]:
        """Return the addresses of all temporaries for what is recorded on a stream.

        Raises:
            OutOfMemory: if the device has not as much.
        """
        if not self._sizes:
            return {}
        number = self._driver.recording(stream)
        if number != self._recording:
            self._recording, self._of_streams = number, {}
        if stream not in self._of_streams:
            self._of_streams[stream] = self._new(stream)
        return self._of_streams[stream]

    def _new(self, stream: int) -> dict[str, int]:
        with self._driver.unrestricted():
            memory = {n: DeviceMemory(s, f"the temporary '{n}'") for n, s in self._sizes.items()}
            self._driver.keep_for_graph(stream, tuple(memory.values()))
        return {name: each.address for name, each in memory.items()}
