"""CPU time of transforming and generating code, beside Loo.py on the same kernels.

    .venv/bin/pip install -e '.[benchmarks]'
    POLYGEN_NO_CACHE=1 .venv/bin/python benchmarks/code_generation.py

Both systems take the same steps on the same kernels, in one process that has generated other
kernels before; Loo.py's caches are off as well.  polygen does so twice: Loo.py proves nothing, so
without proofs of the steps is what compares.  Making the kernel is measured on its own.  They
take turns, several runs each: the first run after a turn of the other finds the processor's
caches full of other things, which costs the shorter one more.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import islpy as isl
import loopy
import numpy as np

import polygen as pg

TURNS = 5
RUNS = 5  # in a turn

# Release 2025.2 of Loo.py calls a method that islpy 2026 no longer has, for some loop bounds.
if not hasattr(isl.Aff, "is_equal"):
    isl.Aff.is_equal = isl.Aff.plain_is_equal  # type: ignore[attr-defined]
    PATCHED = "Loo.py 2025.2 needs Aff.is_equal, which this islpy lacks: it was put back"
else:
    PATCHED = ""


@dataclass(frozen=True)
class Case:
    """A kernel and what is done with it, in both systems."""

    name: str
    domain: str
    instructions: str
    transform: Callable[[Any, Any], Any]


def _vector_add(system: Any, knl: Any) -> Any:
    knl = system.split_iname(knl, "i", 128, outer_tag="g.0", inner_tag="l.0")
    return system.add_dtypes(knl, {"a": np.float32, "b": np.float32})


def _stencil(system: Any, knl: Any) -> Any:
    knl = system.split_iname(knl, "i", 16, outer_tag="g.1", inner_tag="l.1")
    knl = system.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
    return system.add_dtypes(knl, {"u": np.float32})


def _unrolled_sum(system: Any, knl: Any) -> Any:
    knl = system.split_iname(knl, "j", 32, inner_tag="unr")
    knl = system.prioritize_loops(knl, "i,j_outer")
    return system.add_dtypes(knl, {"a": np.float32})


def _product(system: Any, knl: Any) -> Any:
    knl = system.split_iname(knl, "i", 16, outer_tag="g.1", inner_tag="l.1")
    knl = system.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
    knl = system.split_iname(knl, "k", 16)
    knl = system.prioritize_loops(knl, "k_outer,k_inner")
    return system.add_dtypes(knl, {"a": np.float32, "b": np.float32})


def _prefetched_product(system: Any, knl: Any) -> Any:
    knl = system.split_iname(knl, "i", 16, outer_tag="g.1", inner_tag="l.1")
    knl = system.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
    knl = system.split_iname(knl, "k", 16)
    knl = system.add_dtypes(knl, {"a": np.float32, "b": np.float32})
    knl = system.add_prefetch(knl, "a", ["i_inner", "k_inner"], default_tag="l.auto")
    return _on_all_axes(
        system, system.add_prefetch(knl, "b", ["k_inner", "j_inner"], default_tag="l.auto")
    )


def _prefetched_stencil(system: Any, knl: Any) -> Any:
    knl = _stencil(system, knl)
    sweep = ["i_inner", "j_inner"]
    return _on_all_axes(
        system,
        system.add_prefetch(knl, "u", sweep, default_tag="l.auto", fetch_bounding_box=True),
    )


_DG_NODES, _DG_BATCH = 20, 8  # nodes of an element of order 3, elements of a work-group


def _dg_volume(system: Any, knl: Any) -> Any:
    knl = system.fix_parameters(knl, Np=_DG_NODES)
    knl = system.split_iname(knl, "k", _DG_BATCH, outer_tag="g.0", inner_tag="l.1")
    knl = system.tag_inames(knl, {"i": "l.0"})
    arrays = ["Dr", "Ds", "Dt", "u"]
    knl = system.add_dtypes(knl, dict.fromkeys([*arrays, "rx", "sx", "tx"], np.float32))
    for matrix in arrays[:3]:
        knl = system.add_prefetch(knl, matrix, ["i", "j"], default_tag="l.auto")
    knl = system.add_prefetch(knl, "u", ["k_inner", "j"], default_tag="l.auto")
    return _on_all_axes(system, system.tag_inames(knl, {"j": "unr"}))


def _on_all_axes(system: Any, knl: Any) -> Any:
    """Let Loo.py execute prefetches in all groups, which it asks for."""
    return system.add_inames_for_unused_hw_axes(knl) if system is loopy else knl


CASES = (
    Case("vector add", "{ [i]: 0<=i<n }", "out[i] = a[i] + b[i]", _vector_add),
    Case(
        "5-point stencil, tiled",
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "out[i+1,j+1] = u[i,j+1] + u[i+2,j+1] + u[i+1,j] + u[i+1,j+2] - 4*u[i+1,j+1]",
        _stencil,
    ),
    Case(
        "32-fold unrolled sum",
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "out[i] = sum(j, a[i,j])",
        _unrolled_sum,
    ),
    Case(
        "matrix product, tiled",
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        "c[i,j] = sum(k, a[i,k]*b[k,j])",
        _product,
    ),
    Case(
        "5-point, prefetched",
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "out[i+1,j+1] = u[i,j+1] + u[i+2,j+1] + u[i+1,j] + u[i+1,j+2] - 4*u[i+1,j+1]",
        _prefetched_stencil,
    ),
    Case(
        "product, prefetched",
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        "c[i,j] = sum(k, a[i,k]*b[k,j])",
        _prefetched_product,
    ),
    Case(
        "dG volume, prefetched",
        "{ [k,i,j]: 0<=k<K and 0<=i<Np and 0<=j<Np }",
        """
        ur := sum(j, Dr[i,j]*u[k,j])
        us := sum(j, Ds[i,j]*u[k,j])
        ut := sum(j, Dt[i,j]*u[k,j])
        rhs[k,i] = rx[k]*ur + sx[k]*us + tx[k]*ut
        """,
        _dg_volume,
    ),
)


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


_Times: TypeAlias = tuple[float, float]  # of making the kernel, of the rest


def _polygen(case: Case) -> _Times:
    making, knl = _timed(lambda: pg.make_kernel(case.domain, case.instructions))
    rest, _ = _timed(lambda: str(pg.generate_code(case.transform(pg, knl))))
    return making, rest


def _loopy(case: Case) -> _Times:
    making, knl = _timed(
        lambda: loopy.make_kernel(case.domain, case.instructions, lang_version=(2018, 2))
    )
    rest, _ = _timed(lambda: loopy.generate_code_v2(case.transform(loopy, knl)).device_code())
    return making, rest


def _unproved(case: Case) -> _Times:
    with pg.without_proofs():
        return _polygen(case)


def _compare(case: Case) -> None:
    measured = (_unproved, _polygen, _loopy)
    times: list[list[_Times]] = [[] for _ in measured]
    for _ in range(TURNS):
        for run, found in zip(measured, times, strict=True):
            found += [run(case) for _ in range(RUNS)]
    made, generated = (
        [1e3 * statistics.median(run[part] for run in found) for found in times] for part in (0, 1)
    )
    peer = generated[2]
    print(
        f"{case.name:24}{made[0]:10.2f} / {made[2]:5.2f}"
        f"{generated[0]:11.2f} {generated[1]:9.2f} / {peer:7.2f}"
        f"{generated[0] / peer:13.3f} {generated[1] / peer:9.3f}"
    )


def main() -> None:
    """Measure and print."""
    if os.environ.get("POLYGEN_NO_CACHE") != "1":
        raise SystemExit("set POLYGEN_NO_CACHE=1: caches would be measured otherwise")
    warnings.simplefilter("ignore")
    loopy.set_caching_enabled(False)
    if PATCHED:
        print(PATCHED)
    print(f"medians of {TURNS * RUNS}, milliseconds of CPU time: polygen / Loo.py")
    print(f"{'':24}{'make_kernel':>18}{'transform and generate':>31}{'ratio':>22}")
    print(f"{'':47}{'unproved    proved':>18}{'':16}{'unproved    proved':>18}")
    for case in CASES:  # so that the process is warm
        _polygen(case)
        _loopy(case)
    for case in CASES:
        _compare(case)


if __name__ == "__main__":
    main()
