"""Which variables matter: those from which values reach what a kernel leaves."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.dataflow.liveness import live_variables
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel


def _kernel(text: str, domains: str | list[str] = "{ [i]: 0<=i<n }") -> Kernel:
    """Return a kernel in which one letter from s on is a temporary, all else arguments."""
    names = [name for name in "stuvw" if f"{name} = " in text]
    temporaries = [pg.TemporaryVariable(name, "int32", ()) for name in names]
    with pg.without_proofs():
        return kernel(domains, text, *temporaries, pg.ValueArg("n", "int32"))


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("b[i] = a[i]", {"a", "b"}),
        ("s = a[i]\nb[i] = 1", {"a", "b"}),
        ("s = a[i] {id=s}\nt = s {id=t, dep=s}\nb[i] = t {dep=t}", {"a", "b", "s", "t"}),
        ("s = a[i] {id=s}\nt = s {id=t, dep=s}\nb[i] = s {dep=s}", {"a", "b", "s"}),
        # Conditions, subscripts and scalars are read, too.
        ("s = a[i] {id=s}\nb[i] = 1 {dep=s, if=s > 0}", {"a", "b", "s"}),
        ("s = a[i] {id=s}\nb[s] = 1 {dep=s}", {"a", "b", "s"}),
        ("b[i] = x", {"b", "x"}),
        # What only feeds itself does not matter.
        ("s = 0 {id=s}\ns = s + 1 {id=t, dep=s, inames=i}\nb[i] = 2", {"b"}),
        (
            "s = 0 {id=s}\ns = s + t {id=u, dep=s, inames=i}\nt = 1\nb[i] = s {dep=u}",
            {"b", "s", "t"},
        ),
    ],
)
def test_values_that_reach_an_array(text: str, live: set[str]) -> None:
    knl = _kernel(text)
    assert live_variables(knl) == live


def test_bounds_of_loops_matter() -> None:
    domains = ["{ [i]: 0<=i<n }", "[s] -> { [j]: 0<=j<s }"]
    knl = _kernel("s = c[i] {id=s}\nb[i] = sum(j, a[j]) {dep=s}", domains)
    assert live_variables(knl) == {"a", "b", "c", "s"}
    assert live_variables(_kernel("s = c[i]\nb[i] = 1")) == {"b", "c"}


def test_arguments_matter_even_where_nothing_is_done() -> None:
    knl = pg.make_kernel([], [], [pg.GlobalArg("a, b", "float64", "4"), pg.ValueArg("x", "int32")])
    assert live_variables(knl) == {"a", "b"}
