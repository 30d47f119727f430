"""C: when loops run on threads, which become vectors; that results are as NumPy's then."""

from __future__ import annotations

import re
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg

EXAMPLES = Path(__file__).parents[3] / "examples"
RNG = np.random.default_rng(seed=8)
F32 = {"a": np.float32}


def kernel(domains: Any, text: str, tags: str, *arguments: Any, **options: Any) -> pg.Kernel:
    knl = pg.make_kernel(domains, text, [*arguments, "..."], target="c")
    return pg.set_options(pg.tag_inames(knl, tags), **options)


def code(knl: pg.Kernel, **dtypes: Any) -> str:
    return str(pg.generate_code(pg.add_dtypes(knl, dtypes or F32)))


def result(knl: pg.Kernel, **given: Any) -> Any:
    """Return the output of a kernel that runs on threads."""
    _, (out,) = pg.set_options(knl, serial_below=0)(**given)
    return out


# --- threads


def test_small_calls_start_no_threads() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", "i: g.0")
    assert "#pragma omp parallel for simd if(n >= 32768)\n" in code(knl)
    plane = kernel("{ [i,j]: 0<=i<n and 1<=j<m }", "out[i,j] = 2*a[i,j]", "i: g.0")
    assert "#pragma omp parallel for if(1LL * n * (m - 1) >= 32768)\n" in code(plane)
    always = pg.set_options(knl, serial_below=0)
    assert "#pragma omp parallel for simd\n" in code(always)
    for size, parallel in ((32767, False), (32768, True)):
        text = code(pg.fix_parameters(knl, n=size))
        assert ("#pragma omp parallel for simd\n" in text, "omp" in text) == (parallel, parallel)


def test_tiles_that_are_not_full_count_as_they_are() -> None:
    """Of a plane of 16 x 16 elements, one tile of 128 x 128 has 256 elements, and not 16384."""
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = 2*a[i,j]", "i: for")
    knl = pg.prioritize_loops(pg.tile(knl, {"i": 128, "j": 128}), "i_outer, j_outer")
    text = code(pg.tag_inames(knl, "i_outer: g.0"))
    (condition,) = re.findall(r"#pragma omp parallel for if\((.*)\)\n", text)
    value = condition.replace("1LL * ", "").replace("/", "//").replace("pg_min_i32", "min")
    for n, m, is_worth_it in (
        (16, 16, False),
        (100, 100, False),
        (128, 256, True),
        (3, 20000, True),
    ):
        assert eval(value, {"n": n, "m": m, "min": min}) == is_worth_it, (n, m)  # noqa: S307


def test_a_team_asks_about_sizes_alone() -> None:
    """How long tiles of a wave are, its counter decides: the team is there before."""
    text = "a[t+1,i] = (a[t,i-1] + a[t,i] + a[t,i+1])/3"
    knl = pg.make_kernel(
        "{ [t,i]: 0<=t<steps and 1<=i<n-1 }", text, [pg.GlobalArg("a", shape="steps+1, n"), "..."],
        loop_priority="t, i", target="c",
    )  # fmt: skip
    knl = pg.tile(pg.skew(knl, "t", "i", 1), {"t": 8, "i": 512})
    source = code(pg.wavefront(knl, "t_outer", "i_outer"), a="float64")
    assert "#pragma omp parallel if((steps + 7) / 8 >= 2)" in source


def test_triangles_of_tiles_are_handed_out_in_parts() -> None:
    """Bounds that depend on two parallel loops are those of a triangle: tiles differ."""
    for domain, parts in (("0<=j<=i<n", True), ("0<=i,j<n", False)):
        knl = kernel(f"{{ [i,j]: {domain} }}", "out[i,j] = 2*a[i,j]", "i: for")
        knl = pg.tile(knl, {"i": 8, "j": 8})
        knl = pg.prioritize_loops(knl, "i_outer, j_outer, i_inner, j_inner")
        text = code(pg.tag_inames(knl, "i_outer: g.1, j_outer: g.0"))
        assert ("schedule(dynamic" in text) == parts


def test_iterations_that_differ_are_handed_out_in_parts() -> None:
    triangle = kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "out[i,j] = 2*a[i,j]", "i: g.0")
    clauses = "if(1LL * n * n >= 32768) schedule(dynamic, 1 + n / 256)\n"
    assert f"#pragma omp parallel for {clauses}" in code(triangle)
    rows = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: low<=j<high }"],
        "<> low = start[i]\n<> high = start[i + 1]\nout[i] = sum(j, a[j])",
        "i: g.0",
    )
    text = code(rows, a=np.float64, start=np.int32)
    assert "#pragma omp parallel for if(n >= 128) schedule(dynamic, 1 + n / 256)\n" in text
    start = np.array([0, 0, 3, 4, 9], np.int32)
    a = RNG.normal(size=9)
    wanted = [a[low:high].sum() for low, high in pairwise(start)]
    assert np.allclose(result(rows, a=a, start=start, n=4), wanted)


