"""Kernels in which work items wait for each other."""

from __future__ import annotations

import numpy as np

import polygen as pg
from tests.deep.case_table import GLOBAL, LOCAL, Made, local, only_n, sizes

# --- local memory and barriers


@sizes(*only_n(3))
def reversed_tile() -> Made:
    knl = pg.make_kernel(
        "{ [g,i,j]: 0<=g<n and 0<=i,j<8 }",
        "tile[i] = a[g,i] {id=load, inames=g:i}\nout[g,j] = tile[7-j] {inames=g:j, dep=load}",
        [local("tile", 8), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})


@sizes(*only_n(1, 16, 19))
def stencil_with_halo() -> Made:
    """More elements are loaded than there are results: two inames of different size on an axis."""
    knl = pg.make_kernel(
        [
            "{ [g]: 0<=8*g<n }",
            "{ [i]: 0<=i<10 and 8*g+i<n+2 }",
            "{ [j]: 0<=j<8 and 8*g+j<n }",
        ],
        """
        tile[i] = a[8*g+i] {id=load, inames=g:i}
        out[8*g+j] = tile[j] + tile[j+1] + tile[j+2] {inames=g:j, dep=load}
        """,
        [
            local("tile", 10),
            pg.GlobalArg("a", shape="n + 2"),
            pg.GlobalArg("out", shape="n"),
            "...",
        ],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})


@sizes({"n": 3, "m": 4}, {"n": 2, "m": 0})
def tile_in_a_loop() -> Made:
    """The next iteration overwrites the tile: a barrier before the use, and one after it."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<m }", "{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        """
        tile[i] = a[g,t,i] {id=load, inames=g:t:i}
        out[g,t,j] = tile[7-j] + t {inames=g:t:j, dep=load}
        """,
        [local("tile", 8), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})


@sizes({"n": 9, "m": 6})
def transposition_through_a_tile() -> Made:
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
        [local("tile", 4, 5), "..."],
    )
    tags = {"g": "g.1", "h": "g.0", "i": "l.1", "j": "l.0", "k": "l.0", "l": "l.1"}
    return pg.tag_inames(knl, tags)


@sizes(*only_n(2))
def tree_in_a_group() -> Made:
    halves = "\n".join(
        f"s[i{k}] = s[i{k}] + s[i{k} + {k}] {{id=h{k}, inames=g:i{k}, dep=*{before}}}"
        for k, before in ((4, "load"), (2, "h4"), (1, "h2"))
    )
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<8 }", *(f"{{ [i{k}]: 0<=i{k}<{k} }}" for k in (4, 2, 1))],
        f"s[i] = a[g,i] {{id=load, inames=g:i}}\n{halves}\nout[g] = s[0] {{inames=g, dep=h1}}",
        [local("s", 8), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", **dict.fromkeys(("i", "i4", "i2", "i1"), "l.0")})


@sizes(*only_n(2))
def scalar_of_the_group() -> Made:
    """One work item writes, all read; and in each iteration of a loop again."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<3 }", "{ [i]: 0<=i<4 }"],
        """
        shared = a[g,t] {id=write, inames=g:t}
        out[g,t,i] = shared + i {inames=g:t:i, dep=write}
        """,
        [pg.TemporaryVariable("shared", address_space=LOCAL), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})


@sizes(*only_n(2))
def private_across_a_barrier() -> Made:
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }"],
        """
        <> mine = 2*a[g,i] {id=mine, inames=g:i}
        tile[i] = mine {id=load, inames=g:i}
        out[g,i] = tile[i//2] - mine {inames=g:i, dep=load}
        """,
        [local("tile", 4), "..."],
    )
    return pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})


@sizes(*only_n(3))
def rows_with_barriers() -> Made:
    """The group's number of iterations is read from memory, and there are barriers inside."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<count }", "{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"],
        """
        <> count = counts[g] {inames=g}
        tile[i] = a[g,i] + t {id=load, inames=g:t:i}
        out[g,t,j] = tile[3-j] {inames=g:t:j, dep=load}
        """,
        [local("tile", 4), pg.GlobalArg("out", shape="n, 5, 4"), "..."],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})
    return knl, {"counts": np.array([2, 0, 5], np.int32)}


@sizes(*only_n(3))
def bound_in_local_memory() -> Made:
    """All work items wait for what one of them writes, and a loop's bound reads."""
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [t]: 0<=t<count }", "{ [j]: 0<=j<4 }"],
        """
        count = counts[g] {id=count, inames=g}
        out[g,t,j] = a[g,j] + t {inames=g:t:j}
        """,
        [
            pg.TemporaryVariable("count", np.int32, address_space=LOCAL),
            pg.GlobalArg("out", shape="n, 5, 4"),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "j": "l.0"})
    return knl, {"counts": np.array([2, 0, 5], np.int32)}


# --- several launches


@sizes({"n": 10, "steps": 0}, {"n": 10, "steps": 3}, {"n": 3, "steps": 1})
def host_loop() -> Made:
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


@sizes(*only_n(9, 24))
def global_temporary() -> Made:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "t[i] = a[i] + 1 {id=write}\nout[j] = t[n-1-j] {dep=write}",
        [pg.TemporaryVariable("t", shape=(32,), address_space=GLOBAL), "..."],
        assumptions="0 <= n <= 32",
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    return pg.split_iname(knl, "j", 4, outer_tag="g.0", inner_tag="l.0")


@sizes(*only_n(6))
def one_writer() -> Made:
    """Instructions outside of the grid: the first work item of all executes them."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "total[0] = sum(j, a[j]) {id=total, inames=}\nout[i] = a[i] - total[0] {dep=total}",
    )
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
