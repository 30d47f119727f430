"""Launches as graphs of CUDA's: so loops on the host cost no Python for each of their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polygen.runtime.backends.cuda.cuda_driver import Driver
from polygen.runtime.calls.launch_grids import Piece, Step

_FEWEST = 4  # launches: fewer are as fast one by one
_MOST_KEPT = 4


class Graphs:
    """The pieces of a program, as graphs for the arguments of the latest calls.

    What functions are passed is part of a graph.  To make one takes as long as to launch what is
    in it a few times: that pays at once where pieces are repeated, else from the second call with
    the same arguments on.
    """

    def __init__(
        self, cuda: Driver, pieces: Sequence[Piece], start: Callable[[Step, int], None]
    ) -> None:
        """Prepare for graphs; none is made yet.

        Parameters:
            cuda: the driver.
            pieces: what is launched.
            start: launches a step on a stream, with the arguments of the call.
        """
        self._driver = cuda
        self._pieces = pieces
        self._start = start
        launches = sum(len(piece.steps) * piece.times for piece in pieces)
        self._worth = launches >= _FEWEST
        self._at_once = launches >= 4 * sum(len(piece.steps) for piece in pieces)
        self._latest = b""
        self._kept: dict[bytes, _Recorded] = {}

    def run(self, stream: int, arguments: bytes) -> bool:
        """Start everything on a stream, if there are graphs for the arguments: tell whether.

        Parameters:
            stream: the stream.
            arguments: what functions are passed by the call.
        """
        if not self._worth:
            return False
        found = self._kept.get(arguments)
        if found is None:
            if not self._at_once and arguments != self._latest:
                self._latest = arguments
                return False
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            found = self._kept[arguments] = self._recorded()
        for graph, times in found.graphs:
            for _ in range(times):
                self._driver.replay(graph, stream)
        return True

    def forget(self) -> None:
        """Forget all graphs: what functions are passed beside the arguments has changed."""
        self._kept.clear()

    def _recorded(self) -> _Recorded:
        recorded = _Recorded(self._driver)
        for piece in self._pieces:

            def launch(stream: int, steps: Sequence[Step] = piece.steps) -> None:
                for step in steps:
                    self._start(step, stream)

            recorded.graphs.append((self._driver.record(launch), piece.times))
        return recorded


class _Recorded:
    """Graphs with how often each is launched; they are given back when nothing refers to this."""

    def __init__(self, cuda: Driver) -> None:
        self.graphs: list[tuple[int, int]] = []
        self._drop = cuda.drop

    def __del__(self) -> None:
        for graph, _ in self.graphs:
            self._drop(graph)
