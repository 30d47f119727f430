"""Kernels, with sizes, for the tools that watch generated code run.  All sizes are small."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import polygen as pg

_EXAMPLES = Path(__file__).parents[2] / "examples"
_LOCAL = pg.AddressSpace.LOCAL
_GLOBAL = pg.AddressSpace.GLOBAL


@dataclass(frozen=True)
class Case:
    """A kernel and the arguments of a call.

    Attributes:
        kernel: array arguments without a type get float64.
        sizes: the scalar arguments.
        given: arrays that cannot be any; all others are random.
    """

    name: str
    kernel: pg.Kernel
    sizes: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)


_Made: TypeAlias = "pg.Kernel | tuple[pg.Kernel, Mapping[str, Any]]"
_MAKERS: list[tuple[str, Callable[[], _Made], tuple[Mapping[str, Any], ...]]] = []


def _sizes(*sizes: Mapping[str, Any]) -> Callable[[Callable[[], _Made]], Callable[[], _Made]]:
    """Register what makes a kernel, and the sizes to run it with."""

    def register(make: Callable[[], _Made]) -> Callable[[], _Made]:
        _MAKERS.append((make.__name__, make, sizes))
        return make

    return register


def all_cases() -> list[Case]:
    """Return all cases."""
    found: list[Case] = []
    for name, make, several in _MAKERS:
        with pg.without_proofs():  # what matters here is what the code does, not what it means
            made = make()
        kernel, given = made if isinstance(made, tuple) else (made, {})
        for sizes in several or ({},):
            shown = "_".join(f"{n}{int(v)}" for n, v in sizes.items())
            found.append(Case(f"{name}_{shown}" if shown else name, kernel, sizes, given))
    return found


def case(name: str) -> Case:
    """Return the case of a name."""
    return next(each for each in all_cases() if each.name == name)


def _n(*values: int) -> tuple[Mapping[str, int], ...]:
    return tuple({"n": value} for value in values)


def _local(name: str, *shape: int) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, shape=shape, address_space=_LOCAL)


# --- the examples


def _example(file: str, function: str) -> Any:
    return runpy.run_path(str(_EXAMPLES / f"{file}.py"))[function]


@_sizes({"n": 17, "m": 5, "l": 18}, {"n": 16, "m": 16, "l": 16})
def product_on_the_grid() -> _Made:
    knl: pg.Kernel = _example("tiled_product", "on_the_grid")()
    return knl


@_sizes({"n": 18, "m": 17, "l": 5})
def product_in_loops() -> _Made:
    knl: pg.Kernel = _example("tiled_product", "in_loops")()
    return knl


@_sizes({"height": 3, "width": 7, "amount": np.float64(2)})
def unsharp_mask() -> _Made:
    knl: pg.Kernel = _example("unsharp_mask", "make_unsharp_mask")()
    return pg.add_dtypes(knl, {"amount": np.float64})


@_sizes(*_n(1, 9))
def transpose_then_double() -> _Made:
    make = _example("transpose_then_double", "make_transpose_then_double")
    knl: pg.Kernel = _example("transpose_then_double", "on_the_grid")(make())
    return knl


@_sizes({"n": 7, "width": 5, "nonzeros": 12})
def sparse_product() -> _Made:
    knl: pg.Kernel = _example("sparse_product", "make_sparse_product")()
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    given = {
        "rowptr": np.array([0, 0, 5, 5, 6, 9, 12, 12], np.int32),
        "columns": np.array([0, 1, 2, 3, 4, 4, 0, 2, 4, 1, 2, 3], np.int32),
    }
    return knl, given


# --- one launch, no shared memory


@_sizes(*_n(0, 1, 16, 17))
def guarded() -> _Made:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    return pg.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")


@_sizes(*_n(9))
def unrolled() -> _Made:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<=i }", "out[i] = sum(j, a[i,j]) {id=row}\nmark[i] = i {dep=row}"
    )
    knl = pg.split_iname(knl, "j", 4, inner_tag="unr")
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    return pg.prioritize_loops(knl, "j_outer, j_inner")


@_sizes(*_n(7))
def triangle_on_the_grid() -> _Made:
    knl = pg.make_kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = a[n-1-i,j]")
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.1", inner_tag="l.1")
    return pg.split_iname(knl, "j", 4, outer_tag="g.0", inner_tag="l.0")


@_sizes(*_n(13))
def strides_and_pieces() -> _Made:
    knl = pg.make_kernel(
        [
            "{ [i]: 0<=i<n and i mod 3 = 1 }",
            "{ [j]: 0<=j<n and (j<3 or j>7) }",
            "{ [k]: 2<=k<n }",
        ],
        "x[i] = a[i]\ny[j] = a[j]\nz[k] = a[k-2] + a[k//2] + a[(k-5)%n]",
        [pg.GlobalArg(name, shape="n") for name in "xyza"] + ["..."],
    )
    for iname in "ijk":
        knl = pg.split_iname(knl, iname, 4, outer_tag="g.0", inner_tag="l.0")
    return knl


@_sizes({"n": 6, "m": 5, "k": 4})
def three_axes() -> _Made:
    knl = pg.make_kernel(
        "{ [x,y,z]: 0<=x<n and 0<=y<m and 0<=z<k }", "out[z,y,x] = a[z,y,n-1-x] + y"
    )
    for axis, iname in enumerate("xyz"):
        knl = pg.split_iname(knl, iname, 2, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")
    return knl


@_sizes(*_n(11))
def predicates() -> _Made:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        <> small = a[i] < 3 {id=small}
        out[i] = a[i-1] + b[i] {if=i > 0 and small, dep=small}
        out[i] = -1 {id=first, if=i == 0, dep=*}
        """,
        [pg.GlobalArg("a", shape="n"), "..."],
    )
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


