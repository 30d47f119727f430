"""What a trip costs of a loop around launches that a flag ends, on a GPU.

    python -m benchmarks.host_loops

The device ends a loop whose trips are the same (a node of a CUDA graph).  If launches need the
number of the trip, the host reads the flag back before each trip, or before so many
(`check_every`).  Both loops have the same two launches over an array of doubles and a short one.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import cupy
import numpy as np

import polygen as pg

TRIPS = 1000
TEXT = """
for t while left[0] > 0
  for i
    y[i] = x[i] + {added}
  end
  for k
    x[n - 1 - k] = y[k]
  end
  left[0] = left[0] - 1
end
"""


def loop(added: str, every: int = 1) -> Any:
    knl = pg.make_kernel(
        ["{ [i, k]: 0<=i,k<n }", "{ [t]: 0<=t }"],
        TEXT.format(added=added),
        [
            pg.GlobalArg("left", np.int32, shape=1),
            pg.TemporaryVariable("y", shape="n", address_space=pg.AddressSpace.GLOBAL),
            "...",
        ],
        seq_dependencies=True,
        target="cuda",
    )
    for iname in "ik":
        knl = pg.split_iname(knl, iname, 256, outer_tag="g.0", inner_tag="l.0")
    return pg.set_options(knl, check_every=every)


def microseconds(run: Any, n: int) -> float:
    """Return the time of a trip: the median of several calls."""
    x, left, times = cupy.zeros(n), cupy.zeros(1, np.int32), list[float]()
    for _ in range(7):
        left[...] = TRIPS
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        run(x=x, left=left)
        cupy.cuda.Device().synchronize()
        times.append(1e6 * (time.perf_counter() - start) / TRIPS)
        assert left.get()[0] == 0
    return statistics.median(times)


def main() -> None:
    loops = {
        "the device": loop("1"),
        "the host": loop("t"),
        "the host, every 8": loop("t", 8),
    }
    print(f"{'elements':>10}" + "".join(f"{name:>20}" for name in loops) + "   us a trip")
    for n in (1000, 10**5, 10**7):
        times = [microseconds(run, n) for run in loops.values()]
        print(f"{n:>10}" + "".join(f"{t:>20.2f}" for t in times))


if __name__ == "__main__":
    main()
