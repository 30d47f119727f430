"""Vectors compute what numbers do: every operation, type and function, to the last bit."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.functions import FUNCTIONS, ResultType
from polygen.errors import NotVectorized
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.targets.execute import compile_c

pytestmark = pytest.mark.usefixtures("optimized")
ROWS = 7
IN_OPENCL = pytest.param("opencl", marks=pytest.mark.more)  # a second a kernel
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-3, 65504.0)
ALL = """
a + b; a - b; 2*a - b; -a; a*a*b; a + b*j; j; i + j; j*a; (i + j)*2.5 + a; a*1.5; a/b; a // b;
a % b; a // 3; a % 3; (i + j) // 3; (7 - i - 3*j) // 4; (7 - i - 3*j) % 4; min(a, b); max(a, b);
max(a, 2); min(a, b, 3); if(a > b, a, b); if(a > b and b < 3, a + 1, b); a > b; not (a > b);
if(not (a >= b) or b == 0, a, 2); a + (b > 1); (a == b) + (a != 3); if(j > 1, a, b);
if(i > 1, a, b); if(i > 1 and a > 0, a, b); if(a > b, j, i); a*(i > 2); if((i + j) % 3 == 0, a, b);
abs(a); float32(a); float64(a)*b; int32(j) + 0*a; a**2; a**3; (a + b)**2; y[i,2*j] + a;
y[i,3*j] > 1; isnan(float32(a)); clamp(a, b, 3); select(a, b, a > 1); fmin(a, b); fmax(a, b);
if(a > b, 1, 2.5); if(a > b, a > 1, b > 1)
"""
INTEGERS = """
a & b; a | b | 3; a^b^3; a ^ b; ~a; a << 1; a >> 1; a << 2 & 7; a << (b & 3); a >> (b & 3);
uint32(a); int8(a*a); uint8(a) + a; int16(a*7); int64(a)*b; popcount(a); a**b; fmod(a, b);
uint64(a) > b; uint32(a) < b; 1 << j
"""
FLOATS = """
sqrt(abs(a)); floor(a); ceil(a); trunc(a); rint(a); int32(clamp(a, -100, 100)); copysign(a, b);
int64(if(isfinite(a), a, 0)); uint8(if(isfinite(a), abs(a), 0)); fmod(a, b); a**0.5; a**-1; a**b;
float16(a)*a; int16(if(a > -9 and a < 9, a, 1)); 1.0/a; sign(a); pown(a, j); ldexp(a, j);
fma(a, b, a)
"""
TRUTHS = """
if(a > b, a, b); a | b; a + (b > 1); a and b; a or b; not a; a == b; if(a, i, j); if(a, 2.5, j);
a & b; a ^ b; min(a, b); 2*a + j; a*b; a + b; y[i,2*j] and a
"""


def expressions(*texts: str) -> list[str]:
    """Return the expressions that texts have, between semicolons."""
    return [e.strip() for text in texts for e in text.split(";")]


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """Return small numbers of a type, and those with which little can be done."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind == "f":
        found = rng.normal(size=shape) * 4
        return np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), found).astype(dtype)
    return rng.integers(max(np.iinfo(dtype).min, -11), 12, shape).astype(dtype)


def in_lanes(lines: Sequence[str], count: int, arrays: Mapping[str, Any]) -> tuple[Kernel, Kernel]:
    """Return a kernel that computes each expression, and the same with lanes."""
    for name in arrays:
        lines = [re.sub(rf"\b{name}\b(?!\[)", f"{name}[i,j]", line) for line in lines]
    knl = pg.make_kernel(
        f"{{ [i,j]: 0<=i<n and 0<=j<{count} }}",
        "\n".join(f"o{k:03d}[i,j] = {line}" for k, line in enumerate(lines)),
        [*(pg.GlobalArg(n, x.dtype, f"n, {x.shape[1]}") for n, x in arrays.items()), "..."],
        loop_priority="i, j",
    )
    return knl, pg.tag_inames(knl, {"j": "vec"})


