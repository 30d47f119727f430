"""What CUDA C++ computes, on the host's processor: against NumPy, and the kernel's meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.few import few
from tests.lower.test_wraps import check, torus
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.nvrtc import assembly_of
from tests.nvidia.test_text import tiled_product
from tests.random_kernels.agree import cases_of, check_agreement, found_by
from tests.random_kernels.check import check_compiled, make_case

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("SeparationIgnored", "NotParallel", "NotVectorized")
]


@pytest.mark.parametrize(
    ("seeds", "steps"),
    [
        (range(5_000, 5_010), 0),
        pytest.param(range(6_000, 6_010), 6, marks=pytest.mark.more),
        pytest.param(range(5_010, 5_060), 0, marks=pytest.mark.deep),
        pytest.param(range(6_010, 6_060), 6, marks=pytest.mark.deep),
    ],
    ids=lambda value: f"{value[0]}" if isinstance(value, range) else None,
)
def test_random_kernels(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch, seeds: range, steps: int
) -> None:
    cases = [make_case(seed, steps=steps, target="c") for seed in seeds]
    # For some of those that steps changed there is no code: an axis without a constant size, say.
    least = len(seeds) // 2 + 1 if steps else len(seeds)
    assert check_compiled(cases, "cuda", monkeypatch) >= least
    assert host.compiled == 1


@pytest.mark.parametrize(
    ("first", "count"), [(7_400, 6), pytest.param(7_410, 60, marks=pytest.mark.deep)]
)
@pytest.mark.more
def test_three_targets_agree(host: HostDriver, first: int, count: int) -> None:
    cases = cases_of(first, count)
    found = {target: found_by(cases, target) for target in ("c", "opencl", "cuda")}
    assert check_agreement(cases, found) > count // 2


def test_tiles_in_local_memory(host: HostDriver) -> None:
    run = pg.add_dtypes(tiled_product("float64"), {}).executor("cuda")
    for n in (0, 16, 32):
        a, b = (np.random.default_rng(k).standard_normal((n, n)) for k in (1, 2))
        np.testing.assert_allclose(run(a=a, b=b)[1][0], a @ b, rtol=1e-12, atol=1e-12)
    assert host.compiled == 1
    assert not host.live


def test_small_integers_in_registers(host: HostDriver) -> None:
    """Components of vectors are as wide as registers, and still wrap."""
    knl = pg.make_kernel(
        "{ [j]: 0<=j<n }",
        "m[0] = max(j, a[j])  {id=m}\nw[0] = sum<int8>(j, a[j])  {id=w}",
        [pg.GlobalArg("a", "int8", "n", alignment=16), "..."],
        assumptions="n mod 16 = 0 and n >= 1",
    )
    knl = pg.parallelize_reduction(knl, ["m", "w"], threads=4, items=16)
    assert "pg_vector<int, 8> acc" in pg.generate_code(knl, "cuda").source
    run = knl.executor("cuda")
    for n in (16, 128, 1024):
        a = np.random.default_rng(n).integers(-128, 128, n, np.int8)
        m, w = run(a=a)[1]
        assert (m[0], w[0]) == (a.max(), a.sum(dtype=np.int8))
    assert host.compiled == 1


def test_small_integers_in_registers_one_by_one(host: HostDriver) -> None:
    knl = pg.make_kernel(
        "{ [i,k,l]: 0<=i<n and 0<=k,l<8 }",
        """
        t[k] = a[i,k] + b[i,k]        {id=t}
        t[k] = 3*t[k]                 {id=u, dep=t, inames=i:k}
        out[i,l] = cast(int32, t[l])  {dep=u}
        """,
        [
            pg.TemporaryVariable("t", "int8", (8,), pg.AddressSpace.PRIVATE, dim_tags="vec"),
            pg.GlobalArg("a, b", "int8", "n, 8"),
            pg.GlobalArg("out", "int32", "n, 8"),
            "...",
        ],
        loop_priority=("i, k", "i, l"),
    )
    ways = [pg.tag_inames(knl, {"i": "g.0", "k": tag, "l": "unr"}) for tag in ("unr", "vec")]
    a, b = np.random.default_rng(2).integers(-128, 128, (2, 50, 8), np.int8)
    for way in ways:
        assert "pg_vector<int, 8> " in pg.generate_code(way, "cuda").source
        np.testing.assert_array_equal(way.executor("cuda")(a=a, b=b)[1][0], 3 * (a + b))
    assert host.compiled == 2


def test_halves_in_registers(host: HostDriver) -> None:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<64 }",
        "<> most = max(j, x[i,j])  {id=most}\ny[i,k] = x[i,k] - most  {id=y}",
        [pg.GlobalArg("x, y", "float16", "n, 64", alignment=16), "..."],
    )
    knl = pg.share_rows(knl, ["most", "y"], threads=4, lanes=8, keep="x")
    source = pg.generate_code(knl, "cuda").source
    assert "pg_half x_own[16]" in source
    assert "(x_own) = *(pg_vector<pg_half, 8> const *) (x" in source  # as they are
    x = np.random.default_rng(1).standard_normal((5, 64)).astype(np.float16)
    np.testing.assert_array_equal(knl.executor("cuda")(x=x)[1][0], x - x.max(axis=1, keepdims=True))
    assert host.compiled == 1


def test_equal_halves_are_computed_once() -> None:
    """Not once for each place that they stand in: conversions and quotients are what takes time."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        q(k) := x[k]/(1 + fabs(x[k]))
        y[i] = fmin(q(i), x[i]) + fmin(q(i), x[i])
        z[i] = q(i)
        """,
        [pg.GlobalArg("x, y, z", "float16", "n"), "..."],
    )
    source = pg.generate_code(pg.tag_inames(knl, {"i": "g.0"}), "cuda").source
    ptx = assembly_of("compute_90", source)
    # 1 + |x|, the quotient, the least and the sum are rounded; each y and z is converted again
    assert source.count(" / ") == 3
    assert [ptx.count(name) for name in ("div.rn.f32", "ld.global")] == [1, 1]
    assert 3 <= ptx.count("cvt.rn.f16.f32") <= 6


def test_integers_wrap_around(host: HostDriver) -> None:
    """In vectors, and where updates are atomic."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<8*n }",
        """
        r[i] = x[i]*x[i] + 3*y[i] - x[i]
        s[i] = (x[i] << 2) + (-y[i]) if x[i] + 1 > x[i] else x[i]*y[i]
        total[0] = total[0]*(2*x[i] + 1)  {atomic}
        """,
        [
            *(pg.GlobalArg(a, np.int32) for a in "xyrs"),
            pg.GlobalArg("total", np.int32, (1,)),
            "...",
        ],
    )
    info = np.iinfo(np.int32)
    x = np.random.default_rng(3).integers(info.min, info.max, 48, np.int32)
    x[:4], y = (info.min, info.max, -1, 46341), x[::-1].copy()
    with np.errstate(all="ignore"):
        r, product = x * x + 3 * y - x, np.prod(2 * x + 1, dtype=np.int32)
        s = np.where(x + np.int32(1) > x, (x << 2) - y, x * y)
    knl = pg.set_options(pg.split_iname(knl, "i", 8, outer_tag="g.0"), return_dict=True)
    for tag in ("vec", "for"):
        total = np.ones(1, np.int32)
        run = pg.tag_inames(knl, {"i_inner": tag}).executor("cuda")
        found = run(x=x, y=y, total=total)[1]
        np.testing.assert_array_equal(found["r"], r)
        np.testing.assert_array_equal(found["s"], s)
        assert total[0] == product


