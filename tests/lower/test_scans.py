"""Scans: reductions that are carried through the loops around them."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

import polygen as pg
from polygen.errors import ComputedAnew, NotAScan
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower, prepare
from polygen.lower.program import Loop, LoopProgram
from polygen.validation.validate import check
from tests.few import few
from tests.oracle.cases import (
    Step,
    grid,
    kernel,
    lowered,
    nodes,
    same,
    split,
    steps,
    tag,
)
from tests.oracle.compare import make_arguments, run_program, typed
from tests.oracle.interpreter import interpret

TRIANGLE = "{ [i,j]: 0<=i<n and 0<=j<=i }"
ROWS = "{ [r,i,j]: 0<=r<n and 0<=i<n and 0<=j<=i }"
SQUARE = pg.GlobalArg("a", shape=("n", "n"))


def agrees(knl: Kernel, sizes: Iterable[int], *variants: Step, seed: int = 0) -> None:
    """Check lowered kernels against what the kernel means; their loop programs are validated."""
    made: dict[Kernel, list[LoopProgram]] = {}  # the same for all sizes
    for n in sizes:
        arguments = make_arguments(knl, {"n": n}, seed)
        start = typed(knl, arguments)
        expected = interpret(start, arguments, seed).arrays
        if start not in made:
            made[start] = [p for step in (same, *variants) for p in _validated(step(start))]
        for program in made[start]:
            outcome = run_program(program, arguments, seed)
            for name, array in expected.items():
                np.testing.assert_array_equal(outcome.arrays[name], array, name, strict=True)


def _validated(knl: Kernel) -> Iterator[LoopProgram]:
    """Yield the loop programs of a kernel, one for each model."""
    new = prepare(knl)
    for model in Model:
        program = lower(new, model)
        check(new, program)
        yield program


def loops_over(knl: Kernel) -> list[str]:
    """Return the inames of the loops of a loop program."""
    return [node.iname for node in nodes(lowered(knl, Model.LOOPS)) if isinstance(node, Loop)]


@pytest.mark.parametrize(
    "operation", ["sum", "product", "min", "max", "any", "all", "sum<float64>"]
)
@few(2, "bounds", ["0<=j<=i", "0<=j<i", "0<=j<=i-2", "0<=j<=i and j<3", "1<=j<=i"])
def test_operations_and_bounds(operation: str, bounds: str) -> None:
    """Inclusive and exclusive, with an offset, and with an end."""
    text = f"b[i] = {operation}(j, a[j]*j + 1)"
    for domains in (
        f"{{ [i,j]: 0<=i<n and {bounds} }}",
        ["{ [i]: 0<=i<n }", f"{{ [j]: {bounds} }}"],
    ):
        knl = kernel(domains, text, pg.GlobalArg("b", shape="n"))
        assert loops_over(knl) == ["i"]
        agrees(knl, (0, 1, 2, 7), split("i", 4), steps(split("i", 2), split("i_outer", 2)))


@pytest.mark.parametrize(
    ("domains", "text", "loops"),
    [
        (ROWS, "b[r,i] = sum(j, a[r,j])", ["r", "i"]),
        (ROWS, "b[r,i] = sum(j, a[r,j]) - max(j, a[j,r])*min(j, j + r)", ["r", "i"]),
        (ROWS, "b[r,0] = max(i, sum(j, a[r,j]))", ["r", "i"]),
        (ROWS, "b[r,0] = sum(i, a[i,r]*max(j, a[r,j]) + min(j, a[j,r]))", ["r", "i"]),
        (ROWS, "b[i,r] = sum(j, a[r,j])  {if=a[r,r] > 0}", ["r", "i"]),
        (ROWS, "b[i,r] = if(a[r,r] > 0, sum(j, a[r,j]), 1)", ["r", "i"]),
        (TRIANGLE, "b[i,0] = sum(j, a[j,2*j-j]) / (1 + sum(j, 1))", ["i"]),
        ("{ [i,j]: 0<=i<n and -2<=j<=i-4 }", "b[i,0] = sum(j, a[j+2,0])", ["i"]),
        # Only the first iteration of the loop over r takes an element up.
        (
            "{ [i,r,j]: 0<=i<n and 0<=r<n and 0<=j<=i }",
            "b[i,0] = sum(r, r*sum(j, a[j,0]))",
            ["i", "r"],
        ),
        ("{ [i,j]: 3<=i<n and 3<=j<=i }", "b[i,0] = product(j, a[j,0])", ["i"]),
        ("{ [i,j]: 0<=i<n and 0<=j<=i and j<=2 }", "b[i,0] = sum(j, a[j,0])", ["i"]),
        (
            "{ [i,k,j]: 0<=i<n and 0<=k<3 and 0<=j<=3*i+k and 3*i+k<n }",
            "b[i,k] = sum(j, a[j,0])",
            ["i", "k"],
        ),
    ],
)
def test_is_carried(domains: str, text: str, loops: list[str]) -> None:
    knl = kernel(domains, text, SQUARE, pg.GlobalArg("b", shape=("n", "n+3")))
    assert loops_over(knl) == loops
    agrees(knl, (0, 1, 5, 6))


@pytest.mark.parametrize(
    ("domains", "text", "why"),
    [
        (TRIANGLE, "b[i] = sum(j, a[i-j])", "what it reduces depends on 'i'"),
        ("{ [i,j]: 0<=i<n and i<=j<n }", "b[i] = sum(j, a[j])", "takes what the one before took"),
        ("{ [i,j]: 0<=i<n and 0<=j<=i and i-3<=j }", "b[i] = sum(j, a[j])", "takes what the one"),
        ("{ [i,j]: 0<=i,j<n }", "b[i] = sum(j, a[j])", "does not depend on a loop around it"),
        ("{ [i,j]: 0<=i<n and 0<=n-1-j<=i }", "b[i] = sum(j, a[j])", "took, and then more"),
        (TRIANGLE, "b[i] = sum(j, a[j])  {if=a[i] > 0}", "under a condition that depends on 'i'"),
        ("{ [i,j]: 1<=i<n and 0<=j<i }", "b[i] = 1 + sum(j, b[j])", "depends on 'b', which 'insn'"),
        (
            "{ [i,j,k]: 0<=i<n and 0<=j<=i and 0<=k<n }",
            "b[i] = sum((j,k), a[j]*k)",
            "several inames",
        ),
        (
            "{ [i,j,k]: 0<=i<n and 0<=j<=i and 0<=k<n }",
            "b[i] = sum(j, sum(k, a[j]*k))",
            "inside of it",
        ),
    ],
)
def test_is_computed_anew(domains: str, text: str, why: str) -> None:
    knl = kernel(domains, text, pg.GlobalArg("b", shape="n"), pg.GlobalArg("a", shape="n"))
    assert "j" in loops_over(knl)
    agrees(knl, (0, 1, 6))
    with pytest.raises(NotAScan, match=why) as caught:
        lowered(pg.set_options(knl, force_scan=True))
    assert "remedy: change the bounds" in str(caught.value)


def test_outside_of_another_loop() -> None:
    """With r inside of i, each r would need an accumulator of its own."""
    knl = kernel(ROWS, "b[r,i] = sum(j, a[r,j])", SQUARE, loop_priority="i, r")
    assert loops_over(knl) == ["i", "r", "j"]
    agrees(knl, (5,))
    assert loops_over(pg.prioritize_loops(knl, "r, i")) == ["r", "i"]


def test_beside_others_in_its_loops() -> None:
    """Others stand before it, read what it writes, and are scans themselves."""
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", "{ [k]: 0<=k<=i }"],
        """
        c[i] = 2*a[i]                {id=c}
        b[i] = sum(j, a[j]) + c[i]   {id=b}
        d[i] = max(k, a[k]) - b[i]
        """,
        pg.GlobalArg("a", shape="n"),
    )
    assert loops_over(knl) == ["i"]
    agrees(knl, (0, 1, 6), split("i", 4))


def test_what_is_written_in_the_loop() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"],
        "c[i] = 2*a[i]\nb[i] = sum(j, c[j])",
        pg.GlobalArg("c", shape="n"),
    )
    assert loops_over(knl) == ["i"]
    agrees(knl, (0, 1, 6), split("i", 4))


def test_a_scan_of_a_scan() -> None:
    text = "c[i] = sum(j, a[j])\nb[i] = sum(k, c[k])"
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", "{ [k]: 0<=k<=i }"]
    knl = kernel(domains, text, pg.GlobalArg("c", shape="n"))
    assert loops_over(knl) == ["i"]
    agrees(knl, (0, 1, 6))


@pytest.mark.parametrize(
    "text",
    [
        "b[i] = sum(j, c[j])  {id=sum, dep=*}\nc[i] = 2*a[i]  {dep=sum}",
        "c[i//2] = 2*a[i]  {id=write}\nb[i] = sum(j, c[j])  {dep=write}",
        "c[n-1-i] = 2*a[i]  {id=write}\nb[i] = sum(j, c[j])  {dep=write}",
    ],
)
def test_what_is_written_after_it_was_taken_is_read_anew(text: str) -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"]
    knl = kernel(domains, text, pg.GlobalArg("c", shape="n"))
    assert loops_over(knl) == ["i", "j"]
    agrees(knl, (6,))
    with pytest.raises(NotAScan, match=r"it depends on 'c', which '.*' writes in the loop of 'i'"):
        lowered(pg.set_options(knl, force_scan=True))


@pytest.mark.parametrize(
    ("domains", "loops"),
    [
        ("{ [i,j]: 0<=i<n and 0<=j<=2*i and j<n }", ["i", "j_0"]),
        ("{ [i,j]: 2<=i<n and 0<=j<=i }", ["i", "j_0"]),
        ("{ [i,j]: 0<=3*i<n and 0<=j<3*i }", ["i", "j_0"]),
        (["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n and j<=3*i + 4 }"], ["i", "j_0"]),
    ],
)
@pytest.mark.parametrize("operation", ["sum", "max", "argmin"])
def test_several_elements_in_an_iteration(domains: str, loops: list[str], operation: str) -> None:
    text = f"b[i] = {operation}(j, a[j]{', j' if operation == 'argmin' else ''})"
    text = text.replace("b[i] =", "b[i], c[i] =") if operation == "argmin" else text
    knl = kernel(domains, text, pg.GlobalArg("b", shape="n"), pg.GlobalArg("a", shape="n"))
    assert loops_over(knl) == loops
    agrees(knl, (0, 1, 6, 7))


def test_each_element_is_counted_once() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<=2*i }", "b[i] = sum(j, a[j])")
    knl = pg.add_dtypes(knl, {"a": "float64"})
    loads = pg.get_mem_access_map(knl).filter_by(direction=["load"], variable=["a"])
    assert loads.eval_and_sum({"n": 10}) == 19


def test_arrays_that_may_overlap() -> None:
    a = pg.GlobalArg("a", shape="n", may_alias=True)
    knl = kernel(TRIANGLE, "b[i] = sum(j, a[j])", a)
    assert loops_over(knl) == ["i", "j"]


def test_in_the_loop_of_another_instruction() -> None:
    knl = kernel(TRIANGLE, "b[i] = sum(j, a[j])\nc[i,j] = a[j]  {dep=*}")
    assert loops_over(knl).count("j") >= 1
    with pytest.raises(NotAScan, match="instruction 'insn_0' is in its loop, too"):
        lowered(pg.set_options(knl, force_scan=True))


@pytest.mark.parametrize("step", [grid("i", 4), tag(i="g.0")])
def test_on_a_hardware_axis(step: Step) -> None:
    """The work items compute it anew, with a warning: they do not wait for each other."""
    knl = step(pg.make_kernel(TRIANGLE, "b[i] = sum(j, a[j])"))
    with pytest.warns(ComputedAnew, match=r"'sum\(j, a\[j\]\)' is computed anew for each value of"):
        program = lowered(knl)
    assert "j" in [node.iname for node in nodes(program) if isinstance(node, Loop)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silent = pg.set_options(knl, silenced_warnings=["ComputedAnew"])
        agrees(silent, (0, 1, 6))
        with pytest.raises(
            NotAScan, match="through which it would be carried, is on a hardware axis"
        ):
            lowered(pg.set_options(silent, force_scan=True))


def test_rows_on_a_hardware_axis() -> None:
    """Each work item carries a sum through a row of its own."""
    knl = kernel(ROWS, "b[r,i] = sum(j, a[r,j])", SQUARE)
    new = steps(grid("r", 4), split("i", 3))(knl)
    assert "j" not in [node.iname for node in nodes(lowered(new)) if isinstance(node, Loop)]
    agrees(knl, (0, 1, 5, 9), grid("r", 4), steps(grid("r", 4), split("i", 3)), tag(r="g.0"))


def test_where_the_whole_grid_waits() -> None:
    """Nothing private lives on when a launch ends."""
    knl = kernel(
        ["{ [t]: 0<=t<n }", "{ [i]: 0<=i<n }", "{ [s]: 0<=s<=t }"],
        """
        x[t+1,i] = x[t,n-1-i] + 1   {id=x}
        ... gbarrier                {id=wait, dep=x, inames=t}
        y[t] = sum(s, w[s])         {id=y, dep=wait}
        """,
        pg.GlobalArg("x", shape=("n+1", "n")),
        pg.GlobalArg("w", shape="n"),
        loop_priority="t, i",
    )
    assert loops_over(knl) == ["t", "i"]  # there is no grid yet
    assert "s" in loops_over(tag(i="g.0")(knl))
    agrees(knl, (0, 1, 4), tag(i="g.0"), grid("i", 2))
    with pytest.raises(NotAScan, match="the whole grid has to wait in the loop of 't'"):
        lowered(pg.set_options(tag(i="g.0")(knl), force_scan=True))


def test_unrolled() -> None:
    knl = kernel("{ [i,j]: 0<=i<5 and 0<=j<=i }", "b[i] = sum(j, a[j])*max(j, a[4-j])")
    assert loops_over(pg.tag_inames(knl, {"i": "unr"})) == []
    agrees(knl, (0,), tag(i="unr"), steps(split("i", 2, inner_tag="unr")))


def test_the_same_to_the_last_digit() -> None:
    """A scan adds up in the order in which the reduction would: no sum is rounded otherwise."""
    knl = pg.add_dtypes(kernel(TRIANGLE, "b[i] = sum(j, a[j])"), {"a": np.float32})
    a = np.random.default_rng(1).normal(size=40).astype(np.float32)
    wanted = [sum(a[: i + 1], np.float32(0)) for i in range(40)]
    arguments = {"a": a, "b": np.zeros(40, np.float32), "n": 40}
    found = run_program(lower(prepare(knl), Model.LOOPS), arguments).arrays["b"]
    np.testing.assert_array_equal(found, np.array(wanted, np.float32))


def _random_case(choices: random.Random) -> tuple[Kernel, Step]:
    """Return a kernel with reductions whose bounds depend on loops, and a step for it."""
    low = choices.choice(["0", "0", "0", "1", "-1", "i-2"])
    high = choices.choice(
        ["i", "i", "i", "i-1", "i-1", "i+1", "2*i", "n-1-i", "i and j < 4", "r+i"]
    )
    first = choices.choice(["0", "0", "0", "1"])
    domain = f"{{ [r,i,j]: 0<=r<n and {first}<=i<n and {low}<=j<={high} and -1<=j<=n }}"
    operand = choices.choice(
        ["a[r,j+1]", "a[r,j+1] - 1", "a[r,j+1]*j", "a[i,j+1]", "a[j+1,r]", "j"]
    )
    operation = choices.choice(["sum", "max", "min", "any", "product"])
    inner = f"{operation}(j, {operand})"
    text = choices.choice(
        [
            f"b[r,i] = {inner} + sum(j, a[r,j+1])",
            f"b[r,0] = max(i, {inner})",
            f"b[r,i] = if(r > 0, {inner}, 2)",
            f"b[r,i] = {inner}  {{if=r < 3}}",
            f"c[r,i] = 2*a[r,i]\nb[r,i] = {inner} + c[r,i]",
        ]
    )
    order = choices.choice(["r, i", "r, i", "r, i", "i, r"])
    data = pg.GlobalArg("a", shape=("n+2", "n+2")), pg.GlobalArg("b", shape=("n", "n"))
    step = choices.choice([same, split("i", 2), split("i", 3, inner_tag="unr"), grid("r", 2)])
    reduces_i = "max(i" in text
    return kernel(domain, text, *data, loop_priority=() if reduces_i else order), step


@pytest.mark.parametrize("start", [0, pytest.param(30, marks=pytest.mark.deep)])
def test_random_bounds(start: int) -> None:
    """Carried or computed anew, it is what the kernel means, and so are the loop programs."""
    carried = 0
    for seed in range(start, start + 30):
        knl, step = _random_case(random.Random(seed))
        carried += "j" not in loops_over(knl)
        agrees(knl, (1, 4), step, seed=seed)
    assert 5 < carried < 25