def check(
    lines: Sequence[str],
    count: int,
    arrays: Mapping[str, Any],
    target: str,
    build_options: Sequence[str] = (),
) -> None:
    """Check that lanes compute what the plain loop does."""
    plain, lanes = (
        pg.set_options(knl, build_options=build_options) for knl in in_lanes(lines, count, arrays)
    )
    _, wanted = plain.executor(target)(**arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotVectorized)
        _, found = lanes.executor(target)(**arrays)
    for line, x, y in zip(lines, found, wanted, strict=True):
        np.testing.assert_array_equal(x, y, err_msg=line, strict=True)


TYPES = [
    ("float32", 4),
    ("float64", 2),
    ("float16", 4),
    ("int32", 8),
    ("int64", 4),
    ("int16", 4),
    ("uint8", 8),
    ("uint32", 2),
    ("bool", 4),
]


@pytest.mark.parametrize("target", ["c", IN_OPENCL])
@few(2, ("dtype", "count"), TYPES)
def test_operations(dtype: str, count: int, target: str) -> None:
    kind = np.dtype(dtype).kind
    texts = (TRUTHS,) if kind == "b" else (ALL, FLOATS if kind == "f" else INTEGERS)
    a, b = (numbers(dtype, (ROWS, count), seed) for seed in (1, 2))
    arrays = {"a": a, "b": b, "y": numbers(dtype, (ROWS, 32), 3)}
    # Powers are other ones in vectors, by a unit in the last place.
    scalar = ["-DPG_SCALAR_MATH"] if target == "c" else []
    check(expressions(*texts), count, arrays, target, scalar)


@pytest.mark.parametrize("target", ["c", IN_OPENCL])
@pytest.mark.parametrize(("dtype", "count"), [("float32", 8), ("float64", 4)])
def test_functions(dtype: str, count: int, target: str) -> None:
    of_reals = [f for f in FUNCTIONS.values() if f.results == 1 and not f.exponent]
    wanted = (ResultType.FLOATING, ResultType.KEPT, ResultType.NUMBER, ResultType.TRUTH)
    calls = [
        f"{f.name}({', '.join('abc'[: f.least])})"
        for f in of_reals
        if f.result in wanted and f.name != "mad"  # rounds once or twice, as the compiler likes
    ]
    assert len(calls) > 80
    arrays = {name: numbers(dtype, (20, count), seed) for seed, name in enumerate("abc")}
    # glibc's functions of vectors round otherwise: see test_vector_math.py.
    check(calls, count, arrays, target, ["-DPG_SCALAR_MATH"])


