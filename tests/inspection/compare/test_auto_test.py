"""`auto_test_vs_ref`: finds what differs, passes what does not, and counts as closed forms do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AutomaticTestFailure,
    InvalidArgument,
    NegativeSize,
    ObligationViolated,
    TypeNotFound,
    UnknownArgument,
    WrongShape,
)
from polygen.inspection.compare.random_arguments import as_wholes, laid_out, random_arguments
from polygen.inspection.compare.same_results import is_same, tolerance


def scaled(factor: int = 2) -> pg.Kernel:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<3 }", f"b[i,j] = {factor}*a[i,j]", name="scaled")
    return pg.add_dtypes(pg.prioritize_loops(knl, "i,j"), {"a": "float32"})


def gathered() -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = a[idx[i]]", [pg.GlobalArg("a", shape=("n",)), "..."]
    )
    return pg.add_dtypes(knl, {"a": "float64", "idx": "int32"})


def test_numbers_are_closed_forms() -> None:
    n = 37
    knl = pg.make_kernel("{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])", name="mine")
    knl = pg.prioritize_loops(pg.add_dtypes(knl, {"a": "float32", "b": "float32"}), "i,j")
    found = pg.auto_test_vs_ref(knl, pg.split_iname(knl, "i", 8, outer_tag="g.0"), "c", {"n": n})
    assert (found.bytes, found.operations) == (3 * 4 * n**2, 2 * n**3)
    assert found.seconds > 0
    assert found.gflops == pytest.approx(2 * n**3 / found.seconds / 1e9)
    assert found.gigabytes_per_second == pytest.approx(12 * n**2 / found.seconds / 1e9)
    head, kernel, reference = str(found).splitlines()
    assert head.split() == ["mine", "time", "GB/s", "GFLOP/s"]
    assert kernel.split()[0] == "kernel"
    assert kernel.split()[2:] == ["us", f"{found.gigabytes_per_second:.3g}", f"{found.gflops:.3g}"]
    assert float(reference.split()[1]) == pytest.approx(found.reference_seconds * 1e6, rel=1e-3)


def test_another_kernel_is_refused() -> None:
    expected = (
        r"kernel 'scaled' does not compute what kernel 'scaled' does: 'b' is not what it should "
        r"be: 15 of 15 elements differ; \[0, 0\] is \S+, and should be \S+; the relative error is "
        r"5\.0e-01"
    )
    with pytest.raises(AutomaticTestFailure, match=expected):
        pg.auto_test_vs_ref(scaled(), scaled(3), "c", {"n": 5})
    one = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = if(i == 7, 5.0, 2*a[i])")
    ref = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    ref, one = (pg.add_dtypes(knl, {"a": "float64"}) for knl in (ref, one))
    with pytest.raises(AutomaticTestFailure, match=r"1 of 4000 elements differ; \[7\] is 5\.0, "):
        pg.auto_test_vs_ref(ref, one, "c", {"n": 4000})


def test_what_is_not_written_differs() -> None:
    ref = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 2*a[i] + 1"), {"a": "int64"})
    other = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i]")
    other = pg.add_dtypes(other, {"a": "int64", "b": "int64"})
    given = {"n": 4, "b": np.zeros(4, np.int64)}
    with pytest.raises(AutomaticTestFailure, match="'a' is not what it should be: 4 of 4 elements"):
        pg.auto_test_vs_ref(ref, other, "c", given)
    with pytest.raises(AutomaticTestFailure, match="none of the arrays that 'polygen_kernel' wri"):
        pg.auto_test_vs_ref(ref, pg.add_dtypes(pg.rename_argument(other, "a", "c"), {}), "c",
                            {**given, "c": np.zeros(4, np.int64)})  # fmt: skip


def test_ones_own_comparison() -> None:
    asked: list[Any] = []

    def check(found: Any, expected: Any) -> tuple[bool, str]:
        asked.append(np.abs(found - 1.5 * expected).max())
        return len(asked) == 1, "not good enough"

    pg.auto_test_vs_ref(scaled(), scaled(3), "c", {"n": 5}, check)
    assert asked[0] < 1e-6
    with pytest.raises(AutomaticTestFailure, match="not good enough"):
        pg.auto_test_vs_ref(scaled(), scaled(3), "c", {"n": 5}, check_result=check)


@pytest.mark.parametrize("n", [0, 1, 13])
def test_layouts_and_parts(n: int) -> None:
    ref = scaled()
    parts = pg.tag_array_axes(pg.tag_inames(ref, {"j": "unr"}), "a,b", "N0,sep")
    columns = pg.tag_array_axes(ref, "a,b", "N0,N1")
    for knl in (parts, columns):
        found = pg.auto_test_vs_ref(ref, knl, "c", {"n": n})
        assert found.bytes == 2 * 4 * 3 * n
    args = laid_out(columns, random_arguments(ref, {"n": 5}))
    assert args["a"].strides == (4, 20)
    args = laid_out(parts, {"n": 2, "a": np.arange(6).reshape(2, 3), "b": np.zeros((2, 3))})
    assert args["a_s2"].tolist() == [2, 5]
    assert as_wholes(parts, args)["a"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_pocl_and_programs_with_one_entry_point() -> None:
    ref = pg.add_dtypes(
        pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = s*a[i] + n"), {"a": "complex64", "s": "float32"}
    )
    knl = pg.split_iname(ref, "i", 8, outer_tag="g.0", inner_tag="l.0")
    found = pg.auto_test_vs_ref(pg.merge([ref]), pg.merge([knl]), "opencl", {"n": 21})
    assert found.bytes == 2 * 8 * 21


def test_numbers_that_a_kernel_cannot_have() -> None:
    knl = gathered()
    pg.auto_test_vs_ref(knl, pg.split_iname(knl, "i", 4, outer_tag="g.0"), "c", {"n": 9})
    with pytest.raises(ObligationViolated, match=r"a\[idx\[i\]\] in 'insn' needs a\[1\]"):
        pg.auto_test_vs_ref(knl, knl, "c", {"n": 1, "idx": np.ones(1, np.int32)})
    found = pg.auto_test_vs_ref(knl, knl, "c", {"n": 1, "idx": np.zeros(1, np.int32)})
    assert found.bytes is None  # data decides
    assert str(found).splitlines()[1].split()[3:] == ["?", "0"]


_WRONG: list[tuple[dict[str, Any], type[pg.UserError], str]] = [
    ({}, InvalidArgument, "not say enough: kernel 'scaled' needs a value of 'n'"),
    ({"n": 2.5}, InvalidArgument, "needs a value of 'n'"),
    ({"n": -1}, NegativeSize, r"array 'a' of kernel 'scaled' would get the shape \(-1, 3\)"),
    ({"n": 3, "m": 2}, UnknownArgument, "parameters= has 'm', and kernel 'scaled' has no such"),
    ({"n": 3, "a": np.zeros(4, np.float32)}, WrongShape, r"\(4,\): 1 axes, where"),
]


@pytest.mark.parametrize(("given", "kind", "message"), _WRONG)
def test_wrong_parameters(given: dict[str, Any], kind: type[pg.UserError], message: str) -> None:
    with pytest.raises(kind, match=message):
        pg.auto_test_vs_ref(scaled(), scaled(), "c", given)


def test_kernels_that_cannot_be_compared() -> None:
    plain = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    with pytest.raises(TypeNotFound, match="'a' is not known"):
        pg.auto_test_vs_ref(plain, plain, "c", {"n": 3})
    turned = pg.permute_array_dims(scaled(), "a", (1, 0))
    with pytest.raises(InvalidArgument, match=r"'a' has the shape \(3, 4\) in .*, and \(4, 3\)"):
        pg.auto_test_vs_ref(scaled(), turned, "c", {"n": 4})
    more = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<3 }", "b[i,j] = 2*a[i,j] + c[i]")
    more = pg.add_dtypes(more, {"a": "float32", "c": "float32"})
    with pytest.raises(InvalidArgument, match="has the argument 'c', and the reference has not"):
        pg.auto_test_vs_ref(scaled(), more, "c", {"n": 4})


def test_sizes_follow_from_arrays() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[idx[i]]")
    knl = pg.add_dtypes(knl, {"a": "float32", "idx": "int32"})
    given = {"idx": np.array([2, 0], np.int32), "a": np.arange(3, dtype=np.float32)}
    pg.auto_test_vs_ref(knl, knl, "c", given)
    plain = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i]"), {"a": "int8"})
    arguments = [
        replace(arg, shape=None) if isinstance(arg, pg.GlobalArg) and arg.name == "a" else arg
        for arg in plain.arguments
    ]
    unknown = plain.copy(arguments=tuple(arguments))
    with pytest.raises(InvalidArgument, match="the shape of 'a' is not known, so no random"):
        pg.auto_test_vs_ref(unknown, unknown, "c", {"n": 3})
    with pytest.raises(InvalidArgument, match=r"not say enough: .* needs a value of 'a_len'"):
        pg.auto_test_vs_ref(knl, knl, "c", {"n": 4})


def test_random_numbers_have_the_types_of_arguments() -> None:
    types = {"a": "complex128", "b": "int8", "c": "bool", "s": "float32", "t": "uint16"}
    text = "out[i] = if(c[i], s*a[i], b[i]*t)"
    knl = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", text), types)
    given = random_arguments(knl, {"n": 1000})
    assert {name: given[name].dtype.name for name in types} == types
    assert set(given["b"]) == set(range(1, 10))  # they may be divisors
    assert given["a"].imag.std() > 0.1
    assert given["out"].shape == (1000,)


def test_what_is_the_same() -> None:
    nan, inf = float("nan"), float("inf")
    right = np.array([nan, inf, -inf, 1.0, 0.0])
    assert is_same(right.copy(), right) == (True, "")
    for position, wrong in (0, 1.0), (1, -inf), (2, nan), (3, 1 + 1e-8), (4, 1e-8):
        other = right.copy()
        other[position] = wrong
        good, why = is_same(other, right)
        assert not good
        assert why.startswith(f"1 of 5 elements differ; [{position}] is ")
    assert is_same(right + np.array([0, 0, 0, 1e-10, 1e-11]), right)[0]
    integers = np.array([2**60, 1])
    assert not is_same(integers + np.array([1, 0]), integers)[0]
    assert tolerance(np.dtype(np.float32)) == pytest.approx(7e-5, rel=0.05)
    assert tolerance(np.dtype(np.float64)) == pytest.approx(4e-10, rel=0.1)
    assert tolerance(np.dtype(np.complex64)) == tolerance(np.dtype(np.float32))


def test_arrays_with_other_axes() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<32 }", "b[i,j] = 2*a[i,j]", loop_priority="i,j")
    knl = pg.add_dtypes(knl, {"a": "float32"})
    for array, axis in ("a", 0), ("b", 1), ("b", 0):
        split = pg.split_array_dim(knl, (array, axis), 8)
        assert pg.auto_test_vs_ref(knl, split, "c").seconds > 0
        wrong = pg.make_kernel("{ [i,j]: 0<=i,j<32 }", "b[i,j] = 3*a[i,j]", loop_priority="i,j")
        wrong = pg.split_array_dim(pg.add_dtypes(wrong, {"a": "float32"}), (array, axis), 8)
        with pytest.raises(AutomaticTestFailure, match="'b' is not what it should be"):
            pg.auto_test_vs_ref(knl, wrong, "c")
    flat = pg.make_kernel("{ [i]: 0<=i<1000 }", "b[i] = 2*a[i]")
    with pytest.raises(InvalidArgument, match=r"'a' has the shape .1000,. in kernel"):
        pg.auto_test_vs_ref(knl, pg.add_dtypes(flat, {"a": "float32"}), "c")


def test_parameters_that_are_numbers_by_now() -> None:
    fixed = pg.fix_parameters(scaled(), n=20)
    assert pg.auto_test_vs_ref(fixed, fixed, "c", {"n": 20}).seconds > 0
    assert pg.auto_test_vs_ref(scaled(), fixed, "c", {"n": 20}).seconds > 0
    with pytest.raises(InvalidArgument, match="has 'n' = 21, and fix_parameters made it 20"):
        pg.auto_test_vs_ref(fixed, fixed, "c", {"n": 21})
    with pytest.raises(UnknownArgument, match="has 'm', and kernel 'scaled' has no such"):
        pg.auto_test_vs_ref(fixed, fixed, "c", {"n": 20, "m": 3})
