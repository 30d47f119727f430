"""Objects of Loo.py's in the trees and arguments of kernels: each run is compared with NumPy."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pymbolic import parse, var

import polygen as pg
import polygen.compat as lp
from polygen.compat import _table
from polygen.compat.diagnostic import MeansOtherwise
from polygen.compat.symbolic import LinearSubscript, SubArrayRef, TaggedVariable
from polygen.compat.target.pyopencl import PyOpenCLTarget
from polygen.errors import (
    InvalidArgument,
    MalformedDomain,
    UnknownFunction,
    WrongShape,
)

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.AmbiguousNesting")

i, j, a = var("i"), var("j"), var("a")
A = np.random.default_rng(7).uniform(1, 2, (6, 7)).astype(np.float32)
F32 = lp.GlobalArg("a", np.float32, shape=(6, 7))


@pytest.fixture
def unsaid(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every warning be a first one."""
    said: set[str] = set()
    monkeypatch.setattr(_table, "_SAID", said)
    yield


def run(value: Any, assignee: Any = None) -> Any:
    """Return what an instruction over ``0<=i<6`` makes of `A`."""
    target = var("out")[i] if assignee is None else assignee
    knl = lp.make_kernel("{ [i,j]: 0<=i<6 and 0<=j<7 }", [lp.Assignment(target, value)], [F32, ...])
    return knl(a=A)[1][0]


# --- trees


@pytest.mark.parametrize("kind", [np.float64, "float64", np.dtype("float64")])
def test_casts(kind: Any) -> None:
    out = run(lp.TypeCast(kind, a[i, j]) / 3, var("out")[i, j])
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, A.astype(np.float64) / 3)
    assert isinstance(lp.TypeCast(kind, a[i, j]), lp.TypeCast)
    assert not isinstance(a[i, j], lp.TypeCast)
    assert not isinstance(var("sin")(i), lp.TypeCast)


def test_casts_of_numbers_and_to_integers() -> None:
    out = run(lp.TypeCast(np.int32, 10 * a[i, j]) + lp.TypeCast("int32", 2.5), var("out")[i, j])
    np.testing.assert_array_equal(out, (10 * A).astype(np.int32) + 2)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("sum", np.sum),
        (lp.SumReductionOperation(), np.sum),
        (lp.MaxReductionOperation(), np.max),
        (lp.MinReductionOperation(), np.min),
        (lp.ProductReductionOperation(np.float32), np.prod),
    ],
)
@pytest.mark.parametrize("inames", ["j", ("j",), j, (j,)])
def test_reductions(operation: Any, inames: Any, expected: Callable[..., Any]) -> None:
    out = run(1 + lp.Reduction(operation, inames, a[i, j]))
    np.testing.assert_allclose(out, 1 + expected(A, axis=1), rtol=1e-5)


def test_reductions_over_several_inames_and_of_truth_values() -> None:
    whole = lp.Reduction("sum", "i, j", a[i, j], allow_simultaneous=True)
    np.testing.assert_allclose(run(whole, var("out")[0]), [A.sum()], rtol=1e-5)
    every = lp.Reduction(lp.AllReductionOperation(), "j", parse("a[i, j] > 1.1"))
    np.testing.assert_array_equal(run(every), np.greater(A, np.float32(1.1)).all(axis=1))
    assert isinstance(every, lp.Reduction)


def test_reductions_of_several_values() -> None:
    largest = lp.Reduction(lp.ArgMaxReductionOperation(), ("j",), (a[i, j], j))
    knl = lp.make_kernel(
        "{ [i,j]: 0<=i<6 and 0<=j<7 }",
        [lp.CallInstruction((var("most")[i], var("where")[i]), largest)],
        [F32, "..."],
    )
    most, where = knl(a=A)[1]
    np.testing.assert_array_equal(most, A.max(axis=1))
    np.testing.assert_array_equal(where, A.argmax(axis=1))


def test_tagged_rules_and_linear_subscripts() -> None:
    knl = lp.make_kernel(
        "{ [i]: 0<=i<6 }",
        [
            lp.SubstitutionRule("f", ("x",), var("a")[var("x"), 2] * 3),
            lp.Assignment("out[i]", TaggedVariable("f", "third")(i) + LinearSubscript(a, 7 * i)),
        ],
        [F32, ...],
    )
    assert "f$third(i)" in str(knl)
    np.testing.assert_allclose(knl(a=A)[1][0], 3 * A[:, 2] + A[:, 0], rtol=1e-6)


def test_parts_of_arrays() -> None:
    callee = lp.make_function(
        "{ [k]: 0<=k<7 }",
        "y[k] = 2*x[k]",
        [lp.GlobalArg("x, y", shape=(7,)), ...],
        name="doubled",
    )
    rows = [SubArrayRef((j,), var(name)[i, j]) for name in ("a", "out")]
    knl = lp.make_kernel(
        "{ [i,j]: 0<=i<6 and 0<=j<7 }",
        [lp.CallInstruction((rows[1],), var("doubled")(rows[0]))],
        [F32, lp.GlobalArg("out", np.float32, shape=(6, 7)), "..."],
    )
    np.testing.assert_array_equal(lp.merge([knl, callee])(a=A)[1][0], 2 * A)


