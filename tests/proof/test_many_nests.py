"""Kernels of many nests: isl is asked in proportion to the nests, and of a step's own nest alone.

What is counted are calls of isl, which take most of the time of analyses, and do not depend on the
machine.  `benchmarks/many_nests.py` has the seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import islpy as isl
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel

ARRAYS = 3
FEW = 6  # nests; twice and four times as many are compared


def stencils(count: int, around: str = "") -> Kernel:
    """Return a kernel of nests of two loops, one after the other, which write arrays in turns.

    Parameters:
        count: how many.
        around: a loop around them all, or ''.
    """
    domains = [f"{{ [i{k},j{k}]: 1<=i{k}<n-1 and 1<=j{k}<n-1 }}" for k in range(count)]
    lines: list[str] = []
    for k in range(count):
        i, j, a, b = f"i{k}", f"j{k}", f"a{k % ARRAYS}", f"a{(k + 1) % ARRAYS}"
        lines.append(f"{b}[{i},{j}] = {a}[{i}-1,{j}] + {a}[{i}+1,{j}] + {a}[{i},{j}] {{id=s{k}}}")
    if around:
        domains.append(f"{{ [{around}]: 0<={around}<m }}")
        lines = [f"for {around}", *lines, "end"]
    return pg.make_kernel(
        domains,
        "\n".join(lines),
        [*(pg.GlobalArg(f"a{x}", "float64", shape="n, n") for x in range(ARRAYS)), "..."],
        loop_priority=[f"i{k}, j{k}" for k in range(count)],
        seq_dependencies=True,
    )


def rows(count: int) -> Kernel:
    """Return a kernel of loops, one after the other, on an axis of groups."""
    knl = pg.make_kernel(
        [f"{{ [i{k}]: 0<=i{k}<n }}" for k in range(count)],
        "\n".join(f"a{(k + 1) % ARRAYS}[i{k}] = a{k % ARRAYS}[i{k}] + {k}" for k in range(count)),
        [*(pg.GlobalArg(f"a{x}", "float64", shape="n") for x in range(ARRAYS)), "..."],
        seq_dependencies=True,
    )
    return pg.tag_inames(knl, dict.fromkeys(knl.inames, "g.0"))


@contextmanager
def calls_of_isl() -> Generator[list[int]]:
    """Count the calls of the methods of isl's sets and maps meanwhile."""
    counted = [0]
    kinds: tuple[type, ...] = (isl.Set, isl.Map, isl.BasicSet, isl.BasicMap, isl.UnionMap)

    def counting(method: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            counted[0] += 1
            return method(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for kind in kinds:
            methods: dict[str, Callable[..., object]] = dict(vars(kind))
            for name, method in methods.items():
                if type(method).__name__ == "nb_method" and not name.startswith("__"):
                    patch.setattr(kind, name, counting(method))
        yield counted


def _count(make: Callable[[int], Kernel], do: Callable[[Kernel], object], nests: int) -> int:
    made = make(nests)
    with calls_of_isl() as counted:
        do(made)
    return counted[0]


def _tagged(knl: Kernel, nest: int = 3) -> Kernel:
    return pg.tag_inames(knl, {f"i{nest}": "g.0", f"j{nest}": "g.1"})


def _tiled(knl: Kernel) -> Kernel:
    return pg.tile(knl, {"i3": 16, "j3": 16})


def _in_time(count: int) -> Kernel:
    return stencils(count, around="t")


LINEAR: dict[str, tuple[Callable[[int], Kernel], Callable[[Kernel], object]]] = {
    "parallel_inames": (stencils, lambda knl: str(pg.parallel_inames(knl))),
    "parallel_inames in a time loop": (_in_time, lambda knl: str(pg.parallel_inames(knl))),
    "dependences": (stencils, pg.dependences),
    "find_schedule, C": (lambda n: stencils(n).copy(target="c"), pg.find_schedule),
    "find_schedule, CUDA": (lambda n: stencils(n).copy(target="cuda"), pg.find_schedule),
    "code in C": (stencils, lambda knl: pg.generate_code(knl, "c")),
    "code in CUDA": (lambda n: rows(3 * n), lambda knl: pg.generate_code(knl, "cuda")),
    "code in C behind a step": (
        lambda n: _tagged(stencils(n)),
        lambda knl: pg.generate_code(knl, "c"),
    ),
}


DEAR = ("find_schedule, C", "code in C")  # which others repeat


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.more) if n in DEAR else n for n in LINEAR]
)
def test_twice_as_many_nests_take_twice_as_much(name: str) -> None:
    make, do = LINEAR[name]
    do(make(FEW))  # what is kept for all kernels
    once, twice, more = (_count(make, do, nests) for nests in (FEW, 2 * FEW, 4 * FEW))
    assert once > 0 or name == "parallel_inames"  # which asks isl nothing of such nests
    assert more - twice <= 2.4 * (twice - once)


