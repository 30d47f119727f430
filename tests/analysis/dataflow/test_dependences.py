"""Dependences: textbook kernels, and all pairs beside an execution that lists who touches what."""

from __future__ import annotations

import pickle
import random
from collections import defaultdict
from collections.abc import Mapping

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.integers import proving
from polygen.analysis.order.loop_tree import loop_tree
from polygen.errors import DependencyCycle, NoLoopNest, ProofLimit
from polygen.ir.kernel import Kernel
from tests.analysis.brute_force import Found, direct_pairs, every_pair, is_decided, listed, runs
from tests.oracle.cases import kernel
from tests.proof.generator import LIMITS, Maker
from tests.proof.patterns import PATTERNS
from tests.proof.trace import Instance


def lines(knl: Kernel, *, memory: bool = False) -> list[str]:
    """The dependences as text, without what a program is not likely to need."""
    return [" ".join(str(d).split()) for d in pg.dependences(knl, memory=memory)]


# What the literature says of these loops; worked out by hand.
# Where the nesting decides.
PRIORITIES = {
    "skew": "i, j",
    "Jacobi": "t, i",
    "Gauss-Seidel": "t, i",
    "transposition in place": "i, j",
}

TEXTBOOK = {
    "skew": (
        "{ [i,j]: 1<=i<n and 0<=j<n-1 }",
        "a[i,j] = a[i-1,j+1] + 1 {id=s}",
        ["flow s[i, j] -> s[i + 1, j - 1] through a, distance (1, -1), carried by i"],
    ),
    "wavefront": (
        "{ [i,j]: 1<=i<n and 1<=j<n }",
        "a[i,j] = a[i-1,j] + a[i,j-1] {id=s}",
        [
            "flow s[i, j] -> s[i + 1, j] through a, distance (1, 0), carried by i",
            "flow s[i, j] -> s[i, j + 1] through a, distance (0, 1), carried by j",
        ],
    ),
    "Jacobi": (
        "{ [t,i]: 0<=t<n and 1<=i<n }",
        "a[t+1,i] = a[t,i-1] + a[t,i] + a[t,i+1] {id=s}",
        [
            "flow s[t, i] -> s[t + 1, i + 1] through a, distance (1, 1), carried by t",
            "flow s[t, i] -> s[t + 1, i] through a, distance (1, 0), carried by t",
            "flow s[t, i] -> s[t + 1, i - 1] through a, distance (1, -1), carried by t",
        ],
    ),
    "Gauss-Seidel": (
        "{ [t,i]: 0<=t<n and 1<=i<n-1 }",
        "a[i] = a[i-1] + a[i+1] {id=s, inames=t:i}",
        [
            "flow s[t, i] -> s[t + 1, i - 1] through a, distance (1, -1), carried by t",
            "flow s[t, i] -> s[t, i + 1] through a, distance (0, 1), carried by i",
            "anti s[t, i] -> s[t + 1, i - 1] through a, distance (1, -1), carried by t",
            "anti s[t, i] -> s[t, i + 1] through a, distance (0, 1), carried by i",
            "output s[t, i] -> s[t + 1, i] through a, distance (1, 0), carried by t",
        ],
    ),
    "matrix product": (
        "{ [i,j,k]: 0<=i,j,k<n }",
        "c[i,j] = c[i,j] + a[i,k]*b[k,j] {id=s, inames=i:j:k}",
        [
            "flow s[i, j, k] -> s[i, j, k + 1] through c, distance (0, 0, 1), carried by k",
            "output s[i, j, k] -> s[i, j, k + 1] through c, distance (0, 0, 1), carried by k",
        ],
    ),
    "triangular solve": (
        "{ [i,j]: 0<=j<i<n }",
        "x[i] = x[i] - l[i,j]*x[j] {id=s}",
        [
            # x[j] is complete after the last update of row j, which is that of column j - 1.
            "flow s[i, i - 1] -> s[i', i] through x, distance (<, 1), carried by i",
            "flow s[i, j] -> s[i, j + 1] through x, distance (0, 1), carried by j",
            "output s[i, j] -> s[i, j + 1] through x, distance (0, 1), carried by j",
        ],
    ),
    "reversal": (
        "{ [i]: 0<=i<n }",
        "a[n-1-i] = a[i] + 1 {id=s}",
        [
            # What the first half of the loop writes is read by the second half.
            "flow s[i] -> s[n - 1 - i] through a, distance (<), carried by i",
            "anti s[i] -> s[n - 1 - i] through a, distance (<), carried by i",
        ],
    ),
    "transposition in place": (
        "{ [i,j]: 0<=i,j<n }",
        "a[i,j] = a[j,i] + 1 {id=s}",
        [
            "flow s[i, j] -> s[j, i] through a, distance (<, >), carried by i",
            "anti s[i, j] -> s[j, i] through a, distance (<, >), carried by i",
        ],
    ),
    "even and odd": ("{ [i]: 0<=i<n }", "a[2*i] = a[2*i+1] + 1 {id=s}", []),
    "every fourth": (
        "{ [i]: 0<=i<n }",
        "a[i%4] = b[i] {id=s}",
        ["output s[i] -> s[i + 4] through a, distance (4), carried by i"],
    ),
    "strided": (
        "{ [i]: 0<=i<n }",
        "a[2*i] = a[i] + 1 {id=s}",
        ["flow s[i] -> s[2*i] through a, distance (<), carried by i"],
    ),
    "strided, from the reader": (
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "a[i] = 1 {id=s}\nb[j] = a[2*j] {id=u, dep=s}",
        ["flow s[2*j] -> u[j] through a, loop-independent"],
    ),
    "within an iteration and across": (
        "{ [i]: 1<=i<n }",
        "a[i] = c[i] {id=s, dep=*}\nb[i] = a[i] + a[i-1] {id=u, dep=*s}",
        [
            "flow s[i] -> u[i + 1] through a, distance (1), carried by i",
            "flow s[i] -> u[i] through a, distance (0), loop-independent",
        ],
    ),
    "scatter": (
        "{ [i]: 0<=i<n }",
        "a[idx[i]] = b[i] {id=s}",
        ["output s[i] -> s[i'] through a, distance (<), carried by i; may be: data decides"],
    ),
    "a condition that is data": (
        "{ [i]: 1<=i<n }",
        "a[i] = a[i-1] + 1 {id=s, if=c[i] > 0}",
        ["flow s[i] -> s[i + 1] through a, distance (1), carried by i; may be: data decides"],
    ),
    "a reduction reads what was computed before": (
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"],
        "x[i] = b[i] + sum(j, x[j]) {id=s}",
        ["flow s[i] -> s[i'] through x, distance (<), carried by i"],
    ),
}


