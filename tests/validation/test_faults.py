"""What is said of a loop program that is not its kernel: each way of being wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygen.errors import (
    DivergentBarrier,
    WrongInstances,
    WrongLoopProgram,
    WrongOrder,
    WrongStatement,
    WrongStorage,
)
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.lower.lower import Model, lower_prepared
from polygen.lower.program import (
    Assign,
    Barrier,
    Declare,
    If,
    Loop,
    LoopProgram,
    Node,
)
from polygen.validation.validate import check
from tests.validation.edits import (
    Edit,
    at,
    guarded,
    joined,
    said,
    shows,
    var,
    where,
    with_launch,
)
from tests.validation.kernels import examples

EXAMPLES = {example.name: example.kernel for example in examples()}


def _shorter_once(program: LoopProgram) -> LoopProgram:
    """Return a program in which the first of two loops over i ends early."""
    first = True

    def shorter(node: Loop) -> tuple[Node, ...]:
        nonlocal first
        changed, first = (replace(node, upper=7) if first else node), False
        return (changed,)

    return where(Loop, shorter, "i")(program)


GRID, LOOPS = Model.GRID, Model.LOOPS
TILE = "reversed_tile_n3"
I_IS_0 = ex.Comparison(var("i"), "==", 0)

# What each mistake is, in which kernel, and what has to be said of it.
TABLE: dict[str, tuple[str, Model, Edit, type[WrongLoopProgram], str]] = {
    # --- statements
    "another value": (
        TILE,
        GRID,
        where(Assign, lambda n: (replace(n, value=at("tile", var("j"))),), "insn"),
        WrongStatement,
        "for instruction 'insn', a statement computes 'tile[j]', which is not 'tile[7 - j]'",
    ),
    "another element": (
        TILE,
        GRID,
        where(Assign, lambda n: (replace(n, target=at("out", var("j"))),), "insn"),
        WrongStatement,
        "for instruction 'insn', a statement writes 'out[j]', which is not 'out[g, j]'",
    ),
    "no instruction": (
        TILE,
        GRID,
        where(Assign, lambda n: (replace(n, insn_id="store"),), "insn"),
        WrongStatement,
        "'out' is written for 'store', which is no instruction",
    ),
    "no accumulator": (
        "product_on_the_grid_n17_m5_l18",
        GRID,
        where(Assign, lambda n: (replace(n, value=0),), "insn"),
        WrongStatement,
        "it does not compute 'sum((k_outer, k_inner), ",
    ),
    "what nobody needs": (
        TILE,
        GRID,
        where(Barrier, lambda n: (Declare("x", np.dtype(np.float64), initial=0), n)),
        WrongStatement,
        "'x' is written, which no instruction needs",
    ),
    "out of scope": (
        TILE,
        GRID,
        where(Assign, lambda n: (replace(n, value=at("a", var("k"))),), "load"),
        WrongStatement,
        "it mentions 'k' where that stands for nothing",
    ),
    "not passed": (
        TILE,
        GRID,
        lambda p: with_launch(p, lambda launch: replace(launch, arguments=launch.arguments[1:])),
        WrongStatement,
        "it mentions 'a' where that stands for nothing",
    ),
    "no value of an iname": (
        "unrolled_n9",
        GRID,
        where(Assign, lambda n: (replace(n, values=()),), "row_update"),
        WrongStatement,
        "'j_inner' has no value where instruction 'row_update', which is within it, is carried out",
    ),
    "another item's": (
        "private_across_a_barrier_n2",
        LOOPS,
        where(Assign, lambda n: (replace(n, target=at("mine", 0)),), "mine"),
        WrongStatement,
        "a work item touches the 'mine' of another one",
    ),
    # --- instances
    "missing": (
        "guarded_n17",
        GRID,
        where(
            If,
            lambda n: (replace(n, condition=ex.Comparison(var("i_inner"), "<", 0)),),
        ),
        WrongInstances,
        "for n=1, insn[i_outer=0, i_inner=0] is not executed",
    ),
    "too many": (
        "guarded_n17",
        GRID,
        where(If, lambda n: n.body),
        WrongInstances,
        "insn[i_outer=0, i_inner=1] is executed, and should not be",
    ),
    "twice": (
        TILE,
        GRID,
        where(Assign, lambda n: (n, n), "load"),
        WrongInstances,
        "load[g=0, i=0] is executed twice",
    ),
    "in a loop too many": (
        "in_place_n9",
        GRID,
        lambda p: with_launch(
            p, lambda launch: replace(launch, body=(Loop("again", 0, 2, launch.body),))
        ),
        WrongInstances,
        "is executed more than once",
    ),
    "by all instead of one": (
        "scalar_of_the_group_n2",
        GRID,
        where(If, lambda n: n.body),
        WrongInstances,
        "write[g=0, t=0] is executed more than once",
    ),
    "other conditions": (
        "scattered",
        GRID,
        where(If, lambda n: n.body),
        WrongInstances,
        "instruction 'first' is executed under other conditions than the kernel says",
    ),
    "a part of a sum": (
        "product_on_the_grid_n17_m5_l18",
        GRID,
        where(Loop, lambda n: (replace(n, lower=1),), "k_outer"),
        WrongInstances,
        "insn[...k_outer=0, k_inner=0] ('sum((k_outer, k_inner), ... is not executed",
    ),
    "an alias that is data": (
        TILE,
        LOOPS,
        where(Declare, lambda n: (replace(n, initial=at("a", 0)),), "j"),
        WrongInstances,
        "'j' is 'a[0]', which is not affine",
    ),
    # --- order
    "reversed": (
        "transpose_then_double_n9",
        GRID,
        lambda p: replace(p, host=p.host[::-1]),
        WrongOrder,
        "transpose[i_outer=...] has to come before insn[ii_outer=...], and does not: both touch an "
        "element of 'out'",
    ),
    "without a barrier": (
        TILE,
        GRID,
        where(Barrier, lambda n: ()),
        WrongOrder,
        "load[g=0, i=...] has to come before insn[g=0, j=...], for both touch an element of "
        "'tile'; but they are in different work items, without a barrier between",
    ),
    "in one launch": (
        "global_temporary_n9",
        GRID,
        joined,
        WrongOrder,
        "but they are in different groups of one launch",
    ),
    "on threads": (
        "recurrence_n9",
        LOOPS,
        where(Loop, lambda n: (replace(n, parallel=1),), "i"),
        WrongOrder,
        "the loop of 'i' is said to run on threads, with 0 more inside, and these are not loops "
        "over groups that nest perfectly",
    ),
    "on too many threads": (
        "guarded_n17",
        LOOPS,
        where(Loop, lambda n: (replace(n, parallel=2),), "i_outer"),
        WrongOrder,
        "the loop of 'i_outer' is said to run on threads, with 1 more inside",
    ),
    # --- barriers
    "under a condition": (
        TILE,
        GRID,
        where(Barrier, guarded(I_IS_0)),
        DivergentBarrier,
        "not all work items of a group reach the same barriers, for 'i' differs between them where "
        "a condition is decided",
    ),
    # --- storage
    "too small": (
        TILE,
        GRID,
        where(Declare, lambda n: (replace(n, extent=7),), "tile"),
        WrongStorage,
        "'tile' is declared with 7 elements, and needs 8",
    ),
    "too small for all items": (
        "private_across_a_barrier_n2",
        LOOPS,
        where(Declare, lambda n: (replace(n, extent=3),), "mine"),
        WrongStorage,
        "'mine' is declared with 3 elements, and needs 4",
    ),
    "another type": (
        TILE,
        GRID,
        where(Declare, lambda n: (replace(n, dtype=np.dtype(np.float32)),), "tile"),
        WrongStorage,
        "'tile' is of another type, or in another address space",
    ),
    "another address space": (
        TILE,
        GRID,
        where(Declare, lambda n: (replace(n, address_space=AddressSpace.PRIVATE),), "tile"),
        WrongStorage,
        "'tile' is of another type, or in another address space",
    ),
    "declared twice": (
        TILE,
        GRID,
        where(Declare, lambda n: (n, n), "tile"),
        WrongStorage,
        "'tile' is declared where it stands for something else already",
    ),
    "an iname without a value": (
        TILE,
        LOOPS,
        where(Declare, lambda n: (replace(n, initial=None),), "j"),
        WrongStorage,
        "'j' is an iname without a value",
    ),
    "downwards": (
        "recurrence_n9",
        GRID,
        where(Loop, lambda n: (replace(n, step=-1),), "i"),
        WrongStorage,
        "'i' has steps of -1",
    ),
    "each item's own": (
        "private_across_a_barrier_n2",
        LOOPS,
        where(Assign, lambda n: (replace(n, value=var("mine")),), "load"),
        WrongStorage,
        "each work item has a 'mine' of its own, and it does not say which it means",
    ),
    "other work items": (
        TILE,
        LOOPS,
        _shorter_once,
        WrongStorage,
        "its loops over the work items along l.0 differ, or have no constant number of iterations",
    ),
    "other arguments": (
        TILE,
        GRID,
        lambda p: replace(p, arguments=p.arguments[::-1]),
        WrongStorage,
        "is not declared as in the kernel",
    ),
    "other kinds": (
        TILE,
        GRID,
        lambda p: replace(p, dtypes={**p.dtypes, "a": np.dtype(np.int8)}),
        WrongStorage,
        "'a' has another type than in the kernel",
    ),
    "passed as something else": (
        TILE,
        GRID,
        lambda p: with_launch(
            p,
            lambda launch: replace(
                launch,
                arguments=tuple(
                    replace(a, dtype=np.dtype(np.float32)) if a.name == "a" else a
                    for a in launch.arguments
                ),
            ),
        ),
        WrongStorage,
        "'a' is passed as something else than it is",
    ),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_mistake(row: tuple[str, Model, Edit, type[WrongLoopProgram], str]) -> None:
    name, model, edit, kind, words = row
    knl = EXAMPLES[name]
    program = lower_prepared(knl, model)
    check(knl, program)
    assert shows(said(knl, edit(program), kind), words)
