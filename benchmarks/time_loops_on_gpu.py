"""Loops of time on a GPU: `polygen.optimize` of the text, its alternatives, and copies.

    python -m benchmarks.time_loops_on_gpu [jacobi_2d ...] [--chosen]

For each kernel: what `optimize` chose, and alternatives of its stages for loops of time (with
`--chosen`: launches alone), in milliseconds; beside them, as many copies of an array as the kernel
has sweeps.  First, several processes choose, compile, and compare results for odd sizes and few
steps with CuPy's.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from os import cpu_count
from typing import Any

import numpy as np

import polygen as pg
from benchmarks.on_device import Cuda
from polygen.schedules import overlapped_tiles
from polygen.schedules.plan import Plan
from polygen.schedules.schedule import planned, request_for

overlapped_tiles.MEASURED = 9  # more than `tune=True` looks at

I = slice(1, -1)  # noqa: E741
ABOUT = "steps of '", "overlapped tiles of '"  # questions of the stages for loops of time


def jacobi_1d(a: Any, b: Any, T: int) -> None:
    for _ in range(T):
        b[I] = 0.33333 * (a[:-2] + a[I] + a[2:])
        a[I] = 0.33333 * (b[:-2] + b[I] + b[2:])


def jacobi_2d(a: Any, b: Any, T: int) -> None:
    for _ in range(T):
        for x, y in ((a, b), (b, a)):
            y[I, I] = 0.2 * (x[I, I] + x[I, :-2] + x[I, 2:] + x[2:, I] + x[:-2, I])


def heat_3d(a: Any, b: Any, T: int) -> None:
    for _ in range(T):
        for x, y in ((a, b), (b, a)):
            inner = x[I, I, I]
            y[I, I, I] = (
                0.125 * (x[2:, I, I] - 2.0 * inner + x[:-2, I, I])
                + 0.125 * (x[I, 2:, I] - 2.0 * inner + x[I, :-2, I])
                + 0.125 * (x[I, I, 2:] - 2.0 * inner + x[I, I, :-2])
                + inner
            )


def fdtd_2d(ex: Any, ey: Any, hz: Any, fict: Any, T: int) -> None:
    for t in range(T):
        ey[0] = fict[t]
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def _cross(x: str, i: str, j: str) -> str:
    return f"0.2*({x}[{i},{j}] + {x}[{i},{j}-1] + {x}[{i},{j}+1] + {x}[{i}+1,{j}] + {x}[{i}-1,{j}])"


def _heat(x: str, i: str, j: str, k: str) -> str:
    ends = (
        (f"{i}+1,{j},{k}", f"{i}-1,{j},{k}"),
        (f"{i},{j}+1,{k}", f"{i},{j}-1,{k}"),
        (f"{i},{j},{k}+1", f"{i},{j},{k}-1"),
    )
    own = f"{x}[{i},{j},{k}]"
    return " + ".join([f"0.125*({x}[{a}] - 2.0*{own} + {x}[{b}])" for a, b in ends] + [own])


TEXTS: dict[str, tuple[str, str, dict[str, str], Callable[..., None]]] = {
    "jacobi_1d": (
        "{ [t,i,p]: 0<=t<T and 1<=i,p<n-1 }",
        "for t\n b[i] = 0.33333*(a[i-1] + a[i] + a[i+1])\n"
        " a[p] = 0.33333*(b[p-1] + b[p] + b[p+1])\nend",
        {"a": "n", "b": "n"},
        jacobi_1d,
    ),
    "jacobi_2d": (
        "{ [t,i,j,p,q]: 0<=t<T and 1<=i,j,p,q<n-1 }",
        f"for t\n b[i,j] = {_cross('a', 'i', 'j')}\n a[p,q] = {_cross('b', 'p', 'q')}\nend",
        {"a": "n, n", "b": "n, n"},
        jacobi_2d,
    ),
    "heat_3d": (
        "{ [t,i,j,k,p,q,r]: 0<=t<T and 1<=i,j,k,p,q,r<n-1 }",
        f"for t\n b[i,j,k] = {_heat('a', 'i', 'j', 'k')}\n"
        f" a[p,q,r] = {_heat('b', 'p', 'q', 'r')}\nend",
        {"a": "n, n, n", "b": "n, n, n"},
        heat_3d,
    ),
    "fdtd_2d": (
        "{ [t,j0,i1,j1,i2,j2,i3,j3]: 0<=t<T and 0<=j0,j1,i2<n and 1<=i1,j2<n and 0<=i3,j3<n-1 }",
        """
        for t
          ey[0,j0] = fict[t]
          ey[i1,j1] = ey[i1,j1] - 0.5*(hz[i1,j1] - hz[i1-1,j1])
          ex[i2,j2] = ex[i2,j2] - 0.5*(hz[i2,j2] - hz[i2,j2-1])
          hz[i3,j3] = hz[i3,j3] - 0.7*(ex[i3,j3+1] - ex[i3,j3] + ey[i3+1,j3] - ey[i3,j3])
        end
        """,
        {"ex": "n, n", "ey": "n, n", "hz": "n, n", "fict": "T"},
        fdtd_2d,
    ),
}
ORDERS = {
    "jacobi_1d": ["t, i", "t, p"],
    "jacobi_2d": ["t, i, j", "t, p, q"],
    "heat_3d": ["t, i, j, k", "t, p, q, r"],
    "fdtd_2d": ["t, j0", "t, i1, j1", "t, i2, j2", "t, i3, j3"],
}


@dataclass(frozen=True)
class Case:
    """A loop of time, for some sizes.

    Attributes:
        name: that of its text.
        sizes: how large arrays are, and how many steps there are.
        dtype: the type of all arrays.
        sweeps: how many sweeps over arrays a step has.
        is_searched: whether all alternatives are measured; else what was chosen, and launches.
    """

    name: str
    sizes: Mapping[str, int]
    dtype: str = "float64"
    sweeps: int = 2
    is_searched: bool = False

    def kernel(self) -> pg.Kernel:
        """Return the kernel without a step."""
        domain, text, shapes, _ = TEXTS[self.name]
        arrays = [pg.GlobalArg(x, self.dtype, shape) for x, shape in shapes.items()]
        return pg.make_kernel(
            domain,
            text,
            [*arrays, "..."],
            name=self.name,
            seq_dependencies=True,
            loop_priority=ORDERS[self.name],
            target="cuda",
            assumptions="n >= 2" if self.name == "fdtd_2d" else "",
        )

    def arrays(self, xp: Any, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return arrays of CuPy's or NumPy's."""
        rng = np.random.default_rng(1)
        shapes = TEXTS[self.name][2]
        extents = {x: [sizes[part.strip()] for part in s.split(",")] for x, s in shapes.items()}
        return {x: xp.asarray(rng.random(shape).astype(self.dtype)) for x, shape in extents.items()}

    def scalars(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return the sizes that no array tells."""
        return {} if self.name == "fdtd_2d" else {"T": sizes["T"]}


CASES = (
    Case("jacobi_2d", {"n": 2800, "T": 1000}, is_searched=True),
    Case("jacobi_2d", {"n": 2801, "T": 999}),
    Case("jacobi_2d", {"n": 2800, "T": 1000}, "float32", is_searched=True),
    Case("jacobi_2d", {"n": 8000, "T": 100}),
    Case("jacobi_2d", {"n": 1000, "T": 1000}),
    Case("jacobi_2d", {"n": 60, "T": 1000}, is_searched=True),
    Case("fdtd_2d", {"n": 2400, "T": 500}, sweeps=3, is_searched=True),
    Case("heat_3d", {"n": 120, "T": 500}),
    Case("jacobi_1d", {"n": 2000, "T": 1000}, is_searched=True),
    Case("jacobi_1d", {"n": 4_000_000, "T": 200}),
)


def schedules(case: Case, *, alone: bool) -> Iterator[tuple[str, pg.Kernel]]:
    """Yield what is chosen, and the alternatives, each with its name."""
    knl, limits = case.kernel(), pg.Limits.of_device()
    request = request_for(knl, limits, case.sizes, tune=False)
    plan = planned(knl, request)
    yield f"chosen: {_taken(plan)}", plan.kernel
    for question in plan.questions:
        if not question.about.startswith(ABOUT):
            continue
        others = question.labels[1:]
        for label in [x for x in others if x in ("none", "launches")] if alone else others:
            picks = {question.about: label}
            other = planned(knl, replace(request, picks=picks))
            yield f"{question.about}: {label}: {_taken(other)}", other.kernel
            if label == "launches":  # no tiles either
                picks["overlapped tiles of 't'"] = "none"
                other = planned(knl, replace(request, picks=picks))
                yield f"plain: {_taken(other)}", other.kernel


def _taken(plan: Plan) -> str:
    """Return the first step of a plan."""
    return next(str(c).partition(":")[0] for c in plan.choices if c.is_taken)


def checked(case: Case, *, alone: bool) -> list[tuple[str, pg.Kernel, str]]:
    """Return schedules, and whether each is right, for odd sizes and few steps."""
    import cupy  # noqa: PLC0415  (only where it is used)

    warnings.simplefilter("ignore")
    found: list[tuple[str, pg.Kernel, str]] = []
    for name, knl in schedules(case, alone=alone or not case.is_searched):
        wrong = ""
        for n, steps in ((211, 29), (66, 8), (3, 17)):
            arrays = case.arrays(cupy, sizes := {"n": n, "T": steps})
            expected = {x: a.copy() for x, a in arrays.items()}
            TEXTS[case.name][3](**expected, T=steps)
            knl(**arrays, **case.scalars(sizes))
            for x, a in arrays.items():
                away = float(abs(a - expected[x]).max())
                if away > (1e-4 if case.dtype == "float32" else 1e-11):
                    wrong = f"WRONG: {x} by {away:.1e} for n = {n}, T = {steps}"
        found.append((name, knl, wrong))
    return found


def main() -> None:
    alone = "--chosen" in sys.argv
    names = [name for name in sys.argv[1:] if name in TEXTS]
    cases = [case for case in CASES if not names or case.name in names]
    begin = time.time()
    with ProcessPoolExecutor(min(10, cpu_count() or 1), get_context("spawn")) as pool:
        found = list(pool.map(partial(checked, alone=alone), cases))
    device = Cuda()
    print(f"{device.name}; choosing and checking took {time.time() - begin:.0f} s")
    for case, kernels in zip(cases, found, strict=True):
        arrays = case.arrays(device.cupy, case.sizes)
        first = next(iter(arrays.values()))
        copied = device.milliseconds(partial(device.copy, device.cupy.empty_like(first), first))
        count = case.sweeps * case.sizes["T"]
        print(
            f"{case.name} {dict(case.sizes)} {case.dtype}: {count} copies {copied * count:.2f} ms"
        )
        for name, knl, wrong in kernels:
            run: Callable[[], Any] = partial(device.call, knl, **arrays, **case.scalars(case.sizes))
            print(f"    {device.milliseconds(run, 3):9.3f} ms  {name}  {wrong}", flush=True)


if __name__ == "__main__":
    main()
