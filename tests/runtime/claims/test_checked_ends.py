"""Obligations in loops whose bounds are data: the loops' ends are looked at, not all iterations."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import ObligationViolated, TooManyToCheck
from polygen.ir.kernel import Kernel
from polygen.runtime.claims.assumptions import CallData, check_assumptions
from tests.oracle.cases import kernel

Ints: TypeAlias = NDArray[np.int64]
EXTENT = 9


def _check(knl: Kernel, sizes: Mapping[str, int], **arrays: Any) -> None:
    check_assumptions(knl, CallData(sizes, {}, arrays.get, lambda _: None))


@dataclass(frozen=True)
class Form:
    """A kernel that reads `v` in loops whose bounds are data.

    Attributes:
        domains: besides that of `i`, from 0 to n.
        text: the instruction that reads it.
        touched: yields the elements that it reads, in Python.
    """

    domains: tuple[str, ...]
    text: str
    touched: Callable[[Ints, Ints, int], Iterator[int]]

    @property
    def kernel(self) -> Kernel:
        """The kernel; `p` and `q` are what decides the bounds."""
        return self.made(EXTENT)

    def made(self, extent: int) -> Kernel:
        """Return the kernel, with so many elements to read."""
        data = [pg.GlobalArg(name, "int64", ("n + 1",)) for name in "pq"]
        data += [pg.GlobalArg("v", "float64", (extent,)), pg.GlobalArg("o", "float64", ("n",))]
        text = (
            f"<> lo = p[i] {{id=lo}}\n<> hi = p[i+1] {{id=hi}}\n<> w = q[i] {{id=w}}\n{self.text}"
        )
        return kernel(["{ [i]: 0<=i<n }", *self.domains], text, *data)


def _rows(p: Ints, n: int) -> Iterator[tuple[int, range]]:
    return ((i, range(p[i], p[i + 1])) for i in range(n))


ROW = "{ [k]: lo<=k<hi }"
FORMS: dict[str, Form] = {
    "a row": Form(
        (ROW,), "o[i] = sum(k, v[k])", lambda p, _q, n: (k for _, r in _rows(p, n) for k in r)
    ),
    "downward": Form(
        (ROW,),
        "o[i] = sum(k, v[2 + i - k])",
        lambda p, _q, n: (2 + i - k for i, r in _rows(p, n) for k in r),
    ),
    "with a factor that is data": Form(
        (ROW,),
        "o[i] = sum(k, v[w*k + 1])",
        lambda p, q, n: (q[i] * k + 1 for i, r in _rows(p, n) for k in r),
    ),
    "every third": Form(
        ("{ [k]: lo<=k<hi and k mod 3 = 1 }",),
        "o[i] = sum(k, v[k])",
        lambda p, _q, n: (k for _, r in _rows(p, n) for k in r if k % 3 == 1),
    ),
    "every third from the first": Form(
        ("{ [k]: lo<=k<hi and (k - lo) mod 3 = 0 }",),
        "o[i] = sum(k, v[k])",
        lambda p, _q, n: (k for _, r in _rows(p, n) for k in r[::3]),
    ),
    "two of four": Form(
        ("{ [k]: lo<=k<hi and k mod 4 >= 2 }",),
        "o[i] = sum(k, v[k])",
        lambda p, _q, n: (k for _, r in _rows(p, n) for k in r if k % 4 >= 2),
    ),
    "with holes": Form(
        ("{ [k]: lo<=k<hi and (k < 3 or k > 5) }",),
        "o[i] = sum(k, v[k])",
        lambda p, _q, n: (k for _, r in _rows(p, n) for k in r if k < 3 or k > 5),
    ),
    "a triangle": Form(
        (ROW, "{ [j]: lo<=j<=k }"),
        "o[i] = sum((k, j), v[k - j + w])",
        lambda p, q, n: (
            k - j + q[i] for i, r in _rows(p, n) for k in r for j in range(p[i], k + 1)
        ),
    ),
    "a triangle of few": Form(
        (ROW, "{ [j]: 0<=j<k }"),
        "o[i] = sum((k, j), v[5 - k + 2*j])",
        lambda p, _q, n: (5 - k + 2 * j for _, r in _rows(p, n) for k in r for j in range(k)),
    ),
    "a roof": Form(
        (ROW, "{ [j]: 0<=j<=k and j <= 6 - k }"),
        "o[i] = sum((k, j), v[3*j])",
        lambda p, _q, n: (
            3 * j for _, r in _rows(p, n) for k in r for j in range(min(k, 6 - k) + 1)
        ),
    ),
    "a half": Form(
        (ROW, "{ [j]: 0<=2*j<=k }"),
        "o[i] = sum((k, j), v[2*j - k + 4])",
        lambda p, _q, n: (
            2 * j - k + 4 for _, r in _rows(p, n) for k in r for j in range(k // 2 + 1)
        ),
    ),
    "a product": Form(
        (ROW, "{ [j]: 0<=j<w }"),
        "o[i] = sum((k, j), v[k*j])",
        lambda p, q, n: (k * j for i, r in _rows(p, n) for k in r for j in range(q[i])),
    ),
    "where something holds of the row": Form(
        (ROW,),
        "o[i] = sum(k, v[k]) {if=w > 1}",
        lambda p, q, n: (k for i, r in _rows(p, n) if q[i] > 1 for k in r),
    ),
    "where something holds of the place": Form(
        (ROW,),
        "o[i] = sum(k, if(k > 2 and k < 7, v[k + 3], 0))",
        lambda p, _q, n: (k + 3 for _, r in _rows(p, n) for k in r if 2 < k < 7),
    ),
    "where one is left out": Form(
        (ROW,),
        "o[i] = sum(k, if(k != 4, v[2*k], 0))",
        lambda p, _q, n: (2 * k for _, r in _rows(p, n) for k in r if k != 4),
    ),
    "where data says so": Form(
        (ROW,),
        "o[i] = sum(k, if(k < w, v[k], 0))",
        lambda p, q, n: (k for i, r in _rows(p, n) for k in r if k < q[i]),
    ),
    "a remainder": Form(
        (ROW,),
        "o[i] = sum(k, v[(k + w) % 11])",
        lambda p, q, n: ((k + q[i]) % 11 for i, r in _rows(p, n) for k in r),
    ),
}


def _draw(choices: random.Random) -> tuple[Ints, Ints]:
    """Return bounds that are right as a rule, and one in three times wrong at one place."""
    n = choices.randint(0, 3)
    p = sorted(choices.choices(range(EXTENT), k=n + 1))
    if choices.random() < 0.4:
        p[choices.randrange(n + 1)] = choices.choice((-2, -1, EXTENT, EXTENT + 1, EXTENT + 4))
    q = choices.choices(range(-1, 4), k=n + 1)
    return np.array(p), np.array(q)


def _compare(form: Form, knl: Kernel, seeds: range) -> set[bool]:
    """Check that just what touches an element outside is refused; return what there was."""
    seen = set[bool]()
    for seed in seeds:
        p, q = _draw(random.Random(seed))
        n = len(p) - 1
        touched = set(form.touched(p, q, n))
        wrong = {k for k in touched if not 0 <= k < EXTENT}
        seen.add(bool(wrong))
        try:
            _check(knl, {"n": n}, p=p, q=q)
        except ObligationViolated as error:
            needed = re.search(r"needs v\[(-?\d+)\]", error.what)
            assert needed is not None
            assert int(needed[1]) in wrong, (seed, p, q)
        else:
            assert not wrong, (seed, p, q)
    return seen


@pytest.mark.parametrize("name", FORMS)
def test_just_what_touches_an_element_outside_is_refused(name: str) -> None:
    assert _compare(FORMS[name], FORMS[name].kernel, range(60)) == {False, True}


@pytest.mark.deep
@pytest.mark.parametrize("name", FORMS)
def test_thousands(name: str) -> None:
    _compare(FORMS[name], FORMS[name].kernel, range(1_000, 2_500))


@pytest.mark.parametrize("name", FORMS)
def test_blocks_of_few_instances(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygen.runtime.claims.instance_tables._BLOCK", 3)
    _compare(FORMS[name], FORMS[name].kernel, range(8))


# --- more than can be looked at

QUICK = 1.0  # seconds of the processor: 3*10**8 instances would take minutes
BY_ENDS = [
    name
    for name in FORMS
    if name not in ("with holes", "a roof", "a half", "a product", "a remainder")
    and not name.startswith("where ")
] + ["where something holds of the row"]


@pytest.mark.parametrize("name", BY_ENDS)
@pytest.mark.parametrize("last", [3 * 10**8, 2**62])
def test_far_too_many_iterations_are_refused_at_once(name: str, last: int) -> None:
    data = {"p": np.array([0, 1, last]), "q": np.array([1, 2, 3])}
    start = time.process_time()
    with pytest.raises(ObligationViolated, match=r"needs v\[-?\d+\], and 'v' has the shape \(9,\)"):
        _check(FORMS[name].kernel, {"n": 2}, **data)
    assert time.process_time() - start < QUICK


@pytest.mark.parametrize("name", ["a row", "every third", "a triangle"])
def test_very_many_iterations_that_are_right_are_looked_at_at_once(name: str) -> None:
    last = 3 * 10**8
    knl = FORMS[name].made(last + 1)
    start = time.process_time()
    _check(knl, {"n": 2}, p=np.array([0, 7, last]), q=np.zeros(3, np.int64))
    with pytest.raises(ObligationViolated):
        _check(knl, {"n": 2}, p=np.array([0, 7, last + 20]), q=np.zeros(3, np.int64))
    assert time.process_time() - start < QUICK


@pytest.mark.parametrize("name", ["a product", "a remainder", "where data says so"])
def test_what_cannot_be_checked_is_refused(name: str) -> None:
    data = {"p": np.array([0, 1, 3 * 10**9]), "q": np.array([2, 2, 2])}
    with pytest.raises(TooManyToCheck, match="more than 1,000,000,000 instances: ") as caught:
        _check(FORMS[name].kernel, {"n": 2}, **data)
    assert "check_assumptions=True" in str(caught.value.remedy)


def test_pairs_of_too_many_instances_are_refused() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "a[idx[i % 4]] = 1", pg.GlobalArg("a", "float64", "m"), "...")
    with pg.without_proofs():
        knl = pg.tag_inames(knl, {"i": "g.0"})
    idx = np.arange(4)
    _check(knl, {"n": 4, "m": 4}, idx=idx)
    with pytest.raises(TooManyToCheck, match=r"more than 20,000,000 instances: .* different i"):
        _check(knl, {"n": 30_000_000, "m": 4}, idx=idx)


def test_a_call_is_refused() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: lo<=k<hi }"],
        "<> lo = p[i] {id=lo}\n<> hi = p[i+1] {id=hi}\no[i] = sum(k, v[k])",
        pg.GlobalArg("p", "int32", ("n + 1",)),
        pg.GlobalArg("v", "float64", ("m",)),
        pg.GlobalArg("o", "float64", ("n",)),
    )
    v, p = np.ones(8), np.array([0, 8], np.int32)
    _, (out,) = knl(v=v, p=p, check_assumptions=True)
    assert list(out) == [8.0]
    for wrong in ([0, 3 * 10**8], [0, 9], [-1, 8], [-(10**9), 8]):
        with pytest.raises(ObligationViolated, match=r"v\[k\] in 'insn' needs v\[-?\d+\]"):
            knl(v=v, p=np.array(wrong, np.int32), check_assumptions=True)
