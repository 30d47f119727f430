"""Kernels of every shape that lowering has a way for, with sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.lower.lower import prepare
from tests.deep.cases import all_cases
from tests.oracle.cases import Step, grid, kernel, prior, split, steps, tag
from tests.oracle.compare import make_arguments, typed
from tests.properties.random_case import random_case

LOCAL = pg.AddressSpace.LOCAL


@dataclass(frozen=True)
class Example:
    """A kernel as it is lowered, and arguments of a call."""

    name: str
    kernel: Kernel
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


_MAKERS: dict[str, tuple[Callable[[], Kernel], Mapping[str, int]]] = {}


def _example(**sizes: int) -> Callable[[Callable[[], Kernel]], Callable[[], Kernel]]:
    def register(make: Callable[[], Kernel]) -> Callable[[], Kernel]:
        _MAKERS[make.__name__] = make, sizes
        return make

    return register


def _prefetch(*args: Any, **kwargs: Any) -> Step:
    return lambda knl: pg.add_prefetch(knl, *args, **kwargs)


def _product(name: str = "product") -> Kernel:
    return kernel(
        ("{ [i,j]: 0<=i,j<n }", "{ [k]: 0<=k<n }"),
        "out[i,j] = sum(k, a[i,k]*b[k,j])",
        name=name,
    )


def _tiles(length: int) -> Step:
    return steps(
        split("i", length, outer_tag="g.1", inner_tag="l.1"),
        split("j", length, outer_tag="g.0", inner_tag="l.0"),
        split("k", length),
    )


@_example(n=5)
def fetched_product() -> Kernel:
    """Loads stand in the loop of a reduction, between two barriers."""
    fetch = steps(_prefetch("a", "i_inner, k_inner"), _prefetch("b", "k_inner, j_inner"))
    return steps(_tiles(2), fetch)(_product())


@_example(n=5)
def copied_asynchronously() -> Kernel:
    """Tiles of one array are copied in vectors, and of the other one by one."""
    fetch = steps(
        _prefetch("a", "i_inner, k_inner", asynchronous=True, vector_width=2),
        _prefetch("b", "k_inner, j_inner", asynchronous=True),
    )
    return steps(_tiles(2), fetch)(_product())


@_example(n=5)
def copied_a_tile_ahead() -> Kernel:
    knl = steps(_tiles(2), _prefetch("a", "i_inner, k_inner", asynchronous=True))(_product())
    return pg.double_buffer(knl, "a_fetch", "k_outer")


@_example(n=3)
def copied_for_oneself() -> Kernel:
    """No work item needs what others copied, so there is no barrier."""
    knl = kernel(
        "{ [g,t,i]: 0<=g<n and 0<=t<3 and 0<=i<4 }",
        """
        tile[i] = a[g,t,i] {id=load, asynchronous}
        out[g,t,i] = tile[i] {dep=load}
        """,
        pg.TemporaryVariable("tile", shape=(4,), address_space=LOCAL),
        loop_priority="g, t, i",
    )
    return tag(g="g.0", i="l.0")(knl)


@_example(n=3)
def copied_by_one() -> Kernel:
    """Without work items; the unrolled loop ends without a barrier."""
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<3 }", "{ [i]: 0<=i<2 }", "{ [j]: 0<=j<2 }"],
        """
        tile[i] = a[g,t,i] {id=load, inames=g:t:i, asynchronous}
        out[g,t] = sum(j, tile[1-j]) {dep=load, inames=g:t}
        """,
        pg.TemporaryVariable("tile", shape=(2,), address_space=LOCAL),
        loop_priority="g, t",
    )
    return tag(t="unr")(knl)


@_example(n=5)
def fetched_by_few() -> Kernel:
    """The copy is larger than the group: each work item loads several elements."""
    return steps(_tiles(2), split("k_outer", 2), _prefetch("a", "i_inner, k_outer_inner, k_inner"))(
        _product()
    )


@_example(n=5)
def fetched_for_oneself() -> Kernel:
    return steps(_tiles(2), _prefetch("a", "k_inner", default_tag=None))(_product())


@_example(n=5)
def fetched_and_unrolled() -> Kernel:
    return steps(_tiles(2), _prefetch("a", "k_inner", default_tag="unr"))(_product())


@_example(n=7)
def stencil_of_copies() -> Kernel:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + a[i+1] + a[i+2]")
    return steps(grid("i", 4), _prefetch("a", "i_inner"))(knl)


@_example(n=6)
def unrolled_with_guards() -> Kernel:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "out[i,j] = a[i] - a[j]")
    return steps(split("j", 4, inner_tag="unr"), split("i", 3, inner_tag="unr"))(knl)


@_example(n=8, m=13)
def unrolled_in_whole_tiles() -> Kernel:
    """No copy needs a guard, for sizes are multiples, or one more."""
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m-1 }"],
        "out[i,j] = a[i] - b[j]",
        assumptions="n mod 4 = 0 and m mod 6 = 1 and m >= 7",
    )
    first = steps(split("i", 4, inner_tag="unr", outer_tag="g.0"), split("j", 6, outer_tag="g.1"))
    return steps(first, split("j_inner", 3, inner_tag="unr", outer_tag="l.0"))(knl)


@_example(n=3)
def unrolled_around_barriers() -> Kernel:
    """Each copy of the loop's body has barriers of its own."""
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<3 }", "{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"],
        """
        tile[i] = a[g,t,i] {id=load, inames=g:t:i}
        out[g,t,j] = tile[3-j] {inames=g:t:j, dep=load}
        """,
        pg.TemporaryVariable("tile", shape=(4,), address_space=LOCAL),
    )
    return tag(g="g.0", i="l.0", j="l.0", t="unr")(knl)


