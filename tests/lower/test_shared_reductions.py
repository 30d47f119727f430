"""Reductions over axes of the work items: trees in local memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InternalError,
    LocalSizeNotConstant,
    Reassociated,
    ReductionNotSequential,
    TagConflict,
)
from polygen.ir.kernel import Kernel
from polygen.transforms.parallel_reductions.local_reductions import LocalReduction
from tests.few import few

ROWS = "{ [i,j]: 0<=i<n and 0<=j<m }"
SIZES = ((0, 3), (1, 1), (7, 7), (3, 16), (2, 17))  # of rows and columns
TARGETS = ("c", "opencl")
A = pg.GlobalArg("a", "float64", "n, m")


def on_axes(text: str, domains: Any = ROWS, **tags: str) -> Kernel:
    """Return a kernel whose `j` is split by 5, with the inner part on axis 0."""
    knl = pg.make_kernel(domains, text, [A, "..."], assumptions="m >= 1")
    return pg.tag_inames(pg.split_iname(knl, "j", 5), {"j_inner": "l.0", **tags})


def agree(knl: Kernel, expected: Callable[[Any], tuple[Any, ...]]) -> None:
    for target in TARGETS:
        run = knl.executor(target)
        for rows, columns in SIZES:
            a = np.random.default_rng(rows).integers(-9, 10, (rows, columns)).astype(np.float64)
            _, found = run(a=a)
            for values, right in zip(found, expected(a), strict=True):
                np.testing.assert_array_equal(values, right)


CASES: list[tuple[str, Callable[[Any], Any]]] = [
    ("b[i] = 2*sum(j, a[i,j])", lambda a: (2 * a.sum(1),)),
    ("b[i] = max(j, a[i,j]) - min(j, a[i,j])", lambda a: (np.ptp(a, 1) if a.size else [],)),
    ("b[i] = product(j, a[i,j])", lambda a: (a.prod(1),)),
    ("b[i] = any(j, a[i,j] > 8)", lambda a: ((a > 8).any(1),)),
    ("b[i] = all(j, a[i,j] > -9)", lambda a: ((a > -9).all(1),)),
    (
        "b[i], c[i] = argmax(j, a[i,j], j)",
        lambda a: (a.max(1), a.argmax(1)) if a.size else ([], []),
    ),
    ("<> t = sum(j, a[i,j])\nb[i] = t*t", lambda a: (a.sum(1) ** 2,)),
    ("b[i] = sum(j, a[i,j]) if i > 0 else -1", lambda a: ([-1, *a.sum(1)[1:]][: len(a)],)),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
@few(1, "tags", [{"i": "g.0"}, {}], ids=["groups", "loop"])
def test_numpy_agrees(text: str, expected: Any, tags: dict[str, str]) -> None:
    agree(on_axes(text, **tags), expected)


@pytest.mark.parametrize("size", range(1, 20))
def test_each_work_item_counts_once(size: int) -> None:
    """Each contributes a power of two of its own."""
    knl = pg.make_kernel(f"{{ [j]: 0<=j<{size} }}", "b[0] = sum(j, a[j])")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "int64"}), {"j": "l.0"})
    for made in (knl, pg.realize_reduction(knl)):
        _, (b,) = made.executor("c")(a=2 ** np.arange(size))
        assert b[0] == 2**size - 1


def test_the_tree() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<5 }", "b[i] = sum(j, a[i,j])  {id=row}")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), {"i": "g.0", "j": "l.0"})
    text = str(pg.generate_code(knl, "opencl"))
    assert text.count("barrier(CLK_LOCAL_MEM_FENCE)") == 2  # the last two are of one work item
    assert text == str(pg.generate_code(pg.realize_reduction(knl), "opencl"))
    new = pg.realize_reduction(knl)
    assert new.temporaries[0].shape == (5,)
    assert str(new).count("l.0") == 4  # j, and one for each stage
    assert [insn.id for insn in new.instructions] == [
        "row_update", "row_combine", "row_combine_0", "row_combine_1", "row",
    ]  # fmt: skip


def test_no_work_item_asks_whether_it_has_something_to_add_up() -> None:
    """Each adds up in a loop, of no iterations if there is nothing for it."""
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "b[i] = sum(j, a[i,j])  {id=row}")
    knl = pg.add_dtypes(knl, {"a": "float32"})
    knl = pg.tag_inames(pg.split_iname(knl, "j", 4), {"i": "g.0", "j_inner": "l.0"})
    text = str(pg.generate_code(knl, "opencl"))
    assert (
        """
    float acc_j_outer = 0.0f;
    for (int j_outer = 0; j_outer < (m + 3 - j_inner) / 4; ++j_outer)
        acc_j_outer += a[i * m + 4 * j_outer + j_inner];
    acc_j_outer_j_inner[j_inner] = acc_j_outer;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (j_inner <= 1)