@pytest.mark.parametrize("target", ["c", IN_OPENCL])
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.more), 8])
def test_types_that_meet(count: int, target: str) -> None:
    others = "float16 float32 float64 int8 int16 int32 int64 uint8 uint32 uint64 bool".split()  # noqa: SIM905
    arrays = {f"b_{o}": numbers(o, (5, count), 1) for o in others}
    wanted = {2: slice(2, 4), 4: slice(4), 8: slice(2)}[count]
    for dtype in ("float32", "int16", "uint32", "float64")[wanted]:
        arrays["a"] = numbers(dtype, (5, count), 2)
        lines = [
            e.replace("b", f"b_{o}")
            for o in others
            for e in ("a + b", "a*b", "if(a > b, a, b)", "a == b", "a % b")
            if e != "a % b" or o != "bool"
        ]
        check(lines, count, arrays, target)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_as_numpy_says(target: str) -> None:
    a = numbers("float32", (ROWS, 4), 5)
    b = np.nan_to_num(numbers("float32", (ROWS, 4), 6), posinf=7, neginf=-7)
    k = np.arange(-12, 16, dtype=np.int32).reshape(ROWS, 4)
    rows, lanes = (x.astype(np.int32) for x in np.indices((ROWS, 4)))
    with np.errstate(all="ignore"):
        cases: dict[str, Any] = {
            "max(a, b)": np.maximum(a, b),
            "min(a, b)": np.minimum(a, b),
            "if(a > b, a, b)": np.where(a > b, a, b),
            "if(a > b and b < 1, k, j)": np.where((a > b) & (b < 1), k, lanes),
            "k // 3": k // 3,
            "k % -5": k % -5,
            "k // (j + 1)": k // (lanes + 1),
            "k << 2 & 12": k << 2 & 12,
            "4*i + j": 4 * rows + lanes,
            "b*j": b * lanes.astype(np.float32),
            "float64(b) / 3": b.astype(np.float64) / 3,
            "int32(b)": b.astype(np.int32),
            "a > b": a > b,
            "floor(b)": np.floor(b),
        }
    knl = in_lanes(list(cases), 4, {"a": a, "b": b, "k": k})[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, found = knl.executor(target)(a=a, b=b, k=k)
    for (line, y), x in zip(cases.items(), found, strict=True):
        np.testing.assert_array_equal(x, y, err_msg=line)


@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.deep)])
@pytest.mark.parametrize(("dtype", "count"), [("float32", 4), ("int64", 4), ("uint8", 8)])
def test_c_compiles_without_warnings(dtype: str, count: int, compiler: str, tmp_path: Path) -> None:
    texts = (ALL, FLOATS if dtype == "float32" else INTEGERS)
    lines = [line for line in expressions(*texts) if "float16" not in line]  # Clang 14 has none
    a, y = numbers(dtype, (ROWS, count), 1), numbers(dtype, (ROWS, 32), 3)
    knl = pg.set_options(
        in_lanes(lines, count, {"a": a, "b": a, "y": y})[1], silenced_warnings=["NotVectorized"]
    )
    flags = ["-march=native"]
    if compiler == "clang":
        flags += ["-fsyntax-only", "-Wno-unused-command-line-argument"]
    compile_c(pg.generate_code(knl, "c").source, tmp_path, compiler=compiler, flags=flags)


