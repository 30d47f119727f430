"""`parallelize_reduction`: all-, x- and y-reduces, whatever is reduced and however it is shared."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    ClusterNotPossible,
    FinishNotPossible,
    FootprintNotAffine,
    IllegalStep,
    InvalidArgument,
    LocalSizeNotConstant,
    NoSuchReduction,
    NotTheSame,
    Reassociated,
    TagConflict,
    UnknownInstruction,
)
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.lower.program import Launch
from polygen.proof import Rearranged, prove
from polygen.runtime.arrays.expression_values import value_of
from polygen.transforms.parallel_reductions._cluster_shares import CLUSTER_TAG
from polygen.transforms.parallel_reductions._dealt_values import Shares
from polygen.transforms.parallel_reductions._partial_results import reduce_in_stages
from tests.oracle.cases import Step, agree_in_arrays, kernel

ALL = kernel("{ [r]: 0<=r<n }", "s[0] = sum(r, a[r])  {id=s}")
X = kernel("{ [p,r]: 0<=p<m and 0<=r<n }", "s[p] = sum(r, a[p,r])  {id=s}")
Y = kernel("{ [p,r]: 0<=p<m and 0<=r<n }", "s[p] = sum(r, a[r,p])  {id=s}")
LINE = [{"n": n} for n in (0, 1, 7, 8, 9, 13, 16, 17, 31)]
PLANE = [{"n": n, "m": m} for n, m in ((0, 2), (1, 0), (7, 5), (13, 1), (8, 4))]


def shared(**how: Any) -> Step:
    """Return the step that shares the reduction of `s`."""
    return lambda knl: pg.parallelize_reduction(knl, "s", **how)


FEW: dict[str, Any] = {"threads": 4, "items": 2}


def test_all_reduce() -> None:
    agree_in_arrays(ALL, LINE, shared(**FEW), shared(blocks=3, **FEW))


@pytest.mark.parametrize("knl", [X, Y])
def test_rows_and_columns(knl: Kernel) -> None:
    agree_in_arrays(knl, PLANE, shared(across=2, blocks=2, **FEW), shared(threads=3, items=1))


KINDS: dict[str, str] = {
    "product": "s[p] = product(r, a[p,r] + b[r])",
    "epilogue": "s[p] = 2*sum(r, a[p,r]) - max(r, a[p,r]*b[p])",
    "two results": "v[p], s[p] = argmax(r, a[p,r] % 3, r)",
    "index": "s[p] = argmin(r, a[p,r] % 2, 2*r)[1]",
    "condition": "s[p] = if(b[p] > 2, sum(r, a[p,r]), 1)",
    "predicate": "s[p] = sum(r, a[p,r])  {if=p > 1}",
    "triangle": "s[p] = sum(r, if(r <= p, a[p,r], 0))",
    "scaled": "s[p] = any(r, a[p,r] > 8) and not all(r, b[r] > 1)",
}


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_what_is_reduced(text: str) -> None:
    knl = kernel(
        "{ [p,r]: 0<=p<m and 0<=r<n }",
        text if "{" in text else f"{text}  {{id=s}}",
        pg.GlobalArg("a", "int32", "m, n"),
        pg.GlobalArg("b", "int32", "m + n"),
    )
    if "{" in text:
        knl = pg.replace_instruction_ids(knl, {"insn": "s"})
    agree_in_arrays(knl, [{"n": n, "m": 3} for n in (1, 17)], shared(blocks=2, **FEW))


def test_bounds_and_several_inames() -> None:
    bounds = ["{ [p]: 0<=p<n }", "{ [i,j]: p<=i<n and 1<=j<4 }"]
    knl = kernel(bounds, "s[p] = sum((i, j), a[i,j]*b[p])  {id=s}")
    agree_in_arrays(knl, [{"n": n} for n in (0, 1, 9)], shared(blocks=2, **FEW))


def test_products() -> None:
    """Long inside, short outside: split along what is added up."""
    bounds = "{ [i,j,k]: 0<=i<m and 0<=j<3 and 0<=k<n }"
    knl = kernel(bounds, "c[i,j] = sum(k, a[i,k]*b[k,j])  {id=s}")
    step = shared(blocks=3, finish="atomic", **FEW)
    typed = pg.add_dtypes(knl, dict.fromkeys("abc", "int64"))
    agree_in_arrays(typed, [{"n": n, "m": 2} for n in (0, 1, 31)], step, shared(blocks=2, **FEW))


def test_several_at_once() -> None:
    text = "s[p] = sum(r, a[p,r])  {id=s}\nq[p] = sum(r, a[p,r]**2)  {id=q}"
    knl = kernel("{ [p,r]: 0<=p<m and 0<=r<n }", text)

    def both(knl: Kernel) -> Kernel:
        return pg.parallelize_reduction(knl, ["s", "q"], **FEW)

    agree_in_arrays(knl, PLANE, both)
    assert str(both(knl)).count("sum(r_step") == 2


def test_history_and_text() -> None:
    new = shared(blocks=2)(pg.add_dtypes(Y, {"a": "float32"}))
    assert new.original is not None
    assert pg.replay(new.original, new.history) == new
    assert pg.parse_kernel(str(new)) == new


PLANTED = {
    "a lane is lost": ("[r_lane] : 0 <= r_lane <= 1", "[r_lane] : 0 <= r_lane <= 0"),
    "steps overlap": ("a[24*r_step", "a[23*r_step"),
    "a number is added twice": ("+ 8*r_group + 4", "+ 4*r_group + 4"),
    "another number": ("+ r_item])", "+ r_item + 1])"),
    "groups are left out": ("part_r[r_group_0]", "part_r[0*r_group_0]"),
    "a sum is a product": ("sum(r_lane_0,", "product(r_lane_0,"),
}


@pytest.mark.parametrize("old_and_new", PLANTED.values(), ids=PLANTED)
def test_mistakes_are_noticed(old_and_new: tuple[str, str]) -> None:
    made = reduce_in_stages(ALL, "s", "r", Shares(3, 2, 4, 1, GroupTag(0), 0))
    text = str(made)
    assert old_and_new[0] in text
    prove("step", ALL, Rearranged(pg.parse_kernel(text)))
    with pg.without_proofs():
        wrong = pg.parse_kernel(text.replace(*old_and_new))
    with pytest.raises((NotTheSame, CannotProve, IllegalStep)):
        prove("step", ALL, Rearranged(wrong))


def test_what_is_counted() -> None:
    count = kernel("{ [r]: 0<=r<n }", "s[0] = sum(r, if(a[r] > 3, 1, 0))  {id=s}")
    count = pg.add_dtypes(count, {"a": "float64"})
    agree_in_arrays(count, LINE, shared(blocks=3, **FEW))
    for array in shared(blocks=3, **FEW)(count).temporaries:
        assert array.dtype in (None, "int64")


def test_no_group_is_launched_that_has_nothing_to_do() -> None:
    knl = shared(blocks=8, **FEW)(pg.add_dtypes(ALL, {"a": "float32"}))
    first, _ = [node for node in pg.lower_kernel(knl).host if isinstance(node, Launch)]
    (groups,) = [axis.size for axis in first.axes if isinstance(axis.tag, GroupTag)]
    for n in (0, 1, 8, 9, 63, 64, 65, 10**6):
        assert value_of(groups, {"n": n}) == min(8, -(-n // 8))


def test_atomic_finish() -> None:
    how = {"blocks": 3, "finish": "atomic", **FEW}
    arrays = pg.GlobalArg("a", "int32", "m, n"), pg.GlobalArg("s", "int32")
    for text in ("min(r, a[p,r])", "sum<int32>(r, a[p,r])"):
        knl = kernel("{ [p,r]: 0<=p<m and 0<=r<n }", f"s[p] = {text}  {{id=s}}", *arrays)
        agree_in_arrays(knl, PLANE[2:3], shared(**how))
    agree_in_arrays(pg.add_dtypes(Y, {"a": "float64"}), PLANE, shared(across=2, **how))


def test_in_a_cluster() -> None:
    how = {"blocks": 3, "finish": "cluster", **FEW}
    agree_in_arrays(ALL, LINE, shared(**how))
    agree_in_arrays(X, PLANE, shared(**how), shared(across=2, **how))
    agree_in_arrays(Y, PLANE, shared(across=2, **how))
    new = shared(**how)(pg.add_dtypes(ALL, {"a": "float32"}))
    assert new.options.clusters
    assert new.original is not None
    assert pg.replay(new.original, new.history) == new
    assert [type(node) for node in pg.lower_kernel(new).host] == [Launch]
    # One group needs no cluster.
    assert not shared(**{**how, "blocks": 1})(ALL).options.clusters


def test_mistakes_in_a_cluster_are_noticed() -> None:
    made = reduce_in_stages(ALL, "s", "r", Shares(3, 2, 4, 1, CLUSTER_TAG, 0))
    text = str(made)
    prove("step", ALL, Rearranged(pg.parse_kernel(text)))
    with pg.without_proofs():
        wrong = pg.parse_kernel(text.replace("part_r[r_group_0]", "part_r[0*r_group_0]"))
    with pytest.raises((NotTheSame, CannotProve, IllegalStep)):
        prove("step", ALL, Rearranged(wrong))


ORDERED = kernel("{ [r]: 0<=r<n }", "t[0], f[0] = segmented(sum)(r, a[r], b[r])  {id=s}")
FORWARD = kernel("{ [t,r]: 0<=t<4 and 0<=r<n }", "s[t+1] = sum(r, a[r]*s[t])  {id=s}")
TWO = kernel("{ [p,i,j]: 0<=p,i,j<n }", "s[p] = sum(i, a[p,i]) + sum(j, b[p,j])  {id=s}")
RAGGED = kernel(
    ["{ [p]: 0<=p<m }", "{ [r]: 0<=r<n }"], "<> m = c[0]\ns[p] = sum(r, a[p,r])  {id=s}"
)
NORM = kernel("{ [r]: 0<=r<n }", "s[0] = 2*sum(r, a[r])  {id=s}")
AGAIN = kernel("{ [r]: 0<=r<n }", "s[0] = sum(r, a[r]*s[0])  {id=s}", pg.GlobalArg("s", "float64"))
SQUARES = kernel("{ [r]: 0<=r<n }", "s[0] = a[0]*sum(r, r*r)  {id=s}")
ATOMIC = shared(blocks=2, finish="atomic")
CLUSTER = shared(blocks=2, finish="cluster")
REFUSED: list[tuple[Kernel, Step, type[Exception], str]] = [
    (ALL, shared(across=2), InvalidArgument, "there are not 2 results side by side"),
    (X, shared(threads=6, across=4), InvalidArgument, "6 work items cannot be 4 side by side"),
    (TWO, shared(), InvalidArgument, "are not over the same inames"),
    (FORWARD, shared(), IllegalStep, "would change what kernel"),
    (pg.tag_inames(X, {"p": "g.0"}), shared(across=2), TagConflict, "cannot be split"),
    (kernel("{ [p]: 0<=p<n }", "s[p] = a[p]  {id=s}"), shared(), NoSuchReduction, "no reduction"),
    (ALL, lambda knl: pg.parallelize_reduction(knl, "t"), UnknownInstruction, "'t'"),
    (pg.set_options(ALL, allow_reassociation=False), shared(), Reassociated, "does not permit"),
    (ORDERED, shared(), Reassociated, "not claimed to be associative and commutative"),
    (NORM, ATOMIC, FinishNotPossible, "nothing more"),
    (pg.add_dtypes(ALL, {"a": "int8", "s": "int8"}), ATOMIC, FinishNotPossible, "stored as int8"),
    (AGAIN, ATOMIC, FinishNotPossible, "'s' is used before, too"),
    (pg.add_dtypes(SQUARES, {"a": "float32"}), shared(), NotTheSame, "it would compute"),
    (RAGGED, shared(blocks=2), FootprintNotAffine, "sizes do not say"),
    (ALL.copy(target="c"), CLUSTER, ClusterNotPossible, "target 'c' has none"),
    (pg.tag_inames(X, {"p": "l.2"}), CLUSTER, ClusterNotPossible, "l.2, along which .* is taken"),
    (ORDERED, CLUSTER, Reassociated, "not claimed to be associative and commutative"),
    *[
        (
            pg.tag_inames(knl, {"p": tag}),
            shared(**how),
            LocalSizeNotConstant,
            f"'p' is tagged {tag}",
        )
        for knl, tag, how in (
            (X, "l.0", FEW),
            (X, "l.1", {"blocks": 2, **FEW}),
            (Y, "l.0", {"across": 1, **FEW}),
            (Y, "l.2", {"finish": "atomic", "blocks": 2, "across": 1, **FEW}),
        )
    ],
]


@pytest.mark.parametrize(("knl", "step", "error", "text"), REFUSED)
def test_refused(knl: Kernel, step: Step, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        step(knl)


SUBSCRIPTS = ("(r + 1) + 5", "(2*r + n) - (n - (r + 3))", "((r + r) + (r + 1)) + 2")


@pytest.mark.parametrize("subscript", SUBSCRIPTS)
def test_subscripts_that_are_sums_of_sums(subscript: str) -> None:
    """Whether sums were flattened when something was put into them makes no difference."""
    value = f"x[{subscript}]*y[({subscript}) + 1]"
    data = [pg.GlobalArg("x, y", "float64", "3*n + 9")]
    knl = kernel("{ [r]: 0<=r<n }", f"s[0] = sum(r, {value})  {{id=s}}", *data)
    ways: tuple[Step, ...] = (
        shared(threads=4, items=1),
        shared(threads=4, items=1, blocks=2),
        lambda k: pg.split_iname(k, "r", 4, inner_tag="l.0"),
    )
    agree_in_arrays(knl, LINE[1:4], *ways)


@pytest.mark.parametrize("value", ["5.0", "r*1.5", "(r + 1) + 5.0"])
def test_numbers_without_a_type_are_added_up(value: str) -> None:
    knl = kernel("{ [r]: 0<=r<n }", f"s[0] = sum(r, {value})  {{id=s}}")
    agree_in_arrays(knl, LINE[:4], shared(blocks=2, **FEW))
    scaled = kernel("{ [r]: 0<=r<n }", f"s[0] = a[0]*sum(r, {value})  {{id=s}}")
    with pytest.raises((NotTheSame, CannotProve)):  # the sum would be a float64, and the product
        shared(**FEW)(pg.add_dtypes(scaled, {"a": "float32"}))
