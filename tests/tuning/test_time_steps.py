"""Steps of time: each shares its reductions, and how many there are is not asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import FootprintNotAffine
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag, is_parallel
from polygen.lower.program import HostLoop
from polygen.tuning.nests import families
from polygen.tuning.time_steps import with_time_steps
from tests.oracle.cases import host_loops, kernel, launches

LIMITS = pg.Limits(3e12, 3e13, compute_units=8)
LOOPS = ["{ [t]: 0<=t<T }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]


def _steps(text: str, *names: str, **options: Any) -> Kernel:
    given = [pg.TemporaryVariable(n, "float64", (), pg.AddressSpace.AUTO) for n in names]
    text = f"for t\n{text}\nfor i\nx[i] = x[i] - s\nend\nend"
    x = pg.GlobalArg("x", "float64", "n")
    return kernel(LOOPS, text, *given, x, seq_dependencies=True, **options)


@pytest.mark.parametrize(
    ("text", "names", "n"),
    [
        pytest.param("s = sum(j, x[j])", "s", 5000, marks=pytest.mark.more),  # of several groups
        ("s = sum(j, x[j])", "s", 100),  # of one group
        pytest.param("m = max(j, x[j])\ns = m + min(j, x[j])", "sm", 700, marks=pytest.mark.more),
    ],
)
def test_each_step_shares_its_sums(text: str, names: str, n: int) -> None:
    knl = _steps(text, *names, target="opencl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left as it is
        new = pg.optimize_reductions(knl, LIMITS, sizes={"n": n})
    (loop,) = pg.lower_kernel(new).host
    assert isinstance(loop, HostLoop)
    assert len(loop.body) == 2
    assert all(launch.axes for launch in launches(pg.lower_kernel(new)))
    assert "l.0" in {str(tag) for tag in new.tags.values()}
    x = np.arange(n) % 7 - 3.0
    expected = x.copy()
    for _ in range(3):
        s = expected.sum() if names == "s" else expected.max() + expected.min()
        expected = expected - s
    new.executor("opencl")(x=x, T=3)
    np.testing.assert_allclose(x, expected, rtol=1e-12)


def test_what_a_step_takes_does_not_depend_on_how_many_there_are() -> None:
    knl = _steps("s = sum(j, x[j])", "s", target="cuda")
    found = [
        pg.optimize_reductions(knl, LIMITS, sizes={"n": 1 << 20, **t}) for t in ({}, {"T": 50})
    ]
    assert found[0] == found[1]
    assert "j_group" in found[0].inames  # of several groups
    assert [len(loop.body) for loop in host_loops(pg.lower_kernel(found[0]))] == [2]


def test_loops_that_are_no_steps_of_time() -> None:
    rows = kernel(
        ["{ [t]: 0<=t<T }", "{ [j]: 0<=j<n }"],
        "s[t] = sum(j, x[t, j])  {id=s}",
        pg.GlobalArg("x", "float64", "T, n"),
    )
    assert with_time_steps(rows, ["s"]) is rows
    steps = _steps("s = sum(j, x[j])", "s")
    found = with_time_steps(steps, [insn.id for insn in steps.instructions])
    assert found.tags == {"t": ForTag()}
    assert with_time_steps(found, [insn.id for insn in steps.instructions]) is found


ROWS = ["{ [k]: 0<=k<n }", "{ [l]: 0<=l<n }"]
# On processors: a step, and what is right of a, n x n, and x.
ON_C: dict[str, tuple[str, Callable[[Any, Any], tuple[Any, Any]]]] = {
    "a sum of all": (
        "s = sum(j, x[j])\nfor i\nx[i] = x[i] - s/n\nend",
        lambda a, x: (a, x - x.sum() / len(x)),
    ),
    "of columns": (
        "for j\ny[j] = sum(i, a[i,j])\nend\nfor k,l\na[k,l] = a[k,l] - y[l]/n\nend",
        lambda a, x: (a - a.sum(0) / len(a), x),
    ),
    "of rows, and a maximum": (
        "for i\ny[i] = sum(j, a[i,j]*x[j])\nend\ns = max(k, abs(y[k]))\nfor l\nx[l] = y[l]/s\nend",
        lambda a, x: (a, a @ x / abs(a @ x).max()),
    ),
    "two of all": (
        "s = sum(j, x[j])\nm = max(k, x[k])\nfor i\nx[i] = x[i] - s/n + m\nend",
        lambda a, x: (a, x - x.sum() / len(x) + x.max()),
    ),
}


def _on_c(text: str, *, is_step: bool) -> Kernel:
    shapes = {"a": "n, n", "x": "n"}
    arrays = [pg.GlobalArg(name, "float64", shape) for name, shape in shapes.items()]
    scalars = pg.TemporaryVariable("s, m", "float64", (), pg.AddressSpace.AUTO)
    y = pg.TemporaryVariable("y", "float64", "n", pg.AddressSpace.GLOBAL)
    text = f"for t\n{text}\nend" if is_step else text
    domains = [*(LOOPS if is_step else LOOPS[1:]), *ROWS]
    return kernel(domains, text, *arrays, scalars, y, seq_dependencies=True, target="c")


MANY = {"n": 10**5}  # so that a sum of all has work for threads
_MORE = ("of rows, and a maximum", "two of all")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.more) if n in _MORE else n for n in ON_C]
)
def test_threads_and_vectors_share_each_step(name: str) -> None:
    text, step = ON_C[name]
    knl = _on_c(text, is_step=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left as it is
        new = pg.optimize_reductions(knl, LIMITS, sizes=MANY)
    known = {arg.name for arg in new.arguments}
    alone = pg.optimize_reductions(_on_c(text, is_step=False), LIMITS, sizes=MANY)
    assert new.tags == {"t": ForTag(), **alone.tags}  # each step is shared as if it were alone
    assert sum(map(is_parallel, alone.tags.values())) >= 2
    if "s" in text.split("for")[-1]:  # threads read it, and none computes it again
        assert new.address_space("s") is pg.AddressSpace.GLOBAL
    for n, count in ((1, 2), (37, 3), (130, 0)):
        rng = np.random.default_rng(n)
        arrays = {"a": rng.normal(size=(n, n)), "x": rng.normal(size=n)}
        expected = arrays["a"], arrays["x"]
        for _ in range(count):
            expected = step(*expected)
        given: dict[str, Any] = {n: a for n, a in arrays.items() if n in known}
        new(**given, T=count)
        np.testing.assert_allclose(arrays["a"], expected[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(arrays["x"], expected[1], rtol=1e-12, atol=1e-12)


def test_sums_of_one_step_are_each_by_themselves() -> None:
    """They have one result in each step: nothing is gained from having them in one group."""
    knl = _on_c(ON_C["two of all"][0], is_step=True)
    assert len(families(knl)) == 1  # of T results
    steps = with_time_steps(knl, [insn.id for insn in knl.assignments])
    assert [len(family) for family in families(steps)] == [1, 1]


@pytest.mark.more
def test_results_that_are_carried_on_are_stored_together() -> None:
    """Threads along `i` would each add up `x`; `s` cannot be in memory without `m`."""
    text = "for t\nc = s\ns = m + sum(j, x[j])/n\nm = c\nfor i\nx[i] = (x[i] - s)/2 + m\nend\nend"
    scalars = pg.TemporaryVariable("s, m, c", "float64", (), pg.AddressSpace.AUTO)
    x = pg.GlobalArg("x", "float64", "n")
    text = f"s = 1\nm = 2\n{text}"
    knl = kernel(LOOPS, text, scalars, x, seq_dependencies=True, target="c")
    new = pg.optimize_reductions(knl, LIMITS)
    assert is_parallel(new.tags.get("i"))
    spaces = [new.address_space(name) for name in ("s", "m")]
    assert spaces == [pg.AddressSpace.GLOBAL] * 2
    found = np.arange(5.0)
    s, m, expected = 1.0, 2.0, found.copy()
    for _ in range(3):
        s, m = m + expected.sum() / 5, s
        expected = (expected - s) / 2 + m
    new(x=found, T=3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_parts_are_kept_for_one_step() -> None:
    knl = _on_c(ON_C["a sum of all"][0], is_step=True)
    kept = [pg.reduce_in_parts(pg.tag_inames(knl, {"t": "for"}), "j", 8)]
    kept.append(pg.reduce_in_parts(pg.assume(knl, "T >= 0"), "j", 8))
    assert [len(k.array("part_j_inner").shape or ()) for k in kept] == [1, 2]
    with pytest.raises(FootprintNotAffine, match="each value of 't': how many these are") as caught:
        pg.reduce_in_parts(knl, "j", 8)
    assert "tag loops 'for' whose iterations come one after the other" in str(caught.value)
