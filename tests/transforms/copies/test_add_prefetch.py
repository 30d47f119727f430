"""`add_prefetch`: copies of what is read, in private and local memory."""

from __future__ import annotations

import itertools
from typing import Any

import islpy as isl
import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import (
    FootprintNotAffine,
    FootprintNotConstant,
    IllegalStep,
    InvalidArgument,
    NameTaken,
    NoLoopNest,
    NothingMatches,
    NotSwept,
    OutsideFootprint,
    ProofLimit,
    UnknownArgument,
    UnknownName,
    UserError,
)
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_instruction, show_rule
from tests.oracle.cases import (
    Step,
    agree_in_arrays,
    barriers,
    guards,
    kernel,
    loops,
    lowered,
    prior,
    split,
    steps,
    tag,
)

Array = NDArray[Any]
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
LENGTH = 4  # of a side of a tile
SIZES = (0, 1, LENGTH - 1, LENGTH, LENGTH + 1, 13)


def _lines(knl: Kernel) -> list[str]:
    return [show_instruction(insn, knl.inames) for insn in knl.instructions]


def _prefetch(*args: Any, **kwargs: Any) -> Step:
    return lambda knl: pg.add_prefetch(knl, *args, **kwargs)


def _run(knl: Kernel, target: str, **arguments: Any) -> Array:
    _, (out,) = knl.executor(target)(**arguments)
    found: Array = out
    return found


# --- the product of matrices, in tiles


def tiles(length: int = LENGTH) -> Step:
    return steps(
        split("i", length, outer_tag="g.1", inner_tag="l.1"),
        split("j", length, outer_tag="g.0", inner_tag="l.0"),
        split("k", length),
    )


PRODUCT = kernel(
    ("{ [i,j]: 0<=i,j<n }", "{ [k]: 0<=k<n }"), "out[i,j] = sum(k, a[i,k]*b[k,j])", name="product"
)
FETCHED = steps(_prefetch("a", "i_inner, k_inner"), _prefetch("b", "k_inner, j_inner"))


def test_the_product_reads_its_tiles() -> None:
    new = FETCHED(tiles(16)(PRODUCT))
    assert _lines(new) == [
        "[i_outer, j_outer, k_outer, a_dim_0, a_dim_1] a_fetch[a_dim_0, a_dim_1] = "
        "a[16*i_outer + a_dim_0, 16*k_outer + a_dim_1]  {id=a_fetch_rule}",
        "[i_outer, j_outer, k_outer, b_dim_0, b_dim_1] b_fetch[b_dim_0, b_dim_1] = "
        "b[16*k_outer + b_dim_0, 16*j_outer + b_dim_1]  {id=b_fetch_rule}",
        "[i_outer, i_inner, j_outer, j_inner] out[16*i_outer + i_inner, 16*j_outer + j_inner] = "
        "sum((k_outer, k_inner), a_fetch[i_inner, k_inner]*b_fetch[k_inner, j_inner])"
        "  {id=insn, dep=a_fetch_rule:b_fetch_rule}",
    ]
    local = pg.AddressSpace.LOCAL
    assert new.temporaries == (
        pg.TemporaryVariable("a_fetch", shape=(16, 16), address_space=local),
        pg.TemporaryVariable("b_fetch", shape=(16, 16), address_space=local),
    )
    expected = isl.Set(
        "[n, i_outer, k_outer] -> { [a_dim_0, a_dim_1] : 0 <= a_dim_0, a_dim_1 < 16 and "
        "a_dim_0 < n - 16i_outer and a_dim_1 < n - 16k_outer }"
    )
    assert new.home_domains["a_dim_0"].set.is_equal(expected)
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(PRODUCT, new.history) == new


def test_the_product_waits_twice_for_each_tile() -> None:
    knl = pg.add_dtypes(FETCHED(tiles(16)(PRODUCT)), {"a": "float32", "b": "float32"})
    lines = [line.strip() for line in str(pg.generate_code(knl, "opencl")).splitlines()]
    loop = lines.index("for (int k_outer = 0; k_outer < (n + 15) / 16; ++k_outer) {")
    waits = [at for at, line in enumerate(lines) if line == BARRIER]
    load = next(at for at, line in enumerate(lines) if line.startswith("a_fetch["))
    use = lines.index("for (int k_inner = 0; k_inner < 16; ++k_inner) {")
    assert [loop, load, waits[0], use, waits[1]] == sorted([loop, load, waits[0], use, waits[1]])
    assert len(waits) == 2
    # neighbours load neighbours
    assert "int const j_inner = get_local_id(0);" in lines
    assert len([line for line in lines if "get_local_id(0)" in line]) == 1
    assert lines[load].endswith("= a[(16 * i_outer + i_inner) * n + 16 * k_outer + j_inner];")


