"""Groups of calls of work units, lazily and one by one.

    python -m benchmarks.lazy_calls [--bytes 256e6] [--target openmp|serial|cuda] [GROUPS]

Each group is run eagerly and within `pk.lazy()`, in turns, on views of the same values; the least
time of a run counts: wall time, with tracing, plans kept, to the end of the last kernel.
``kernels`` is the ratio of the times of the kernels alone: an eager run less its dispatches on
views of 64 elements, and a lazy one less the same trace on those; it says nothing where a run takes
less than a millisecond.  What both compute is compared with NumPy's values.  The groups are those
of Al Awar's dissertation on PyFuser, written anew, and a few more.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

import polygen.workunits as pk
from benchmarks.lazy_groups import GROUPS, Group

TURNS, SECONDS = 5, 0.5
SPACES = {"openmp": pk.OpenMP, "serial": pk.Serial, "cuda": pk.Cuda}
SMALL = 64


def arrays(group: Group, n: int, module: Any) -> list[Any]:
    """Return the arrays of a group, with reproducible values."""
    generator = np.random.default_rng(7)
    return [module.asarray(one) for one in group.make(n, generator)]


def run(group: Group, given: Sequence[Any], *, lazily: bool) -> None:
    """Make the calls of a group once, to their end."""
    with pk.lazy() if lazily else nullcontext():
        group.run(*given)
    pk.fence()


def wait(module: Any) -> None:
    """Wait for a GPU."""
    if module is not np:
        module.cuda.get_current_stream().synchronize()


def seconds(work: Callable[[], object], module: Any) -> float:
    """Return the least time of some work."""
    best, end = math.inf, time.perf_counter() + SECONDS / TURNS
    while time.perf_counter() < end:
        wait(module)
        start = time.perf_counter()
        work()
        wait(module)
        best = min(best, time.perf_counter() - start)
    return best


def times(group: Group, n: int, module: Any) -> tuple[float, float]:
    """Return the times of a group, eagerly and lazily, in turns."""
    found = [math.inf, math.inf]
    views = [[pk.View(array=one) for one in arrays(group, n, module)] for _ in found]
    for lazily in (False, True):
        run(group, views[lazily], lazily=lazily)
    for _ in range(TURNS):
        for lazily in (False, True):
            given = views[lazily]
            taken = seconds(lambda g=given, z=lazily: run(group, g, lazily=z), module)  # type: ignore[misc]
            found[lazily] = min(found[lazily], taken)
    return found[0], found[1]


def check(group: Group, module: Any) -> None:
    """Compare what a group computes with NumPy's values, eagerly and lazily."""
    expected = arrays(group, SMALL, np)
    group.expected(*expected)
    for lazily in (False, True):
        given = arrays(group, SMALL, module)
        run(group, [pk.View(array=one) for one in given], lazily=lazily)
        for one, other in zip(given, expected, strict=True):
            found = one.get() if hasattr(one, "get") else one
            np.testing.assert_allclose(found, other, rtol=1e-8, atol=1e-10, err_msg=group.name)


def size(group: Group, count: float) -> int:
    """Return the size of a group whose arrays have that many bytes, the largest one at most."""
    return max(SMALL, int((count / 8) ** (1 / group.rank)))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--bytes", type=float, default=256e6, help="of the largest array")
    parser.add_argument("--target", choices=SPACES, default="serial")
    options = parser.parse_args()
    pk.set_default_space(SPACES[options.target])
    module: Any = np
    if options.target == "cuda":
        import cupy  # pyright: ignore[reportMissingImports]  # noqa: PLC0415

        module = cupy
    ratios: list[float] = []
    print(
        f"{'group':16}{'calls':>6}{'n':>10}"
        f"{'eager ms':>11}{'lazy ms':>10}{'ratio':>7}{'kernels':>8}"
    )
    for group in GROUPS:
        if options.groups and group.name not in options.groups:
            continue
        check(group, module)
        n = size(group, options.bytes)
        fixed = times(group, SMALL, module)
        eager, lazy = times(group, n, module)
        ratios.append(eager / lazy)
        kernels = max(eager - fixed[0], 1e-9) / max(lazy - fixed[1], 1e-9)
        numbers = f"{eager * 1e3:11.3f}{lazy * 1e3:10.3f}{ratios[-1]:7.2f}{kernels:8.2f}"
        print(f"{group.name:16}{group.calls:6}{n:10}{numbers}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