@few(1, "dtype", ["float16", "float32", "int8"])
def test_memory_that_the_host_allocates_is_read_in_vectors(host: HostDriver, dtype: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<4096 }",
        "t[i] = x[i] + x[i]  {id=t}\ny[j] = t[j] + t[4095 - j]  {id=y}",
        [
            pg.GlobalArg("x, y", dtype, 4096, alignment=16),
            pg.TemporaryVariable("t", dtype, 4096, address_space=pg.AddressSpace.GLOBAL),
        ],
    )
    for iname in ("i", "j"):
        knl = pg.split_iname(knl, iname, 4, outer_tag="g.0", inner_tag="vec")
    source = pg.generate_code(knl, "cuda").source
    _, first, second = source.split('extern "C" __global__')
    assert "*(pg_vector<" in first
    assert "pg_store<" not in first
    assert "const *) (t + 4 * j_outer)" in second
    assert "vload4(0, t" not in pg.generate_code(knl, "opencl").source
    x = np.random.default_rng(7).integers(-30, 30, 4096).astype(dtype)
    np.testing.assert_array_equal(knl.executor("cuda")(x=x)[1][0], 2 * (x + x[::-1]))
    assert host.compiled == 1


def test_lanes(host: HostDriver) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = if(a[i] > 2, sqrt(a[i]), -a[i]) + c[i]")
    knl = pg.split_iname(knl, "i", 4, inner_tag="vec", outer_tag="g.0", slabs=(0, 1))
    assert "pg_vector" in str(
        pg.generate_code(pg.add_dtypes(knl, dict.fromkeys("ac", "float32")), "cuda")
    )
    for n in (0, 1, 4, 7):
        a = np.arange(n, dtype=np.float32)
        _, (b,) = knl.executor("cuda")(a=a, c=2 * a)
        np.testing.assert_array_equal(b, np.where(a > 2, np.sqrt(a), -a) + 2 * a)


