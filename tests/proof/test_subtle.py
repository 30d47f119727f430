"""Steps that look like ones that keep what is computed, and do not."""

from __future__ import annotations

import re

import pytest

import polygen as pg
from polygen.errors import CannotProve, NotTheSame, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.language.parse_kernel import parse_kernel
from polygen.proof import Rearranged
from polygen.transformation import transformation
from tests.oracle.cases import kernel
from tests.proof.judge import judge
from tests.proof.patterns import array


@transformation
def become(knl: Kernel, text: str) -> Kernel:
    """Become the kernel of a text."""
    new = parse_kernel(text)
    return knl.copy(domains=new.domains, instructions=new.instructions, temporaries=new.temporaries)


def step(before: Kernel, after: Kernel) -> Kernel:
    """Take a step from one kernel to another."""
    return become(before, str(after))


SUM = ["{ [j]: 0<=j<n }", "{ [k]: 0<=k<n }"]
LOOP = ["{ [i]: 0<=i<n }"]


def test_what_comes_last_comes_after_all_of_the_reductions() -> None:
    data = (array("a", "n"), array("s", "1"))
    old = kernel(SUM, "s[0] = sum(j, a[j]) + sum(k, a[k]) {id=s}", *data)
    new = kernel(SUM, "s[0] = sum(j, a[j]) + 7*sum(k, a[k]) {id=other}", *data)
    with pytest.raises(NotTheSame):
        step(old, new)


def test_the_same_variable_in_another_iteration() -> None:
    data = (array("a", "n"), array("b", "n"), array("c", "n"))
    lines = "<> s = a[i] {{id=s}}\nb[i] = s {{id=b}}\nc[i] = b[{at}] {{id=c, dep=b}}"
    domain = ["{ [i]: 2<=i<n }"]
    with pg.without_proofs():
        old = kernel(domain, lines.format(at="i-1"), *data)
        new = kernel(domain, lines.format(at="i-2"), *data)
    with pytest.raises(UserError):
        step(old, new)


def test_a_bound_that_is_overwritten() -> None:
    count = pg.TemporaryVariable("count", "int32")
    data = (array("a", "8"), array("s", "n"), array("m", "n", dtype="int32"), count)
    domains = [*LOOP, "{ [j]: 0<=j<count }"]
    lines = ["count = m[i] {id=count, inames=i, dep=*}", "s[i] = sum(j, a[j]) {id=s, inames=i}"]
    with pg.without_proofs():
        old = kernel(domains, f"{lines[0]}\n{lines[1][:-1]}, dep=*count}}", *data)
        zero = "count = 0*m[i] {id=zero, inames=i, dep=*count}"
        new = kernel(domains, f"{lines[0]}\n{zero}\n{lines[1][:-1]}, dep=*zero}}", *data)
    with pytest.raises(CannotProve):
        step(old, new)


@pytest.mark.parametrize(("old", "new"), [("3", "3.0"), ("0.0", "-0.0")])
def test_numbers_that_are_equal_and_not_the_same(old: str, new: str) -> None:
    data = (array("a", "n"), array("b", "n"))
    before, after = (kernel(LOOP, f"b[i] = a[i]*({x}) {{id=b}}", *data) for x in (old, new))
    with pytest.raises(NotTheSame):
        step(before, after)


@pytest.mark.parametrize("forward", [True, False])
def test_what_is_zero_only_for_finite_numbers(forward: bool) -> None:
    data = (array("b", "n"), pg.ValueArg("alpha", "float64"))
    kernels = [kernel(LOOP, f"b[i] = {x} {{id=b}}", *data) for x in ("alpha - alpha + i", "i")]
    before, after = (k.copy(arguments=kernels[0].arguments) for k in kernels)
    with pytest.raises(NotTheSame):
        step(before, after) if forward else step(after, before)


