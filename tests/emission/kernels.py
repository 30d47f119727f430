"""Kernels of many kinds, each with what NumPy makes of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen as pg


@dataclass(frozen=True)
class Case:
    """A kernel, arguments, and what is to come out.

    Attributes:
        make: makes the kernel, with a grid or without.
        arrays: the arrays that are passed.
        numbers: the numbers that do not follow from these.
        expected: what it writes.
    """

    make: Callable[[bool], pg.Kernel]
    arrays: Mapping[str, Any]
    numbers: Mapping[str, Any]
    expected: Mapping[str, Any]


_RNG = np.random.default_rng(3)


def _grid(knl: pg.Kernel, iname: str, count: int, grid: bool) -> pg.Kernel:
    if not grid:
        return knl
    return pg.split_iname(knl, iname, count, outer_tag="g.0", inner_tag="l.0")


def axpy(grid: bool) -> pg.Kernel:
    """Return a sum with a multiple, on a size that is a multiple of 4."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = alpha*a[i] + b[i]", name="axpy")
    knl = pg.assume(knl, "n mod 4 = 0")
    knl = _grid(knl, "i", 16, grid)
    return pg.add_dtypes(knl, {"a": np.float32, "b": np.float32, "alpha": np.float32})


def product(grid: bool) -> pg.Kernel:
    """Return a product of a matrix in Fortran's order with part of a larger one."""
    knl = pg.make_kernel(
        "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [
            pg.GlobalArg("a", np.float64, shape="n, l", order="F"),
            pg.GlobalArg("b", np.float64, shape="l, m", strides="ld, 1", offset="3"),
            pg.GlobalArg("c", np.float64, shape="n, m"),
            pg.ValueArg("ld", np.int64),
            "...",
        ],
        name="product",
    )
    return _grid(pg.prioritize_loops(knl, "i, j"), "i", 4, grid)


def steps(grid: bool) -> pg.Kernel:
    """Return steps of diffusion: a loop on the host, a global temporary, several launches."""
    knl = pg.make_kernel(
        "{ [t, i, j]: 0<=t<steps and 0<=i<n and 0<=j<n }",
        """
        for t
            next[i] = (u[(i + n - 1) % n] + u[i] + u[(i + 1) % n]) / 4  {id=step,dep=*}
            u[j] = next[j] {id=back,dep=*step}
        end
        """,
        [
            pg.GlobalArg("u", np.float64, shape="n"),
            pg.TemporaryVariable("next", np.float64, "n", pg.AddressSpace.GLOBAL),
            "...",
        ],
        name="steps",
    )
    return _grid(_grid(knl, "i", 8, grid), "j", 8, grid)


def settled(grid: bool) -> pg.Kernel:
    """Return rounds that conditions end: loops on the host, one inside of the other."""
    knl = pg.make_kernel(
        ["{ [i, j]: 0<=i,j<n }", "{ [t]: 0<=t }", "{ [s]: 0<=s<most }"],
        """
        for t while left[0] > 0
            for s
                next[i] = u[(i + 1) % n] + s + t
                u[j] = next[j]
                count[0] = count[0] + 1
                break if u[0] % 4 == 3
                count[1] = count[1] + 1
            end
            left[0] = left[0] - 1
        end
        """,
        [
            pg.GlobalArg("u", np.int32, shape="n"),
            pg.GlobalArg("left", np.int32, shape="1"),
            pg.GlobalArg("count", np.int32, shape="2"),
            pg.TemporaryVariable("next", np.int32, "n", pg.AddressSpace.GLOBAL),
            "...",
        ],
        assumptions="n >= 1",
        seq_dependencies=True,
        name="settled",
    )
    knl = _grid(_grid(knl, "i", 8, grid), "j", 8, grid)
    return pg.set_options(knl, check_every=2)


def many_types(grid: bool) -> pg.Kernel:
    """Return a sum of numbers of all types."""
    types = "int8 uint8 int16 uint16 int32 uint32 int64 float16 float32 float64".split()  # noqa: SIM905
    total = " + ".join(f"v_{t}" for t in types)
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        f"""
        out[i] = {total} + i
        z[i] = c_wide*i + c_single
        w[i] = if(flag, v_uint64, 1)
        """,
        [
            *(pg.ValueArg(f"v_{t}", t) for t in (*types, "uint64")),
            pg.ValueArg("flag", np.bool_),
            pg.ValueArg("c_single", np.complex64),
            pg.ValueArg("c_wide", np.complex128),
            pg.GlobalArg("out", np.float64, shape="n"),
            pg.GlobalArg("z", np.complex128, shape="n"),
            pg.GlobalArg("w", np.uint64, shape="n"),
            "...",
        ],
        name="many_types",
    )
    return _grid(knl, "i", 4, grid)


