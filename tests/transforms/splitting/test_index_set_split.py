"""`index_set_split`: a loop in parts, where a condition holds and where it does not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, MalformedExpression, NotSeparable, UnknownName
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from tests.oracle.cases import agree, guards, kernel, loops, lowered
from tests.transforms.splitting.separate_code import (
    APART,
    CHAIN,
    LINE,
    SIZES,
    apart,
    peeled,
    tiled_product,
)


def ranges(knl: Kernel) -> list[tuple[str, str, str]]:
    """Return the loops of the generated program."""
    return [(x.iname, str(x.lower), str(x.upper)) for x in loops(lowered(knl))]


def test_later_steps_keep_it() -> None:
    apart_there = pg.index_set_split(LINE, "i < 4")
    agree(
        apart_there,
        SIZES,
        lambda k: pg.split_iname(k, "i", 3),
        lambda k: pg.rename_iname(k, "i", "p"),
        lambda k: pg.reverse(k, "i"),
    )
    assert str(pg.rename_iname(apart_there, "i", "p").separations[0]) == str(
        parse_expression("p < 4")
    )
    fixed = pg.fix_parameters(pg.index_set_split(LINE, "2*i < n"), n=5)
    assert ranges(fixed) == [("i", "0", "3"), ("i", "3", "5")]
    gone = pg.map_domain(apart_there, "{ [i] -> [p,q] : i = 4*p + q and 0 <= q < 4 }")
    assert ranges(pg.prioritize_loops(gone, "p, q"))[0][0] == "p"
    twice = pg.duplicate_inames(pg.index_set_split(CHAIN, "i < 4"), "i", "insn_2", "k")
    assert len(twice.separations) == 2


def test_what_the_loops_become() -> None:
    assert ranges(pg.index_set_split(LINE, "i < 4 and i >= 2"))[0] == ("i", "0", "min(2, n)")
    assert len(ranges(pg.index_set_split(LINE, "i < 4 and i >= 2"))) == 3
    assert len(ranges(pg.index_set_split(LINE, "i < n + 3"))) == 1  # it always holds


def test_what_is_not_possible_any_more() -> None:
    knl = pg.index_set_split(LINE, "i < 4").copy(
        separations=(parse_expression("i % 2 < 1"),),
        options=pg.set_options(LINE, silenced_warnings=[]).options,
    )
    with pytest.warns(pg.errors.SeparationIgnored, match="is no conjunction of affine compar"):
        assert len(ranges(knl)) == 1
    quiet = pg.set_options(knl, silenced_warnings=["SeparationIgnored"])
    assert len(ranges(quiet)) == 1


def test_a_separation_around_a_barrier_is_ignored() -> None:
    tiles = tiled_product()
    items = pg.index_set_split(pg.set_options(tiles, silenced_warnings=[]), "i_inner < 2")
    with pytest.warns(pg.errors.SeparationIgnored, match="work items differ in it, and wait"):
        pg.generate_code(items, "opencl")


def test_a_name_that_is_not_there() -> None:
    text = str(pg.index_set_split(LINE, "i < 4")).replace("i < 4", "q < 4")
    with pytest.raises(UnknownName, match="the separation 'q < 4' mentions 'q', which is no iname"):
        pg.parse_kernel(text)


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (lambda: pg.index_set_split(LINE, "i % 2 < 1"), NotSeparable, "no conjunction of compari"),
        (lambda: pg.index_set_split(LINE, "i != 2"), NotSeparable, "no conjunction of comparisons"),
        (lambda: pg.index_set_split(LINE, "i < 2 or i > 4"), NotSeparable, "no conjunction"),
        (lambda: pg.index_set_split(LINE, "i*i < n"), NotSeparable, "no conjunction of comparis"),
        (lambda: pg.index_set_split(LINE, "i < q"), NotSeparable, "'q', which is no iname or sca"),
        (lambda: pg.index_set_split(LINE, "n < 4"), NotSeparable, "it mentions no iname"),
        (lambda: pg.index_set_split(APART, "i < j"), NotSeparable, "is within all of i, j"),
        (lambda: pg.index_set_split(LINE, "i <"), MalformedExpression, "i <"),
        (lambda: pg.index_set_split(LINE, 4), InvalidArgument, "which is not a condition"),  # type: ignore[arg-type]
    ],
)
def test_refused_conditions(step: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        step()


def test_one_iteration_apart_from_those_before_and_after_it() -> None:
    knl = pg.index_set_split(LINE, "i == 3")
    assert [x[1:] for x in ranges(pg.fix_parameters(knl, n=9))] == [("0", "3"), ("4", "9")]
    agree(knl, SIZES)


def test_conditions_that_are_data_stay_in_the_parts() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]  {if=a[i] > 0 and i < 4}")
    agree(knl, SIZES, apart("i < 4"), peeled("i", 1, 1))


def test_what_is_called() -> None:
    twice = pg.make_function("{ [k]: 0<=k<s }", "y[k] = 2*x[k]  {if=k < 6}", name="twice")
    twice = pg.index_set_split(twice, "k < s - 2")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[k]: out[i, k] = twice(5, [k]: a[i, k])",
        [pg.GlobalArg("a", "float32", "n, 5"), pg.GlobalArg("out", "float32", "n, 5"), "..."],
        functions={"twice": twice},
    )
    new = pg.inline_callable_kernel(knl, "twice")
    assert len(new.separations) == 1
    assert ranges(new)[-2:] == [("twice_k", "0", "3"), ("twice_k", "3", "5")]
    a = np.arange(15, dtype=np.float32).reshape(3, 5)
    for each in (knl, new):
        _, (out,) = each.executor("c")(a=a)
        np.testing.assert_array_equal(out, 2 * a)


def test_what_it_was_asked_before_changes_nothing() -> None:
    new = pg.index_set_split(LINE, "i < 4")
    assert new.separations == (parse_expression("i < 4"),)
    assert new.copy(separations=()) == LINE
    assert pg.index_set_split(new, "i < 4") is new
    condition: Any = parse_expression("i < 4")
    assert pg.index_set_split(new, condition) is new
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(LINE, new.history) == new


def test_numpy_agrees() -> None:
    text = "b[i] = a[i]  {if=i < m}\nb[i] = -a[i]  {if=i >= m}"
    knl = kernel("{ [i]: 0<=i<n }", text, pg.GlobalArg("b", shape="n"))
    run = pg.index_set_split(pg.add_dtypes(knl, {"m": "int32"}), "i < m").executor("c")
    for n in (0, 1, 7, 8):
        a = np.arange(n) + 0.5
        for m in (-2, 0, 1, 5, 7, 20):
            _, (b,) = run(a=a, m=m)
            np.testing.assert_array_equal(b, np.where(np.arange(n) < m, a, -a))


def test_guards_are_gone_where_they_always_hold() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = a[i]  {if=i < m}\nc[i] = -a[i]  {if=i >= m}")
    assert len(guards(lowered(pg.add_dtypes(knl, {"m": "int32"})))) == 2
    new = pg.assume(pg.add_dtypes(knl, {"m": "int32"}), "0 <= m <= n")
    new = pg.index_set_split(new, "i < m")
    assert not guards(lowered(new))
    assert ranges(new) == [("i", "0", "m"), ("i", "m", "n")]
