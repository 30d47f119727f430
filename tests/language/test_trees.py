"""Instructions as trees of pymbolic's: they are what their text is."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from pymbolic import parse, var
from pymbolic.primitives import EmptyOK, If, Min, Sum

import polygen as pg
from polygen.ir import expression as ex

a, b, c, i, j, n, out, s, t = map(var, ("a", "b", "c", "i", "j", "n", "out", "s", "t"))
LINE = "{ [i]: 0<=i<n }"

# Trees, what they mean in the language, and in NumPy.
VALUES: list[tuple[Any, str, str]] = [
    (a[i] * 2, "a[i]*2", "a*2"),
    (2 * a[i] - 1, "2*a[i] - 1", "2*a - 1"),
    (a[i] - (b[i] - 3), "a[i] - (b[i] - 3)", "a - (b - 3)"),
    (-(a[i] ** 2) / 3, "(-a[i]**2)/3", "-a**2/3"),
    (a[i] // 2 + a[i] % 3, "a[i]//2 + a[i] % 3", "a//2 + a%3"),
    (var("sin")(a[i]) + var("fabs")(b[i]), "sin(a[i]) + fabs(b[i])", "np.sin(a) + abs(b)"),
    (var("max")(a[i], b[i], 0), "max(a[i], b[i], 0)", "np.maximum(np.maximum(a, b), 0)"),
    (Min((a[i], b[i])), "min(a[i], b[i])", "np.minimum(a, b)"),
    (If(a[i].lt(b[i]), a[i], -b[i]), "if(a[i] < b[i], a[i], -b[i])", "np.where(a < b, a, -b)"),
    (
        If(a[i].gt(0).and_(b[i].eq(0).not_()), 1.5, 2.5),
        "if(a[i] > 0 and not b[i] == 0, 1.5, 2.5)",
        "np.where((a > 0) & ~(b == 0), 1.5, 2.5)",
    ),
    (a[i] * np.float64(0.5) + i, "a[i]*float64(0.5) + i", "0.5*a + np.arange(len(a))"),
    (a[n - 1 - i], "a[(n - 1) - i]", "a[::-1]"),
    (parse("a[i]*a[i] + 3*b[i]"), "a[i]*a[i] + 3*b[i]", "a*a + 3*b"),
    (parse("a[i] if a[i] > b[i] else 7"), "if(a[i] > b[i], a[i], 7)", "np.where(a > b, a, 7)"),
    (parse("a[i] - sum(k, b[k])"), "a[i] - sum(k, b[k])", "a - b.sum()"),
    (var("max")(var("k"), b[var("k")]) + a[i], "max(k, b[k]) + a[i]", "b.max() + a"),
    (
        parse("sum((k, l), b[k]*a[l]) + a[i]"),
        "sum((k, l), b[k]*a[l]) + a[i]",
        "b.sum()*a.sum() + a",
    ),
]
DOMAINS = [LINE, "{ [k]: 0<=k<n }", "{ [l]: 0<=l<n }"]
DATA = [pg.GlobalArg("a", shape="n"), pg.GlobalArg("b", shape="n"), "..."]


def test_trees_are_what_their_text_is() -> None:
    for tree, text, _ in VALUES:
        assert pg.make_kernel(DOMAINS, [(out[i], tree)], DATA) == pg.make_kernel(
            DOMAINS, f"out[i] = {text}", DATA
        )
        ready = pg.Assignment("insn", out[i], tree, frozenset("i"))
        assert pg.make_kernel(DOMAINS, [ready], DATA) == pg.make_kernel(
            DOMAINS, f"out[i] = {text}", DATA
        )


ALL = pg.make_kernel(
    DOMAINS, [(var(f"out{k:02}")[i], tree) for k, (tree, _, _) in enumerate(VALUES)], DATA,
    silenced_warnings="AmbiguousNesting",
)  # fmt: skip


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("size", [1, 13])
def test_like_numpy(size: int, target: str) -> None:
    random = np.random.default_rng(size)
    given = {"a": random.integers(-9, 9, size) / 2, "b": random.integers(-9, 9, size) / 2}
    _, found = ALL.executor(target)(**given)
    for value, (_, text, expected) in zip(found, VALUES, strict=True):
        np.testing.assert_allclose(
            value, eval(expected, {"np": np, **given}), rtol=1e-13, err_msg=text  # noqa: S307
        )  # fmt: skip


def test_options_blocks_and_texts_beside() -> None:
    knl = pg.make_kernel(
        LINE,
        [
            (t, 2 * a[i], "id=first, tags=x"),
            "if a[i] > 0",
            (out[i], t + 1, "id=second, dep=first"),
            "end",
            "out[i] = 0  {id=third, if=a[i] <= 0}",
        ],
        [pg.TemporaryVariable("t"), "..."],
    )
    assert knl.instruction("second").depends_on == {"first"}
    assert knl.instruction("first").tags == {"x"}
    given = np.array([1.0, -2, 3])
    for target in "c", "opencl":
        np.testing.assert_array_equal(knl.executor(target)(a=given)[1][0], [3, 0, 7])


def test_rules_can_be_used() -> None:
    knl = pg.make_kernel(LINE, ["f(x) := x*a[x]", (out[i], var("f")(i) + 1)])
    _, (found,) = knl.executor("c")(a=np.arange(4.0))
    np.testing.assert_array_equal(found, np.arange(4.0) ** 2 + 1)


def test_scalars() -> None:
    """A subscript without indices is the variable itself, as in pymbolic."""
    for scalar in s, s[EmptyOK(())]:
        knl = pg.make_kernel(LINE, [(out[i], scalar * a[i])])
        assert knl == pg.make_kernel(LINE, "out[i] = s*a[i]")


def test_sums_stay_as_long_as_they_are() -> None:
    tree = sum((a[i + k] for k in range(1, 300)), a[i])
    text = " + ".join(["a[i]", *(f"a[i + {k}]" for k in range(1, 300))])
    flat = Sum(_terms(tree))
    assert pg.make_kernel(LINE, [(out[i], flat)]) == pg.make_kernel(LINE, f"out[i] = {text}")


def _terms(node: Any) -> tuple[Any, ...]:
    if not isinstance(node, Sum):
        return (node,)
    first, last = node.children
    return (*_terms(first), last)


def test_the_text_of_trees_that_kernels_have() -> None:
    """`str` is pymbolic's, and knows the nodes that are polygen's."""
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }",
        """
        f(x) := x*b[i]
        v[i], k[i] = argmax(j, a[i, j], j)
        w[i] = 1 + 2*sum(j, f$twice(a[i, j]))*frexp(b[i])[0]
        [j]: c[i, j] = later([j]: a[i, j], i + 1)
        """,
        [pg.GlobalArg("a, c", shape="n, n"), "..."],
        silenced_warnings="AmbiguousNesting",
    )
    first, second, call = cast("Any", knl.instructions)
    assert [str(value) for value in first.values] == [
        "argmax(j, a[i, j], j)[0]",
        "argmax(j, a[i, j], j)[1]",
    ]
    assert str(second.values[0]) == "1 + 2*sum(j, f$twice(a[i, j], i=i))*frexp(b[i])[0]"
    assert [str(argument) for argument in call.arguments] == ["[j]: a[i, j]", "i + 1"]
    position = ex.Sum((ex.Variable("i"), 1))
    assert str(ex.LinearSubscript(ex.Variable("a"), position)) == "a[[i + 1]]"
    both = ex.Reduction("max", ("i", "j"), ex.Variable("x"))
    assert str(-both) == "(-1)*max((i, j), x)"
