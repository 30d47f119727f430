"""`polygen.printf` in compiled functions prints what plain Python does, in order."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotCompiled
from polygen.python.print_calls import text_of_print
from polygen.python.print_formats import parts_of_format
from tests.jit.random_functions.check import in_python

Call = tuple[Callable[..., Any], Sequence[Any]]


def elements(x: Any, n: int) -> None:
    for i in range(n):
        pg.printf("%d: %5.2f|%-6d|%x %s%%\n", i, x[i], i * i, 255, 'a"b\\?')
        x[i] = x[i] * 2
        if x[i] > 4:
            pg.printf("large: %g\n", x[i])
        elif x[i] > 2:
            pg.printf("\té\n")


def table(a: Any, b: Any, n: int) -> None:
    for i in range(n):
        pg.printf("row %d:", i)
        for j in range(n):
            b[i, j] = a[j, i] + 1
            if b[i, j] > 3:
                pg.printf(" %g", b[i, j])
        pg.printf("\n")


def root(x: float) -> float:
    n = 0
    while x * x > 2.0001:
        x = (x + 2 / x) / 2
        n += 1
        pg.printf("%d: %.6f\n", n, x)
        if n > 3:
            break
    pg.printf("done\n")
    return x


def shown(x: Any, name: str, is_small: bool) -> None:
    pg.printf("%10s %d\n", name, is_small)
    for i in range(4):
        pg.printf("%c", 65 + i)
    pg.printf("\n%s: %d of %d\n", name, x.shape[0], len(x))


def helped(x: Any, n: int) -> None:
    total = 0.0
    for i in range(n):
        total += x[i]
        shown(x, "inner", i < 2)
    pg.printf("sum %g, largest %g\n", total, x.max())


def numbers(f: Any, d: Any, b: Any, s: Any, u: Any, q: Any, n: int) -> None:
    for i in range(n):
        pg.printf("%g %.17g %d %d %x\n", f[i], d[i], b[i], s[i], s[i])
        pg.printf("%u %d %lld %o %+d %e\n", u[i], u[i], q[i], s[i], -q[i], f[i] * d[i])
        pg.printf("%x %u %d %f\n", q[i], s[i], s[i] + q[i], s[i])


def waves(a: Any, b: Any, n: int) -> None:
    for t in range(n):
        b[1:-1] = a[:-2] + a[2:]
        pg.printf("%d %g\n", t, b.sum())
        a[1:-1] = b[1:-1] * 0.5


X = np.array([0.5, 1.5, 2.5, np.nan, -0.0, np.inf])
NUMBERS = (
    np.array([0.5, -np.inf, np.nan], np.float32),
    np.array([0.1, -1e300, -np.nan]),
    np.array([True, False, True]),
    np.array([-1, 300, 0], np.int16),
    np.array([2**64 - 1, 5, 2**63], np.uint64),
    np.array([-(2**62), 2**40, 0]),
    3,
)
CALLS: list[Call] = [
    (elements, (X, 6)),
    (elements, (X[:1], 1)),
    (elements, (X[:0], 0)),
    (table, (np.arange(9.0).reshape(3, 3), np.zeros((3, 3)), 3)),
    (root, (9.0,)),
    (helped, (np.arange(5.0), 5)),
    (numbers, NUMBERS),
    (waves, (np.arange(6.0), np.zeros(6), 3)),
]


def output(
    function: Callable[..., Any], arguments: Sequence[Any], capfd: pytest.CaptureFixture[str]
) -> str:
    """Return what a call prints, between two lines that Python prints."""
    sys.stdout.write("before\n")
    function(*copy.deepcopy(arguments))
    sys.stdout.write("after\n")
    sys.stdout.flush()
    return str(capfd.readouterr().out)


@pytest.mark.parametrize(("function", "arguments"), CALLS)
def test_in_c(
    function: Callable[..., Any], arguments: Sequence[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    compiled = pg.jit(function, target="c")
    wanted = output(function, arguments, capfd)
    assert output(compiled, arguments, capfd) == wanted
    assert output(compiled, arguments, capfd) == wanted  # the quick call, too
    if len(np.atleast_1d(arguments[0])):
        assert in_python(compiled) == []


@pytest.mark.parametrize("function", [table, numbers])
def test_in_opencl(function: Callable[..., Any], capfd: pytest.CaptureFixture[str]) -> None:
    arguments = next(given for known, given in CALLS if known is function)
    wanted = output(function, arguments, capfd)
    assert output(pg.jit(function, target="opencl"), arguments, capfd) == wanted


def test_in_cuda() -> None:
    for function in (elements, numbers):
        arguments = next(given for known, given in CALLS if known is function)
        (kernel,) = pg.jit(function, target="cuda").kernels(*copy.deepcopy(arguments))
        source = pg.generate_code(kernel).source
        assert source.count("printf(") == 3
        assert "stdio" not in source


def test_one_thread_prints_what_is_in_no_loop() -> None:
    """Beside loops on axes of a grid, one work item prints, not all of them."""

    def between(x: Any, y: Any, n: int) -> None:
        for i in range(n):
            y[i] = x[i] * 2
        pg.printf("%g\n", y[3])
        for i in range(n):
            x[i] = y[i] * 2

    (kernel,) = pg.jit(between, target="cuda").kernels(np.zeros(900), np.zeros(900), 900)
    lines = [line.strip() for line in pg.generate_code(kernel).source.splitlines()]
    at = next(number for number, line in enumerate(lines) if line.startswith("printf("))
    assert any("== 0 &&" in line for line in lines[at - 2 : at]) or "(1)" in lines[at - 12]
    assert sum(line.startswith("printf(") for line in lines) == 1


def unknown(x: Any, form: Any, n: int) -> None:
    for i in range(n):
        pg.printf(form[0], x[i])


def whole_array(x: Any, n: int) -> None:
    for _ in range(n):
        pg.printf("%g\n", x)


def too_few(x: Any, n: int) -> None:
    for i in range(n):
        pg.printf("%g %g\n", x[i])


def integer(x: Any, n: int) -> None:
    for i in range(n):
        pg.printf("%d\n", x[i])


def imaginary(z: Any, n: int) -> None:
    for i in range(n):
        pg.printf("%g\n", z[i] * 1j)


def text(x: Any, n: int) -> None:
    for i in range(n):
        pg.printf("%s\n", x[i])


def malformed(x: Any, n: int) -> None:
    for i in range(n):
        pg.printf("%y\n", x[i])


def asked(x: Any, n: int) -> None:
    for i in range(n):
        pg.printf("%g\n", x[i]) if x[i] > 0 else None


@pytest.mark.parametrize(
    ("function", "first", "said"),
    [
        (unknown, (1, 2), "the format of pg.printf is no text that is known"),
        (whole_array, None, "'%g' shows a real number, and something that is no number is given"),
        (too_few, None, "shows 2 values, and 1 is given"),
        (integer, None, "'%d' shows an integer, and a number of the type float64 is given"),
        (imaginary, None, "'%g' shows a real number, and a number of the type complex128"),
        (text, None, "'%s' shows a text, and something that is no text is given"),
        (malformed, None, "'%y' is no value of a format"),
        (asked, None, "pg.printf is called in an expression"),
    ],
)
def test_refused_with_a_line_and_a_remedy(
    function: Callable[..., Any], first: Any, said: str
) -> None:
    more = [] if first is None else [first]
    with pytest.raises(NotCompiled, match=said.replace("(", r"\(")) as caught:
        pg.jit(function, strict=True, target="c")(np.arange(3.0), *more, 3)
    assert caught.value.remedy
    assert "printf" in str(caught.value)


def test_what_is_refused_stays_python(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = (np.arange(3.0), 3)
    wanted = output(asked, arguments, capfd)
    assert output(pg.jit(asked, target="c"), arguments, capfd) == wanted


def test_the_text() -> None:
    """A text of C means what is to be printed, whatever characters are in it."""
    (part,) = parts_of_format("%5d")
    assert not isinstance(part, str)
    made = text_of_print(('"\\?\n%', (part, "k", np.dtype("int64")), "é"))
    assert made == r'printf("\042\134\077\n%%%5ld\303\251", (long)(k));'
