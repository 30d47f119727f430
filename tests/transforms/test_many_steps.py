"""Steps that leave the loops as they are, and some that do not: alone, and all in a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, Step, agree, agree_in_arrays, kernel, split, steps
from tests.transforms.numpy_runs import numpy_agrees

KNL = pg.add_dtypes(
    kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<8 }"],
        """
        b[i] = 2*a[i]*a[i]           {id=x}
        <> t = a[i]*a[i] + 1         {id=y}
        d[i] = b[i] + t              {id=z, dep=x:y}
        s[i] = sum(k, a[i]*k)        {id=w}
        """,
        pg.GlobalArg("unused", "float64", 4),
    ),
    dict.fromkeys("abds", "float64"),
)


def expected(a: Any) -> dict[str, Any]:
    return {"s": 28 * a, "d": 3 * a * a + 1, "b": 2 * a * a}  # in the order of arguments


def _first(knl: Kernel) -> Kernel:
    return pg.map_instructions(knl, "y", lambda insn: insn.copy(priority=3))


def _there_and_back(knl: Kernel) -> Kernel:
    (iname,) = {"i", "r"}.intersection(knl.inames)
    knl = split(iname, 4, inner_iname="p")(knl)
    knl = pg.privatize_temporaries_with_inames(knl, "p")
    return pg.unprivatize_temporaries_with_inames(knl, "p")


APART: list[tuple[str, Step]] = [
    ("add_dependency", lambda knl: pg.add_dependency(knl, "y", "x")),
    (
        "remove_dependency",
        lambda knl: pg.remove_dependency(pg.add_dependency(knl, "y", "x"), "z", "x"),
    ),
    ("add_nosync", lambda knl: pg.add_nosync(knl, "any", "z", "x", force=True)),
    ("set_instruction_priority", lambda knl: pg.set_instruction_priority(knl, "w", 7)),
    ("map_instructions", _first),
    ("tag_instructions", lambda knl: pg.tag_instructions(knl, "early", "id:x or id:y")),
    ("set_array_axis_names", lambda knl: pg.set_array_axis_names(knl, "a, b", "row")),
    ("set_argument_order", lambda knl: pg.set_argument_order(knl, "s, a, d, n, b, unused")),
    ("set_options", lambda knl: pg.set_options(knl, silenced_warnings=["AmbiguousNesting"])),
    ("assume", lambda knl: pg.assume(knl, "n >= 0")),
    ("infer_unknown_types", pg.infer_unknown_types),
    ("extract_subst", lambda knl: pg.extract_subst(knl, "square", "v*v", "v")),
    ("map_domain", lambda knl: pg.map_domain(knl, "{ [i] -> [r]: r = n - 1 - i }")),
    (
        "split_reduction_outward",
        steps(split("k", 4), lambda knl: pg.split_reduction_outward(knl, "k_outer")),
    ),
]
# Those that have other instances or ids.
OTHERS: list[tuple[str, Step]] = [
    ("replace_instruction_ids", lambda knl: pg.replace_instruction_ids(knl, {"w": "total"})),
    ("expand_subst", lambda knl: pg.expand_subst(pg.extract_subst(knl, "plus", "v + 1", "v"))),
    ("unprivatize_temporaries_with_inames", _there_and_back),
]


@pytest.mark.parametrize(("name", "step"), APART, ids=[name for name, _ in APART])
def test_each_executes_the_same_instances(name: str, step: Step) -> None:
    assert step(KNL).history[-1].name == name
    agree(KNL, SIZES[:4], step)


TILE = kernel(
    "{ [b, i, j, k, l]: 0<=b<n and 0<=i,j,k,l<8 }",
    """
    u[i, j] = a[b, j, i]      {id=dead}
    t[i, j] = a[b, i, j]      {id=load}
    out[b, k, l] = t[l, k]    {id=store, dep=load}
    """,
    *(pg.TemporaryVariable(t, "float64", (8, 8), pg.AddressSpace.LOCAL) for t in "tu"),
    pg.GlobalArg("a", "float64", "n, 8, 8"),
)
OF_THE_TILE: list[tuple[str, Step]] = [
    ("add_bank_padding", lambda knl: pg.add_bank_padding(_on_items(knl), "t")),
    ("remove_instructions", lambda knl: pg.remove_instructions(_on_items(knl), "dead")),
    (
        "set_temporary_address_space",
        lambda knl: pg.set_temporary_address_space(knl, "t", "private"),
    ),
]


def _on_items(knl: Kernel) -> Kernel:
    return pg.tag_inames(knl, "b: g.0, i: l.1, j: l.0, k: l.1, l: l.0")


@pytest.mark.parametrize(("name", "step"), OF_THE_TILE, ids=[name for name, _ in OF_THE_TILE])
def test_each_leaves_the_same_results_of_tiles(name: str, step: Step) -> None:
    new = step(TILE)
    assert new.history[-1].name == name
    agree_in_arrays(TILE, SIZES[:3], step)


@pytest.mark.parametrize(("name", "step"), OTHERS, ids=[name for name, _ in OTHERS])
def test_each_leaves_the_same_arrays(name: str, step: Step) -> None:
    assert step(KNL).history[-1].name == name
    agree_in_arrays(KNL, SIZES[:4], step)


def test_all_in_a_row_agree_with_numpy() -> None:
    row = steps(*[step for _, step in (*APART, *OTHERS)], pg.remove_unused_arguments)
    taken = {step.name for step in row(KNL).history}
    assert taken >= {"remove_unused_arguments", *(name for name, _ in (*APART, *OTHERS))}
    numpy_agrees(KNL, row, expected)


def test_claims_agree_with_numpy() -> None:
    """What is claimed lets a loop with subscripts that are data be parallel."""
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "b[idx[i]] = 2*b[jdx[i]]  {id=x}",
        pg.GlobalArg("b", "float64", "2*n"),
        *(pg.GlobalArg(name, "int32", "n") for name in ("idx", "jdx")),
    )
    knl = pg.assume_independent(pg.assume_injective(knl, "idx"), "x", "x")
    new = split("i", 8, outer_tag="g.0", inner_tag="l.0")(knl)
    for target in ("c", "opencl"):
        run = new.executor(target)
        for n in (0, 1, 7, 8, 9):
            b = np.arange(2.0 * n)
            places = np.random.default_rng(n).permutation(2 * n).astype(np.int32)
            idx, jdx = places[:n], places[n:]
            wanted = b.copy()
            wanted[idx] = 2 * b[jdx]
            _, (found,) = run(b=b.copy(), idx=idx, jdx=jdx, n=n, check_assumptions=True)
            np.testing.assert_array_equal(found, wanted)