def test_whole_tiles_need_no_guards() -> None:
    knl = pg.assume(PRODUCT, "n mod 16 = 0 and n >= 16")
    knl = pg.add_dtypes(FETCHED(tiles(16)(knl)), {"a": "float32", "b": "float32"})
    assert guards(lowered(knl)) == []
    assert len(barriers(lowered(knl))) == 2


@pytest.mark.parametrize("n", SIZES)
def test_the_product_is_the_product(n: int) -> None:
    knl = FETCHED(tiles()(PRODUCT))
    random = np.random.default_rng(n)
    a, b = (random.integers(-9, 9, (n, n)).astype(np.float32) for _ in "ab")
    for target in ("c", "opencl"):
        np.testing.assert_array_equal(_run(knl, target, a=a, b=b), a @ b)


@pytest.mark.more
def test_the_product_means_the_product() -> None:
    agree_in_arrays(
        PRODUCT,
        [{"n": n} for n in SIZES],
        steps(tiles(), FETCHED),
        steps(tiles(), _prefetch("a", "i_inner, k_inner"), _prefetch("b", "k_inner, j_inner")),
        # a row for each work item
        steps(tiles(), _prefetch("a", "k_inner", default_tag=None)),
        steps(tiles(), _prefetch("a", "k_inner", default_tag="unr")),
        # a column of tiles at once, in the first work item's care
        steps(tiles(), _prefetch("b", "k_inner, j_inner", default_tag=None)),
    )


def test_what_the_group_shares_has_to_be_swept() -> None:
    with pytest.raises(NotSwept, match=r"depends on 'i_inner', which is tagged l\.1: the group"):
        pg.add_prefetch(tiles()(PRODUCT), "a", "k_inner")


# --- stencils

STENCIL = kernel(
    "{ [i,j]: 1<=i,j<n-1 }",
    "out[i,j] = a[i,j+1] + a[i,j-1] + a[i+1,j] + a[i-1,j] - 4*a[i,j]",
    pg.GlobalArg("a", shape="n,n"),
    pg.GlobalArg("out", shape="n,n"),
    name="stencil",
)
GRID = steps(
    split("i", LENGTH, outer_tag="g.1", inner_tag="l.1"),
    split("j", LENGTH, outer_tag="g.0", inner_tag="l.0"),
)


def _laplacian(a: Array) -> Array:
    out = np.zeros_like(a)
    if len(a) > 2:
        inner = a[1:-1, 2:] + a[1:-1, :-2] + a[2:, 1:-1] + a[:-2, 1:-1] - 4 * a[1:-1, 1:-1]
        out[1:-1, 1:-1] = inner
    return out


@pytest.mark.parametrize("box", [None, True, False])
def test_a_stencil_with_a_halo(box: bool | None) -> None:
    step = steps(GRID, _prefetch("a", "i_inner, j_inner", fetch_bounding_box=box))
    new = step(STENCIL)
    assert new.temporaries[0].shape == (LENGTH + 2, LENGTH + 2)
    domain = new.home_domains["a_dim_0"].set
    places = {(p, q) for p in range(LENGTH + 2) for q in range(LENGTH + 2)}
    if box is False:  # a cross has no corners
        places -= {(p, q) for p in (0, LENGTH + 1) for q in (0, LENGTH + 1)}
    for p, q in [(p, q) for p in range(-1, LENGTH + 3) for q in range(-1, LENGTH + 3)]:
        inside = isl.Set(
            f"[n, i_outer, j_outer] -> {{ [{p}, {q}] : n = 100 and i_outer = 2 and j_outer = 3 }}"
        )
        assert domain.is_disjoint(inside) == ((p, q) not in places)
    for n in SIZES:
        a = np.random.default_rng(n).integers(-9, 9, (n, n)).astype(np.float32)
        for target in ("c", "opencl"):
            out = np.zeros_like(a)
            new.executor(target)(a=a, out=out)
            np.testing.assert_array_equal(out, _laplacian(a))
    agree_in_arrays(STENCIL, [{"n": n} for n in SIZES], step)


def test_a_halo_takes_two_rounds_of_loads() -> None:
    knl = pg.add_dtypes(steps(GRID, _prefetch("a", "i_inner, j_inner"))(STENCIL), {"a": "float32"})
    found = [(loop.lower, loop.upper) for loop in loops(lowered(knl))]
    assert found == [(0, 2), (0, 2)]
    assert len(barriers(lowered(knl))) == 1


def test_a_stencil_of_one_axis_far_apart() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + a[i+9]", pg.GlobalArg("a", shape="n + 9"))
    step = steps(split("i", 4), _prefetch("a", "i_inner", default_tag=None))
    exact = pg.add_prefetch(
        split("i", 4)(knl), "a", "i_inner", default_tag=None, fetch_bounding_box=False
    )
    assert exact.temporaries[0].shape == step(knl).temporaries[0].shape == (13,)
    wanted = isl.Set("[n, i_outer] -> { [5] : n = 100 and i_outer = 0 }")
    assert exact.home_domains["a_dim_0"].set.is_disjoint(wanted)
    agree_in_arrays(knl, [{"n": n} for n in SIZES], step)


