"""Counts of loops that a condition ends: with the number of iterations that the caller says."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, MissingArgument, NotCountable
from tests.few import few

SHARED = pg.GlobalArg("left", np.int32, shape="1")


def made(domains: list[str], text: str, *data: Any, **options: Any) -> pg.Kernel:
    knl = pg.make_kernel(domains, text, [*data, "..."], seq_dependencies=True, **options)
    return pg.add_dtypes(knl, {name: np.float64 for name in "abx" if name in knl.variables})


def newton() -> pg.Kernel:
    text = """
    for i
        <> x = a[i]
        for t while abs(x*x - a[i]) > 1e-12
            x = 0.5*(x + a[i]/x)
        end
        root[i] = x
    end
    """
    return made(["{ [i]: 0<=i<n }", "{ [t]: 0<=t }"], text)


def operations(knl: pg.Kernel, sizes: Mapping[str, int], trips: Any) -> dict[str, int]:
    """Return how often there is which operation of floating-point numbers."""
    counts = pg.get_op_map(knl, count_granularity="workitem", trips=trips)
    found = counts.filter_by(dtype=[np.float64]).group_by("name")
    return {key.name or "": count.eval_with_dict(sizes) for key, count in found.items()}


def test_a_while_is_asked_once_more() -> None:
    """Of 7 iterations for each of 5 elements: what the body does, and 8 times the head."""
    expected = {"add": 5 * (7 + 8), "mul": 5 * (7 + 8), "div": 5 * 7, "func:abs": 5 * 8}
    assert operations(newton(), {"n": 5}, {"t": 7}) == expected
    assert operations(newton(), {"n": 5}, {"t": np.int64(7)}) == expected
    none = {"add": 5, "mul": 5, "div": 0, "func:abs": 5}
    assert operations(newton(), {"n": 5}, {"t": 0}) in (none, {k: n for k, n in none.items() if n})


def test_numbers_of_iterations_in_terms_of_sizes() -> None:
    of_n = operations(newton(), {"n": 5}, {"t": "n + 2"})
    assert of_n == operations(newton(), {"n": 5}, {"t": 7})
    counts = pg.get_op_map(newton(), trips={"t": "t_end"})
    assert counts.eval_and_sum({"n": 5, "t_end": 7}) == sum(of_n.values())
    with pytest.raises(MissingArgument, match="needs a value of 't_end'"):
        counts.eval_and_sum({"n": 5})


@pytest.mark.parametrize("inner_tag", [None, "unr"])
def test_of_a_loop_that_was_split_the_end_is_said(inner_tag: str | None) -> None:
    knl = pg.split_iname(newton(), "t", 4, inner_tag=inner_tag)
    expected = operations(newton(), {"n": 5}, {"t": 7})
    assert operations(knl, {"n": 5}, {"t_end": 7}) == expected
    with pytest.raises(InvalidArgument, match="no condition ends a loop of that name") as caught:
        pg.get_op_map(knl, trips={"t": 7})
    assert "are 't_end'" in str(caught.value)


def test_work_items_have_loops_of_their_own() -> None:
    knl = pg.split_iname(newton(), "i", 4, outer_tag="g.0", inner_tag="l.0")
    for n in (0, 1, 9):
        expected = operations(newton(), {"n": n}, {"t": 3})
        assert operations(knl, {"n": n}, {"t": 3}) == expected
    groups = pg.get_op_map(knl, count_granularity="workgroup", trips={"t": 3})
    (div,) = groups.filter_by(dtype=[np.float64], name=["div"]).values()
    assert div.eval_with_dict({"n": 9}) == 3 * 3  # groups of 4, 4 and 1


NESTED = """
for i while left[0] > 0
    for t
        x[t] = 2*x[t]
        break if a[t]*a[t] > 1
        b[t] = b[t] - x[t]
    end
    left[0] = left[0] - 1
