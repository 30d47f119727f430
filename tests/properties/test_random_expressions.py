"""Random expressions over all operators and types have NumPy's values and types."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.kinds import letter
from polygen.errors import LiteralOutOfRange, TypeMismatch
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression, Subscript, Variable
from polygen.targets.languages.registry import get_target
from polygen.targets.programs.printer import print_program
from tests.few import few
from tests.targets.execute import Array, evaluate, make_batch, run_c, run_opencl

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
COUNT = 64


def _arrays() -> dict[str, Array]:
    rng = np.random.default_rng(17)
    arrays: dict[str, Array] = {"bool": rng.random(COUNT) < 0.5}
    for name in INTEGERS:
        info = np.iinfo(name)
        small = rng.integers(max(-20, info.min), 20, COUNT)
        extreme = rng.choice(np.array([info.min, info.max, info.max // 2, 0, 1], name), COUNT)
        arrays[name] = np.where(rng.random(COUNT) < 0.7, small.astype(name), extreme)
        arrays[name][:8] = small[:8]
    for name in FLOATS:
        arrays[name] = rng.uniform(-4, 4, COUNT).astype(name)
    for name in COMPLEX:
        arrays[name] = (rng.uniform(-3, 3, COUNT) + 1j * rng.uniform(-3, 3, COUNT)).astype(name)
    return {f"a_{name}": array for name, array in arrays.items()}


ARRAYS = _arrays()
KINDS: dict[str, Any] = {name: array.dtype for name, array in ARRAYS.items()} | {"i": int, "n": int}


def call(name: str, *arguments: Any) -> Any:
    return ex.Call(Variable(name), arguments)


class Maker:
    """Makes expressions of integers, of truth values, of floating-point and of complex numbers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of(self, kind: str, depth: int) -> Any:
        """Return an expression of a kind: ``integer``, ``truth``, ``real`` or ``complex``."""
        rule: Callable[[int], Any] = getattr(self, kind)
        return rule(depth)

    def _leaf(self, names: tuple[str, ...], *numbers: Any) -> Any:
        if numbers and self._random.random() < 0.2:
            return self._random.choice(numbers)
        return Subscript(Variable(f"a_{self._random.choice(names)}"), Variable("i"))

    def integer(self, depth: int) -> Any:
        """Return an expression of integers: all that wraps around, too."""
        if depth == 0:
            return self._leaf((*INTEGERS, "bool"), 1, 2, 3, 100)
        x, y = self.integer(depth - 1), self.integer(depth - 1)
        name = self._random.choice((*INTEGERS, "bool"))
        rules: list[Callable[[], Any]] = [
            lambda: ex.Sum((x, y)),
            lambda: ex.Sum((x, ex.Product((-1, y)))),
            lambda: ex.Product((x, y)),
            lambda: ex.FloorDiv(x, y),
            lambda: ex.Remainder(x, y),
            lambda: ex.BitwiseAnd((x, y)),
            lambda: ex.BitwiseOr((x, y)),
            lambda: ex.BitwiseXor((x, y)),
            lambda: ex.BitwiseNot(x),
            lambda: ex.LeftShift(x, self._random.randint(0, 9)),
            lambda: ex.RightShift(x, self._random.randint(0, 9)),
            lambda: ex.Min((x, y)),
            lambda: ex.Max((x, y)),
            lambda: ex.If(self.truth(depth - 1), x, y),
            lambda: ex.Power(x, 2),
            lambda: call(name, x),
            lambda: call("abs", x),
            lambda: call("fmax", x, y),
            lambda: call("trunc", x),
        ]
        return self._random.choice(rules)()

    def truth(self, depth: int) -> Any:
        """Return an expression that is true or false."""
        if depth == 0:
            return self._leaf(("bool",))
        kind = self._random.choice(("integer", "integer", "real"))
        x, y = self.of(kind, depth - 1), self.of(kind, depth - 1)
        p, q = self.truth(depth - 1), self.truth(depth - 1)
        operator = self._random.choice(("<", "<=", ">", ">=", "==", "!="))
        rules: list[Callable[[], Any]] = [
            lambda: ex.Comparison(x, operator, y),
            lambda: ex.Comparison(self.complex(depth - 1), "!=", x),
            lambda: ex.LogicalAnd((p, q)),
            lambda: ex.LogicalOr((p, x)),
            lambda: ex.LogicalNot(p),
            lambda: call("isnan", self.real(depth - 1)),
            lambda: call("bool", x),
        ]
        return self._random.choice(rules)()

    def real(self, depth: int) -> Any:
        """Return an expression of floating-point numbers, where nothing becomes very large."""
        if depth == 0:
            return self._leaf(FLOATS, 0.5, 1.25, 2, 3)
        x, y = self.real(depth - 1), self.real(depth - 1)
        rules: list[Callable[[], Any]] = [
            lambda: ex.Sum((x, y)),
            lambda: ex.Sum((x, ex.Product((-1, y)))),
            lambda: ex.Product((x, y)),
            lambda: ex.Quotient(x, ex.Sum((1.5, call("fabs", y)))),
            lambda: ex.Min((x, y)),
            lambda: ex.Max((x, y)),
            lambda: ex.If(self.truth(depth - 1), x, y),
            lambda: ex.Power(x, 2),
            lambda: call("sin", x),
            lambda: call("atan2", x, y),
            lambda: call("sqrt", call("fabs", x)),
            lambda: call("exp", ex.Product((-1, call("fabs", x)))),
            lambda: call("copysign", x, y),
            lambda: call(self._random.choice(FLOATS), x),
            lambda: call("float32", self.integer(0)),
            lambda: call(self._random.choice(("real", "imag", "abs")), self.complex(depth - 1)),
            lambda: ex.Sum((x, self._leaf(("int8", "uint8")))),
        ]
        return self._random.choice(rules)()

    def complex(self, depth: int) -> Any:
        """Return an expression of complex numbers."""
        if depth == 0:
            return self._leaf(COMPLEX, 2j, 0.5j)
        x, y = self.complex(depth - 1), self.complex(depth - 1)
        r = self.real(depth - 1)
        rules: list[Callable[[], Any]] = [
            lambda: ex.Sum((x, y)),
            lambda: ex.Sum((x, ex.Product((-1, y)))),
            lambda: ex.Product((x, y)),
            lambda: ex.Product((r, x)),
            lambda: ex.Sum((x, r)),
            lambda: ex.Quotient(x, 2),
            lambda: ex.Power(x, 2),
            lambda: call("conj", x),
            lambda: ex.If(self.truth(depth - 1), x, y),
            lambda: call(self._random.choice(COMPLEX), x),
        ]
        return self._random.choice(rules)()


