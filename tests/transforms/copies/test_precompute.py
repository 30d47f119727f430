"""`precompute`: values of a rule, computed ahead of their uses."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    FootprintNotAffine,
    FootprintNotConstant,
    IllegalStep,
    InvalidArgument,
    NameTaken,
    NothingMatches,
    NotSwept,
    NotTheSame,
    OutsideFootprint,
    TagConflict,
    UnknownIname,
    UnknownName,
    UnknownRule,
    UserError,
)
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_instruction, show_rule
from tests.oracle.cases import Step, agree_in_arrays, grid, kernel, prior, split, steps, tag

AWKWARD = tuple({"n": n} for n in (0, 1, 7, 8, 9, 13))


def _lines(knl: Kernel) -> list[str]:
    return [show_instruction(insn, knl.inames) for insn in knl.instructions]


def _domain(knl: Kernel, iname: str) -> isl.Set:
    return knl.home_domains[iname].set


def _step(*args: Any, **kwargs: Any) -> Step:
    return lambda knl: pg.precompute(knl, *args, **kwargs)


SQUARES = kernel(("{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 }"), "f(x) := a[x]*a[x]\nout[i,j] = f(i) + j")
TILED = split("i", 8)(kernel("{ [i]: 0<=i<n }", "f(x) := exp(a[x])\nout[i] = f(i) + f(n-1-i)"))


def test_once_for_all_iterations_of_a_loop() -> None:
    new = pg.precompute(SQUARES, "f")
    assert _lines(new) == [
        "[i] f_0 = a[i]*a[i]  {id=f}",
        "[i, j] out[i, j] = f_0 + j  {id=insn, dep=f}",
    ]
    assert new.substitutions == ()
    assert new.temporaries == (pg.TemporaryVariable("f_0"),)
    assert pg.replay(SQUARES, new.history) == new
    assert pg.parse_kernel(str(new)) == new
    agree_in_arrays(SQUARES, AWKWARD, _step("f"), steps(_step("f"), grid("i", 4)))


def test_a_value_that_may_not_exist_is_computed_only_if_needed() -> None:
    domains = "{ [i,j]: 0<=i<n and 0<=j<m }"
    lines = {
        "f(x) := a[x] + 1": "[i] f_0 = a[i] + 1  {id=f}",
        # m may be 0
        "f(x) := ix[x] // m": "[i] f_0 = ix[i]//m  {id=f, if=m >= 1}",
        "f(x) := c[x % m]": "[i] f_0 = c[i % m]  {id=f, if=m >= 1}",
    }
    for rule, line in lines.items():
        ix = pg.GlobalArg("ix", np.int32, shape="n")
        data = [ix] if "ix" in rule else [pg.GlobalArg("c", shape="m")] if "c" in rule else []
        knl = pg.prioritize_loops(kernel(domains, f"{rule}\nout[i,j] = f(i)*j", *data), "i, j")
        step = _step("f", unsafe="c[" in rule)
        assert _lines(step(knl))[0] == line
        agree_in_arrays(knl, [{"n": 3, "m": m} for m in (0, 2)], step)


def test_a_tile() -> None:
    knl = split("i", 8)(kernel("{ [i]: 0<=i<n }", "f(x) := 2*a[x]\nout[i] = f(i)"))
    new = pg.precompute(knl, "f", "i_inner", default_tag=None)
    assert _lines(new) == [
        "[i_outer, x] f_0[x] = 2*a[8*i_outer + x]  {id=f}",
        "[i_outer, i_inner] out[8*i_outer + i_inner] = f_0[i_inner]  {id=insn, dep=f}",
    ]
    expected = isl.Set("[n, i_outer] -> { [x] : 0 <= x < 8 and x < n - 8i_outer }")
    assert _domain(new, "x").is_equal(expected)
    assert new.temporaries == (pg.TemporaryVariable("f_0", shape=(8,)),)
    agree_in_arrays(knl, AWKWARD, _step("f", "i_inner", default_tag=None))


def test_a_box_as_large_as_sizes_say() -> None:
    """In global memory, which is allocated at a call."""
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"],
        "f(x) := 2*a[x]\nout[i] = sum(j, f(j)) + f(i)",
    )
    for sweep in ("i, j", "j, i"):
        new = pg.precompute(knl, "f", sweep, default_tag=None, temporary_address_space="global")
        (stored,) = new.temporaries
        assert stored.shape == (ex.Variable("n"),)
        assert stored.address_space is pg.AddressSpace.GLOBAL
    step = _step("f", "i, j", default_tag=None, temporary_address_space="global")
    agree_in_arrays(knl, AWKWARD, step)
    # Sizes for which nothing is needed are still possible.
    both = pg.GlobalArg("a, out", "float64", "n")
    ends = kernel("{ [i]: 0<=i<n-5 }", "f(x) := 2*a[x]\nout[i] = f(i+5)", both)
    new = pg.precompute(ends, "f", "i", default_tag=None, temporary_address_space="global")
    assert new.temporaries[0].shape == (ex.Variable("n"),)
    for n in (0, 5, 8):
        out = np.zeros(n)
        new.executor("c")(a=np.arange(float(n)), out=out)
        np.testing.assert_array_equal(out, [*2.0 * np.arange(5, n), *[0.0] * min(n, 5)])
    with pytest.raises(FootprintNotConstant, match="do not fit into a box") as refused:
        pg.precompute(knl, "f", "i, j", default_tag=None)
    assert "temporary_address_space" in str(refused.value.remedy)


def test_what_is_needed_from_both_ends() -> None:
    with pytest.raises(FootprintNotConstant, match="'x' in 'f' that are needed do not fit"):
        pg.precompute(TILED, "f", "i_inner")
    knl = kernel("{ [i]: 0<=i<12 }", "f(x) := exp(a[x])\nout[i] = f(i) + f(11-i)")
    agree_in_arrays(knl, [{}], _step("f", "i", default_tag=None), _step("f", default_tag=None))


def test_an_iname_that_the_rule_mentions_is_an_axis() -> None:
    knl = kernel(("{ [i]: 0<=i<n }", "{ [j]: 0<=j<6 }"), "f(x) := a[x]*j\nout[i,j] = f(i)")
    new = pg.precompute(knl, "f(i)", "j", default_tag=None, compute_insn_id="ahead")
    assert _lines(new)[0] == "[i, f_j] f_0[f_j] = a[i]*f_j  {id=ahead}"


def test_an_axis_that_follows_from_others_is_none() -> None:
    knl = split("i", 8)(kernel("{ [i]: 0<=i<n }", "f(x) := a[x] + i\nout[i] = f(i)"))
    new = pg.precompute(knl, "f", "i_inner", default_tag=None)
    assert _lines(new)[0] == "[i_outer, x] f_0[x] = a[8*i_outer + x] + (8*i_outer + x)  {id=f}"
    agree_in_arrays(knl, AWKWARD, _step("f", "i_inner", default_tag=None))


@pytest.mark.parametrize(
    ("axes", "shape", "place"),
    [
        (None, (3, 6), "j, x"),
        ("x, j", (6, 3), "x, j"),
        ((0, "j"), (6, 3), "x, j"),
        ("j, x, y", (3, 6, 1), "j, x, y"),
    ],
)
def test_storage_axes(axes: Any, shape: tuple[int, ...], place: str) -> None:
    knl = kernel(
        ("{ [i]: 0<=i<n }", "{ [j]: 0<=j<3 }", "{ [k]: 0<=k<6 }"),
        "f(x, y) := a[x, y] + j\nout[i,j,k] = f(k, i)",
    )
    step = _step(
        "f", "j, k", storage_axes=axes, precompute_inames=place.replace("j", "jj"),
        temporary_name="t", default_tag=None,
    )  # fmt: skip
    new = step(knl)
    assert new.temporaries[0].shape == shape
    assert _lines(new)[0].startswith(f"[i, {_sorted(new, place)}] t[{place.replace('j', 'jj')}] =")
    agree_in_arrays(knl, AWKWARD[:3], step)


def _sorted(knl: Kernel, place: str) -> str:
    names = place.replace("j", "jj").split(", ")
    return ", ".join(i for i in knl.inames if i in names)


def test_only_uses_with_a_tag() -> None:
    knl = kernel("{ [i]: 0<=i<9 }", "f(x) := 2*a[x]\nout[i] = f$here(i) + f(8-i)\nb[i] = f$here(i)")
    new = pg.precompute(knl, "f$here", "i", default_tag=None)
    assert [line.partition("=")[2] for line in _lines(new)] == [
        " 2*a[x]  {id=f}",
        " f_0[i] + f(8 - i)  {id=insn, dep=f}",
        " f_0[i]  {id=insn_0, dep=f}",
    ]
    assert [rule.name for rule in new.substitutions] == ["f"]
    agree_in_arrays(knl, [{}], _step("f$here", "i", default_tag=None))


def test_only_some_instructions() -> None:
    knl = kernel("{ [i]: 0<=i<9 }", "f(x) := 2*a[x]\nout[i] = f(i)\nb[i] = f(i)  {id=second}")
    new = pg.precompute(knl, "f", "i", within="second", default_tag=None)
    assert [line.partition("=")[2] for line in _lines(new)] == [
        " f(i)  {id=insn}",
        " 2*a[x]  {id=f}",
        " f_0[i]  {id=second, dep=f}",
    ]


def test_uses_inside_of_other_rules() -> None:
    knl = kernel(
        "{ [i]: 0<=i<9 }", "f(x) := 2*a[x]\ng(x) := f(x) + 1\nh(x) := 3*x\nout[i] = h(g(i))"
    )
    new = pg.precompute(knl, "f", "i", default_tag=None)
    assert _lines(new)[1] == "[i] out[i] = h(g(i))  {id=insn, dep=f}"
    assert [show_rule(rule) for rule in new.substitutions] == ["g(x) := f_0[x] + 1", "h(x) := 3*x"]
    agree_in_arrays(knl, [{}], _step("f", "i", default_tag=None))


def test_rules_that_others_use_too_are_copied() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "f(x) := 2*a[x]\ng(x) := f(x) + i\nout[i] = g(i)\nb[i] = g(i)",
        pg.GlobalArg("b", shape="n"), pg.GlobalArg("a", shape="n"))  # fmt: skip
    step = steps(split("i", 8), _step("f", "i_inner", within="insn", temporary_name="g_0"))
    assert [show_rule(rule) for rule in step(knl).substitutions] == [
        "f(x) := 2*a[x]",
        "g(x) := f(x) + i",
        "g_1(x) := g_0[x - 8*i_outer] + i",
    ]
    assert pg.parse_kernel(str(step(knl))) == step(knl)
    agree_in_arrays(knl, AWKWARD[:4], step)


def test_uses_in_subscripts_and_conditions() -> None:
    knl = kernel(
        "{ [i]: 0<=i<9 }",
        "f(x) := a[x]\nout[f(i)] = 1\nb[i] = 2  {if=f(i) > 4}",
        pg.GlobalArg("a", np.int32),
        pg.GlobalArg("out", shape=9),
        pg.GlobalArg("b", np.int32),
    )
    with pg.without_proofs():  # several instances may write one element
        new = pg.precompute(knl, "f", "i", default_tag=None)
    assert [line.partition("] ")[2] for line in _lines(new)[1:]] == [
        "out[f_0[i]] = 1  {id=insn, dep=f}",
        "b[i] = 2  {id=insn_0, dep=f, if=f_0[i] > 4}",
    ]


def test_only_what_is_evaluated_is_computed() -> None:
    knl = kernel(
        "{ [i]: 0<=i<9 }",
        "f(x) := a[x]\nout[i] = if(i > 2, f(i - 3), 0)",
        pg.GlobalArg("a", shape=6),
    )
    new = pg.precompute(knl, "f", "i", default_tag=None)
    assert _domain(new, "x").is_equal(isl.Set("{ [x] : 0 <= x < 6 }"))
    agree_in_arrays(knl, [{}], _step("f", "i", default_tag=None))


def test_where_data_decides_what_is_there_is_computed() -> None:
    data = (pg.GlobalArg("a", shape=6), pg.GlobalArg("flag", np.int32))
    knl = kernel(
        "{ [i]: 0<=i<9 }", "f(x) := a[x]\nout[i] = if(flag[i] > 0 and i < 6, f(i), 0)", *data
    )
    step = _step("f", "i", default_tag=None, unsafe=True)
    assert _domain(step(knl), "x").is_equal(isl.Set("{ [x] : 0 <= x < 6 }"))
    agree_in_arrays(knl, [{}], step)
    knl = kernel(
        "{ [i]: 0<=i<9 }", "f(x) := a[ix[x]]\nout[i] = if(flag[i] > 0, f(i), 0)", *data,
        pg.GlobalArg("ix", np.int32),
    )  # fmt: skip
    with pytest.raises(FootprintNotAffine, match="it may be that they are not there"):
        pg.precompute(knl, "f", "i")


# --- where it is stored, and where it is computed


@pytest.mark.parametrize(
    ("tags", "default", "space", "inames"),
    [
        ({}, None, "private", {"g", "k"}),
        ({"i": "l.0"}, None, "local", {"g", "k"}),
        ({}, "l.auto", "local", {"g", "k"}),
        ({"g": "g.0", "i": "l.0"}, "l.auto", "local", {"g", "k"}),
        ({"g": "g.0", "i": "l.0", "k": "l.1"}, "l.auto", None, {"g"}),
        ({"g": "g.0"}, "unr", "private", {"g", "k"}),
        ({"g": "g.0", "i": "l.0"}, "l.0", "local", {"g", "k"}),
    ],
)
def test_address_spaces(
    tags: dict[str, str], default: str | None, space: str | None, inames: set[str]
) -> None:
    knl = kernel(
        ("{ [g]: 0<=g<n }", "{ [k]: 0<=k<3 }", "{ [i]: 0<=i<8 }"),
        "f(x) := a[g, k, x]\nout[g,k,i] = f(i)",
    )
    knl = pg.tag_inames(knl, tags)
    if space is None:
        with pytest.raises(
            NotSwept, match=r"depends on 'k', which is tagged l\.1: the group shares"
        ):
            pg.precompute(knl, "f", "i", default_tag=default)
        return
    step = _step("f", "i", default_tag=default)
    new = step(knl)
    assert new.temporaries[0].address_space is pg.AddressSpace(space)
    assert new.instruction("f").within_inames == inames | {"x"}
    agree_in_arrays(knl, [{"n": 0}, {"n": 3}], step)


def test_in_global_memory_across_groups() -> None:
    knl = kernel("{ [i]: 0<=i<32 }", "f(x) := exp(a[x])\nout[i] = f(i) + f(31-i)")
    knl = pg.add_dtypes(grid("i", 8)(knl), {"a": "float64"})
    new = pg.precompute(knl, "f", "i_outer, i_inner", default_tag=None)
    assert new.temporaries[0].address_space is pg.AddressSpace.GLOBAL
    assert len(pg.generate_code(new, "opencl").launches) == 2
    agree_in_arrays(knl, [{}], _step("f", "i_outer, i_inner", default_tag=None))
    space: dict[str, Any] = {"temporary_address_space": pg.AddressSpace.GLOBAL}
    with pytest.raises(NotSwept, match=r"'i_outer', which is tagged g\.0: all share"):
        pg.precompute(knl, "f", "i_inner", default_tag=None, **space)


def test_in_the_loop_that_changes_what_is_read() -> None:
    knl = kernel(
        ("{ [t]: 0<=t<m }", "{ [i]: 0<=i<8 }"),
        "f(x) := 2*u[t, x]\nu[t+1, i] = f(i) + f(7-i)",
        pg.GlobalArg("u", shape="m+1, 8"),
        loop_priority="t, i",
    )
    new = pg.precompute(knl, "f", "i", default_tag=None)
    assert new.instruction("f").within_inames == {"t", "x"}
    agree_in_arrays(knl, [{"m": 0}, {"m": 3}], _step("f", "i", default_tag=None))
    # t does not decide what is read here, but it changes
    knl = kernel(
        ("{ [t]: 0<=t<m }", "{ [i]: 0<=i<8 }", "{ [k]: 0<=k<8 }"),
        "f(x) := 2*u[x]\nv[t, i] = f(i) + f(7-i)  {id=use, dep=*}\n"
        "u[k] = u[k] + 1  {id=write, dep=use, inames=t:k}",
    )
    new = pg.precompute(knl, "f", "i", default_tag=None)
    assert new.instruction("f").within_inames == {"t", "x"}
    agree_in_arrays(knl, [{"m": 0}, {"m": 3}], _step("f", "i", default_tag=None))


def test_dependencies() -> None:
    knl = kernel(
        ("{ [i]: 0<=i<8 }", "{ [k]: 0<=k<8 }"),
        """
        f(x) := t[x]
        t[i] = a[i]        {id=t}
        <> s = 2           {id=s, dep=t}
        out[k] = f(k)*s    {id=out, dep=*s}
        """,
        pg.TemporaryVariable("t", shape=8, address_space=pg.AddressSpace.GLOBAL),
    )
    new = pg.precompute(knl, "f", "k", default_tag=None)
    assert new.instruction("f").depends_on == {"t"}
    assert new.instruction("out").depends_on == {"s", "f"}


def test_outer_inames_that_are_given() -> None:
    knl = kernel(("{ [i,j]: 0<=i,j<n }", "{ [k]: 0<=k<4 }"), "f(x) := a[x]\nout[i,j,k] = f(k)")
    assert pg.precompute(knl, "f", "k", default_tag=None).instruction("f").within_inames == {"x"}
    step = _step("f", "k", default_tag=None, precompute_outer_inames="i, j")
    assert step(knl).instruction("f").within_inames == {"i", "j", "x"}
    agree_in_arrays(knl, AWKWARD[:3], step)


# --- loops and temporaries that are there

TWO = prior("E, i, j")(
    kernel(
        ("{ [E,i,j]: 0<=E<n and 0<=i,j<8 }", "{ [F,l,k]: 0<=F<n and 0<=l,k<6 }"),
        """
        d(p, q) := D[p, q]
        e(p, q) := 2*D[p, q]
        r[E,i] = sum(j, d(i,j)*u[E,j])
        s[F,l] = sum(k, e(l,k)*u[F,k])
        """,
        pg.GlobalArg("D", np.float64, "8, 8"),
        pg.GlobalArg("u, r, s", np.float64, "n, 8"),
        loop_priority="F, l, k",
    )
)
SOME = [{"n": n} for n in (0, 1, 7)]


def test_loops_that_are_there_compute_more() -> None:
    def both(second: str) -> Step:
        first = _step("d", "i, j", precompute_inames="ii, jj", default_tag=None)
        return steps(first, _step("e", "l, k", precompute_inames=second, default_tag=None))

    new = both("ii, jj")(TWO)
    line = "[ii, jj] e_0[ii, jj] = 2*D[ii, jj]  {id=e, if=jj <= 5 and ii <= 5}"
    assert line in _lines(new)
    assert [i for i in new.inames if i not in TWO.inames] == ["ii", "jj"]
    # the second loop is a new one, in the first
    assert "[ii, q] e_0[ii, q] = 2*D[ii, q]  {id=e}" in _lines(both("ii")(TWO))
    agree_in_arrays(TWO, SOME, both("ii, jj"), both("ii"))
    with pytest.raises(OutsideFootprint, match="iterations of 'l', 'k' are not enough"):
        pg.precompute(TWO, "d", "i, j", precompute_inames="l, k", default_tag=None)
    with pytest.raises(InvalidArgument, match="two axes cannot both be computed along 'p'"):
        pg.precompute(TWO, "d", "i, j", precompute_inames="p, p")


def test_each_work_item_computes_its_own() -> None:
    knl = kernel("{ [i]: 0<=i<32 }", "f(x) := exp(a[x])\nout[i] = f(i) + f(15 - i%16 + i - i%16)")
    step = steps(grid("i", 16), _step("f", "i_inner", precompute_inames="i_inner"))
    new = step(knl)
    assert (
        _lines(new)[0] == "[i_outer, i_inner] f_0[i_inner] = exp(a[16*i_outer + i_inner])  {id=f}"
    )
    assert new.temporaries[0].address_space is pg.AddressSpace.LOCAL
    agree_in_arrays(knl, [{}], step)
    # in a loop, one iteration comes before the next
    loop = steps(split("i", 16), _step("f", "i_inner", precompute_inames="i_inner"))
    with pytest.raises(NotTheSame):
        loop(knl)
    within = kernel(("{ [i]: 0<=i<8 }", "{ [q]: 0<=q<3 }", "{ [p]: 0<=p<q }"), "f(x) := a[x]\n"
        "out[i] = f(i)\nb[p] = 1 {inames=q:p}", pg.GlobalArg("b", shape=3))  # fmt: skip
    with pytest.raises(InvalidArgument, match="it is within that over 'q', which is not around"):
        pg.precompute(within, "f", "i", precompute_inames="p")


def test_a_temporary_that_is_there() -> None:
    first = _step("d", "i, j", temporary_name="t", default_tag=None)
    second = _step("e", "l, k", temporary_name="t", default_tag=None)
    for step, uses in ((steps(first, second), "d:insn"), (steps(second, first), "insn")):
        new = step(TWO)
        assert [(t.name, t.shape) for t in new.temporaries] == [("t", (8, 8))]
        assert f"{{id=e, dep={uses}}}" in "".join(_lines(new))
    agree_in_arrays(TWO, SOME, steps(first, second), steps(second, first))
    local = steps(
        split("E", 4, outer_tag="g.0", inner_tag="l.0"),
        split("F", 4, outer_tag="g.0", inner_tag="l.0"),
        _step("d", "i, j", temporary_name="t"),
        _step("e", "l, k", temporary_name="t"),
    )
    assert len(pg.generate_code(local(TWO)).launches) == 1
    agree_in_arrays(TWO, SOME, local)
    # one loop for both: it cannot be over before it begins
    one = pg.rename_inames(TWO, "E, F", "G")
    with pytest.raises(UserError, match="must come after another") as caught:
        steps(first, second)(one)
    assert "duplicate_inames" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temporary_name": "scalar"}, "it has 0 axes, but 2 axes are stored"),
        ({"temporary_name": "row"}, "it has 1 axes, but 2 axes are stored"),
        ({"temporary_name": "shared", "dtype": "float32"}, "float64, and (np:)?float32 is asked"),
        ({"temporary_name": "scalar", "dtype": "float32"}, "is not declared, and"),
        ({"temporary_name": "shared", "temporary_address_space": "private"}, "it is in local mem"),
        ({"temporary_name": "table"}, "it is a table of constants"),
        ({"temporary_name": "packed"}, "its layout is for 4 x 4 elements, and 8 x 8 are stored"),
        ({"temporary_name": "tall"}, "an axis has n elements, and 8 are stored"),
    ],
)
def test_a_temporary_that_will_not_do(arguments: dict[str, Any], message: str) -> None:
    local, everywhere = pg.AddressSpace.LOCAL, pg.AddressSpace.GLOBAL
    given = [
        pg.TemporaryVariable("scalar"),
        pg.TemporaryVariable("row", shape=8),
        pg.TemporaryVariable("shared", "float64", (8, 8), local),
        pg.TemporaryVariable("table", initializer=np.zeros((8, 8)), read_only=True),
        pg.TemporaryVariable("packed", shape=(4, 4), dim_tags="N0, N1"),
        pg.TemporaryVariable("tall", shape=("n", 8), address_space=everywhere),
    ]
    knl = kernel(
        "{ [i,j]: 0<=i,j<8 }",
        "d(p, q) := D[p, q]\nr[i] = sum(j, d(i,j)) + n",
        *given,
        pg.ValueArg("n", np.int32),
    )
    with pytest.raises(InvalidArgument, match=message):
        pg.precompute(knl, "d", "i, j", default_tag=None, **arguments)


def test_a_prefetch_into_loops_and_a_temporary_that_are_there() -> None:
    knl = kernel(("{ [i]: 0<=i<8 }", "{ [p]: 0<=p<8 }"), "b[p] = 1\nout[i] = a[i]*a[7-i]",
        pg.TemporaryVariable("t", "float64", shape=9), pg.GlobalArg("a", "float64"))  # fmt: skip
    step: Step = lambda k: pg.add_prefetch(k, "a", "i", "p", None, temporary_name="t")  # noqa: E731
    assert _lines(step(knl))[1] == "[p] t[p] = a[p]  {id=a_fetch_rule}"
    agree_in_arrays(knl, [{}], step)


# --- what is needed, as it is given


def test_a_footprint_that_is_given() -> None:
    knl = split("i", 4)(kernel("{ [i]: 0<=i<16 }", "f(x) := a[x]\nout[i] = f(i)"))
    step = _step(["f(4*i_outer + i_inner)", "f(4*i_outer)"], "i_inner", default_tag=None)
    assert step(knl) == pg.precompute(knl, "f", "i_inner", default_tag=None).copy(
        history=step(knl).history
    )
    wide = _step("f(i_inner + 4*i_outer)", "i_inner, i_outer", default_tag=None)
    assert wide(knl).temporaries[0].shape == (16,)
    agree_in_arrays(knl, [{}], step, wide)
    with pytest.raises(OutsideFootprint, match="needs what is not in the footprint"):
        pg.precompute(knl, "f(4*i_outer)", "i_inner", default_tag=None)


def test_a_box_where_that_is_wanted() -> None:
    knl = kernel(
        "{ [i,j]: 0<=j<=i<6 }",
        "f(x, y) := a[x, y]\nout[i,j] = f(i, j)",
        pg.GlobalArg("a", shape="6,6"),
    )
    exact = pg.precompute(knl, "f", "i, j", default_tag=None)
    assert _domain(exact, "x").is_equal(isl.Set("{ [x, y] : 0 <= y <= x < 6 }"))
    box = pg.precompute(knl, "f", "i, j", default_tag=None, fetch_bounding_box=True)
    assert _domain(box, "x").is_equal(isl.Set("{ [x, y] : 0 <= x < 6 and 0 <= y < 6 }"))
    agree_in_arrays(
        knl,
        [{}],
        *(_step("f", "i, j", default_tag=None, fetch_bounding_box=b) for b in (True, False)),
    )


# --- refused

REFUSALS: list[tuple[dict[str, Any], type[UserError], str]] = [
    ({"subst_use": "ff"}, UnknownRule, "no rule 'ff'(?s:.*)'f'"),
    ({"subst_use": "f$no"}, NothingMatches, r"uses 'f\$no'"),
    ({"subst_use": "f(i, j)"}, UserError, "gives 2 arguments to rule 'f'"),
    ({"subst_use": "2*f(i)"}, InvalidArgument, r"'2\*f\(i\)' is no invocation"),
    ({"subst_use": ["f(i)", "g(i)"]}, InvalidArgument, "invocations of several rules"),
    ({"subst_use": "f(q)"}, UnknownName, "the footprint mentions 'q'"),
    ({"subst_use": 3}, InvalidArgument, "subst_use=3, which is not a rule's name"),
    ({"sweep_inames": "q"}, UnknownIname, "no iname 'q'"),
    ({"sweep_inames": "other"}, NotSwept, "no use of 'f' is within 'other'"),
    ({"sweep_inames": "i"}, FootprintNotConstant, "do not fit into a box of constant size"),
    ({"temporary_name": "a"}, NameTaken, "already has a 'a'"),
    ({"precompute_inames": "out"}, NameTaken, "already has a 'out'"),
    ({"precompute_inames": "i"}, InvalidArgument, "'i' decides which values are needed"),
    ({"precompute_inames": "p, q"}, InvalidArgument, "2 names for the loops of 1 axes"),
    ({"compute_insn_id": "insn"}, NameTaken, "already has an instruction 'insn'"),
    ({"compute_insn_id": "in sn"}, InvalidArgument, "compute_insn_id='in sn'"),
    ({"storage_axes": "z"}, InvalidArgument, "'z' is no argument of rule 'f'"),
    ({"storage_axes": "x, x"}, InvalidArgument, "'x' is no argument of rule 'f', or one twice"),
    ({"storage_axes": (1,)}, InvalidArgument, "'1' is no argument"),
    ({"storage_axes": ()}, InvalidArgument, "the storage axes  do not decide what 'x' is"),
    ({"dtype": "floaty"}, InvalidArgument, "'floaty' is no element type"),
    ({"precompute_outer_inames": ()}, NotSwept, "'i', which is not among the outer inames"),
    ({"default_tag": "l.auto", "temporary_address_space": pg.AddressSpace.PRIVATE}, TagConflict,
     "each work item has for itself"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSALS)
def test_refused(arguments: dict[str, Any], error: type[UserError], message: str) -> None:
    knl = kernel(
        ("{ [i,j]: 0<=i<n and 0<=j<4 }", "{ [other]: 0<=other<2 }"),
        "f(x) := a[x]\ng(x) := b[x]\nout[i,j] = f(i + j) + g(i)  {id=insn}\nmore[other] = 1",
    )
    given: dict[str, Any] = {"subst_use": "f", "sweep_inames": "j", **arguments}
    with pytest.raises(error, match=message):
        pg.precompute(knl, **given)


def test_what_depends_on_data_is_refused() -> None:
    knl = kernel(
        "{ [i]: 0<=i<8 }", "f(x) := a[x]\nout[i] = f(ix[i])", pg.GlobalArg("ix", np.int32),
        pg.GlobalArg("a", shape=8),
    )  # fmt: skip
    with pytest.raises(FootprintNotAffine, match=r"the use 'f\(ix\[i\]\)' needs depends on data"):
        pg.precompute(knl, "f", "i")
    with pytest.raises(FootprintNotAffine, match=r"the footprint \[ix\[0\]\] depends on data"):
        pg.precompute(knl, "f(ix[0])", "i")


def test_inames_that_not_all_uses_have() -> None:
    knl = kernel(("{ [i]: 0<=i<8 }", "{ [k]: 0<=k<4 }"), "f(x) := a[x]\nb[i] = f(i)\nc[k] = f(k)")
    with pytest.raises(NotSwept, match="needs 'k', but 'k' is not swept, and not around all uses"):
        pg.precompute(knl, "f", "i")
    agree_in_arrays(knl, [{}], _step("f", "i, k", default_tag=None))


def test_what_is_never_used() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "f(x) := a[x]\nout[i] = f(i)  {if=i < 0}",
        pg.GlobalArg("a", shape="n"),
        pg.GlobalArg("out", shape="n"),
    )
    with pytest.raises(NothingMatches, match="no use of 'f' is ever executed"):
        pg.precompute(knl, "f")


def test_what_changes_in_between_is_refused() -> None:
    knl = kernel("{ [i]: 1<=i<17 }", "f(x) := a[x]\na[i] = f(i-1) + 1", pg.GlobalArg("a", shape=17))
    with pytest.raises(IllegalStep):
        pg.precompute(knl, "f", "i", default_tag=None)


def test_tags_of_the_new_loops() -> None:
    knl = tag(i="g.0")(
        kernel(
            ("{ [i]: 0<=i<n }", "{ [k,l]: 0<=k,l<3 }"),
            "f(x,y) := a[x,y]\nout[i] = sum((k,l), f(k,l))",
        )
    )
    new = pg.precompute(knl, "f", "k, l", default_tag="unr")
    assert {i: str(new.tags[i]) for i in "xy"} == {"x": "unr", "y": "unr"}
    assert new.priorities == (("x", "y"),)
    auto = pg.precompute(knl, "f", "k, l")
    assert {i: str(auto.tags[i]) for i in "xy"} == {"x": "l.auto", "y": "l.auto"}
    assert auto.priorities == ()


def test_an_address_space_that_is_left_open_is_found() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<16 and 0<=j<n }", "f(x) := 2*a[x]\nout[i,j] = f(i) + j")
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    auto = pg.AddressSpace.AUTO
    left = pg.precompute(knl, "f", "i_inner", default_tag="l.auto")
    said = pg.precompute(knl, "f", "i_inner", default_tag="l.auto", temporary_address_space=auto)
    assert left == said
    assert [t.address_space for t in said.temporaries] == [pg.AddressSpace.LOCAL]