def textbook(name: str) -> Kernel:
    domains, text, _ = TEXTBOOK[name]
    scattered = [pg.GlobalArg("idx", "int32", "n"), pg.GlobalArg("a", "float64", "n"), "..."]
    data = scattered if "idx" in text else ()
    return kernel(domains, text, *data, loop_priority=PRIORITIES.get(name, ()))


@pytest.mark.parametrize("name", TEXTBOOK)
def test_textbook(name: str) -> None:
    assert lines(textbook(name)) == TEXTBOOK[name][2]


def test_arrays_that_may_overlap() -> None:
    array = pg.GlobalArg("a", "float64", "n", may_alias=True)
    knl = kernel("{ [i]: 0<=i<n }", "a[i] = b[i] {id=s}", array, pg.GlobalArg("b", shape="n"))
    end = "which may overlap, distance (<), carried by i; may be: data decides"
    assert lines(knl) == [
        f"flow s[i] -> s[i'] through a and b, {end}",
        f"anti s[i] -> s[i'] through b and a, {end}",
    ]


def test_the_loops_that_count_are_those_of_the_nest() -> None:
    knl = pg.prioritize_loops(textbook("wavefront"), "j, i")
    assert lines(knl) == [
        "flow s[j, i] -> s[j + 1, i] through a, distance (1, 0), carried by j",
        "flow s[j, i] -> s[j, i + 1] through a, distance (0, 1), carried by i",
    ]


