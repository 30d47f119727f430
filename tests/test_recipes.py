"""`apply` and `replay`: several steps, as data; errors say which."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import IllegalStep, InvalidArgument, UnknownIname
from polygen.ir.kernel import Kernel
from polygen.transformation import Iname, PositiveInt, transformation

KNL = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "b[i,j] = 2*a[i,j]", name="twice")
vouched: Any = pg.assume  # its type does not say that it takes `unsafe`


@transformation
def tile_square(kernel: Kernel, first: Iname, second: Iname, size: PositiveInt = 8) -> Kernel:
    """Cut squares."""
    return pg.tile(kernel, {first: size, second: size})


def to_groups(kernel: Kernel, *inames: str, **tags: str) -> Kernel:
    """Tag some inames by position, others by name: a recipe that is no transformation."""
    given = {iname: f"g.{axis}" for axis, iname in enumerate(inames)}
    return pg.tag_inames(kernel, {**given, **tags})


@pytest.mark.parametrize(
    ("steps", "called"),
    [
        ([], lambda k: k),
        ([("split_iname", "i", 16)], lambda k: pg.split_iname(k, "i", 16)),
        ([["split_iname", "i", 16]], lambda k: pg.split_iname(k, "i", 16)),
        (
            [("split_iname", "i", 16, {"outer_tag": "g.0", "inner_tag": "l.0"})],
            lambda k: pg.split_iname(k, "i", 16, outer_tag="g.0", inner_tag="l.0"),
        ),
        (
            [("split_iname", {"split_iname": "i", "inner_length": 16})],
            lambda k: pg.split_iname(k, "i", 16),
        ),
        ([("tag_inames", {"i": "g.0"})], lambda k: pg.tag_inames(k, {"i": "g.0"})),
        (
            [("tag_inames", {"i": "g.0"}, {"force": True})],
            lambda k: pg.tag_inames(k, {"i": "g.0"}, force=True),
        ),
        (
            [("tag_inames", {"iname_to_tag": {"i": "g.0"}})],
            lambda k: pg.tag_inames(k, {"i": "g.0"}),
        ),
        ([("tile", {"i": 4, "j": 8})], lambda k: pg.tile(k, {"i": 4, "j": 8})),
        ([("tile", {"sizes": {"i": 4}})], lambda k: pg.tile(k, {"i": 4})),
        (
            [("tile", {"i": 4}, {"outer_tags": {"i": "g.0"}})],
            lambda k: pg.tile(k, {"i": 4}, outer_tags={"i": "g.0"}),
        ),
        ([("fix_parameters", {"n": 16})], lambda k: pg.fix_parameters(k, n=16)),
        ([("add_dtypes", {"a": "f4"})], lambda k: pg.add_dtypes(k, {"a": "f4"})),
        ([("assume", "n >= 1", {"unsafe": True})], lambda k: vouched(k, "n >= 1", unsafe=True)),
        ([(tile_square, "i", "j", {"size": 4})], lambda k: tile_square(k, "i", "j", 4)),
        ([(to_groups, "i", "j")], lambda k: pg.tag_inames(k, {"i": "g.0", "j": "g.1"})),
        ([(to_groups, "i", {"j": "g.1"})], lambda k: pg.tag_inames(k, {"i": "g.0", "j": "g.1"})),
        (
            (("split_iname", "i", 16), ("tag_inames", "i_outer: g.0"), ("assume", "n >= 1")),
            lambda k: pg.assume(
                pg.tag_inames(pg.split_iname(k, "i", 16), "i_outer: g.0"), "n >= 1"
            ),
        ),
    ],
)
def test_it_is_what_calls_make(steps: Any, called: Any) -> None:
    expected = called(KNL)
    found = pg.apply(KNL, steps)
    assert found == expected
    assert len(found.history) >= min(len(steps), len(expected.history))
    assert [str(s) for s in found.history] == [str(s) for s in expected.history]
    assert pg.replay(KNL, found.history) == found


def test_an_iname_with_the_name_of_an_argument() -> None:
    knl = pg.make_kernel("{ [sizes, force]: 0<=sizes,force<n }", "b[sizes, force] = 1")
    found = pg.apply(knl, [("tag_inames", {"force": "g.0"}), ("tile", {"sizes": 4}, {})])
    assert found == pg.tile(pg.tag_inames(knl, {"force": "g.0"}), {"sizes": 4})


def test_a_program_by_its_entry_point() -> None:
    program = pg.merge([KNL])
    found = pg.apply(program, [("split_iname", "i", 16)])
    assert found["twice"] == pg.split_iname(KNL, "i", 16)


def test_steps_that_were_proposed() -> None:
    knl = pg.make_kernel(
        "{ [t,i]: 0<=t<n and 1<=i<n-1 }",
        "a[i] = a[i-1] + a[i+1]  {inames=t:i}",
        [pg.GlobalArg("a", shape="n"), "..."],
        loop_priority="t, i",
    )
    found = pg.apply(knl, pg.find_schedule(knl))
    assert [step.name for step in found.history] == ["skew", "tile", "wavefront"]
    a = np.random.default_rng(1).normal(size=37)
    expected = a.copy()
    for _ in range(37):
        for i in range(1, 36):
            expected[i] = expected[i - 1] + expected[i + 1]
    _, (out,) = found.executor("c")(a=a)
    np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_a_search_finds_what_is_legal() -> None:
    recipes: list[list[Any]] = [
        [("split_iname", "i", size), ("tag_inames", {"i_outer": tag})]
        for size in (2, 4)
        for tag in ("g.0", "unr", "for")
    ]
    knl = pg.make_kernel("{ [i]: 1<=i<33 }", "a[i] = a[i-1] + 1")
    legal = [steps for steps in recipes if pg.is_legal(knl, pg.apply, steps)]
    assert [steps[1][1]["i_outer"] for steps in legal] == ["unr", "for"] * 2


@transformation
def forget(kernel: Kernel) -> Kernel:
    """Drop all instructions."""
    return kernel.copy(instructions=())


REFUSED: list[tuple[Any, type[pg.UserError], str]] = [
    ("split_iname", InvalidArgument, "steps='split_iname', which is no list of steps"),
    (("split_iname", "i", 16), InvalidArgument, "which is no list of steps"),
    ({"split_iname": ("i", 16)}, InvalidArgument, "which is no list of steps"),
    (
        [("assume", "n>0"), ("split", "i")],
        InvalidArgument,
        "step 2 of 2: there is no transf.* 'split'",
    ),
    (
        [("make_kernel", "i")],
        InvalidArgument,
        "step 1 of 1: there is no transformation 'make_kernel'",
    ),
    ([("_staging",)], InvalidArgument, "step 1 of 1: there is no transformation '_staging'"),
    ([()], InvalidArgument, r"step 1 of 1 is \(\), which does not begin"),
    ([3], InvalidArgument, "step 1 of 1 is 3, which does not begin"),
    (["split_iname"], InvalidArgument, "which is no list of steps"),
    ([("assume", "n>0"), "split_iname"], InvalidArgument, "step 2 of 2 is 'split_iname', which"),
    ([(3, "i")], InvalidArgument, r"step 1 of 1 is \(3, 'i'\), which does not begin"),
    ([("split_iname", "i")], InvalidArgument, "step 1 of 1, split_iname: .*needs the argument"),
    (
        [("split_iname", "i", 16, {"inner_tga": "l.0"})],
        InvalidArgument,
        "step 1 of 1, split_iname: .*no argument 'inner_tga'.*did you mean 'inner_tag'",
    ),
    ([("assume", "n>0"), ("reverse", "k")], UnknownIname, "step 2 of 2, reverse: .*no iname 'k'"),
    ([(lambda k: 3,)], InvalidArgument, "step 1 of 1, <lambda>: it returned 3, which is no kernel"),
    ([(lambda k, _x: k,)], InvalidArgument, "<lambda>: it cannot be called .* argument: '_x'"),
    ([(forget,)], pg.UserError, "step 1 of 1, forget: "),
    ([(pg.apply, [("reverse", "k")])], UnknownIname, "step 1 of 1, apply: step 1 of 1, reverse: "),
]


@pytest.mark.parametrize(("steps", "kind", "text"), REFUSED, ids=[r[2] for r in REFUSED])
def test_refused(steps: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        pg.apply(KNL, steps)
    if kind is InvalidArgument:
        assert "test_recipes.py:" in str(caught.value)
        assert "remedy: " in str(caught.value)


def test_a_kernel_is_needed() -> None:
    with pytest.raises(
        InvalidArgument, match="apply was given kernel=3, which is no kernel and no"
    ):
        pg.apply(3, [])  # type: ignore[type-var]


def test_what_is_not_legal_keeps_its_class_and_its_witness() -> None:
    knl = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1")
    with pytest.raises(IllegalStep) as caught:
        pg.apply(knl, [("assume", "n >= 5"), ("tag_inames", {"i": "g.0"})])
    assert caught.value.what.startswith("step 2 of 2, tag_inames: tag_inames would change what")
    assert caught.value.excerpt is not None
    assert "a[i]" in caught.value.excerpt
    assert type(caught.value.__cause__) is IllegalStep


def test_what_is_no_step_is_not_replayed() -> None:
    with pytest.raises(InvalidArgument, match="step='split_iname', which is no"):
        pg.replay(KNL, ["split_iname"])  # type: ignore[list-item]
    with pytest.raises(InvalidArgument, match="original=3, which is no kernel"):
        pg.replay(3, ())  # type: ignore[type-var]


def test_replayed_steps_have_numbers_too() -> None:
    knl = pg.reverse(pg.assume(KNL, "n >= 1"), "j")
    other = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    with pytest.raises(UnknownIname, match=r"step 2 of 2, reverse: .* no iname 'j'"):
        pg.replay(other, knl.history)


def test_steps_are_replayed_on_programs() -> None:
    program = pg.merge([KNL])
    knl = pg.split_iname(KNL, "i", 4)
    assert pg.replay(program, knl.history).default_entrypoint == knl
    two = pg.merge([KNL, pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = i", name="other")])
    with pytest.raises(InvalidArgument, match=r"step 1 of 1, split_iname: .*with 2 entry"):
        pg.replay(two, knl.history)


def test_programs_differ_in_kernels_of_one_name() -> None:
    split = pg.split_iname(KNL, "i", 4)
    assert pg.diff(pg.merge([KNL]), pg.merge([split])) == pg.diff(KNL, split)
    assert pg.diff(KNL, pg.merge([split])) == pg.diff(KNL, split)
    other = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = i", name="other")
    both = pg.merge([KNL, other])
    assert pg.diff(both, both) == ""
    changed = pg.diff(both, both.with_kernel(split)).splitlines()
    assert changed == ["KERNEL twice:", *pg.diff(KNL, split).splitlines()]
    added = pg.diff(KNL, both).splitlines()
    shown = [f"+ {line}" for line in str(other).splitlines()]
    assert added == ["ENTRY POINTS:", "+ other", "KERNEL other:", *shown]
    fewer = pg.diff(both, both.with_entrypoints("other")).splitlines()
    assert fewer == ["ENTRY POINTS:", "- twice"]


def test_history_starts_from_what_calls_the_same() -> None:
    data = [pg.GlobalArg("a, out", "float64", "n, 8"), "..."]
    text = "[j]: out[i, j] = twice_row([j]: a[i, j])"
    rows = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<8 }", text, data, name="rows")
    row = pg.make_function("{ [k]: 0<=k<8 }", "y[k] = 2*x[k]", name="twice_row")
    program = pg.split_iname(pg.merge([rows, row]), "i", 4)
    for whole in (program, program.with_kernel(pg.split_iname(program["twice_row"], "k", 2))):
        knl = whole["rows"]
        assert [step.name for step in knl.history] == ["split_iname"]
        assert knl.original is not None
        assert pg.replay(knl.original, knl.history) == knl
    # Before it is known what is called, a step has less to go by.
    later = pg.merge([pg.split_iname(rows, "i", 4), row])["rows"]
    assert later.original == pg.merge([rows, row])["rows"]
    again = pg.replay(later.original, later.history)
    assert again == program["rows"] == later.copy(priorities=())
