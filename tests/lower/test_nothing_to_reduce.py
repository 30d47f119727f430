"""Reductions of nothing: over no values, or where they are never computed."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.language.of_nothing import identities
from polygen.lower.lower import Model
from polygen.lower.program import Assign, Declare, If
from tests.few import few
from tests.lower.test_scans import agrees
from tests.oracle.cases import Step, grid, kernel, lowered, nodes, tag

NEVER = ("{ [i,j]: 0<=i<3 and 0<=j<=i }", "{ [i,j]: 0<=i<3 and 0<=j<3 }")
OVER_NOTHING = (
    ("{ [i]: 0<=i<n }", "{ [j]: 0<=j<0 }"),
    ("{ [i]: 0<=i<n }", "{ [j]: i<=j<i }"),
)
NESTED = (
    ("{ [i]: 0<=i<n }", "{ [k]: 0<=k<1 }", "{ [j]: 0<=j<k }"),
    ("{ [i]: 0<=i<n }", "{ [k]: 0<=k<0 }", "{ [j]: 0<=j<k }"),
)
AXES: tuple[Step, ...] = (tag(i="unr"), tag(i="l.0"), tag(i="g.0"))


def made(domains: str | tuple[str, ...], text: str) -> Kernel:
    """Return a kernel that reads `a` and `f` and writes `b` and `c`."""
    arrays = [pg.GlobalArg(name, np.int32, "n + 3") for name in "abc"]
    arrays.append(pg.GlobalArg("f", np.bool_, "n + 3"))
    with identities():  # minima of nothing, too
        return kernel(domains, text, *arrays, "...", assumptions="n >= 0")


@pytest.mark.parametrize(
    "reduced",
    [
        "sum(j, a[j])",
        "argmin(j, a[j], j)[1]",
        "sum(j, a[j]) + argmax(j, a[j], j)[0]",
        "segmented(sum)(j, a[j], f[j])[0]",
    ],
)
@few(
    2,
    "text",
    [
        "b[i] = {0}  {{if=False}}",
        "b[i] = {0}  {{if=i*i > 100}}",
        "b[i] = ({0} if False else 2)",
        "b[i] = ({0} if i > 5 else 2)",
        "b[i] = ({0} if i*i > 100 else 2)",
    ],
)
def test_never_computed(text: str, reduced: str) -> None:
    """Where it would be carried through the loop around, too: it may start there, or not."""
    for domains in NEVER:
        agrees(made(domains, text.format(reduced)), (3,), *AXES)


@pytest.mark.parametrize(
    "text",
    [
        "b[i] = sum(j, a[j]) + product(j, 2*a[j])",
        "b[i] = argmin(j, a[j], j)[0]",
        "b[i] = argmin(j, a[j], j)[1]",
        "b[i], c[i] = argmin(j, a[j], j)  {if=i < 2}",
        "b[i] = argmin(j, a[j], j)[0] + argmax(j, a[j], j)[1]",
        "b[i] = argmin(j, a[j], j)[1] - argmin(j, 2*a[j], j)[1]",
        "b[i] = (argmin(j, a[j], j)[1] if i > 2 else argmin(j, a[j], j)[0])",
        "b[i], c[i] = segmented(product)(j, a[j], f[j])",
    ],
)
def test_over_no_values(text: str) -> None:
    text = text.replace("b[i], c[i] = seg", "b[i], <> t = seg")
    for domains in OVER_NOTHING:
        agrees(made(domains, text), (0, 1, 4), grid("i", 2))


@pytest.mark.parametrize(
    "text",
    [
        "b[i] = sum(k, argmin(j, a[j], j)[1])",
        "b[i] = sum(k, argmin(j, a[j], j)[1] + argmin(j, a[j], j)[0])",
        "b[i] = sum(k, segmented(sum)(j, a[j], f[j])[0])",
        "b[i] = argmin(k, argmin(j, a[j], j)[1], k)[1] + sum(k, argmin(j, 2*a[j], j)[1])",
    ],
)
def test_inside_of_others(text: str) -> None:
    for domains in NESTED:
        agrees(made(domains, text), (0, 1, 4), grid("i", 2))


def test_what_nothing_reads_does_not_start() -> None:
    """The value of the best element, where only its place is asked for."""
    knl = pg.add_dtypes(made(OVER_NOTHING[0], "b[i] = argmin(j, a[j], j)[1]"), {})
    started = [n for n in nodes(lowered(knl, Model.LOOPS)) if isinstance(n, Assign | Declare)]
    assert len(started) == 2  # of one accumulator, and of b[i]


@pytest.mark.parametrize("tags", [{"j": "l.0"}, {"i": "g.0", "j": "l.0"}])
def test_on_an_axis_in_no_iteration(tags: dict[str, str]) -> None:
    knl = made(("{ [i]: 3<=i<3 }", "{ [j]: 0<=j<8 }"), "b[i] = sum(j, a[i] + j)")
    program = lowered(tag(**tags)(knl), Model.GRID)
    assert not [node for node in nodes(program) if isinstance(node, Assign)]


def test_accumulators_are_asked_where_they_have_values() -> None:
    """Not in a condition, ahead of what else is asked there: they may not have begun."""
    asked = ("c[i] > 0", "c[i] <= 0")
    text = "\n".join(f"b[i] = {k} {{if=not all(j, f[j]), if={c}}}" for k, c in enumerate(asked))
    program = lowered(made(("{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"), text))
    guards = [show_expression(node.condition) for node in nodes(program) if isinstance(node, If)]
    found = [guard for guard in guards if "acc_j" in guard]
    assert [guard.partition(" and not acc_j")[0] for guard in found] == list(asked)
