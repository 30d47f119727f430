"""`explain_order`: what it says is so, and why."""

from __future__ import annotations

import re
from itertools import product

import pytest

import polygen as pg
from polygen.analysis.integers import proving
from polygen.analysis.order.instance_order import order_of
from polygen.errors import DependencyCycle, NoLoopNest, ProofLimit, UnknownInstruction
from polygen.inspection.order.dependency_chains import chain
from polygen.ir.kernel import Kernel
from tests.analysis.brute_force import every_pair, runs
from tests.few import few
from tests.oracle.cases import kernel
from tests.proof.generator import LIMITS, Maker
from tests.proof.patterns import PATTERNS


def told(knl: Kernel, first: str, second: str) -> list[str]:
    return [" ".join(line.split()) for line in pg.explain_order(knl, first, second).splitlines()]


def matrix_product() -> Kernel:
    return kernel(
        "{ [i,j,k]: 0<=i,j,k<n }",
        """
        acc[i,j] = 0  {id=init}
        acc[i,j] = acc[i,j] + a[i,k]*b[k,j]  {id=update, inames=i:j:k, dep=init}
        c[i,j] = acc[i,j]  {id=store, dep=update}
        """,
    )


def test_loops_and_a_chain_of_dependencies() -> None:
    assert told(matrix_product(), "store", "init") == [
        "'store' and 'init' are both in the loops i, j: an earlier iteration comes first; the "
        "outermost loop in which two instances differ decides.",
        "i is outside of j: nothing but the order of the domains says so; prioritize_loops would "
        "decide it",
        "Within an iteration, 'init' comes before 'store': init -> update -> store",
        "'update' depends on 'init': it is declared",
        "'store' depends on 'update': it is declared",
        "This order is needed:",
        "flow init[i, j] -> store[i, j] through acc, distance (0, 0), loop-independent",
    ]


def test_one_instruction() -> None:
    knl = pg.prioritize_loops(matrix_product(), "j, i")
    assert told(knl, "update", "update")[1:4] == [
        "j is outside of i: a priority says so",
        "i is outside of k: 'init' is in i and not in k",
        "This order is needed:",
    ]
    assert told(knl, "init", "init")[-1] == (
        "No order is needed: nothing that one writes is touched by the other."
    )


def test_a_reader_depends_on_the_only_writer() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = c[i] {id=load}\nb[i] = a[i-1] {id=shift}")
    assert told(knl, "shift", "load")[1:3] == [
        "Within an iteration, 'load' comes before 'shift': load -> shift",
        "'shift' depends on 'load': it reads 'a', which nothing else writes",
    ]


def test_loops_come_as_wholes() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "a[i] = 1 {id=s}\nb[i] = 1 {id=t}\nc[j] = b[j] {id=u}\nd[j] = 3 {id=v}",
    )
    assert told(knl, "s", "v") == [
        "No loop is around both 's' and 'v'.",
        "As a whole, 's' comes before 'v': s .. t -> u .. v",
        "'t' is with 's' in the loop i",
        "'u' depends on 't': it reads 'b', which nothing else writes",
        "'v' is with 'u' in the loop j",
        "No order is needed: nothing that one writes is touched by the other.",
    ]


def test_what_puts_a_loop_outside() -> None:
    knl = kernel("{ [i,j]: 0<=j<i<n }", "a[i,j] = 1 {id=s}\nb[i] = a[i,0] {id=u}")
    assert "i is outside of j: 'u' is in i and not in j" in told(knl, "s", "s")
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"], "a[i,j] = 1 {id=s}")
    assert "i is outside of j: the bounds of j are known there only" in told(knl, "s", "s")
    knl = kernel("{ [i,j,k]: 0<=i,j,k<n }", "a[i,j] = 1 {id=s}\nb[i,j,k] = 2 {id=u}")
    knl = pg.prioritize_loops(pg.prioritize_loops(knl, "k, i"), "j, i")
    assert "j is outside of i: a priority says so" in told(knl, "s", "u")


def test_what_follows_from_other_loops() -> None:
    knl = kernel("{ [i,j,k]: 0<=i,j,k<n }", "a[i,j,k] = 1 {id=s}\nb[i,k] = 1 {id=u, inames=i:j:k}")
    knl = pg.prioritize_loops(pg.prioritize_loops(knl, "k, j"), "j, i")
    assert order_of(knl).loops("s") == ("k", "j", "i")
    assert told(knl, "s", "s")[1:3] == [
        "k is outside of j: a priority says so",
        "j is outside of i: a priority says so",
    ]


def test_a_reduction_runs_in_its_loop() -> None:
    text = "t = a[k] {id=load, inames=k}\nb[0] = sum(k, t) {id=use, inames=, dep=*load}"
    t = pg.TemporaryVariable("t", "float64")
    assert told(kernel("{ [k]: 0<=k<n }", text, t), "load", "use")[:3] == [
        "No loop is around both 'load' and 'use'.",
        "'use' is a reduction over k, and 'load' is in that loop: what it reads there, it reads in "
        "the course of the loop.",
        "Within an iteration, 'load' comes before 'use': load -> use",
    ]


