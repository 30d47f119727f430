"""`bank_conflicts` and `add_bank_padding`: what is said is what counting one by one finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AxisNotPossible,
    InvalidArgument,
    TypeNotFound,
    UnknownArgument,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Nested
from tests.oracle.cases import kernel

LOCAL = pg.AddressSpace.LOCAL
Offset: TypeAlias = Callable[[int, int, int, int], int | None]


def counted(
    offset: Offset,
    group: tuple[int, int],
    outer: tuple[int, int],
    size: int,
    banks: int = 32,
    width: int = 4,
) -> int:
    """Return the most words of one bank for which work items ask together, one by one.

    Parameters:
        offset: from the numbers of the work item (l0, l1) and the values of two loops around it to
            the element that is touched; None if it takes no part.
        group: the work items along each axis.
        outer: how many values these loops have.
        size: the bytes of an element.
    """
    words_of_one = max(1, size // width)
    together = banks // words_of_one
    most = 1
    for k, m in product(range(outer[0]), range(outer[1])):
        for start in range(0, group[0] * group[1], together):
            asked: dict[int, set[int]] = defaultdict(set)
            for number in range(start, min(start + together, group[0] * group[1])):
                found = offset(number % group[0], number // group[0], k, m)
                if found is not None:
                    first = found * size // width
                    for word in range(first, first + words_of_one):
                        asked[word % banks].add(word)
            most = max([most, *map(len, asked.values())])
    return most


def linear(a: int, b: int, c: int, d: int = 0) -> Offset:
    return lambda x, y, k, m: a * x + b * y + c * k + d * m


def tile_kernel(
    subscripts: str, group: tuple[int, int], outer: tuple[int, int], shape: Any, dtype: str
) -> Kernel:
    """Return a kernel that reads a local temporary `t` in loops over `k` and `m`."""
    with pg.without_proofs():
        return pg.tag_inames(
            kernel(
                f"{{ [x, y, k, m]: 0<=x<{group[0]} and 0<=y<{group[1]} and 0<=k<{outer[0]} "
                f"and 0<=m<{outer[1]} }}",
                f"out[x, y, k, m] = t[{subscripts}]",
                pg.TemporaryVariable("t", dtype, shape, address_space=LOCAL),
            ),
            {"x": "l.0", "y": "l.1"},
        )


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_linear_subscripts_of_all_kinds(dtype: str) -> None:
    rng = np.random.default_rng(7)
    size = np.dtype(dtype).itemsize
    for group in ((32, 1), (16, 4), (7, 5), (1, 40), (64, 2)):
        for _ in range(6):
            a, b, c, d = (int(v) for v in rng.integers(0, 20, 4))
            knl = tile_kernel(f"{a}*x + {b}*y + {c}*k + {d}*m", group, (3, 2), 5000, dtype)
            (found,) = pg.bank_conflicts(knl, "t")
            wanted = counted(linear(a, b, c, d), group, (3, 2), size)
            assert found.ways == wanted, (group, a, b, c, d)
            assert not found.is_write


@pytest.mark.parametrize(
    ("subscripts", "offset"),
    [
        ("x // 4 + 40*y", lambda x, y, _k, _m: x // 4 + 40 * y),
        ("(x + k) % 32 + 32*y", lambda x, y, k, _m: (x + k) % 32 + 32 * y),
        ("2*((x + 3*k) // 5) + 32*y", lambda x, y, k, _m: 2 * ((x + 3 * k) // 5) + 32 * y),
        ("64*x + (x + 4*k) % 7", lambda x, _y, k, _m: 64 * x + (x + 4 * k) % 7),
        ("(x + 32*k) // 8 + 9*(m // 2)", lambda x, _y, k, m: (x + 32 * k) // 8 + 9 * (m // 2)),
        ("(31 - x)*33 + y", lambda x, y, _k, _m: (31 - x) * 33 + y),
        ("y", lambda _x, y, _k, _m: y),
        ("5", lambda *_: 5),
    ],
)
def test_subscripts_with_quotients(subscripts: str, offset: Offset) -> None:
    for banks, width in ((32, 4), (16, 4), (32, 8)):
        for dtype in ("float32", "float64"):
            knl = tile_kernel(subscripts, (32, 2), (6, 4), 4000, dtype)
            (found,) = pg.bank_conflicts(knl, "t", banks, width)
            size = np.dtype(dtype).itemsize
            assert found.ways == counted(offset, (32, 2), (6, 4), size, banks, width)


def test_work_items_that_take_no_part_do_not_count() -> None:
    knl = kernel(
        ["{ [g, x]: 0<=g<4 and 0<=x<20 }", "{ [z]: 2<=z<8 }", "{ [w, y]: 0<=w<4 and 0<=y<2 }"],
        """
        t[32*x] = a[g, x]        {id=load}
        u[0] = 1                 {id=one}
        s[16*z] = a[g, z]        {id=some}
        out[g, w, y] = t[32*(y + 2*w)] + u[0] + s[32 + 16*w]
        """,
        pg.TemporaryVariable("t", "float32", 640, address_space=LOCAL),
        pg.TemporaryVariable("s", "float32", 128, address_space=LOCAL),
        pg.TemporaryVariable("u", "float32", 1, address_space=LOCAL),
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "x": "l.0", "z": "l.0", "y": "l.1", "w": "l.0"})
    ways = {(c.insn_id, c.access): c.ways for c in pg.bank_conflicts(knl, "t")}
    # A group is 20 x 2; only half of it loads, and 8 read.
    assert ways["load", "t[32*x]"] == 20
    assert ways["insn", "t[32*(y + 2*w)]"] == counted(
        lambda x, y, _k, _m: 32 * (y + 2 * x) if x < 4 else None, (20, 2), (1, 1), 4
    )
    (one, _) = pg.bank_conflicts(knl, "u")
    assert (one.is_write, one.ways) == (True, 1)
    assert pg.bank_conflicts(knl, "s")[0].ways == 3  # 6 work items, 16 words apart


def test_vectors_are_asked_for_at_once() -> None:
    for row in (16, 20, 32, 33):
        with pg.without_proofs():
            knl = kernel(
                "{ [x, y, v]: 0<=x<8 and 0<=y<4 and 0<=v<4 }",
                f"out[x, y, v] = t[{row}*x + 4*y + v] + t[{row}*x + 4*v + y]",
                pg.TemporaryVariable("t", "float32", 300, address_space=LOCAL),
            )
            knl = pg.tag_inames(knl, {"x": "l.0", "y": "l.1", "v": "vec"})
        first, second = pg.bank_conflicts(knl, "t")
        assert second.ways == counted(linear(row, 1, 4), (8, 4), (4, 1), 4)
        # eight work items at a time, each with four words
        most = 1
        for y in range(4):
            asked: dict[int, set[int]] = defaultdict(set)
            for x, v in product(range(8), range(4)):
                asked[(row * x + 4 * y + v) % 32].add(row * x + 4 * y + v)
            most = max([most, *map(len, asked.values())])
        assert first.ways == most


def transposition(length: int, dtype: str = "float32", rows: int = 1) -> Kernel:
    """Return a transposition by way of tiles, of which a work item copies every `rows`-th row."""
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "b[j, i] = a[i, j]",
        [pg.GlobalArg("a", dtype, "n, m"), pg.GlobalArg("b", dtype, "m, n"), "..."],
    )
    tags: Mapping[str, Any] = {
        "outer_tags": {"i": "g.0", "j": "g.1"},
        "inner_tags": {"i": "l.0", **({} if rows > 1 else {"j": "l.1"})},
    }
    knl = pg.tile(knl, {"i": length, "j": length}, **tags)
    if rows > 1:
        knl = pg.split_iname(knl, "j_inner", length // rows, inner_tag="l.1")
    swept = [i for i in knl.inames if i.startswith(("i_inner", "j_inner"))]
    return pg.add_prefetch(knl, "a", swept, temporary_name="t")


def ways(knl: Kernel, name: str = "t", **banks: int) -> list[int | None]:
    return [found.ways for found in pg.bank_conflicts(knl, name, **banks)]


@pytest.mark.parametrize(
    ("length", "dtype", "rows", "before", "after", "row"),
    [
        (32, "float32", 1, [1, 32], [1, 1], 33),
        (32, "float32", 4, [1, 32], [1, 1], 33),
        (16, "float32", 1, [1, 8], [2, 1], 18),
        (16, "float64", 1, [1, 16], [1, 1], 17),
        (64, "int8", 16, [1, 16], [1, 1], 68),
        (24, "float32", 1, [1, 6], [], None),
    ],
)
def test_transposition(
    length: int,
    dtype: str,
    rows: int,
    before: list[int],
    after: list[int],
    row: int | None,
) -> None:
    old = transposition(length, dtype, rows)
    assert ways(old) == before
    new = pg.add_bank_padding(old, "t")
    if row is not None:
        (tags,) = [t.dim_tags for t in new.temporaries]
        assert tags == (Nested(1), Nested(0, row))
        assert ways(new) == after
    assert sum(filter(None, ways(new))) < sum(before)
    assert pg.parse_kernel(str(new)) == new
    assert new.original is not None
    assert pg.replay(new.original, new.history) == new
    for target in ("c", "opencl"):
        run = new.executor(target)
        for n, m in ((0, 1), (1, 1), (length + 1, 31), (2 * length, length)):
            a = np.random.default_rng(n).integers(-99, 99, size=(n, m)).astype(dtype)
            _, (b,) = run(a=a)
            np.testing.assert_array_equal(b, a.T)


def test_the_least_of_the_best() -> None:
    """Try every padding, and count one by one."""
    for group in ((16, 8), (10, 6)):
        for size, dtype in ((4, "float32"), (8, "float64")):
            with pg.without_proofs():
                knl = kernel(
                    f"{{ [x, y, k]: 0<=x<{group[0]} and 0<=y<{group[1]} and 0<=k<2 }}",
                    "out[x, y, k] = t[y, x + k] + t[x, 2*y + k]",
                    pg.TemporaryVariable("t", dtype, (20, 20), address_space=LOCAL),
                )
                knl = pg.tag_inames(knl, {"x": "l.0", "y": "l.1"})
            new = pg.add_bank_padding(knl, "t")
            sums = {
                more: counted(linear(1, 20 + more, 1), group, (2, 1), size)
                + counted(linear(20 + more, 2, 1), group, (2, 1), size)
                for more in range(64)
            }
            best = min(sums, key=lambda more: sums[more])
            (t,) = new.temporaries
            tag = Nested(0) if t.dim_tags is None else t.dim_tags[1]
            assert isinstance(tag, Nested)
            assert max(tag.pad_to, 20) == 20 + best
            assert sum(filter(None, ways(new))) == sums[best]


def test_several_and_the_order_of_axes() -> None:
    knl = kernel(
        ["{ [g]: 0<=g<n }", "{ [x, y]: 0<=x,y<32 }", "{ [p, q]: 0<=p,q<32 }"],
        """
        s[x, y] = a[g, y, x]  {id=s, inames=g:x:y}
        t[x, y] = a[g, x, y]  {id=t, inames=g:x:y}
        out[g, p, q] = s[q, p] + t[q, p]
        """,
        *[pg.TemporaryVariable(v, "float32", (32, 32), address_space=LOCAL) for v in "st"],
        pg.GlobalArg("a", "float32", "n, 32, 32"),
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "x": "l.0", "y": "l.1", "p": "l.0", "q": "l.1"})
    knl = pg.tag_array_axes(knl, "t", "F")
    new = pg.add_bank_padding(knl, "s, t")
    shown = [", ".join(map(str, t.dim_tags or ())) for t in new.temporaries]
    assert shown == ["N1, N0(pad_to=33)", "N0(pad_to=33), N1"]
    for n in (0, 1, 3):
        a = np.random.default_rng(n).random((n, 32, 32)).astype(np.float32)
        for target in ("c", "opencl"):
            _, (out,) = new.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(out, a + a.transpose(0, 2, 1))
    program = pg.merge([knl])
    assert pg.add_bank_padding(program, ["s", "t"]).default_entrypoint == new


def test_what_data_decides() -> None:
    with pg.without_proofs():
        knl = kernel(
            "{ [x]: 0<=x<32 }",
            "out[x] = t[0, p[x]] + t[x, 0]",
            pg.TemporaryVariable("t", "float32", (32, 32), address_space=LOCAL),
            pg.GlobalArg("p", "int32", 32),
        )
        knl = pg.tag_inames(knl, {"x": "l.0"})
    assert ways(knl) == [None, 32]
    assert ways(pg.add_bank_padding(knl, "t")) == [None, 1]


def test_refused() -> None:
    knl = kernel(
        ["{ [x]: 0<=x<8 }", "{ [y]: 0<=y<8 }"],
        "t[x] = a[x] \n p = 2 \n s[x] = a[x] \n out[y] = t[7 - y] + s[7 - y] + p",
        pg.TemporaryVariable("t", None, 8, address_space=LOCAL),
        pg.TemporaryVariable("s", "float32", 8, strides="2", address_space=LOCAL),
        pg.TemporaryVariable("p", "float32"),
    )
    knl = pg.tag_inames(knl, {"x": "l.0", "y": "l.0"})
    for step in (pg.add_bank_padding, pg.bank_conflicts):
        with pytest.raises(UnknownArgument, match="no argument or temporary 'q'"):
            step(knl, "q")
        with pytest.raises(InvalidArgument, match="'p' is private: only local memory is in banks"):
            step(knl, "p")
        with pytest.raises(AxisNotPossible, match="the strides of 's' are given"):
            step(knl, "s")
        with pytest.raises(TypeNotFound, match="the type of the variable 'a' is not known"):
            step(knl, "t")
        for wrong in ((0, 4), (32, 0)):
            with pytest.raises(InvalidArgument):
                step(pg.add_dtypes(knl, {"a": "float32"}), "t", *wrong)
        with pytest.raises(InvalidArgument):
            step(knl, "a")
    typed = pg.add_dtypes(knl, {"a": "float32"})
    assert ways(typed) == [1, 1]
    assert pg.add_bank_padding(typed, "t") is typed


def test_verbatim_c_says_where_elements_lie() -> None:
    with pg.without_proofs():
        knl = kernel(
            "{ [x]: 0<=x<32 }",
            '... code(x) "t[32*x] = a[x];" reads(a) writes(t)  {inames=x, id=c}\n'
            "out[x] = t[x, 0]  {dep=c}",
            pg.TemporaryVariable("t", "float32", (32, 32), address_space=LOCAL),
            pg.GlobalArg("a", "float32", 32),
        )
        knl = pg.tag_inames(knl, {"x": "l.0"})
    assert ways(knl) == [None, 32]
    with pytest.raises(VerbatimNotPossible, match="the verbatim C of 'c' touches 't'"):
        pg.add_bank_padding(knl, "t")
