"""``seq_dependencies=True``: instructions come in the order in which they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import DependencyCycle, UnorderedAccess
from tests.oracle.interpreter import interpret

SIZES = (0, 1, 7, 16, 17)


def test_each_depends_on_the_one_before() -> None:
    text = "a[i] = 1 {id=a}\nb[j] = 2 {id=b}\n... nop {id=c}\nd[0] = 3 {dep=*, id=d}"
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<n }", text, seq_dependencies=True)
    assert [sorted(i.depends_on) for i in knl.instructions] == [[], ["a"], ["b"], ["c"]]


@pytest.mark.parametrize("n", SIZES)
def test_swap(n: int) -> None:
    """A variable that is read before its only writer: no dependency on what comes later."""
    text = """
    <> old = a[i]
    a[i] = b[i]
    b[i] = old
    """
    with pytest.raises(DependencyCycle):
        pg.make_kernel("{ [i]: 0<=i<n }", text)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, seq_dependencies=True, name="swap")
    given: dict[str, Any] = {"a": np.arange(n) + 0.5, "b": np.arange(n) * 10.0}
    expected = {"a": given["b"].copy(), "b": given["a"].copy()}
    meant = interpret(knl, {**given, "n": n}).arrays
    knl(**given)
    for name, value in expected.items():
        np.testing.assert_array_equal(given[name], value)
        np.testing.assert_array_equal(meant[name], value)


@pytest.mark.parametrize("n", SIZES)
def test_several_writers(n: int) -> None:
    text = """
    acc[i] = 0
    for j
        acc[i] = acc[i] + a[i, j]
    end
    acc[i] = 2*acc[i]
    """
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<3 }"]
    with pytest.raises(UnorderedAccess):
        pg.make_kernel(domains, text)
    knl = pg.make_kernel(domains, text, seq_dependencies=True, name="twice")
    a = np.random.default_rng(n).standard_normal((n, 3))
    _, (acc,) = knl(a=a, acc=np.empty(n))
    np.testing.assert_allclose(acc, 2 * a.sum(axis=1), atol=1e-12)
    assert pg.parse_kernel(str(knl)) == knl


@pytest.mark.parametrize(
    "text",
    [
        "a[i] = 1\nb[j] = 2\nc[i] = 3",
        # The mean, or that of what has been added up so far?
        "<> s = 0\ns = s + a[i]\n<> mean = s/n\nb[i] = a[i] - mean",
        # Once, or in each iteration?
        "c[i] = 3\nb[0] = b[0] + 1\nd[i] = c[i]",
        "c[i] = b[0]\nb[0] = 1\nd[i] = c[i]",
        "c[i] = 3\n<> t = b[0]\nb[i] = t",
        "c[i] = 3\n<> t = c[0]\nb[i] = t",
        # Said to be outside:
        "<> t = a[i]\nt = t*t {inames=}\nb[i] = t",
        "for i\n<> t = a[i]\nend\nt = t*t\nfor i\nb[i] = t\nend",
    ],
)
def test_an_order_that_no_nest_has(text: str) -> None:
    with pytest.raises(DependencyCycle, match="an iname is one loop only: i"):
        pg.make_kernel("{ [i, j]: 0<=i,j<n }", text, seq_dependencies=True)


def within(knl: pg.Kernel) -> list[str]:
    return ["".join(sorted(insn.within_inames)) for insn in knl.instructions]


BETWEEN: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("<> t = a[i]\nt = t*t\nb[i] = t", "i i i", lambda a: a * a),
    ("<> t = a[i]\nt = t*t\n<> u = 2\nu = u*t\nb[i] = u", "i i i i i", lambda a: 2 * a * a),
    ("b[i] = a[i]\n<> t = b[i]\nt = 3\nb[i] = b[i] + t", "i i i i", lambda a: a + 3),
    ("b[i] = a[i]\n<> s = 4 - n\nb[i] = b[i] + s", "i i i", lambda a: a + 4 - len(a)),
    ("<> s = 0\ns = s + a[i]\n<> m = s/2\nb[j] = m", " i  j", lambda a: a * 0 + sum(a) / 2),
]


@pytest.mark.parametrize(("text", "expected", "computed"), BETWEEN)
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_what_stands_between_is_in_the_loop(
    text: str, expected: str, computed: Any, target: str
) -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }",
        text,
        seq_dependencies=True,
        target=target,
        silenced_warnings="UnusedIname",
    )
    assert within(knl) == expected.split(" ")
    assert pg.parse_kernel(str(knl)) == knl
    typed = pg.infer_unknown_types(pg.add_dtypes(knl, {"a,b": np.float64, "n": np.int32}))
    for n in SIZES:
        a = np.random.default_rng(n).standard_normal(n)
        _, (b,) = knl(a=a, b=np.empty(n))
        np.testing.assert_allclose(b, computed(a), atol=1e-13)
        meant = interpret(typed, {"a": a, "b": np.empty(n), "n": n}).arrays["b"]
        np.testing.assert_allclose(meant, computed(a), atol=1e-13)