def test_every_other_element() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[2*i] + a[2*i+4]", pg.GlobalArg("a", shape="2*n+4"))
    step = steps(split("i", 4, outer_tag="g.0", inner_tag="l.0"), _prefetch("a", "i_inner"))
    new = step(knl)
    assert new.temporaries[0].shape == (6,)
    assert _lines(new) == [
        "[i_outer, a_dim_0] a_fetch[a_dim_0] = a[8*i_outer + 2*a_dim_0]  {id=a_fetch_rule}",
        "[i_outer, i_inner] out[4*i_outer + i_inner] = a_fetch[i_inner] + a_fetch[i_inner + 2]"
        "  {id=insn, dep=a_fetch_rule}",
    ]
    agree_in_arrays(knl, [{"n": n} for n in SIZES], step)


def test_subscripts_that_follow_from_others_take_no_room() -> None:
    data = (pg.GlobalArg("a", np.float64, "2*n, 3*n+1"), pg.GlobalArg("out", np.float64, "n"))
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[2*i, 3*i+1]", *data)
    step = steps(split("i", 4), _prefetch("a", "i_inner", default_tag=None))
    assert _lines(step(knl))[0] == (
        "[i_outer, a_dim_0] a_fetch[a_dim_0] = a[8*i_outer + 2*a_dim_0, 12*i_outer + 3*a_dim_0 + 1]"
        "  {id=a_fetch_rule}"
    )
    agree_in_arrays(knl, [{"n": n} for n in (0, 1, 5)], step)


def test_neighbours_in_a_ring() -> None:
    data = (pg.GlobalArg("a", np.float64, "n"), pg.GlobalArg("out", np.float64, "n"))
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[(i+1) % n] - a[(i + n - 1) % n]", *data)
    step = steps(split("i", 4, outer_tag="g.0", inner_tag="l.0"), _prefetch("a", "i_inner"))
    assert _lines(step(knl))[0].endswith("= a[(4*i_outer + a_dim_0 - 1) % n]  {id=a_fetch_rule}")
    assert step(knl).temporaries[0].shape == (6,)
    for n in (0, 1, 3, 4, 5, 11):
        a = np.random.default_rng(n).random(n)
        out = _run(step(knl), "c", a=a)
        np.testing.assert_array_equal(out, np.roll(a, -1) - np.roll(a, 1))


# --- loops that were joined

PLANES = kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }",
    "f(x, y) := a[x,y]*j\nout[i,j] = f(i,j) + b[j] + c[i,j+2] - c[i,j]",
    pg.GlobalArg("a, out", np.float64, "n, m"),
    pg.GlobalArg("b", np.float64, "m"),
    pg.GlobalArg("c", np.float64, "n, m+2"),
)
JOINED = steps(
    lambda knl: pg.join_inames(knl, "i, j", "ij"), split("ij", 8, outer_tag="g.0", inner_tag="l.0")
)


def _planes(new: Kernel, target: str = "c", sizes: Any = ((0, 3), (3, 0), (1, 1), (5, 3))) -> None:
    for n, m in (*sizes, (2, 17)):
        rng = np.random.default_rng(n + 10 * m)
        a, b, c = rng.random((n, m)), rng.random(m), rng.random((n, m + 2))
        out = np.full((n, m), np.nan)
        new.executor(target)(a=a, b=b, c=c, out=out)
        expected = a * np.arange(m) + b + c[:, 2:] - c[:, :-2]
        np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_loops_of_sizes_that_were_joined() -> None:
    step = steps(JOINED, *(_prefetch(name, "ij_inner") for name in "abc"))
    new = step(PLANES)
    assert _lines(new)[:3] == [
        "[ij_outer, a_dim_0] a_fetch[a_dim_0] = "
        "a[(8*ij_outer + a_dim_0)//m, (8*ij_outer + a_dim_0) % m]  {id=a_fetch_rule}",
        "[ij_outer, b_dim_0] b_fetch[b_dim_0] = b[(8*ij_outer + b_dim_0) % m]  {id=b_fetch_rule}",
        "[ij_outer, c_dim_0, c_dim_1_rest] c_fetch[c_dim_0, c_dim_1_rest] = "
        "c[(8*ij_outer + c_dim_0)//m, (8*ij_outer + c_dim_0) % m + c_dim_1_rest]"
        "  {id=c_fetch_rule}",
    ]
    assert [t.shape for t in new.temporaries] == [(8,), (8,), (8, 3)]
    assert pg.parse_kernel(str(new)) == new
    _planes(new)
    _planes(new, "opencl", ())
    code = pg.generate_code(steps(JOINED, _prefetch("a", "ij_inner"))(PLANES), "opencl")
    assert "a_fetch[ij_inner] = a[8 * ij_outer + ij_inner];" in str(code)


