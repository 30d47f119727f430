"""Times of calls on the device, replayed as graphs, and beside them those on the host."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from statistics import median
from typing import Any

torch: Any = import_module("torch")
Call = Callable[[], Any]
ROUNDS, LEAST = 7, 3e-3  # replays of which the median counts, and seconds that one lasts at least
WARM = 2


class Stream:
    """A stream on which PyTorch, CuPy and polygen work."""

    def __init__(self) -> None:
        self.cupy: Any = import_module("cupy")
        self.torch = torch.cuda.Stream()
        self.both = self.cupy.cuda.ExternalStream(self.torch.cuda_stream)

    def __enter__(self) -> None:
        torch.cuda.synchronize()
        self.within = torch.cuda.stream(self.torch)
        self.within.__enter__()
        self.both.__enter__()

    def __exit__(self, *_: object) -> None:
        self.both.__exit__(None, None, None)
        self.within.__exit__(None, None, None)
        torch.cuda.synchronize()


def device_time(calls: Sequence[Call], stream: Stream) -> float:
    """Return the median time, in seconds, that a call takes on the device.

    The calls, each on arrays of its own, are recorded once, one after the other, and replayed.
    """
    with stream:
        for _ in range(WARM):
            for call in calls:
                call()
    graph = torch.cuda.CUDAGraph()
    with stream, torch.cuda.graph(graph, stream=stream.torch, capture_error_mode="thread_local"):
        for call in calls:
            call()
    with stream:
        graph.replay()
        once = timed(graph.replay, 1)
        times = [timed(graph.replay, max(1, round(LEAST / once))) for _ in range(ROUNDS)]
    return median(times) / len(calls)


def timed(run: Call, times: int) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e-3 / times


def wall_time(calls: Sequence[Call], stream: Stream) -> float:
    """Return the median time, in seconds, from one call to the next, as a program makes them."""
    with stream:
        times: list[float] = []
        for _ in range(ROUNDS):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for call in calls:
                call()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) / len(calls))
    return median(times)


def copied_bytes_per_second(count: int = 2**30) -> float:
    """Return how many bytes a copy on the device reads and writes in a second."""
    source = torch.empty(count, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    timed(lambda: target.copy_(source), 3)
    return 2 * count / median(timed(lambda: target.copy_(source), 5) for _ in range(ROUNDS))