def test_what_nothing_orders() -> None:
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<n }", "a[i] = 1 {id=s}\na[i] = 2 {id=u}")
    assert told(knl, "s", "u") == [
        "'s' and 'u' are both in the loop i: an earlier iteration comes first.",
        "Within an iteration, 's' and 'u' are unordered: no dependency leads from one to the "
        "other.",
        "Nothing orders what should be in order: for n=1, s[i=0] and u[i=0] both touch an element "
        "of 'a'.",
    ]


def test_axes_order_nothing() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "a[i] = b[i,j] {id=s}")
    with pg.without_proofs():
        knl = pg.tag_inames(knl, {"j": "g.0"})
    *said, witness = told(knl, "s", "s")
    assert said == [
        "'s' is in the loop i: an earlier iteration comes first.",
        "j is on the hardware's axis g.0, and orders nothing.",
        "Within an iteration, nothing orders the instances of 's'.",
    ]
    assert re.fullmatch(
        r"Nothing orders what should be in order: for n=2, s\[i=(\d), j=0\] and s\[i=\1, j=1\] "
        r"both touch an element of 'a'\.",
        witness,
    )


def test_doubt_is_told() -> None:
    knl = PATTERNS["scatter"].kernel()
    with pg.without_proofs():
        knl = pg.tag_inames(knl, {"i": "g.0"})
    assert told(knl, "s", "s")[0] == "'s' is in no loop."
    assert "may both touch an element of 'a'" in told(knl, "s", "s")[-1]


def related(pairs: str, *, turned: bool = False) -> Kernel:
    lines = ["a[i] = 1  {id=x}", f"a[j] = 2  {{id=y, dep=x[{pairs}]}}"]
    with pg.without_proofs():
        return pg.make_kernel(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"], "\n".join(lines[:: -1 if turned else 1])
        )


def test_only_some_instances_are_ordered() -> None:
    for first, second in (("x", "y"), ("y", "x")):
        assert told(related("{ [i] -> [j'] : i = j' }"), first, second) == [
            f"No loop is around both '{first}' and '{second}'.",
            f"As a whole, '{first}' and '{second}' are unordered, but for some instances:",
            "'y' depends on instances of 'x': { [i] -> [j' = i] }",
            "This order is needed:",
            "output x[i] -> y[i] through a, loop-independent",
        ]


@pytest.mark.parametrize("turned", [False, True])
def test_what_a_relation_leaves_out_is_told(turned: bool) -> None:
    """Of x[i] and y[i], all but i = 3 are ordered: the first size at which that is seen is 4."""
    text = told(related("{ [i] -> [j'] : i = j' and i != 3 }", turned=turned), "x", "y")
    assert text[-1] == (
        "Nothing orders what should be in order: for n=4, x[i=3] and y[j=3] both touch an element "
        "of 'a'."
    )
    assert "but for some instances" in text[1]


def test_relations_that_loops_order() -> None:
    pairs = "{ [i] -> [i'] : i' = i + 1 }"
    knl = pg.make_kernel(
        "{ [i]: 1<=i<n }", f"a[i] = c[i] {{id=a}}\nb[i] = a[i - 1] {{id=b, dep=a[{pairs}]}}"
    )
    assert told(knl, "a", "b")[1:] == [
        "Within an iteration, 'a' and 'b' are unordered: no dependency leads from one to the "
        "other.",
        "'b' depends on instances of 'a': { [i] -> [i' = 1 + i] }; loops order these",
        "This order is needed:",
        "flow a[i] -> b[i + 1] through a, distance (1), carried by i",
    ]


def test_unknown_instructions() -> None:
    with pytest.raises(UnknownInstruction, match="did you mean 'store'"):
        pg.explain_order(matrix_product(), "init", "stor")


def test_without_an_order() -> None:
    text = "a[i,j] = 1 {id=x}\nb[i] = 1 {id=y}\nc[j] = 1 {id=z}"
    with pg.without_proofs():
        knl = kernel("{ [i,j]: 0<=i,j<n }", text)
    with pytest.raises(NoLoopNest):
        pg.explain_order(knl, "x", "y")


def test_isl_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = matrix_product()
    pg.dependences(knl, memory=True)  # known from now on: this is not where it stops
    monkeypatch.setattr(proving, "MOST_OPERATIONS", 5)
    with pytest.raises(ProofLimit, match="the order of 'init' and 'store' could not be explained"):
        pg.explain_order(knl, "init", "store")


# --- beside what decides, and beside executions


def random_kernels(seeds: range) -> list[Kernel]:
    found: list[Kernel] = []
    for seed in seeds:
        with pg.without_proofs():
            knl = Maker(seed).kernel()
        try:
            order_of(knl)
        except DependencyCycle:
            continue
        found.append(knl)
    return found


@pytest.mark.parametrize("start", range(0, 60, 30))
def test_a_chain_is_there_where_dependencies_decide(start: int) -> None:
    lengths: set[int] = set()
    for knl in random_kernels(range(start, start + 30)):
        ids = [insn.id for insn in knl.instructions]
        for first, second in product(ids, ids):
            links = chain(knl, first, second)
            assert bool(links) is order_of(knl).depends(first, second)
            assert all(x.before in knl.instruction(x.after).depends_on for x in links)
            lengths.add(len(links))
    assert lengths >= {0, 1}


