"""Launches as graphs of CUDA's: so loops on the host cost no Python for each of their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from polygen.runtime.backends.cuda.cuda_driver import Driver
from polygen.runtime.calls.launch_grids import Part, Piece

_FEWEST = 4  # launches: fewer are as fast one by one
_MOST_KEPT = 4


class Graphs:
    """The parts of a program, as graphs for the arguments of the latest calls.

    What functions are passed is part of a graph.  To make one takes as long as to launch what is
    in it a few times: that pays at once where pieces are repeated, else from the second call with
    the same arguments on.
    """

    def __init__(
        self, cuda: Driver, parts: Sequence[Part], start: Callable[[Part, int], None]
    ) -> None:
        """Prepare for graphs; none is made yet.

        Parameters:
            cuda: the driver.
            parts: what is launched.
            start: launches a part on a stream, with the arguments of the call.
        """
        self._driver = cuda
        self._parts = parts
        self._start = start
        pieces = [part for part in parts if isinstance(part, Piece)]
        has_loops = len(pieces) < len(parts)
        launches = sum(len(piece.steps) * piece.times for piece in pieces)
        self._worth = has_loops or launches >= _FEWEST
        self._at_once = has_loops or launches >= 4 * sum(len(piece.steps) for piece in pieces)
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
        for part in self._parts:
            once, times = (Piece(part.steps), part.times) if isinstance(part, Piece) else (part, 1)
            recorded.graphs.append((self._driver.record(partial(self._start, once)), times))
        return recorded


class _Recorded:
    """Graphs with how often each is launched; they are given back when nothing refers to this."""

    def __init__(self, cuda: Driver) -> None:
        self.graphs: list[tuple[int, int]] = []
        self._drop = cuda.drop

    def __del__(self) -> None:
        for graph, _ in self.graphs:
            self._drop(graph)
