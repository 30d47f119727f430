"""Stages of reductions: right ones are let pass, and each fault is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.dataflow.contributions import Staged, check_stages
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.operation import Definition, Operation, Special

F64 = np.dtype("float64")
OUTER, J, K, L, M, P = (ex.Variable(name) for name in "ijklmp")


def _a(*index: Any) -> ex.Expression:
    return ex.element(ex.Variable("a"), index)


DOMAINS = [
    "{ [j]: 0<=j<4 }",
    "{ [p]: 0<=p<2 }",
    "{ [q]: 0<=q<1 }",
    "{ [r]: 2*p<=r<2*p+2 }",
]
TREE = """acc[j] = a[j]              {id=s0}
acc[p] = acc[p] + acc[p+2]  {id=s1, dep=s0, inames=p}
acc[q] = acc[q] + acc[q+1]  {id=s2, dep=s1, inames=q}
b[0] = acc[0]               {id=use, dep=s2}"""


def _kernel(text: str, domains: list[str] | None = None, **options: Any) -> Kernel:
    temporaries = [
        pg.TemporaryVariable(name, F64, shape)
        for name, shape in (("acc", (8,)), ("part", (2,)), ("pre", (2,)), ("carry", ()))
        if name in text
    ]
    data = [pg.GlobalArg("b", F64, shape=None), *temporaries, "..."]
    with pg.without_proofs():
        return pg.make_kernel(
            DOMAINS if domains is None else domains,
            text,
            data,
            silenced_warnings=("UnusedIname", "AmbiguousNesting"),
            **options,
        )


def _staged(knl: Kernel, operation: Operation = "sum", **options: Any) -> Staged:
    """Return the reduction of a[j] over j, of which all but the use are stages."""
    stages = [i for i in knl.instructions if i.id != "use" and isinstance(i, Assigning)]
    return Staged(
        ex.Reduction(operation, ("j",), options.pop("operand", _a(J))),
        tuple((t.name,) for t in knl.temporaries),
        (F64,),
        options.pop("conditions", ()),
        tuple(stages),
        knl.instruction("use"),
        **options,
    )


def _check(text: str, domains: list[str] | None = None, **options: Any) -> None:
    knl = _kernel(text, domains)
    check_stages(knl, _staged(knl, **options))


def test_a_tree_finds_each_part_once() -> None:
    _check(TREE)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("acc[p] + acc[p+2]", "acc[p] + acc[p+1]", "'s2' combines a part with itself"),
        ("b[0] = acc[0]", "b[0] = acc[1]", "not all parts are found"),
        ("b[0] = acc[0]", "b[0] = acc[0] + acc[1]", "2 results are used"),
        ("b[0] = acc[0]", "b[0] = 1", "0 results are used"),
        ("= a[j]", "= 2*a[j]", "'s0' computes something else"),
        ("acc[p] + acc[p+2]", "acc[p] - acc[p+2]", "'s1' computes something else"),
        ("acc[p] + acc[p+2]", "acc[p] * acc[p+2]", "'s1' computes something else"),
        ("acc[p+2]", "acc[p+3]", "'s1' finds something else"),
        ("{id=s0}", "{id=s0, if=a[j] > 0}", "data decides what 'use' finds"),
        ("{id=s0}", "{id=s0, if=j < 3}", "'s1' finds something else"),
    ],
)
def test_faults_of_a_tree_are_named(old: str, new: str, why: str) -> None:
    assert old in TREE
    with pytest.raises(InternalError) as error:
        _check(TREE.replace(old, new))
    assert "the stages of sum(j, a[j]) in 'use' are wrong: " in str(error.value)
    assert why in str(error.value)


def test_a_stage_may_start_from_the_identity_and_copy() -> None:
    text = """acc[l] = 0                 {id=s0}
    part[p] = a[p]             {id=s1}
    acc[p] = acc[p] + part[p]  {id=s2, dep=s0:s1, inames=p}
    pre[p] = acc[p]            {id=s3, dep=s2}
    b[0] = pre[0] + 2*pre[0]   {id=use, dep=s3}""".replace("    ", "")
    domains = ["{ [l]: 0<=l<2 }", "{ [p]: 0<=p<1 }", "{ [j]: 0<=j<1 }"]
    _check(text, domains, values={"j": P})
    with pytest.raises(InternalError, match="not all parts are found"):
        _check(text.replace("part[p] = a[p]", "part[p] = 0"), domains, values={"j": P})


def test_a_loop_that_finds_what_it_left() -> None:
    text = """acc[0] = 0                 {id=s0}
    acc[0] = acc[0] + a[j]     {id=s1, dep=s0, inames=j}
    b[0] = acc[0]              {id=use, dep=s1}""".replace("    ", "")
    with pytest.raises(InternalError, match="'s1' computes something else"):
        _check(text, DOMAINS[:1])
    with pytest.raises(InternalError, match="'s1' finds what it left in an earlier iteration"):
        _check(text.replace("acc[0] + a[j]", "acc[0]"), DOMAINS[:1])


# Each part of the array by itself, with what j is there; or as reductions over some of them.
OUTSIDE = """acc[2*p + l] = a[2*p + l]      {id=s0}
part[p] = acc[2*p] + acc[2*p+1]  {id=s1, dep=s0}
pre[0] = part[0] + part[1]       {id=s2, dep=s1}
b[0] = pre[0]                    {id=use, dep=s2}"""
INNER = """part[p] = sum(r, a[r])      {id=s0}
pre[0] = part[0] + part[1]  {id=s1, dep=s0}
b[0] = pre[0]               {id=use, dep=s1}"""
BLOCKS = [*DOMAINS, "{ [l]: 0<=l<2 }"]


def test_operands_and_reductions_over_parts() -> None:
    there = {"j": ex.sum_of(ex.product_of(2, P), L)}
    _check(OUTSIDE, BLOCKS, values=there)
    with pytest.raises(InternalError, match="'s0' computes something else"):
        _check(OUTSIDE.replace("a[2*p + l]", "a[p + 2*l]"), BLOCKS, values=there)
    with pytest.raises(InternalError, match="data decides what 'j' is"):
        at = _a(ex.element(ex.Variable("c"), (P,)))
        text = OUTSIDE.replace("a[2*p + l]", "a[c[p]]")
        _check(text, BLOCKS, values={"j": ex.index_of(at)[0]})
    _check(INNER, BLOCKS, inner={"j": "r"})
    with pytest.raises(InternalError, match="not all parts are found"):
        _check(INNER.replace("part[0] + part[1]", "part[0]"), BLOCKS, inner={"j": "r"})


def test_parts_are_asked_for_where_conditions_hold() -> None:
    """In iteration 0 of i nothing is there, and nothing is asked for."""
    text = """acc[j] = a[j]            {id=s0, if=i > 0, inames=i:j}
    part[0] = acc[0] + acc[1]  {id=s1, dep=s0, if=i > 0, inames=i}
    b[i] = part[0]           {id=use, dep=s1, if=i > 0, inames=i}""".replace("    ", "")
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<2 }"]
    (positive,) = _kernel(text, domains).instruction("use").predicates
    _check(text, domains, conditions=(positive,))
    with pytest.raises(InternalError, match="not all parts are found"):
        _check(text.replace("= a[j]", "= 0"), domains, conditions=(positive,))


def test_data_may_be_the_condition_of_the_whole() -> None:
    text = "\n".join(line.replace("{", "{if=c[0] > 0, ") for line in TREE.splitlines())
    (condition,) = _kernel(text).instruction("use").predicates
    _check(text, conditions=(condition,))
    with pytest.raises(InternalError, match="data decides what 'use' finds"):
        _check(text)


def test_the_order_counts_where_the_operation_has_one() -> None:
    # 2p + q: what comes first is worth more.
    digits = ex.sum_of(ex.product_of(2, ex.Variable("x")), ex.Variable("y"))
    ordered = Special("digits", definition=Definition(("x", "y"), digits, 0, ("associative",)))
    domains = ["{ [j]: 0<=j<2 }", "{ [q]: 0<=q<1 }"]
    text = """acc[j] = a[j]                {id=s0}
    part[0] = 2*acc[0] + acc[1]  {id=s1, dep=s0}
    b[0] = part[0]               {id=use, dep=s1}""".replace("    ", "")
    _check(text, domains, operation=ordered)
    with pytest.raises(InternalError, match="'s1' combines parts in another order"):
        _check(text.replace("2*acc[0] + acc[1]", "2*acc[1] + acc[0]"), domains, operation=ordered)
    with pytest.raises(InternalError, match="'s1' computes something else"):
        _check(text.replace("2*acc[0]", "3*acc[0]"), domains, operation=ordered)


SCAN = """carry = 0                   {id=s0}
part[m] = a[2*k + m]        {id=s1, inames=k:m}
pre[0] = carry + part[0]    {id=s2, dep=s0:s1, inames=k}
pre[1] = pre[0] + part[1]   {id=s3, dep=s1:s2, inames=k}
b[2*k + l] = pre[l]         {id=use, dep=s2:s3, inames=k:l}
carry = pre[1]              {id=s4, dep=s0:s2:s3:use, inames=k}"""


def test_running_sums_carry_what_was_found() -> None:
    domains = ["{ [k,l,m]: 0<=k<n and 0<=l,m<2 }", "{ [j]: 0<=j<=2*k+l }"]
    options: dict[str, Any] = {
        "values": {"j": ex.sum_of(ex.product_of(2, K), M)},
        "carried": ("s4", "l"),
    }
    _check(SCAN, domains, **options)
    with pytest.raises(InternalError, match="'s4' carries something else"):
        _check(SCAN.replace("carry = pre[1]", "carry = pre[0]"), domains, **options)
    with pytest.raises(InternalError, match="not all parts are found"):
        _check(SCAN.replace("b[2*k + l] = pre[l]", "b[2*k + l] = pre[0]"), domains, **options)


def test_each_iteration_of_the_loops_around_by_itself() -> None:
    text = TREE.replace("a[j]", "a[i, j]").replace("b[0]", "b[i]")
    text = "\n".join(line.replace("{", "{+inames=i, ") for line in text.splitlines())
    domains = ["{ [i]: 0<=i<n }", *DOMAINS[:3]]
    _check(text, domains, operand=_a(OUTER, J))
    with pytest.raises(InternalError, match="not all parts are found"):
        _check(text.replace("b[i] = acc[0]", "b[i] = acc[1]"), domains, operand=_a(OUTER, J))


def test_nothing_to_reduce() -> None:
    """No part is needed of an empty loop: 0 is right, and what is too much is not."""
    text = "acc[0] = 0 {id=s0}\nb[0] = acc[0] {id=use, dep=s0}"
    _check(text, ["{ [j]: 0<=j<0 }"])
    with pytest.raises(InternalError, match="not all parts are found"):
        _check(text, ["{ [j]: 0<=j<1 }"])
    with pytest.raises(InternalError, match="not all parts are found"):
        _check(text.replace("= 0", "= a[0]"), ["{ [j]: 0<=j<0 }"], values={"j": 0})
