"""`set_argument_order`, `rename_argument`, `remove_unused_arguments`: how a kernel is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    NameTaken,
    ReservedName,
    SizeMismatch,
    UnknownArgument,
    UserError,
)
from polygen.ir.claims import Injective
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

KNL = pg.add_dtypes(
    kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = n*a[i] + b[j]", assumptions="n >= 2"),
    {"a, b, out": "float64"},
)


def refused(kind: type[UserError], text: str, step: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        step(*args, **options)


def names(knl: Kernel) -> list[str]:
    return [argument.name for argument in knl.arguments]


def check(knl: Kernel, a: str = "a", b: str = "b") -> None:
    """Check results on both targets, where the arrays have these names."""
    for target in ("c", "opencl"):
        for n, m in ((2, 0), (3, 1), (4, 7)):
            first, second = np.arange(float(n)), 1 - np.arange(float(m))
            given = {a: first, b: second}
            _, (found,) = knl.executor(target)(**given, **({} if m else {"m": 0}))
            np.testing.assert_array_equal(found, n * first[:, None] + second)


# --- set_argument_order


def test_the_order_of_arguments() -> None:
    new = pg.set_argument_order(KNL, "m, out, b, a, n")
    assert names(new) == ["m", "out", "b", "a", "n"]
    assert {*new.arguments} == {*KNL.arguments}
    assert pg.set_argument_order(new, names(KNL)) == KNL
    assert pg.set_argument_order(KNL, names(KNL)) is KNL
    text = str(pg.generate_code(new, "c"))
    places = [text.index(part) for part in ("m,", "out,", "b,", "a,", "n)")]
    assert places == sorted(places)
    check(new)
    check(pg.split_iname(new, "i", 4, outer_tag="g.0", inner_tag="l.0"))


def test_the_order_of_results() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]\nc[i] = 3*a[i]")
    _, (first, second) = pg.set_argument_order(knl, "n, c, a, b")(a=np.ones(3))
    np.testing.assert_array_equal(first, np.full(3, 3.0))
    np.testing.assert_array_equal(second, np.full(3, 2.0))


def test_orders_that_are_refused() -> None:
    order = pg.set_argument_order
    refused(UnknownArgument, "no argument 'oot'.*did you mean 'out'", order, KNL, "oot, a")
    refused(
        InvalidArgument, "'m' is not named.*name each argument once", order, KNL, "n, out, b, a"
    )
    refused(InvalidArgument, "'a' is named 2 times", order, KNL, "n, out, b, a, m, a")
    refused(InvalidArgument, "arg_names=3", order, KNL, 3)


# --- rename_argument


def test_arrays_are_renamed() -> None:
    new = pg.rename_argument(pg.rename_argument(KNL, "a", "rows"), "out", "result")
    assert names(new) == [{"a": "rows", "out": "result"}.get(n, n) for n in names(KNL)]
    assert new.history[-1].name == "rename_argument"
    assert pg.rename_argument(pg.rename_argument(new, "rows", "a"), "result", "out") == KNL
    check(new, a="rows")


def test_sizes_are_renamed_wherever_they_are() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<=i }",
        """
        twice(x) := n*a[x, n-1]
        out[i] = twice(i)      {id=first}
        out[i] = out[i] + j     {id=second, dep=first, if=j < n-1, inames=i:j}
        """,
        [pg.GlobalArg("a", "float64", "n, n", strides="1, n", offset="2*n"), "..."],
        assumptions="n >= 1",
        loop_priority="i, j",
    )
    new = pg.rename_argument(pg.index_set_split(knl, "i < n-2"), "n", "size")
    assert "n" not in {*new.names, *(p for d in new.domains for p in d.parameters)}
    assert "n " not in str(new).partition("ARGUMENTS")[2].replace("size", "").replace("assign", "")
    assert pg.rename_argument(new, "size", "n") == pg.index_set_split(knl, "i < n-2")
    assert new.assumptions.parameters == ("size",)
    assert pg.parse_kernel(str(new)) == new


def test_claims_and_relations_are_renamed() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "out[idx[i]] = 1  {id=x}\nb[i] = i  {id=y, dep=x[{ [i] -> [i'] : i'=i and i < n }]}",
        pg.GlobalArg("out", shape="n"),
    )
    new = pg.rename_argument(pg.assume_injective(knl, "idx"), "idx", "place")
    assert new.claims == (Injective("place"),)
    (relation,) = pg.rename_argument(knl, "n", "size").instruction("y").happens_after
    assert "n" not in relation.parameters


def test_two_sizes_become_one() -> None:
    new = pg.rename_argument(KNL, "m", "n", existing_ok=True)
    assert names(new) == [name for name in names(KNL) if name != "m"]
    assert all(d.parameters == ("n",) for d in new.domains)
    a, b = np.arange(4.0), np.ones(4)
    for target in ("c", "opencl"):
        _, (found,) = new.executor(target)(a=a, b=b)
        np.testing.assert_array_equal(found, 4 * a[:, None] + b)
    refused(SizeMismatch, "'?b'?", new.executor("c"), a=a, b=np.ones(3))
    typed = pg.add_dtypes(KNL, {"m": "int64"})
    assert str(pg.rename_argument(typed, "m", "n", True).variable("n").dtype) == "int64"


def test_a_bound_with_both_sizes() -> None:
    knl = kernel("{ [i]: 0<=i<n and i<2*m and i<3 }", "out[i] = 1", pg.GlobalArg("out", shape="n"))
    new = pg.rename_argument(knl, "m", "n", existing_ok=True)
    expected = kernel("{ [i]: 0<=i<n and i<3 }", "out[i] = 1", pg.GlobalArg("out", shape="n"))
    assert new.domains[0].set.is_equal(expected.domains[0].set)


def test_names_that_are_refused() -> None:
    rename = pg.rename_argument
    refused(UnknownArgument, "no argument 'aa'.*did you mean 'a'", rename, KNL, "aa", "c")
    refused(NameTaken, "already has a 'b'", rename, KNL, "a", "b")
    refused(NameTaken, "already has a 'i'", rename, KNL, "n", "i", existing_ok=True)
    refused(NameTaken, "only scalar arguments can become one", rename, KNL, "a", "b", True)
    refused(NameTaken, "only scalar arguments can become one", rename, KNL, "n", "a", True)
    typed = pg.add_dtypes(KNL, {"m": "int64", "n": "int32"})
    refused(NameTaken, "'m' is of type int64, 'n' of type int32", rename, typed, "m", "n", True)
    refused(ReservedName, "'for' has a meaning", rename, KNL, "a", "for")
    refused(
        InvalidArgument, "old_name=3, which is not the name of an argument", rename, KNL, 3, "c"
    )
    temporary = kernel("{ [i]: 0<=i<n }", "<> t = a[i]\nout[i] = t")
    refused(UnknownArgument, "no argument 't'", rename, temporary, "t", "u")
    rules = kernel("{ [i]: 0<=i<n }", "f(x) := n*x\nout[i] = f(a[i])")
    refused(NameTaken, "'x' is an argument of the rule 'f'", rename, rules, "n", "x")
    assert rename(KNL, "a", "a") is KNL


def test_names_in_verbatim_c() -> None:
    code = '... code(i) "b[i] = a[i];" reads(a) writes(b) {id=c, inames=i}'
    data = [pg.GlobalArg(name, "float64", "n") for name in ("a", "b")]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", code, [*data, "..."])
    for old in ("a", "b"):
        refused(InvalidArgument, f"instruction 'c' uses '{old}'", pg.rename_argument, knl, old, "d")


# --- remove_unused_arguments

DATA = [pg.GlobalArg(name, "float64", shape) for name, shape in (("a", "n"), ("old", "k, n"))]


def test_what_is_unused_goes() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", *DATA, pg.ValueArg("alpha", "float64"))
    assert {"old", "k", "alpha"} < {*names(knl)}
    new = pg.remove_unused_arguments(knl)
    assert {*names(new)} == {"a", "n", "out"}
    assert pg.remove_unused_arguments(new) is new
    for target in ("c", "opencl"):
        _, (found,) = new.executor(target)(a=np.arange(5.0))
        np.testing.assert_array_equal(found, 2 * np.arange(5.0))


@pytest.mark.parametrize(
    ("domain", "text", "more", "kept"),
    [
        ("{ [i]: 0<=i<n and i<k }", "out[i] = a[i]", {}, {"k"}),
        ("{ [i]: 0<=i<n }", "out[i] = a[i]", {"assumptions": "k >= 1"}, {"k"}),
        ("{ [i]: 0<=i<n }", "out[i] = a[i]  {if=k > 3}", {}, {"k"}),
        ("{ [i]: 0<=i<n }", "f(x) := k*x\nout[i] = f(a[i])", {}, {"k"}),
        ("{ [i]: 0<=i<n and k>=1 }", "out[i] = a[i] + old[0,i]", {}, {"k", "old"}),
    ],
)
def test_what_is_mentioned_stays(
    domain: str, text: str, more: dict[str, str], kept: set[str]
) -> None:
    knl = kernel(domain, text, *DATA, pg.GlobalArg("out", "float64", "n"), **more)
    assert {*names(pg.remove_unused_arguments(knl))} == {"a", "n", "out", *kept}


def test_what_is_claimed_stays() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[i]", *DATA, pg.GlobalArg("idx", "int32", "k"))
    knl = pg.assume_injective(knl, "idx")
    assert {"idx", "k"} < {*names(pg.remove_unused_arguments(knl))}


def test_what_a_called_kernel_needs_stays() -> None:
    scale = pg.make_function("{ [k]: 0<=k<n }", "y[k] = alpha*x[k]", name="scale")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        f"[k]: out[i, k] = scale({', '.join(_given(scale))})",
        [*(pg.GlobalArg(v, "float64", "n, n") for v in ("a", "out")), pg.ValueArg("beta"), "..."],
        functions={"scale": scale},
    )
    assert {*names(pg.remove_unused_arguments(knl))} == {"a", "out", "n", "beta"}


def _given(function: Kernel) -> list[str]:
    values = {"n": "n", "alpha": "beta", "x": "[k]: a[i, k]"}
    return [values[name] for name in names(function) if name in values]
