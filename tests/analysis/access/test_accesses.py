"""References and access relations, against enumeration in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.access.accesses import Access, references, touched
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression


@pytest.fixture(autouse=True, scope="module")
def _of_any_kernel() -> Iterator[None]:
    """What is tested here holds of kernels whose result is open, too."""
    with pg.without_proofs():
        yield


PARAMETERS = {"n": 5, "m": 3}
BOX = range(-3, 12)


def elements(access: Access, inames: tuple[str, ...]) -> set[tuple[tuple[int, ...], ...]]:
    """Return the pairs of an instance and an element, for fixed parameters."""
    relation = access.relation
    for name, value in PARAMETERS.items():
        position = relation.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            relation = relation.fix_val(isl.dim_type.param, position, isl.Val(value))
            relation = relation.project_out(isl.dim_type.param, position, 1)
    rank = relation.dim(isl.dim_type.set)
    for place, iname in enumerate(inames):
        position = relation.find_dim_by_name(isl.dim_type.param, iname)
        assert position >= 0, iname
        relation = relation.move_dims(isl.dim_type.set, place, isl.dim_type.param, position, 1)
    found: set[tuple[tuple[int, ...], ...]] = set()

    def note(point: isl.Point) -> None:
        at = [
            point.get_coordinate_val(isl.dim_type.set, p).to_python()
            for p in range(rank + len(inames))
        ]
        found.add((tuple(at[: len(inames)]), tuple(at[len(inames) :])))

    relation.foreach_point(note)
    return found


def enumerated(
    inames: tuple[str, ...], condition: str, subscripts: str
) -> set[tuple[tuple[int, ...], ...]]:
    """The same from Python's own understanding of a condition and subscripts."""
    found: set[tuple[tuple[int, ...], ...]] = set()
    for values in product(BOX, repeat=len(inames)):
        names = {**PARAMETERS, **dict(zip(inames, values, strict=True))}
        if eval(condition, {}, names):  # noqa: S307
            found.add((values, eval(f"({subscripts},)", {}, names)))  # noqa: S307
    return found


def the(kernel: Kernel, name: str, *, write: bool) -> list[Access]:
    (insn,) = kernel.instructions
    return [a for a in touched(kernel, insn.id)[name] if a.is_write == write]


@pytest.mark.parametrize(
    ("condition", "inames", "subscripts"),
    [
        ("0 <= i < n", ("i",), "i"),
        ("0 <= i < n", ("i",), "n - 1 - i"),
        ("0 <= i < n", ("i",), "2*i + 1"),
        ("0 <= i < n", ("i",), "(i + 1)//2"),
        ("0 <= i < n", ("i",), "i % 3"),
        ("0 <= i < n and 0 <= j < m", ("i", "j"), "i, j"),
        ("0 <= i < n and 0 <= j <= i", ("i", "j"), "j, i"),
        ("0 <= i < n and 0 <= j < m", ("i", "j"), "i + j, 2*j, 1"),
        ("0 <= 4*i + j < n and 0 <= j < 4", ("i", "j"), "4*i + j"),
    ],
)
def test_relations(condition: str, inames: tuple[str, ...], subscripts: str) -> None:
    rank = subscripts.count(",") + 1
    shape = (100,) * rank
    kernel = pg.make_kernel(
        f"[n, m] -> {{ [{', '.join(inames)}]: {condition} }}",
        f"b[{subscripts}] = a[{subscripts}]",
        [
            pg.GlobalArg("a", shape=shape),
            pg.GlobalArg("b", shape=shape),
            "...",
        ],
    )
    expected = enumerated(inames, condition, subscripts)
    (write,) = the(kernel, "b", write=True)
    (read,) = the(kernel, "a", write=False)
    for access in (write, read):
        assert access.exact
        assert access.inames == set(inames)
        assert elements(access, inames) == expected


def test_reads_in_reductions_are_over_their_inames() -> None:
    kernel = pg.make_kernel(
        "[n, m] -> { [i, j]: 0 <= i < n and 0 <= j < m }",
        "b[i] = c[i] + sum(j, a[i, j])",
    )
    (outside,) = the(kernel, "c", write=False)
    (inside,) = the(kernel, "a", write=False)
    domain = "0 <= i < n and 0 <= j < m"
    assert elements(inside, ("i", "j")) == enumerated(("i", "j"), domain, "i, j")
    assert elements(outside, ("i",)) == enumerated(("i",), "0 <= i < n", "i")
    assert outside.inames == {"i"}


