"""Routines of BLAS and LAPACK, and Fourier transforms, on a GPU: cuBLAS's, cuSOLVER's, cuFFT's.

CuPy calls these libraries.  What they are told of how arrays lie is what `texts/blas.h` tells BLAS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polygen.runtime.backends.cuda.library_operands import Operand, is_large, lying, taken
from polygen.runtime.calls.library_errors import LAYOUT, NOT_DEFINITE, SINGULAR, TOO_LARGE
from polygen.targets.programs.library_calls import LETTERS

# What cuBLAS calls them; cuSOLVER does likewise.
_OPERATIONS = {"N": 0, "T": 1, "C": 2}
_HALVES = {"L": 0, "U": 1}
_SIDES = {"L": 0, "R": 1}
_DIAGONALS = {"N": 0, "U": 1}


class Refused(Exception):
    """A call of a library is not possible: why, and what is said of that."""

    def __init__(self, why: int, info: int = 0) -> None:
        super().__init__(why, info)
        self.why, self.info = why, info


class Libraries(NamedTuple):
    """CuPy's modules.

    Attributes:
        cupy: CuPy.
        cublas: its functions of cuBLAS.
        cusolver: its functions of cuSOLVER.
    """

    cupy: Any
    cublas: Any
    cusolver: Any


@dataclass(frozen=True)
class Given:
    """Arguments of a routine.

    Attributes:
        libraries: CuPy's modules.
        blas: cuBLAS's handle.
        solver: returns cuSOLVER's handle.
        options: what is said by words.
        sizes: the sizes, by name.
        numbers: those that the call gives, by name.
        arrays: the arrays, by name.
        begins: for results that begin as an operand, that one: they may be one array.
        failing: notes a place where cuSOLVER says that it failed, and what that means.
    """

    libraries: Libraries
    blas: int
    solver: Callable[[], int]
    options: Mapping[str, str]
    sizes: Mapping[str, int]
    numbers: Mapping[str, Any]
    arrays: Mapping[str, Operand]
    begins: Mapping[str, str]
    failing: Callable[[int, Any], None]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.arrays["out"].dtype

    @property
    def is_complex(self) -> bool:
        """Whether elements are complex."""
        return self.dtype.kind == "c"

    def number(self, name: str, usual: int) -> Any:
        """Return a number, of the type of the elements."""
        return self.dtype.type(self.numbers.get(name, usual))

    def blas_routine(self, name: str) -> Callable[..., Any]:
        """Return a function of cuBLAS for the type."""
        found: Callable[..., Any] = getattr(self.libraries.cublas, LETTERS[self.dtype.name] + name)
        return found

    def solver_routine(self, name: str) -> Callable[..., Any]:
        """Return a function of cuSOLVER for the type."""
        letter = LETTERS[self.dtype.name]
        found: Callable[..., Any] = getattr(self.libraries.cusolver, letter + name)
        return found

    def view(self, name: str) -> Any:
        """Return an array as CuPy's."""
        return self.arrays[name].view(self.libraries.cupy)

    def begin(self, result: str = "out") -> None:
        """Copy to a result the operand that it begins as, if these are two."""
        if self.begins[result] in self.arrays:
            self.view(result)[...] = self.view(self.begins[result])

    def on_half(self, uplo: str, new: Any) -> None:
        """Put values on a half of the result."""
        cupy, out = self.libraries.cupy, self.view("out")
        half = cupy.tri(len(out), dtype=bool)
        out[...] = cupy.where(half if uplo == "L" else half.T, new, out)

    def begin_half(self, uplo: str) -> None:
        """Copy to half of the result the operand that it begins as, if these are two."""
        if self.begins["out"] in self.arrays:
            self.on_half(uplo, self.view(self.begins["out"]))

    def scaled(self) -> Any:
        """Return beta times what the result begins with; 0 if nothing is added."""
        beta = self.number("beta", 0)
        return self.view("out") * beta if beta else self.dtype.type(0)