def _tile_again() -> Kernel:
    return kernel(
        [
            "{ [g]: 0<=g<n }",
            "{ [t]: 0<=t<3 }",
            *(f"{{ [{i}]: 0<={i}<4 }}" for i in ("i", "j", "k", "l")),
        ],
        """
        tile[i] = a[g,t,i] {id=load, inames=g:t:i}
        out[g,t,j] = tile[3-j] {id=use, inames=g:t:j, dep=load}
        tile[k] = b[g,k] {id=again, inames=g:k, dep=use}
        last[g,l] = tile[3-l] {inames=g:l, dep=again}
        """,
        pg.TemporaryVariable("tile", shape=(4,), address_space=LOCAL),
    )


@_example(n=3)
def tile_after_a_loop() -> Kernel:
    """What waits at the end of each iteration need not wait again after the loop."""
    return tag(g="g.0", i="l.0", j="l.0", k="l.0", l="l.0")(_tile_again())


@_example(n=3)
def tile_after_an_unrolled_loop() -> Kernel:
    """One barrier is behind the last copy of the loop's body, not two."""
    return tag(g="g.0", i="l.0", j="l.0", k="l.0", l="l.0", t="unr")(_tile_again())


@_example(n=4)
def one_iteration() -> Kernel:
    """Loops with a single iteration are none."""
    return kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: j = i + 1 }", "{ [k]: 0<=k<2 }"],
        "b[i,k] = a[j] {inames=i:j:k}\nc[i] = a[j] + j {inames=i:j}",
    )


@_example(n=4)
def nested_reductions() -> Kernel:
    return kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<=j }"],
        "out[i] = sum(j, a[i,j]*max(k, b[k]) + sum(k, b[k]))",
        pg.GlobalArg("a", shape="n, n"),
        pg.GlobalArg("b", shape="n"),
    )


@_example(n=5)
def reductions_under_conditions() -> Kernel:
    """The same sum twice, each for a part of the instances."""
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        """
        out[i] = if(i < 2, sum(j, a[j]), 2*sum(j, a[j])) {id=out}
        large[i] = 1 {if=sum(j, a[j]) > i}
        """,
        pg.GlobalArg("large", np.float64, shape="n"),
        pg.GlobalArg("a", shape="n"),
    )
    return grid("i", 4)(knl)


@_example(n=9, m=2)
def time_steps() -> Kernel:
    knl = kernel(
        "{ [t,i,j]: 0<=t<m and 1<=i<n-1 and 1<=j<n-1 }",
        """
        b[i] = a[i-1] + a[i+1] {id=new, inames=t:i, dep=*}
        a[j] = b[j] {id=old, inames=t:j, dep=*new}
        """,
        pg.GlobalArg("a", shape="n"),
        pg.GlobalArg("b", shape="n"),
    )
    return steps(grid("i", 4), grid("j", 4))(knl)


