"""`split_reduction_inward` and `split_reduction_outward` together, and what the proof knows."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel, steps
from tests.transforms.reductions.nested_sums import SHARED, cube_becomes, inward, outward


def test_both_make_three_of_one() -> None:
    both = steps(inward("k", "s"), outward("i", "s"))
    cube_becomes(both, [("i",), ("j",), ("k",)], [("x", "y")], 0, 1, 3, 5)


def test_loops_are_nested_as_the_reductions_are() -> None:
    for step, outer, inner in ((inward("i"), "j", "i"), (outward("i"), "i", "j")):
        new = pg.add_dtypes(step(SHARED), {"a": "float32"})
        code = str(pg.generate_code(new, "c"))
        assert code.index(f"for (int {outer} ") < code.index(f"for (int {inner} ")


def test_only_reductions_of_one_kind_become_one() -> None:
    """What the proof compares with: a sum of products is no product of sums."""

    @pg.transformation
    def exchange(knl: Kernel) -> Kernel:
        """Let a sum and a product change places."""
        (insn,) = knl.assignments
        outer = insn.values[0]
        assert isinstance(outer, ex.Reduction)
        assert isinstance(outer.operand, ex.Reduction)
        inner = ex.Reduction(outer.operation, outer.inames, outer.operand.operand)
        both = ex.Reduction(outer.operand.operation, outer.operand.inames, inner)
        return knl.copy(instructions=(insn.copy(expression=both),))

    domain = "{ [i,j]: 0<=i,j<n }"
    assert exchange(kernel(domain, "b[0] = sum(i, sum(j, a[i,j]))")).history
    with pytest.raises(pg.UserError, match="sum"):
        exchange(kernel(domain, "b[0] = sum(i, product(j, a[i,j]))"))