def run_routine(routine: str, given: Given) -> None:
    """Start a routine on CuPy's current stream.

    Raises:
        Refused: if the library does not take an array.
    """
    _ROUTINES[routine](given)


def _at(number: Any) -> Any:
    """Return a place of the host's with a number."""
    return np.array([number])


def _products(
    g: Given, ops: tuple[str, str], a: Operand, b: Operand, c: Operand, alpha: Any, beta: Any
) -> None:
    """Compute ``c = alpha*op(a) @ op(b) + beta*c``."""
    inner = a.shape[1] if ops[0] == "N" else a.shape[0]
    in_c = in_a = in_b = None
    told = ("", "")
    for by_rows in (True, False):  # what has one row or column lies both ways
        in_c = lying(c, by_rows=by_rows)
        rows = in_c is None or in_c.by_rows
        in_a, in_b = (lying(x, by_rows=rows) for x in (a, b))
        found = [
            "" if x is None else taken(op, otherwise=x.by_rows != rows, is_complex=g.is_complex)
            for op, x in zip(ops, (in_a, in_b), strict=True)
        ]
        told = (found[0], found[1])
        if in_c is not None and all(told):
            break
    if in_c is None or in_a is None or in_b is None or not all(told):
        raise Refused(LAYOUT, 2 if in_c is None else 1 if not told[1] else 0)
    if is_large(*c.shape, inner):
        raise Refused(TOO_LARGE)
    first, second = (a.address, in_a.leading), (b.address, in_b.leading)
    sizes, codes = c.shape, (_OPERATIONS[told[0]], _OPERATIONS[told[1]])
    if in_c.by_rows:
        first, second, sizes, codes = second, first, sizes[::-1], codes[::-1]
    factors = _at(alpha), _at(beta)
    g.blas_routine("gemm")(
        *(g.blas, *codes, *sizes, inner, factors[0].ctypes.data, *first, *second),
        *(factors[1].ctypes.data, c.address, in_c.leading),
    )


def _gemm(g: Given) -> None:
    g.begin()
    if g.sizes["k"] <= 0:  # then libraries differ in what they look at
        g.view("out")[...] = g.scaled()
    if min(g.sizes[n] for n in "mnk") <= 0:
        return
    ops = g.options["trans_a"], g.options["trans_b"]
    a, b, out = (g.arrays[name] for name in ("a", "b", "out"))
    _products(g, ops, a, b, out, g.number("alpha", 1), g.number("beta", 0))


def _gemv(g: Given) -> None:
    g.begin()
    a, x, y, op = g.arrays["a"], g.arrays["x"], g.arrays["out"], g.options["trans"]
    (count,), (inner,) = y.shape, x.shape
    if inner <= 0:
        g.view("out")[...] = g.scaled()
    if count <= 0 or inner <= 0:
        return
    alpha, beta = g.number("alpha", 1), g.number("beta", 0)
    for position, vector in ((1, x), (2, y)):
        if vector.shape[0] > 1 and vector.strides[0] < 1:
            raise Refused(LAYOUT, position)
    in_a = lying(a, by_rows=False)
    if in_a is None:
        raise Refused(LAYOUT, 0)
    told = taken(op, otherwise=in_a.by_rows, is_complex=g.is_complex)
    if not told:  # of a conjugate transpose by rows, only products of matrices know
        _products(g, (op, "N"), a, x.as_column, y.as_column, alpha, beta)
        return
    steps = [max(1, vector.strides[0]) for vector in (x, y)]
    if is_large(*a.shape, *steps):
        raise Refused(TOO_LARGE)
    sizes = a.shape[::-1] if in_a.by_rows else a.shape
    factors = _at(alpha), _at(beta)
    g.blas_routine("gemv")(
        *(g.blas, _OPERATIONS[told], *sizes, factors[0].ctypes.data, a.address, in_a.leading),
        *(x.address, steps[0], factors[1].ctypes.data, y.address, steps[1]),
    )


