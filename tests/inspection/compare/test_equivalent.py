"""`equivalent`: kernels that compute the same are proved to; others never are."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import KernelsDiffer, UserError
from polygen.inspection.compare.common_types import with_common_types
from polygen.inspection.compare.equivalent import by_dataflow, check_arguments
from tests.oracle.compare import make_arguments
from tests.oracle.interpreter import interpret
from tests.proof.sequences import check_results, random_sequence
from tests.properties.every_step import new_step, random_step

Make = Callable[[], pg.Kernel]


def kernel(domains: Any, text: str, *data: Any, **said: Any) -> pg.Kernel:
    """A kernel whose instructions come one after the other."""
    return pg.make_kernel(domains, text, [*data, "..."], seq_dependencies=True, **said)


def temporary(name: str, *shape: int) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, shape=shape)


LINE = "{ [i]: 0<=i<n }"
MATRIX = ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"]
STEPS = "{ [t, i]: 0<=t<T and 1<=i<n-1 }"


def product() -> pg.Kernel:
    return kernel(MATRIX, "c[i, j] = sum(k, a[i, k]*b[k, j])")


def typed_product() -> pg.Kernel:
    return pg.add_dtypes(product(), {"a, b": "float64"})


def tiled_product(**fixed: int) -> pg.Kernel:
    knl = pg.fix_parameters(typed_product(), **fixed) if fixed else typed_product()
    for iname, axis in (("i", 1), ("j", 0)):
        knl = pg.split_iname(knl, iname, 4, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")
    return pg.split_iname(knl, "k", 4)


def prefetched_product() -> pg.Kernel:
    knl = pg.add_prefetch(tiled_product(n=8, m=8, l=8), "a", ["i_inner", "k_inner"])
    return pg.add_prefetch(knl, "b", ["k_inner", "j_inner"])


def heat() -> pg.Kernel:
    text = "u[t+1, i] = u[t, i-1] + 2*u[t, i] + u[t, i+1]"
    return kernel(STEPS, text, loop_priority="t, i")


def rows(term: str, last: str = "row[i+1]") -> pg.Kernel:
    """Sums over the rows of a sparse matrix."""
    return kernel(
        [LINE, "{ [j]: start<=j<stop }"],
        f"<> start = row[i]\n<> stop = {last}\ny[i] = sum(j, {term})",
        pg.GlobalArg("x", "float64", "m"),
        *(
            pg.GlobalArg(name, dtype, "nnz")
            for name, dtype in (("val", "float64"), ("col", "int32"))
        ),
        pg.GlobalArg("row", "int32", "n + 1"),
    )


# Exactly the same, or else up to rounding.
EXACT, ROUNDED = False, True
EQUAL: dict[str, tuple[bool, Make, Make]] = {
    "split": (
        EXACT,
        lambda: kernel(LINE, "out[i] = 2*a[i]"),
        lambda: pg.split_iname(kernel(LINE, "out[i] = 2*a[i]"), "i", 16, outer_tag="g.0"),
    ),
    "by hand, with other names": (
        EXACT,
        lambda: kernel(LINE, "<> t = a[i] + 1\nout[i] = t*t"),
        lambda: kernel(
            "{ [q, r]: 0<=r<2 and 0<=2*q+r<n }",
            "<> x = a[2*q+r] + 1\n<> y = x\nout[2*q+r] = x*y",
            loop_priority="q, r",
        ),
    ),
    "two loops of three instructions": (
        EXACT,
        lambda: kernel(LINE, "out[i] = if(i < 5, a[i], b[i])", assumptions="n >= 5"),
        lambda: kernel(
            ["{ [p]: 0<=p<5 }", "{ [q]: 5<=q<n }"],
            "out[p] = a[p]\nout[q] = b[q]",
            assumptions="n >= 5",
        ),
    ),
    "tiled product": (EXACT, product, tiled_product),
    "prefetched product": (EXACT, lambda: tiled_product(n=8, m=8, l=8), prefetched_product),
    "product with an accumulator": (
        ROUNDED,
        product,
        lambda: kernel(
            MATRIX,
            "<> acc = 0.0 {inames=i:j}\nacc = acc + b[k, j]*a[i, k]\nc[i, j] = acc {inames=i:j}",
            loop_priority="i, j, k",
        ),
    ),
    "realized product": (
        ROUNDED,
        typed_product,
        lambda: pg.realize_reduction(tiled_product()),
    ),
    "precomputed": (
        EXACT,
        lambda: kernel("{ [i]: 0<=i<16 }", "f(x) := 2*a[x] + 1\nout[i] = f(i)*f(i+1)"),
        lambda: pg.precompute(
            pg.split_iname(
                kernel("{ [i]: 0<=i<16 }", "f(x) := 2*a[x] + 1\nout[i] = f(i)*f(i+1)"), "i", 4
            ),
            "f",
            ["i_inner"],
        ),
    ),
    "sum in another order": (
        ROUNDED,
        lambda: kernel("{ [i, j]: 0<=i<n and 0<=j<m }", "s[0] = sum((i, j), a[i, j])"),
        lambda: kernel("{ [i, j]: 0<=i<n and 0<=j<m }", "s[0] = sum(j, sum(i, a[i, j]))"),
    ),
    "sum from the other end": (
        ROUNDED,
        lambda: kernel("{ [k]: 0<=k<n }", "s[0] = sum(k, a[k])"),
        lambda: kernel("{ [k]: 0<=k<n }", "s[0] = sum(k, a[n-1-k])"),
    ),
    "sum with its loops turned": (
        ROUNDED,
        lambda: kernel("{ [k, l]: 0<=k<n and 0<=l<8 }", "s[0] = sum((k, l), a[8*k+l])"),
        lambda: kernel(
            "{ [k, l]: 0<=k<n and 0<=l<8 }", "s[0] = sum((k, l), a[8*k+l])", loop_priority="l, k"
        ),
    ),
    "sum in eight parts": (
        ROUNDED,
        lambda: kernel("{ [k]: 0<=k<8*n }", "s[0] = sum(k, a[k])"),
        lambda: kernel(
            "{ [k, e]: 0<=k<n and 0<=e<8 }",
            "p[e] = sum(k, a[8*k+e])\ns[0] = p[0]+p[1]+p[2]+p[3]+(p[4]+p[5]+(p[6]+p[7]))",
            temporary("p", 8),
        ),
    ),
    "unrolled sum": (
        ROUNDED,
        lambda: kernel("{ [k]: 0<=k<2*n }", "s[0] = sum(k, a[k])"),
        lambda: kernel(
            "{ [k]: 0<=k<n }",
            "<> x = 0.0 {inames=}\nx = x + a[2*k]\nx = x + a[2*k+1]\ns[0] = x {inames=}",
        ),
    ),
    "running sums": (
        ROUNDED,
        lambda: kernel("{ [i, j]: 0<=i<n and 0<=j<=i }", "p[i] = sum(j, a[j])", assumptions="n>=1"),
        lambda: kernel("{ [i]: 1<=i<n }", "p[0] = a[0]\np[i] = p[i-1] + a[i]", assumptions="n>=1"),
    ),
    "recurrence": (
        EXACT,
        lambda: kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1]*c[i] + b[i]"),
        lambda: pg.split_iname(
            kernel("{ [p]: 1<=p<n }", "<> t = a[p-1]*c[p]\na[p] = t + b[p]"), "p", 8
        ),
    ),
    "steps in time, skewed and tiled": (
        EXACT,
        heat,
        lambda: pg.tile(pg.skew(heat(), "t", "i", 1), {"t": 4, "i": 8}),
    ),
    "copied forward": (
        EXACT,
        lambda: kernel(
            STEPS,
            "u[t+1, i] = u[t, i]",
            pg.GlobalArg("u", "float32", "T+1, n"),
            loop_priority="t, i",
        ),
        lambda: kernel(STEPS, "u[T-t, i] = u[0, i]", pg.GlobalArg("u", "float32", "T+1, n")),
    ),
    "Horner": (
        ROUNDED,
        lambda: kernel(LINE, "out[i] = (a[i]*x[i] + b[i])*x[i] + c[i]"),
        lambda: kernel(LINE, "out[i] = a[i]*x[i]**2 + b[i]*x[i] + c[i]"),
    ),
    "what data says where": (
        EXACT,
        lambda: kernel(LINE, "out[i] = 2*a[idx[i]]"),
        lambda: kernel(LINE, "<> k = idx[n-1-i]\n<> x = 2*a[k]\nout[n-1-i] = x"),
    ),
    "a subscript that is computed before": (
        EXACT,
        lambda: kernel(LINE, "out[i] = a[2*i+1]"),
        lambda: kernel(LINE, "<> k = 2*i\nout[i] = a[k+1]", pg.GlobalArg("a", None, "2*n")),
    ),
    "a choice by data": (
        EXACT,
        lambda: kernel(LINE, "out[i] = if(a[i] > b[i], a[i], b[i])"),
        lambda: kernel(LINE, "<> c = b[i] < a[i]\n<> x = a[i]\nout[i] = if(b[i] < x, x, b[i])"),
    ),
    "greatest of greatest": (
        EXACT,
        lambda: kernel("{ [k]: 0<=k<8*n }", "s[0] = max(k, a[k])", assumptions="n >= 1"),
        lambda: kernel(
            "{ [k, e]: 0<=k<n and 0<=e<8 }",
            "p[e] = max(k, a[8*k+e])\ns[0] = max(e, p[e])",
            temporary("p", 8),
            assumptions="n >= 1",
        ),
    ),
    "rows whose lengths are data": (
        EXACT,
        lambda: rows("val[j]*x[col[j]]"),
        lambda: pg.split_iname(rows("x[col[j]]*val[j]"), "i", 8, outer_tag="g.0", inner_tag="l.0"),
    ),
    "parts of rows whose lengths are data": (
        EXACT,
        lambda: rows("val[j]*x[col[j]]"),
        lambda: pg.split_iname(rows("x[col[j]]*val[j]"), "j", 8),
    ),
    "written where data says": (
        EXACT,
        lambda: kernel(LINE, "out[i] = 0.0\nout[i] = 1.5*b[i] {if=a[i] > 0}"),
        lambda: kernel(LINE, "<> c = 0 < a[i]\nout[i] = if(c, b[i]*1.5, 0.0)"),
    ),
    "a scalar": (
        EXACT,
        lambda: kernel(LINE, "out[i] = alpha*a[i] + n"),
        lambda: kernel(LINE, "<> t = alpha\nout[i] = t*a[i] + n"),
    ),
    "scattered, by loops that moved nothing": (
        EXACT,
        lambda: kernel(LINE, "out[idx[i]] = a[i]"),
        lambda: pg.split_iname(kernel(LINE, "out[idx[i]] = a[i]"), "i", 1, inner_iname="z"),
    ),
}
# Data decides where it is written: the instances of a split loop are found by nothing.
OPEN = {"scattered, by loops that moved nothing"}


@pytest.mark.parametrize("name", sorted(EQUAL.keys() - OPEN))
def test_equal(name: str) -> None:
    rounding, first, second = EQUAL[name]
    found = pg.equivalent(first(), second())
    assert found.answer == "equal", found
    assert found.rounding == rounding
    assert pg.equivalent(second(), first())


A, B = (pg.GlobalArg(name, "float32", "n") for name in "ab")


OUT = pg.GlobalArg("out", "int64", "n")


def folded(combined: str) -> pg.Kernel:
    """A kernel with a reduction that is defined in its text."""
    knl = kernel("{ [k]: 0<=k<n }", "s[0] = sum(k, a[k])", pg.GlobalArg("a", "int64", "n"))
    definition = (
        f"REDUCTIONS:\nfold(x, y) := {combined}, identity: 0, claimed: associative, commutative\n"
    )
    text = str(knl).replace("INSTRUCTIONS:", f"{definition}INSTRUCTIONS:")
    return pg.parse_kernel(text.replace("sum(k", "fold(k"))


def own(target: str) -> pg.ScalarCallable:
    """A function of float32 that has a name in C."""
    return pg.ScalarCallable({target: "float32 -> float32"})


DIFFERENT: dict[str, tuple[Make, Make]] = {
    "a loop that ends early": (
        product,
        lambda: kernel([MATRIX[0], "{ [k]: 0<=k<l-1 }"], "c[i, j] = sum(k, a[i, k]*b[k, j])",
                       pg.GlobalArg("a", None, "n, l"), pg.GlobalArg("b", None, "l, m")),
    ),
    "subtracted": (
        lambda: kernel(LINE, "out[i] = a[i] - b[i]"),
        lambda: kernel(LINE, "out[i] = b[i] - a[i]"),
    ),
    "one too many": (
        lambda: kernel("{ [k]: 0<=k<n }", "s[0] = sum(k, a[k])"),
        lambda: kernel("{ [k]: 0<=k<n }", "s[0] = sum(k, a[k]) + sum(k, if(k == 7, a[k], 0))"),
    ),
    "a step too early": (
        heat,
        lambda: kernel(STEPS, "u[t+1, i] = u[t, i-1] + 2*u[t, i] + u[t+1, i-1]",
                       pg.GlobalArg("u", None, "T+1, n"), loop_priority="t, i"),
    ),
    "another type on the way": (
        lambda: kernel(LINE, "<float32> t = a[i]\nout[i] = t + b[i]"),
        lambda: kernel(LINE, "<float64> t = a[i]\nout[i] = t + b[i]"),
    ),
    "rounded to bfloat16 on the way": (
        lambda: kernel(LINE, "<float32> t = a[i]\nout[i] = t + b[i]", A, B),
        lambda: kernel(LINE, "<bfloat16> t = a[i]\nout[i] = t + b[i]", A, B),
    ),
    "wrapped around on the way": (
        lambda: kernel(LINE, "out[i] = i - 5", OUT),
        lambda: kernel(LINE, "<uint32> t = i - 5\nout[i] = t", OUT),
    ),
    "reductions of one's own, of one name": (
        lambda: folded("x + y"),
        lambda: folded("x + y + 1"),
    ),
    "functions of other names": (
        lambda: kernel(LINE, "out[i] = half_of(a[i])", A, functions={"half_of": own("halved")}),
        lambda: kernel(LINE, "out[i] = half_of(a[i])", A, functions={"half_of": own("thirded")}),
    ),
    "rows that end early": (
        lambda: rows("val[j]*x[col[j]]"),
        lambda: rows("val[j]*x[col[j]]", last="row[i+1] - 1"),
    ),
    "rows that end elsewhere": (
        lambda: rows("val[j]*x[col[j]]"),
        lambda: rows("val[j]*x[col[j]]", last="row[i]"),
    ),
    "a condition that is another for 0": (
        lambda: kernel(LINE, "out[i] = a[i] {if=a[i] >= 0}"),
        lambda: kernel(LINE, "out[i] = a[i] {if=a[i] > 0}"),
    ),
    "written or not": (
        lambda: kernel(LINE, "out[i] = a[i]"),
        lambda: kernel(LINE, "out[i] = a[i] {if=a[i] > 0}"),
    ),
}  # fmt: skip


def is_proved(first: pg.Kernel, second: pg.Kernel) -> bool:
    doubts, _, obstacles = by_dataflow(first.expanded, second.expanded)
    return not doubts and not obstacles


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name: str) -> None:
    first, second = (make() for make in DIFFERENT[name])
    first, second, _ = with_common_types(first, second)
    assert not is_proved(first, second)


def test_a_counterexample_is_a_call() -> None:
    """What it shows is what NumPy computes for these sizes."""
    first, second = (make() for make in DIFFERENT["one too many"])
    found = pg.equivalent(first, second)
    assert found.answer == "different"
    assert found.counterexample is not None
    assert found.counterexample.sizes["n"] >= 8
    assert found.counterexample.name == "s"
    expected = r"different: for n=\d+ and random numbers, s\[0\] is\n  [\d.]+ in the first, by s"
    assert re.match(expected, str(found))
    low, high = found.counterexample.values
    assert low != high


def test_unknown() -> None:
    """Equal, by what nobody knows of a function; no call shows that they are not."""
    first = kernel(LINE, "out[i] = exp(a[i])*exp(b[i])")
    second = kernel(LINE, "out[i] = exp(a[i] + b[i])")
    found = pg.equivalent(first, second)
    assert (found.answer, bool(found)) == ("unknown", False)
    assert re.search(r"not decided: it is not proved that out\[0\] for n=1 is the same", str(found))
    assert re.search(r"both left the same, up to rounding, of random numbers: n=1; n=5", str(found))


def test_what_one_kernel_alone_assumes_is_said() -> None:
    whole = pg.make_kernel("{ [i]: 0<=i<n }", "out[0] = sum(i, a[i])")
    data = [pg.GlobalArg("a", shape="n"), "..."]
    text = "out[0] = sum(i, a[2*i] + a[2*i+1])"
    even = pg.make_kernel("{ [i]: 0<=2*i<n-1 }", text, data, assumptions="n mod 2 = 0")
    said = [line for line in str(pg.equivalent(whole, even)).splitlines() if "permit" in line]
    assert said == ["  for sizes that both permit: [n] -> {  : (n) mod 2 = 0 }"]
    assert pg.equivalent(even, even).assumed == ""


def test_without_reassociation_the_order_of_sums_counts() -> None:
    rounding, first, second = EQUAL["sum in another order"]
    kernels = [pg.set_options(make(), allow_reassociation=False) for make in (first, second)]
    assert rounding
    assert pg.equivalent(*kernels).answer == "unknown"
    assert pg.equivalent(kernels[0], kernels[0].copy(name="other")).answer == "equal"


def test_integers_have_any_order() -> None:
    _, first, second = EQUAL["sum in another order"]
    kernels = [pg.add_dtypes(make(), {"a": "int64"}) for make in (first, second)]
    found = pg.equivalent(*kernels)
    assert (found.answer, found.rounding) == ("equal", False)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("out[i] = a[i]", "out[i] = b[i]", "has the argument 'a', and kernel"),
        ("out[i] = a[i]", "out[i] = a[i+1]", r"'a' has the shape \(n\) in one kernel, \(n \+ 1\)"),
        ("out[i] = a[i] + 0.5", "out[i] = if(a[i] > 0, 1, 2)", "'out' has the type"),
    ],
)
def test_what_cannot_be_called_alike_is_not_compared(first: str, second: str, message: str) -> None:
    with pytest.raises(KernelsDiffer, match=message):
        pg.equivalent(kernel(LINE, first), kernel(LINE, second))


# --- kernels that are changed at random

CHANGES: tuple[tuple[str, str], ...] = (
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"\*", " + "),
    (r"sum\(", "max("),
    (r"\bi\b(?=[\],])", "i + 1"),
    (r"\bj\b(?=[\],])", "j - 1"),
    (r"\bk\b(?=[\],])", "k + 1"),
    (r"\bt\b(?=[\],])", "t + 1"),
    (r"< n", "< n - 1"),
    (r"< l", "< l - 1"),
    (r"0 <=", "1 <="),
    (r"\ba\[", "b["),
    (r"\b2\b", "3"),
    (r"(\w+\[[^\]]*\]) \+ (\w+\[[^\]]*\])", r"\2 + \1"),  # which changes nothing
    (r"(\w+\[[^\]]*\])\*(\w+\[[^\]]*\])", r"\2*\1"),
)


def changed(text: str, choices: random.Random) -> str | None:
    """Return the text of a kernel with one thing in a domain or instruction changed."""
    pattern, new = choices.choice(CHANGES)
    head, title, body = text.partition("DOMAINS:")
    found = list(re.finditer(pattern, body))
    if not found:
        return None
    match = choices.choice(found)
    return head + title + body[: match.start()] + match.expand(new) + body[match.end() :]


def computes(knl: pg.Kernel, size: int) -> dict[str, Any] | None:
    """Return what the interpreter leaves in the arrays; None if there is no such call."""
    sizes = {a.name: size for a in knl.arguments if isinstance(a, pg.ValueArg)}
    try:
        return interpret(knl, make_arguments(knl, sizes, size)).arrays
    except UserError:
        return None


def differ(first: pg.Kernel, second: pg.Kernel) -> bool:
    for size in (5, 6, 9):  # which all assumptions permit
        results = computes(first, size), computes(second, size)
        if results[0] is None or results[1] is None:
            continue
        for name, left in results[0].items():
            if not np.allclose(left, results[1][name], rtol=1e-6, equal_nan=True):
                return True
    return False


def test_what_is_changed_at_random_is_equal_only_if_it_computes_the_same() -> None:
    choices = random.Random(5)
    left_out = {
        name for name in EQUAL if "rows" in name or "subscript" in name
    }  # subscripts that may be anything
    left_out |= {"prefetched product", "steps in time, skewed and tiled", "what data says where"}
    names = sorted(EQUAL.keys() - left_out - OPEN)
    compared = equal = different = 0
    for _ in range(60):
        _, first, second = EQUAL[choices.choice(names)]
        reference, text = first().expanded, changed(str(second()), choices)
        if text is None:
            continue
        try:
            other = pg.parse_kernel(text)
            kernels = with_common_types(reference, other)[:2]
            check_arguments(*kernels)
        except UserError:
            continue
        compared += 1
        is_equal = is_proved(*kernels)
        is_other = differ(*kernels)
        equal += is_equal
        different += is_other
        assert not (is_equal and is_other), f"{reference}\n{text}"
    assert (compared > 10, equal > 0, different > 5) == (True, True, True)


# --- what all steps do to random kernels


def shares(seeds: range) -> tuple[int, int]:
    """Return how many steps of random sequences there are, and how many are proved anew."""
    steps = proved = 0
    for seed in seeds:
        kernels = random_sequence(seed, draw=random_step).kernels
        for first, second in pairwise(kernels):
            if {a.name for a in first.arguments} != {a.name for a in second.arguments}:
                continue  # it is called otherwise
            steps += 1
            one, other, _ = with_common_types(first, second)
            proved += is_proved(one, other)
    return steps, proved


def test_most_steps_are_proved_without_being_told() -> None:
    steps, proved = shares(range(200, 203))
    assert steps > 8
    assert proved > 0.6 * steps


@pytest.mark.deep
@pytest.mark.parametrize("start", range(1_000, 1_300, 50))
def test_most_of_many_steps_are_proved(start: int) -> None:
    steps, proved = shares(range(start, start + 50))
    assert proved > 0.6 * steps


@pytest.mark.deep
@pytest.mark.parametrize("start", range(0, 1_000, 100))
def test_steps_without_proofs_are_equal_only_if_they_compute_the_same(start: int) -> None:
    equal = 0
    for seed in range(start, start + 100):
        sequence = random_sequence(seed, proofs=False, draw=new_step if seed % 2 else random_step)
        ends = sequence.kernels[0], sequence.kernels[-1]
        try:
            owed = {o.kind for kernel in ends for o in pg.obligations(kernel)}
            kernels = with_common_types(*ends)[:2]
        except UserError:  # a step was wrong
            continue
        if owed <= {"inside"} and is_proved(*kernels):
            check_results(sequence)
            equal += 1
    assert equal > 10
