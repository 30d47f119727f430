"""Reductions in stages: they add up the same, or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.dataflow.comparison_context import Names
from polygen.analysis.dataflow.computed_difference import Difference
from polygen.analysis.values.unaffected_variables import Settled
from polygen.analysis.values.value_matching import Matcher
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from tests.analysis.values.compared import made, same_instances
from tests.oracle.interpreter import interpret

ALL = "out[i] = sum(j, a[j]) {id=r, inames=i}"
DOMAINS = [
    "{ [i]: 0<=i<2 }",
    "{ [j, q]: 0<=j,q<12 }",
    "{ [k, l, m]: 0<=k<3 and 0<=l<4 and 0<=m<6 }",
    "{ [o]: 0<=o<0 }",
    "{ [e]: 0<=e<1 }",
]
STORED = "v[k] = sum(l, a[4*k + l]) {id=p, inames=k}\nout[i] = sum(k, v[k]) {id=r, inames=i, dep=p}"


def _compared(old: Kernel, new: Kernel, instances: InstanceMap = UNMOVED) -> Difference | None:
    names = Names()
    at = same_instances(old, new, "r", names)
    nodes = [k.assignment("r").values[0] for k in (old, new)]
    was, now = nodes
    assert isinstance(was, ex.Reduction)
    assert isinstance(now, ex.Reduction)
    sums = Matcher(old, new, instances, Settled(old, new, instances), names).sums
    return sums.difference(was, now, at)


def _left(knl: Kernel) -> list[float]:
    """Return what a kernel leaves: of other numbers, each sum is another."""
    given: dict[str, Any] = {
        n: 2.0 ** np.arange(k, 12 + k) for k, n in enumerate("abp") if n in knl.variables
    }
    given |= {"out": np.zeros(12), "idx": np.arange(12, dtype=np.int32) // 3, "x": 1.0}
    left = {n: v for n, v in given.items() if n in knl.variables}
    return list(interpret(knl, left, 0).arrays["out"])


SAME = [
    (ALL, ALL.replace("sum(j, a[j])", "sum(q, a[q])")),
    (ALL, "out[i] = sum((k, l), a[4*k + l]) {id=r, inames=i}"),
    (ALL, "out[i] = sum(k, sum(l, a[4*k + l])) {id=r, inames=i}"),
    (ALL, "out[i] = sum((l, k), a[k + 3*l]) {id=r, inames=i}"),
    (ALL, ALL.replace("a[j]", "a[11 - j]")),
    (ALL, STORED),
    (ALL, STORED.replace("v[k]", "v[2 - k]").replace("4*k", "8 - 4*k")),
    (ALL.replace("a[j]", "a[j]*b[j]"), STORED.replace("a[4*k + l]", "a[4*k + l]*b[4*k + l]")),
    (ALL.replace("sum", "max"), STORED.replace("sum", "max")),
    (ALL.replace("(j", "(o").replace("j]", "o]"), ALL.replace("(j", "(o").replace("j]", "o + 1]")),
    (ALL.replace("(j", "(e").replace("j]", "e]"), ALL.replace("(j", "(e").replace("j]", "2*e]")),
]
OTHER = [
    (ALL, ALL.replace("a[j]", "b[j]")),
    (ALL, ALL.replace("sum", "max")),
    (ALL, "out[i] = sum((k, l), a[3*k + l]) {id=r, inames=i}"),  # some twice
    (ALL, "out[i] = sum((m, e), a[m + e]) {id=r, inames=i}"),  # some are left out
    (ALL, "out[i] = sum((j, k), a[j + k//3]) {id=r, inames=i}"),  # each three times
    (ALL, STORED.replace("id=p, ", "id=p, if=k<2, ")),
    (ALL, STORED.replace("sum(l", "max(l")),
    (ALL, STORED.replace("= sum(k, v[k])", "= sum(e, v[e])")),
    (ALL.replace("a[j]", "a[j]*b[j]"), STORED.replace("a[4*k + l]", "a[4*k + l]*b[l]")),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_is_added_up(old: str, new: str) -> None:
    before, after = made(old, DOMAINS), made(new, DOMAINS)
    assert _compared(before, after) is None
    assert _compared(after, before) is None
    if "(o" not in old:
        assert _left(before) == _left(after)


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_something_else_is_added_up(old: str, new: str) -> None:
    before, after = made(old, DOMAINS), made(new, DOMAINS)
    assert _compared(before, after) is not None
    assert _compared(after, before) is not None


def test_the_step_says_what_subscripts_do_not() -> None:
    """Of a sum of equal numbers nothing else tells which is which."""
    old = made("out[i] = sum(j, a[idx[j]]) {id=r, inames=i}", DOMAINS)
    new = made("out[i] = sum((k, l), a[idx[4*k + l]]) {id=r, inames=i}", DOMAINS)
    number = ex.sum_of(ex.product_of(4, ex.Variable("k")), ex.Variable("l"))
    assert _compared(old, new, InstanceMap({"j": number})) is None
    wrong = ex.sum_of(ex.product_of(3, ex.Variable("k")), ex.Variable("l"))
    other = made("out[i] = sum((k, l), a[idx[3*k + l]]) {id=r, inames=i}", DOMAINS)
    assert _compared(old, other, InstanceMap({"j": wrong})) is not None


BOUNDED = ["{ [i]: 0<=i<2 }", "{ [j]: 0<=j<m }"]
LONG = "<int32> m = idx[0] {id=m, inames=}\nout[i] = sum(j, a[j]) {id=r, inames=i, dep=m}"


def test_reductions_as_long_as_data_says() -> None:
    old = made(LONG, BOUNDED)
    assert _compared(old, made(LONG.replace("a[j]", "a[2*j - j]"), BOUNDED)) is None
    assert _compared(old, made(LONG.replace("a[j]", "b[j]"), BOUNDED)) is not None
    # That m has the value that it had is asked of the instruction that writes it.
    assert _compared(old, made(LONG.replace("idx[0]", "idx[1]"), BOUNDED)) is None
    other = LONG.replace(" m ", " w ").replace("=m", "=w")
    assert _compared(old, made(other, [BOUNDED[0], "{ [j]: 0<=j<w }"])) is not None
    assert _compared(old, made(LONG, [BOUNDED[0], "{ [j]: 0<=j<m and j<3 }"])) is not None


LENGTHS = [*BOUNDED, "{ [k,l]: 0<=k<3 and 0<=l<m }", "{ [q]: 0<=q<=m }", "{ [g]: 0<=g<3 }"]
STAGE = "v[g] = sum(l, a[g + 3*l]) {id=p, inames=g, dep=m}"
OF_LENGTH = {
    "as many as m says, three times": ("sum((k, l), a[k + 3*l])", ""),
    "one more": ("sum(q, a[q])", ""),
    "in a stage": ("sum(g, v[g])", STAGE),
}


@pytest.mark.parametrize("case", OF_LENGTH)
def test_where_data_decides_nothing_is_certain(case: str) -> None:
    """If m is 0, both are 0; other numbers of the same data tell them apart."""
    whole, stage = OF_LENGTH[case]
    text = f"{LONG.replace('sum(j, a[j])', whole)}\n{stage}"
    old, new = (made(t, LENGTHS) for t in (LONG, text.replace("dep=m}\nv", "dep=p}\nv")))
    for one, other in ((old, new), (new, old)):
        found = _compared(one, other)
        assert found is not None and not found.certain


def test_other_sums_of_known_length_are_certain() -> None:
    found = _compared(made(ALL, DOMAINS), made("out[i] = sum(k, a[k]) {id=r, inames=i}", DOMAINS))
    assert found is not None and found.certain