def test_inames_on_hardware_axes_come_last_and_are_no_loops() -> None:
    knl = kernel("{ [i,t]: 1<=i<n and 0<=t<m }", "a[t+1,i] = a[t,i-1] {id=s}")
    knl = pg.tag_inames(knl, {"i": "g.0"})
    assert lines(knl) == ["flow s[t, i] -> s[t + 1, i + 1] through a, distance (1), carried by t"]


def test_what_is_known_of_parameters_counts() -> None:
    with pg.without_proofs():  # for m = -1, it touches a[-1]
        knl = kernel("{ [i]: 0<=i<n }", "a[i+m] = a[i] {id=s}")
    assert len(pg.dependences(knl)) == 2  # m may be negative
    assert lines(pg.assume(knl, "m >= n")) == []
    assert lines(pg.fix_parameters(knl, m=3)) == [
        "flow s[i] -> s[i + 3] through a, distance (3), carried by i"
    ]


def test_what_a_dependence_says() -> None:
    (flow,) = pg.dependences(textbook("skew"))
    assert (flow.source, flow.sink, flow.kind, flow.array) == ("s", "s", "flow", "a")
    assert (flow.loops, flow.distance, flow.direction) == (("i", "j"), (1, -1), ("<", ">"))
    assert flow.carried_by == "i"
    assert flow.certain
    expected = "[n] -> { s[i,j] -> s[i+1,j-1]: 1<=i<n-1 and 1<=j<n-1 }"
    assert flow.relation.is_equal(isl.Map(expected))
    names = [flow.relation.get_dim_name(isl.dim_type.out, p) for p in range(2)]
    assert names == ["i'", "j'"]
    assert pickle.loads(pickle.dumps(flow)) == flow  # noqa: S301  (made here)
    assert len({flow, pickle.loads(pickle.dumps(flow))}) == 1  # noqa: S301
    shown = "<flow s[i, j] -> s[i + 1, j - 1] through a, distance (1, -1), carried by i>"
    assert repr([flow]) == f"[{shown}]"


def test_a_distance_that_varies() -> None:
    text = "a[i,j] = 1 {id=s}\nb[i,j] = a[j,i] {id=u, dep=s}"
    knl = kernel("{ [i,j]: 0<=i,j<n }", text, loop_priority="i, j")
    found = [(d.kind, d.direction) for d in pg.dependences(knl)]
    # Element [x, y] is written in iteration (x, y), and read in (y, x), which may be earlier.
    assert found == [("flow", ("<", ">")), ("flow", ("=", "=")), ("anti", ("<", ">"))]
    text = "a[i] = b[i,j] {id=s}\nc[i,j] = a[j] {id=u, dep=s}"
    knl = kernel("{ [i,j]: 0<=i,j<n }", text, loop_priority="i, j")
    flows = [d for d in pg.dependences(knl, memory=True) if d.kind == "flow"]
    # a[x] is written in (x, any), and read in (any, x): later in an outer or the inner loop.
    assert [d.direction for d in flows] == [("<", "*"), ("=", "<"), ("=", "=")]


def test_through_nested_reductions() -> None:
    text = "b[0] = 1 {id=z}\nb[0] = sum(j, b[0]*sum(k, a[j,k])) {id=s, dep=z}"
    assert lines(kernel("{ [j,k]: 0<=j,k<n }", text)) == [
        "flow z -> s through b, loop-independent",
        "output z -> s through b, loop-independent",
    ]


def test_a_reduction_reads_in_the_course_of_its_loop() -> None:
    text = "t = a[k] {id=load, inames=k}\nb[0] = sum(k, t) {id=use, inames=, dep=*load}"
    t = pg.TemporaryVariable("t", "float64")
    assert lines(kernel("{ [k]: 0<=k<n }", text, t)) == [
        "output load[k] -> load[k + 1] through t, distance (1), carried by k",
        "flow load[k] -> use through t, distance (0), loop-independent",
        "anti use -> load[k] through t, distance (1), carried by k",
    ]