def test_operations_in_their_module() -> None:
    module = importlib.import_module("polygen.compat.library.reduction")
    assert module.SumReductionOperation is lp.SumReductionOperation
    assert isinstance(module.SumReductionOperation(), lp.ReductionOperation)


def test_what_such_objects_refuse() -> None:
    with pytest.raises(InvalidArgument, match="given a tag and the subscript i: only rules have"):
        TaggedVariable("a", "hot")[i]
    with pytest.raises(UnknownFunction, match="there is no function 'frobnicate'"):
        run(lp.Reduction("frobnicate", "j", a[i, j]))
    with pytest.raises(InvalidArgument, match="frobnicate"):
        lp.TypeCast("frobnicate", i)


# --- instructions


@pytest.mark.parametrize("before", ["p,q", "p, q", frozenset(["p", "q"]), ("p", "q")])
def test_several_dependencies(before: Any) -> None:
    texts = ["<> x = a[i, 0] {id=p}", "<> y = a[i, 1] {id=q}"]
    last = lp.Assignment("out[i]", "x + y", id="r", depends_on=before)
    knl = lp.make_kernel("{ [i]: 0<=i<6 }", [*texts, last], [F32, ...])
    assert knl["loopy_kernel"].id_to_insn["r"].depends_on >= {"p", "q"}
    np.testing.assert_array_equal(knl(a=A)[1][0], A[:, 0] + A[:, 1])


# --- domains


@pytest.mark.parametrize(
    "domain",
    ["{ [k]: 0<=k<n}}", "{[k]: 0<=k<n} }", "[n] -> {[k]: 0<=k<n}}", ["{[k]: 0<=k<n}}"]],
)
def test_domains_with_a_brace_too_many(domain: Any) -> None:
    knl = lp.make_kernel(domain, "out[k] = 2*x[k]")
    np.testing.assert_array_equal(knl(x=np.arange(5.0))[1][0], 2 * np.arange(5.0))


@pytest.mark.parametrize("domain", ["{ [k]: 0<=k<n", "{{ [k]: 0<=k<n }", "{ [k]: 0<=k<n } x"])
def test_other_braces(domain: str) -> None:
    with pytest.raises(MalformedDomain):
        lp.make_kernel(domain, "out[k] = 2*x[k]")


# --- arguments


@pytest.mark.parametrize("shape", [None, lp.auto])
def test_arguments_that_nothing_mentions(shape: Any) -> None:
    data = [lp.GlobalArg("unused", np.float32, shape), lp.ValueArg("m", np.int32), F32, ...]
    knl = lp.make_kernel("{ [i]: 0<=i<6 }", "out[i] = a[i,1]", data)
    out = knl(a=A, unused=np.zeros(3, np.float32), m=4)[1][0]
    np.testing.assert_array_equal(out, A[:, 1])
    fewer = lp.remove_unused_arguments(knl)
    assert [arg.name for arg in fewer["loopy_kernel"].args] == ["a", "out"]
    np.testing.assert_array_equal(fewer(a=A)[1][0], A[:, 1])
    with pytest.raises(WrongShape, match="'unused'"):
        knl(a=A, unused=np.zeros((2, 2), np.float32), m=4)


@pytest.mark.parametrize("data", [[...], [..., ...], ["...", ...], [F32, ..., "..."], "...", ...])
def test_dots_for_the_others(data: Any) -> None:
    knl = lp.make_kernel("{ [i,j]: 0<=i<6 and 0<=j<7 }", "out[i,j] = 2*a[i,j]", data)
    np.testing.assert_array_equal(knl(a=A)[1][0], 2 * A)


@pytest.mark.parametrize("more", [{}, {"shape": lp.auto}, {"dtype": np.float64, "shape": (3, 4)}])
def test_tables_have_the_shape_of_their_initializers(more: dict[str, Any]) -> None:
    table = np.arange(12.0).reshape(3, 4)
    where = np.array([3, 0, 2], np.int32)
    space = lp.AddressSpace.GLOBAL
    t = lp.TemporaryVariable("t", initializer=table, address_space=space, read_only=True, **more)
    data = [t, lp.GlobalArg("idx", np.int32, (3,)), ...]
    knl = lp.make_kernel("{ [i]: 0<=i<3 }", "out[i] = 2*t[i, idx[i]]", data)
    np.testing.assert_array_equal(knl(idx=where)[1][0], 2 * table[np.arange(3), where])


