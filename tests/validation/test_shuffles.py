"""What is said of a loop program whose work items read the wrong registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import polygen as pg
from polygen.errors import DivergentBarrier, WrongLoopProgram, WrongShuffle, WrongStatement
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign, Block, Declare, If, LoopProgram, Node, Shuffle
from polygen.validation.validate import check
from tests.validation.edits import Edit, at, edited, said, where, with_launch


def lowered(size: int = 32) -> tuple[Kernel, LoopProgram]:
    """Return a kernel whose groups of 64 work items reduce a row, and its program."""
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<64 }", "b[i] = sum(j, a[i,j])  {id=s}")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": np.float32}), {"i": "g.0", "j": "l.0"})
    knl = prepare(pg.set_options(knl, sub_group_size=size))
    return knl, lower_prepared(knl, Model.GRID)


def first(change: Callable[[Shuffle], Node]) -> Edit:
    """Return what changes the first of the shuffles."""

    def rule(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Shuffle) and node.name == "acc_j_other":
            return (change(node),)
        return (node,)

    return lambda program: edited(program, rule)


def _further(node: Shuffle, by: int) -> ex.Subscript:
    assert isinstance(node.element, ex.Subscript)
    return ex.Subscript(node.element.aggregate, ex.sum_of(node.element.index, by))


def _body(change: Callable[[list[Node]], list[Node]]) -> Edit:
    return lambda program: with_launch(
        program, lambda launch: replace(launch, body=tuple(change([*launch.body])))
    )


def _at_first(body: list[Node]) -> int:
    return next(n for n, node in enumerate(body) if isinstance(node, Shuffle))


def _under_a_condition(body: list[Node]) -> list[Node]:
    at_first = _at_first(body)
    asked = body[at_first + 1]
    assert isinstance(asked, If)
    inside: Block = (body[at_first], *asked.body)
    return [*body[:at_first], replace(asked, body=inside), *body[at_first + 2 :]]


def _too_early(body: list[Node]) -> list[Node]:
    """Move the second shuffle before the statement that follows the first."""
    at_first = _at_first(body)
    second = body.pop(at_first + 2)
    assert isinstance(second, Shuffle)
    body.insert(at_first, second)
    return body


def _directly(node: Node) -> tuple[Node, ...]:
    """Read the register of another work item as one's own."""
    assert isinstance(node, Assign)
    place = ex.index_of(node.target)[0]
    other = at("acc_j", ex.sum_of(place, 16))
    return (replace(node, value=ex.sum_of(node.target, other)),)


def _of_size(size: int) -> Edit:
    return lambda program: replace(program, options=replace(program.options, sub_group_size=size))


IN_REGISTERS = where(Declare, lambda n: (replace(n, in_registers=True),), "acc_j_0")
MISTAKES: dict[str, tuple[Edit, type[WrongLoopProgram], str]] = {
    "another work item": (
        first(lambda n: replace(n, distance=8)),
        WrongShuffle,
        "'acc_j_other' is read of another work item than has it",
    ),
    "another element": (
        first(lambda n: replace(n, element=_further(n, 1))),
        WrongStatement,
        "which is not",
    ),
    "both": (
        first(lambda n: replace(n, element=_further(n, -8), distance=8)),
        WrongStatement,
        "which is not",
    ),
    "another type": (
        first(lambda n: replace(n, dtype=np.dtype(np.float64))),
        WrongShuffle,
        "'acc_j_other' has another type than 'acc_j'",
    ),
    "a smaller sub-group": (
        _of_size(16),
        WrongShuffle,
        "'acc_j_other' is read of no work item of the sub-group",
    ),
    "not all together": (
        _body(_under_a_condition),
        DivergentBarrier,
        "not all work items of a group reach the same shuffles, for 'acc_j_2' differs between them "
        "where a condition is decided",
    ),
    "too early": (
        _body(_too_early),
        WrongShuffle,
        "'acc_j_other_0' is not used in the next statement, and only there",
    ),
    "directly": (
        where(Assign, _directly, "s_combine"),
        WrongShuffle,
        "a work item touches another element of 'acc_j'",
    ),
    "what several write": (
        IN_REGISTERS,
        WrongShuffle,
        "several work items have one element of 'acc_j_0'",
    ),
}


@pytest.mark.parametrize(("edit", "error", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_noticed(edit: Edit, error: type[WrongLoopProgram], words: str) -> None:
    knl, program = lowered()
    check(knl, program)
    assert words in said(knl, edit(program), error)


USES: dict[str, tuple[str, str]] = {
    "a condition": (
        "if t[k] > 0\nb[i,k] = a[i,k]\nend",
        "a condition or a bound reads 't', which is in registers",
    ),
    "verbatim": ('... code(i, k) "b[64*i + k] = t[k];" reads(t) writes(b[i,k])', "passed on"),
    "all by all": ("b[i,k] = t[63-k]", "a work item touches another element of 't'"),
    "by data": ("b[i,k] = t[place[k]]", "a work item may touch another element of 't'"),
}


@pytest.mark.parametrize(("text", "words"), USES.values(), ids=USES)
def test_arrays_that_have_to_be_in_memory(text: str, words: str) -> None:
    """Lowering leaves them there, although they are said to be shuffled."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<64 }",
        f"t[j] = a[i,j] {{inames=i:j}}\n{text}",
        [
            pg.TemporaryVariable("t", np.float32, 64, pg.AddressSpace.LOCAL, shuffled=True),
            pg.GlobalArg("a, b", np.float32, "n, 64"),
            pg.GlobalArg("place", np.int32, 64) if "place" in text else "...",
            "...",
        ],
        seq_dependencies=True,
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "l.0", "k": "l.0"})
    knl = prepare(pg.set_options(knl, sub_group_size=32))
    program = lower_prepared(knl, Model.GRID)
    check(knl, program)
    wrong = where(Declare, lambda n: (replace(n, in_registers=True),), "t")(program)
    assert words in said(knl, wrong, WrongShuffle)
