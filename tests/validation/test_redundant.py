"""Barriers that nothing needs are named, and only these."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polygen.ir.array import AddressSpace
from polygen.lower.lower import INT32, Model, lower_prepared, prepare
from polygen.lower.program import Barrier, Launch, Loop
from polygen.validation.redundant import BarrierPlace, redundant_barriers
from polygen.validation.validate import check
from tests.oracle.cases import barriers, grid, kernel
from tests.validation.edits import where, with_launch
from tests.validation.kernels import Example, examples

BARRIER = Barrier(frozenset((AddressSpace.LOCAL, AddressSpace.GLOBAL)))
EXAMPLES = {example.name: example for example in examples()}


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_lowering_makes_none(example: Example) -> None:
    program = lower_prepared(example.kernel, Model.GRID)
    assert redundant_barriers(example.kernel, program) == ()


def test_the_last_copy_of_an_unrolled_body_ends_without() -> None:
    program = lower_prepared(EXAMPLES["unrolled_around_barriers"].kernel, Model.GRID)
    assert len(barriers(program)) == 2 * 3 - 1


@pytest.mark.parametrize("tag", ["for", "unr"])
def test_a_tile_is_written_again_after_a_loop(tag: str) -> None:
    """The loop's last barrier is enough, where its last iteration has one."""
    name = "tile_after_a_loop" if tag == "for" else "tile_after_an_unrolled_loop"
    program = lower_prepared(EXAMPLES[name].kernel, Model.GRID)
    assert len(barriers(program)) == (2 + 1 if tag == "for" else 2 * 3 + 1)


def test_those_at_the_ends_are() -> None:
    example = EXAMPLES["tile_in_a_loop_n3_m4"]
    program = lower_prepared(example.kernel, Model.GRID)
    more = with_launch(program, lambda x: replace(x, body=(BARRIER, *x.body, BARRIER)))
    check(example.kernel, more)  # they do no harm
    assert len(barriers(more)) == 4
    assert redundant_barriers(example.kernel, more) == (
        BarrierPlace("polygen_kernel", None, "load"),
        BarrierPlace("polygen_kernel", "insn", None),
    )


def test_of_two_in_a_row_each_is() -> None:
    """Not both: the one is redundant because of the other."""
    example = EXAMPLES["reversed_tile_n3"]
    program = lower_prepared(example.kernel, Model.GRID)
    twice = where(Barrier, lambda node: (node, node))(program)
    place = BarrierPlace("polygen_kernel", "load", "insn")
    assert redundant_barriers(example.kernel, twice) == (place, place)
    assert redundant_barriers(example.kernel, program) == ()


def test_one_that_is_not_always_reached_does_not_replace_another() -> None:
    """A barrier in a loop that may have no iteration."""
    example = EXAMPLES["tile_in_a_loop_n3_m4"]
    program = lower_prepared(example.kernel, Model.GRID)
    never = where(
        Loop, lambda node: (replace(node, body=(Loop("x", 0, node.upper, (BARRIER,)), *node.body)),)
    )(program)
    assert len(barriers(never)) == 3
    found = redundant_barriers(example.kernel, never)
    assert found == (BarrierPlace("polygen_kernel", None, "load"),)


def test_at_the_end_of_a_kernel() -> None:
    knl = prepare(grid("i", 4)(kernel("{ [i]: 0<=i<n }", "out[i] = i")), INT32)
    program = lower_prepared(knl, Model.GRID)
    (launch,) = program.host
    assert isinstance(launch, Launch)
    more = with_launch(program, lambda x: replace(x, body=(*x.body, BARRIER)))
    assert list(map(str, redundant_barriers(knl, more))) == ["in 'polygen_kernel', after 'insn'"]
    assert redundant_barriers(knl, program) == ()


def test_how_places_are_shown() -> None:
    assert str(BarrierPlace("f", None, None)) == "in 'f', alone"
    assert str(BarrierPlace("f", "a", "b")) == "in 'f', after 'a' and before 'b'"
