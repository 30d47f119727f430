"""Calls of routines of libraries, and what NumPy has for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

_TAKEN: dict[str, Callable[[Any], Any]] = {
    "N": lambda x: x,
    "T": lambda x: x.T,
    "C": lambda x: x.conj().T,
}


@dataclass(frozen=True)
class Case:
    """A call, and what it computes.

    Attributes:
        text: the call.
        shapes: of its arrays, in terms of m, n and k.
        expected: from the arrays by name, what those that are written hold afterwards.
        is_complex: whether its values differ from those of real numbers.
        prepare: makes of random arrays those that the routine is for.
    """

    text: str
    shapes: dict[str, str]
    expected: Callable[[dict[str, Any]], dict[str, Any]]
    is_complex: bool = False
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = dict

    def __str__(self) -> str:
        return self.text

    @property
    def routine(self) -> str:
        """The name of the routine."""
        return self.text.split('"')[1]

    @property
    def kernel(self) -> Kernel:
        """The kernel that makes the call."""
        integers = {"p"}
        data = [
            pg.GlobalArg(name, np.int32 if name in integers else None, shape=shape)
            for name, shape in self.shapes.items()
        ]
        numbers = [pg.ValueArg(name) for name in ("al", "be") if f"={name}" in self.text]
        return kernel("{ : }", self.text, *data, *numbers)

    def arrays(self, dtype: Any, sizes: tuple[int, int, int], seed: int = 0) -> dict[str, Any]:
        """Return arguments of a type."""
        rng = np.random.default_rng(seed)
        known = dict(zip("mnk", sizes, strict=True))
        found: dict[str, Any] = {}
        for name, shape in self.shapes.items():
            extents = [known[extent] for extent in shape.split(", ")]
            values = rng.standard_normal(extents) + 1j * rng.standard_normal(extents)
            found[name] = (values if np.dtype(dtype).kind == "c" else values.real).astype(dtype)
            if name == "p":
                found[name] = np.zeros(extents, np.int32)
        return self.prepare(found)

    def check(
        self, knl: Kernel, dtype: Any, sizes: tuple[int, int, int], order: Any = np.copy
    ) -> None:
        """Run a kernel, and compare what it writes with what NumPy computes.

        Parameters:
            knl: computes what the call does.
            dtype: the type of the arrays.
            sizes: m, n and k.
            order: makes of an array one that lies in memory in some way.
        """
        arrays = self.arrays(dtype, sizes)
        wanted = self.expected({name: x.copy() for name, x in arrays.items()})
        passed = {name: order(x) for name, x in arrays.items()}
        numbers = {"al": 2, "be": 0.5}
        typed = np.dtype(dtype).type
        passed |= {n: typed(v) for n, v in numbers.items() if f"={n}" in self.text}
        known = dict(zip("mnk", sizes, strict=True))
        passed |= {n: v for n, v in known.items() if n in knl.variables}
        knl.executor("c")(**passed)
        tolerance = 2e-4 if np.dtype(dtype).itemsize in (4,) or dtype == np.complex64 else 1e-11
        for name, values in wanted.items():
            np.testing.assert_allclose(
                passed[name], values, rtol=tolerance, atol=tolerance, err_msg=f"{self}: {name}"
            )


def _gemm(trans_a: str, trans_b: str, rest: str = "") -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        product = _TAKEN[trans_a](x["a"]) @ _TAKEN[trans_b](x["b"])
        product = 2 * product if "alpha=al" in rest else product
        start = x["d"] if rest.startswith(", d") else x["c"]
        factor = 0.5 if "beta=be" in rest else 1 if rest.startswith(", d") else 0
        return {"c": product + (factor * start if factor else 0)}

    shapes = {
        "a": "m, k" if trans_a == "N" else "k, m",
        "b": "k, n" if trans_b == "N" else "n, k",
        "c": "m, n",
    }
    if rest.startswith(", d"):
        shapes["d"] = "m, n"
    words = f', trans_a="{trans_a}", trans_b="{trans_b}"'
    return Case(
        f'c = library("gemm", a, b{rest}{words})',
        shapes,
        expected,
        is_complex="C" in trans_a + trans_b,
    )


def _gemv(trans: str, rest: str = "") -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        product = _TAKEN[trans](x["a"]) @ x["x"]
        product = 2 * product if "alpha=al" in rest else product
        if rest.startswith(", z"):
            return {"y": product + x["z"]}
        return {"y": product + (0.5 * x["y"] if "beta=be" in rest else 0)}

    rows, columns = ("m", "n") if trans == "N" else ("n", "m")
    shapes = {"a": "m, n", "x": columns, "y": rows}
    if rest.startswith(", z"):
        shapes["z"] = rows
    text = f'y = library("gemv", a, x{rest}, trans="{trans}")'
    return Case(text, shapes, expected, is_complex=trans == "C")


_GEMM = [
    *(_gemm(a, b, ", alpha=al, beta=be") for a in "NTC" for b in "NTC"),
    _gemm("N", "N"),
    _gemm("T", "N", ", d"),
    _gemm("N", "T", ", d, beta=be"),
]
_GEMV = [*(_gemv(t, ", alpha=al, beta=be") for t in "NTC"), _gemv("N"), _gemv("T", ", z")]
CASES: list[Case] = [*_GEMM, *_GEMV]
