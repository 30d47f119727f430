"""`inline_callable_kernel`: instructions in place of calls."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, UnknownFunction
from tests.language.called_kernels import RANDOM, ROWS, TWICE, kernel, without_calls
from tests.transforms.refusals import refused


def test_nothing_is_left_of_an_inlined_call() -> None:
    knl = without_calls(TWICE)
    assert pg.parse_kernel(str(knl)) == knl
    assert [insn.id for insn in knl.instructions] == ["first_insn", "second_insn"]
    assert knl.instruction("second_insn").depends_on == {"first_insn"}
    assert set(without_calls(ROWS).inames) == {"i", "row_k"}
    assert knl.original is not None
    assert pg.replay(knl.original, knl.history) == knl


def test_names_of_an_inlined_call_that_are_taken() -> None:
    text = "[j]: b[i, j] = scale(n, 2, [j]: a[i, j])  {id=row}\nc[row_k] = row_k"
    arrays = [pg.GlobalArg(name, "float64", "n, n") for name in "ab"]
    knl = kernel(["{ [i]: 0<=i<n }", "{ [row_k]: 0<=row_k<n }"], text, *arrays)
    a = RANDOM.standard_normal((3, 3))
    for each in (knl, without_calls(knl)):
        assert all(name.isidentifier() for name in each.expanded.inames)
        b, c = each.executor("c")(a=a)[1]
        np.testing.assert_array_equal(b, 2 * a)
        np.testing.assert_array_equal(c, [0, 1, 2])


def test_each_call_has_loops_of_its_own() -> None:
    text = (
        "[j]: b[i, j] = scale(4, 2, [j]: a[j, i])  {id=p}\n[j]: c[i, j] = scale(4, i, a[i])  {id=q}"
    )
    text = text.replace("a[i])", "[j]: a[i, j])")
    arrays = [pg.GlobalArg(name, "float64", "4, 4") for name in "abc"]
    knl = kernel("{ [i]: 0<=i<4 }", text, *arrays)
    new = pg.inline_callable_kernel(knl, "scale")
    assert str(new).partition("INSTRUCTIONS:\n")[2].splitlines()[:2] == [
        "[i, p_k] b[i, p_k] = 2*a[p_k, i]  {id=p_insn}",
        "[i, q_k] c[i, q_k] = i*a[i, q_k]  {id=q_insn}",
    ]
    assert {*new.inames} == {"i", "p_k", "q_k"}
    a = np.arange(16.0).reshape(4, 4)
    b, c = new.executor("c")(a=a)[1]
    np.testing.assert_array_equal(b, 2 * a.T)
    np.testing.assert_array_equal(c, np.arange(4)[:, None] * a)


@pytest.mark.parametrize("n", [0, 1, 6])
def test_steps_see_the_loops(n: int) -> None:
    knl = pg.split_iname(pg.inline_callable_kernel(ROWS, "scale"), "row_k", 4, inner_tag="unr")
    knl = pg.prioritize_loops(knl, "row_k_outer, i")
    a = np.arange(float(n * n)).reshape(n, n)
    (out,) = knl.executor("c")(a=a, **({} if n else {"n": 0}))[1]
    np.testing.assert_array_equal(out, np.arange(n)[:, None] * a.T)


def test_rules_are_expanded() -> None:
    text = "twice(x) := 2*x\n[j]: b[j] = scale(n, 3, [j]: a[j])  {id=p}\nc[i] = twice(a[i])"
    new = pg.inline_callable_kernel(kernel("{ [i]: 0<=i<n }", text), "scale")
    assert not new.substitutions
    assert "c[i] = 2*a[i]" in str(new)


def test_only_the_one_that_is_named() -> None:
    text = "[j]: b[j] = scale(n, 3, [j]: a[j])  {id=p}\n[j]: c[j] = prefix(n, n, [j]: c[j])  {id=q}"
    new = pg.inline_callable_kernel(kernel("{ : }", text), "scale")
    assert [call.function for call in new.calls] == ["prefix"]
    assert [insn.id for insn in new.instructions] == ["p_insn", "q"]


def test_what_is_not_called() -> None:
    inline = pg.inline_callable_kernel
    refused(UnknownFunction, "calls no kernel 'scal'.*did you mean 'scale'", inline, ROWS, "scal")
    refused(UnknownFunction, "calls no kernel 'prefix'", inline, ROWS, "prefix")
    refused(UnknownFunction, "there are none", inline, inline(ROWS, "scale"), "scale")
    refused(InvalidArgument, "function_name=3, which is not a string", inline, ROWS, 3)
