"""Which instances of the kernel before a step instances of the kernel after it are."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest

from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.rearrangement.previous_instances import Before
from polygen.ir.kernel import Kernel
from tests.analysis.pair_sets import expression, unproved
from tests.analysis.python_values import python_value


def _kernel(domain: str, *lines: str) -> Kernel:
    return unproved(domain, "\n".join(lines))


def _moved(values: Mapping[str, str]) -> InstanceMap:
    return InstanceMap({iname: expression(value) for iname, value in values.items()})


def test_nothing_moved() -> None:
    knl = _kernel("{ [i, j]: 0<=i,j<n }", "a[i, j] = 1 {id=s}", "b[i] = 2 {id=u}")
    before = Before(knl, knl, UNMOVED)
    assert not before.is_ambiguous("s")
    assert before.values("s", {"i": 2, "j": 3, "n": 9}) == {"i": 2, "j": 3}
    assert before.values("u", {"i": 2, "n": 9}) == {"i": 2}


@pytest.mark.parametrize(
    ("value", "names"), [("4*p + q", "pq"), ("n - 1 - p", "p"), ("q - p", "pq"), ("7", "p")]
)
def test_old_values_in_terms_of_new_ones(value: str, names: str) -> None:
    old = _kernel("{ [i]: 0<=i<n }", "a[i] = 1 {id=s}")
    subscripts = ", ".join(names)
    new = _kernel(f"{{ [{subscripts}]: 0<={subscripts}<n }}", f"a[{subscripts}] = 1 {{id=s}}")
    before = Before(old, new, _moved({"i": value}))
    for numbers in product(range(4), repeat=len(names)):
        point = {**dict(zip(names, numbers, strict=True)), "n": 9}
        assert before.values("s", point) == {"i": python_value(value, dict(point))}


def test_a_name_that_has_other_values_now() -> None:
    """After a reversal, nobody knows of which kernel s[i=2] is; new names are no trouble."""
    old = _kernel("{ [i]: 0<=i<4 }", "a[i] = 1 {id=s}", "b[0] = 2 {id=u}")
    reversed_one = Before(old, old, _moved({"i": "3 - i"}))
    assert reversed_one.is_ambiguous("s")
    assert not reversed_one.is_ambiguous("u")
    assert reversed_one.values("s", {"i": 1}) == {"i": 2}
    new = _kernel("{ [p]: 0<=p<4 }", "a[p] = 1 {id=s}", "b[0] = 2 {id=u}")
    assert not Before(old, new, _moved({"i": "3 - p"})).is_ambiguous("s")


def test_inames_of_reductions_count() -> None:
    knl = _kernel("{ [i, j]: 0<=i,j<4 }", "a[i] = sum(j, b[i, j]) {id=s}")
    before = Before(knl, knl, _moved({"j": "3 - j"}))
    assert before.is_ambiguous("s")
    assert before.values("s", {"i": 1, "j": 1}) == {"i": 1, "j": 2}
    assert before.values("s", {"i": 1}) == {"i": 1}  # an instance has no j of its own
    assert before.values("s", {"j": 1}) is None


def test_what_cannot_be_said() -> None:
    old = _kernel("{ [i]: 0<=i<4 }", "a[i] = 1 {id=s}")
    new = _kernel("{ [p]: 0<=p<4 }", "a[p] = 1 {id=s}", "b[p] = 2 {id=new}")
    assert Before(old, new, _moved({"i": "p*p"})).values("s", {"p": 1}) is None
    assert Before(old, new, _moved({"i": "p + m"})).values("s", {"p": 1}) is None
    assert not Before(old, new, _moved({"p": "p + 1"})).is_ambiguous("new")


def test_each_instruction_has_its_own_map() -> None:
    knl = _kernel("{ [i]: 0<=i<4 }", "a[i] = 1 {id=s}", "b[i] = 2 {id=u}")
    before = Before(knl, knl, InstanceMap({}, {"u": {"i": expression("i + 1")}}))
    assert not before.is_ambiguous("s")
    assert before.is_ambiguous("u")
    assert before.values("s", {"i": 1}) == {"i": 1}
    assert before.values("u", {"i": 1}) == {"i": 2}