"""
        in text
    )
    new = pg.realize_reduction(knl)
    assert text == str(pg.generate_code(new, "opencl"))
    assert pg.parse_kernel(str(new)) == new


def test_trees_side_by_side() -> None:
    """Several reductions wait together, of one statement or several, and share their loop."""
    for text in (
        "b[i] = sum(j, a[i,j])*max(j, a[i,j])",
        "b[i] = sum(j, a[i,j])\nc[i] = max(j, a[i,j])",
    ):
        knl = on_axes(text, i="g.0")
        code = str(pg.generate_code(pg.add_dtypes(knl, {"a": "float64"}), "opencl"))
        assert code.count("barrier(CLK_LOCAL_MEM_FENCE)") == 2  # 5 work items: to 3, to 2 and 1
        assert code.count("for (") == 1
    agree(knl, lambda a: (a.sum(1), a.max(1)) if a.size else ([], []))


def test_loops_with_something_else_in_them() -> None:
    """What is reduced is loaded in the loop, or needs it: then loops stay as they are."""
    knl = pg.make_kernel(ROWS, "b[i] = sum(j, a[i,j])", [A, "..."])
    knl = pg.tag_inames(pg.split_iname(knl, "j", 4), {"i": "g.0", "j_inner": "l.0"})
    agree(pg.add_prefetch(knl, "a", "j_inner"), lambda a: (a.sum(1),))
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }", "{ [k]: 0<=k<=j }"],
        "b[i] = sum(j, max(k, a[i,k]))",
        [A, "..."],
        assumptions="m >= 1",
    )
    knl = pg.tag_inames(pg.split_iname(knl, "j", 4), {"i": "g.0", "j_inner": "l.0"})
    agree(knl, lambda a: (np.maximum.accumulate(a, axis=1).sum(1),))


def test_loops_that_were_joined() -> None:
    """Their number of iterations is a product of sizes."""
    knl = pg.make_kernel(
        ROWS, "b = sum((i,j), a[i,j])", [A, pg.GlobalArg("b", "float64", ()), "..."]
    )
    knl = pg.split_iname(pg.join_inames(knl, "i, j", "ij"), "ij", 8, inner_tag="l.0")
    for new in (knl, pg.realize_reduction(knl)):
        _, (total,) = new.executor("c")(a=np.arange(35.0).reshape(5, 7))
        assert total == 35 * 34 / 2


def test_code_that_is_written_apart() -> None:
    knl = pg.make_kernel(ROWS, "b[i] = sum(j, a[i,j])", [A, "..."])
    knl = pg.split_iname(knl, "j", 4, slabs=(0, 1))
    knl = pg.tag_inames(knl, {"i": "g.0", "j_inner": "l.0"})
    code = str(pg.generate_code(knl, "opencl"))
    assert code.count("for (int j_outer") == 2
    assert "double acc_j_outer = 0.0;" in code  # for all work items
    agree(knl, lambda a: (a.sum(1),))


def test_several_axes_and_copies() -> None:
    """Reductions in each other, and a group that works on several rows."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<4 }",
        "b[i] = max(j, sum(k, a[i,j]*k))",
        [A, "..."],
        assumptions="m >= 1",
    )
    knl = pg.split_iname(pg.split_iname(knl, "j", 5), "i", 3)
    for tags in (
        "j_inner:l.0, i_outer:g.0, i_inner:l.1",
        "k:l.0, i_outer:g.0, i_inner:l.1",
        "k:l.0, j_inner:l.1, i_outer:g.0",
        "k:l.1, j_inner:l.0, i_outer:g.0, i_inner:ilp",
    ):
        agree(pg.tag_inames(knl, tags), lambda a: ((6 * a).max(1) if a.size else [],))


def test_neighbours_along_the_first_axis_are_neighbours_in_memory() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "b[i] = sum(j, c[i,j])")
    knl = pg.split_iname(pg.add_dtypes(knl, {"c": "float64"}), "i", 8, inner_tag="l.0")
    knl = pg.tag_inames(knl, {"i_outer": "g.0", "j": "l.1"})
    assert "acc_j[8 * j + i_inner] +=" in str(pg.generate_code(knl, "opencl"))
    c = np.arange(36.0).reshape(9, 4)
    for target in TARGETS:
        np.testing.assert_array_equal(knl.executor(target)(c=c)[1], [c.sum(1)])


def test_an_instruction_with_a_priority() -> None:
    """It waits for what it uses all the same."""
    knl = pg.set_instruction_priority(on_axes("b[i] = 2*sum(j, a[i,j])", i="g.0"), "insn", 3)
    agree(knl, lambda values: (2 * values.sum(1),))
    agree(pg.realize_reduction(knl), lambda values: (2 * values.sum(1),))