def test_a_rule_in_loops_of_sizes_that_were_joined() -> None:
    new = pg.precompute(JOINED(PLANES), "f", "ij_inner", storage_axes="x")
    assert _lines(new)[0].endswith("(8*ij_outer + x) % m]*((8*ij_outer + x) % m)  {id=f}")
    _planes(new)
    with pytest.raises(InvalidArgument, match="'y' cannot be a storage axis: it is not affine"):
        pg.precompute(JOINED(PLANES), "f", "ij_inner", storage_axes="y")


def test_three_loops_of_sizes_that_were_joined() -> None:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<p }",
        "out[i,j,k] = b[k,j]",
        [pg.GlobalArg("b", np.float64, "p, m"), pg.GlobalArg("out", np.float64, "n, m, p"), "..."],
    )
    knl = pg.split_iname(pg.join_inames(knl, "i, j, k", "ijk"), "ijk", 4)
    new = pg.add_prefetch(knl, "b", "ijk_inner", default_tag=None)
    assert new.temporaries[0].shape == (4,)
    for n, m, p in ((0, 2, 2), (2, 3, 5), (7, 1, 3)):
        b = np.random.default_rng(n).random((p, m))
        np.testing.assert_array_equal(_run(new, "c", b=b, n=n), np.broadcast_to(b.T, (n, m, p)))


def test_uses_that_divide_otherwise_are_refused() -> None:
    data = (pg.GlobalArg("b", np.float64, "m"), pg.GlobalArg("out", np.float64, "n, m"), "...")
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = b[j] + b[0]", [*data])
    with pytest.raises(FootprintNotAffine, match=r"the use 'b_fetch_rule\(ij % m\)' needs"):
        pg.add_prefetch(pg.join_inames(knl, "i, j", "ij"), "b")


def test_loops_of_constant_lengths_that_were_joined() -> None:
    knl = kernel("{ [i,j]: 0<=i<10 and 0<=j<12 }", "out[i,j] = a[i,j] + b[j]")
    for length, shape in ((16, (2, 12)), (24, (2, 12)), (7, (2, 12)), (4, (4,))):
        step = steps(
            lambda k: pg.join_inames(k, "i, j", "ij"),
            split("ij", length),
            *(_prefetch(name, "ij_inner", default_tag=None) for name in "ab"),
        )
        assert step(knl).temporaries[0].shape == shape
        agree_in_arrays(knl, [{}], step)
        if length == 16:
            assert "a[a_dim_0 + ij_outer + ij_outer//3, a_dim_1]" in _lines(step(knl))[0]


# --- what else may be copied


def test_a_row_into_private_memory() -> None:
    knl = kernel(
        ("{ [i,j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<8 }"), "out[i,j] = sum(k, a[i,k]*b[k,j])"
    )
    knl = pg.add_dtypes(prior("i, j")(knl), {"a": "float32", "b": "float32"})
    text = str(pg.generate_code(pg.add_prefetch(knl, "a", "k", default_tag=None), "c"))
    assert "if" not in text
    assert text.index("a_fetch[a_dim_1] = a[8 * i + a_dim_1];") < text.index("int j = 0")
    sizes = [{"n": n, "m": m} for n in (0, 3) for m in (0, 2)]
    for default in (None, "unr"):
        agree_in_arrays(knl, sizes, _prefetch("a", "k", default_tag=default))


def test_what_might_not_be_there_is_read_only_if_needed() -> None:
    # for m = 0 there is no a[i, 0]
    a = pg.GlobalArg("a", shape="n,m")
    knl = prior("i, j")(kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,0] + j", a))
    new = pg.add_prefetch(knl, "a")
    assert _lines(new)[0] == "[i] a_fetch = a[i, 0]  {id=a_fetch_rule, if=m >= 1}"
    agree_in_arrays(knl, [{"n": 3, "m": m} for m in (0, 2)], _prefetch("a"))


def test_a_scalar_in_memory() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[0]*i", pg.GlobalArg("a", shape=1))
    new = pg.add_prefetch(knl, "a")
    assert _lines(new)[0] == "[] a_fetch = a[0]  {id=a_fetch_rule}"
    agree_in_arrays(knl, [{"n": 0}, {"n": 3}], _prefetch("a"))