def _syrk(g: Given) -> None:
    uplo, op = g.options["uplo"], g.options["trans"].replace("C", "T")
    g.begin_half(uplo)
    if g.sizes["k"] <= 0:
        g.on_half(uplo, g.scaled())
    if min(g.sizes[n] for n in "nk") <= 0:
        return
    a, out = g.arrays["a"], g.arrays["out"]
    in_a, in_out = lying(a, by_rows=True), lying(out, by_rows=True)
    if in_a is None or in_out is None:
        raise Refused(LAYOUT, 0 if in_a is None else 2)
    if is_large(*a.shape):
        raise Refused(TOO_LARGE)
    factors = _at(g.number("alpha", 1)), _at(g.number("beta", 0))
    g.blas_routine("syrk")(
        *(g.blas, _half(uplo, in_out.by_rows), _OPERATIONS[_flipped(op, in_a.by_rows, "NT")]),
        *(g.sizes["n"], g.sizes["k"], factors[0].ctypes.data, a.address, in_a.leading),
        *(factors[1].ctypes.data, out.address, in_out.leading),
    )


def _flipped(said: str, is_other: bool, letters: str) -> str:
    """Return a letter, or of two letters the other one."""
    return letters[1 - letters.index(said)] if is_other else said


def _half(uplo: str, by_rows: bool) -> int:
    """Return what a library is told of a half."""
    return _HALVES[_flipped(uplo, by_rows, "LU")]


def _herk(g: Given) -> None:
    """Compute a whole product, of which a half is taken: CuPy has no such routine."""
    if not g.is_complex:
        _syrk(g)
        return
    cupy, uplo = g.libraries.cupy, g.options["uplo"]
    g.begin_half(uplo)
    n, k = g.sizes["n"], g.sizes["k"]
    if n <= 0:
        return
    alpha = g.number("alpha", 1)
    new = cupy.zeros((n, n), g.dtype) + g.scaled()
    if k > 0:
        new = new + _hermitian(g, g.arrays["a"], g.options["trans"]) * alpha
    diagonal = cupy.eye(n, dtype=bool)
    g.on_half(uplo, cupy.where(diagonal, new.real, new))


def _hermitian(g: Given, a: Operand, op: str) -> Any:
    """Return ``op(a) @ op(a).conj().T``."""
    in_a = lying(a, by_rows=False)
    if in_a is None:
        raise Refused(LAYOUT, 0)
    n = g.sizes["n"]
    product = g.libraries.cupy.empty((n, n), g.dtype, order="C" if in_a.by_rows else "F")
    strides = (n, 1) if in_a.by_rows else (1, n)
    out = Operand(product.data.ptr, (n, n), strides, g.dtype)
    ops = ("N", "C") if op == "N" else ("C", "N")
    _products(g, ops, a, a, out, g.dtype.type(1), g.dtype.type(0))
    return product


def _trsm(g: Given) -> None:
    g.begin()
    if min(g.sizes[n] for n in "mn" if n in g.sizes) <= 0:
        return
    a, x = g.arrays["a"], g.arrays["out"]
    in_x = in_a = None
    told = ""
    for by_rows in (True, False):  # what has one row or column lies both ways
        in_x = lying(x, by_rows=by_rows)
        rows = in_x is None or in_x.by_rows
        in_a = lying(a, by_rows=rows)
        if in_a is not None:
            otherwise = in_a.by_rows != rows
            told = taken(g.options["trans"], otherwise=otherwise, is_complex=g.is_complex)
        if in_x is not None and told:
            break
    if in_x is None or in_a is None or not told:
        raise Refused(LAYOUT, 2 if in_x is None else 0)
    if is_large(*x.shape):
        raise Refused(TOO_LARGE)
    alpha = _at(g.number("alpha", 1))
    g.blas_routine("trsm")(
        *(g.blas, _SIDES[_flipped(g.options["side"], in_x.by_rows, "LR")]),
        *(_half(g.options["uplo"], in_a.by_rows), _OPERATIONS[told]),
        *(_DIAGONALS[g.options["diag"]], *(x.shape[::-1] if in_x.by_rows else x.shape)),
        *(alpha.ctypes.data, a.address, in_a.leading, x.address, in_x.leading),
    )


