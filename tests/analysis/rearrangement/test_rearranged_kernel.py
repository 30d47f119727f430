"""Kernels before and after: old inames in terms of new ones, and the frames of temporaries."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.rearrangement.rearranged_kernel import Rearrangement
from polygen.errors import InternalError
from polygen.ir.kernel import Kernel
from tests.analysis.flat import where
from tests.analysis.pair_sets import expression, listed, tagged, unproved
from tests.analysis.python_values import python_value

T = pg.TemporaryVariable("t", "float64")
LOCAL = "t = a[{0}] {{id=w, dep=*}}\nb[{0}] = t {{id=r, dep=*w}}"
PASSED = "b[{0}] = t {{id=r, dep=*}}\nt = a[{0}] {{id=w, dep=*r}}"
LINE = "{ [i]: 0<=i<12 }"


def _kernel(domain: str, text: str, value: str = "i", order: str = "") -> Kernel:
    inames = domain.partition("[")[2].partition("]")[0].replace(", ", ":")
    lines = text.format(value).replace("{id=", f"{{inames={inames}, id=")
    return unproved(domain, lines, T, order=order)


def _moved(values: Mapping[str, str]) -> InstanceMap:
    return InstanceMap({iname: expression(value) for iname, value in values.items()})


def _step(domain: str, value: str, order: str = "", text: str = LOCAL) -> Rearrangement:
    return Rearrangement(
        _kernel(LINE, text), _kernel(domain, text, value, order), _moved({"i": value})
    )


# --- old inames


def test_old_inames_in_terms_of_new_ones() -> None:
    step = _step("{ [p, q]: 0<=p<3 and 0<=q<4 }", "4*p + q")
    p, q = map(LinearForm.of_name, "pq")
    assert step.form(("w", "r"), "i") == p * 4 + q
    assert step.form(("w", "r"), "k") == LinearForm.of_name("k")  # not moved
    apart = InstanceMap({}, {"w": {"i": expression("p")}, "r": {"i": expression("p + 1")}})
    step = Rearrangement(step.old, step.new, apart)
    assert step.form(("w", "r"), "i") is None
    assert step.form(("r", "r"), "i") == p + 1
    assert Rearrangement(step.old, step.new, _moved({"i": "p*q"})).form(("w", "w"), "i") is None


@pytest.mark.parametrize("operator", ["==", "<", ">="])
def test_comparing_old_values(operator: str) -> None:
    step = _step("{ [p, q]: 0<=p<3 and 0<=q<4 }", "4*p - q")
    pairs = listed(step.compared(("w", "r"), "i", operator), ["p", "q", "p'", "q'"], range(3))

    def holds(p: int, q: int, k: int, m: int) -> bool:
        return bool(python_value(f"{4 * p - q} {operator} {4 * k - m}"))

    assert pairs == where(holds, 4, range(3))


def test_comparing_old_values_of_two_instructions() -> None:
    knl = _kernel(LINE, LOCAL)
    maps = InstanceMap({}, {"w": {"i": expression("i + 2")}, "r": {}})
    step = Rearrangement(knl, knl, maps)
    found = listed(step.compared(("w", "r"), "i", "<"), ["i", "i'"])
    assert found == where(lambda a, b: a + 2 < b, 2)
    with pytest.raises(InternalError, match="the old value of 'i' is not affine"):
        Rearrangement(knl, knl, _moved({"i": "i*i"})).compared(("w", "r"), "i", "<")


# --- frames


@pytest.mark.parametrize(
    ("domain", "value", "order", "frame"),
    [
        ("{ [p]: 0<=p<12 }", "p", "", "p"),
        ("{ [p]: 0<=p<12 }", "11 - p", "", "p"),
        ("{ [p]: 0<=p<12 }", "p + 3", "", "p"),
        ("{ [p, q]: 0<=p<3 and 0<=q<4 }", "4*p + q", "p, q", "pq"),
        ("{ [p, q]: 0<=p<3 and 0<=q<4 }", "4*p + q", "q, p", "pq"),
        ("{ [p, q]: 0<=p<3 and 0<=q<4 }", "p + 3*q", "p, q", "pq"),
        # Digits do not show it, and there are no two points with one old value.
        ("{ [p, q]: 0<=p<2 and p<=q<=p }", "p + q", "p, q", "pq"),
        # Several new iterations are one old one: values may pass between them.
        ("{ [p, q]: 0<=p<3 and 0<=q<4 }", "p + q", "p, q", ""),
        ("{ [p, q]: 0<=p<12 and 0<=q<2 }", "p", "p, q", "p"),
        ("{ [p, q]: 0<=p<12 and 0<=q<2 }", "p", "q, p", ""),
    ],
)
def test_where_nothing_is_passed_between_iterations(
    domain: str, value: str, order: str, frame: str
) -> None:
    step = _step(domain, value, order)
    assert step.frame("t") == frozenset(frame)
    assert step.frame("t") == frozenset(frame)  # as it was found


def test_what_is_passed_from_one_iteration_to_the_next() -> None:
    assert _step("{ [p]: 0<=p<12 }", "11 - p", text=PASSED).frame("t") == frozenset()
    # Before, or after: both count.
    for old, new in ((PASSED, LOCAL), (LOCAL, PASSED)):
        step = Rearrangement(_kernel(LINE, old), _kernel(LINE, new), UNMOVED)
        assert step.frame("t") == frozenset()
    assert Rearrangement(_kernel(LINE, LOCAL), _kernel(LINE, LOCAL), UNMOVED).frame("t") == {"i"}


def test_arguments_have_no_frame() -> None:
    assert _step("{ [p]: 0<=p<12 }", "p").frame("b") == frozenset()


def test_an_outer_loop_alone() -> None:
    """The temporary is filled by one inner loop, and read by another."""
    text = "t[x] = a[o, x] {id=w, dep=*}\nb[o, y] = t[y] {id=r, dep=*w}"
    domains = ["{ [o]: 0<=o<3 }", "{ [x]: 0<=x<4 }", "{ [y]: 0<=y<4 }"]
    knl = unproved(domains, text, pg.TemporaryVariable("t", "float64", 4), order="o, x")
    assert Rearrangement(knl, knl, UNMOVED).frame("t") == {"o"}


def test_work_items_have_copies_of_their_own() -> None:
    """Before: a loop; now an axis: whose iterations do not mix."""
    old = _kernel(LINE, LOCAL)
    new = tagged(_kernel(LINE, LOCAL), i="l.0")
    assert Rearrangement(old, new, UNMOVED).frame("t") == {"i"}