def test_terms_of_a_condition_are_in_the_order_of_the_loops() -> None:
    names = "zyxwv"  # of equal weight: hashes of names, which differ by process, have no say
    domains = ["{ [i]: 0<=i<n }", *(f"{{ [j{k}]: 0<=j{k}<{k} }}" for k in names)]
    text = "\n".join(f"out{k}[i] = sum(j{k}, a[i + j{k}])" for k in names)
    terms = " || ".join(f"1LL * n * {k} >= 32768" for k in names)
    assert f"#pragma omp parallel for if({terms})\n" in code(kernel(domains, text, "i: g.0"))


def test_of_loops_around_several_the_inner_ones_are_vectors() -> None:
    """Compilers make vectors of a loop around one other, at most."""
    domains = ["{ [i]: 0<=i<n }", "{ [j,k]: 0<=j<m and 0<=k<m }"]
    one, other = "s[i] = sum(j, a[j]*b[i])", "t[i] = sum(k, if(a[k] < b[i], a[k], 0))"
    outer = pg.set_options(
        kernel("{ [i,j]: 0<=i<n and 0<=j<m }", one, "i: g.0"), vectorize_sums=True
    )
    assert "parallel for simd if" in code(outer, a=np.float32, b=np.float32)
    both = pg.set_options(kernel(domains, f"{one}\n{other}", "i: g.0"), vectorize_sums=True)
    text = code(both, a=np.float32, b=np.float32)
    assert "parallel for if" in text
    assert text.count("#pragma omp simd reduction(+:") == 2
    a, b = RNG.integers(-9, 9, (2, 40)).astype(np.float32)
    _, (s, t) = both.executor("c")(a=a, b=b)
    assert (s == a.sum() * b).all()
    assert (t == np.where(a < b[:, None], a, 0).sum(axis=1)).all()


def test_one_iteration_needs_one_thread() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", target="c")
    knl = pg.split_iname(knl, "i", 1 << 16, outer_tag="g.0")
    assert "if((n + 65535) / 65536 >= 2)" in code(knl)


def test_bodies_count() -> None:
    lines = "\n".join(f"out{k}[i] = a[i] + {k}" for k in range(64))
    assert "if(n >= 512)" in code(kernel("{ [i]: 0<=i<n }", lines, "i: g.0"))
    own = '... code() "out[i] = work(i);" writes(out[i])  {inames=i}'
    text = code(kernel("{ [i]: 0<=i<n }", own, "i: g.0"), out=np.float32)
    assert "#pragma omp parallel for if(n >= 2)\n" in text


def test_tiles_do_the_same() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 32*i<=j<32*i+32 and j<m }", "out[j] = 2*a[j]", "i: g.0")
    assert "schedule" not in code(knl)


# --- teams

STEPS = """
    for t
        b[i] = a[i] + a[i+1]  {id=there, dep=*}
        a[j] = b[j-1] - b[j]  {id=back, dep=there}
    end
"""


def steps(fewest: int) -> pg.Kernel:
    arrays = [pg.GlobalArg(name, np.int32, "n") for name in "ab"]
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<count and 0<=i<n-1 and 1<=j<n-1 }",
        STEPS,
        [*arrays, "..."],
        target="c",
        loop_priority=["t, i", "t, j"],
    )
    return pg.set_options(pg.tag_inames(knl, "i: g.0, j: g.0"), serial_below=fewest)


def test_one_team_goes_through_all_loops() -> None:
    text = str(pg.generate_code(steps(1 << 15)))
    assert "#pragma omp parallel if(n - 1 >= 4096 || n - 2 >= 4096)\n    {\n" in text
    assert text.count("#pragma omp for simd nowait\n") == 2
    assert text.count("        pg_wait_for_team(pg_team);\n") == 2
    assert "omp" not in str(pg.generate_code(pg.fix_parameters(steps(1 << 15), n=1000, count=3)))
    for size, count in ((5, 3), (1000, 200)):
        a, b = RNG.integers(-9, 9, (2, size)).astype(np.int32)
        wanted, other = a.copy(), b.copy()
        for _ in range(count):
            other[:-1] = wanted[:-1] + wanted[1:]
            wanted[1:-1] = other[:-2] - other[1:-1]
        for fewest in (0, 1 << 15):  # with threads and without them
            _, (x, y) = steps(fewest)(a=a.copy(), b=b.copy(), count=count)
            assert (x == wanted).all()
            assert (y == other).all()


