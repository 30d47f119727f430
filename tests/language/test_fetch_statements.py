"""``old = fetch_add(a[i], x)``: what it stands for, how it is printed, and what it cannot be."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from pymbolic import var

import polygen as pg
from polygen import errors
from polygen.ir import expression as ex
from polygen.ir.atomicity import Atomicity, MemoryScope
from polygen.ir.fetches import FETCHES, fetched, in_reduction, name_of_fetch, operation_of
from polygen.ir.instruction import MultiAssignment
from polygen.language.parser import parse_expression

DATA = [pg.GlobalArg("h, x, out", np.int32, shape="n"), pg.GlobalArg("c", np.int32, 4), "..."]
DOMAINS = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 }"]


def kernel(text: str, *data: Any) -> pg.Kernel:
    return pg.make_kernel(DOMAINS, text, [*data, *DATA])


def line(knl: pg.Kernel) -> str:
    return str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0]


# Each with the value that is written, as text.
MEANINGS = {
    "fetch_add(h[i], x[i])": "h[i] + x[i]",
    "fetch_sub(h[i], x[i])": "h[i] - x[i]",
    "fetch_mul(h[i], 3)": "h[i]*3",
    "fetch_div(h[i], x[i])": "h[i] // x[i]",
    "fetch_truediv(h[i], 2)": "h[i] / 2",
    "fetch_mod(h[i], 5)": "h[i] % 5",
    "fetch_min(h[i], x[i])": "min(h[i], x[i])",
    "fetch_max(h[i], x[i] + i)": "max(h[i], x[i] + i)",
    "fetch_and(h[i], 7)": "h[i] & 7",
    "fetch_or(h[i], x[i])": "h[i] | x[i]",
    "fetch_xor(h[i], x[i])": "h[i] ^ x[i]",
    "fetch_lshift(h[i], 2)": "h[i] << 2",
    "fetch_rshift(h[i], x[i])": "h[i] >> x[i]",
    "exchange(h[i], 2*x[i])": "2*x[i]",
    "compare_exchange(h[i], 0, x[i])": "if(h[i] == 0, x[i], h[i])",
}


def test_all_are_there() -> None:
    assert {text.partition("(")[0] for text in MEANINGS} == FETCHES.keys()


@pytest.mark.parametrize("text", MEANINGS)
def test_what_it_stands_for(text: str) -> None:
    knl = kernel(f"out[i] = {text}")
    (insn,) = knl.instructions
    assert isinstance(insn, MultiAssignment)
    old, target = ex.Variable("out"), ex.Variable("h")
    at = ex.Variable("i")
    assert insn.assignees == (ex.Subscript(old, at), ex.Subscript(target, at))
    assert insn.values == (ex.Subscript(target, at), parse_expression(MEANINGS[text]))
    assert insn.atomicity == Atomicity()
    assert line(knl) == f"[i] out[i] = {text}  {{id=insn}}"
    assert pg.parse_kernel(str(knl)) == knl
    plain = kernel(f"out[i], h[i] = h[i], {MEANINGS[text]}  {{atomic}}")
    assert plain == knl


def test_options() -> None:
    text = "out[i] = fetch_add(h[i], 1)  {atomic=any_order:work_group, if=x[i] > 0}"
    knl = kernel(text)
    (insn,) = knl.instructions
    assert isinstance(insn, MultiAssignment)
    assert insn.atomicity == Atomicity(any_order=True, scope=MemoryScope.WORK_GROUP)
    assert "{id=insn, if=x[i] > 0, atomic=any_order:work_group}" in line(knl)
    assert pg.parse_kernel(str(knl)) == knl
    assert kernel("out[i] = fetch_add(h[i], 1) {atomic}") == kernel("out[i] = fetch_add(h[i], 1)")


@pytest.mark.parametrize(
    "text",
    [
        "out[i], h[i] = h[i], 2*h[i] + 1",
        "out[i], h[i] = h[i], h[i] + h[i]",
        "out[i], h[i] = h[i], max(x[i], h[i])",
        "out[i], h[i] = h[i], if(h[i] == x[i], h[i], 3)",
    ],
)
def test_any_function_of_the_old_value(text: str) -> None:
    knl = kernel(f"{text}  {{atomic=any_order}}")
    assert line(knl) == f"[i] {text}  {{id=insn, atomic=any_order}}"
    assert pg.parse_kernel(str(knl)) == knl
    assert kernel(text) != knl


def test_what_is_declared_and_reduced() -> None:
    knl = kernel("<> old = fetch_max(h[i], max(j, c[j]))\nout[i] = old")
    knl = pg.remove_unused_arguments(knl)
    assert knl.array("old") == pg.TemporaryVariable("old")
    c, h, out = (np.array(a, np.int32) for a in ([3, 9, 1, 2], [4, 12], [0, 0]))
    knl.executor("c")(c=c, h=h, out=out)
    assert [*h, *out] == [9, 12, 4, 12]


def test_rules_and_kernels() -> None:
    """What a rule stands for may be updated with; rules and kernels have other names."""
    ruled = kernel("twice(a) := 2*a\nout[i] = fetch_add(h[i], twice(x[i]))")
    assert ruled.expanded == kernel("out[i] = fetch_add(h[i], 2*x[i])")
    element = kernel("e(a) := h[a]\nout[i], h[i] = e(i), 3*e(i)  {atomic}")
    assert pg.parse_kernel(str(element)) == element
    assert element.expanded == kernel("out[i], h[i] = h[i], 3*h[i]  {atomic}")
    with pytest.raises(errors.NameTaken, match="'exchange' cannot be this rule's name: a function"):
        kernel("exchange(a, b) := a + b\nout[i] = x[i]")
    with pytest.raises(errors.NameTaken, match="'fetch_add' cannot be the name of a reduction"):
        pg.register_reduction("fetch_add", "a + b", 0)
    function = pg.ScalarCallable({"same": "float64 -> float64"})
    with pytest.raises(errors.BuiltInFunction, match="'exchange'"):
        pg.register_callable(kernel("out[i] = x[i]"), "exchange", function)


def test_builders() -> None:
    draft = pg.Builder()
    i = draft.loop("i", 0, var("n"))
    arrays = [pg.GlobalArg(name, np.int32, shape="n") for name in ("h", "x", "y", "out")]
    h, x, y, out = map(draft.declare, arrays)
    first = draft.assign(out[i], var("fetch_add")(h[i], x[i]))
    again = (h[i], 3 * h[i])
    draft.assign((y[i], h[i]), again, atomic=Atomicity(any_order=True), after=first)
    lines = [
        "out[i] = fetch_add(h[i], x[i])  {id=insn}",
        "y[i], h[i] = h[i], 3*h[i]  {dep=insn, atomic=any_order}",
    ]
    made = pg.make_kernel("{ [i]: 0<=i<n }", lines, [*arrays, "..."])
    assert line(draft.kernel()) == line(made)


@pytest.mark.parametrize(
    ("text", "error", "what"),
    [
        ("out[i] = 2*fetch_add(h[i], 1)", errors.MalformedInstruction,
         "'fetch_add' stands inside of something else"),
        ("out[i] += fetch_add(h[i], 1)", errors.MalformedInstruction, "stands inside of something"),
        ("out[i] = x[i] {if=exchange(h[i], 1) > 3}", errors.MalformedInstruction,
         "'exchange' stands inside of something else"),
        ("out[fetch_add(c[0], 1)] = x[i]", errors.MalformedInstruction, "stands inside of"),
        ("out[i], x[i] = fetch_add(h[i], 1)", errors.MalformedInstruction, "stands inside of"),
        ("out[i] = fetch_add(h[i], fetch_add(x[i], 1))", errors.MalformedInstruction,
         "stands inside of"),
        ("out[i] = fetch_add(2, 1)", errors.MalformedInstruction, "no element of an array"),
        ("out[i] = fetch_add(h[i] + 1, 1)", errors.MalformedInstruction, "no element of an array"),
        ("out[i] = fetch_add(h[i], 1) {asynchronous}", errors.MalformedInstruction, "is atomic"),
        ("out[i] = fetch_add(h[i])", errors.WrongArity, "given 1 arguments; it takes 2"),
        ("out[i] = exchange(h[i], 1, 2)", errors.WrongArity, "given 3 arguments; it takes 2"),
        ("out[i] = compare_exchange(h[i], 1)", errors.WrongArity, "it takes 3"),
        ("out[i], h[i] = 1, 2 {atomic}", errors.MalformedInstruction, "gets the old value of the"),
        ("out[i], h[i] = x[i], 2 {atomic}", errors.MalformedInstruction, "has one assignee, or"),
        ("out[i], x[i], h[i] = x[i], h[i], 2 {atomic}", errors.MalformedInstruction, "one assign"),
        ("out[i], h[i] = f(h[i]), 2 {atomic}", errors.NoAtomicUpdate,
         "do not get the old value of an element"),
        ("out[i] = fetch_add(h[i], 1) {atomic=init}", errors.NoAtomicUpdate, "does not read"),
        ("h[i] += x[i] {atomic=any_order}", errors.NoAtomicUpdate, "claims that its result may"),
        ("h[i] = x[i] {atomic=init:any_order}", errors.NoAtomicUpdate, "claims that its result"),
        ("out[i] = fetch_add(h[i], sum(j, h[i]*c[j]))", errors.NoAtomicUpdate,
         "a reduction reads 'h[i]' before it is updated"),
        ("h[i] = fetch_add(h[i], 1)", errors.WrittenTwice, "h[i]"),
        ("out[i] = fetch_add(h[i], 1) {atomic=any_order:any_order}", errors.MalformedInstruction,
         "'any_order' is said twice"),
    ],
)  # fmt: skip
def test_what_it_cannot_be(text: str, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=re.escape(what)):
        kernel(text)


def test_a_name_that_is_misspelled() -> None:
    knl = kernel("out[i] = fetch_ad(h[i], 1)")
    with pytest.raises(errors.UnknownFunction, match="there is no function 'fetch_ad'") as caught:
        pg.generate_code(knl, "c")
    assert "'fetch_add'" in (caught.value.remedy or "")


def test_carets() -> None:
    """The excerpt points at the call."""
    with pytest.raises(errors.WrongArity) as caught:
        kernel("out[i] = x[i]\nh[i] = fetch_xor(x[i])")
    assert caught.value.excerpt == "h[i] = fetch_xor(x[i])\n       ^"


def test_names_of_values() -> None:
    h, x = ex.Variable("h"), ex.Variable("x")
    assert fetched("fetch_sub", h, [x]) == ex.sum_of(h, ex.negated(x))
    assert name_of_fetch(h, ex.sum_of(h, h)) is None
    assert name_of_fetch(h, ex.sum_of(x, h)) is None
    assert name_of_fetch(h, 3) == ("exchange", (3,))
    assert operation_of(h, ex.sum_of(h, ex.negated(x))) == "sum"
    assert operation_of(h, ex.sum_of(h, ex.product_of(2, h))) == "fetched"
    assert operation_of(h, x) == "fetched"
    reduced = ex.Reduction(parse_sum(), ("j",), ex.product_of(h, x))
    assert in_reduction(h, ex.sum_of(h, reduced))
    assert not in_reduction(x, ex.sum_of(h, 1))


def parse_sum() -> Any:
    (insn,) = kernel("out[i] = sum(j, c[j])").assignments
    return insn.reductions[0].operation