def test_a_tile_is_used_before_the_next_one_is_loaded() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<n }"],
        "b[i] = sum(k, a[i,k])  {id=row}",
        pg.GlobalArg("a", "float32", "n, n"),
        assumptions="n mod 4 = 0 and n >= 0",
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    knl = pg.add_prefetch(pg.split_iname(knl, "k", 4), "a", ["i_inner", "k_inner"])
    found = [(d.source, d.sink, d.kind, d.distance, d.carried_by) for d in pg.dependences(knl)]
    assert found == [
        ("a_fetch_rule", "a_fetch_rule", "output", (1,), "k_outer"),
        ("a_fetch_rule", "row", "flow", (0,), None),
        ("row", "a_fetch_rule", "anti", (1,), "k_outer"),
    ]


def test_what_rules_stand_for_is_read() -> None:
    text = "old(x,y) := a[x-1,y+1]\na[i,j] = old(i,j) + 1 {id=s}"
    knl = kernel("{ [i,j]: 1<=i<n and 0<=j<n-1 }", text, loop_priority="i, j")
    assert lines(knl) == TEXTBOOK["skew"][2]
    assert pg.explain_order(knl, "s", "s").endswith(str(pg.dependences(knl)[0]))
    assert {i: row.parallel for i, row in pg.parallel_inames(knl).items()} == {
        "i": False,
        "j": True,
    }


# --- temporaries


def scratch(space: str = "private") -> Kernel:
    return PATTERNS["private" if space == "private" else "local scalar"].kernel()


def test_a_scratch_variable_orders_nothing_but_its_own_iteration() -> None:
    assert lines(scratch()) == ["flow s[i] -> u[i] through t, distance (0), loop-independent"]
    carried = [d for d in pg.dependences(scratch(), memory=True) if d.carried_by == "i"]
    assert {(d.source, d.sink, d.kind) for d in carried} == {
        ("s", "s", "output"),
        ("s", "u", "flow"),
        ("u", "s", "anti"),
    }


def test_a_variable_that_carries_a_value_does_order_iterations() -> None:
    knl = PATTERNS["carried"].kernel()
    assert "flow u[i] -> s[i + 1] through t, distance (1), carried by i" in lines(knl)


def test_work_items_have_copies_of_their_own() -> None:
    private, local = (pg.tag_inames(scratch(), {"i": tag}) for tag in ("l.0", "g.0"))
    assert [
        d.relation.is_equal(isl.Map("[n] -> { s[i] -> u[i]: 0<=i<n }"))
        for d in pg.dependences(private, memory=True)
    ] == [True]
    assert len(pg.dependences(local, memory=True)) == 1


def test_what_nothing_reads_orders_nothing() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "t = a[i] {id=s, inames=i}", pg.TemporaryVariable("t"))
    assert lines(knl) == []
    assert lines(knl, memory=True) == ["output s[i] -> s[i'] through t, distance (<), carried by i"]


def test_what_nothing_orders_is_no_dependence() -> None:
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<n }", "a[i] = 1 {id=s}\na[i] = 2 {id=u}")
    assert lines(knl, memory=True) == []


# --- every pair


def check(knl: Kernel, sizes: Mapping[str, int], limits: Mapping[str, int]) -> int:
    """Compare all dependences of a kernel with its execution; return how many pairs there are."""
    traces = runs(knl, sizes, limits, 4)
    exact = {name for name in knl.writers if is_decided(knl, name)}
    temporaries = {t.name for t in knl.temporaries}
    found = listed(pg.dependences(knl, memory=True), sizes)
    expected = every_pair(knl, traces)
    assert expected <= found
    assert {f for f in found if f[1] in exact} <= expected
    direct = listed(pg.dependences(knl), sizes)
    expected = direct_pairs(traces[0])
    # Those of temporaries may be left out, except for what carries a value.
    assert {f for f in expected if f[0] == "flow" or f[1] not in temporaries} <= direct
    assert {f for f in direct if f[1] in exact} <= expected
    assert direct <= found
    # Whatever must come in an order does so through direct dependences.
    later = reachable(direct)
    assert all(y in later[x] for _, name, x, y in found if name in exact - temporaries)
    return len(expected)