end
"""


def nested() -> pg.Kernel:
    return made(["{ [i]: 0<=i }", "{ [t]: 0<=t<m }"], NESTED, SHARED)


def test_loops_inside_of_each_other() -> None:
    """A ``break`` in the middle has no iteration more: all of an iteration counts."""
    found = operations(nested(), {"m": 9}, {"i": 3, "t": 5})
    assert found == {"mul": 3 * 5 * 2, "add": 3 * 5}
    counts = pg.get_mem_access_map(nested(), count_granularity="workitem", trips={"i": 3, "t": 5})
    by_array = {
        (key.variable, key.direction): count.eval_with_dict({"m": 9})
        for key, count in counts.group_by("variable", "direction").items()
    }
    assert by_array["left", "load"] == 4 + 3  # by the head, and in the body
    assert by_array["x", "load"] == 3 * 5 * 2
    assert by_array["b", "store"] == 3 * 5


def test_a_bound_ends_a_loop_as_well() -> None:
    assert operations(nested(), {"m": 4}, {"i": 3, "t": 5}) == {"mul": 3 * 4 * 2, "add": 3 * 4}
    most = operations(nested(), {"m": 9}, {"i": 3, "t": "m"})
    assert most == {"mul": 3 * 9 * 2, "add": 3 * 9}


def test_a_break_at_the_head_is_asked_once_more() -> None:
    text = "for t\n break if a[t]*a[t] > 1\n b[t] = 2 - a[t]\nend"
    knl = made(["{ [t]: 3<=t<n and t mod 2 = 1 }"], text)
    assert operations(knl, {"n": 100}, {"t": 4}) == {"mul": 5, "add": 4}
    assert operations(knl, {"n": 10}, {"t": 4}) == {"mul": 4, "add": 4}  # 3, 5, 7, 9
    assert operations(knl, {"n": 8}, {"t": 4}) == {"mul": 3, "add": 3}
    elements = pg.gather_access_footprint_elements(knl, trips={"t": 4})
    assert elements["b", "write"].eval_with_dict({"n": 100}) == 4
    assert elements["a", "read"].eval_with_dict({"n": 100}) == 5


def test_loops_begin_where_loops_around_say() -> None:
    text = "for i\n for t\n break if a[t] > 1\n b[t] = b[t] + a[i]\n end\nend"
    knl = made(["{ [i]: 0<=i<n }", "{ [t]: i<=t<n }"], text)
    found = operations(knl, {"n": 6}, {"t": 2})
    assert found == {"add": sum(min(2, 6 - i) for i in range(6))}


class _Random:
    """A random nest, and the same with bounds in the place of conditions.

    Conditions are about an array of their own, and without arithmetic.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.trips: dict[str, int] = {}
        self.ended: list[str] = []
        self.bounded: list[str] = []
        self.domains: list[tuple[str, str]] = []
        self.first = ""  # where the first loop begins
        self._block(0, ["n"])

    def _block(self, depth: int, around: list[str]) -> None:
        names = [name for name in around if name != "n"]
        index = " + ".join([*names, "0"])
        self._both(f"v[{index}] = v[{index}]*2 + v[{' + '.join([*names, '1'])}]")
        for _ in range(self.random.randint(0 if depth else 1, 2) if depth < 3 else 0):
            self._loop(depth, around)
        if self.random.random() < 0.5:
            self._both(f"v[{index}] = 3 - v[{index}]")

    def _loop(self, depth: int, around: list[str]) -> None:
        name, r = f"i{len(self.domains)}", self.random
        low, high = r.choice(("0", "1", *around[1:])), r.choice(("4", *around))
        self.first = self.first or low
        if r.random() < 0.4:
            domain = f"{{ [{name}]: {low}<={name}<{high} }}"
            self.domains.append((domain, domain))
            self._both(f"for {name}")
            self._block(depth + 1, [*around, name])
            self._both("end")
            return
        trips = self.trips[name] = r.randrange(4)
        bound = r.choice(("", f" and {name}<{high}"))
        ended = f"{{ [{name}]: {low}<={name}{bound} }}"
        self.domains.append((ended, f"{{ [{name}]: {low}<={name}<{low}+{trips}{bound} }}"))
        kind = r.choice(("while", "break", "both"))
        self.ended.append(f"for {name}" + (" while c[0] > 0" if kind != "break" else ""))
        self.bounded.append(f"for {name}")
        self._block(depth + 1, [*around, name])
        self.ended += ["break if c[1] > c[0]"] * (kind != "while")
        self._both("end")

    def _both(self, line: str) -> None:
        self.ended.append(line)
        self.bounded.append(line)

    def kernels(self) -> tuple[pg.Kernel, pg.Kernel]:
        data = [pg.GlobalArg("c", np.int32, "2"), pg.GlobalArg("v", np.float64, "12*n + 60")]
        made = [
            pg.make_kernel(
                [pair[at] for pair in self.domains],
                "\n".join((self.ended, self.bounded)[at]),
                [*data, "..."],
                seq_dependencies=True,
                assumptions="n >= 0",
            )
            for at in (0, 1)
        ]
        return made[0], made[1]


