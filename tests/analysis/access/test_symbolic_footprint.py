"""Elements touched through quotients and remainders by sizes, beside all of them one by one."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.access.accesses import references
from polygen.analysis.access.symbolic_footprint import reached_elements
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.transforms.splitting.test_join_symbolic import CUBE, INNER, PLANE, joined

SIZES = [*product(range(4), range(4))]


def _reached(knl: Kernel, name: str, *, is_write: bool = False) -> isl.Set | None:
    found = (r for i in knl.instructions for r in references(i))
    reference = next(r for r in found if r.name == name and r.is_write is is_write)
    return reached_elements(knl, reference)


def _elements(found: isl.Set, **sizes: int) -> set[tuple[int, ...]]:
    for name, size in sizes.items():
        position = found.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            found = found.fix_val(isl.dim_type.param, position, isl.Val(size))
    count = found.dim(isl.dim_type.set)
    points: list[isl.Point] = []
    found.project_out_all_params().foreach_point(points.append)
    axes = range(count)
    return {
        tuple(p.get_coordinate_val(isl.dim_type.set, k).to_python() for k in axes) for p in points
    }


@pytest.mark.parametrize("order", ["i, j", "j, i"])
def test_all_elements_of_a_plane(order: str) -> None:
    knl = joined(order, "ij")(PLANE)
    for found in (_reached(knl, "a"), _reached(knl, "out", is_write=True)):
        assert found is not None
        for n, m in SIZES:
            assert _elements(found, n=n, m=m) == {*product(range(n), range(m))}


def test_quotients_of_quotients() -> None:
    knl = joined("i, j, k", "ij")(CUBE)
    found = _reached(knl, "a")
    assert found is not None
    assert _elements(found, n=2, m=3, p=2) == {*product(range(2), range(3), range(2))}
    part = _reached(knl, "b")
    assert part is not None
    assert _elements(part, n=2, m=3, p=2) == {(j,) for j in range(3)}
    assert _elements(part, n=0, m=3, p=2) == set()


def test_what_else_is_in_the_subscripts() -> None:
    knl = pg.join_inames(
        kernel("{ [i,j,r]: 0<=i<n and 0<=j<m and 0<=r<3 }", "out[r,i,j] = a[2*r + 1, i + 1, j]"),
        "i, j",
        "ij",
    )
    found = _reached(knl, "a")
    assert found is not None
    expected = {(r, i + 1, j) for r, i, j in product((1, 3, 5), range(2), range(3))}
    assert _elements(found, n=2, m=3) == expected


def test_the_inside_of_a_plane() -> None:
    found = _reached(joined()(INNER), "a")  # the first read is a[i - 1, j]
    assert found is not None
    for n, m in product(range(5), range(5)):
        expected = {(i - 1, j) for i, j in product(range(1, n - 1), range(1, m - 1))}
        assert _elements(found, n=n, m=m) == expected


def test_it_is_not_known() -> None:
    assert _reached(PLANE, "a") is None  # no quotient
    guarded = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j] {if=i > 0}")
    assert _reached(joined()(guarded), "a") is None
    data = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "out[i,j] = a[i,j] {if=b[i,j] > 0}",
        pg.GlobalArg("b", "float64", "n, m"),
    )
    assert _reached(joined()(data), "a") is None
    # Two quotients by one size, of numbers that have something to do with each other.
    shifted = joined()(kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j]"))
    knl = shifted.copy(instructions=tuple([_shifted(i) for i in shifted.instructions]))
    assert _reached(knl, "a") is None


def _shifted(insn: Instruction) -> Instruction:
    """Return an instruction in which what is divided by ``m`` is one more, for quotients alone."""

    def more(node: Expression) -> Expression:
        if isinstance(node, ex.FloorDiv):
            return ex.FloorDiv(ex.sum_of(node.numerator, 1), node.denominator)
        return node

    return insn.map_expressions(lambda e: walk.rewrite(e, more))