def reachable(pairs: set[Found]) -> dict[Instance, set[Instance]]:
    """Return what comes after each instance, directly or through others."""
    after: dict[Instance, set[Instance]] = defaultdict(set)
    for _, _, x, y in pairs:
        after[x].add(y)
    found: dict[Instance, set[Instance]] = defaultdict(set)
    for start in after:
        pending = [start]
        while pending:
            new = after.get(pending.pop(), set()) - found[start]
            found[start] |= new
            pending += new
    return found


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - {"alias"}))
def test_patterns_beside_their_execution(name: str) -> None:
    knl = PATTERNS[name].kernel()
    for n in (0, 1, 3, 5):
        check(knl, dict.fromkeys(knl.parameters, n), PATTERNS[name].limits)


def ordered(seed: int) -> Kernel | None:
    """A random kernel, unless it has no order."""
    knl = Maker(seed).kernel()
    try:
        loop_tree(knl, quiet=True)
    except DependencyCycle:
        return None
    return knl


# The first ones in each run, the others in the deep ones.
STARTS = [0, *(pytest.param(start, marks=pytest.mark.deep) for start in range(30, 300, 30))]


def check_random(seeds: range) -> None:
    count = 0
    for knl in filter(None, map(ordered, seeds)):
        for n, m in ((3, 2), (2, 3), (4, 4)):
            count += check(knl, {"n": n, "m": m}, LIMITS)
    assert count > 10 * len(seeds)


@pytest.mark.parametrize("start", STARTS)
def test_random_kernels_beside_their_execution(start: int) -> None:
    check_random(range(start, start + 30))


@pytest.mark.deep
@pytest.mark.parametrize("start", range(1_000, 5_000, 250))
def test_thousands_of_random_kernels(start: int) -> None:
    check_random(range(start, start + 250))


@pytest.mark.parametrize("start", STARTS)
def test_random_kernels_on_axes_beside_their_execution(start: int) -> None:
    count = 0
    for seed in range(start, start + 30):
        knl, choose = ordered(seed), random.Random(seed)
        if knl is None:
            continue
        free = [i for i in knl.inames if not i.startswith("k")]
        some = choose.sample(free, choose.randint(1, len(free)))
        tags = dict(zip(some, choose.sample(("g.0", "l.0", "l.1"), 2), strict=False))
        with pg.without_proofs():
            knl = pg.tag_inames(knl, tags)
        sizes = {"n": 3, "m": 2}
        expected = every_pair(knl, runs(knl, sizes, LIMITS, 12))
        found = listed(pg.dependences(knl, memory=True), sizes)
        assert expected <= found
        assert {f for f in found if is_decided(knl, f[1])} <= expected
        assert listed(pg.dependences(knl), sizes) <= found
        count += len(expected)
    assert count > 100


# --- errors


def test_without_an_order_there_are_none() -> None:
    text = "a[i,j] = 1 {id=x}\nb[i] = 1 {id=y}\nc[j] = 1 {id=z}"
    with pg.without_proofs():
        knl = kernel("{ [i,j]: 0<=i,j<n }", text)
    with pytest.raises(NoLoopNest, match="no loop nest has one loop an iname"):
        pg.dependences(knl)


def test_isl_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i//2] = a[i-1] + 1")
    monkeypatch.setattr(proving, "MOST_OPERATIONS", 10)
    with pytest.raises(ProofLimit, match=r"dependences of kernel .* could not be found within"):
        pg.dependences(knl.copy(name="new"))