def _potrf(g: Given) -> None:
    uplo, n = g.options["uplo"], g.sizes["n"]
    g.begin_half(uplo)
    if n <= 0:
        return
    out, cupy = g.arrays["out"], g.libraries.cupy
    in_out = lying(out, by_rows=True)
    if in_out is None or is_large(n):
        raise Refused(LAYOUT if in_out is None else TOO_LARGE, 2)
    solver, matrix = g.solver(), (_half(uplo, in_out.by_rows), n, out.address, in_out.leading)
    size = g.solver_routine("potrf_bufferSize")(solver, *matrix)
    space, info = cupy.empty(max(1, size), g.dtype), cupy.zeros(1, np.int32)
    g.solver_routine("potrf")(solver, *matrix, space.data.ptr, size, info.data.ptr)
    g.failing(NOT_DEFINITE, info)


def _factors(g: Given) -> tuple[Any, Any] | None:
    """Factor the result, by columns; return that with the pivots, counted from 1."""
    g.begin()
    n, cupy = g.sizes["n"], g.libraries.cupy
    if n <= 0:
        return None
    if is_large(n):
        raise Refused(TOO_LARGE)
    factors, pivots = cupy.empty((n, n), g.dtype, order="F"), cupy.empty(n, np.int32)
    factors[...] = g.view("out")
    solver, matrix = g.solver(), (n, n, factors.data.ptr, n)
    size = g.solver_routine("getrf_bufferSize")(solver, *matrix)
    space, info = cupy.empty(max(1, size), g.dtype), cupy.zeros(1, np.int32)
    g.solver_routine("getrf")(solver, *matrix, space.data.ptr, pivots.data.ptr, info.data.ptr)
    g.failing(SINGULAR, info)
    g.view("out")[...] = factors
    g.view("p")[...] = pivots - 1
    return factors, pivots


def _getrf(g: Given) -> None:
    _factors(g)


def _gesv(g: Given) -> None:
    g.begin("x")
    found, n, cupy = _factors(g), g.sizes["n"], g.libraries.cupy
    m = g.sizes.get("m", 1)
    if found is None or m <= 0:
        return
    if is_large(m):
        raise Refused(TOO_LARGE)
    factors, pivots = found
    solutions, info = cupy.empty((n, m), g.dtype, order="F"), cupy.zeros(1, np.int32)
    x = g.arrays["x"]
    x = x.as_column if len(x.shape) == 1 else x
    solutions[...] = x.view(cupy)
    g.solver_routine("getrs")(
        *(g.solver(), _OPERATIONS["N"], n, m, factors.data.ptr, n, pivots.data.ptr),
        *(solutions.data.ptr, n, info.data.ptr),
    )
    x.view(cupy)[...] = solutions


def _fft(g: Given) -> None:
    if g.sizes["n"] <= 0:
        return
    transforms = g.libraries.cupy.fft
    inverse = g.options["direction"] == "inverse"
    g.view("out")[...] = (transforms.ifft if inverse else transforms.fft)(g.view("x"))


_ROUTINES: Mapping[str, Callable[[Given], None]] = {
    "gemm": _gemm,
    "gemv": _gemv,
    "syrk": _syrk,
    "herk": _herk,
    "trsm": _trsm,
    "potrf": _potrf,
    "getrf": _getrf,
    "gesv": _gesv,
    "fft": _fft,
}
