"""Flags that were set before, since they are set: what a loop computes under them is written."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.pairs.flag_history import set_since
from polygen.ir import expression as ex

LOOP = """
for i
  <int32> go = 1             {id=start}
  for t
    if go
      <> y = a[t]            {id=y}
    end
    go = if(go and y > 0, 1, 0)   {id=stop}
    if go
      b[t] = y               {id=b}
    end
  end
end
"""


def made(text: str = LOOP) -> pg.Kernel:
    domains = "{ [i, t]: 0<=i<n and 0<=t<m }"
    return pg.make_kernel(domains, text.replace("if go\n", "with {if=go}\n"), seq_dependencies=True)


def access(knl: pg.Kernel, insn: str, name: str, *, write: bool) -> Access:
    return next(a for a in touched(knl, insn)[name] if a.is_write is write)


def held(knl: pg.Kernel, first: str, second: str) -> frozenset[str] | None:
    written = access(knl, first, "y", write=True)
    return set_since(knl, ex.Variable("go"), written, access(knl, second, "y", write=False))


def test_a_flag_was_set_in_the_same_iteration_of_the_loops_around_its_start() -> None:
    assert held(made(), "y", "b") == frozenset("i")


def test_so_what_is_computed_under_it_is_known_to_be_written() -> None:
    assert pg.obligations(made()) == ()


def test_an_instruction_that_sets_it_anew_ends_what_is_known() -> None:
    """It may have been 0 where y was skipped, and 1 where y is read."""
    again = LOOP.replace("go = if(go and y > 0, 1, 0)", "go = a[t + 1] > 0")
    assert held(made(again), "y", "b") is None
    assert ("b",) in [o.instructions for o in pg.obligations(made(again))]


def test_a_value_other_than_0_where_it_is_0_sets_it() -> None:
    again = LOOP.replace("go = if(go and y > 0, 1, 0)", "go = if(go and y > 0, 0, 1)")
    assert held(made(again), "y", "b") is None


def test_a_flag_that_starts_after_the_write_says_nothing_of_it() -> None:
    late = """
    for i
      <int32> go = 0            {id=first}
      with {if=go}
        <> y = a[i]             {id=y}
      end
      go = 1                    {id=start}
      with {if=go}
        b[i] = y                {id=b}
      end
    end
    """
    knl = pg.make_kernel("{ [i]: 0<=i<n }", late, seq_dependencies=True)
    assert held(knl, "y", "b") is None


@pytest.mark.parametrize("tag", ["l.0", "g.0"])
def test_work_items_have_flags_of_their_own(tag: str) -> None:
    step: Any = pg.tag_inames  # which takes `unsafe`, as all steps do
    knl = step(pg.fix_parameters(made(), n=4), {"i": tag}, unsafe=True)
    assert held(knl, "y", "b") == frozenset("i")


def test_what_is_no_flag() -> None:
    knl = made()
    written, read = access(knl, "y", "y", write=True), access(knl, "b", "y", write=False)
    for condition in (ex.Variable("n"), ex.Comparison(ex.Variable("go"), ">", 0), 1):
        assert set_since(knl, condition, written, read) is None