@_example(n=3)
def shifted_axes() -> Kernel:
    """Two inames on an axis begin elsewhere; work items keep what is theirs."""
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }", "{ [j]: 2<=j<6 }"],
        """
        mine = a[g,i] {id=mine, inames=g:i}
        out[g,j] = mine + j {inames=g:j, dep=mine}
        """,
        pg.TemporaryVariable("mine", np.float64),
        pg.GlobalArg("out", shape="n, 6"),
    )
    with pg.without_proofs():  # untagged, each j would read what the last i wrote
        return tag(g="g.0", i="l.0", j="l.0")(knl)


@_example(n=7)
def strides() -> Kernel:
    return kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 and (i + j) mod 2 = 0 }",
        "out[i,j] = a[j,i]",
        pg.GlobalArg("a", np.float64, "4, n", strides="1, 4"),
        pg.GlobalArg("out", shape="n, 4"),
    )


@_example(n=6)
def scattered() -> Kernel:
    """Subscripts and conditions that are data."""
    return kernel(
        "{ [i]: 0<=i<n }",
        """
        out[where[i]] = a[i] {if=a[i] > 0, id=first}
        total[0] = total[0] + out[i] {dep=first, if=a[i] < 3}
        """,
        pg.GlobalArg("where", np.int32, "n"),
        pg.GlobalArg("out", shape="n"),
        pg.GlobalArg("total", np.float64, "1"),
    )


@_example(n=5)
def sequential_in_a_group() -> Kernel:
    knl = kernel(
        "{ [i,j]: 1<=i<n and 0<=j<n }",
        "a[i,j] = a[i-1,j] + a[i,j]",
        pg.GlobalArg("a", shape="n, n"),
    )
    return steps(grid("j", 4), prior("i"))(knl)


@_example(n=3)
def barrier_beside_a_reduction() -> Kernel:
    """The user's own barrier, through which the sum depends on what it reads."""
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }", "{ [k]: 0<=k<4 }"],
        """
        tile[i] = a[g,i] {id=load, inames=g:i}
        ... nop {id=loaded, inames=g, dep=*load}
        ... lbarrier {id=wait, inames=g, dep=*loaded}
        out[g,j] = sum(k, tile[k]) + tile[3-j] {id=use, inames=g:j, dep=*wait}
        """,
        pg.TemporaryVariable("tile", shape=(4,), address_space=LOCAL),
    )
    return tag(g="g.0", i="l.0", j="l.0")(knl)


@_example(n=5)
def full_tiles_apart() -> Kernel:
    """Versions of a launch with barriers, and two loops in a row with barriers in them."""
    fetch = steps(_prefetch("a", "i_inner, k_inner"), _prefetch("b", "k_inner, j_inner"))
    tiled = steps(_tiles(2), fetch)(_product())
    return pg.separate_full_tiles(tiled, "i_inner, j_inner, k_inner")


@_example(n=6)
def consecutive_loops() -> Kernel:
    """A recurrence whose loop became several, in which statements depend on each other."""
    knl = kernel(
        "{ [i]: 1<=i<n }",
        "<> t = a[i] + b[i-1]  {dep=*}\nb[i] = 2*t  {dep=*insn}\nc[i] = b[i] - b[i-1]  {if=i >= 3}",
        pg.GlobalArg("b", shape="n"),
        pg.GlobalArg("c", shape="n"),
        "...",
    )
    return pg.index_set_split(pg.peel(knl, "i", 1, 1), "i < 3")


@_example(n=6)
def consecutive_tiles() -> Kernel:
    knl = kernel(
        "{ [i,j]: 1<=i<n and 0<=j<n }",
        "a[i,j] = a[i-1,j] + a[i,j]",
        pg.GlobalArg("a", shape="n, n"),
        loop_priority="i, j",
    )
    tiled = pg.tile(knl, {"i": 2, "j": 4})
    return pg.separate_full_tiles(tiled, "i_inner, j_inner")


@_example(n=6)
def versions_of_statements() -> Kernel:
    """Versions for different groups, of two statements, and of a loop, one after the other."""
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 }"],
        "b[i] = 2*a[i]\nc[i] = b[i] + 1\nd[i] = sum(j, b[i]*j) + c[i]",
    )
    knl = pg.tag_inames(knl, "i: g.0")
    return pg.index_set_split(pg.index_set_split(knl, "2 <= i and i < n - 1"), "j < i")