@_sizes(*_n(9))
def all_reductions() -> _Made:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }", "{ [k]: 0<=k<3 }"],
        """
        s[i] = sum(j, a[j]) * max(k, b[i,k])
        p[i] = product(k, b[i,k]) + min(j, a[j])
        """,
        [pg.GlobalArg("a", np.int32, shape="n"), pg.GlobalArg("b", np.int32, shape="n, 3"), "..."],
    )
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


@_sizes(*_n(10))
def small_integers() -> _Made:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        q[i] = a[i]//b[i]
        r[i] = a[i]%b[i]
        s[i] = a[i]*b[i] - a[i]
        t[i] = -a[i]
        """,
        [pg.GlobalArg("a", np.int8), pg.GlobalArg("b", np.int8), "..."],
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    a = np.array([-128, -7, 7, -1, 127, 0, 5, -5, 3, 100], np.int8)
    b = np.array([3, 2, -2, 5, 127, -3, 7, -7, 1, 2], np.int8)
    return knl, {"a": a, "b": b}


@_sizes(*_n(9))
def in_place() -> _Made:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = a[i]*a[i] + 1")
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


@_sizes(*_n(9))
def recurrence() -> _Made:
    knl = pg.make_kernel(
        "{ [i,j]: 1<=i<n and 0<=j<n }",
        "a[i,j] = a[i-1,j] + a[i,j]",
        [pg.GlobalArg("a", shape="n, n"), "..."],
    )
    return pg.split_iname(knl, "j", 4, outer_tag="g.0", inner_tag="l.0")


@_sizes(*_n(9))
def private_arrays() -> _Made:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 }", "{ [k]: 0<=k<4 }"],
        """
        t[j] = a[i,j] {id=fill, inames=i:j}
        out[i] = sum(k, t[k]*t[3-k]) {dep=fill, inames=i}
        """,
        [pg.TemporaryVariable("t", shape=(4,)), "..."],
    )
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


# --- local memory and barriers


@_sizes(*_n(3))
def reversed_tile() -> _Made:
    knl = pg.make_kernel(
        "{ [g,i,j]: 0<=g<n and 0<=i,j<8 }",
        "tile[i] = a[g,i] {id=load, inames=g:i}\nout[g,j] = tile[7-j] {inames=g:j, dep=load}",
        [_local("tile", 8), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})


@_sizes(*_n(1, 16, 19))
def stencil_with_halo() -> _Made:
    """More elements are loaded than there are results: two inames of different size on an axis."""
    knl = pg.make_kernel(
        ["{ [g,i]: 0<=g and 0<=i<10 and 8*g+i<n+2 }", "{ [g2,j]: 0<=g2 and 0<=j<8 and 8*g2+j<n }"],
        """
        tile[i] = a[8*g+i] {id=load, inames=g:i}
        out[8*g2+j] = tile[j] + tile[j+1] + tile[j+2] {inames=g2:j, dep=load}
        """,
        [
            _local("tile", 10),
            pg.GlobalArg("a", shape="n + 2"),
            pg.GlobalArg("out", shape="n"),
            "...",
        ],
    )
    return pg.tag_inames(knl, {"g": "g.0", "g2": "g.0", "i": "l.0", "j": "l.0"})


@_sizes({"n": 3, "m": 4}, {"n": 2, "m": 0})
def tile_in_a_loop() -> _Made:
    """The next iteration overwrites the tile: a barrier before the use, and one after it."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<m }", "{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        """
        tile[i] = a[g,t,i] {id=load, inames=g:t:i}
        out[g,t,j] = tile[7-j] + t {inames=g:t:j, dep=load}
        """,
        [_local("tile", 8), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})


@_sizes({"n": 9, "m": 6})
def transposition_through_a_tile() -> _Made:
    knl = pg.make_kernel(
        [
            "{ [g,h]: 0<=4*g<n and 0<=4*h<m }",
            "{ [i,j]: 0<=i,j<4 and 4*g+i<n and 4*h+j<m }",
            "{ [k,l]: 0<=k,l<4 and 4*g+k<n and 4*h+l<m }",
        ],
        """
        tile[i,j] = a[4*g+i, 4*h+j] {id=load, inames=g:h:i:j}
        out[4*h+l, 4*g+k] = tile[k,l] {dep=load, inames=g:h:k:l}
        """,
        [_local("tile", 4, 5), "..."],
    )
    tags = {"g": "g.1", "h": "g.0", "i": "l.1", "j": "l.0", "k": "l.0", "l": "l.1"}
    return pg.tag_inames(knl, tags)


@_sizes(*_n(2))
def tree_in_a_group() -> _Made:
    halves = "\n".join(
        f"s[i{k}] = s[i{k}] + s[i{k} + {k}] {{id=h{k}, inames=g:i{k}, dep=*{before}}}"
        for k, before in ((4, "load"), (2, "h4"), (1, "h2"))
    )
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<8 }", *(f"{{ [i{k}]: 0<=i{k}<{k} }}" for k in (4, 2, 1))],
        f"s[i] = a[g,i] {{id=load, inames=g:i}}\n{halves}\nout[g] = s[0] {{inames=g, dep=h1}}",
        [_local("s", 8), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", **dict.fromkeys(("i", "i4", "i2", "i1"), "l.0")})


@_sizes(*_n(2))
def scalar_of_the_group() -> _Made:
    """One work item writes, all read; and in each iteration of a loop again."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<3 }", "{ [i]: 0<=i<4 }"],
        """
        shared = a[g,t] {id=write, inames=g:t}
        out[g,t,i] = shared + i {inames=g:t:i, dep=write}
        """,
        [pg.TemporaryVariable("shared", address_space=_LOCAL), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})


