"""When loops carry dependences: compared with pairs of instances, one by one, for small sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.dataflow.carried_conditions import carried_conditions
from polygen.ir.kernel import Kernel

Point = tuple[int, ...]
Sizes = Mapping[str, int]
# Per statement: what it writes, and what it reads; an element is (array, subscripts).
Touch = Callable[[Sizes, Point], tuple[tuple[str, Point], Sequence[tuple[str, Point]]]]


@dataclass(frozen=True)
class Case:
    """A nest, once as a kernel and once as Python.

    Attributes:
        domain, text, arrays, assumptions: the kernel's; shapes by array.
        loops: the inames, outermost first.
        ranges: the values of each loop, given those outside.
        touch: what each statement touches, in order.
        values: the values of each size to try.
        holds: the assumptions again.
    """

    domain: str
    text: str
    arrays: Mapping[str, str]
    assumptions: str
    loops: tuple[str, ...]
    ranges: Callable[[Sizes, Point], range]
    touch: Sequence[Touch]
    values: Mapping[str, Sequence[int]]
    holds: Callable[[Sizes], bool]

    def kernel(self) -> Kernel:
        arrays = [pg.GlobalArg(a, np.float64, shape=s) for a, s in self.arrays.items()]
        return pg.make_kernel(
            self.domain,
            f"for {', '.join(self.loops)}\n{self.text}\nend",
            [*arrays, "..."],
            assumptions=self.assumptions,
            seq_dependencies=True,
            loop_priority=", ".join(self.loops) if len(self.loops) > 1 else None,
        )

    def sizes(self) -> Iterator[dict[str, int]]:
        for found in product(*self.values.values()):
            sizes = dict(zip(self.values, found, strict=True))
            if self.holds(sizes):
                yield sizes

    def instances(self, sizes: Sizes, outer: Point = ()) -> Iterator[Point]:
        if len(outer) == len(self.loops):
            yield outer
            return
        for value in self.ranges(sizes, outer):
            yield from self.instances(sizes, (*outer, value))

    def runs_twice(self, sizes: Sizes, depth: int) -> bool:
        outer = Counter({p[: depth + 1]: p[:depth] for p in self.instances(sizes)}.values())
        return max(outer.values(), default=0) > 1

    def carried(self, sizes: Sizes) -> dict[str, set[str]]:
        """Return the kinds of dependence that each loop carries: every two instances are tried."""
        found: dict[str, set[str]] = {loop: set() for loop in self.loops}
        points = list(self.instances(sizes))
        for at, first in enumerate(points):
            for second in points[at + 1 :]:
                depth = next(
                    d for d, (x, y) in enumerate(zip(first, second, strict=True)) if x != y
                )
                for a, b in product(self.touch, repeat=2):
                    (written, read), (overwritten, later) = a(sizes, first), b(sizes, second)
                    kinds = found[self.loops[depth]]
                    kinds |= {"flow"} if written in later else set()
                    kinds |= {"anti"} if overwritten in read else set()
                    kinds |= {"output"} if written == overwritten else set()
        return found


CASES = {
    "shift by k": Case(
        "{ [i]: 0<=i<n }",
        "a[i + k + s] = a[i + s] + b[i]",
        {"a": "m", "b": "n"},
        "0<=s and 0<=s+k and s+n<=m and s+k+n<=m",
        ("i",),
        lambda v, _: range(v["n"]),
        [lambda v, p: (("a", (p[0] + v["k"],)), [("a", (p[0],))])],
        {"n": range(6), "k": range(-7, 8), "s": [8], "m": [24]},
        lambda v: True,
    ),
    "two shifts": Case(
        "{ [i]: 0<=i<n }",
        "a[i + k + s] = b[i]\nc[i] = a[i + q + s]",
        {"a": "m", "b": "n", "c": "n"},
        "0<=s+q and 0<=s+k and s+q+n<=m and s+k+n<=m",
        ("i",),
        lambda v, _: range(v["n"]),
        [
            lambda v, p: (("a", (p[0] + v["k"],)), []),
            lambda v, p: (("c", p), [("a", (p[0] + v["q"],))]),
        ],
        {"n": range(1, 4), "k": range(-3, 4), "q": range(-3, 4), "s": [8], "m": [24]},
        lambda v: True,
    ),
    "two dimensions": Case(
        "{ [i,j]: 0<=i<n and 0<=j<n }",
        "a[i + p, j + q] = a[i, j + 5] + 1",
        {"a": "n + 5, n + 12"},
        "0<=p<=5 and 0<=q<=12 and n>=0",
        ("i", "j"),
        lambda v, _: range(v["n"]),
        [lambda v, p: (("a", (p[0] + v["p"], p[1] + v["q"])), [("a", (p[0], p[1] + 5))])],
        {"n": range(4), "p": range(4), "q": range(11)},
        lambda v: True,
    ),
    "triangle": Case(
        "{ [i,j]: 0<=i<n and 0<=j<i }",
        "x[i] = x[i] - l[i, j]*x[j + k]",
        {"x": "n + 3", "l": "n, n"},
        "n>=1 and 0<=k<=3",
        ("i", "j"),
        lambda v, p: range(p[0]) if p else range(v["n"]),
        [lambda v, p: (("x", p[:1]), [("x", p[:1]), ("x", (p[1] + v["k"],))])],
        {"n": range(1, 6), "k": range(4)},
        lambda v: True,
    ),
    "reversed": Case(
        "{ [i]: 0<=i<n }",
        "a[i] = a[c - i] + 1",
        {"a": "c + 1"},
        "n>=0 and c>=n - 1 and c>=0",
        ("i",),
        lambda v, _: range(v["n"]),
        [lambda v, p: (("a", p), [("a", (v["c"] - p[0],))])],
        {"n": range(7), "c": range(14)},
        lambda v: v["c"] >= v["n"] - 1,
    ),
    "a row for all": Case(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "a[i, j] = a[r, j] + 1",
        {"a": "n, m"},
        "0<=r<n",
        ("i", "j"),
        lambda v, p: range(v["m"]) if p else range(v["n"]),
        [lambda v, p: (("a", p), [("a", (v["r"], p[1]))])],
        {"n": range(1, 5), "m": range(3), "r": range(5)},
        lambda v: v["r"] < v["n"],
    ),
    "strides": Case(
        "{ [i]: 0<=i<n }",
        "a[2*i + s] = a[4*i + t]",
        {"a": "m"},
        "n>=0 and 0<=s and 0<=t and 2*n+s<=m and 4*n+t<=m",
        ("i",),
        lambda v, _: range(v["n"]),
        [lambda v, p: (("a", (2 * p[0] + v["s"],)), [("a", (4 * p[0] + v["t"],))])],
        {"n": range(5), "s": range(7), "t": range(7), "m": [60]},
        lambda v: True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_against_every_pair(name: str) -> None:
    case = CASES[name]
    found = carried_conditions(case.kernel())
    answers = set[tuple[bool, bool]]()
    for sizes in case.sizes():
        for loop, kinds in case.carried(sizes).items():
            row = found[loop]
            if not case.runs_twice(sizes, case.loops.index(loop)):
                continue  # of one iteration, nothing is said
            assert row.parallel.among(sizes) is not bool(kinds), sizes
            assert row.unless_data == row.parallel
            assert row.with_old_values.among(sizes) is (kinds <= {"anti"}), sizes
            seen = {c.dependence.kind for c in row.carried if c.when.among(sizes)}
            assert seen <= kinds
            assert bool(seen) is bool(kinds)
            answers.add((not kinds, kinds <= {"anti"}))
    assert len(answers) > 1  # the sizes tried tell


def test_closed_forms() -> None:
    row = carried_conditions(CASES["shift by k"].kernel())["i"]
    assert str(row.parallel) == "k + n <= 0 or n <= k or k == 0"
    assert str(row.only_with_old_values) == "k + n >= 1 and k <= -1"
    assert row.overwritten == {"a": ("insn",)}
    assert [(c.dependence.kind, c.distance, str(c.when)) for c in row.carried] == [
        ("flow", ("k",), "k >= 1 and k < n"),
        ("anti", ("-k",), "k + n >= 1 and k <= -1"),
    ]
    text = "through a, distance (k), carried by i, if k >= 1 and k < n"
    assert str(row.carried[0]).endswith(text)


def test_distances_in_two_dimensions() -> None:
    rows = carried_conditions(CASES["two dimensions"].kernel())
    assert [c.distance for c in rows["i"].carried] == [("p", "q - 5")] or [
        c.distance for c in rows["i"].carried
    ] == [("p", "-5 + q")]
    assert rows["j"].parallel.holds(p=1, q=6, n=10)
    assert not rows["j"].parallel.holds(p=0, q=6, n=10)


def test_what_is_always_and_never() -> None:
    knl = pg.make_kernel(
        "{ [t,i]: 0<=t<n and 1<=i<n }", "a[t+1,i] = a[t,i-1] + a[t,i+1]", loop_priority="t, i"
    )
    rows = carried_conditions(knl)
    assert rows["i"].parallel.is_always
    # For n = 2, i is 1 alone: what is read is in columns 0 and 2.
    assert str(rows["t"].parallel) == "n <= 2"
    line = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1]")
    assert carried_conditions(line)["i"].parallel.is_never  # for n = 2, there is but one iteration


def test_what_data_decides() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "a[index[i]] = b[i]", [pg.GlobalArg("a", shape="n"), "..."]
    )
    row = carried_conditions(knl)["i"]
    assert row.parallel.is_never
    assert row.unless_data.is_always


def test_a_product_of_sizes_in_a_subscript_counts_as_any() -> None:
    with pg.without_proofs():  # the product may be anything
        knl = pg.make_kernel(
            "{ [i]: 0<=i<n }",
            "a[i*s] = a[i] + 1",
            [pg.GlobalArg("a", np.float64, shape="m"), "..."],
            assumptions="0<=n<=m and s>=0",
        )
    row = carried_conditions(knl)["i"]
    assert row.parallel.is_never
    assert all(not c.dependence.certain for c in row.carried)


def test_temporaries_of_one_iteration_are_no_matter() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "<> t = 2*a[i]\nb[i] = t + t*t")
    assert carried_conditions(knl)["i"].parallel.is_always