def test_a_number_that_gets_a_type() -> None:
    data = (array("a", "n", dtype="float32"), array("b", "n", dtype="float32"))
    old = kernel(LOOP, "b[i] = a[i]*0.1 {id=b}", *data)
    new = kernel(LOOP, "<float64> t = 0.1 {id=t}\nb[i] = a[i]*t {id=b}", *data)
    with pytest.raises(CannotProve, match="its type may not be"):
        step(old, new)


def test_what_is_said_of_something_else_than_inames() -> None:
    @transformation
    def exchange(knl: Kernel) -> Rearranged:
        """Multiply by another number."""
        (insn,) = knl.instructions
        new = insn.map_expressions(lambda e: walk.substitute(e, {"p": ex.Variable("q")}))
        return Rearranged(knl.copy(instructions=(new,)), {"p": ex.Variable("q")})

    knl = kernel(LOOP, "b[i] = p*a[i] + 0*q {id=b}")
    with pytest.raises(NotTheSame, match="'p' is no iname"):
        exchange(knl)


def test_the_order_of_arguments_is_kept() -> None:
    @transformation
    def reverse(knl: Kernel) -> Kernel:
        """Reverse the order of the arguments."""
        return knl.copy(arguments=knl.arguments[::-1])

    with pytest.raises(NotTheSame, match="it has other arguments"):
        reverse(kernel(LOOP, "b[i] = a[i]"))


def test_steps_inside_that_were_not_proved() -> None:
    @transformation
    def hurry(knl: Kernel) -> Kernel:
        """Run a recurrence in parallel."""
        with pg.without_proofs():
            return pg.tag_inames(knl, {"i": "g.0"})

    with pytest.raises(pg.errors.IllegalStep):
        hurry(kernel(["{ [i]: 1<=i<n }"], "a[i] = a[i-1] + 1"))


def test_nothing_is_restricted_where_one_array_may_overlap_others() -> None:
    data = [pg.GlobalArg("a", "float32", may_alias=True), pg.GlobalArg("b", "float32")]
    knl = kernel(LOOP, "b[i] = 2*a[3] {id=b}", *data)
    assert "restrict" not in str(pg.generate_code(knl, "c"))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_what_polygen_allocates_overlaps_nothing(target: str) -> None:
    """A global temporary is restricted, whatever arrays the caller passes."""
    shared = pg.TemporaryVariable("shared", "float32", 8, pg.AddressSpace.GLOBAL)
    data = [pg.GlobalArg("a", "float32", may_alias=True), pg.GlobalArg("b", "float32"), shared]
    domains = ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"]
    lines = "shared[i] = 2*a[i] {id=s}\nb[j] = shared[7-j] {id=b, dep=s}"
    knl = pg.tag_inames(kernel(domains, lines, *data), {"i": "g.0", "j": "g.0"})
    code = str(pg.generate_code(knl, target))
    pointers = re.findall(r"\*(restrict )?(\w+)[,)]", code)
    found = {(name, bool(restricted)) for restricted, name in pointers}
    assert {("a", False), ("shared", True)} <= found
    assert not {("a", True), ("shared", False)} & found


def test_loops_of_other_names_in_a_loop_that_data_bounds() -> None:
    count = pg.TemporaryVariable("count", "int32")
    data = (array("x", "8"), array("s", "n"), array("m", "n", dtype="int32"), array("y", "n"))
    lines = """count = m[i] {id=count, dep=*}
    s[i] = s[i] + x[j] {id=s, inames=i:j, dep=*count}
    <float64> t = 2*x[k] {id=t, inames=i:k, dep=*s}
    y[i] = sum(k, t) {id=y, inames=i, dep=*t}"""
    domains = [*LOOP, "{ [j]: 0<=j<count and j<8 }", "{ [k]: 0<=k<4 }"]
    with pg.without_proofs():
        knl = kernel(domains, lines, *data, count)
    new = pg.split_iname(knl, "i", 4)
    verdict = judge(knl, new, [({"n": n}, n) for n in (0, 1, 4, 7)], {"m": 9})
    assert verdict.differs is None
    assert verdict.calls == 4
