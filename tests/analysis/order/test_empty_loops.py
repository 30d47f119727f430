"""Inames that nothing is in, and when that is said."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.order.empty_loops import used_inames, warn_of_unused_inames
from polygen.errors import UnusedIname
from polygen.ir.kernel import Kernel

DOMAINS = [f"{{ [{i}]: 0<={i}<n }}" for i in "ijkt"]


def _kernel(lines: str, domains: Any = DOMAINS, **options: Any) -> Kernel:
    return pg.make_kernel(domains, lines, **options)


def _said(knl: Kernel) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_unused_inames(knl)
    assert all(issubclass(w.category, UnusedIname) for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("lines", "used"),
    [
        ("b[i] = 1", "i"),
        ("b[i] = a[j] {inames=i:j}", "ij"),
        ("b[i] = 1 {inames=+k}", "ik"),
        ("b[i] = sum(j, a[i, j])", "ij"),
        ("b[i] = sum(j, sum(k, a[j, k]))", "ijk"),
        ("f(x) := sum(j, a[x, j])\nb[i] = f(i)", "ij"),
        ("f(x) := sum(j, a[x, j])\nb[i] = f(i)\ng(x) := f(x) + sum(k, a[x, k])", "ijk"),
        ("", ""),
    ],
)
def test_inames_of_instructions_reductions_and_rules(lines: str, used: str) -> None:
    assert used_inames(_kernel(lines)) == frozenset(used)


def test_what_is_said() -> None:
    (text,) = _said(_kernel("b[i, j, k] = 1", name="box"))
    assert text.startswith("kernel 'box': no instruction is in the loop of 't', so that")
    assert "{inames=+t}" in text
    (text,) = _said(_kernel("b[i, k] = 1"))
    assert "in the loops of 'j', 't', so that" in text
    assert not _said(_kernel("b[i, j, k, t] = 1"))


def test_it_is_said_once_a_kernel() -> None:
    knl = _kernel("b[i, j, k] = 1")
    assert len(_said(knl)) == 1
    assert _said(knl) == []
    assert _said(pg.rename_iname(knl, "j", "q")) == []
    assert len(_said(_kernel("b[i, j, k] = 1"))) == 1


def test_it_may_be_silenced() -> None:
    assert _said(_kernel("b[i, j, k] = 1", silenced_warnings="UnusedIname")) == []


def test_an_iname_that_says_something_of_others() -> None:
    """It shares a domain with one that is used: without it, that would have other values."""
    triangle = "{ [i, t]: 0<=t<4 and 0<=i<=t }"
    assert _said(_kernel("b[i] = 2", triangle)) == []
    assert len(_said(_kernel("b[0] = 2", triangle))) == 1


def test_what_steps_left_is_not_said() -> None:
    """An instruction was in it as it was written: somebody took it out."""
    b = pg.GlobalArg("b", "float64", "n, n, n")
    knl = _kernel("b[i, j, k] = 1 {inames=+t}", kernel_data=[b, "..."])
    left = pg.remove_inames_from_insn(knl, "t", "insn")
    assert "t" not in used_inames(left)
    assert _said(left) == []


def test_functions_are_looked_at_too() -> None:
    loops = "{ [t, k]: 0<=t<9 and 0<=k<4 }"
    callee = pg.make_function(loops.replace("t, k]: 0<=t<9 and", "k]:"), "y[k] = x[k]", name="f")
    idle = pg.make_function(["{ [t]: 0<=t<9 }", "{ [k]: 0<=k<4 }"], "y[k] = x[k]", name="g")
    for function, count in ((callee, 0), (idle, 1)):
        text = f"[i]: y[i] = {function.name}([i]: x[i])"
        data = [pg.GlobalArg("x", "float32", 4), pg.GlobalArg("y", "float32", 4)]
        knl = pg.make_kernel("{ [i]: 0<=i<4 }", text, data, functions={function.name: function})
        found = _said(knl)  # i is the axis of a part of an array, and no loop that is missing
        assert len(found) == count
        assert all(said.startswith("kernel 'g': ") for said in found)