def test_what_one_thread_of_the_team_does() -> None:
    text = "b[i] = 2*a[i]  {id=b}\nc[0] = sum(k, b[k])  {id=c, dep=b}\nout[j] = a[j]*c[0]  {dep=c}"
    c = pg.TemporaryVariable("c", np.int64, (1,), pg.AddressSpace.GLOBAL)
    b = pg.TemporaryVariable("b", np.int32, ("n",), pg.AddressSpace.GLOBAL)
    knl = pg.make_kernel("{ [i,j,k]: 0<=i,j,k<n }", text, [b, c, "..."], target="c")
    knl = pg.tag_inames(knl, "i: g.0, j: g.0")
    assert code(knl, a=np.int32).count("#pragma omp master\n") == 1
    for size in (3, 5000):
        a = RNG.integers(-9, 9, size).astype(np.int32)
        for _ in range(20):
            assert (result(knl, a=a) == a * (2 * a).sum()).all()
    once = pg.untag_inames(knl, "j")
    assert "team" not in code(once, a=np.int32)


# --- vectors


def test_of_several_parallel_loops_the_innermost_becomes_vectors() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = 2*a[i,j]", "i: g.1, j: g.0")
    text = code(knl)
    assert "collapse" not in text
    assert "#pragma omp simd\n        for (int j = 0; j < m; ++j)" in text
    across = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = 2*a[j,i]", "i: g.1, j: g.0")
    assert "#pragma omp parallel for collapse(2) if(" in code(across)
    assert "simd" not in code(across)
    a = RNG.normal(size=(40, 50)).astype(np.float32)
    assert (result(knl, a=a) == 2 * a).all()
    assert (result(across, a=a) == 2 * a.T).all()


CARRIED = [
    "out[i,j] = if(j == 0, a[i,0], out[i,j-1] + a[i,j])",  # reads what was written before
    "out[i,(j*j) % m] = a[i,j]",  # may write an element twice: the last one counts
]


@pytest.mark.parametrize("text", CARRIED)
def test_iterations_in_an_order_stay_in_it(text: str) -> None:
    out = pg.GlobalArg("out", np.float32, "n, m")
    with pg.without_proofs():
        knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", text, "i: g.0", out)
        assert "omp simd" not in code(knl)
        a = RNG.normal(size=(9, 37)).astype(np.float32)
        found = result(knl, a=a, out=np.zeros_like(a))
    wanted = np.zeros_like(a)
    for j in range(37):
        if "if" in text:
            wanted[:, j] = a[:, j] + (wanted[:, j - 1] if j else 0)
        else:
            wanted[:, j * j % 37] = a[:, j]
    assert np.array_equal(found, wanted)


def test_elements_of_its_own() -> None:
    text = "out[i,j] = if(out[i,j] > a[i,j], (out[i,j] - a[i,j])**2, out[i,j])"
    out = pg.GlobalArg("out", np.float32, "n, m")
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", text, "i: g.0", out)
    assert "#pragma omp simd\n" in code(knl)
    a, b = RNG.normal(size=(2, 7, 100)).astype(np.float32)
    wanted = (b - a) ** 2
    wanted[b <= a] = b[b <= a]
    assert np.array_equal(result(knl, a=a, out=b.copy()), wanted)


def test_overlapping_arrays() -> None:
    both = [pg.GlobalArg(n, np.float32, "n, m", may_alias=True) for n in ("a", "out")]
    with pg.without_proofs():
        knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j]", "i: g.0", *both)
        assert "omp simd" not in code(pg.prioritize_loops(knl, "i, j"))


# --- what is accumulated


def test_order_of_sums() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i] = sum(j, a[i,j])", "i: g.0")
    assert "simd" not in code(knl)
    fast = pg.set_options(knl, vectorize_sums=True)
    assert "#pragma omp simd reduction(+:acc_j)\n" in code(fast)
    assert "simd" not in code(pg.set_options(fast, allow_reassociation=False))
    one = pg.make_kernel("{ [j]: 0<=j<m }", "out[0] = sum(j, a[j])", target="c")
    assert "simd" not in code(one)
    assert "#pragma omp simd reduction(+:acc_j)\n" in code(pg.set_options(one, vectorize_sums=True))
    assert "reduction(+:acc_j)" in code(knl, a=np.int32)  # nothing is rounded
    for dtype in (np.float32, np.float64, np.int32):
        a = RNG.integers(-50, 50, (12, 1000)).astype(dtype)
        for each in (knl, fast):
            assert (result(each, a=a) == a.sum(axis=1)).all()


def test_extremes() -> None:
    """The order makes no difference, and NaN is greater, and less, than all."""
    for name, least in (("max", -np.inf), ("min", np.inf)):
        knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", f"out[i] = {name}(j, a[i,j])", "i: g.0")
        assert f"#pragma omp simd reduction(pg_{name}_f64:acc_j)\n" in code(knl, a=np.float64)
        for dtype in (np.float32, np.float64, np.int32):
            a = (RNG.normal(size=(30, 77)) * 100).astype(dtype)
            if dtype != np.int32:
                a[3, 50], a[4], a[5, 0] = np.nan, least, -least
            wanted = getattr(a, name)(axis=1)
            assert np.array_equal(result(knl, a=a), wanted, equal_nan=dtype != np.int32)