def test_lanes_that_sizes_fill(host: HostDriver) -> None:
    """Where one lane is executed, all are: no condition is asked for each."""
    arrays = [pg.GlobalArg(name, "float32", "n", alignment=16) for name in "ab"]
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "b[i] = 2*a[i]", [*arrays, "..."], assumptions="n mod 4 = 0"
    )
    knl = pg.split_iname(knl, "i", 4, inner_tag="vec")
    knl = pg.split_iname(knl, "i_outer", 8, outer_tag="g.0", inner_tag="l.0")
    source = str(pg.generate_code(knl, "cuda"))
    assert (
        "*(pg_vector<float, 4> *) (b + 32 * i_outer_outer + 4 * i_outer_inner) = 2.0f * " in source
    )
    assert source.count("if (") == source.count("if (32 * i_outer_outer + 4 * i_outer_inner") == 1
    for n in (0, 4, 32, 36):
        a = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(knl.executor("cuda")(a=a)[1][0], 2 * a)


@pytest.mark.more
def test_atomic_sums_and_extrema(host: HostDriver) -> None:
    text = """
        s[i % 3] = s[i % 3] + a[i]      {atomic, id=s}
        m[i % 3] = max(m[i % 3], a[i])  {atomic, id=m}
        p[i % 3] = p[i % 3] * 2         {atomic, id=p}
    """
    knl = pg.split_iname(
        pg.make_kernel("{ [i]: 0<=i<n }", text), "i", 8, outer_tag="g.0", inner_tag="l.0"
    )
    for dtype in ("float32", "int64", "int32"):
        a = np.random.default_rng(3).integers(-50, 50, 29).astype(dtype)
        given: dict[str, Any] = {name: np.ones(3, dtype) for name in "smp"}
        knl.executor("cuda")(a=a, **given)
        np.testing.assert_array_equal(given["s"], [1 + a[k::3].sum() for k in range(3)])
        np.testing.assert_array_equal(given["m"], [max(1, a[k::3].max()) for k in range(3)])
        np.testing.assert_array_equal(given["p"], [2 ** len(a[k::3]) for k in range(3)])


