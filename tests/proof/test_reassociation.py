"""`allow_reassociation=False`: sums that are rounded are added up in the order that they had."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotTheSame, Reassociated
from polygen.ir.kernel import Kernel
from polygen.transformation import transformation
from tests.oracle.cases import Step, kernel, prior, split, steps, tag
from tests.oracle.compare import typed
from tests.oracle.interpreter import interpret

SQUARE = "{ [p,i,j]: 0<=p,i,j<n }"


def exact(text: str, *data: Any, domain: Any = SQUARE) -> Kernel:
    """Return a kernel that permits no reassociation."""
    return pg.set_options(kernel(domain, text, *data), allow_reassociation=False)


ROWS = exact("b[p] = sum(j, a[p,j])  {id=s}")
PLANE = pg.prioritize_loops(exact("b[p] = sum((i,j), a[p,i]*a[i,j])  {id=s}"), "i, j")


def mapped(text: str) -> Step:
    """Return the step that maps inames."""
    return lambda knl: pg.map_domain(knl, text)


def test_it_is_an_option() -> None:
    knl = kernel(SQUARE, "b[p] = sum(j, a[p,j])")
    assert "allow_reassociation" not in str(knl)
    assert "allow_reassociation: False" in str(ROWS)
    assert pg.parse_kernel(str(ROWS)) == ROWS
    assert pg.set_options(ROWS, allow_reassociation=True).options == knl.options
    with pytest.raises(pg.UserError, match="'allow_reassociation' is True or False, not 0"):
        pg.set_options(ROWS, allow_reassociation=0)


def test_a_step_cannot_permit_itself_to_reorder() -> None:
    @transformation
    def permit(knl: Kernel, iname: str | None = None) -> Kernel:
        """Let sums be added up in another order."""
        options = replace(knl.options, allow_reassociation=True)
        knl = knl.copy(options=options)
        return knl if iname is None else knl.copy(priorities=((iname,),))

    for arguments in ((), ("j",)):
        with pytest.raises(NotTheSame, match="says otherwise whether sums may be added up"):
            permit(PLANE, *arguments)


KEPT: list[tuple[Kernel, Step]] = [
    (ROWS, split("j", 4)),
    (ROWS, steps(split("j", 4), prior("j_outer, j_inner"), split("j_inner", 2))),
    (ROWS, steps(split("j", 4), tag(j_inner="unr"))),
    (ROWS, steps(split("p", 2), prior("p_inner, p_outer"))),
    (ROWS, tag(p="g.0")),
    (ROWS, mapped("{ [j] -> [k] : k = j + 3 }")),
    (ROWS, mapped("{ [p,j] -> [p,k] : k = j + p }")),
    (ROWS, mapped("{ [j,p] -> [j,q] : q = n - p }")),
    (PLANE, mapped("{ [i,j] -> [i,k] : k = j + i }")),
    (PLANE, steps(split("i", 2), split("j", 2))),
    (PLANE, lambda knl: pg.duplicate_inames(knl, "i, j", "s")),
    (PLANE, lambda knl: pg.rename_iname(knl, "i", "k")),
    # the order does not matter
    (exact("b[p] = max((i,j), a[i,j])"), lambda knl: pg.split_reduction_inward(knl, "i")),
    (exact("b[p] = min((i,j), a[i,j])"), steps(prior("j, i"))),
    (exact("b[p] = sum((i,j), i*j)"), prior("j, i")),
    (exact("b[p] = sum((i,j), a[i,j])", pg.GlobalArg("a", "int32", "n, n"), "..."), prior("j, i")),
    (exact("b[p] = sum((i,j), a[i,j] > 0)", pg.GlobalArg("a", "float32", "n, n"), "..."),
     mapped("{ [i] -> [r] : r = -i }")),
    (exact("b[i] = a[i]"), mapped("{ [i] -> [r] : r = -i }")),
]  # fmt: skip


@pytest.mark.parametrize(("knl", "step"), KEPT)
def test_steps_that_keep_the_order(knl: Kernel, step: Step) -> None:
    assert step(knl).options.allow_reassociation is False


REFUSED: list[tuple[Kernel, Step, str]] = [
    (ROWS, mapped("{ [j] -> [k] : k = -j }"),
     r"sum\(j, a\[p, j\]\) in another order.* for n=2, the contribution of k=-1 would come before "
     r"that of k=0"),
    (ROWS, steps(split("j", 4), prior("j_inner, j_outer")),
     "contribution of j_outer=[12], j_inner=0 would come before that of j_outer=0, j_inner=[123]"),
    (ROWS, tag(j="l.0"), "would come before that of j=1, or might"),
    (PLANE, mapped("{ [i,j] -> [k,j] : k = i + j }"), "the contribution of k="),
    (PLANE, lambda knl: pg.split_reduction_inward(knl, "j"), "it would not be one reduction"),
    (PLANE, lambda knl: pg.split_reduction_outward(knl, "j"), "it would not be one reduction"),
    (exact("b[p] = sum((i,j), a[i,j])"), prior("j, i"), "the contribution of i=1, j=0 would come"),
    (exact("b[p] = product((i,j), a[i,j])", pg.GlobalArg("a", "float32", "n, n"), "..."),
     prior("j, i"), "product"),
    (exact("b[p] = sum(i, sum(j, a[i,j])*a[p,i])"), mapped("{ [j] -> [k] : k = n - j }"), "k="),
    (exact("b[p] = sum(i, 1.5*i)"), mapped("{ [i] -> [k] : k = n - i }"), "k="),
]  # fmt: skip


@pytest.mark.parametrize(("knl", "step", "text"), REFUSED)
def test_steps_that_change_the_order(knl: Kernel, step: Step, text: str) -> None:
    with pytest.raises(Reassociated, match="(?s)" + text) as caught:
        step(knl)
    assert "'polygen_kernel' does not permit (allow_reassociation is False)" in caught.value.what
    assert "allow_reassociation=True" in str(caught.value.remedy)
    assert step(pg.set_options(knl, allow_reassociation=True)).history


def test_what_is_refused_is_rounded_otherwise() -> None:
    """An independent look: float32 sums, added one by one, in the two orders."""
    values = np.array([1e8, 1.0, -1e8, 1.0], np.float32)
    up, down = np.float32(0), np.float32(0)
    for x in values.tolist():
        up += np.float32(x)
    for x in values[::-1].tolist():
        down += np.float32(x)
    assert up != down
    knl = kernel("{ [j]: 0<=j<n }", "b[0] = sum(j, a[j])")
    arguments = {"a": values, "b": np.zeros(1, np.float32), "n": 4}
    reversed_ = pg.map_domain(knl, "{ [j] -> [k] : k = n - 1 - j }")
    for step, expected in ((knl, up), (reversed_, down), (pg.split_iname(knl, "j", 2), up)):
        outcome = interpret(typed(step, arguments), arguments)
        assert outcome.arrays["b"][0] == expected