def test_a_temporary_may_be_copied() -> None:
    knl = kernel(
        ("{ [i]: 0<=i<8 }", "{ [k,l]: 0<=k,l<8 }"),
        "t[i] = 2*a[i]  {id=t}\nout[k,l] = t[k]*t[l]",
        pg.TemporaryVariable("t", shape=8, address_space=pg.AddressSpace.GLOBAL),
    )
    new = pg.add_prefetch(prior("k, l")(knl), "t", "l, k", default_tag=None)
    assert new.instruction("t_fetch_rule").depends_on == {"t"}
    agree_in_arrays(prior("k, l")(knl), [{}], _prefetch("t", "l, k", default_tag=None))


def test_a_table() -> None:
    table = pg.GlobalArg("table", np.float64, shape=10)
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = table[idx[i]]", table, pg.GlobalArg("idx", np.int32))
    knl = split("i", 4, outer_tag="g.0", inner_tag="l.0")(knl)
    new = _prefetch("table[:]", unsafe=True)(knl)
    assert "unsafe=True" in str(new)
    assert new.temporaries[0].shape == (10,)
    values = np.random.default_rng(0).random(10)
    for n in SIZES:
        index = np.random.default_rng(n).integers(0, 10, n).astype(np.int32)
        for target in ("c", "opencl"):
            out = _run(new, target, table=values, idx=index)
            np.testing.assert_array_equal(out, values[index])
    with pytest.raises(FootprintNotAffine, match="depends on data"):
        pg.add_prefetch(knl, "table", "i_inner")


@pytest.mark.parametrize(
    ("name", "subscripts", "shape"),
    [
        ("a[i_outer*4 + i_inner, :]", None, (4, 6)),
        ("a[:, :]", None, (8, 6)),
        ("a", [("4*i_outer + i_inner", ":"), ("4*i_outer", 0)], (4, 6)),
        ("a", (":", "j"), (8, 6)),
        ("a[4*i_outer + i_inner, j]", None, (4, 6)),
    ],
)
def test_a_footprint_that_is_given(name: str, subscripts: Any, shape: tuple[int, ...]) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<8 and 0<=j<6 }",
        "out[i,j] = a[i,j] + a[i,5-j]",
        pg.GlobalArg("a", shape="8,6"),
    )
    knl = split("i", 4)(knl)
    step = _prefetch(name, "i_inner, j", footprint_subscripts=subscripts, default_tag=None)
    assert step(knl).temporaries[0].shape == shape
    agree_in_arrays(knl, [{}], step)


def test_reads_in_rules_and_in_conditions() -> None:
    text = "f(x) := a[x] + b[x]\nout[i] = f(i)  {if=a[i] > 0}"
    knl = kernel("{ [i]: 0<=i<9 }", text, pg.GlobalArg("out", shape=9))
    step = _prefetch("a", "i", default_tag=None, unsafe=True)
    new = step(knl)
    assert "= f(i)  {id=insn, dep=a_fetch_rule, if=a_fetch[i] > 0}" in _lines(new)[1]
    assert [show_rule(rule) for rule in new.substitutions] == ["f(x) := a_fetch[x] + b[x]"]
    agree_in_arrays(knl, [{}], step)