def test_components_are_written_where_they_belong() -> None:
    text = "out[i,2*j] = 2*a[i,j] + 1"
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<2 }", text, loop_priority="i, j")
    knl = pg.add_dtypes(pg.tag_inames(knl, {"j": "vec"}), {"a": np.float32})
    assert str(pg.generate_code(knl, "opencl")).splitlines()[3:] == [
        "    for (int i = 0; i < n; ++i) {",
        "        float2 const out_lanes = 2.0f * vload2(0, a + 2 * i) + 1.0f;",
        "        out[3 * i] = out_lanes.s0;",
        "        out[3 * i + 2] = out_lanes.s1;",
        "    }",
        "}",
    ]
    a = np.arange(10, dtype=np.float32).reshape(5, 2)
    for target in ("c", "opencl"):
        _, (out,) = knl.executor(target)(a=a, out=np.full((5, 3), -1, np.float32))
        np.testing.assert_array_equal(out[:, ::2], 2 * a + 1)
        np.testing.assert_array_equal(out[:, 1], -1)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_several_assignees(target: str) -> None:
    """All is read before anything is written, in all lanes."""
    loops = "{ [i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<6 }"
    text = """
        a[i,j], b[i,2*j], t[i,j] = b[i,2*j] + 1, 2*a[i,j], a[i,j] > 0  {id=swap, inames=i:j}
        v[i,j], w[i,j] = argmax(k, d[k,j]*a[i,j], k)                {dep=swap}
    """
    shapes = {"a": "n, 4", "b": "n, 7", "d": "6, 4"}
    arrays = [pg.GlobalArg(name, "float32", shape) for name, shape in shapes.items()]
    knl = pg.make_kernel(loops, text, [*arrays, "..."], loop_priority="i, j, k")
    new = pg.tag_inames(knl, {"j": "vec"})
    rng = np.random.default_rng(4)
    a, b, d = (rng.integers(-9, 9, s).astype(np.float32) for s in ((5, 4), (5, 7), (6, 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, found = new.executor(target)(a=a.copy(), b=b.copy(), d=d)
    results = dict(zip("abtvw", found, strict=True))
    wanted = b.copy()
    wanted[:, ::2] = 2 * a
    swapped = b[:, ::2] + 1
    products = swapped[:, None] * d
    np.testing.assert_array_equal(results["a"], swapped)
    np.testing.assert_array_equal(results["b"], wanted)
    np.testing.assert_array_equal(results["t"], a > 0)
    np.testing.assert_array_equal(results["v"], products.max(axis=1))
    np.testing.assert_array_equal(results["w"], products.argmax(axis=1))


@few(
    4,
    ("text", "is_apart"),
    [
        ("if(a[i,j] > 0, a[i,j], a[i,3-j])", False),
        ("if(j > 0, a[i,j-1], 0)", True),
        ("if(i > 0, a[i-1,j], j)", False),  # asked once for all lanes
        ("if(i > 0 and a[i,j] > 0, a[i-1,j], 0)", True),
        ("if(a[i,j] > 0 or a[i,3-j] > 1, 1, 2)", False),
        ("if(a[i,x[j]] > 0, a[i,x[j]], 0)", False),  # read in all lanes anyway
        ("if(a[i,j] > 0, a[i,x[j]], 0)", True),
        ("if(j > 2 and a[i,x[j]] > 0, j, 0)", True),
    ],
)
def test_what_a_condition_keeps_from_being_read_is_not_read(text: str, is_apart: bool) -> None:
    """Where it would be inside of the array in all lanes, it is."""
    arrays = [pg.GlobalArg("a", np.float32, "n, 4"), pg.GlobalArg("x", np.int32, "4")]
    arrays = arrays if "x" in text else arrays[:1]
    loops = "{ [i,j]: 0<=i<n and 0<=j<4 }"
    knl = pg.make_kernel(loops, f"out[i,j] = {text}", [*arrays, "..."], loop_priority="i, j")
    new = pg.tag_inames(knl, {"j": "vec"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pg.generate_code(new, "c")
    assert [w.category for w in caught] == [NotVectorized] * is_apart
    given = {"a": numbers("float32", (ROWS, 4), 1), "x": np.array([2, 0, 3, 1], np.int32)}
    given = {name: x for name, x in given.items() if name in knl.variables}
    for target in ("c", "opencl"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotVectorized)
            _, (found,) = new.executor(target)(**given)
        np.testing.assert_array_equal(found, knl.executor(target)(**given)[1][0])


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_arrays_in_parts_tables_and_constant_memory(target: str) -> None:
    parts: dict[str, Any] = {"dim_tags": "sep, N1, N0", "shape": "2, n, 4"}
    s, out = (pg.GlobalArg(name, "float32", **parts) for name in ("s", "out"))
    table = np.arange(1, 9, dtype=np.float32)
    data: list[Any] = [s, out, pg.ConstantArg("c", "float32", "8"), "n"]
    data.append(pg.TemporaryVariable("w", initializer=table, read_only=True))
    text = "out[1,i,j] = s[0,i,j]*s[1,i,j] + w[j+4]\nout[0,i,j] = c[j]*s[0,i,j]"
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", text, data, loop_priority="i, j")
    new = pg.tag_inames(knl, {"j": "vec"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code = str(pg.generate_code(new, "opencl"))
    assert "vstore4(vload4(0, s_s0 + 4 * i) * vload4(0, s_s1 + 4 * i) + vload4(0, w + 4)" in code
    first, second = (numbers("int32", (ROWS, 4), n).astype(np.float32) for n in (1, 2))
    _, (found,) = new.executor(target)(s=[first, second], c=table, n=ROWS)
    np.testing.assert_array_equal(found[1], first * second + table[4:])
    np.testing.assert_array_equal(found[0], table[:4] * first)