_TOO_BIG = 2**63 + 7
VALUES = {
    "v_int8": -100,
    "v_uint8": 200,
    "v_int16": -30000,
    "v_uint16": 60000,
    "v_int32": -(2**30),
    "v_uint32": 2**32 - 5,
    "v_int64": 2**40 + 1,
    "v_float16": 0.5,
    "v_float32": 0.25,
    "v_float64": -0.125,
}


def halves(grid: bool) -> pg.Kernel:
    """Return elements of all sorts of types, read as they are."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        h_out[i] = 2*h[i]
        b_out[i] = not b[i]
        s_out[i] = s[i] - 100
        c_out[i] = c[i]*c[i]
        """,
        name="halves",
    )
    knl = _grid(knl, "i", 4, grid)
    return pg.add_dtypes(
        knl, {"h": np.float16, "b": np.bool_, "s": np.int8, "c": np.complex64, "b_out": np.bool_}
    )


def vectors(grid: bool) -> pg.Kernel:
    """Return elements in vectors of four, with another array in two parts."""
    knl = pg.make_kernel(
        "{ [i, j, k]: 0<=i<n and 0<=j<4 and 0<=k<2 }",
        """
        y[i, j] = 2*x[i, j]
        p[i, k] = x[i, k] + 1
        """,
        [
            pg.GlobalArg("x", np.float32, shape="n, 4", dim_tags="N0, vec"),
            pg.GlobalArg("y", np.float32, shape="n, 4", dim_tags="N0, vec"),
            pg.GlobalArg("p", np.float32, shape="n, 2", dim_tags="N0, sep"),
            "...",
        ],
        name="vectors",
    )
    knl = pg.tag_inames(knl, {"j": "unr", "k": "unr"})
    return _grid(knl, "i", 4, grid)