RULES = {
    # what a rule mentions, what it is called with, what comes of it
    "where the tile begins": ("f(x) := 2*a[x]", "f(i)", "f(x) := 2*a_fetch[x - 8*i_outer]"),
    "an argument called as an iname": (
        "f(i_outer) := 2*a[i_outer]", "f(i)", "f(i_outer_0) := 2*a_fetch[i_outer_0 - 8*i_outer]",
    ),
    "an argument called as the array": (
        "f(x) := 2*a[x]\n        g(a) := f(a) + a", "g(i)", "g(a_0) := f(a_0) + a_0",
    ),
    "an iname of its own": ("f() := 2*a[i]*i", "f()", "f() := 2*a_fetch[i - 8*i_outer]*i"),
    "a reduction": ("f(x) := sum(j, a[x]*j)", "f(i)",
                    "f(x) := sum(j, a_fetch[x - 8*i_outer]*j)"),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rules_stay(name: str) -> None:
    rule, use, expected = RULES[name]
    knl = kernel(("{ [i]: 0<=i<n }", "{ [j]: 0<=j<3 }"), f"{rule}\nout[i] = {use} + i")
    step = steps(split("i", 8), _prefetch("a", "i_inner", default_tag=None))
    assert expected in [show_rule(rule) for rule in step(knl).substitutions]
    assert pg.parse_kernel(str(step(knl))) == step(knl)
    agree_in_arrays(knl, [{"n": n} for n in (0, 9)], step)


def test_a_rule_in_which_an_iname_is_another_value_is_expanded() -> None:
    text = "f(x) := 2*a[x]*i_outer\nout[i_outer, i] = f(4*i_outer + i, i_outer=i) + f(i_outer + i)"
    knl = kernel("{ [i_outer, i]: 0<=i<4 and 0<=i_outer<n }", text)
    step = _prefetch("a", "i", default_tag=None)
    with pytest.raises(FootprintNotConstant):
        step(knl)
    knl = kernel("{ [i_outer, i]: 0<=i<4 and 0<=i_outer<n }", text.partition(" + f(i_o")[0])
    assert _lines(step(knl))[1].endswith("= 2*a_fetch[i]*i  {id=insn, dep=a_fetch_rule}")
    agree_in_arrays(knl, [{"n": 3}], step)


def test_a_prefetch_and_then_what_is_computed_of_it() -> None:
    text = "f(x) := 2*a[x]\ng(x) := f(x) + b[x]\nout[i] = g(i) + f(i)"
    knl = kernel("{ [i]: 0<=i<n }", text)
    compute: Step = lambda k: pg.precompute(k, "f", "i_inner")  # noqa: E731
    step = steps(
        split("i", 8, outer_tag="g.0", inner_tag="l.0"), _prefetch("a", "i_inner"), compute
    )
    assert _lines(step(knl))[1] == "[i_outer, x] f_0[x] = 2*a_fetch[x]  {id=f, dep=a_fetch_rule}"
    agree_in_arrays(knl, [{"n": n} for n in (0, 9)], step)


@pytest.mark.parametrize("layout", ["vec", "sep"])
def test_components_are_copied_one_by_one(layout: str) -> None:
    array = pg.GlobalArg("a", np.float32, "n+1, 2", dim_tags=f"N0, {layout}")
    out = pg.GlobalArg("out", np.float32, "n, 2")
    knl = pg.make_kernel(
        "{ [i,c]: 0<=i<n and 0<=c<2 }", "out[i,c] = a[i,c] - a[i+1,1-c]", [array, out, "..."]
    )
    knl = pg.split_iname(pg.tag_inames(knl, {"c": "unr"}), "i", 4, inner_tag="l.0")
    new = pg.add_prefetch(knl, "a", "i_inner, c")
    assert {i: str(new.tags[i]) for i in ("a_dim_0", "a_dim_1")} == {
        "a_dim_0": "l.auto", "a_dim_1": "unr",
    }  # fmt: skip
    text = str(pg.generate_code(new, "opencl"))
    assert all(part in text for part in ((".s0", ".s1") if layout == "vec" else ("a_s0", "a_s1")))


def test_names() -> None:
    knl = kernel("{ [i]: 0<=i<9 }", "a_dim_0[i] = 2\nout[i] = a[i] + b[i]  {id=a_fetch_rule}")
    new = pg.add_prefetch(knl, "a", "i", default_tag=None)
    line = "[a_dim_0_0] a_fetch[a_dim_0_0] = a[a_dim_0_0]  {id=a_fetch_rule_0}"
    assert _lines(new)[1] == line
    names: dict[str, Any] = {
        "dim_arg_names": "p", "rule_name": "load", "temporary_name": "tile"
    }  # fmt: skip
    new = pg.add_prefetch(knl, "a", "i", default_tag=None, **names)
    assert _lines(new)[1] == "[p] tile[p] = a[p]  {id=load}"
    new = pg.add_prefetch(knl, "a", "i", prefetch_insn_id="copy", default_tag=None)
    assert _lines(new)[1].endswith("{id=copy}")
    again = pg.add_prefetch(new, "b", "i", default_tag=None)
    assert [t.name for t in again.temporaries] == ["a_fetch", "b_fetch"]


def test_only_some_instructions() -> None:
    knl = kernel("{ [i]: 0<=i<9 }", "b[i] = a[i]  {id=first}\nc[i] = a[i]  {id=second}")
    new = pg.add_prefetch(knl, "a", "i", default_tag=None, within="second")
    assert _lines(new)[0] == "[i] b[i] = a[i]  {id=first}"
    assert _lines(new)[2].startswith("[i] c[i] = a_fetch[i]")


def test_an_array_that_a_called_kernel_is_given() -> None:
    dot = pg.make_function(
        "{ [k]: 0<=k<8 }",
        "r = sum(k, u[k]*v[k])",
        [*(pg.GlobalArg(x, shape=8) for x in "uv"), pg.GlobalArg("r", shape=())],
        name="dot8",
    )
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }",
        "g[i,j] = dot8([k]: a[i,k], [k]: b[j,k])",
        [*(pg.GlobalArg(x, np.float64, "n, 8") for x in "ab"), "..."],
        loop_priority="i, j",
        functions={"dot8": dot},
    )
    with pytest.raises(FootprintNotAffine, match="is up to kernel 'dot8'") as caught:
        pg.add_prefetch(knl, "a")
    assert "inline_callable_kernel(kernel, 'dot8')" in str(caught.value.remedy)
    inlined = pg.inline_callable_kernel(knl, "dot8")
    ways = (
        pg.add_prefetch(inlined, "a", "dot8_k", default_tag=None),
        pg.add_prefetch(knl, "a[i, :]"),
    )
    for new, n in itertools.product(ways, SIZES):
        a, b = np.random.default_rng(n).random((2, n, 8))
        np.testing.assert_allclose(_run(new, "c", a=a, b=b), a @ b.T)