@few(1, "space", ["global", "local"])
def test_sums_of_halves(host: HostDriver, space: str) -> None:
    """In local memory, halves are kept as float."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<32 }", "{ [j]: 0<=j<4 }", "{ [k]: 0<=k<4 }"],
        "t[k] = 2048 {id=z}\nt[i % 4] = t[i % 4] + a[i] {id=u, dep=z, atomic}\nb[j] = t[j] {dep=u}",
        [
            pg.TemporaryVariable("t", "float16", shape=4, address_space=pg.AddressSpace(space)),
            "...",
        ],
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"b": "float16"}), "i:l.0, j:l.0, k:l.0")
    a = np.tile(np.array([1, 1.5, 3, 2], np.float16), 8)
    _, (b,) = knl.executor("cuda")(a=a)
    # From 2048 on, halves are even: to the nearest one, and from halfway to a multiple of four.
    np.testing.assert_array_equal(b, np.array([2048, 2064, 2080, 2064], np.float16))


@pytest.mark.more
def test_functions_that_are_spelled_out(host: HostDriver) -> None:
    text = """
        normal[i] = isnormal(a[i])
        quotient[i] = a[i] // b[i]
        rest[i] = a[i] % b[i]
        power[i] = exp10(b[i])
        direction[i] = sign(z[i])
        tangent[i] = tanh(z[i])
        low[i] = min(min(k[i], -m[i]), 3)
        high[i] = max(max(k[i], -m[i]), 3)
    """
    knl = pg.tag_inames(pg.make_kernel("{ [i]: 0<=i<n }", text), "i:g.0")
    for dtype in ("float32", "float64"):
        tiny = np.finfo(dtype).tiny
        a = np.array([0, -0.0, tiny, -tiny / 2, np.inf, np.nan, -7.5, 7.5], dtype)
        b = np.array([1, 2, -3, 1, 2, 3, 2, -2], dtype)
        z = a + 1j * b
        k, m = (np.random.default_rng(n).integers(-9, 9, 8).astype(np.int32) for n in (1, 2))
        z[4] = 800 - 1j
        names = ("quotient", "rest", "power", "direction", "tangent", "low", "high", "normal")
        dtypes = [dtype] * 3 + [z.dtype] * 2 + ["int32"] * 2 + ["bool"]
        found = {x: np.zeros(8, t) for x, t in zip(names, dtypes, strict=True)}
        knl.executor("cuda")(a=a, b=b, z=z, k=k, m=m, **found)
        normal = np.isfinite(a) & (np.abs(a) >= tiny)
        np.testing.assert_array_equal(found["normal"], normal)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(found["quotient"], a // b)
            np.testing.assert_array_equal(found["rest"], a % b)
        np.testing.assert_allclose(found["power"], 10**b, rtol=1e-6)
        finite = np.isfinite(z)
        z = z[finite]
        np.testing.assert_allclose(found["direction"][finite], z / np.abs(z), rtol=1e-6, atol=1e-30)
        np.testing.assert_allclose(found["tangent"][finite], np.tanh(z), rtol=1e-5)
        np.testing.assert_array_equal(found["low"], np.minimum(np.minimum(k, -m), 3))
        np.testing.assert_array_equal(found["high"], np.maximum(np.maximum(k, -m), 3))


def test_quick_functions(host: HostDriver) -> None:
    text = """
    b[i] = native_sin(a[i]) + native_divide(1, a[i])
    c[i] = native_exp2(a[i]) + 2*native_recip(a[i])
    d[i] = native_rsqrt(a[i]*a[i]) + 2*native_sqrt(a[i]*a[i])
    """
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text)
    a = np.array([0.5, 2, -3], np.float32)
    _, (b, c, d) = pg.tag_inames(knl, "i:g.0").executor("cuda")(a=a)
    np.testing.assert_allclose(b, np.sin(a) + 1 / a, rtol=1e-6)
    np.testing.assert_allclose(c, np.exp2(a) + 2 / a, rtol=1e-6)
    np.testing.assert_allclose(d, 1 / abs(a) + 2 * abs(a), rtol=1e-6)


def test_halves_that_are_written_atomically(host: HostDriver) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[0] = a[i] {atomic=init}")
    knl = pg.add_dtypes(knl, {"a": "float16", "out": "float16"})
    out = np.zeros(1, np.float16)
    knl.executor("cuda")(a=np.array([1, 2.5], np.float16), out=out)
    assert out[0] == 2.5


def test_a_torus(host: HostDriver) -> None:
    check(pg.tag_inames(torus(), "i: g.1, j: g.0").executor("cuda"))
    assert host.compiled == 1


@pytest.mark.more
def test_scalars_in_subscripts_are_as_wide_as_they_need_to_be(host: HostDriver) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "o[i] = a[max(0, min(i, s))]", [pg.GlobalArg("a", shape="n"), "..."]
    )
    run, a = pg.tag_inames(knl, {"i": "g.0"}).executor("cuda"), np.arange(5.0)
    for s in (3, 2**31, -(2**40), 2**20 + 1):
        expected = [a[max(0, min(i, s))] for i in range(5)]
        np.testing.assert_array_equal(run(a=a, s=s)[1][0], expected)
    assert host.compiled == 2