def _check_random(seed: int) -> None:
    nest = _Random(seed)
    with pg.without_proofs():
        ended, bounded = nest.kernels()
        r = nest.random
        if nest.domains and r.random() < 0.5:
            ended = pg.split_iname(ended, "i0", 2)
            if "i0" in nest.trips:
                nest.trips["i0_end"] = nest.trips.pop("i0") + int(nest.first)
    try:
        found = pg.get_op_map(ended, count_granularity="workitem", trips=nest.trips)
    except InvalidArgument as error:  # it has another bound, and was split
        assert "i0_end" in str(error)
        return
    expected = pg.get_op_map(bounded, count_granularity="workitem")
    accesses = [
        pg.get_mem_access_map(knl, count_granularity="workitem", trips=trips)
        for knl, trips in ((ended, nest.trips), (bounded, None))
    ]
    for n in (0, 1, 5):
        for name in "add", "mul":
            counts = [
                c.filter_by(dtype=[np.float64], name=[name]).eval_and_sum({"n": n})
                for c in (found, expected)
            ]
            assert counts[0] == counts[1], (seed, n, name, nest.ended)
        touched = [a.filter_by(variable=["v"]).eval_and_sum({"n": n}) for a in accesses]
        assert touched[0] == touched[1], (seed, n, nest.ended)


@few(1, "seeds", [range(6), range(6, 200)])
def test_random_nests_count_as_with_bounds(seeds: range) -> None:
    for seed in seeds:
        _check_random(seed)


AROUND = """
for t while left[0] > 0
    for i
        y[i] = x[i] + 1
    end
    for k
        x[n - 1 - k] = y[k]
    end
    left[0] = left[0] - 1
end
"""


def around(**options: int) -> pg.Kernel:
    knl = made(["{ [i, k]: 0<=i,k<n }", "{ [t]: 0<=t }"], AROUND, SHARED)
    for iname in "ik":
        knl = pg.split_iname(knl, iname, 4, outer_tag="g.0", inner_tag="l.0")
    return pg.set_options(knl, **options)


def launches(knl: pg.Kernel, trips: Any) -> int:
    counts = pg.get_synchronization_map(knl, trips)
    return counts.filter_by(kind=["kernel_launch"]).eval_and_sum({"n": 9})


def test_launches_are_those_of_a_run() -> None:
    """One before the loop; then as many iterations as find out that it is over."""
    left, x = np.array([5], np.int32), np.zeros(9)
    with pg.profile(pg.Limits(1e9, 1e9)) as noted:
        around().executor("opencl")(left=left, x=x)
    run = sum(row.launches for row in noted.table().rows)
    assert launches(around(), {"t": 5}) == run == 1 + 6 * ((run - 1) // 6)
    body = (run - 1) // 6
    assert launches(around(check_every=4), {"t": 5}) == 1 + 8 * body
    counts = pg.get_synchronization_map(around(), {"t": "t_end"})
    assert counts.filter_by(kind=["kernel_launch"]).eval_and_sum({"t_end": 5}) == run
    with pytest.raises(NotCountable, match="reads its flag before every 4 iterations"):
        launches(around(check_every=4), {"t": "n"})


def test_bounds_by_a_device() -> None:
    """Arrays once, however often the loop is repeated; accesses and operations, each time."""
    found = pg.roofline(around(), pg.Limits(1e9, 1e9), {"n": 9}, trips={"t": 5})
    shared = 2 * 4 + 2 * 4  # left and the flag, read and written
    assert found.needed_bytes in (4 * 9 * 8 + shared, 4 * 9 * 8 + shared // 2)
    assert found.operations["float64"] == 5 * 9


def test_a_page_has_these_numbers(tmp_path: Path) -> None:
    text = pg.report(newton(), tmp_path / "r.html", sizes={"n": 5}, trips={"t": 7}).read_text()
    assert "<td>div</td><td>35</td>" in re.sub(r"<(/?td)[^>]*>", r"<\1>", text)
    assert "cannot be counted" not in text
    assert "cannot be counted" in pg.report(newton(), tmp_path / "r.html").read_text()


def test_what_is_refused() -> None:
    for counted in (pg.get_op_map, pg.get_mem_access_map):
        with pytest.raises(NotCountable) as caught:
            counted(nested())
        assert "or say how many iterations loops have: trips={'i': 100" in str(caught.value)
    with pytest.raises(NotCountable) as caught:
        pg.get_synchronization_map(around())
    assert "a condition ends the loop of 't'" in str(caught.value)
    assert "trips={'t': 100}" in str(caught.value)
    with pytest.raises(NotCountable, match="data decides whether 'i_runs' holds"):
        pg.get_op_map(nested(), trips={"t": 5})


@pytest.mark.parametrize(
    ("trips", "words"),
    [
        ({"i": 3}, "no condition ends a loop of that name"),
        ({"t": -1}, "has -1 iterations"),
        ({"t": 1.5}, "has 1.5 iterations"),
        ({"t": True}, "has True iterations"),
        ({"t": "n*n"}, "which is not affine in the sizes"),
        ({"t": "n +"}, "which is not affine in the sizes"),
        ({"t": "x"}, "which is not affine in the sizes"),
    ],
)
def test_numbers_of_iterations_that_are_none(trips: Any, words: str) -> None:
    with pytest.raises(InvalidArgument, match="trips says") as caught:
        pg.get_op_map(newton(), trips=trips)
    assert words in str(caught.value)