def rows(grid: bool) -> pg.Kernel:
    """Return a product of a sparse matrix and a vector: bounds and subscripts are data."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "[first, last] -> { [k]: first<=k<last }"],
        """
        <> first = start[i]
        <> last = start[i + 1]
        y[i] = sum(k, value[k]*x[column[k]])
        """,
        [
            pg.GlobalArg("start", np.int32, shape="n + 1"),
            pg.GlobalArg("column", np.int32, shape="m"),
            pg.GlobalArg("value", np.float64, shape="m"),
            pg.GlobalArg("x", np.float64, shape="n"),
            "...",
        ],
        name="rows",
    )
    return _grid(knl, "i", 4, grid)


def wide(grid: bool) -> pg.Kernel:
    """Return a kernel with indices of 64 bits, whose strides are left to the call."""
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "t[j, i] = s[i, j]",
        [
            pg.GlobalArg("s", np.int32, shape="n, m", dim_tags="stride:auto, stride:1"),
            pg.GlobalArg("t", np.int32, shape="m, n"),
            pg.ValueArg("n", np.int64),
            "...",
        ],
        name="wide",
    )
    return _grid(pg.prioritize_loops(knl, "i, j"), "i", 4, grid)


def program(grid: bool) -> pg.Kernel:
    """Return a kernel that calls another one."""
    data = [pg.GlobalArg("a", np.float32, "n, 4"), pg.GlobalArg("out", np.float32, "n, 4"), "..."]
    text = "[j]: out[i, j] = twice([j]: a[i, j])"
    caller = pg.make_kernel("{ [i]: 0<=i<n }", text, data, name="program")
    twice = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k]", name="twice")
    knl = pg.merge([caller, twice]).default_entrypoint
    return _grid(knl, "i", 4, grid)


def reversed_blocks(grid: bool) -> pg.Kernel:
    """Return blocks in reverse, through more local memory than CUDA lets a function declare."""
    knl = pg.make_kernel(
        "{ [b, i, j]: 0<=b<n and 0<=i,j<256 }",
        """
        for b
            pair[i, 0] = x[b, i]                    {id=load}
            pair[i, 31] = x[b, i] + 1               {id=more}
            y[b, j] = pair[255 - j, 0] - pair[255 - j, 31]/2  {dep=load:more}
        end
        """,
        [
            pg.GlobalArg("x, y", np.float64, shape="n, 256"),
            pg.TemporaryVariable("pair", np.float64, (256, 32), pg.AddressSpace.LOCAL),
            "...",
        ],
        name="reversed_blocks",
    )
    return pg.tag_inames(knl, {"b": "g.0", "i": "l.0", "j": "l.0"} if grid else {})


def _diffused(u: Any, count: int) -> Any:
    for _ in range(count):
        u = (np.roll(u, 1) + u + np.roll(u, -1)) / 4
    return u


def _settled(u: Any, rounds: int, most: int) -> dict[str, Any]:
    count = np.zeros(2, np.int32)
    for t in range(rounds):
        for s in range(most):
            u = np.roll(u, -1) + np.int32(s + t)
            count[0] += 1
            if u[0] % 4 == 3:
                break
            count[1] += 1
    return {"u": u, "left": np.zeros(1, np.int32), "count": count}


def cases() -> dict[str, Case]:
    """Return all cases, by the names of their kernels."""
    a, b = _RNG.normal(size=(2, 40)).astype(np.float32)
    left, right = _RNG.normal(size=(7, 5)), _RNG.normal(size=(5, 6))
    u, numbers = _RNG.normal(size=13), (np.arange(13) * 5 % 7).astype(np.int32)
    h, c = _RNG.normal(size=11).astype(np.float16), _RNG.normal(size=22).view(complex)
    c = c.astype(np.complex64)
    flags, small = _RNG.random(11) < 0.5, _RNG.integers(-28, 127, 11).astype(np.int8)
    x = _RNG.normal(size=(9, 4)).astype(np.float32)
    start = np.array([0, 2, 2, 3, 7, 7], np.int32)
    column, value = _RNG.integers(0, 5, 7).astype(np.int32), _RNG.normal(size=7)
    v = _RNG.normal(size=5)
    dense = np.zeros((5, 5))
    for row in range(5):
        for k in range(start[row], start[row + 1]):
            dense[row, column[k]] += value[k]
    s = _RNG.integers(-9, 9, (6, 5)).astype(np.int32)
    i, blocks = np.arange(10), _RNG.normal(size=(3, 256))
    return {
        "axpy": Case(axpy, {"a": a, "b": b}, {"alpha": 1.5}, {"out": np.float32(1.5) * a + b}),
        "product": Case(product, {"a": left, "b": right}, {"ld": 8}, {"c": left @ right}),
        "steps": Case(steps, {"u": u}, {"steps": 5}, {"u": _diffused(u, 5)}),
        "settled": Case(
            settled,
            {"u": numbers, "left": np.array([6], np.int32), "count": np.zeros(2, np.int32)},
            {"most": 5},
            _settled(numbers, 6, 5),
        ),
        "many_types": Case(
            many_types,
            {},
            {
                **VALUES,
                "v_uint64": _TOO_BIG,
                "flag": True,
                "c_single": 2 - 0.5j,
                "c_wide": 1 + 3j,
                "n": 10,
            },
            {
                "out": sum(VALUES.values()) + i.astype(float),
                "z": (1 + 3j) * i + (2 - 0.5j),
                "w": np.full(10, _TOO_BIG, np.uint64),
            },
        ),
        "halves": Case(
            halves,
            {"h": h, "b": flags, "s": small, "c": c},
            {},
            {"h_out": 2 * h, "b_out": ~flags, "s_out": small - np.int8(100), "c_out": c * c},
        ),
        "vectors": Case(
            vectors, {"x": x}, {}, {"y": 2 * x, "p_s0": x[:, 0] + 1, "p_s1": x[:, 1] + 1}
        ),
        "rows": Case(
            rows,
            {"start": start, "column": column, "value": value, "x": v},
            {},
            {"y": dense @ v},
        ),
        "wide": Case(wide, {"s": s}, {}, {"t": s.T}),
        "reversed_blocks": Case(
            reversed_blocks, {"x": blocks}, {}, {"y": (blocks[:, ::-1] - 1) / 2}
        ),
        "program": Case(program, {"a": x}, {}, {"out": 2 * x}),
    }