def test_data_decides() -> None:
    """How long a row is, and whether it is summed up at all."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [e]: first<=e<last }"],
        """
        <> first = start[i]
        <> last = start[i+1]
        if wanted[i] > 0
            y[i] = sum(e, v[e])
        end
        """,
        [
            pg.GlobalArg("start", "int32", "n+1"),
            pg.GlobalArg("v", "float64", "m"),
            pg.GlobalArg("y, wanted", "float64", "n"),
            "...",
        ],
    )
    knl = pg.tag_inames(pg.split_iname(knl, "e", 4), {"i": "g.0", "e_inner": "l.0"})
    start = np.array([0, 0, 1, 6, 17], dtype=np.int32)
    v, wanted = np.arange(17.0), np.array([1.0, 1.0, 0.0, 1.0])
    for target in TARGETS:
        y = np.full(4, -1.0)
        knl.executor(target)(start=start, v=v, y=y, wanted=wanted)
        np.testing.assert_array_equal(y, [0, 0, -1, v[6:].sum()])


def test_a_triangle() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i and j<m }"],
        "b[i] = sum(j, a[i,j])",
        [A, "..."],
        assumptions="m >= 1",
    )
    knl = pg.tag_inames(pg.split_iname(knl, "j", 5), {"j_inner": "l.0", "i": "g.0"})
    agree(knl, lambda a: (np.tril(a).sum(1),))


def test_refused() -> None:
    knl = pg.make_kernel(ROWS, "b[i] = sum(j, a[i,j])", [A, "..."])
    with pytest.raises(LocalSizeNotConstant, match=r"reduces on l\.0, along .*values of 'j'") as it:
        pg.generate_code(pg.tag_inames(knl, {"j": "l.0"}))
    assert "split 'j' by a constant" in str(it.value.remedy)
    split = pg.split_iname(pg.split_iname(knl, "i", 4), "j", 4)
    with pytest.raises(TagConflict):
        pg.tag_inames(split, {"i_inner": "l.0", "j_inner": "l.0"})
    exact = pg.set_options(split, allow_reassociation=False)
    with pytest.raises(Reassociated):
        pg.tag_inames(exact, {"j_inner": "l.0"})
    with pytest.raises(ReductionNotSequential, match=r"'j_inner', which is tagged g\.1") as why:
        pg.generate_code(pg.tag_inames(split, {"j_inner": "g.1"}))
    assert "l.0 to l.2" in str(why.value.remedy)


WRONG_TREES: dict[str, tuple[Callable[[int], list[tuple[int, int]]], str]] = {
    "a part twice": (lambda n: [(n // 2, (n + 1) // 2), *_tree((n + 1) // 2)][:1] * 2, "itself"),
    "a part is left out": (lambda n: list(_tree(n))[:-1], "not all parts are found"),
    "too short": (lambda n: [(n // 2, n // 2), *_tree(n // 2)], "not all parts are found"),
    "beyond the end": (lambda n: [(n - 1, n - 1), *_tree(n - 1)], "finds something else"),
}


def _tree(count: int) -> list[tuple[int, int]]:
    if count < 2:
        return []
    half = (count + 1) // 2
    return [(count - half, half), *_tree(half)]


@pytest.mark.parametrize(("tree", "text"), WRONG_TREES.values(), ids=WRONG_TREES)
def test_wrong_trees_are_noticed(
    tree: Callable[[int], list[tuple[int, int]]], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    knl = on_axes("b[i] = sum(j, a[i,j])", i="g.0")
    pg.generate_code(knl, "opencl")

    def stages(found: LocalReduction) -> Iterator[tuple[int, int]]:
        return iter(tree(found.axis.extent))

    monkeypatch.setattr(LocalReduction, "stages", stages)
    with pytest.raises(InternalError, match=text):
        pg.generate_code(knl, "opencl")
    with pytest.raises(InternalError, match=text):
        pg.realize_reduction(knl)


def test_nothing_is_reduced_for_no_instance() -> None:
    domains = ["{ [i]: 0<=i<n and n<0 }", "{ [j]: 0<=j<4 }"]
    knl = pg.make_kernel(domains, "b[i] = sum(j, c[j])", [pg.GlobalArg("b", "float64", "n"), "..."])
    knl = pg.tag_inames(pg.add_dtypes(knl, {"c": "float64"}), {"j": "l.0"})
    for new in (knl, pg.realize_reduction(knl)):
        _, (b,) = new.executor("c")(c=np.ones(0), b=np.zeros(3))
        np.testing.assert_array_equal(b, 0)