STEPS: dict[str, Callable[[Kernel], object]] = {
    "tag_inames": _tagged,
    "tile": _tiled,
    "reverse": lambda knl: pg.reverse(knl, "j3"),
    "interchange": lambda knl: pg.prioritize_loops(knl, "j3, i3"),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("make", [stencils, _in_time])
def test_a_step_asks_of_its_own_nest(make: Callable[[int], Kernel], name: str) -> None:
    STEPS[name](make(FEW))
    once, more = (_count(make, STEPS[name], nests) for nests in (FEW, 2 * FEW))
    assert more <= once + 2


def test_a_hundred_nests_are_within_the_limits() -> None:
    knl = stencils(100)
    table = pg.parallel_inames(knl)
    assert all(row.parallel and not row.carried for row in table.values())
    # Each read sees the nest before it, but for the rim; three overwrite what three have read.
    found = pg.dependences(knl)
    assert {d.carried_by for d in found} == {None}
    flow = {(d.source, d.sink) for d in found if d.kind == "flow"}
    assert flow == {(f"s{k}", f"s{k + 1}") for k in range(99)}
    output = {(d.source, d.sink) for d in found if d.kind == "output"}
    assert output == {(f"s{k}", f"s{k + ARRAYS}") for k in range(100 - ARRAYS)}


def test_many_sizes_of_one_array() -> None:
    """Each nest sees all earlier ones: any of them may be the last that reached an element."""
    count = 20
    knl = pg.make_kernel(
        [f"{{ [i{k}]: 0<=i{k}<n{k} }}" for k in range(count)],
        "\n".join(f"for i{k}\na[i{k}] = a[i{k}] + {k} {{id=s{k}}}\nend" for k in range(count)),
        [pg.GlobalArg("a", "float64", shape="n"), "..."],
        seq_dependencies=True,
        assumptions=" and ".join(f"0<=n{k}<=n" for k in range(count)),
    )
    found = pg.dependences(knl)
    both = {(f"s{j}", f"s{k}") for k in range(count) for j in range(k)}
    assert {(d.source, d.sink) for d in found if d.kind == "flow"} == both
    assert {(d.source, d.sink) for d in found if d.kind == "output"} == both
    assert {(d.source, d.sink) for d in found if d.kind == "anti"} == set()
    (last,) = (d for d in found if (d.source, d.sink, d.kind) == ("s2", "s5", "flow"))
    wanted = isl.Map(
        "[n, n2, n3, n4, n5] -> { s2[i2] -> s5[i5] : i5 = i2 and 0 <= i2 < n5 and n3 <= i2 < n2 "
        "and i2 >= n4 and 0 <= n2 <= n and 0 <= n3 <= n and 0 <= n4 <= n and 0 <= n5 <= n }"
    )
    sizes = isl.Set("[n, n2, n3, n4, n5] -> { : 0 <= n2, n3, n4, n5 <= n }")
    assert last.relation.intersect_params(sizes).is_equal(wanted)


def _of_three_loops(count: int) -> Kernel:
    """Return a kernel of nests of three loops in two time loops, which write arrays in turns."""
    lines: list[str] = []
    for k in range(count):
        i, j, m, a = f"i{k}", f"j{k}", f"m{k}", f"a{k % ARRAYS}"
        around = (
            f"{a}[{i}-1,{j},{m}] + {a}[{i}+1,{j},{m}] + {a}[{i},{j}-1,{m}] + {a}[{i},{j},{m}+1]"
        )
        lines.append(f"a{(k + 1) % ARRAYS}[{i},{j},{m}] = {around} {{id=s{k}}}")
    return pg.make_kernel(
        [
            "{ [t,u]: 0<=t<T and 0<=u<U }",
            *(f"{{ [i{k},j{k},m{k}]: 1<=i{k},j{k},m{k}<n-1 }}" for k in range(count)),
        ],
        "\n".join(["for t, u", *lines, "end"]),
        [*(pg.GlobalArg(f"a{x}", "float64", shape="n, n, n") for x in range(ARRAYS)), "..."],
        loop_priority=["t, u", *(f"i{k}, j{k}, m{k}" for k in range(count))],
        seq_dependencies=True,
    )


@pytest.mark.more
@pytest.mark.parametrize(
    ("make", "nests"), [(_in_time, 400), (_of_three_loops, 50)], ids=["400", "50 of three loops"]
)
def test_many_nests_in_time_loops_are_within_the_limits(
    make: Callable[[int], Kernel], nests: int
) -> None:
    table = pg.parallel_inames(make(nests))
    times = {iname for iname in table if iname in {"t", "u"}}
    assert all(row.parallel == (iname not in times) for iname, row in table.items())
    assert all(bool(table[iname].carried) for iname in times)
    assert not any(row.carried for iname, row in table.items() if iname not in times)
