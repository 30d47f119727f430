"""Storage of temporaries that a script settles later: shared, of fixed sizes, in two axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.compat as lp
from polygen.errors import IllegalStep, MalformedKernel

RNG = np.random.default_rng(6)
X = RNG.random((4, 16)).astype(np.float32)
LINES = """
    s[i] = x[g,i]  {id=ws}
    y[g,j] = 2*s[15-j]  {id=rs,dep=ws}
    t[k] = x[g,k] + 1  {id=wt,dep=rs}
    z[g,m] = 3*t[15-m]  {id=rt,dep=wt}
    """


def results(knl: Any, **arrays: Any) -> dict[str, Any]:
    _, found = lp.set_options(knl, return_dict=True)(**arrays)
    return dict(found)


# --- storage that temporaries have in common


def sharing(space: Any, **others: Any) -> Any:
    shared = {"shape": (16,), "address_space": space, "base_storage": "base", **others}
    temporaries = [lp.TemporaryVariable(name, np.float32, **shared) for name in "st"]
    return lp.make_kernel(
        "{ [g,i,j,k,m]: 0<=g<4 and 0<=i,j,k,m<16 }",
        LINES,
        [lp.GlobalArg("x", np.float32, shape=(4, 16)), *temporaries, "..."],
    )


def check(knl: Any) -> None:
    found = results(knl, x=X)
    np.testing.assert_allclose(found["y"], 2 * X[:, ::-1])
    np.testing.assert_allclose(found["z"], 3 * (X[:, ::-1] + 1), rtol=1e-6)


@pytest.mark.parametrize("space", [lp.AddressSpace.PRIVATE, lp.AddressSpace.LOCAL, None])
def test_temporaries_share_storage_once_it_is_allocated(space: Any) -> None:
    knl = lp.prioritize_loops(sharing(space), "g")
    check(knl)
    one = lp.allocate_temporaries_for_base_storage(knl)
    assert sorted(one.default_entrypoint.temporary_variables) == ["base"]
    check(one)
    if space is not lp.AddressSpace.PRIVATE:
        check(lp.tag_inames(one, "g:g.0, i:l.0, j:l.0, k:l.0, m:l.0"))
    apart = lp.allocate_temporaries_for_base_storage(knl, aliased=False)
    assert sorted(apart.default_entrypoint.temporary_variables) == ["s", "t"]


def test_of_one_address_space() -> None:
    knl = sharing(lp.AddressSpace.LOCAL)
    for other in (lp.AddressSpace.GLOBAL, lp.AddressSpace.PRIVATE):
        assert lp.allocate_temporaries_for_base_storage(knl, other) == knl
    one = lp.allocate_temporaries_for_base_storage(knl, lp.AddressSpace.LOCAL)
    assert len(one.default_entrypoint.temporaries) == 1


def test_temporaries_of_other_types_have_storage_of_their_own() -> None:
    kinds = {"s": np.float32, "t": np.float64}
    temporaries = [lp.TemporaryVariable(n, k, (16,), base_storage="b") for n, k in kinds.items()]
    knl = lp.make_kernel(
        "{ [g,i,j,k,m]: 0<=g<4 and 0<=i,j,k,m<16 }",
        LINES,
        [lp.GlobalArg("x", np.float32, shape=(4, 16)), *temporaries, "..."],
    )
    check(lp.allocate_temporaries_for_base_storage(knl))


def test_what_is_still_needed_is_not_overwritten() -> None:
    temporaries = [lp.TemporaryVariable(n, np.float32, (16,), base_storage="b") for n in "st"]
    knl = lp.make_kernel(
        "{ [i,j]: 0<=i,j<16 }",
        """
        s[i] = x[i]  {id=ws}
        t[i] = x[i] + 1  {id=wt,dep=ws}
        z[j] = s[15-j] + t[15-j]  {dep=ws:wt}
        """,
        [lp.GlobalArg("x", np.float32, shape=(16,)), *temporaries, "..."],
    )
    np.testing.assert_allclose(results(knl, x=X[0])["z"], (2 * X[0] + 1)[::-1], rtol=1e-6)
    with pytest.raises(IllegalStep, match=r"reads from 'b' what ws\[i=15\] wrote; after the step"):
        lp.allocate_temporaries_for_base_storage(knl)


def test_it_is_printed_and_read() -> None:
    knl = sharing(lp.AddressSpace.LOCAL).default_entrypoint
    assert "s: type: float32, shape: (16), aspace: local, base_storage: base" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl


# --- sizes that are fixed later

N_LINES = "t[i] = 2*x[i]  {id=t}\ny[j] = t[n-1-j]  {dep=t}"


def open_ended(space: Any, lines: str = N_LINES) -> Any:
    data: list[Any] = [lp.GlobalArg("x", np.float32, shape=("n",)), "..."]
    if space is not None:
        data.append(lp.TemporaryVariable("t", np.float32, shape=("n",), address_space=space))
    return lp.make_kernel("{ [i,j]: 0<=i,j<n }", lines, data)


@pytest.mark.parametrize("space", [lp.auto, lp.AddressSpace.PRIVATE, lp.AddressSpace.LOCAL])
def test_sizes_that_fix_parameters_settles(space: Any) -> None:
    knl = lp.fix_parameters(open_ended(space), n=16)
    np.testing.assert_allclose(results(knl, x=X[0])["y"], 2 * X[0, ::-1])


def test_the_runtime_allocates_what_is_global_in_the_end() -> None:
    for knl in (
        open_ended(None, "<> " + N_LINES),
        lp.set_temporary_address_space(open_ended(lp.AddressSpace.PRIVATE), "t", "global"),
    ):
        np.testing.assert_allclose(results(knl, x=X[0])["y"], 2 * X[0, ::-1])


def test_tags_first() -> None:
    knl = lp.tag_inames(open_ended(lp.AddressSpace.LOCAL), "i:l.0, j:l.0")
    knl = lp.fix_parameters(knl, n=16)
    np.testing.assert_allclose(results(knl, x=X[0])["y"], 2 * X[0, ::-1])


def test_sizes_that_nothing_settles() -> None:
    knl = open_ended(lp.AddressSpace.PRIVATE)
    assert "t: type: float32, shape: (n)" in str(knl)
    with pytest.raises(MalformedKernel, match=r"'t', \(n\), is not constant, and it is private"):
        knl(x=X[0])


# --- axes that are split


@pytest.mark.parametrize("names", ["a,b", "a, b", ["a", "b"]])
def test_axes_of_several_arrays(names: Any) -> None:
    arrays = lp.GlobalArg("a,b", np.float32, shape=(16,))
    knl = lp.make_kernel("{ [i]: 0<=i<16 }", "b[i] = 2*a[i]", [arrays])
    knl = lp.split_array_axis(knl, names, 0, 4)
    assert knl.default_entrypoint.all_inames() == {"i"}
    a = X[0].reshape(4, 4)
    np.testing.assert_allclose(results(knl, a=a)["b"], 2 * a)


def test_the_other_order_and_another_axis() -> None:
    arrays = lp.GlobalArg("a,b", np.float32, shape=(4, 16))
    domain = "{ [i,k]: 0<=i<16 and 0<=k<4 }"
    knl = lp.make_kernel(domain, "b[k,i] = 2*a[k,i]", [arrays], loop_priority="k,i")
    knl = lp.split_array_axis(knl, "a", 1, 8, order="F")
    assert knl.default_entrypoint.arg_dict["a"].shape == (4, 8, 2)
    a = X.reshape(4, 2, 8).transpose(0, 2, 1)
    np.testing.assert_allclose(results(knl, a=np.ascontiguousarray(a))["b"], 2 * X)


def test_there_is_no_such_array() -> None:
    knl = lp.make_kernel("{ [i]: 0<=i<16 }", "b[i] = 2*a[i]")
    with pytest.raises(pg.UserError, match="'c'"):
        lp.split_array_axis(knl, "a,c", 0, 4)