@pytest.mark.parametrize(("order", "fortran"), [("C", False), ("F", True), (lp.auto, False)])
def test_orders(order: Any, fortran: bool) -> None:
    text = "out[i,j] = 2*a[i,j]"
    knl = lp.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", text, default_order=order)
    out = knl(a=np.array(A, order="F" if fortran else "C"))[1][0]
    assert out.flags.f_contiguous == fortran
    np.testing.assert_array_equal(out, 2 * A)


def test_arrays_that_begin_later() -> None:
    x = np.arange(13.0)
    for offset, more in (3, {}), ("o", {"o": 3}):
        data = [lp.GlobalArg("x", np.float64, offset=offset), *map(lp.ValueArg, more), ...]
        knl = lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*x[i]", data)
        np.testing.assert_array_equal(knl(x=x, **more)[1][0], 2 * x[3:])
    table = lp.ConstantArg("x", np.float64, offset=5)
    knl = lp.make_kernel("{ [i]: 0<=i<8 }", "out[i] = x[i]", [table, ...])
    np.testing.assert_array_equal(knl(x=x)[1][0], x[5:])
    written = lp.ArrayArg("x", np.float64, offset=2)
    knl = lp.make_kernel("{ [i]: 0<=i<n }", "x[i] = 2*x[i] + f(i) \n f(k) := x[k]", [written, ...])
    (out,) = knl(x=x.copy())[1]
    np.testing.assert_array_equal(out, [0, 1, *(3 * x[2:])])
    with pytest.raises(InvalidArgument, match="has offset=3, no shape, and not one axis"):
        lp.make_kernel(
            "{ [i]: 0<=i<6 }", "out[i] = x[i,0]", [lp.GlobalArg("x", np.float64, offset=3), ...]
        )


@pytest.mark.usefixtures("unsaid")
def test_arrays_with_a_shape_that_begin_later() -> None:
    with pytest.warns(MeansOtherwise, match="offset=.* begins at `a\\[0\\]`"):
        arg = lp.GlobalArg("x", np.float64, offset=3, shape=(6,))
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        assert lp.GlobalArg("x", np.float64, offset=3, shape=(6,)) == arg
        lp.GlobalArg("x", np.float64, offset=lp.auto, shape=(6,))
    knl = lp.make_kernel("{ [i]: 0<=i<6 }", "out[i] = 2*x[i]", [arg, ...])
    np.testing.assert_array_equal(knl(x=np.arange(6.0))[1][0], 2 * np.arange(6.0))


# --- options and targets


@pytest.mark.usefixtures("unsaid")
@pytest.mark.parametrize("option", ["trace_assignments", "trace_assignment_values"])
def test_traces(option: str) -> None:
    with pytest.warns(MeansOtherwise, match=f"{option}=.* nothing is printed") as caught:
        knl = lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", options=lp.Options({option: 1}))
        knl = lp.set_options(knl, **{option: True})
        knl = lp.set_options(knl, option)
    assert len(caught) == 1
    np.testing.assert_array_equal(knl(a=np.arange(4.0))[1][0], 2 * np.arange(4.0))


def test_each_argument_that_means_something_else_says_so() -> None:
    for name, note in _table.OTHERWISE.items():
        assert name not in _table.HERE
        assert name not in _table.NOT_HERE
        assert note


def test_targets_are_classes() -> None:
    t = lp.PyOpenCLTarget()
    assert isinstance(t, lp.PyOpenCLTarget)
    assert isinstance(t, (lp.OpenCLTarget, lp.CTarget))
    assert isinstance(t, lp.TargetBase)
    assert isinstance(t, lp.CFamilyTarget)
    assert not isinstance(t, lp.CTarget)
    assert not isinstance(lp.OpenCLTarget(), lp.PyOpenCLTarget)
    assert not isinstance(lp.CTarget(), lp.ExecutableCTarget)
    assert issubclass(lp.ExecutableCTarget, lp.CTarget)
    assert PyOpenCLTarget is lp.PyOpenCLTarget
    knl = lp.make_kernel("{ [i]: 0<=i<6 }", "out[i] = i", target=lp.ExecutableCTarget())
    assert isinstance(knl.target, lp.ExecutableCTarget)
    assert isinstance(knl["loopy_kernel"].target, lp.CTarget)
    in_cuda = knl.copy(target=lp.CudaTarget())
    assert in_cuda.target == lp.CudaTarget()
    assert isinstance(in_cuda.target, lp.CudaTarget)
    assert not isinstance(in_cuda.target, lp.OpenCLTarget)
    assert "__global__" in str(pg.generate_code(knl, lp.CudaTarget()))
    assert not isinstance(3, lp.TargetBase)


def test_targets_of_ones_own_have_the_options_of_their_base() -> None:
    class Mine(PyOpenCLTarget):
        pass

    assert isinstance(Mine(pyopencl_module_name="cl"), lp.OpenCLTarget)
    with pytest.raises(InvalidArgument, match="Mine has no option 'frobnicate'"):
        Mine(frobnicate=1)
