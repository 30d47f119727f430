"""Calls of routines of libraries, and what NumPy has for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

_LINALG: Any = import_module("numpy.linalg")
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

    def number_type(self, dtype: Any) -> np.dtype[Any]:
        """Return the type of its numbers for arrays of a type."""
        return np.zeros((), dtype).real.dtype if self.routine == "herk" else np.dtype(dtype)

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
        self,
        knl: Kernel,
        dtype: Any,
        sizes: tuple[int, int, int],
        order: Any = np.copy,
        target: str = "c",
        move: Callable[[Any], Any] = lambda x: x,
    ) -> None:
        """Run a kernel, and compare what it writes with what NumPy computes.

        Parameters:
            knl: computes what the call does.
            dtype: the type of the arrays.
            sizes: m, n and k.
            order: makes of an array one that lies in memory in some way.
            target: where it runs.
            move: makes of an array one that is there; it may be NumPy's, which calls copy.
        """
        arrays = self.arrays(dtype, sizes)
        wanted = self.expected({name: x.copy() for name, x in arrays.items()})
        passed = {name: order(x) for name, x in arrays.items()}
        numbers = {"al": 2, "be": 0.5}
        typed = self.number_type(dtype).type
        passed |= {n: typed(v) for n, v in numbers.items() if f"={n}" in self.text}
        known = dict(zip("mnk", sizes, strict=True))
        passed |= {n: v for n, v in known.items() if n in knl.variables}
        there = {n: move(x) if n in arrays else x for n, x in passed.items()}
        knl.executor(target)(**there)
        for name in wanted:
            if hasattr(there[name], "get"):
                passed[name] = there[name].get()
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


def _half(uplo: str, new: Any, old: Any) -> Any:
    """Return a square array with one half, and the diagonal, new."""
    found = old.copy()
    rows, columns = np.tril_indices(len(old)) if uplo == "L" else np.triu_indices(len(old))
    found[rows, columns] = new[rows, columns]
    return found


def _syrk(uplo: str, trans: str, rest: str = "") -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        taken = _TAKEN[trans](x["a"])
        product = taken @ taken.T
        product = 2 * product if "alpha=al" in rest else product
        if rest.startswith(", d"):
            product = product + x["d"]
        return {"c": _half(uplo, product + (0.5 * x["c"] if "beta=be" in rest else 0), x["c"])}

    shapes = {"a": "n, k" if trans == "N" else "k, n", "c": "n, n"}
    if rest.startswith(", d"):
        shapes["d"] = "n, n"
    text = f'c = library("syrk", a{rest}, uplo="{uplo}", trans="{trans}")'
    return Case(text, shapes, expected)


def _herk(uplo: str, trans: str, rest: str = "") -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        taken = _TAKEN[trans](x["a"])
        product = (2 if "alpha=al" in rest else 1) * (taken @ taken.conj().T)
        start = x["d"] if rest.startswith(", d") else x["c"]
        factor = 0.5 if "beta=be" in rest else 1 if rest.startswith(", d") else 0
        new = product + (factor * start if factor else 0)
        diagonal: Any = np.diag(new)
        np.fill_diagonal(new, diagonal.real)
        return {"c": _half(uplo, new, x["c"])}

    shapes = {"a": "n, k" if trans == "N" else "k, n", "c": "n, n"}
    if rest.startswith(", d"):
        shapes["d"] = "n, n"
    text = f'c = library("herk", a{rest}, uplo="{uplo}", trans="{trans}")'
    return Case(text, shapes, expected, is_complex=bool(rest))


def _trsm(side: str, uplo: str, trans: str, diag: str, result: str = "b", rest: str = "") -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        a = _half(uplo, x["a"], np.zeros_like(x["a"]))
        if diag == "U":
            a = a - np.diag(np.diag(a)) + np.eye(len(a))
        taken, b = _TAKEN[trans](a), (2 if rest else 1) * x["b"]
        return {result: np.linalg.solve(taken, b) if side == "L" else b @ np.linalg.inv(taken)}

    def prepare(x: dict[str, Any]) -> dict[str, Any]:
        count = len(x["a"])
        return x | {"a": (x["a"] / (1 + count) + 2 * np.eye(count)).astype(x["a"].dtype)}

    count = "m" if side == "L" else "n"
    shapes = {"a": f"{count}, {count}", "b": "m, n"}
    if result != "b":
        shapes[result] = "m, n"
    words = f'side="{side}", uplo="{uplo}", trans="{trans}", diag="{diag}"'
    text = f'{result} = library("trsm", a, b{rest}, {words})'
    return Case(text, shapes, expected, is_complex=trans == "C", prepare=prepare)


def _potrf(uplo: str, result: str = "a") -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        lower = _LINALG.cholesky(x["a"])
        factor = lower if uplo == "L" else lower.conj().T
        return {result: _half(uplo, factor, x[result])}

    def prepare(x: dict[str, Any]) -> dict[str, Any]:
        a = x["a"]
        return x | {"a": (a @ a.conj().T + np.eye(len(a))).astype(a.dtype)}

    shapes = dict.fromkeys(dict.fromkeys(("a", result)), "n, n")
    text = f'{result} = library("potrf", a, uplo="{uplo}")'
    return Case(text, shapes, expected, is_complex=True, prepare=prepare)


def _factors(a: Any) -> tuple[Any, Any]:
    """Return the factors of a matrix in one array, and the rows that are exchanged."""
    a, rows = a.copy(), np.zeros(len(a), np.int32)
    for k in range(len(a)):
        # LAPACK compares complex numbers so.
        rows[k] = k + np.argmax(np.abs(a[k:, k].real) + np.abs(a[k:, k].imag))
        a[[k, rows[k]]] = a[[rows[k], k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, rows


def _getrf(result: str = "a") -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        factors, rows = _factors(x["a"])
        return {result: factors, "p": rows}

    shapes = {**dict.fromkeys(("a", result), "n, n"), "p": "n"}
    return Case(f'{result}, p = library("getrf", a)', shapes, expected)


def _gesv(matrix: str, right: str, shape: str) -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        factors, rows = _factors(x["a"])
        return {matrix: factors, "p": rows, right: np.linalg.solve(x["a"], x["b"])}

    shapes = {**dict.fromkeys(("a", matrix), "n, n"), **dict.fromkeys(("b", right), shape)}
    text = f'{matrix}, p, {right} = library("gesv", a, b)'
    return Case(text, {**shapes, "p": "n"}, expected)


def _fft(direction: str) -> Case:
    def expected(x: dict[str, Any]) -> dict[str, Any]:
        transform = np.fft.ifft if direction == "inverse" else np.fft.fft
        return {"y": transform(x["x"]) if len(x["x"]) else x["x"]}

    text = f'y = library("fft", x, direction="{direction}")'
    return Case(text, {"x": "n", "y": "n"}, expected, is_complex=True)


_SYRK = [
    *(_syrk(uplo, trans, ", alpha=al, beta=be") for uplo in "LU" for trans in "NT"),
    _syrk("U", "N"),
    _syrk("L", "N", ", d"),
]
_HERK = [
    *(_herk(uplo, trans, ", alpha=al, beta=be") for uplo in "LU" for trans in "NC"),
    _herk("U", "C"),
    _herk("L", "N", ", d"),
]
_TRSM = [
    *(_trsm(side, uplo, t, "N") for side in "LR" for uplo in "LU" for t in "NTC"),
    _trsm("L", "L", "N", "U", rest=", alpha=al"),
    _trsm("R", "U", "T", "U", result="x", rest=", alpha=al"),
]
_POTRF = [_potrf("L"), _potrf("U"), _potrf("L", "l"), _potrf("U", "l")]
_LU = [
    *(_getrf(), _getrf("lu"), _gesv("a", "b", "n, m"), _gesv("lu", "x", "n, m")),
    *(_gesv("a", "x", "n"), _gesv("lu", "b", "n")),
]
CASES: list[Case] = [
    *_GEMM,
    *_GEMV,
    *_SYRK,
    *_TRSM,
    *_POTRF,
    *_LU,
    *map(_fft, ("forward", "inverse")),
    *_HERK,
]