@_sizes(*_n(2))
def private_across_a_barrier() -> _Made:
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }"],
        """
        <> mine = 2*a[g,i] {id=mine, inames=g:i}
        tile[i] = mine {id=load, inames=g:i}
        out[g,i] = tile[i//2] - mine {inames=g:i, dep=load}
        """,
        [_local("tile", 4), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})


@_sizes(*_n(3))
def rows_with_barriers() -> _Made:
    """The group's number of iterations is read from memory, and there are barriers inside."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<count }", "{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"],
        """
        <> count = counts[g] {inames=g}
        tile[i] = a[g,i] + t {id=load, inames=g:t:i}
        out[g,t,j] = tile[3-j] {inames=g:t:j, dep=load}
        """,
        [_local("tile", 4), pg.GlobalArg("out", shape="n, 5, 4"), "..."],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})
    return knl, {"counts": np.array([2, 0, 5], np.int32)}


@_sizes(*_n(3))
def bound_in_local_memory() -> _Made:
    """All work items wait for what one of them writes, and a loop's bound reads."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<count }", "{ [j]: 0<=j<4 }"],
        """
        count = counts[g] {id=count, inames=g}
        out[g,t,j] = a[g,j] + t {inames=g:t:j}
        """,
        [
            pg.TemporaryVariable("count", np.int32, address_space=_LOCAL),
            pg.GlobalArg("out", shape="n, 5, 4"),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "j": "l.0"})
    return knl, {"counts": np.array([2, 0, 5], np.int32)}


# --- several launches


@_sizes({"n": 10, "steps": 0}, {"n": 10, "steps": 3}, {"n": 3, "steps": 1})
def host_loop() -> _Made:
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<steps and 1<=i<n-1 and 1<=j<n-1 }",
        """
        b[i] = a[i-1] + a[i] + a[i+1] {id=new, inames=t:i, dep=*}
        a[j] = b[j] - t {id=old, inames=t:j, dep=new}
        """,
        [pg.GlobalArg("a", shape="n"), pg.GlobalArg("b", shape="n"), "..."],
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    return pg.split_iname(knl, "j", 4, outer_tag="g.0", inner_tag="l.0")


@_sizes(*_n(9, 24))
def global_temporary() -> _Made:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "t[i] = a[i] + 1 {id=write}\nout[j] = t[n-1-j] {dep=write}",
        [pg.TemporaryVariable("t", shape=(32,), address_space=_GLOBAL), "..."],
        assumptions="0 <= n <= 32",
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    return pg.split_iname(knl, "j", 4, outer_tag="g.0", inner_tag="l.0")


@_sizes(*_n(6))
def one_writer() -> _Made:
    """Instructions outside of the grid: the first work item of all executes them."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "total[0] = sum(j, a[j]) {id=total, inames=}\nout[i] = a[i] - total[0] {dep=total}",
    )
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
