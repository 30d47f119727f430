"""The model of schedules beside measured times: each kernel's forecast, and how long it takes.

    python -m benchmarks.model_checked c cuda --save docs/images/model_checked.json
    OMP_NUM_THREADS=1 python -m benchmarks.model_checked c --save docs/images/model_checked.json
    python docs/images/make_model_checked.py

Kernels are those of cpu_kernels.py, cuda_streaming.py and cuda_product.py, with their recipes:
the model, and not the choice of steps, is what is looked at.  `measure_limits` calibrates it.
Times are the least of some calls, with data that is in the caches if it fits.  Start it with
threads that stay where they are: OMP_PROC_BIND=close OMP_PLACES=cores.  Each run adds to the file.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

import polygen as pg
from polygen.inspection.compare.random_arguments import sizes_in

SECONDS, CALLS = 1.0, 5  # of measuring each kernel: at least
TIMES = 4  # that limits are measured
GOAL = 1.5  # times what was predicted, or its inverse
Case: TypeAlias = tuple[str, pg.Kernel, Mapping[str, Any], Callable[[], float]]


def cpu_cases() -> Iterator[Case]:
    """Yield the kernels of cpu_kernels.py, with their arguments and what measures them."""
    from benchmarks.cpu import data, with_polygen  # noqa: PLC0415  (not where there is CUDA alone)

    found: list[tuple[pg.Kernel, dict[str, Any]]] = []

    def caught(knl: pg.Kernel, d: data.Data, names: str, results: str = "out") -> data.Run:
        found.append((knl, {name: d[name] for name in names.split()}))
        return lambda: results

    with_polygen._calling = caught
    for name in data.KERNELS:
        if hasattr(with_polygen, name):
            getattr(with_polygen, name)(data.arguments(name))
            knl, given = found.pop()
            yield name, knl.copy(target="c"), given, partial(least, knl, given)


def least(knl: pg.Kernel, given: Mapping[str, Any]) -> float:
    """Return the least time of a call in C."""
    run, times = knl.executor("c"), list[float]()
    run(**given)
    until = time.perf_counter() + SECONDS
    while len(times) < CALLS or time.perf_counter() < until:
        begin = time.perf_counter()
        run(**given)
        times.append(time.perf_counter() - begin)
    return min(times)


def cuda_cases() -> Iterator[Case]:
    """Yield the kernels of cuda_streaming.py and cuda_product.py."""
    from benchmarks import cuda_product, on_device, streaming  # noqa: PLC0415

    device = on_device.Cuda()

    def case(name: str, knl: pg.Kernel, given: Mapping[str, Any]) -> Case:
        def run() -> Any:
            return device.call(knl, **given)

        return name, knl.copy(target="cuda"), given, lambda: device.milliseconds(run) / 1e3

    def streams() -> Iterator[streaming.Case]:
        yield from streaming.streams(device, streaming.N)
        yield streaming.plate(device, streaming.SIDE)
        yield streaming.block(device, streaming.EDGE)
        yield streaming.transposition(device, streaming.SIDE)

    for one in streams():
        yield case(one.name, one.kernel, one.given)
    shapes = {"float32": cuda_product.SINGLE, "float64": cuda_product.DOUBLE}
    for dtype, shape in shapes.items():
        for n in (2048, 4096):
            knl = cuda_product.FAST.recipe(dtype, shape, n=n, m=n, l=n)
            arrays = {name: device.random((n, n), dtype) for name in "abc"}
            yield case(f"product {dtype} {n}", knl, arrays)


CASES = {"c": cpu_cases, "cuda": cuda_cases}


def forecast(knl: pg.Kernel, given: Mapping[str, Any], limits: pg.Limits) -> float | None:
    """Return how long a call should take; None if data decides."""
    types = {a.name: given[a.name] for a in knl.arguments if a.dtype is None and a.name in given}
    typed = pg.add_dtypes(
        knl, {n: getattr(v, "dtype", np.dtype(type(v))) for n, v in types.items()}
    )
    typed = pg.infer_unknown_types(typed, expect_completion=True)
    shapes = {
        n: np.empty(v.shape, "b") if hasattr(v, "shape") and v.shape else v
        for n, v in given.items()
    }
    return pg.explain(typed, limits, sizes=sizes_in(typed, shapes)).forecast


def best_limits(target: str) -> pg.Limits:
    """Return the limits with the best rates of some measurements: others use the machine, too."""
    found = [pg.measure_limits(target, refresh=True) for _ in range(TIMES)]
    rates = [dict(cast("Mapping[str, float]", one.operations_per_second)) for one in found]
    return replace(
        found[0],
        bytes_per_second=max(one.bytes_per_second for one in found),
        operations_per_second={name: max(r[name] for r in rates) for name in rates[0]},
        cache_bytes_per_second=max(one.cache_bytes_per_second or 0 for one in found) or None,
        launch_seconds=min(one.launch_seconds for one in found),
    )


def check(target: str) -> tuple[str, list[dict[str, Any]]]:
    """Print a line for each kernel of a target; return where that was, and what was found."""
    limits, rows = best_limits(target), list[dict[str, Any]]()
    count = limits.compute_units
    where = f"C, {count} thread{'s' * (count != 1)}" if target == "c" else "CUDA"
    print(f"{where}: {limits}\n{'':20}  forecast  measured   ratio")
    for name, knl, given, measure in CASES[target]():
        predicted, measured = forecast(knl, given, limits), measure()
        rows.append({"name": name, "predicted": predicted, "measured": measured})
        if predicted is None:
            print(f"{name:20}         ? {measured * 1e3:9.3f}", flush=True)
        else:
            shown = f"{predicted * 1e3:9.3f} {measured * 1e3:9.3f} {measured / predicted:7.2f}"
            print(f"{name:20} {shown}", flush=True)
    known = [row for row in rows if row["predicted"] is not None]
    near = [r for r in known if 1 / GOAL <= r["measured"] / r["predicted"] <= GOAL]
    print(f"within {GOAL}: {len(near)} of {len(known)}; {len(rows) - len(known)} depend on data\n")
    return where, rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="+", choices=CASES)
    parser.add_argument("--save", type=Path, help="where to keep what was found, as JSON")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = dict(map(check, given.targets))
    if given.save:
        before = json.loads(given.save.read_text()) if given.save.exists() else {}
        given.save.write_text(json.dumps({**before, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
