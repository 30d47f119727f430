"""`fix_parameters`, `assume`, `add_dtypes`, `set_options`: what is known, and how it is called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, MalformedDomain, UnknownArgument, UnknownName, UserError
from polygen.ir.kernel import Kernel
from polygen.ir.options import Options
from tests.oracle.cases import SIZES, agree, grid, kernel, lowered, split
from tests.oracle.compare import check, make_arguments, typed
from tests.oracle.trace import traced

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = n*a[i]")
TWO = kernel("{ [i,j]: 0<=i<n and 0<=j<m and j<=i }", "out[i,j] = a[i,j]*m  {if=i < n-1}")


def _refused(kind: type[UserError], text: str, step: Any, *args: Any, **kwargs: Any) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        step(*args, **kwargs)


# --- fix_parameters


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_scalars_that_are_no_sizes_keep_their_types(target: str) -> None:
    data = [pg.GlobalArg("a", "float32", "n"), pg.ValueArg("alpha", "float64"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = alpha*a[i] + beta", data)
    knl = pg.add_dtypes(knl, {"beta": "float32"})
    fixed = pg.fix_parameters(knl, alpha=0.1, beta=np.float32(3), n=np.int64(7))
    assert [a.name for a in fixed.arguments] == ["a", "out"]
    a = np.arange(7, dtype=np.float32)
    _, (out,) = fixed.executor(target)(a=a)
    _, (same,) = knl.executor(target)(a=a, alpha=0.1, beta=3.0)
    assert out.dtype == same.dtype == np.float64
    np.testing.assert_array_equal(out, same)
    np.testing.assert_array_equal(out, 0.1 * a.astype(np.float64) + 3)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (5, 7), (8, 4)])
def test_fixed_domains_are_the_old_ones_at_these_values(n: int, m: int) -> None:
    new = pg.fix_parameters(TWO, n=n, m=m)
    for before, after in zip(TWO.domains, new.domains, strict=True):
        at = isl.Set(f"[n, m] -> {{ [i, j] : n = {n} and m = {m} }}")
        expected = before.set.intersect(at)
        assert after.parameters == ()
        assert expected.project_out(isl.dim_type.param, 0, 2).is_equal(after.set)
    assert [a.name for a in new.arguments] == ["a", "out"]


@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (5, 7), (8, 4)])
def test_fixed_it_computes_the_same(n: int, m: int) -> None:
    arguments = make_arguments(TWO, {"n": n, "m": m})
    marked = traced(typed(TWO, arguments))
    one = pg.fix_parameters(marked.kernel, n=n)
    both = pg.fix_parameters(one, m=m)
    check(marked, arguments, [one, both, grid("i", 4)(both), split("j", 2, inner_tag="unr")(both)])


def test_refused_values() -> None:
    _refused(
        UnknownArgument, "no scalar argument 'nn'.*did you mean 'n'", pg.fix_parameters, LINE, nn=4
    )
    _refused(UnknownArgument, "no scalar argument 'a'", pg.fix_parameters, LINE, a=4)
    _refused(InvalidArgument, "n=4.5, which is not an integer", pg.fix_parameters, LINE, n=4.5)
    _refused(InvalidArgument, "n=True", pg.fix_parameters, LINE, n=True)
    knl = pg.assume(LINE, "n >= 1 and n mod 4 = 0")
    _refused(InvalidArgument, "n='4', which is not a number", pg.fix_parameters, LINE, n="4")
    _refused(InvalidArgument, "n = 6 contradicts what is assumed", pg.fix_parameters, knl, n=6)
    assert pg.fix_parameters(knl, n=8).assumptions.set.plain_is_universe()
    assert pg.fix_parameters(LINE) is LINE


# --- assume


def test_what_is_assumed_is_the_intersection() -> None:
    knl = pg.assume(pg.assume(LINE, "n >= 1"), "n mod 4 = 0")
    assert knl.assumptions.set.is_equal(isl.Set("[n] -> { : n >= 1 and n mod 4 = 0 }").params())
    assert knl.domains == LINE.domains
    assert pg.assume(knl, "n >= 1") == knl
    agree(knl, [{"n": n} for n in (4, 8, 16)], split("i", 4), split("i", 4, inner_tag="unr"))


def test_assuming_what_is_known_changes_nothing() -> None:
    knl = pg.assume(LINE, "n >= 1 and n mod 4 = 0")
    assert pg.assume(knl, "n >= 1") is knl


def test_assumptions_change_the_code() -> None:
    knl = split("i", 4, inner_tag="unr")(LINE)
    assert "if " in str(lowered(knl))
    assert "if " not in str(lowered(pg.assume(knl, "n mod 4 = 0 and n >= 0")))


def test_refused_assumptions() -> None:
    knl = pg.assume(LINE, "n >= 4")
    _refused(
        InvalidArgument, "'n < 3' contradicts what is assumed already", pg.assume, knl, "n < 3"
    )
    _refused(MalformedDomain, "contradict each other", pg.assume, LINE, "n < 0 and n > 0")
    _refused(MalformedDomain, "n >= >= 4", pg.assume, LINE, "n >= >= 4")
    _refused(UnknownName, "mentions 'k'", pg.assume, LINE, "k > 3")
    _refused(InvalidArgument, "assumptions=4, which is not a string", pg.assume, LINE, 4)


# --- add_dtypes


@pytest.mark.parametrize("spec", [np.float32, "float32", np.dtype("float32"), "f4"])
def test_types_under_all_their_names(spec: object) -> None:
    knl = pg.add_dtypes(LINE, {"a, out": spec})
    assert [v.dtype for v in (knl.variable("a"), knl.variable("out"))] == [np.dtype("float32")] * 2
    assert pg.add_dtypes(knl, {"a": spec}) is knl
    assert knl.domains == LINE.domains


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.float32, np.float64])
def test_computed_in_these_types(dtype: type) -> None:
    knl = kernel("{ [i]: 0<=i<n }", "<> t = a[i] + b[i]\nout[i] = t*2 + i")
    knl = pg.add_dtypes(knl, {"a": dtype, "b": np.int16})
    agree(pg.add_dtypes(knl, {"out": np.float64}), SIZES[:4], grid("i", 4))


def test_refused_types() -> None:
    _refused(
        UnknownArgument,
        "no argument or temporary 'aa'.*did you mean 'a'",
        pg.add_dtypes,
        LINE,
        {"aa": "float32"},
    )
    for wrong in "float31", object, None, "U5", "datetime64[s]", np.longdouble:
        _refused(InvalidArgument, "is no element type", pg.add_dtypes, LINE, {"a": wrong})
    _refused(InvalidArgument, "a dictionary from names to types", pg.add_dtypes, LINE, "float32")
    _refused(InvalidArgument, "a dictionary from names to types", pg.add_dtypes, LINE, {3: "f4"})
    knl = pg.add_dtypes(LINE, {"a": "float32"})
    _refused(
        InvalidArgument,
        "'a' has the type float32; asked for was float64",
        pg.add_dtypes,
        knl,
        {"a": "float64"},
    )


# --- set_options

VALUES: dict[str, Any] = {
    "write_code": True,
    "write_wrapper": True,
    "return_dict": True,
    "skip_arg_checks": True,
    "build_options": ["-O1", "-g"],
    "resident_groups": 2,
    "silenced_warnings": ["AmbiguousNesting"],
}
PLAIN: Kernel = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")


@pytest.mark.parametrize("name", VALUES)
def test_each_option(name: str) -> None:
    value = VALUES[name]
    knl = pg.set_options(PLAIN, **{name: value})
    assert pg.parse_kernel(str(knl)) == knl
    expected: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value}
    assert knl.options == replace(Options(), **expected)
    assert pg.set_options(knl, **{name: value}) is knl
    assert pg.set_options(knl, **{name: type(value)()}) == PLAIN
    assert knl.instructions == PLAIN.instructions


def test_refused_options() -> None:
    _refused(
        InvalidArgument,
        "no option 'return_dct'.*did you mean 'return_dict'",
        pg.set_options,
        PLAIN,
        return_dct=True,
    )
    _refused(
        InvalidArgument,
        "'return_dict' is True or False, not 1",
        pg.set_options,
        PLAIN,
        return_dict=1,
    )
    for wrong in -1, True, "2":
        _refused(
            InvalidArgument,
            "'resident_groups' is a number of work groups, or 0, not ",
            pg.set_options,
            PLAIN,
            resident_groups=wrong,
        )
    _refused(
        InvalidArgument,
        "'build_options' is a sequence of texts, not '-O1'",
        pg.set_options,
        PLAIN,
        build_options="-O1",
    )
    for wrong in "a\nb", "\0", "\ud800":
        _refused(
            InvalidArgument,
            "has a character that no command line can hold",
            pg.set_options,
            PLAIN,
            build_options=["-w", wrong],
        )
    _refused(
        InvalidArgument,
        "no warning 'AmbiguousNest'.*did you mean 'AmbiguousNesting'",
        pg.set_options,
        PLAIN,
        silenced_warnings=["AmbiguousNest"],
    )