# --- refused

REFUSALS: list[tuple[dict[str, Any], type[UserError], str]] = [
    ({"var_name": "aa"}, UnknownArgument, "no argument or temporary 'aa'"),
    ({"var_name": "n"}, InvalidArgument, "'n' is a scalar argument: there is nothing to copy"),
    ({"var_name": "c"}, NothingMatches, "uses 'c_fetch_rule'"),
    ({"var_name": "a", "sweep_inames": "i"}, FootprintNotConstant, "box of constant size"),
    ({"var_name": "a[j]"}, InvalidArgument, "there are 1 subscripts, but 'a' has 2 axes"),
    ({"var_name": "a[j, :]", "footprint_subscripts": (0, 0)}, InvalidArgument, "both say what"),
    ({"var_name": "a[q, 0]"}, UnknownName, "the footprint mentions 'q'"),
    ({"var_name": "a[i, 0]"}, OutsideFootprint, r"needs what is not in the footprint"),
    ({"var_name": "a[i, b[0]]"}, FootprintNotAffine, r"\[i, b\[0\]\] depends on data"),
    ({"var_name": "a[:, j]"}, FootprintNotConstant, "'a_dim_0' in 'a_fetch_rule' that are needed"),
    ({"var_name": "a", "footprint_subscripts": 3}, InvalidArgument, "footprint_subscripts=3"),
    ({"var_name": "a", "footprint_subscripts": [(2.5, 0)]}, InvalidArgument, "footprint_subscr"),
    ({"var_name": "a", "dim_arg_names": "p"}, InvalidArgument, "1 dim_arg_names, but 'a' has 2"),
    ({"var_name": "a", "dim_arg_names": "b, p"}, NameTaken, "already has a 'b'"),
    ({"var_name": "a", "temporary_name": "b"}, NameTaken, "already has a 'b'"),
    ({"var_name": "a", "prefetch_insn_id": "insn"}, NameTaken, "an instruction 'insn'"),
    ({"var_name": "a", "temporary_address_space": "lokal"}, InvalidArgument, "an AddressSpace"),
    ({"var_name": "a", "fetch_outer_inames": "j"}, NotSwept, "'i', which is not among the outer"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSALS)
def test_refused(arguments: dict[str, Any], error: type[UserError], message: str) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }",
        "out[i,j] = a[i,j] + b[i]  {id=insn}\nc[i] = n",
        pg.GlobalArg("b", np.int32),
        pg.GlobalArg("a", shape="n,4"),
    )
    given: dict[str, Any] = {"sweep_inames": "j", **arguments}
    with pytest.raises(error, match=message):
        pg.add_prefetch(knl, **given)


ILLEGAL = {
    "a recurrence": ("{ [i]: 1<=i<17 }", "a[i] = a[i-1] + 1", "i"),
    "an update that reads what is to come": ("{ [i]: 1<=i<16 }", "a[i] = a[i-1] + a[i+1]", "i"),
}


@pytest.mark.parametrize("name", ILLEGAL)
@pytest.mark.parametrize("default", [None, "l.auto"])
def test_what_changes_in_between_is_refused(name: str, default: str | None) -> None:
    domain, text, sweep = ILLEGAL[name]
    knl = kernel(domain, text, pg.GlobalArg("a", shape=17))
    with pytest.raises(IllegalStep):
        pg.add_prefetch(knl, "a", sweep, default_tag=default)
    # without the proof it is wrong indeed
    a = np.arange(17.0) ** 2
    right, wrong = a.copy(), a.copy()
    knl(a=right)
    _prefetch("a", sweep, default_tag=default, unsafe=True)(knl)(a=wrong)
    assert not np.array_equal(right, wrong)


def test_a_copy_hoisted_above_a_write_is_refused() -> None:
    knl = kernel(
        ("{ [i]: 0<=i<8 }", "{ [k]: 0<=k<8 }"),
        "a[i] = 2*a[i]  {id=write}\nout[k] = a[7-k]  {id=read}",
    )
    new = pg.add_prefetch(knl, "a", "k", within="read", default_tag=None)
    assert new.instruction("a_fetch_rule").depends_on == {"write"}
    agree_in_arrays(knl, [{}], _prefetch("a", "k", within="read", default_tag=None))

    @pg.transformation
    def hoist(knl: Kernel) -> Kernel:
        """Forget that the copy comes after the write."""
        return knl.copy(
            instructions=tuple(
                i.copy(depends_on=frozenset()) if i.id == "a_fetch_rule" else i
                for i in knl.instructions
            )
        )

    with pytest.raises(UserError):
        hoist(new)


