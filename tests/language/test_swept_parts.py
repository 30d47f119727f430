"""Parts of arrays whose names are inames begin where those loops do: NumPy, by brute force."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.ir.kernel import Kernel
from tests.oracle.cases import QUIET

TWICE = pg.make_function("{ [k]: 0<=k<m }", "y[k] = 2*x[k] + 1", ["m", "x", "y"], name="twice")
ADDED = pg.make_function(
    "{ [k, l]: 0<=k<m and 0<=l<w }",
    "y[k, l] = y[k, l] + 3*x[l, k]",
    ["m", "w", "x", "y"],
    name="added",
    silenced_warnings=QUIET,
)
FUNCTIONS = {"twice": TWICE, "added": ADDED}
LINE = (pg.GlobalArg("x", np.float64, 40), pg.GlobalArg("y", np.float64, 40))
TABLE = (pg.GlobalArg("x", np.float64, 40), pg.GlobalArg("y", np.float64, (6, 40)))


def make(domains: Any, text: str, *data: Any, **options: Any) -> Kernel:
    return pg.make_kernel(
        domains, text, [*data, "..."], functions=FUNCTIONS, silenced_warnings=QUIET, **options
    )


def both(knl: Kernel) -> Iterator[Kernel]:
    """Yield a kernel that calls functions, and one in which they are inlined."""
    yield knl
    for name in dict.fromkeys(call.function for call in knl.calls):
        knl = pg.inline_callable_kernel(knl, name)
    yield knl


# --- named cases: which element of `y` becomes which one of `x`, for a size

Pairs = Callable[[int], list[tuple[Any, int]]]
# Each is a call in a kernel of all; ``@`` makes names its own.
CASES: dict[str, tuple[list[str], str, Pairs]] = {
    "constant": (
        ["[i@]: 4<=i@<7"],
        "[i@]: y@[0, i@] = twice(3, [i@]: x[i@])",
        lambda _: [((0, i), i) for i in range(4, 7)],
    ),
    "other subscripts": (
        ["[i@]: 4<=i@<7"],
        "[i@]: y@[0, 2*i@ + 1] = twice(3, [i@]: x[20 - 3*i@])",
        lambda _: [((0, 2 * i + 1), 20 - 3 * i) for i in range(4, 7)],
    ),
    "below 0": (
        ["[i@]: -3<=i@<5"],
        "[i@]: y@[0, i@ + 3] = twice(8, [i@]: x[4 - i@])",
        lambda _: [((0, i + 3), 4 - i) for i in range(-3, 5)],
    ),
    "a size": (
        ["[i@]: n-1<=i@<3*n"],
        "[i@]: y@[0, i@] = twice(2*n + 1, [i@]: x[i@])",
        lambda n: [((0, i), i) for i in range(n - 1, 3 * n)],
    ),
    "the larger of two": (
        ["[i@]: 0<=i@<n+3 and n-4<=i@"],
        "[i@]: y@[0, i@] = twice(3, [i@]: x[2*i@])",
        lambda n: [((0, i), 2 * i) for i in range(max(0, n - 4), max(0, n - 4) + 3)],
    ),
    "strides": (
        ["[i@]: n<=i@<n+9 and i@ mod 3 = 1"],
        "[i@]: y@[0, i@] = twice(3, [i@]: x[i@ - 1])",
        lambda n: [((0, i), i - 1) for i in range(n, n + 9) if i % 3 == 1],
    ),
    "a triangle": (
        ["[i@, j@]: 0<=i@<6 and i@<=j@<2*i@+2"],
        "[j@]: y@[i@, j@] = twice(i@ + 2, [j@]: x[j@ + 2])",
        lambda _: [((i, j), j + 2) for i in range(6) for j in range(i, 2 * i + 2)],
    ),
    "a domain of its own": (
        ["[i@]: 0<=i@<6", "[j@]: i@+1<=j@<i@+4"],
        "[j@]: y@[i@, j@] = twice(3, [j@]: x[i@ + j@])",
        lambda _: [((i, j), i + j) for i in range(6) for j in range(i + 1, i + 4)],
    ),
    "for each value of the loop itself": (
        ["[i@, j@]: 0<=i@<6 and 2<=j@<5"],
        "[j@]: y@[i@, j@] = twice(3, [j@]: x[j@])  {inames=i@:j@}",
        lambda _: [((i, j), j) for i in range(6) for j in range(2, 5)],
    ),
    "the least of a loop that it is not in": (
        ["[i@, j@]: 2<=i@<6 and i@<=j@<8"],
        "[j@]: y@[3, j@] = twice(6, [j@]: x[j@])",
        lambda _: [((3, j), j) for j in range(2, 8)],
    ),
    "no iname": (
        ["[i@]: 2<=i@<6"],
        "[p]: y@[i@, p + 3] = twice(4, [p]: x[p])",
        lambda _: [((i, p + 3), p) for i in range(2, 6) for p in range(4)],
    ),
    "one value": (
        ["[i@]: 7<=i@<8"],
        "[i@]: y@[0, i@] = twice(1, [i@]: x[i@])",
        lambda _: [((0, 7), 7)],
    ),
}
SIZES = (1, 2, 6)


@cache
def found(size: int, *, inlined: bool) -> dict[str, Any]:
    """Return what a kernel of all cases makes of arrays of zeros."""
    values: dict[str, Any] = {f"y{at}": np.zeros((6, 40)) for at in range(len(CASES))}
    runs()[inlined](x=np.arange(40.0), n=size, **values)
    return values


@cache
def runs() -> list[Any]:
    domains = [
        f"{{ {d} }}".replace("@", str(at)) for at, c in enumerate(CASES.values()) for d in c[0]
    ]
    lines = [case[1].replace("@", str(at)) for at, case in enumerate(CASES.values())]
    arrays = [pg.GlobalArg(f"y{at}", np.float64, (6, 40)) for at in range(len(CASES))]
    knl = make(domains, "\n".join(lines), LINE[0], *arrays, assumptions="1 <= n <= 6")
    assert pg.parse_kernel(str(knl)) == knl
    return [way.executor("c") for way in both(knl)]


@pytest.mark.parametrize("inlined", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_where_a_part_begins(case: str, inlined: bool) -> None:
    for size in SIZES:
        expected = np.zeros((6, 40))
        for there, here in CASES[case][2](size):
            expected[there] = 2 * here + 1
        name = f"y{list(CASES).index(case)}"
        np.testing.assert_array_equal(found(size, inlined=inlined)[name], expected)


def test_a_beginning_that_is_data() -> None:
    knl = make(
        ["{ [i]: 0<=i<6 }", "{ [j]: first<=j<first+4 }"],
        "<> first = p[i]  {id=first}\n[j]: y[i, j] = twice(4, [j]: x[2*j])  {id=call, inames=i}",
        pg.GlobalArg("p", np.int32, 6),
        *TABLE,
    )
    assert knl.instruction("call").depends_on == {"first"}
    x, p = np.random.default_rng(0).random(40), np.array([3, 0, 16, 5, 2, 1], np.int32)
    expected = np.zeros((6, 40))
    for i, first in enumerate(p):
        for j in range(first, first + 4):
            expected[i, j] = 2 * x[2 * j] + 1
    for way in both(knl):
        y = np.zeros((6, 40))
        way.executor("c")(x=x, y=y, p=p)
        np.testing.assert_array_equal(y, expected)


def test_what_is_printed() -> None:
    knl = make("{ [i]: 4<=i<7 }", "[i]: y[i] = twice(3, [i]: x[2*i])", *LINE)
    assert "[_i]: y[_i + 4] = twice(3, [_i]: x[2*_i + 8])" in str(knl)
    again = make("{ [i]: 4<=i<7 }", "[_i]: y[_i + 4] = twice(3, [_i]: x[2*_i + 8])", *LINE)
    assert again == knl
    # What is taken as it is, is not moved again.
    taken = pg.make_kernel("{ [i]: 4<=i<7 }", list(knl.instructions), [*LINE])
    assert taken.instructions == knl.instructions


def test_its_name_is_free() -> None:
    text = "[i]: y[i] = twice(3, [i]: x[i])  {id=call}\nz[_i] = 1"
    knl = make(["{ [i]: 4<=i<7 }", "{ [_i]: 0<=_i<40 }"], text, *LINE)
    assert "[_i_0]: y[_i_0 + 4]" in str(knl)


def test_a_callee_that_is_merged_later() -> None:
    rows = pg.make_kernel("{ [i]: 4<=i<7 }", "[i]: y[i] = late([i]: x[i])", [*LINE], name="rows")
    late = pg.make_function("{ [k]: 0<=k<3 }", "y[k] = 2*x[k]", name="late")
    x = np.arange(40.0)
    y = np.zeros(40)
    pg.merge([rows, late])["rows"].executor("c")(x=x, y=y)
    expected = np.zeros(40)
    expected[4:7] = 2 * x[4:7]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("domains", "text", "says"),
    [
        (
            "{ [i]: 0<=i<7 and i != 3 }",
            "[i]: y[i] = twice(3, [i]: x[i])",
            "begins where a loop does, and the values of 'i' are not equally far apart",
        ),
        (
            ["{ [r]: 0<=r<3 }", "{ [i]: first<=i<first+3 }"],
            "<> first = 2*r  {id=f}\n[i]: y[i] = twice(3, [i]: x[i])  {inames=, dep=*f}",
            "'first' says, which is computed in loops that the call is not in: r",
        ),
    ],
)
def test_beginnings_that_are_none(domains: Any, text: str, says: str) -> None:
    with pytest.raises(errors.MalformedInstruction) as caught:
        make(domains, text, *LINE)
    assert says in str(caught.value)
    assert "[_i]: x[_i + 4]" in str(caught.value.remedy)


# --- random calls, many in a kernel


Effect: TypeAlias = Callable[[int, dict[str, Any]], None]


@dataclass
class Program:
    """Random calls, and what they do."""

    random: random.Random
    domains: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    effects: list[Effect] = field(default_factory=list[Effect])

    def loop(self, name: str, outer: str) -> Callable[[int, int], list[int]]:
        """Add a loop; return its values for a size and a value of the loop around."""
        r = self.random
        a, b, c = r.randrange(-3, 6), r.choice([0, 0, 1, 2]), r.choice([0, 1, 2]) if outer else 0
        least = r.choice([None, r.randrange(0, 9)])
        step = r.choice([1, 1, 2, 3])
        rest = r.randrange(step)
        count = r.randrange(1, 6)
        first = f"{a} + {b}*n" + (f" + {c}*{outer}" if outer else "")
        said = f"{first} <= {name} < {first} + {step * count + 15}"
        said += f" and ({name} - {rest}) mod {step} = 0"
        said += "" if least is None else f" and {least} <= {name}"
        self.domains.append(f"{{ [{name}]: {said} }}")

        def values(n: int, around: int) -> list[int]:
            low = a + b * n + c * around
            all_values = range(low, low + step * count + 15)
            kept = [v for v in all_values if (v - rest) % step == 0]
            return [v for v in kept if least is None or v >= least]

        return values

    def subscript(self, name: str) -> tuple[str, Callable[[int], int]]:
        """Return a random subscript that is never outside of an axis of 200."""
        factor = self.random.choice([1, 1, 2, 3, -1, -2])
        shift = 100 + self.random.randrange(-5, 6)
        shown = f"{shift} + {name}*{factor}" if factor > 0 else f"{shift} - {-factor}*{name}"
        return shown, lambda v: factor * v + shift

    def add(self) -> None:
        """Add a call to an array of its own, in a loop or not, along one axis or two."""
        at, r = len(self.lines), self.random
        outer = f"r{at}" if r.random() < 0.5 else ""
        rows = range(r.randrange(3), 4)
        if outer:
            self.domains.append(f"{{ [{outer}]: {rows.start} <= {outer} < 4 }}")
        (self._along_one if r.random() < 0.6 else self._along_two)(at, outer, rows)

    def _array(self, name: str, *shape: int) -> None:
        self.shapes[name] = shape

    def _along_one(self, at: int, outer: str, rows: range) -> None:
        values = self.loop(f"i{at}", outer)
        (to, target), (of, source) = self.subscript(f"i{at}"), self.subscript(f"i{at}")
        self._array(f"y{at}", 4, 200)
        row, count = outer or "2", self.random.randrange(0, 3)
        self.lines.append(f"[i{at}]: y{at}[{row}, {to}] = twice({count}, [i{at}]: x[{of}])")

        def effect(n: int, memory: dict[str, Any]) -> None:
            for around in rows if outer else (2,):
                for v in values(n, around)[:count]:
                    memory[f"y{at}"][around, target(v)] = 2 * memory["x"][source(v)] + 1

        self.effects.append(effect)

    def _along_two(self, at: int, outer: str, rows: range) -> None:
        values = [self.loop(f"{x}{at}", outer) for x in "ij"]
        (to, target), (of, source) = self.subscript(f"i{at}"), self.subscript(f"j{at}")
        (to2, target2), (of2, source2) = self.subscript(f"j{at}"), self.subscript(f"i{at}")
        self._array(f"y{at}", 4, 200, 200)
        row = outer or "1"
        part = f"[i{at}, j{at}]: y{at}[{row}, {to}, {to2}]"
        given = f"2, 1, [j{at}, i{at}]: z[{of}, {of2}], {part}"
        self.lines.append(f"{part} = added({given})")

        def effect(n: int, memory: dict[str, Any]) -> None:
            for around in rows if outer else (1,):
                for i in values[0](n, around)[:2]:
                    for j in values[1](n, around)[:1]:
                        new = 3 * memory["z"][source(j), source2(i)]
                        memory[f"y{at}"][around, target(i), target2(j)] += new

        self.effects.append(effect)


def check(seed: int, calls: int) -> None:
    program = Program(random.Random(seed))
    for _ in range(calls):
        program.add()
    shapes = {**program.shapes, "x": (200,), "z": (200, 200)}
    data = [pg.GlobalArg(name, np.float64, shape) for name, shape in shapes.items()]
    knl = make(program.domains, "\n".join(program.lines), *data, assumptions="0 <= n <= 3")
    assert pg.parse_kernel(str(knl)) == knl
    rng = np.random.default_rng(seed)
    for way in both(knl):
        run = way.executor("c")
        for n in (0, 1, 3):
            memory: dict[str, Any] = {
                name: rng.integers(-9, 9, shape).astype(float) for name, shape in shapes.items()
            }
            expected = {name: array.copy() for name, array in memory.items()}
            run(**memory, n=n)
            for effect in program.effects:
                effect(n, expected)
            for name, array in memory.items():
                np.testing.assert_array_equal(array, expected[name], f"{seed}: {name}")


@pytest.mark.parametrize("seed", range(2))
def test_random_calls(seed: int) -> None:
    check(seed, 8)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2, 200))
def test_many_random_calls(seed: int) -> None:
    check(seed, 12)
