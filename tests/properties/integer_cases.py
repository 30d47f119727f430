"""Random subscripts, bounds and values over data of every type, and what they come to.

Each expression is made twice: as text, and as a function of Python's integers, which have no end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
OTHERS = ("bool", "float16", "float32", "float64", "complex64", "complex128")
COUNT = 24
TABLE = 97
_FAR = 2**62  # what 64 bits hold, and a sum of two


def data_of(name: str, rng: np.random.Generator, *, whole: bool = True) -> Any:
    """Return numbers of an integer type, the least and the greatest among them.

    Parameters:
        name: of the type.
        rng: makes the others.
        whole: whether those of 64 bits may be so large that their sum overflows.
    """
    info = np.iinfo(name)
    low, high = int(info.min), int(info.max)
    if not whole and info.bits == 64:
        low, high = max(low, -(2**40)), 2**40
    values = rng.integers(low, high, size=COUNT, dtype=name, endpoint=True)
    values[:6] = low, high, high - 1, high // 2, 0, 1
    return values


# --- subscripts

_Env = Mapping[str, int]


@dataclass(frozen=True)
class Index:
    """A subscript.

    Attributes:
        text: of the language.
        value: what it is, given what its names are.
    """

    text: str
    value: Callable[[_Env], int]


def _checked(value: int) -> int:
    if abs(value) >= _FAR:
        raise OverflowError
    return value


class Indices:
    """Makes subscripts of elements of ``x_int8`` and its like, of ``i`` and of numbers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def leaf(self) -> Index:
        """Return data, a loop counter, or a number."""
        choice = self._random.random()
        if choice < 0.65:
            name = f"x_{self._random.choice(INTEGERS)}"
            return Index(f"{name}[i]", lambda env: env[name])
        if choice < 0.85:
            return Index("i", lambda env: env["i"])
        number = self._random.choice((1, 2, 3, 31, 200, 1000))
        return Index(str(number), lambda _: number)

    def of(self, depth: int) -> Index:
        """Return any subscript."""
        if depth == 0:
            return self.leaf()
        a, b = self.of(depth - 1), self.of(self._random.randrange(depth))
        c, shift = self._random.choice((2, 3, 7, 16, 97, 256)), self._random.randint(0, 9)
        text, value = a.text, a.value
        made = [
            Index(f"({text} + {b.text})", lambda e: _checked(value(e) + b.value(e))),
            Index(f"({text} - {b.text})", lambda e: _checked(value(e) - b.value(e))),
            Index(f"({text})*{c}", lambda e: _checked(value(e) * c)),
            Index(f"({text} // {c})", lambda e: value(e) // c),
            Index(f"({text} % {c})", lambda e: value(e) % c),
            Index(f"({text} >> {shift})", lambda e: value(e) >> shift),
            Index(f"(({text}) & {c})", lambda e: value(e) & c),
            Index(f"(({text}) | {c})", lambda e: value(e) | c),
            Index(f"(({text}) ^ {b.text})", lambda e: value(e) ^ b.value(e)),
            Index(f"(({text}) << {shift})", lambda e: _checked(value(e) << shift)),
            Index(f"(-({text}))", lambda e: -value(e)),
            Index(f"(~({text}))", lambda e: ~value(e)),
            Index(f"(({text}) % {c})**2", lambda e: (value(e) % c) ** 2),
            Index(f"min({text}, {b.text})", lambda e: min(value(e), b.value(e))),
            Index(f"max({text}, {b.text})", lambda e: max(value(e), b.value(e))),
            Index(f"clamp({text}, 0, n)", lambda e: min(max(value(e), 0), e["n"])),
            Index(
                f"if(x_int8[i] < 0, {text}, {b.text})",
                lambda e: value(e) if e["x_int8"] < 0 else b.value(e),
            ),
        ]
        return self._random.choice(made)

    def element(self, envs: list[dict[str, int]], large: str) -> Index:
        """Return a subscript that is inside of the table, and that 64 bits are enough for.

        Parameters:
            envs: what its names are, in each iteration.
            large: an array of which nothing but a remainder, say, is computed.
        """
        choice = self._random.random()
        c, shift = self._random.choice((2, 3, 16, TABLE)), self._random.randint(1, 9)
        if choice < 0.1:
            return Index(f"({large}[i] % {TABLE})", lambda e: e[large] % TABLE)
        if choice < 0.2:
            inner = Index(f"({large}[i] // {c})", lambda e: e[large] // c)
        elif choice < 0.3:
            inner = Index(f"({large}[i] >> {shift})", lambda e: e[large] >> shift)
        else:
            inner = self.of(self._random.randint(1, 3))
        try:
            for env in envs:
                inner.value(env)
        except OverflowError:
            return self.element(envs, large)
        return Index(f"({inner.text}) % {TABLE}", lambda e: inner.value(e) % TABLE)


def subscripts(seed: int, count: int = 10) -> tuple[Kernel, dict[str, Any], dict[str, Any]]:
    """Return a kernel that reads a table, its arguments, and what it makes of them."""
    rng, maker = np.random.default_rng(seed), Indices(seed)
    given = {f"x_{name}": data_of(name, rng, whole=False) for name in INTEGERS}
    given |= {"u": data_of("uint64", rng), "v": data_of("int64", rng)}
    envs = [{n: int(v[i]) for n, v in given.items()} | {"i": i, "n": COUNT} for i in range(COUNT)]
    made = [maker.element(envs, maker._random.choice("uv")) for _ in range(count)]
    lines = [f"o{k}[i] = t[{index.text}] {{id=o{k}}}" for k, index in enumerate(made)]
    arrays = [pg.GlobalArg(name, value.dtype, "n") for name, value in given.items()]
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "\n".join(lines), [*arrays, pg.GlobalArg("t", "float32", TABLE), "..."]
    )
    given["t"] = rng.standard_normal(TABLE).astype(np.float32)
    wanted = {
        f"o{k}": given["t"][[index.value(env) for env in envs]] for k, index in enumerate(made)
    }
    return knl, given, wanted


# --- bounds

_BOUNDS = {
    "int8": (-3, 0, 1, 100, 127),
    "uint8": (0, 1, 127, 200, 253, 255),
    "int16": (-1, 0, 5, 300),
    "uint16": (0, 2, 255, 300),
    "int32": (-7, 0, 4, 300),
    "uint32": (0, 3, 128, 300),
    "int64": (-(2**40), 0, 9, 300),
    "uint64": (0, 1, 64, 300),
}
_FIRST = {"uint32": 2**32 - 305, "int64": 2**33 + 3, "uint64": 2**33 + 5}


def bounds(dtype: str) -> tuple[Kernel, dict[str, Any], dict[str, Any]]:
    """Return a kernel whose loops are bounded by data, its arguments, and what it makes of them."""
    lengths = np.array(_BOUNDS[dtype], dtype)
    first = np.full(len(lengths), _FIRST.get(dtype, 3), dtype)
    first[lengths > 100] = (
        min(_FIRST.get(dtype, 3), np.iinfo(dtype).max - 300) if (dtype in _FIRST) else 0
    )
    knl = pg.make_kernel(
        [
            "{ [i]: 0<=i<n }",
            "{ [k]: 0<=k<h }",
            "{ [l]: g<=l<g+h }",
            "{ [p]: 0<=p<h }",
        ],
        """
        <> h = hs[i]                      {id=h}
        <> g = gs[i]                      {id=g}
        s[i] = sum(k, a[k])               {id=s}
        r[i] = sum(l, a[h - 1 - l + g])   {id=r}
        o[i, h - 1 - p] = a[p] + i        {id=o}
        """,
        [
            pg.GlobalArg("hs", dtype, "n"),
            pg.GlobalArg("gs", dtype, "n"),
            pg.GlobalArg("a", "float64", 300),
            pg.GlobalArg("o", "float64", "n, 300"),
            "...",
        ],
    )
    a = np.arange(300.0) ** 2
    o = np.zeros((len(lengths), 300))
    sums = []
    for i, length in enumerate(max(0, int(h)) for h in lengths):
        sums.append(a[:length].sum())
        o[i, :length] = (a[:length] + i)[::-1]
    given = {"hs": lengths, "gs": first, "a": a, "o": np.zeros_like(o)}
    return knl, given, {"s": np.array(sums), "r": np.array(sums), "o": o}


def rearranged(knl: Kernel, seed: int) -> Kernel:
    """Return a kernel of `bounds` after random steps."""
    chosen = random.Random(seed)
    for iname in "klp":
        step = chosen.choice(("split", "reverse", "shift", "slabs", "unroll", "none"))
        length = chosen.choice((2, 4, 7, 16))
        if step == "split":
            knl = pg.split_iname(knl, iname, length)
        elif step == "slabs":
            knl = pg.split_iname(knl, iname, length, slabs=(0, 1))
        elif step == "unroll":
            knl = pg.split_iname(knl, iname, length, inner_tag="unr")
        elif step == "reverse" and iname != "p":  # whose writes may meet, for all that is known
            knl = pg.reverse(knl, iname)
        elif step == "shift":
            knl = pg.shift(knl, iname, 5)
    return knl


# --- values


def values(dtype: str) -> tuple[Kernel, dict[str, Any], dict[str, Any]]:
    """Return a kernel that computes with inames and data of a type; what NumPy makes of it."""
    rng = np.random.default_rng(len(dtype))
    x: Any
    if dtype in INTEGERS:
        x = data_of(dtype, rng)
    elif dtype == "bool":
        x = rng.random(COUNT) < 0.5
    else:
        x = rng.uniform(-4, 4, COUNT).astype(dtype)
    i: Any = np.arange(COUNT, dtype=_counted(x.dtype))
    n = i.dtype.type(COUNT)
    lines = ["a[i] = i + x[i]", "b[i] = x[i] - 2*i", "c[i] = (n - 1 - i)*x[i]", "d[i] = 3*x[i]"]
    with np.errstate(all="ignore"):
        wanted = {"a": i + x, "b": x - 2 * i, "c": (n - 1 - i) * x, "d": 3 * x}
        if x.dtype.kind in "iuf":
            lines += [
                "e[i] = min(i, x[i])",
                "f[i] = if(i < x[i], i, x[i])",
                "g[i] = x[i] // (i + 1)",
            ]
            chosen = np.where(np.arange(COUNT) < x, i, x)
            wanted |= {"e": np.minimum(i, x), "f": chosen, "g": x // (i + i.dtype.type(1))}
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "\n".join(lines))
    return knl, {"x": x}, wanted


def _counted(dtype: Any) -> Any:
    """Return the type of an array of NumPy's that stands for inames beside one of this type."""
    if dtype.kind in "iu":
        return dtype if dtype == np.uint64 else np.result_type(dtype, np.int32)
    return np.int64 if dtype.kind == "b" else dtype


def check(knl: Kernel, target: str, given: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Check what a kernel makes of arguments."""
    passed = {name: np.array(value) for name, value in given.items()}
    _, found = knl.executor(target)(**passed)
    names = [arg.name for arg in knl.arguments if arg.name in wanted]
    for name, array in zip(names, found, strict=True):
        np.testing.assert_array_equal(array, wanted[name], err_msg=f"{name} of\n{knl}", strict=True)


def check_subscripts(seed: int, target: str) -> None:
    """Check a kernel of `subscripts`."""
    knl, given, wanted = subscripts(seed)
    check(knl, target, given, wanted)


def check_bounds(seed: int, target: str) -> None:
    """Check a kernel of `bounds` after random steps: of any type, as the seed says."""
    knl, given, wanted = bounds(INTEGERS[seed % len(INTEGERS)])
    check(rearranged(knl, seed), target, given, wanted)


def check_values(dtype: str, target: str) -> None:
    """Check a kernel of `values`."""
    knl, given, wanted = values(dtype)
    check(knl, target, given, wanted)
