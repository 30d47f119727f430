"""`remove_unused_arguments`: arguments that nothing mentions go."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.transforms.kernels.outer_sums import names

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


def test_it_is_a_step() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", *DATA)
    new = pg.remove_unused_arguments(knl)
    assert new.copy(arguments=knl.arguments) == knl
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(knl, new.history) == new


def test_what_rules_and_separations_mention_stays() -> None:
    arrays = [*DATA, pg.GlobalArg("out", "float64", "n")]
    unused = kernel("{ [i]: 0<=i<n }", "f(x) := old[0, x]\nout[i] = a[i]", *arrays)
    assert {*names(pg.remove_unused_arguments(unused))} == {"a", "n", "out", "old", "k"}
    apart = pg.index_set_split(kernel("{ [i]: 0<=i<n }", "out[i] = a[i]", *arrays), "i < k")
    assert {*names(pg.remove_unused_arguments(apart))} == {"a", "n", "out", "k"}