# --- work items


def test_whether_any_or_all() -> None:
    for name, operator in (("any", "|"), ("all", "&")):
        knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", f"out[i] = {name}(j, a[i,j])", "i: g.0")
        assert f"#pragma omp simd reduction({operator}:acc_j)\n" in code(knl, a=np.bool_)
        for n, m in ((0, 3), (3, 0), (40, 1), (101, 67)):
            a = RNG.random((n, m)) < (0.01 if name == "any" else 0.99)
            np.testing.assert_array_equal(result(knl, a=a), getattr(np, name)(a, axis=1))


def test_work_items_become_vectors() -> None:
    """What they keep across barriers is in arrays in which neighbours are neighbours."""
    example = runpy.run_path(str(EXAMPLES / "sgemm.py"))
    text = str(pg.generate_code(example["typed"](), "c"))
    assert text.count("for (int j_item") == text.count("#pragma omp simd\n") == 4
    assert "acc[8 * i_item + j_item + 960] += a_own[3] * b_own[3];" in text
    a, b, c = RNG.integers(-9, 9, (3, 64, 64)).astype(np.float32)
    knl = pg.set_options(example["prefetched"](), serial_below=0)
    _, (found,) = knl.executor("c")(a=a, b=b, c=c.copy(), alpha=2, beta=3)
    assert (found == 2 * (a @ b) + 3 * c).all()


def test_work_items_that_are_no_neighbours() -> None:
    """Each keeps its numbers beside each other: their elements of arrays lie apart anyway."""
    knl = pg.make_kernel(
        "{ [i,k,l]: 0<=i<n and 0<=k,l<3 }",
        "own[k] = a[i,k]  {id=own}\nout[i] = sum(l, (l + 1)*own[l])  {dep=own}",
        [pg.TemporaryVariable("own", shape=(3,)), "..."],
        target="c",
        loop_priority="i, k",
    )
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    assert "simd" not in code(knl)
    a = RNG.integers(-9, 9, (100, 3)).astype(np.float32)
    assert (result(knl, a=a) == a @ [1, 2, 3]).all()


def test_full_tiles_count_where_others_are_short() -> None:
    """What is left at the end, (n+7)/8 - n/8 iterations, does not say how much there is."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = 2*x[i] + y[i]")
    knl = pg.split_iname(knl, "i", 4096, outer_tag="g.0", inner_iname="i_near", slabs=(0, 1))
    knl = pg.strip_mine_to_vector(knl, "i_near", 8)
    text = str(pg.generate_code(pg.add_dtypes(knl, {"x, y": np.float64}), "c"))
    # Each full tile has 4096 of the 32768 elements for which threads are started.
    assert "#pragma omp parallel for if((n + 4095) / 4096 >= 8)\n" in text


def test_one_tile_that_is_not_full_starts_no_threads() -> None:
    """Tiles of 64 x 2048 are written for full ones, and once more for others: those may be all."""
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = 2*a[i,j]", target="c")
    knl = pg.prioritize_loops(pg.tile(knl, {"i": 64, "j": 2048}), "i_outer, j_outer")
    knl = pg.separate_full_tiles(knl, "i_inner, j_inner")
    text = code(pg.tag_inames(knl, "i_outer: g.0"))
    (condition,) = re.findall(r"#pragma omp parallel for if\((.*)\)\n", text)
    value = condition.replace("1LL * ", "").replace("/", "//").replace("pg_min_i32", "min")
    value = value.replace("||", "or")
    for n, m, is_worth_it in (
        (16, 16, False),
        (100, 100, False),
        (8, 2048, False),
        (1000, 1000, True),
        (128, 2048, True),
    ):
        assert eval(value, {"n": n, "m": m, "min": min}) == is_worth_it, (n, m)  # noqa: S307


@pytest.mark.parametrize(("count", "least"), [(2, 32768), (6, 10922), (16, 4096)])
def test_many_loops_in_a_row_are_a_team_sooner(count: int, least: int) -> None:
    """A team is woken once: of two loops, one has to be worth it; of 16, an eighth will do."""
    loops = range(count)
    knl = kernel(
        [f"{{ [i{k}]: 1<=i{k}<n }}" for k in loops],
        "\n".join(f"a{k + 1}[i{k}] = a{k}[i{k} - 1] + a{k}[n - i{k}]" for k in loops),
        ", ".join(f"i{k}: g.0" for k in loops),
    )
    assert f"#pragma omp parallel if(n - 1 >= {least})\n" in code(knl, a0=np.float32)
