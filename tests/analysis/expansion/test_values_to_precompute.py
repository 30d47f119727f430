"""Values of a rule that uses need: listed one by one, and in the box that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.expansion.rule_uses import uses_in
from polygen.analysis.expansion.values_to_precompute import Footprint, Gathering, footprint
from polygen.errors import (
    FootprintNotAffine,
    FootprintNotConstant,
    NothingMatches,
    NotSwept,
    OutsideFootprint,
    UnknownName,
)
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression
from tests.analysis.flat import points, where
from tests.oracle.cases import kernel

F = "f(x) := a[x]\n"
TILES = "{ [t,i,j]: 0<=t<n and 0<=i,j<4 }"


def made(text: str, domains: Any = TILES, rule: str = F, **options: Any) -> Kernel:
    """Return a kernel in which a rule is used."""
    options.setdefault("assumptions", "n >= 1")
    data = [pg.GlobalArg("a", "float64", "4*n + 8"), pg.GlobalArg("at", "int32", "n")]
    named = [d for d in data if f"{d.name}[" in f"{rule}{text}"]
    return kernel(domains, f"{rule}{text}", *named, **options)


def gathered(knl: Kernel, swept: str) -> Gathering:
    """Return all uses of the rule `f`, of which the values are gathered over some inames."""
    uses = [u for insn in knl.instructions for u in uses_in(insn, lambda use: use.rule == "f")]
    return Gathering(knl, knl.rules["f"], uses, frozenset(swept.replace(",", " ").split()))


def needed(knl: Kernel, swept: str, **options: Any) -> Footprint:
    return footprint(gathered(knl, swept), **options)


def box(found: Footprint) -> list[tuple[str, int, str]]:
    """Return where each axis begins, the distance of neighbours, and how many there are."""
    return [
        (show_expression(a.base.expression()), a.stride, show_expression(a.size))
        for a in found.axes
    ]


def values_for(found: Footprint, names: Sequence[str], **fixed: int) -> set[tuple[int, ...]]:
    """Return the values for some parameters, which are not too large."""
    elements = found.elements
    for name, value in fixed.items():
        at = elements.find_dim_by_name(isl.dim_type.param, name)
        if at >= 0:
            elements = elements.fix_val(isl.dim_type.param, at, value).project_out(
                isl.dim_type.param, at, 1
            )
    count = elements.dim(isl.dim_type.set)
    flat = elements.move_dims(isl.dim_type.param, 0, isl.dim_type.set, 0, count)
    for at, name in enumerate(names):
        flat = flat.set_dim_name(isl.dim_type.param, at, name)
    return points(flat.params(), names, range(-2, 24))


def test_a_tile_with_its_rim() -> None:
    found = needed(made("b[t,i] = f(4*t + i) + f(4*t + i + 2)"), "i")
    assert found.needed == {"t"}
    assert box(found) == [("4*t", 1, "6")]
    for t in (0, 2):
        assert values_for(found, ["x"], t=t, n=3) == where(
            lambda x, t=t: 4 * t <= x < 4 * t + 6, 1, range(-2, 24)
        )


def test_every_second_value_and_two_axes() -> None:
    knl = made("b[t,i] = sum(j, f(2*i, t + j))", rule="f(x, y) := a[x + y]\n")
    found = needed(knl, "i, j")
    assert box(found) == [("0", 2, "4"), ("t", 1, "4")]
    assert values_for(found, ["x", "y"], t=1, n=3) == where(
        lambda x, y: x in (0, 2, 4, 6) and 1 <= y < 5, 2, range(-2, 24)
    )
    rows = needed(knl, "j")  # i is outside: one value of x
    assert rows.needed == {"i", "t"}
    assert box(rows) == [("2*i", 1, "1"), ("t", 1, "4")]


def test_uses_in_several_instructions() -> None:
    knl = made("b[t,i] = f(i)\nc[t,j] = f(j + 3)")
    found = needed(knl, "i, j")
    assert box(found) == [("0", 1, "7")]
    assert found.needed == frozenset()  # whatever t is
    assert gathered(knl, "i, j").common == {"t"}
    with pytest.raises(NotSwept, match=r"needs 'j \+ 3', but 'j' is not swept, and not around all"):
        needed(knl, "i")


def test_values_under_conditions() -> None:
    found = needed(made("b[t,i] = if(i > 0 and i < 3, f(i - 1), 0)"), "i")
    assert box(found) == [("0", 1, "2")]
    by_data = needed(made("b[t,i] = if(at[t] > 0, f(i), 0)"), "i")
    assert box(by_data) == [("0", 1, "4")]  # a has all of them, so that none can do harm
    with pytest.raises(NothingMatches, match="no use of 'f' is ever executed"):
        needed(made("b[t,i] = if(i > 5, f(i), 0)"), "i")


def test_data_decides_among_those_that_there_are() -> None:
    """Under such a condition, a subscript may be past the end: nothing is read there."""
    found = needed(made("b[t,i] = if(at[t] > 0, f(4*t + i + 10), 0)"), "i")
    for t, end in ((0, 14), (2, 20)):  # a[0], ..., a[4*3 + 7]
        wanted = where(lambda x, t=t, end=end: 4 * t + 10 <= x < end, 1, range(-2, 24))
        assert values_for(found, ["x"], t=t, n=3) == wanted


@pytest.mark.parametrize(("rule", "always"), [(F, True), ("f(x) := at[x] // m\n", False)])
def test_loops_that_may_be_empty(rule: str, always: bool) -> None:
    """What nobody needs is computed too, where that does no harm."""
    knl = made(
        "b[t,i] = sum(j, f(i)*j)",
        ["{ [t,i]: 0<=t<n and 0<=i<4 }", "{ [j]: 0<=j<m }"],
        rule,
        assumptions="n >= 4",
    )
    found = needed(knl, "i")
    assert box(found) == [("0", 1, "4")]
    four = where(lambda x: 0 <= x < 4, 1)
    assert values_for(found, ["x"], t=0, n=5, m=2) == four
    assert values_for(found, ["x"], t=0, n=5, m=0) == (four if always else set())


def test_boxes_that_sizes_decide() -> None:
    knl = made("b[t] = sum(i, f(i))", "{ [t,i]: 0<=t<n and 0<=i<n }")
    with pytest.raises(FootprintNotConstant, match="the values of 'x' in 'f' that are needed do"):
        needed(knl, "i")
    assert box(needed(knl, "i", sized=True)) == [("0", 1, "n")]
    fixed = pg.fix_parameters(knl, n=6)
    assert box(needed(fixed, "i")) == [("0", 1, "6")]


def test_what_data_decides_may_be_said() -> None:
    knl = made("b[t,i] = f(at[t] + i)")
    with pytest.raises(FootprintNotAffine, match=r"the use 'f\(at\[t\] \+ i\)' needs depends on"):
        needed(knl, "i")
    with pytest.raises(FootprintNotAffine, match=r"the footprint \[at\[t\]\] depends on data"):
        needed(knl, "i", given=[(parse_expression("at[t]"),)])


def test_what_is_given_is_taken() -> None:
    knl = made("b[t,i] = f(4*t + i)")
    more = needed(knl, "i, j", given=[(parse_expression("4*t + i + j"),)])
    assert box(more) == [("4*t", 1, "7")]
    with pytest.raises(OutsideFootprint, match=r"'f\(4\*t \+ i\)' needs what is not in the foot"):
        needed(knl, "i", given=[(parse_expression("4*t + 1"),)])
    with pytest.raises(UnknownName, match="the footprint mentions 'k', which is no iname"):
        needed(knl, "i", given=[(parse_expression("4*k + i"),)])
    whole = needed(made("b[t,i] = f(i)"), "i", given=[(None,)], extents=[8])
    assert box(whole) == [("0", 1, "8")]