@few(1, "start", [0, 30])
def test_what_executions_have_in_different_orders_is_found(start: int) -> None:
    sizes = {"n": 2, "m": 2}
    seen = {True: 0, False: 0}
    for ordered in random_kernels(range(start, start + 30)):
        free = tuple(i.copy(depends_on=frozenset()) for i in ordered.instructions)
        knl = ordered.copy(instructions=free)
        traces = runs(knl, sizes, LIMITS, 16)
        together = every_pair(knl, traces[:1])
        loose = {tuple(sorted((x[0], y[0]))) for _, _, x, y in together - every_pair(knl, traces)}
        for a, b in product(knl.instructions, knl.instructions):
            if a.id < b.id:
                text = pg.explain_order(knl, a.id, b.id)
                # Other data, or sizes, may show more than these executions do.
                if (a.id, b.id) in loose:
                    assert "Nothing orders what should be" in text
                seen["Nothing orders what should be" in text] += 1
    assert min(seen.values()) > 3


# --- instructions in place of calls

SMOOTH = pg.make_function(
    "{ [k]: 1<=k<m-1 }",
    """
    <> t = x[k-1] + x[k]     {id=sum}
    y[k] = (t + x[k+1])/3    {id=third, dep=sum}
    """,
    ["m", "x", "y"],
    name="smooth",
)
TWICE = pg.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    [j]: b[i, j] = smooth(m, [j]: a[i, j])    {id=one}
    [j]: c[i, j] = smooth(m, [j]: b[i, j])    {id=two, dep=one}
    d[i] = c[i, 2]                            {id=take, if=m > 3, dep=two}
    """,
    [*(pg.GlobalArg(name, None, "n, m") for name in "abc"), "..."],
    functions={"smooth": SMOOTH},
)


def test_instructions_of_calls_say_where_they_come_from() -> None:
    lines = pg.explain_order(TWICE, "one_third", "two_sum").splitlines()
    assert lines[:2] == [
        "'one_third' is 'third' of kernel 'smooth', in the call 'one'.",
        "'two_sum' is 'sum' of kernel 'smooth', in the call 'two'.",
    ]
    assert "Within an iteration, 'one_third' comes before 'two_sum'" in lines[3]
    same = pg.explain_order(TWICE, "take", "two_third").splitlines()
    assert same[0] == "'two_third' is 'third' of kernel 'smooth', in the call 'two'."
    assert not pg.explain_order(TWICE, "take", "take").startswith("'take' is '")


def test_calls_in_calls_say_where_they_come_from() -> None:
    total = pg.make_function(
        "{ [k]: 0<=k<m }", "s = sum(k, x[k])", ["m", "x", pg.GlobalArg("s", shape=())], name="total"
    )
    shares = pg.make_function(
        "{ [k]: 0<=k<m }",
        "<> t = total(m, [j]: x[j])  {id=all}\ny[k] = x[k]/t",
        ["m", "x", "y"],
        name="shares",
        functions={"total": total},
    )
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "<> t = total(5, [j]: a[i, j])  {id=all}\n[j]: b[i, j] = shares(5, [j]: a[i, j])  {id=c}",
        [*(pg.GlobalArg(name, None, "n, 5") for name in "ab"), "..."],
        functions={"shares": shares, "total": total},
    )
    text = pg.explain_order(knl, "c_all_insn", "all")  # the one instruction of the call 'all'
    assert text.splitlines()[:2] == [
        "'c_all_insn' is 'insn' of kernel 'total', in the call 'all' of kernel 'shares', "
        "in the call 'c'.",
        "'all_insn' is 'insn' of kernel 'total', in the call 'all'.",
    ]


def test_a_call_of_several_instructions_is_none() -> None:
    with pytest.raises(UnknownInstruction, match="'one' is a call of a kernel") as caught:
        pg.explain_order(TWICE, "one", "take")
    assert "and stands for 2 instructions" in caught.value.what
    assert caught.value.remedy == "name one of them: 'one_sum', 'one_third'"
    assert "-> [i] [j]: b[i, j] = smooth" in str(caught.value)


def test_dependences_say_which_calls_they_are_between() -> None:
    found = {(d.source, d.sink): d for d in pg.dependences(TWICE)}
    calls = {pair: (d.source_call, d.sink_call) for pair, d in found.items()}
    assert calls == {
        ("one_sum", "one_third"): ("one", "one"),
        ("one_third", "two_sum"): ("one", "two"),
        ("one_third", "two_third"): ("one", "two"),
        ("two_sum", "two_third"): ("two", "two"),
        ("two_third", "take"): ("two", None),
    }
    ends = {pair: str(d).partition("loop-independent")[2] for pair, d in found.items()}
    assert ends["one_sum", "one_third"] == "; in the call 'one'"
    assert ends["one_third", "two_sum"] == "; from the call 'one' to the call 'two'"
    assert ends["two_third", "take"] == "; from the call 'two'"
