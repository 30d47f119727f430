"""What is said of a loop program whose loops end where they must not, or never."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    WrongInstances,
    WrongLoopEnd,
    WrongLoopProgram,
    WrongOrder,
    WrongStatement,
)
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign, HostLoop, HostNode, If, Loop, LoopProgram, Node
from polygen.validation.validate import check
from tests.validation.edits import Edit, edited, said, shows, var, where

INSIDE = """
for i
  <> x = a[i]
  for t while x > 1
    x = x - 3
    for s
      break if x == s
      out[i] = out[i] + x
    end
  end
end
"""


def inside() -> tuple[Kernel, LoopProgram]:
    """Return a kernel with loops that end early in a launch, and its program."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [t]: 0<=t }", "{ [s]: 0<=s<5 }"], INSIDE, seq_dependencies=True
    )
    knl = pg.split_iname(
        pg.add_dtypes(knl, {"a": np.float32}), "i", 16, outer_tag="g.0", inner_tag="l.0"
    )
    return _lowered(knl)


AROUND = """
for t while left[0] > 0
  for i
    y[i] = x[i] - 1
  end
  for k
    x[n - 1 - k] = y[k]
  end
  left[0] = left[0] - 1
end
"""


def around() -> tuple[Kernel, LoopProgram]:
    """Return a kernel with a loop around launches that ends early, and its program."""
    knl = pg.make_kernel(
        ["{ [i, k]: 0<=i,k<n }", "{ [t]: 0<=t }"],
        AROUND,
        [pg.GlobalArg("left", np.int32, shape=1), "..."],
        seq_dependencies=True,
    )
    knl = pg.add_dtypes(knl, {"x": np.float32})
    for iname in "ik":
        knl = pg.split_iname(knl, iname, 16, outer_tag="g.0", inner_tag="l.0")
    return _lowered(knl)


def _lowered(knl: Kernel) -> tuple[Kernel, LoopProgram]:
    prepared = prepare(knl)
    return prepared, lower_prepared(prepared, Model.GRID)


def with_loop(**changes: Any) -> Edit:
    """Return what changes the loop of t."""
    return where(Loop, lambda node: (replace(node, **changes),), "t")


def with_host_loop(program: LoopProgram, **changes: Any) -> LoopProgram:
    """Return a program with its loop on the host changed."""
    host = [replace(n, **changes) if isinstance(n, HostLoop) else n for n in program.host]
    assert tuple(host) != program.host
    return replace(program, host=tuple(host))


def without(insn_id: str) -> Edit:
    """Return what removes a statement."""
    return where(Assign, lambda _: (), insn_id)


def _without_guards(node: Node) -> tuple[Node, ...]:
    if isinstance(node, If) and node.condition == var("t_runs"):
        return node.body
    return (node,)


IN_LAUNCHES: list[tuple[Edit, type[WrongLoopProgram], str]] = [
    (with_loop(runs=None), WrongLoopEnd, "the loop of 't' never ends"),
    (
        with_loop(runs=var("s_runs")),
        WrongLoopEnd,
        "the loop of 't' ends early, where 's_runs' is 0, and instruction",
    ),
    (
        with_loop(runs=ex.LogicalNot(var("t_runs"))),
        WrongLoopEnd,
        "the loop of 't' ends early, and not as one flag says",
    ),
    (
        where(Loop, lambda node: (replace(node, runs=var("x")),), "s"),
        WrongLoopEnd,
        "where 'x' is 0, and instruction 's_break' in it does not ask that",
    ),
    (without("s_break"), WrongInstances, "s_break"),
    (without("t_head"), WrongInstances, "t_head"),
    (lambda program: edited(program, _without_guards), WrongInstances, ""),
]


@pytest.mark.parametrize("number", range(len(IN_LAUNCHES)))
def test_loops_in_launches(number: int) -> None:
    edit, kind, words = IN_LAUNCHES[number]
    knl, program = inside()
    check(knl, program)
    assert shows(said(knl, edit(program), kind), words)


def test_a_flag_that_is_asked_before_it_is_changed() -> None:
    """The instructions behind a break stand before it."""

    def late(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Loop) and node.iname == "s":
            return (replace(node, body=node.body[::-1]),)
        return (node,)

    knl, program = inside()
    assert shows(said(knl, edited(program, late), WrongOrder), "s_break")


def test_a_condition_that_is_asked_once_for_all() -> None:
    """What stands behind the break is under what the flag was before."""

    def early(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Loop) and node.iname == "s":
            runs = ex.LogicalAnd((var("t_runs"), var("s_runs")))
            inside = tuple(
                part for n in node.body for part in (n.body if isinstance(n, If) else (n,))
            )
            return (replace(node, body=(If(runs, inside),)),)
        return (node,)

    knl, program = inside()
    with pytest.raises(WrongLoopProgram):
        check(knl, edited(program, early))


def test_a_break_of_something_else() -> None:
    def other(node: Assign) -> tuple[Node, ...]:
        return (replace(node, value=0),)

    knl, program = inside()
    assert shows(said(knl, where(Assign, other, "s_break")(program), WrongStatement), "s_break")


def test_loops_on_the_host() -> None:
    knl, program = around()
    check(knl, program)
    wrong = with_host_loop(program, runs=None)
    assert shows(said(knl, wrong, WrongLoopEnd), "the loop of 't' never ends")
    wrong = with_host_loop(program, runs=var("left"))
    assert shows(said(knl, wrong, WrongLoopEnd), "where 'left' is 0, and instruction")