@pytest.mark.parametrize(
    ("predicate", "condition"),
    [("i > 1", "i > 1"), ("i > 1 and i != 3", "i > 1 and i != 3"), ("i % 2 == 0", "i % 2 == 0")],
)
def test_affine_predicates_restrict(predicate: str, condition: str) -> None:
    kernel = pg.make_kernel("[n] -> { [i]: 0 <= i < n }", f"b[i] = a[i]  {{if={predicate}}}")
    (write,) = the(kernel, "b", write=True)
    assert write.exact
    assert elements(write, ("i",)) == enumerated(("i",), f"0 <= i < n and {condition}", "i")


def test_other_predicates_make_writes_uncertain() -> None:
    kernel = pg.make_kernel("[n] -> { [i]: 0 <= i < n }", "b[i] = a[i]  {if=c[i] > 0}")
    (write,) = the(kernel, "b", write=True)
    (condition,) = the(kernel, "c", write=False)
    assert not write.exact
    assert condition.exact
    assert elements(write, ("i",)) == enumerated(("i",), "0 <= i < n", "i")


def test_conditional_reads() -> None:
    kernel = pg.make_kernel(
        "[n] -> { [i]: 0 <= i < n }",
        "b[i] = if(i > 0, a[i - 1], c[i + 1])",
    )
    (then,) = the(kernel, "a", write=False)
    (otherwise,) = the(kernel, "c", write=False)
    assert elements(then, ("i",)) == enumerated(("i",), "0 < i < n", "i - 1")
    assert elements(otherwise, ("i",)) == enumerated(("i",), "i == 0 < n", "i + 1")


def test_data_for_a_subscript_may_be_anything() -> None:
    kernel = pg.make_kernel(
        "[n] -> { [i]: 0 <= i < n }",
        "b[i] = a[i, col[i]]",
        [pg.GlobalArg("a", shape=(ex.Variable("n"), 7)), "..."],
    )
    (read,) = the(kernel, "a", write=False)
    (index,) = the(kernel, "col", write=False)
    assert not read.exact
    assert index.exact
    at_two = read.relation.intersect(isl.Set("[n, i] -> { [2, x] : n = 5 and i = 2 }"))
    assert at_two.is_equal(isl.Set("[n, i] -> { [2, x] : n = 5 and i = 2 }"))
    assert read.relation.intersect(isl.Set("[i] -> { [i + 1, x] }")).is_empty()


CSR = (
    ["[n] -> { [i]: 0 <= i < n }", "[lo, hi] -> { [j]: lo <= j < hi }"],
    """
    <int32> lo = start[i]   {id=lo}
    <int32> hi = start[i+1]  {id=hi}
    y[i] = sum(j, val[j]*x[col[j]])  {id=row, dep=lo:hi}
    """,
)


def test_bounds_that_are_data() -> None:
    kernel = pg.make_kernel(*CSR)
    by_name = {name: found[-1] for name, found in touched(kernel, "row").items()}
    assert set(by_name) == {"y", "val", "x", "col", "lo", "hi"}
    # The loop's bounds are read, and differ from row to row: they are no parameters.
    for bound in ("lo", "hi"):
        assert not by_name[bound].is_write
        assert elements(by_name[bound], ("i",)) == {((i,), ()) for i in range(5)}
    val = by_name["val"]
    assert not val.exact
    names = [
        val.relation.get_dim_name(isl.dim_type.param, p)
        for p in range(val.relation.dim(isl.dim_type.param))
    ]
    assert "lo" not in names
    assert "hi" not in names
    assert by_name["y"].exact


def test_scalars() -> None:
    kernel = pg.make_kernel(
        "[n] -> { [i]: 0 <= i < n }",
        """
        <> t = a[i]  {id=first}
        b[i] = t*scale  {id=second, dep=first}
        """,
    )
    (written,) = touched(kernel, "first")["t"]
    assert (written.name, written.is_write) == ("t", True)
    assert elements(written, ("i",)) == {((i,), ()) for i in range(5)}
    # Arguments that are scalars never change: nothing has to be ordered because of them.
    assert list(touched(kernel, "second")) == ["t", "b"]


def test_references_know_their_conditions() -> None:
    kernel = pg.make_kernel(
        "[n] -> { [i]: 0 <= i < n }", "b[i] = if(i > 0, a[i - 1], 0)  {if=i < n - 1}"
    )
    (insn,) = kernel.instructions
    found = {r.name: [show_expression(c) for c in r.conditions] for r in references(insn)}
    assert found["a"] == ["i < n - 1", "i > 0"]
    assert found["b"] == ["i < n - 1"]
    assert found["n"] == []
