"""``a[[e]]``: the element at a position of the storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MalformedExpression, MalformedInstruction, OutOfBounds, UserError

F64 = np.float64
TARGETS = pytest.mark.parametrize("target", ["c", "opencl"])


def instructions(knl: Any) -> list[str]:
    lines = str(knl).split("INSTRUCTIONS:\n")[1].splitlines()[:-1]
    return [line.split("  {")[0] for line in lines]


@pytest.mark.parametrize(
    ("domain", "text", "shape", "expected"),
    [
        ("0<=i<n", "a[[i]]", None, "a[i]"),
        ("0<=i<n and 0<=j<m", "a[[i*m + j]]", "n, m", "a[i, j]"),
        ("0<=i<n and 0<=j<m", "a[[m*i + m + j]]", "n+1, m", "a[i + 1, j]"),
        ("0<=i<n and 0<=j<m", "a[[j]]", "n, m", "a[j//m, j % m]"),
        ("0<=i<n and 0<=j<=m", "a[[i*m + j]]", "n+1, m", "a[(i*m + j)//m, (i*m + j) % m]"),
        ("0<=i<n and 0<=j<m", "a[[(i*m + j)*l + 2]]", "n, m, l", None),
    ],
)
def test_a_subscript_for_each_axis(
    domain: str, text: str, shape: str | None, expected: str | None
) -> None:
    names = "[i, j]" if "j" in domain else "[i]"
    a = pg.GlobalArg("a", F64, shape)
    knl = pg.make_kernel(
        f"{{ {names}: {domain} }}", f"out{names} = {text}", [a, "..."], assumptions="l > 2"
    )
    assert pg.parse_kernel(str(knl)) == knl
    if expected is not None:
        assert instructions(knl)[0].endswith(f"= {expected}")


@TARGETS
@pytest.mark.parametrize("n", [0, 1, 7])
def test_values_in_c_and_fortran_order(target: str, n: int) -> None:
    knl = pg.make_kernel(
        "{ [e]: 0<=e<5*n }",
        "out[e] = a[[e]] - 10*b[[e]]",
        [
            pg.GlobalArg("a", F64, "n, 5"),
            pg.GlobalArg("b", F64, "5, n", strides="1, 5"),
            "...",
        ],
    )
    a = np.arange(5.0 * n).reshape(n, 5)
    b = np.asfortranarray(np.arange(5.0 * n).reshape(5, n))
    _, (out,) = knl.executor(target)(a=a, b=b, n=n)
    assert np.array_equal(out, a.ravel("C") - 10 * b.ravel("F"))


@TARGETS
def test_what_is_written_at_a_position(target: str) -> None:
    knl = pg.make_kernel(
        "{ [e]: 0<=e<24 }",
        "a[[23 - e]] = e*x[[(e*5) % 24]]",
        [pg.GlobalArg("a", F64, (2, 3, 4)), pg.GlobalArg("x", F64, (4, 6)), "..."],
    )
    knl = pg.split_iname(knl, "e", 8, outer_tag="g.0", inner_tag="l.0")
    x = np.random.default_rng(0).standard_normal((4, 6))
    _, (a,) = knl.executor(target)(x=x, a=np.zeros((2, 3, 4)))
    e = np.arange(24)
    assert np.array_equal(a.ravel()[::-1], e * x.ravel()[(e * 5) % 24])


@TARGETS
def test_positions_that_are_data(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[[p[i]]]",
        [pg.GlobalArg("a", F64, "k, m"), pg.GlobalArg("p", np.int32, "n"), "..."],
    )
    a, p = np.arange(35.0).reshape(5, 7), np.array([34, 0, 6, 7, 20], np.int32)
    _, (out,) = knl.executor(target)(a=a, p=p)
    assert np.array_equal(out, a.ravel()[p])


def test_in_rules_and_beside_reductions() -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<6 and 0<=j<4 }",
        "f(x) := a[[x]]\nout[i] = sum(j, f(4*i + j)) {id=s}",
        [pg.GlobalArg("a", F64, (6, 4)), "..."],
    )
    a = np.arange(24.0).reshape(6, 4)
    _, (out,) = knl.executor("c")(a=a)
    assert np.array_equal(out, a.sum(axis=1))
    assert "[[" not in str(knl)


def test_rules_know_nothing_of_their_arguments() -> None:
    """An argument may have the name of an iname, and another value."""
    rule = "f(j) := a[[m*2 + j]]\nout[i, j] = f(j + m)"
    data = [pg.GlobalArg("a", F64, "5, m"), "..."]
    domain = "{ [i, j]: 0<=i<n and 0<=j<m }"
    knl = pg.make_kernel(domain, rule, data, loop_priority="i, j")
    assert "f(j) := a[(m*2 + j)//m, (m*2 + j) % m]" in str(knl)
    a = np.arange(15.0).reshape(5, 3)
    _, (out,) = knl.executor("c")(a=a, n=2)
    assert np.array_equal(out, np.broadcast_to(a[3], (2, 3)))


@pytest.mark.parametrize(
    ("text", "data", "kind", "reason"),
    [
        ("out[i] = a[[i]]", pg.GlobalArg("a", F64, (2, 5)), OutOfBounds, "a["),
        ("out[i] = a[[i - 1]]", pg.GlobalArg("a", F64, (4, 5)), OutOfBounds, "a["),
        (
            "out[i] = a[[i]]",
            pg.GlobalArg("a", F64, (3, 5), strides="8, 1"),
            MalformedInstruction,
            "'a' has elements that are not one after the other",
        ),
        ("out[i] = a[[i, 2]]", pg.GlobalArg("a", F64, (3, 5)), MalformedExpression, ""),
        ("out[i] = a[[i]", pg.GlobalArg("a", F64, (3, 5)), MalformedExpression, ""),
        ("out[i] = a[[]]", pg.GlobalArg("a", F64, (3, 5)), MalformedExpression, ""),
    ],
)
def test_refusals(text: str, data: Any, kind: type[UserError], reason: str) -> None:
    with pytest.raises((kind, MalformedInstruction)) as error:
        pg.make_kernel("{ [i]: 0<=i<15 }", text, [data, "..."])
    assert reason in error.value.what
