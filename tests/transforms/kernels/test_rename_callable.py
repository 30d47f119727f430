"""`rename_callable`: functions that are called by another name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NameTaken, ReservedName, UnknownFunction
from polygen.ir.kernel import Kernel
from tests.oracle.interpreter import interpret

DOUBLE = pg.ScalarCallable(
    {"times_two": "float64 -> float64"}, "static double times_two(double x) { return 2*x; }"
)


def inner(name: str = "inner", factor: str = "1") -> Kernel:
    return pg.make_function(
        "{ [k]: 0<=k<4 }",
        f"y[k] = {factor}*double_of(x[k])",
        name=name,
        functions={"double_of": DOUBLE},
    )


def middle() -> Kernel:
    return pg.make_function(
        "{ [k]: 0<=k<4 }",
        "[j]: t[j] = inner([j]: x[j])  {id=call}\ny[k] = t[k] + 1  {dep=call}",
        [
            pg.TemporaryVariable("t", "float64", 4),
            pg.GlobalArg("x", "float64", 4),
            pg.GlobalArg("y", "float64", 4),
            "...",
        ],
        name="middle",
        functions={"inner": inner()},
    )


def program() -> pg.TranslationUnit:
    """Return a kernel that calls two others, one of which calls the other."""
    data = [pg.GlobalArg(n, "float64", "n, 4") for n in ("a", "b", "c")]
    rows = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[j]: b[i,j] = inner([j]: a[i,j])\n[j]: c[i,j] = middle([j]: a[i,j])",
        [*data, "..."],
        name="rows",
    )
    return pg.merge([rows, middle()])


NAMES = {"inner": "quick", "middle": "around", "rows": "main_part", "double_of": "twice"}


@pytest.mark.parametrize("old", NAMES)
def test_everything_calls_it_by_the_new_name(old: str) -> None:
    unit, new = program(), NAMES[old]
    found = pg.rename_callable(unit, old, new)
    assert f"{old}(" not in str(found)
    assert old not in [knl.name for knl in found]
    assert str(found) == str(pg.parse_program(str(found)))
    assert found.entrypoints == {new if old == "rows" else "rows"}
    assert pg.rename_callable(found, new, old) == unit
    for knl in found:
        pg.check_well_formed(knl)
        assert pg.replay(knl.original or knl, knl.history) == knl


@pytest.mark.parametrize("old", NAMES)
def test_a_kernel_alone_has_what_it_calls(old: str) -> None:
    unit = program()
    alone = pg.rename_callable(unit["rows"], old, NAMES[old])
    assert alone == pg.rename_callable(unit, old, NAMES[old]).default_entrypoint
    assert str(alone.history[-1]).startswith(f"rename_callable(old_name='{old}'")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_results_stay(target: str) -> None:
    unit = program()
    for old, new in NAMES.items():
        unit = pg.rename_callable(unit, old, new)
    knl = unit.default_entrypoint
    code = str(pg.generate_code(knl, target))
    assert all(f" {name}(" in code for name in ("quick", "around", "times_two"))
    run = knl.executor(target)
    for n in (0, 1, 7, 8, 9):
        a = np.random.default_rng(n).random((n, 4))
        _, (b, c) = run(a=a)
        np.testing.assert_array_equal(b, 2 * a)
        np.testing.assert_array_equal(c, 2 * a + 1)


def test_it_means_the_same() -> None:
    def rows(function: str) -> Kernel:
        plain = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 3*x[k]", name=function)
        data = [pg.GlobalArg(n, "float64", "n, 4") for n in ("a", "b")]
        text = f"[j]: b[i,j] = {function}([j]: a[i,j])  {{id=call}}"
        return pg.make_kernel(
            "{ [i]: 0<=i<n }", text, [*data, "..."], functions={function: plain}, name="rows"
        )

    new = pg.rename_callable(rows("one"), "one", "other")
    assert new == rows("other")
    arguments: dict[str, Any] = {"n": 3, "a": np.arange(12.0).reshape(3, 4), "b": np.zeros((3, 4))}
    left = interpret(new, arguments).arrays
    np.testing.assert_array_equal(left["b"], 3 * arguments["a"])


def test_a_name_is_found() -> None:
    found = pg.rename_callable(program(), "inner")
    assert sorted(knl.name for knl in found) == ["inner_0", "middle", "rows"]
    same = program()["rows"]
    assert pg.rename_callable(same, "inner", "inner") is same


def test_what_is_not_known_yet() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "[i]: b[i] = later([i]: a[i])", [
        pg.GlobalArg("a", "float64", 4), pg.GlobalArg("b", "float64", 4)
    ])  # fmt: skip
    new = pg.rename_callable(knl, "later", "inner")
    _, (b,) = pg.merge([new, inner()])(a=np.arange(4.0))
    np.testing.assert_array_equal(b, 2 * np.arange(4.0))


def test_two_functions_become_one_if_they_are_the_same() -> None:
    def two(factor: str) -> pg.TranslationUnit:
        data = [pg.GlobalArg(n, "float64", 4) for n in ("a", "b", "c")]
        text = "[j]: b[j] = inner([j]: a[j])\n[j]: c[j] = other([j]: a[j])"
        return pg.merge(
            [pg.make_kernel("{ : }", text, data, name="top"), inner(), inner("other", factor)]
        )

    with pytest.raises(NameTaken, match="'inner', which another function has, too"):
        pg.rename_callable(two("1"), "other", "inner")
    one = pg.rename_callable(two("1"), "other", "inner", existing_ok=True)
    assert [knl.name for knl in one] == ["inner", "top"]
    _, (b, c) = one(a=np.arange(4.0))
    np.testing.assert_array_equal(b, c)
    with pytest.raises(NameTaken, match="'inner'"):
        pg.rename_callable(two("5"), "other", "inner", existing_ok=True)


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (("iner", "x"), UnknownFunction, "nothing here is called 'iner'.*did you mean 'inner'"),
        (("inner", "rows"), NameTaken, "'rows', which another function has"),
        (("inner", "i"), NameTaken, "'i' is a kernel, and something else in kernel 'rows'"),
        (("inner", "sin"), ReservedName, "'sin'"),
        (("inner", "a b"), ReservedName, "'a b' is no identifier"),
        (("inner", 3), InvalidArgument, "new_name=3, which is no text"),
        (("double_of", "k"), NameTaken, "'k' would be a function, and something else"),
        (("double_of", "i"), NameTaken, "'i' would be a function, .* in kernel 'rows'"),
        (("double_of", "clamp"), ReservedName, "'clamp'"),
        (("double_of", "argmax"), pg.errors.BuiltInFunction, "'argmax'"),
    ],
)
def test_refused(arguments: tuple[Any, ...], kind: type[Exception], text: str) -> None:
    for given in (program(), program()["rows"]):
        with pytest.raises(kind, match="(?s)" + text):
            pg.rename_callable(given, *arguments)


def test_refused_without_a_program() -> None:
    anything: Any = 3
    with pytest.raises(InvalidArgument, match="program=3"):
        pg.rename_callable(anything, "f", "g")