@_example(n=6)
def versions_of_unrolled_loops() -> Kernel:
    """Versions for different groups, each with the copies of an unrolled loop's body in order."""
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [u]: 0<=u<3 }"],
        "out[i,u] = (out[i,u-1] if u > 0 else 0) + a[i,u]",
        pg.GlobalArg("a", shape="n, 3"),
        pg.GlobalArg("out", shape="n, 3"),
    )
    return pg.index_set_split(pg.tag_inames(knl, "i: g.0, u: unr"), "i < 2")


@_example(n=6)
def lanes_in_loops_over_lanes() -> Kernel:
    """A loop over lanes with a statement for each of others, and for no other instruction."""
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<3 and 0<=k<2 }",
        "<> t = a[i,j,k]*2\nb[i,j,k] = t + 1",
    )
    return pg.tag_inames(knl, "j: ilp.seq, k: ilp")


@_example(n=6)
def reductions_of_nothing() -> Kernel:
    """Accumulators that start, and are never updated: of two results, one may not be there."""
    return kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i-n }", "{ [k]: 0<=k<=i }"],
        "b[i] = argmin(j, a[j], j)[1] + sum(j, a[j])\n"
        "c[i] = (argmax(j, a[j], j)[0] if i < 0 else sum(k, a[k]))",
    )


@_example(n=6)
def waves() -> Kernel:
    knl = kernel(
        "{ [i,j]: 1<=i,j<n-1 }",
        "a[i,j] = a[i-1,j] + a[i,j-1] + a[i+1,j]",
        pg.GlobalArg("a", shape="n, n"),
        "...",
        loop_priority="i, j",
    )
    return pg.peel(pg.wavefront(knl, "i", "j", "g.0"), "j", 1, 2)


def _shuffled(knl: Kernel, size: int) -> Kernel:
    return pg.set_options(knl, sub_group_size=size)


@_example(n=3)
def shuffles() -> Kernel:
    """Sub-groups, the last of which is smaller, and their sums."""
    knl = kernel(("{ [i]: 0<=i<n }", "{ [j]: 0<=j<11 }"), "out[i] = sum(j, a[i,j])")
    return _shuffled(pg.tag_inames(knl, {"i": "g.0", "j": "l.0"}), 4)


@_example(n=3)
def shuffles_for_all() -> Kernel:
    """Rows of a group that are parts of sub-groups; all work items use the results."""
    knl = kernel(
        ("{ [i]: 0<=i<n }", "{ [j,k]: 0<=j,k<4 }"),
        "<> v, <> p = argmax(j, a[i,j], j)\nout[i,k] = v + a[i,k]*p",
    )
    knl = pg.split_iname(knl, "i", 2, outer_tag="g.0", inner_tag="l.1")
    return _shuffled(pg.tag_inames(knl, {"j": "l.0", "k": "l.0"}), 8)


@_example(n=3)
def shuffles_in_a_loop() -> Kernel:
    knl = kernel(("{ [i]: 0<=i<n }", "{ [j]: 0<=j<8 }"), "out[i] = sum(j, a[i,j]) + max(j, a[i,j])")
    return _shuffled(pg.tag_inames(knl, {"j": "l.0"}), 4)


@_example(n=13)
def shuffles_of_a_scan() -> Kernel:
    """In a loop; the last of the sub-groups is smaller."""
    knl = kernel(("{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"), "out[i] = sum(j, a[j])")
    return _shuffled(pg.split_iname(knl, "i", 7, inner_tag="l.0"), 4)


def _arguments(knl: Kernel, sizes: Mapping[str, int]) -> dict[str, Any]:
    found = make_arguments(knl, sizes)
    if "where" in found:
        found["where"] = np.arange(sizes["n"], dtype=np.int32)[::-1]
    return found


@cache
def examples() -> list[Example]:
    """Return all of them, and those that the tools of `tests.deep` watch."""
    found: list[Example] = []
    for name, (make, sizes) in _MAKERS.items():
        knl = make()
        arguments = _arguments(knl, sizes)
        found.append(Example(name, prepare(typed(knl, arguments)), arguments))
    for case in all_cases():
        arguments = make_arguments(case.kernel, case.sizes, 0, **case.given)
        found.append(Example(case.name, prepare(typed(case.kernel, arguments)), arguments))
    return found


def random_example(seed: int) -> Example | None:
    """Return a random kernel after random steps, or None if there is no code for it."""
    with pg.without_proofs():
        case = random_case(seed)
    if case is None:
        return None
    return Example(f"seed {seed}", prepare(case.transformed), case.passed)
