"""Kernels that call OpenCL's functions: what they mean, and what comes out, on both targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.functions import FUNCTIONS
from polygen.errors import IllegalStep
from tests.oracle import functions as oracle
from tests.oracle.cases import agree, prior, split, steps

SIZES = [{"n": n} for n in (0, 1, 13)]


def _kernel(text: str, /, **dtypes: Any) -> pg.Kernel:
    data = [pg.GlobalArg(name, dtype, shape="n") for name, dtype in dtypes.items()]
    return pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."])


POLAR = _kernel(
    """
    <> s, <> c = sincos(angle[i])
    x[i], y[i] = radius[i]*c, radius[i]*s
    turns[i], part[i] = remquo(angle[i], 6.25)[1], fract(angle[i])[0]
    """,
    angle=np.float64,
    radius=np.float64,
)
PACKED = _kernel(
    """
    word[i] = upsample(high[i], low[i])
    <> turned = rotate(word[i], i)
    zeros[i] = clz(turned) + popcount(turned) if i % 2 == 0 else add_sat(turned, word[i])
    """,
    high=np.int8,
    low=np.uint8,
    word=np.int16,
    zeros=np.int16,
)
HALVES = _kernel(
    """
    m[i], e[i] = frexp(h[i])
    back[i] = ldexp(m[i], e[i])
    rest[i], whole[i] = fract(h[i])
    wide[i] = float32(sincos(h[i])[0]) + clamp(h[i], -1, 1)
    """,
    h=np.float16,
)


def test_kernels_mean_what_the_interpreter_says() -> None:
    agree(POLAR, SIZES, split("i", 4, outer_tag="g.0", inner_tag="l.0"))
    agree(PACKED, SIZES, split("i", 4, outer_tag="g.0", inner_tag="l.0"))


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("n", [0, 1, 13])
def test_polar(target: str, n: int) -> None:
    angle, radius = np.linspace(-20, 20, n), np.linspace(1, 2, n)
    found = _run(POLAR, target, angle=angle, radius=radius)
    assert np.allclose(found["x"], radius * np.cos(angle), rtol=1e-13, atol=1e-13)
    assert np.allclose(found["y"], radius * np.sin(angle), rtol=1e-13, atol=1e-13)
    assert found["turns"].dtype == np.int32
    assert np.array_equal(found["turns"], np.rint(angle / 6.25))
    assert np.array_equal(found["part"], angle - np.floor(angle))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_packed(target: str) -> None:
    high, low = np.arange(-6, 7).astype(np.int8), np.arange(243, 256).astype(np.uint8)
    found = _run(PACKED, target, high=high, low=low)
    word = high.astype(np.int16) * 256 + low
    assert found["word"].dtype == np.int16
    assert np.array_equal(found["word"], word)
    for k, one in enumerate(word):
        bits = f"{int(one) % 2**16:016b}"
        bits = bits[k % 16 :] + bits[: k % 16]
        turned = int(bits, 2) - (2**16 if bits[0] == "1" else 0)
        even = len(bits) - len(bits.lstrip("0")) + bits.count("1")
        odd = min(max(turned + int(one), -(2**15)), 2**15 - 1)
        assert found["zeros"][k] == (odd if k % 2 else even)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_halves(target: str) -> None:
    h = np.array([0.1, -0.1, 6e-8, -6e-8, 65504, -2.5, 0, 1], np.float16)
    found = _run(HALVES, target, h=h)
    m, e = np.frexp(h)
    assert np.array_equal(found["m"], m)
    assert np.array_equal(found["e"], e)
    assert np.array_equal(found["back"], h)
    floor = np.floor(h)
    rest = np.minimum((h - floor).astype(np.float16), np.float16(1 - 2**-11))
    assert found["rest"].dtype == np.float16
    assert np.array_equal(found["rest"], rest)
    assert np.array_equal(found["whole"], floor)
    wide = np.sin(h).astype(np.float32) + np.clip(h, -1, 1).astype(np.float32)
    assert found["wide"].dtype == np.float32
    assert np.allclose(found["wide"], wide, atol=2e-3)


def _run(knl: pg.Kernel, target: str, /, **arrays: Any) -> dict[str, Any]:
    """Return the arrays that a kernel writes, by name."""
    _, out = knl.executor(target)(**arrays)
    names = sorted(a.name for a in knl.arguments if isinstance(a, pg.GlobalArg))
    return dict(zip([name for name in names if name not in arrays], out, strict=True))


def test_the_interpreter_knows_every_function() -> None:
    assert FUNCTIONS.keys() <= oracle.FUNCTIONS.keys()


def test_the_interpreter_agrees_with_numpy() -> None:
    for dtype in ("int8", "uint16", "int32", "uint64"):
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        some = np.array([0, 1, 5, high, high // 2, low, low + 1], dtype)
        positive = some[some >= 0]
        counts = [oracle.call("popcount", [x]) for x in positive]
        assert np.array_equal(counts, np.bitwise_count(positive))
        assert np.array_equal([oracle.call("sign", [x]) for x in some], np.sign(some))
        found = [oracle.call("clamp", [x, some[1], some[2]]) for x in some]
        assert np.array_equal(found, np.clip(some, some[1], some[2]))
    some = np.array([0.0, -0.0, 1.5, -2.75, np.inf, -np.inf, np.nan, 5e-324, 1e300])
    for name, like in (("frexp", np.frexp), ("modf", np.modf)):
        pairs = np.array([oracle.call(name, [x]) for x in some]).T
        assert np.array_equal(pairs, np.array(like(some)), equal_nan=True)


def test_the_interpreter_agrees_with_numpy_of_complex_numbers() -> None:
    parts = (0.0, -3.0, 0.5, np.inf, -np.inf, np.nan)
    for dtype in (np.complex64, np.complex128):
        some = np.array([complex(x, y) for x in parts for y in parts], dtype)
        likes: dict[str, Any] = {"sign": np.sign, "carg": np.angle}
        for name, like in likes.items():
            found = np.array([oracle.call(name, [x]) for x in some])
            with np.errstate(all="ignore"):
                expected = like(some)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        projected = np.array([oracle.call("cproj", [x]) for x in some])
        infinite = np.isinf(some)
        assert projected.dtype == dtype
        assert np.all(projected[infinite] == np.inf)
        np.testing.assert_array_equal(projected[~infinite], some[~infinite])


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_directions_and_neighbours_in_kernels(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<=i }",
        """
        turned[i] = sum(j, carg(z[j]*conj(z[i])))
        unit[i] = 0.5*sign(z[i] + 2)
        next[i] = nextafter(h[i], cproj(h[n - 1 - i]))
        """,
        silenced_warnings="AmbiguousNesting",
    )
    rng = np.random.default_rng(2)
    for n in (0, 1, 7, 16):
        z = (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(np.complex64)
        h = rng.normal(size=n).astype(np.float16)
        _, (after, turned, unit) = knl.executor(target)(z=z, h=h)
        angles = np.array([np.angle(z[: i + 1] * z[i].conj()).sum() for i in range(n)])
        assert (turned.dtype, after.dtype, unit.dtype) == (np.float32, np.float16, np.complex64)
        np.testing.assert_allclose(turned, angles, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(unit, 0.5 * np.sign(z + 2), rtol=1e-5)
        np.testing.assert_array_equal(after, np.nextafter(h, h[::-1]))


def test_subscripts_and_conditions_are_understood() -> None:
    """What a function stands for is what proofs see."""
    for inside in ("clamp(i, 0, n - 1)", "select(0, i, isless(i, n))", "clamp(i, 0, n)"):
        knl = _kernel(f"a[{inside}] = 2*b[i]", a=np.float32, b=np.float32)
        assert "get_group_id" in pg.generate_code(pg.tag_inames(knl, {"i": "g.0"}), "opencl").source
    same = _kernel("a[clamp(i + 1, 0, n - 1)] = 2*b[i]", a=np.float32, b=np.float32)
    with pytest.raises(IllegalStep, match=r"for n=2, insn\[i=0\] writes the element"):
        pg.tag_inames(same, {"i": "g.0"})
    apart = _kernel(
        """
        if isless(i, 3)
            a[i] = b[i]
        end
        if not isless(i, 3) and isnotequal(i, 5)
            a[i] = a[clamp(i - 8, 0, 2)] + 1
        end
        """,
        a=np.float32,
        b=np.float32,
    )
    agree(apart, SIZES, steps(split("i", 4), prior("i_outer, i_inner")))
    with pytest.raises(IllegalStep, match="would change what kernel"):
        pg.tag_inames(apart, {"i": "g.0"})


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_an_edge_that_is_repeated(target: str) -> None:
    knl = _kernel("out[i] = a[clamp(i - 1, 0, n - 1)] + a[clamp(i + 1, 0, n - 1)]", a=np.float32)
    agree(knl, SIZES)
    for n in (1, 2, 13):
        a = np.arange(n, dtype=np.float32) ** 2
        padded = np.pad(a, 1, "edge")
        assert np.array_equal(_run(knl, target, a=a)["out"], padded[:-2] + padded[2:])


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_complex_numbers(target: str) -> None:
    knl = _kernel(
        """
        same[i] = isequal(z[i], w[i]) or isnotequal(z[i], z[i])
        out[i] = select(z[i], w[i], same[i])
        part[i] = clamp(real(z[i]), 0, 0.5)
        """,
        z=np.complex64,
        w=np.complex128,
    )
    z = np.array([1 + 2j, 3, complex(np.nan, 1), -1j, 0.25], np.complex64)
    w = np.array([1 + 2j, 4, 5j, 1j, 0.25])
    found = _run(knl, target, z=z, w=w)
    same = (z == w) | np.isnan(z)
    assert np.array_equal(found["same"], same)
    chosen = np.where(same, w, z)
    assert found["out"].dtype == chosen.dtype
    assert np.array_equal(found["out"], chosen)
    assert np.array_equal(found["part"], np.clip(z.real, 0, np.float32(0.5)), equal_nan=True)


def test_names_that_variables_may_have() -> None:
    """A variable called like a function of OpenCL's is no function."""
    knl = pg.make_kernel(
        "{ [sign]: 0<=sign<n }",
        "<> step = clamp[sign]*mix\nselect[sign] = step + degrees(clamp[sign])",
        [
            pg.GlobalArg("clamp", np.float32, shape="n"),
            pg.ValueArg("mix", np.float32),
            "...",
        ],
    )
    for target in ("c", "opencl"):
        _, (out,) = knl.executor(target)(clamp=np.array([1, 2], np.float32), mix=np.float32(3))
        assert np.allclose(out, [3 + 180 / np.pi, 6 + 360 / np.pi])
    agree(knl, [{"n": n, "mix": 3} for n in (0, 1, 13)])


def test_steps_may_give_them_to_variables() -> None:
    knl = _kernel("out[i] = step(0.5, a[i]) + mad24(b[i], 2, 3)", a=np.float32, b=np.int32)
    for name in ("step", "mad24"):
        renamed = pg.rename_iname(knl, "i", name)
        assert pg.parse_kernel(str(renamed)) == renamed
        source = pg.generate_code(renamed, "opencl").source
        assert f"pg_{name}_" in source
        _, (out,) = renamed.executor("opencl")(
            a=np.array([0.25, 0.5, 1], np.float32), b=np.array([1, -2, 3], np.int32)
        )
        assert np.array_equal(out, [5, 0, 10])
