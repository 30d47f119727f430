"""`overlap_time_tiles`: tiles that go through several steps of time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NoOverlappedTiles, UninitializedRead, UnknownIname
from polygen.ir.kernel import Kernel
from polygen.transforms.splitting.overlapped_boxes import box_of
from polygen.transforms.splitting.time_sweeps import sweeps_of
from tests.oracle.cases import agree
from tests.transforms.refusals import refused

LINE = "{ [t,i,p]: 0<=t<T and 1<=i,p<n-1 }"
HEAT = "b[i] = (a[i-1] + a[i+1])/2 {id=b}\na[p] = b[p] + c[t] {id=a}"


def loop(domain: Any, text: str, *data: Any, **options: Any) -> Kernel:
    """Return a kernel of nests in a loop of time, for C."""
    options = {"target": "c", "silenced_warnings": ["AmbiguousNesting"]} | options
    knl = f"for t\n{text}\nend"
    return pg.make_kernel(domain, knl, [*data, "..."], seq_dependencies=True, **options)


def array(names: str, shape: str = "n", dtype: Any = np.float64) -> pg.GlobalArg:
    return pg.GlobalArg(names, dtype, shape)


def heat(**options: Any) -> Kernel:
    return loop(LINE, HEAT, array("a, b"), array("c", "T"), **options)


def check(
    new: Kernel, expected: Callable[..., Any], shapes: Sequence[int], steps: Sequence[int]
) -> None:
    """Compare arrays with NumPy's, for sizes and numbers of steps.

    Parameters:
        new: the kernel, whose arrays have n elements along each axis; `c` has T.
        expected: changes arrays as the kernel should.
        shapes: values of n.
        steps: values of T.
    """
    arrays = {a.name: a for a in new.arguments if isinstance(a, pg.GlobalArg)}
    for n in shapes:
        for count in steps:
            rng = np.random.default_rng(n)
            given: dict[str, Any] = {}
            for name, argument in arrays.items():
                rank = len(argument.shape or ())
                shape = (count,) if name == "c" else (n,) * rank
                given[name] = rng.random(shape).astype(argument.dtype)
            right = {name: each.copy() for name, each in given.items()}
            expected(**right, T=count)
            scalars: dict[str, Any] = {} if "c" in given else {"T": count}
            new(**given, **scalars)
            for name, each in right.items():
                np.testing.assert_array_equal(given[name], each, err_msg=f"{name}, {n=} {count=}")


def heated(a: Any, b: Any, c: Any, T: int) -> None:
    for t in range(T):
        b[1:-1] = (a[:-2] + a[2:]) / 2
        a[1:-1] = b[1:-1] + c[t]


@pytest.mark.parametrize(("steps", "points"), [(1, 1), (3, 9), (4, 100)])
def test_a_line(steps: int, points: int) -> None:
    new = pg.overlap_time_tiles(heat(), "t", steps, [points])
    assert pg.replay(heat(), new.history) == new
    check(new, heated, (0, 2, 3, 10, 41), (0, 1, 2, 6, 7, 9, 17))


def test_the_oracle_agrees() -> None:
    """Any permitted order of the new kernel's instances gives what the old one's give."""
    knl = loop(LINE, "b[i] = a[i-1] + 2*a[i+1]\na[p] = b[p] + t", array("a, b"), target=None)
    sizes = [{"n": n, "T": count} for n, count in ((0, 0), (3, 4), (8, 5), (9, 3))]
    agree(knl, sizes, lambda k: pg.overlap_time_tiles(k, "t", 1, [3]))


def crossed(x: str, i: str, j: str) -> str:
    return f"0.25*({x}[{i},{j}] + {x}[{i},{j}-1] + {x}[{i},{j}+2] + {x}[{i}+1,{j}])"


PLANE = "{ [t,i,j,p,q]: 0<=t<T and 0<=i,p<n-1 and 1<=j,q<n-2 }"


def test_a_plane_in_which_stencils_lean() -> None:
    """Reaches differ by side: 0 and 1 along the rows, 1 and 2 along the columns."""
    text = f"b[i,j] = {crossed('a', 'i', 'j')}\na[p,q] = {crossed('b', 'p', 'q')}"
    knl = loop(PLANE, text, array("a, b", "n, n", np.float32))
    box = box_of(sweeps_of(knl, "t"), 2, (12, 24))
    assert box.ring == ((0, 1), (1, 2))
    assert box.wrong == ((0, 4), (4, 8))
    assert box.extents == (13, 27)
    assert box.stored == (9, 15)

    def expected(a: Any, b: Any, T: int) -> None:
        quarter = np.float32(0.25)
        for _ in range(T):
            for x, y in ((a, b), (b, a)):
                inner = x[:-1, 1:-2] + x[:-1, :-3] + x[:-1, 3:] + x[1:, 1:-2]
                y[:-1, 1:-2] = quarter * inner

    new = pg.overlap_time_tiles(knl, "t", 2, (12, 24))
    check(new, expected, (4, 29), (1, 4, 5, 10))


def test_waves_of_several_arrays() -> None:
    """Three arrays are carried, one has a row of its own, which a table says step by step."""
    knl = loop(
        """{ [t,j0,i1,j1,i2,j2,i3,j3]:
             0<=t<T and 0<=j0,j1,i2<n and 1<=i1,j2<n and 0<=i3,j3<n-1 }""",
        """
        y[0,j0] = c[t]
        y[i1,j1] = y[i1,j1] - 0.5*(h[i1,j1] - h[i1-1,j1])
        x[i2,j2] = x[i2,j2] - 0.5*(h[i2,j2] - h[i2,j2-1])
        h[i3,j3] = h[i3,j3] - 0.5*(x[i3,j3+1] - x[i3,j3] + y[i3+1,j3] - y[i3,j3])
        """,
        array("x, y, h", "n, n"),
        array("c", "T"),
        assumptions="n >= 2",
    )
    assert sweeps_of(knl, "t").carried == ("y", "x", "h")

    def expected(x: Any, y: Any, h: Any, c: Any, T: int) -> None:
        for t in range(T):
            y[0] = c[t]
            y[1:] -= 0.5 * (h[1:] - h[:-1])
            x[:, 1:] -= 0.5 * (h[:, 1:] - h[:, :-1])
            h[:-1, :-1] -= 0.5 * (x[:-1, 1:] - x[:-1, :-1] + y[1:, :-1] - y[:-1, :-1])

    new = pg.overlap_time_tiles(knl, "t", 2, (8, 12))
    check(new, expected, (2, 25), (1, 4, 9))


def test_ends_that_mirror() -> None:
    """What is at a constant place reads at a constant distance, too."""
    knl = loop(
        LINE,
        "b[i] = a[i-1] - a[i+1]\nb[0] = b[1] {inames=t}\nb[n-1] = b[n-2]/2 {inames=t}\n"
        "a[p] = b[p-1] + b[p+1]",
        array("a, b"),
        assumptions="n >= 3",
    )

    def expected(a: Any, b: Any, T: int) -> None:
        for _ in range(T):
            b[1:-1] = a[:-2] - a[2:]
            b[0], b[-1] = b[1], b[-2] / 2
            a[1:-1] = b[:-2] + b[2:]

    new = pg.overlap_time_tiles(knl, "t", 2, [16])
    check(new, expected, (3, 30), (1, 4, 5))


def test_time_from_a_size_on_and_conditions() -> None:
    knl = loop(
        "{ [t,i,p]: s<=t<T and 1<=i,p<n-1 }",
        "b[i] = a[i-1] + a[i+1] {if=i<m}\na[p] = b[p]*t",
        array("a, b"),
    )
    new = pg.overlap_time_tiles(knl, "t", 2, [8])
    for m in (0, 7, 30):
        a, b = np.random.default_rng(m).random((2, 20))
        x, y = a.copy(), b.copy()
        for t in range(3, 12):
            y[1 : min(m, 19)] = (x[:-2] + x[2:])[: max(0, min(m, 19) - 1)]
            x[1:-1] = y[1:-1] * t
        new(a=a, b=b, s=3, T=12, m=m)
        np.testing.assert_array_equal(a, x)
        np.testing.assert_array_equal(b, y)


def test_what_nothing_reads_is_left_to_the_last_steps() -> None:
    text = "b[i] = a[i-1] + a[i+1]\na[p] = b[p]/2\nd[r] = a[r] + t"
    knl = loop("{ [t,i,p,r]: 0<=t<T and 1<=i,p,r<n-1 }", text, array("a, b, d"))
    new = pg.overlap_time_tiles(knl, "t", 2, [16])
    assert "d_tile" not in new.variables

    def expected(a: Any, b: Any, d: Any, T: int) -> None:
        for t in range(T):
            b[1:-1] = a[:-2] + a[2:]
            a[1:-1] = b[1:-1] / 2
            d[1:-1] = a[1:-1] + t

    check(new, expected, (3, 30), (1, 4, 5))


def test_instructions_around_the_loop_stay_where_they_are() -> None:
    knl = pg.make_kernel(
        "{ [t,i,p,u,v]: 0<=t<T and 1<=i,p<n-1 and 0<=u,v<n }",
        """
        b[u] = u
        for t
            d[i] = b[i-1] + b[i+1]
            b[p] = d[p]
        end
        e[v] = b[v] {inames=v}
        """,
        [
            pg.TemporaryVariable(
                x, np.float64, "n", address_space=pg.AddressSpace.GLOBAL, initializer=None
            )
            for x in "bd"
        ]
        + [array("e"), "..."],
        seq_dependencies=True,
        target="c",
    )
    new = pg.overlap_time_tiles(knl, "t", 2, [8])

    def expected(e: Any, T: int) -> None:
        e[:] = np.arange(len(e))
        for _ in range(T):
            e[1:-1] = e[:-2] + e[2:]

    check(new, expected, (3, 20), (0, 1, 4, 9))


# --- what is refused

SWEEP = array("a, b")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("b[i] = a[i-1]\na[p] = sum(q, q*b[p])", "'last' reduces"),
        ("b[i] = a[i-1]\nb[p] = b[p-1]", "reads neighbours of the element of 'b'"),
        ("b[i] = a[i-1]\na[p] = b[n-p-1]", "at no constant distance"),
        ("b[i] = a[i-1]\na[p] = b[k[p]]", "data or the step of time decides"),
        ("b[i] = a[i-1]\na[p] = b[p] {if=k[p]>0}", "decides whether 'last' is executed"),
        ("b[i] = a[i-1]\na[p] = b[p] {if=t<3}", "decides whether 'last' is executed"),
        ("b[i] = a[i-1]\na[2*p-n] = b[p] {if=2*p>n}", "is not a loop and a constant"),
        ("b[i] = a[i-1]\na[p] = b[p] {if=p<4 or p>6}", "are not convex"),
        ("b[i] = a[i-1]\nx = b[2] {if=n>2}\na[p] = x", "writes 'x', which is no array"),
        ("b[i] = k[max(0, min(1, int32(a[i])))]\na[p] = b[p]", "what the loop computes decides"),
        ("b[i] = k[i-1]\na[p] = b[p]", "no iteration needs what another one wrote"),
        ("b[i] = k[i-1]\na[p] = a[p] + b[p] {atomic}", "is no plain assignment"),
        ("b[i] = a[i-1]\na[1] = b[1] {inames=+p}", "do not count the loops"),
    ],
)
def test_what_is_no_stencil(text: str, why: str) -> None:
    parts = text.splitlines()
    ids = [*parts[0][0], *parts[-1][0]] if len(parts) == 2 else ["b", "x", "a"]
    ids[-1] = "last"
    named = [
        f"{part[:-1]}, id={name}}}" if part.endswith("}") else f"{part} {{id={name}}}"
        for part, name in zip(parts, ids, strict=True)
    ]
    knl = loop(
        ["{ [t]: 0<=t<T }", "{ [i,p]: 1<=i,p<n-1 }", "{ [q]: 0<=q<3 }"],
        "\n".join(named),
        SWEEP,
        pg.GlobalArg("k", np.int32, "n"),
        *([pg.TemporaryVariable("x", np.float64)] if "x = " in text else []),
        assumptions="n >= 3",
    )
    refused(NoOverlappedTiles, why, pg.overlap_time_tiles, knl, "t", 2, [8])


def test_loops_that_time_decides() -> None:
    knl = loop("{ [t,i,p]: 0<=t<T and 1<=i,p<n-t }", "b[i] = a[i-1]\na[p] = b[p]", SWEEP)
    why = "which elements 'insn' writes, the step of time decides"
    refused(NoOverlappedTiles, why, pg.overlap_time_tiles, knl, "t", 2, [8])


def test_a_loop_of_two_statements() -> None:
    knl = loop(LINE, "for i\n b[i] = a[i-1]\n d[i] = b[i]\nend\na[p] = d[p]", array("a, b, d"))
    why = "several statements are in the loop over 'i'.*distribute_loop"
    refused(NoOverlappedTiles, why, pg.overlap_time_tiles, knl, "t", 2, [8])
    new = pg.overlap_time_tiles(pg.distribute_loop(knl, "i"), "t", 2, [8])
    assert "A_next" not in new.variables
    assert "a_next" in new.variables


def test_bounds_of_time() -> None:
    knl = loop("{ [t,i,p]: 0<=t<T and t<S and 1<=i,p<n-1 }", "b[i] = a[i-1]\na[p] = b[p]", SWEEP)
    why = "do not run from one affine bound to another"
    refused(NoOverlappedTiles, why, pg.overlap_time_tiles, knl, "t", 2, [8])


def test_arrays_that_overlap_or_have_other_axes() -> None:
    knl = loop(LINE, "b[i] = a[i-1]\na[p] = b[p]", pg.GlobalArg("a", np.float64, "n"), array("b"))
    other = pg.GlobalArg("a", np.float64, "n", may_alias=True)
    aliased = knl.copy(arguments=tuple([other if a.name == "a" else a for a in knl.arguments]))
    refused(NoOverlappedTiles, "'a' may overlap", pg.overlap_time_tiles, aliased, "t", 2, [8])
    knl = loop(LINE, "b[i,0] = a[i-1]\na[p] = b[p,0]", array("a"), array("b", "n, 1"))
    why = "'a', 'b' have different numbers of axes"
    refused(NoOverlappedTiles, why, pg.overlap_time_tiles, knl, "t", 2, [8])


def test_arguments() -> None:
    refused(NoOverlappedTiles, "none is right", pg.overlap_time_tiles, heat(), "t", 5, [8])
    refused(NoOverlappedTiles, "each of 1 axes", pg.overlap_time_tiles, heat(), "t", 2, [8, 8])
    refused(InvalidArgument, "points", pg.overlap_time_tiles, heat(), "t", 2, [0])
    refused(InvalidArgument, "points", pg.overlap_time_tiles, heat(), "t", 2, "8")
    refused(UnknownIname, "'u'", pg.overlap_time_tiles, heat(), "u", 2, [8])
    refused(NoOverlappedTiles, "no outermost loop", pg.overlap_time_tiles, heat(), "i", 2, [8])


def test_a_rim_that_nobody_wrote() -> None:
    """The kernel reads no corner; tiles would."""
    knl = pg.make_kernel(
        "{ [t,i,j,p,q,u,v,w,x,y]: 0<=t<T and 1<=i,j,p,q,u,w,x,y<n-1 and 0<=v<n }",
        """
        a[u,v] = u
        a[0,w] = 1
        a[n-1,w] = 1
        for t
            b[i,j] = a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]
            a[p,q] = b[p,q]
        end
        e[x,y] = a[x,y]
        """,
        [
            pg.TemporaryVariable(x, np.float64, "n, n", address_space=pg.AddressSpace.GLOBAL)
            for x in "ab"
        ]
        + [array("e", "n, n"), "..."],
        seq_dependencies=True,
        target="c",
        silenced_warnings=["AmbiguousNesting"],
    )
    refused(UninitializedRead, "a_tile|'a'", pg.overlap_time_tiles, knl, "t", 2, (8, 8))


def _random_line(r: random.Random) -> Kernel:
    """Return a kernel of some sweeps over lines, each at some distances."""
    names = ["a", "b", "e"][: r.choice((2, 3))]
    domains, lines = ["{ [t]: 0<=t<T }"], list[str]()
    for number in range(r.choice((2, 3, 4))):
        target, i = r.choice(names), f"i{number}"
        domains.append(f"{{ [{i}]: {r.choice((2, 3, 4))}<={i}<n-{r.choice((2, 3))} }}")
        terms = [f"{r.choice((0.5, -0.25))}*{r.choice(names)}[{i}]", r.choice(("t", "0.5"))]
        for name in r.sample(names, 2):
            if name != target:
                terms.append(f"0.25*{name}[{i}+{r.choice((-2, -1, 1, 2))}]")
        lines.append(f"{target}[{i}] = {' + '.join(terms)}  {{inames=+t}}")
    return loop(domains, "\n".join(lines), array(", ".join(names)), assumptions="n >= 6")


def test_random_lines() -> None:
    """What tiles compute is what the loop of time does, to the last digit."""
    taken = 0
    for seed in range(8):
        r = random.Random(seed)
        knl = _random_line(r)
        steps, points = r.choice((1, 2, 3)), r.choice((5, 9, 16, 30))
        try:
            new = pg.overlap_time_tiles(knl, "t", steps, [points])
        except NoOverlappedTiles:
            continue  # nothing is carried, or nothing would be right in the end
        taken += 1
        check(new, lambda knl=knl, **given: knl(**given), (6, 23, 40), (2 * steps + 1, 11))
    assert taken > 3
