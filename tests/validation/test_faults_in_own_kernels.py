"""What is said of a loop program that is not its kernel: mistakes in kernels of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    DivergentBarrier,
    InternalError,
    UnsafeCondition,
    WrongInstances,
    WrongLoopProgram,
    WrongOrder,
    WrongStorage,
)
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import (
    Assign,
    Barrier,
    Declare,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
)
from polygen.validation.validate import check, validate
from tests.oracle.cases import grid, kernel, steps, tag
from tests.validation.edits import (
    guarded,
    joined,
    moved_into,
    said,
    shows,
    var,
    where,
    with_launch,
    without,
)
from tests.validation.kernels import examples

EXAMPLES = {example.name: example.kernel for example in examples()}


GRID, LOOPS = Model.GRID, Model.LOOPS
TILE = "reversed_tile_n3"
TEMPORARY = pg.TemporaryVariable


def _typed(knl: Kernel) -> Kernel:
    inputs = {a.name: np.float64 for a in knl.arguments if isinstance(a, pg.GlobalArg)}
    untyped = {n: t for n, t in inputs.items() if knl.array(n).dtype is None}
    return prepare(pg.add_dtypes(knl, untyped))


def _both(knl: Kernel, model: Model = GRID) -> tuple[Kernel, LoopProgram]:
    knl = _typed(knl)
    program = lower_prepared(knl, model)
    check(knl, program)
    return knl, program


def test_loops_nested_otherwise() -> None:
    knl, program = _both(
        kernel(
            "{ [i,j]: 1<=i<n and 0<=j<n-1 }",
            "a[i,j] = a[i-1,j+1] + 1 {id=shear}",
            pg.GlobalArg("a", shape="n, n"),
            loop_priority="i, j",
        )
    )

    def interchanged(node: Loop) -> tuple[Node, ...]:
        (inner,) = node.body
        assert isinstance(inner, Loop)
        return (replace(inner, body=(replace(node, body=inner.body),)),)

    wrong = where(Loop, interchanged, "i")(program)
    words = (
        "the loops around instruction 'shear' are not those of the kernel, from the outermost "
        "inwards, each running upward: i, j"
    )
    assert words in said(knl, wrong, WrongOrder)


def test_what_may_overlap_in_one_launch() -> None:
    with pg.without_proofs():
        knl = kernel(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
            "b[i] = c[i] {id=write}\nd[j] = a[n-1-j] {dep=write}",
            pg.GlobalArg("a", shape="n", may_alias=True),
        )
        knl = steps(grid("i", 4), grid("j", 4))(knl)
    knl, program = _both(knl)
    words = "for both, for all that is known, touch an element of 'b'; but they are in different"
    assert words in said(knl, joined(program), WrongOrder)


def test_a_barrier_in_a_loop_of_each_items() -> None:
    knl = EXAMPLES[TILE]
    several = where(Barrier, lambda n: (Loop("k", 0, var("i"), (n,)),))
    words = "for 'i' differs between them where the loop of 'k' is decided"
    assert words in said(knl, several(lower_prepared(knl, GRID)), DivergentBarrier)


def test_a_barrier_under_a_condition_that_each_item_computes() -> None:
    knl = EXAMPLES["private_across_a_barrier_n2"]
    positive = ex.Comparison(var("mine"), ">", 0)
    wrong = where(Barrier, guarded(positive))(lower_prepared(knl, GRID))
    words = "for 'mine' differs between them where a condition is decided"
    assert words in said(knl, wrong, DivergentBarrier)


def test_a_variable_that_loses_its_value() -> None:
    knl, program = _both(
        kernel(
            "{ [i,j]: 0<=i<n and 0<=j<n }",
            """
            t[0] = 0 {id=start, inames=i:j, if=j == 0}
            t[0] = t[0] + a[i,j] {id=add, inames=i:j, dep=*start}
            out[i] = t[0] {inames=i:j, dep=*add, if=j == n-1}
            """,
            TEMPORARY("t", np.float64, (1,)),
            loop_priority="i, j",
        )
    )
    words = "'t' is declared in the loop of 'i', and may have to keep its value longer"
    assert words in said(knl, moved_into("t", "j")(program), WrongStorage)


def _shared() -> tuple[Kernel, LoopProgram]:
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }"],
        "s[i] = a[g,i] {id=s, inames=g:i}\nout[g,i] = s[i] {inames=g:i, dep=s}",
        TEMPORARY("s", np.float64, (4,), AddressSpace.LOCAL),
    )
    return _both(tag(g="g.0", i="l.0")(knl), LOOPS)


def test_a_local_variable_of_each_item() -> None:
    knl, program = _shared()
    words = "'s' is shared by a group, and each item has its own"
    assert words in said(knl, moved_into("s", "i")(program), WrongStorage)


def test_a_local_variable_of_all_groups() -> None:
    knl, program = _shared()
    rest, declaration = without(program, "s")
    wrong = with_launch(rest, lambda launch: replace(launch, body=(declaration, *launch.body)))
    words = "'s' is shared by groups that run at once"
    assert words in said(knl, wrong, WrongStorage)


def test_a_variable_that_the_kernel_lacks() -> None:
    knl, program = _shared()
    extra = Declare("x", np.dtype(np.float64))
    wrong = with_launch(program, lambda launch: replace(launch, body=(extra, *launch.body)))
    words = "'x' is declared, and the kernel has no such variable"
    assert words in said(knl, wrong, WrongStorage)


def _two_launches() -> tuple[Kernel, LoopProgram, Declare]:
    knl, program = _both(
        steps(grid("i", 4), grid("j", 4))(
            kernel(
                ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
                "<> x = a[i] + 1 {id=x}\nb[i] = x {id=b}\nc[j] = b[n-1-j] {dep=b}",
                pg.GlobalArg("b", shape="n"),
            )
        )
    )
    return knl, program, Declare("x", np.dtype(np.float64))


def test_a_variable_of_two_launches() -> None:
    knl, program, again = _two_launches()
    first, second = program.host
    assert isinstance(second, Launch)
    wrong = replace(program, host=(first, replace(second, body=(again, *second.body))))
    words = "'x' is declared in two launches, and each has its own"
    assert words in said(knl, wrong, WrongStorage)


def test_a_variable_of_two_places() -> None:
    knl, program, again = _two_launches()
    apart = If(ex.Comparison(var("n"), ">", 5), (again,))
    wrong = with_launch(program, lambda launch: replace(launch, body=(apart, *launch.body)))
    words = "'x' is declared twice, and each place has its own"
    assert words in said(knl, wrong, WrongStorage)


def test_another_copy_of_a_variable() -> None:
    """j = 2 is the first of its axis in the kernel; here, it is the third."""
    knl = EXAMPLES["shifted_axes"]
    program = lower_prepared(knl, GRID)
    wrong = with_launch(
        program,
        lambda launch: replace(
            launch,
            axes=tuple(
                replace(axis, size=6, inames=tuple((iname, 0) for iname, _ in axis.inames))
                if len(axis.inames) > 1
                else axis
                for axis in launch.axes
            ),
        ),
    )
    few, many = ex.Comparison(var("i"), "<", 4), ex.Comparison(var("j"), ">=", 2)
    inside = {"mine": few, "insn": many}
    mine = where(
        Declare,
        lambda n: (
            replace(n, initial=None, constant=False),
            Assign(var("mine"), n.initial, "mine"),
        ),
        "mine",
    )(wrong)
    for insn_id, condition in inside.items():
        mine = where(Assign, guarded(condition), insn_id)(mine)
    words = (
        "it is not so that a work item touches the same copy of 'mine' through 'i' and through 'j' "
        "as in the kernel"
    )
    assert words in said(knl, mine, WrongStorage)


def test_a_condition_whose_value_changes() -> None:
    knl, program = _both(
        kernel(
            "{ [i]: 0<=i<n }",
            "p[i] = 0 {id=clear, if=p[i] > 0}\nx[i] = 1 {if=p[i] > 0, dep=clear}",
            pg.GlobalArg("p", shape="n"),
            pg.GlobalArg("x", shape="n"),
        )
    )

    def merged(node: Loop) -> tuple[Node, ...]:
        first, second = node.body
        assert isinstance(first, If)
        assert isinstance(second, If)
        return (replace(node, body=(replace(first, body=(*first.body, *second.body)),)),)

    words = "'p' is written where a condition or a bound has read it already"
    assert words in said(knl, where(Loop, merged)(program), WrongOrder)


def test_a_condition_that_reads_outside() -> None:
    knl, program = _both(
        kernel(
            ["{ [i]: 0<=i<n+3 }", "{ [j]: 0<=j<n-i }"],
            "out[i] = 0\nres[i,j] = 1 {if=p[i] > 0}",
            pg.GlobalArg("p", shape="n"),
            pg.GlobalArg("res", shape="n, n"),
        )
    )

    def outwards(node: Loop) -> tuple[Node, ...]:
        (guard,) = node.body
        assert isinstance(guard, If)
        return (replace(guard, body=(replace(node, body=guard.body),)),)

    words = "'p[i] > 0' is asked for ..., where the kernel does not ask it, and may read outside"
    assert shows(said(knl, where(Loop, outwards, "j")(program), UnsafeCondition), words)


def test_a_name_that_is_negative() -> None:
    knl, program = _both(kernel("{ [i]: -2<=i<n }", "out[i+2] = i"))
    assert "i" not in program.nonnegative
    wrong = replace(program, nonnegative=program.nonnegative | {"i"})
    words = "'i' is said to be never negative, and is for "
    assert words in said(knl, wrong, WrongStorage)


def test_a_parameter_that_is_negative() -> None:
    knl, program = _both(kernel("{ [i]: n<=i<n+4 }", "out[i-n] = i"))
    wrong = replace(program, nonnegative=program.nonnegative | {"n"})
    assert "'n' is said to be never negative" in said(knl, wrong, WrongStorage)


# --- how it is said


def test_it_is_polygens_fault() -> None:
    assert issubclass(WrongLoopProgram, InternalError)


def test_sizes_aresaid() -> None:
    knl = EXAMPLES["guarded_n17"]
    wrong = where(If, lambda n: n.body)(lower_prepared(knl, GRID))
    assert "is wrong: for n=1, insn[i_outer=0, i_inner=1] is executed" in said(
        knl, wrong, WrongInstances
    )


def test_too_much_work_issaid(monkeypatch: pytest.MonkeyPatch) -> None:
    """isl is needed for pieces and strides; here, it may do next to nothing."""
    knl = EXAMPLES["strides_and_pieces_n13"]
    program = lower_prepared(knl, GRID)
    monkeypatch.setattr("polygen.analysis.integers.proving.MOST_OPERATIONS", 50)
    with pytest.warns(pg.errors.NotValidated, match="was not compared with the kernel"):
        validate(knl, program)
    monkeypatch.undo()
    validate(knl, program)


def test_it_is_switched_off_with_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = EXAMPLES["guarded_n17"]
    monkeypatch.setattr("polygen.lower.needed_guards.guards", lambda *_: ())
    with pytest.raises(WrongInstances):
        pg.generate_code(knl)
    with pytest.raises(WrongInstances):
        pg.lower_kernel(knl)
    with pg.without_proofs():
        pg.generate_code(knl)
        pg.lower_kernel(knl)


def _summed_in_tiles(kept: str) -> Kernel:
    """A sum in tiles: each item keeps a part of a tile, that of a step or all of it."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<8 and 0<=j<12 }",
        "b[i] = sum(j, m[j,i]*u[j])",
        [pg.GlobalArg("m", np.float64, "12,8"), pg.GlobalArg("u", np.float64, "12"), "..."],
    )
    knl = pg.split_iname(pg.split_iname(knl, "j", 4), "i", 2, outer_tag="l.0", inner_tag="ilp")
    knl = pg.add_prefetch(
        *(knl, "m", "j_inner, i_outer, i_inner", ("row", "column")),
        fetch_outer_inames="j_outer",
        temporary_name="tile",
        temporary_address_space=AddressSpace.LOCAL,
        default_tag=None,
    )
    knl = pg.split_iname(knl, "column", 4, inner_tag="l.0")
    knl = pg.add_prefetch(
        *(knl, "tile", "i_inner" if kept == "j_inner" else "i_inner, j_inner"),
        fetch_outer_inames=f"{kept}, j_outer, i_outer",
        temporary_name="own",
        temporary_address_space=AddressSpace.PRIVATE,
        default_tag=None,
    )
    return pg.prioritize_loops(knl, "j_outer, j_inner")


def test_what_a_reduction_reads_in_the_iteration_that_wrote_it() -> None:
    for kept in ("j_inner", "j_outer"):
        knl = _summed_in_tiles(kept)
        m, u = np.arange(96.0).reshape(12, 8), np.arange(12.0)
        np.testing.assert_array_equal(knl.executor("c")(m=m, u=u)[1][0], u @ m)


def test_what_a_reduction_reads_later_than_it_is_written() -> None:
    knl, program = _both(
        kernel(
            "{ [i,j]: 0<=i<n and 0<=j<4 }",
            """
            t = a[i,0]  {id=t, inames=i:j, if=j == 0}
            out[i] = sum(j, t*a[i,j])  {inames=i, dep=t}
            """,
            TEMPORARY("t", np.float64),
            loop_priority="i, j",
        ),
        LOOPS,
    )
    check(knl, program)
    words = "and may have to keep its value longer"
    assert words in said(knl, moved_into("t", "j")(program), WrongStorage)