def _fits(case: Expression) -> bool:
    """Tell whether polygen and NumPy both give an expression one and the same type."""
    try:
        kind, value = type_of(case, KINDS), evaluate(case, ARRAYS)
        print_program(make_batch([case], ARRAYS).program, get_target("c"))
    except (TypeMismatch, LiteralOutOfRange, TypeError, OverflowError, ValueError):
        return False
    typed = isinstance(value, np.ndarray) and isinstance(kind, np.dtype) and kind == value.dtype
    return typed and not any(_is_undefined(part) for part in walk.subexpressions(case))


def _is_undefined(node: Expression) -> bool:
    """Tell whether a number that may be anything becomes an integer, or a negative truth value.

    NumPy has no negative of a truth value.
    """
    if isinstance(node, ex.Call | ex.If) and isinstance(type_of(node, KINDS), type):
        return True  # of numbers alone, NumPy's functions give one with a type
    if isinstance(node, ex.BitwiseNot):
        return type_of(node, KINDS) is int  # negative: unsigned integers cannot hold it
    if isinstance(node, ex.Product) and node.children[0] == -1:
        return letter(type_of(node.children[1], KINDS)) == "b"
    if not isinstance(node, ex.Call) or str(node.function) not in INTEGERS:
        return False
    return letter(type_of(node.parameters[0], KINDS)) == "f"


def make_cases(seed: int, count: int) -> list[Expression]:
    maker = Maker(seed)
    cases: list[Expression] = []
    while len(cases) < count:
        case = maker.of(("integer", "truth", "real", "complex")[len(cases) % 4], len(cases) % 3 + 1)
        if _fits(case):
            cases.append(case)
    return cases


def _precision(case: Expression, dtype: np.dtype[Any]) -> float:
    """Return how precise the least precise step is."""
    names = [name for name in (*FLOATS, *COMPLEX) if name in str(case)]
    if "bool" in str(case) or "int8" in str(case):
        names.append("float16")  # of which type functions of them are
    return max(float(np.finfo(name).eps) for name in (*names, dtype.name))


def check(cases: list[Expression], results: list[Array]) -> None:
    wrong: list[str] = []
    for case, found in zip(cases, results, strict=True):
        expected = np.broadcast_to(np.asarray(evaluate(case, ARRAYS)), found.shape)
        assert found.dtype == expected.dtype, str(case)
        if expected.dtype.kind in "fc":
            eps = 64 * _precision(case, expected.dtype)
            with np.errstate(all="ignore"):
                good = np.isclose(found, expected, rtol=eps, atol=eps, equal_nan=True)
        else:
            good = found == expected
        if not good.all():
            k = int(np.argmin(good))
            given = {name: array[k] for name, array in ARRAYS.items() if f"{name}[" in str(case)}
            wrong.append(f"{case}: {found[k]!r}, not {expected[k]!r}, for {given}")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:10])


@few(1, "count", [200, 600])
def test_in_c(tmp_path: Path, count: int) -> None:
    cases = make_cases(1, count)
    # Compilers warn of conditions that are always true; nobody would write them.
    check(cases, run_c(cases, ARRAYS, tmp_path, ("-Wno-error",)))


def test_in_opencl() -> None:
    cases = make_cases(2, 150)
    check(cases, run_opencl(cases, ARRAYS, may_warn=True))


def test_there_is_much_in_them() -> None:
    text = " ".join(map(str, make_cases(1, 600)))
    names = (*ARRAYS, "sin", "atan2", "conj", "copysign", "<<", "//", "**", "^", "~", "2j", "fmax")
    assert not [name for name in names if name not in text]