def test_a_loop_on_the_host_that_lacks_a_launch() -> None:
    knl, program = around()
    (loop,) = [n for n in program.host if isinstance(n, HostLoop)]
    with pytest.raises(WrongInstances):
        check(knl, with_host_loop(program, body=loop.body[:-1]))


def test_a_loop_on_the_host_that_begins_late() -> None:
    knl, program = around()
    with pytest.raises(WrongInstances):
        check(knl, with_host_loop(program, lower=1))


WITH_BREAK = """
for t while left[0] > 0
  for i
    y[i] = x[i] - 1
  end
  break if y[0] < -3
  for k
    x[n - 1 - k] = y[k]
  end
  left[0] = left[0] - 1
end
for m
  z[m] = x[m]
end
"""


def with_break() -> tuple[Kernel, LoopProgram]:
    """Return a kernel with a break between launches, and its program."""
    knl = pg.make_kernel(
        ["{ [i, k, m]: 0<=i,k,m<n }", "{ [t]: 0<=t }"],
        WITH_BREAK,
        [pg.GlobalArg("left", np.int32, shape=1), "..."],
        seq_dependencies=True,
    )
    knl = pg.add_dtypes(knl, {"x": np.float32})
    for iname in "ikm":
        knl = pg.split_iname(knl, iname, 16, outer_tag="g.0", inner_tag="l.0")
    return _lowered(knl)


def _unguarded(node: Node) -> tuple[Node, ...]:
    """Return a node that does not ask the flag, with what it asks beside."""
    if isinstance(node, If) and isinstance(node.condition, ex.LogicalAnd):
        rest = tuple(part for part in node.condition.children if part != var("t_runs"))
        return (replace(node, condition=rest[0] if len(rest) == 1 else ex.LogicalAnd(rest)),)
    return (node,)


_Nodes = tuple[HostNode, ...]
_HostFault = Callable[[HostNode, HostLoop, HostNode, _Nodes], _Nodes]
# Each takes the launch before the loop, the loop, the launch behind, and the launches in the loop:
# the head, i, the break, k.
HOST_FAULTS: dict[str, _HostFault] = {
    "the head is last": lambda a, t, z, b: (a, replace(t, body=(*b[1:], b[0])), z),
    "the head is asked once": lambda a, t, z, b: (a, b[0], replace(t, body=b[1:]), z),
    "the head is lost": lambda a, t, z, b: (a, replace(t, body=b[1:]), z),
    "the break is lost": lambda a, t, z, b: (a, replace(t, body=(*b[:2], b[3])), z),
    "the break is late": lambda a, t, z, b: (a, replace(t, body=(*b[:2], b[3], b[2])), z),
    "the break is early": lambda a, t, z, b: (a, replace(t, body=(b[0], b[2], b[1], b[3])), z),
    "the flag is set late": lambda a, t, z, _: (t, a, z),
    "the flag is set again and again": lambda a, t, z, b: (replace(t, body=(a, *b)), z),
    "the flag is never set": lambda _, t, z, __: (t, z),
    "every second iteration": lambda a, t, z, _: (a, replace(t, step=2), z),
    "the loop comes twice": lambda a, t, z, _: (a, t, t, z),
    "the loop is lost": lambda a, _, z, b: (a, *b, z),
    "what follows is in it": lambda a, t, z, b: (a, replace(t, body=(*b, z))),
    "what follows comes before": lambda a, t, z, _: (a, z, t),
    "an end that nobody passes": lambda a, t, z, _: (a, replace(t, runs=None), z),
}


@pytest.mark.parametrize("fault", HOST_FAULTS)
def test_faults_of_loops_on_the_host(fault: str) -> None:
    knl, program = with_break()
    check(knl, program)
    begin, loop, behind = program.host
    assert isinstance(loop, HostLoop)
    wrong = replace(program, host=HOST_FAULTS[fault](begin, loop, behind, loop.body))
    with pytest.raises(WrongLoopProgram):
        check(knl, wrong)


def test_launches_beyond_the_end_ask_the_flag() -> None:
    """What makes results the same, however often the host reads it."""
    knl, program = with_break()
    with pytest.raises(WrongLoopProgram):
        check(knl, edited(program, _unguarded))


def test_work_items_that_share_what_ends_their_loop() -> None:
    """A flag in local memory, that another work item may have cleared already."""
    knl, program = inside()
    shared = knl.copy(
        temporaries=tuple(
            t.in_space(pg.AddressSpace.LOCAL) if t.name == "t_runs" else t for t in knl.temporaries
        )
    )
    with pytest.raises(WrongLoopProgram):
        check(shared, program)


def test_a_reduction_that_asks_the_flag_of_a_loop_inside() -> None:
    """Its parts are works of their own, which stand where the instruction does."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<n }", "{ [q]: 0<=q<n }"],
        """
        for i while x[i] > 0
            for k while x[k] > 1
                out[i, k] = sum(q, x[q])*x[i]
            end
        end
        """,
        [pg.GlobalArg("x", "float64", "n"), pg.GlobalArg("out", "float64", "n, n"), "..."],
        seq_dependencies=True,
        loop_priority="i, k",
    )
    given = np.array([3.0, 2, 1, 4, -1])
    out = np.zeros((5, 5))
    knl.executor("c")(x=given, out=out)
    expected = np.zeros((5, 5))
    expected[:4, :2] = 9 * given[:4, None]
    assert (out == expected).all()
