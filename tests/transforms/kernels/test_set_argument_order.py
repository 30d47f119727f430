"""`set_argument_order`: the order of what a kernel takes and returns."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from polygen.errors import InvalidArgument, UnknownArgument
from tests.oracle.cases import kernel
from tests.transforms.kernels.outer_sums import KNL, check, names
from tests.transforms.refusals import refused


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


def test_only_the_order_changes() -> None:
    new = pg.set_argument_order(KNL, ("out", "b", "a", "m", "n"))
    assert new.copy(arguments=KNL.arguments) == KNL
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(KNL, new.history) == new


def test_kernels_that_call_it_follow() -> None:
    double = pg.make_function("{ [k]: 0<=k<m }", "y[k] = s*x[k]", ["m", "s", "x", "y"], name="by")
    turned = pg.set_argument_order(double, "y, x, s, m")
    results: list[np.ndarray[Any, Any]] = []
    for function, given in ((double, "n, i, [j]: a[i, j]"), (turned, "[j]: a[i, j], i, n")):
        data = [pg.GlobalArg(name, "float64", "n, n") for name in ("a", "out")]
        text = f"[j]: out[i, j] = by({given})"
        functions = {"by": function}
        knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."], functions=functions)
        results.append(knl.executor("c")(a=np.ones((3, 3)))[1][0])
    np.testing.assert_array_equal(results, [np.outer(range(3), np.ones(3))] * 2)
