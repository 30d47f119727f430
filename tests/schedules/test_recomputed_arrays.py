"""Temporaries are computed where they are read, if that takes less time than to move them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import nests_of
from polygen.schedules.recomputed_arrays import arrays_recomputed
from tests.schedules.stage_runs import array, check, nests, staged, temporary

FLUXES = """
for i, j
    lap[i,j] = 4*x[i+1,j+1] - (x[i+2,j+1] + x[i,j+1] + x[i+1,j+2] + x[i+1,j])
end
for p, q
    <> r = lap[p+1,q+1] - lap[p,q+1]
    flx[p,q] = if(r*(x[p+2,q+2] - x[p+1,q+2]) > 0, 0.0, r)
end
for s, t
    <> d = lap[s+1,t+1] - lap[s+1,t]
    fly[s,t] = if(d*(x[s+2,t+2] - x[s+2,t+1]) > 0, 0.0, d)
end
for v, w
    out[v,w] = x[v+2,w+2] - c[v,w]*(flx[v+1,w] - flx[v,w] + fly[v,w+1] - fly[v,w]) {id=out}
end
"""


def fluxes() -> Kernel:
    """Return horizontal diffusion in two dimensions."""
    return nests(
        "{ [i,j,p,q,s,t,v,w]: 0<=i,j<n+2 and 0<=p<=n and 0<=q<n and 0<=s<n and 0<=t<=n and "
        "0<=v,w<n }",
        FLUXES,
        array("x", "n+4, n+4"),
        array("c", "n, n"),
        temporary("lap", "n+2, n+2"),
        temporary("flx", "n+1, n"),
        temporary("fly", "n, n+1"),
    )


def right_fluxes(x: Any, c: Any) -> Any:
    lap = 4 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    r = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flx = np.where(r * (x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0, 0, r)
    d = lap[1:-1, 1:] - lap[1:-1, :-1]
    fly = np.where(d * (x[2:-2, 2:-1] - x[2:-2, 1:-2]) > 0, 0, d)
    out = x[2:-2, 2:-2] - c * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])
    return {"out": out}


def test_fields_of_a_stencil() -> None:
    plan = staged(fluxes(), arrays_recomputed, n=500)
    new = plan.kernel
    assert [step.name for step in new.history] == ["recompute_temporaries", "remove_unused_inames"]
    assert new.inames == ("v", "w")
    assert not any(t.shape for t in new.temporaries)
    made = sorted(insn.id.partition("_")[0] for insn in new.instructions)
    assert made == ["d"] * 2 + ["flx"] * 2 + ["fly"] * 2 + ["lap"] * 5 + ["out"] + ["r"] * 2
    (choice,) = plan.choices
    assert choice.what == "fly, flx, lap computed where they are read"
    # `lap` is 4 operations more often computed than before, each of 5; the fields are, once.
    again = 500 * 500 * (5 * 5 + 2 * 2 * 5) - (502 * 502 + 2 * 501 * 500) * 5
    assert choice.why.endswith(f"{again:.3g} operations done again")
    check(new, right_fluxes, lambda n: {"x": (n + 4, n + 4), "c": (n, n)})


def test_where_arithmetic_is_slow() -> None:
    slow = pg.Limits(1e12, 1e9, compute_units=2)
    assert staged(fluxes(), arrays_recomputed, limits=slow).kernel == fluxes()


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_on_grids(target: str) -> None:
    knl = fluxes().copy(target=target)
    new = pg.optimize(knl, pg.Limits.named("H200"), sizes={"n": 2000})
    source = pg.generate_code(new).source
    assert source.count("__global__ void" if target == "cuda" else "__kernel") == 1


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("t[i] = 2*a[i]\nb[j] = t[j] + t[j+1]", True),
        ("t[i] = exp(a[i])*exp(2*a[i])\nb[j] = t[j] + t[j+1]", False),  # 40 operations again
        ("t[i] = exp(a[i])*exp(2*a[i])\nb[j] = t[j+1]", True),  # each once
        ("t[i] = 2*a[i]\na[j] = t[j] + t[j+1]", False),  # other values by then
        ("t[i] = 2*a[i]\nc[j] = c[j] + 1\nb[k] = t[k] + t[k+1] + c[k]", True),
        ("t[i] = 2*c[i]\nc[j] = a[j] + 1\nb[k] = t[k] + t[k+1]", False),
        ("t[i] = 2*a[i]\nb[j] = b[j-1] + t[j]", False),  # a serial loop would do it
        ("t[i] = 2*a[i]\nb[j] = sum(k, t[k]*c[k])", False),
    ],
)
def test_when_it_is(text: str, is_taken: bool) -> None:
    loops = [name for name in "jk" if f"[{name}" in text]
    knl = nests(
        f"{{ [i,{','.join(loops)}]: 0<=i<=n and 1<={','.join(loops)}<n }}",
        text,
        *[array(name, "n+1") for name in "abc" if f"{name}[" in text],
        temporary("t", "n+1"),
    )
    new = staged(knl, arrays_recomputed, n=10**6).kernel
    assert ("t" not in new.variables) == is_taken
    given = dict(zip("abc", np.random.default_rng(1).random((3, 8)), strict=True))
    given = {name: each for name, each in given.items() if f"{name}[" in text}
    again = {name: each.copy() for name, each in given.items()}
    _, right = knl(**given, n=7)
    _, found = new(**again, n=7)
    for one, other in zip(right, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_in_loops_of_time() -> None:
    knl = nests(
        "{ [s,i,j,k]: 0<=s<3 and 0<=i<=n and 0<=j,k<n }",
        "for s\nt[i] = 2*a[i]\nb[j] = t[j] + t[j+1]\na[k] = b[k]/4\nend",
        array("a", "n+1"),
        array("b"),
        temporary("t", "n+1"),
    )
    new = staged(knl, arrays_recomputed, n=10**6).kernel
    assert not any(t.shape for t in new.temporaries)
    assert len(nests_of(new)[0].inner) == 2

    def expected(a: Any, b: Any) -> Any:
        for _ in range(3):
            b = 2 * a[:-1] + 2 * a[1:]
            a[:-1] = b / 4
        return {"a": a, "b": b}

    check(new, expected, lambda n: {"a": n + 1, "b": n})


def test_a_value_of_before_the_loop_of_time_is_kept() -> None:
    """It would be computed in each step."""
    knl = nests(
        "{ [s,i,j]: 0<=s<100 and 0<=i,j<n }",
        "t[i] = sqrt(c[i])\nfor s\na[j] = a[j]*t[j]\nend",
        array("a, c"),
        temporary("t"),
    )
    assert staged(knl, arrays_recomputed, n=10**6).kernel is knl