def test_a_tile_that_another_iteration_may_still_read() -> None:
    """In the loop over t, the copy is overwritten: a barrier comes before."""
    knl = kernel("{ [t,i]: 0<=t<m and 0<=i<4 }", "out[t,i] = a[t,3-i]")
    step = steps(tag(i="l.0"), _prefetch("a", "i"))
    assert len(barriers(lowered(step(knl)))) == 2
    agree_in_arrays(knl, [{"m": 0}, {"m": 3}], step)


def test_many_pieces_are_refused() -> None:
    places = " or ".join(f"i = {3 * k * k}" for k in range(20))
    knl = pg.make_kernel(f"{{ [i]: {places} }}", "b[i] = a[i]")
    with pytest.raises(ProofLimit, match=r"(?s)form 20 separate pieces.*at most 16 pieces"):
        pg.add_prefetch(knl, "a", "i", fetch_bounding_box=False)
    assert "0 <= a_dim_0 <= 1083" in str(pg.add_prefetch(knl, "a", "i"))


def test_a_kernel_with_points_in_the_order() -> None:
    text = "... nop  {id=start}\nout[i] = a[i] + a[i + 1]  {dep=start}"
    knl = split("i", 4)(kernel("{ [i]: 0<=i<n }", text, pg.GlobalArg("a", shape="n + 1")))
    sizes = [{"n": n} for n in (0, 1, 7, 9)]
    agree_in_arrays(knl, sizes, lambda k: pg.add_prefetch(k, "a", "i_inner"))


def _product_of_rows(order: str) -> Kernel:
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<4 }",
        "c[i,j] = c[i,j] + a[i,k]*b[k,j] + x[j]",
        pg.GlobalArg("a, c", "float64", "n, 4"),
        pg.GlobalArg("b", "float64", "4, 4"),
        pg.GlobalArg("x", "float64", 4),
        loop_priority=order,
    )
    return pg.split_iname(knl, "i", 3)


@pytest.mark.parametrize(
    ("order", "first", "second"),
    [
        # What the second one stores decides nothing in i_outer, in which the first one is.
        ("i, j, k", "i_inner", "i_inner"),
        ("i, j, k", "i_inner, k", "k"),
        ("i, j, k", "i_inner, k", "j"),
        ("k, j, i", "i_inner, k", "i_inner, j"),
        ("j, i, k", "i_inner, j, k", "k"),
    ],
)
def test_one_after_the_other(order: str, first: str, second: str) -> None:
    def fetched(knl: Kernel) -> Kernel:
        knl = pg.add_prefetch(knl, "a", first, default_tag=None)
        return pg.add_prefetch(knl, "b", second, default_tag=None)

    agree_in_arrays(_product_of_rows(order), [{"n": n} for n in (0, 1, 3, 7)], fetched)


@pytest.mark.parametrize(("first", "second"), [("i_inner", "k"), ("j", "i_inner")])
def test_two_that_have_no_nest_together(first: str, second: str) -> None:
    """One is in a loop that the other one sweeps, and the other way round."""
    knl = pg.add_prefetch(_product_of_rows("i, j, k"), "a", first, default_tag=None)
    with pytest.raises(NoLoopNest, match="cannot be computed within"):
        pg.add_prefetch(knl, "b", second, default_tag=None)


def test_outer_inames_that_are_given_are_kept() -> None:
    knl = pg.add_prefetch(_product_of_rows("i, j, k"), "a", "i_inner", default_tag=None)
    with pytest.raises(NoLoopNest, match="cannot be computed within"):
        pg.add_prefetch(knl, "b", "i_inner", default_tag=None, fetch_outer_inames="j, k")


@pytest.mark.parametrize(
    "steps_before",
    [
        split("i", 4),
        steps(split("i", 4), split("i_outer", 2)),
        steps(split("i", 4), lambda knl: pg.rename_iname(knl, "i_inner", "lane")),
        lambda knl: pg.affine_map_inames(knl, "i", "r", "r = 7 - i"),
    ],
)
def test_footprints_in_inames_that_are_gone(steps_before: Step) -> None:
    knl = kernel(
        "{ [i,k]: 0<=i<8 and 0<=k<6 }",
        "out[i] = sum(k, a[i,k]*b[k])",
        pg.GlobalArg("a", shape="8,6"),
    )
    knl = steps_before(knl)
    new = pg.add_prefetch(knl, "a[i,k]", "k", default_tag=None)
    assert new.temporaries[0].shape == (6,)
    agree_in_arrays(knl, [{}], _prefetch("a[i,k]", "k", default_tag=None))
    with pytest.raises(OutsideFootprint, match="needs what is not in the footprint"):
        pg.add_prefetch(knl, "a[i,2]", "k")
