"""`polygen.optimize` on processors, beside steps by hand and beside no steps at all.

    python -m benchmarks.schedules_on_processors                # one thread, then all cores
    python -m benchmarks.schedules_on_processors stencil_5 scan --threads 1

Each kernel in three forms: plain, as a user writes it first; by hand, with the steps that the
benchmark or the example has; chosen, the plain one after `polygen.optimize`, which is told the
sizes.  Results of the first calls are compared with each other and with NumPy's.  Then the forms
take turns, on the same arrays (where these lie changes times by half), and the least time of each
counts.  A plain form that takes a second is called twice.  The last lines have the geometric mean
of how fast the chosen form is in terms of the others, and what is slow.  `cpu_kernels` compares
with other libraries.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import polygen as pg
from benchmarks.cpu import data, untransformed, with_numpy, with_polygen
from benchmarks.cpu.data import Data, Run, placed
from benchmarks.cpu.examples_in_c import EXAMPLES

FORMS = ("plain", "by hand", "chosen")
SECONDS, ROUNDS, TURN, CALLS = 1.2, 40, 0.05, 6
LONG = 1.0  # seconds
SLOW, SLOWER = 0.8, 1.2  # of the speed by hand, at least; of the plain form's time, at most


@dataclass
class Case:
    """A kernel in three forms.

    Attributes:
        plain: makes the kernel without steps.
        by_hand: makes the call of the other form, with arguments.
        given: makes arguments, the same ones each time.
        results: the names of those that are written.
        expected: what NumPy makes of the arguments; None if forms are compared with each other.
    """

    plain: Callable[[], pg.Kernel]
    by_hand: Callable[[Data], Run]
    given: Callable[[], Data]
    results: list[str]
    expected: Callable[[Data], list[Any]] | None = None
    took: float = field(default=0.0)


def cases() -> dict[str, Case]:
    """Return all kernels by name; those of examples have another name where two have one."""
    found = {name: _benchmark(name) for name in data.KERNELS}
    for name in EXAMPLES:
        found[f"{name} (example)" if name in found else name] = _example(name)
    return found


def _benchmark(name: str) -> Case:
    numpy = getattr(with_numpy, name, None)

    def expected(given: Data) -> list[Any]:
        assert numpy is not None
        found = numpy(given)()
        return [np.array(r) for r in (found if isinstance(found, tuple) else (found,))]

    results = ["out", "put"] if name == "black_scholes" else ["out"]
    return Case(
        getattr(untransformed, name),
        getattr(with_polygen, name),
        lambda: data.arguments(name),
        results,
        expected if numpy else None,
    )


def _example(name: str) -> Case:
    example = EXAMPLES[name]

    def given() -> Data:
        made = example.given(np.random.default_rng(1))
        arrays = [key for key, value in made.items() if isinstance(value, np.ndarray)]
        return made | {key: placed(made[key], at) for at, key in enumerate(arrays)}

    def by_hand(arguments: Data) -> Run:
        return called(example.by_hand(), arguments)

    def expected(arguments: Data) -> list[Any]:
        assert example.expected is not None
        return [np.asarray(example.expected(arguments))]

    return Case(
        example.plain,
        by_hand,
        given,
        example.results.split(),
        expected if example.expected else None,
    )


def called(knl: pg.Kernel, given: Data) -> Run:
    """Return a call of a kernel in C."""
    run = knl.executor("c")
    return lambda: run(**given)


def chosen(case: Case, given: Data) -> pg.Kernel:
    """Return what `polygen.optimize` makes of a kernel for some arguments."""
    knl = typed(case.plain(), given)
    start = time.process_time()
    knl = pg.optimize(knl, sizes=sizes_of(knl, given))
    case.took = time.process_time() - start
    return knl


def typed(knl: pg.Kernel, given: Data) -> pg.Kernel:
    """Return a kernel for C, with the types of some arguments."""
    knl = knl.copy(target="c")
    known = {a.name for a in knl.arguments if a.dtype is not None}
    types = {
        name: np.asarray(value).dtype
        for name, value in given.items()
        if name not in known
        and name in {a.name for a in knl.arguments}
        and not isinstance(value, int)
    }
    return pg.add_dtypes(knl, types) if types else knl


def sizes_of(knl: pg.Kernel, given: Data) -> dict[str, int]:
    """Return what the sizes of a kernel are for some arguments: passed, or extents of arrays."""
    found = {name: value for name, value in given.items() if isinstance(value, int)}
    for argument in knl.arguments:
        array = given.get(argument.name)
        shape = getattr(argument, "shape", None)
        if isinstance(array, np.ndarray) and isinstance(shape, tuple):
            found |= {
                str(extent): length
                for extent, length in zip(shape, array.shape, strict=True)
                if str(extent).isidentifier()
            }
    return found


def compare(name: str, found: Mapping[str, Sequence[Any]]) -> None:
    """Exit if results are not the same, up to rounding."""
    wanted = found.get("NumPy", found["plain"])
    for form, results in found.items():
        for one, other in zip(results, wanted, strict=True):
            if name.startswith("mandelbrot"):
                same = float((one != other).mean()) < 1e-3
            else:
                scale = 3e-4 if one.dtype in (np.float32, np.complex64) else 1e-9
                most = np.abs(other).max() or 1.0
                same = bool(np.abs(one - other.astype(one.dtype)).max() <= scale * most)
            if not same:
                raise SystemExit(
                    f"{name}: {form} differs from {'NumPy' if 'NumPy' in found else 'plain'}"
                )


def least(run: Run) -> float:
    """Return the least time of some calls, after one that brings back what others displaced."""
    run()
    times: list[float] = []
    while not times or (len(times) < CALLS and sum(times) < TURN):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measured(name: str, case: Case) -> dict[str, float]:
    """Return the least time of each form, in seconds, after a look at the results."""
    given = case.given()
    first = {key: np.copy(value) for key, value in given.items() if isinstance(value, np.ndarray)}
    made: dict[str, Run] = {
        "plain": called(typed(case.plain(), given), given),
        "by hand": case.by_hand(given),
        "chosen": called(chosen(case, given), given),
    }
    found: dict[str, list[Any]] = {}
    if case.expected is not None:
        found["NumPy"] = case.expected(case.given())
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    for form, run in made.items():
        for key, value in first.items():
            given[key][...] = value
        run()  # compiles
        found[form] = [np.array(given[key]) for key in case.results]
        start = time.perf_counter()
        run()
        times[form].append(time.perf_counter() - start)
    compare(name, found)
    turns = [form for form in FORMS if form != "plain" or times[form][0] < LONG]
    until = time.perf_counter() + SECONDS
    for turn in range(ROUNDS):
        for form in random.sample(turns, len(turns)):
            if turn < 2 or min(times[form]) < SECONDS / 2:
                times[form].append(least(made[form]))
        if turn >= 2 and time.perf_counter() > until:
            break
    return {form: min(taken) for form, taken in times.items()}


def table(names: Sequence[str]) -> None:
    """Print a line for each kernel, and what is slow."""
    all_cases = cases()
    width = max(map(len, all_cases))
    print(f"\n{os.environ['OMP_NUM_THREADS']} thread(s); minima, ms", flush=True)
    heads = "".join(f"{form:>10}" for form in FORMS)
    print(f"{'':{width}}{heads}   by hand/chosen  plain/chosen  choosing, ms of CPU")
    by_hand, plain = dict[str, float](), dict[str, float]()
    for name in names or all_cases:
        case = all_cases[name]
        times = measured(name, case)
        by_hand[name] = times["by hand"] / times["chosen"]
        plain[name] = times["plain"] / times["chosen"]
        row = "".join(f"{times[form] * 1e3:10.3f}" for form in FORMS)
        ratios = f"{by_hand[name]:16.2f}{plain[name]:14.2f}{case.took * 1e3:14.0f}"
        print(f"{name:{width}}{row}{ratios}", flush=True)
    print(f"geometric mean: {_mean(by_hand):.2f} of the speed by hand, {_mean(plain):.2f} of plain")
    slow = [f"{name} {ratio:.2f}" for name, ratio in by_hand.items() if ratio < SLOW]
    print(f"below {SLOW} of the speed by hand: {', '.join(slow) or 'none'}")
    slower = [f"{name} {ratio:.2f}" for name, ratio in plain.items() if ratio < 1 / SLOWER]
    print(f"slower than {SLOWER} x the plain form: {', '.join(slower) or 'none'}", flush=True)


def _mean(ratios: Mapping[str, float]) -> float:
    return math.exp(sum(map(math.log, ratios.values())) / len(ratios))


def main() -> None:
    """Print a table for one thread, and one for all cores, each in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kernels", nargs="*", help="all, if not given")
    parser.add_argument("--threads", type=int, nargs="*", help="one and all cores, if not given")
    given = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    for count in given.threads or dict.fromkeys((1, len(cores))):
        if os.environ.get("OMP_NUM_THREADS") == str(count):
            os.sched_setaffinity(0, cores[:count])
            warnings.simplefilter("ignore")
            table(given.kernels)
            continue
        again = [sys.executable, "-m", "benchmarks.schedules_on_processors", *given.kernels]
        environment = os.environ | {"OMP_NUM_THREADS": str(count), "OMP_PROC_BIND": "close"}
        subprocess.run([*again, "--threads", str(count)], env=environment, check=True)


if __name__ == "__main__":
    main()
