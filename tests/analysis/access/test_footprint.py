"""Guessed shapes and coverage, against enumeration in plain Python."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymbolic.mapper.evaluator import evaluate

import polygen as pg
from polygen.analysis.access.footprint import fully_written, guess_shape
from polygen.errors import ShapeNotFound
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression


@pytest.fixture(autouse=True, scope="module")
def _of_any_kernel() -> Iterator[None]:
    """What is tested here holds of kernels whose result is open, too."""
    with pg.without_proofs():
        yield


BOX = range(-1, 12)
SIZES = (1, 2, 5)
VAR_N = ex.Variable("n")


def touched(
    inames: tuple[str, ...], condition: str, subscripts: list[str], sizes: dict[str, int]
) -> list[int]:
    """Return the values of some subscripts, by Python's own understanding of the text."""
    holds = compile(condition, "condition", "eval")
    values = compile(f"[{', '.join(subscripts)}]", "subscripts", "eval")
    found: list[int] = []
    for point in product(BOX, repeat=len(inames)):
        names = {**sizes, **dict(zip(inames, point, strict=True))}
        if eval(holds, {}, names):  # noqa: S307
            found += eval(values, {}, names)  # noqa: S307
    return found


def shown(kernel: Kernel, name: str) -> str:
    return ", ".join(show_expression(e) for e in guess_shape(kernel, name).shape)


def without_shape(domain: str | list[str], text: str, **options: Any) -> Kernel:
    """Return a kernel in which the shapes are still to be guessed."""
    kernel = pg.make_kernel(domain, text, **options)
    return kernel.copy(
        arguments=tuple(
            pg.GlobalArg(a.name) if isinstance(a, pg.GlobalArg) else a for a in kernel.arguments
        )
    )


@pytest.mark.parametrize(
    ("condition", "subscripts", "expected"),
    [
        ("0 <= i < n", ["i"], "n"),
        ("0 <= i < n", ["i + 2"], "n + 2"),
        ("0 <= i < n", ["2*i"], "2*n - 1"),
        ("0 <= i < n", ["n - 1 - i"], "n"),
        ("0 <= i < n", ["i//2"], "(n + 1)//2"),
        ("0 <= i < 2*n", ["i"], "2*n"),
        ("0 <= i <= n", ["i", "i - 1"], "n + 1"),
        ("1 <= i < n - 1", ["i - 1", "i", "i + 1"], "n"),
        ("0 <= i < 7", ["i"], "7"),
        ("0 <= i < n", ["3"], "4"),
        ("0 <= i < n", ["n"], "n + 1"),
        ("0 <= i < n and 0 <= j < m", ["i", "j"], "max(m, n)"),
        ("0 <= i < n and 0 <= j < m", ["i + j"], "m + n - 1"),
        ("0 <= i < n and 0 <= j <= i", ["i - j"], "n"),
        ("0 <= i < n and i < m", ["i"], "min(m, n)"),
        ("0 <= 4*i + j < n and 0 <= j < 4", ["4*i + j"], "n"),
        ("0 <= i < n and 0 <= j < m", ["i", "j", "i + j"], "m + n - 1"),
    ],
)
def test_extents(condition: str, subscripts: list[str], expected: str) -> None:
    inames = tuple(i for i in "ij" if i in condition)
    kernel = without_shape(
        f"[n, m] -> {{ [{', '.join(inames)}]: {condition} }}",
        f"out[0] = {' + '.join(f'a[{s}]' for s in subscripts)}",
        assumptions="n >= 1 and m >= 1",
    )
    (extent,) = guess_shape(kernel, "a").shape
    assert show_expression(extent) == expected
    for n, m in product(SIZES, repeat=2):
        sizes = {"n": n, "m": m}
        if found := touched(inames, condition, subscripts, sizes):
            assert evaluate(extent, sizes) == max(found) + 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3)),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(
        [
            "0 <= i < n and 0 <= j < m",
            "0 <= i < n and 0 <= j <= i and j < m",
            "0 <= i < n and i <= j < m",
        ]
    ),
)
def test_extents_of_random_subscripts(terms: list[tuple[int, int, int]], condition: str) -> None:
    subscripts = [f"{a}*i + {b}*j + {c}" for a, b, c in terms]
    kernel = without_shape(
        f"[n, m] -> {{ [i, j]: {condition} }}",
        f"out[i, j] = {' + '.join(f'a[{s}]' for s in subscripts)}",
        assumptions="n >= 1 and m >= 1",
    )
    (extent,) = guess_shape(kernel, "a").shape
    for n, m in product(SIZES, repeat=2):
        sizes = {"n": n, "m": m}
        if found := touched(("i", "j"), condition, subscripts, sizes):
            assert evaluate(extent, sizes) == max(found) + 1


def test_several_axes_and_instructions() -> None:
    kernel = without_shape(
        "[n, m] -> { [i, j]: 0 <= i < n and 0 <= j < m }",
        """
        b[i, j] = a[j, i + 1]
        c[i] = a[i, 0]  {inames=i}
        """,
        assumptions="m >= n >= 0",
    )
    assert shown(kernel, "a") == "m, n + 1"
    assert shown(kernel, "b") == "n, m"
    assert shown(kernel, "c") == "n"


def test_what_is_touched_if_a_loop_is_empty() -> None:
    text = "b[0] = 0  {inames=}\nb[i + 1] = a[i]"
    assert shown(without_shape("[n] -> { [i]: 0 <= i < n }", text), "b") == "max(1, n + 1)"
    nonnegative = without_shape("[n] -> { [i]: 0 <= i < n }", text, assumptions="n >= 0")
    assert shown(nonnegative, "b") == "n + 1"


def test_loops_of_many_sizes() -> None:
    """Of twenty, isl's maximum does not end."""
    domains = [f"[n{k}] -> {{ [i{k}]: 0 <= i{k} < n{k} }}" for k in range(20)]
    text = "\n".join(f"b[i{k}] = {k}" for k in range(20))
    data = [pg.GlobalArg("b", "float64"), "..."]
    knl = pg.make_kernel(domains, text, data, seq_dependencies=True)
    assert shown(knl, "b") == f"max({', '.join(f'n{k}' for k in range(20))})"
    less = " and ".join(f"n{k} <= n19" for k in range(19))
    knl = pg.make_kernel(domains, text, data, assumptions=less, seq_dependencies=True)
    assert shown(knl, "b") == "n19"
    _, (b,) = knl.executor("c")(b=np.zeros(25), **{f"n{k}": 25 - k for k in range(19)}, n19=25)
    assert (b[:25] == 19).all()


def test_conditions_count() -> None:
    kernel = without_shape(
        "[n] -> { [i]: 0 <= i < n }",
        "b[i] = if(i + 1 < n, a[i + 1], a[i])",
    )
    assert shown(kernel, "a") == "n"
    kernel = without_shape("[n] -> { [i]: 0 <= i < n }", "b[i + 1] = 0  {if=i + 1 < n}")
    assert shown(kernel, "b") == "n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b[i] = 0  {if=i % 2 == 0}", "n"),
        ("b[i] = 0  {if=i % 3 == 1 and i < n - 1}", "n - 1"),
        ("b[i] = 0  {if=i % 3 == 1 or a[i] > 0}", "n"),
        ("b[2*i + 1] = 0  {if=(i + n) % 2 == 0}", "2*n"),
        ("b[i//2] = 0  {if=i % 2 == 1}", "n//2"),  # all of these are written
    ],
)
def test_conditions_on_remainders_do_not_count(text: str, expected: str) -> None:
    kernel = without_shape("[n] -> { [i]: 0 <= i < n }", text)
    assert shown(kernel, "b") == expected


def test_reductions_count() -> None:
    kernel = without_shape(
        "[n, m] -> { [i, j]: 0 <= i < n and 0 <= j < m }", "b[i] = sum(j, a[i, 2*j])"
    )
    assert shown(kernel, "a") == "n, 2*m - 1"


def test_scalars_that_are_only_subscripts() -> None:
    kernel = without_shape("[n] -> { [i]: 0 <= i < n }", "b[i] = a[i + off]")
    assert shown(kernel, "a") == "n + off"


def test_the_length_of_indirectly_accessed_arrays_is_a_new_parameter() -> None:
    kernel = without_shape(
        ["[n] -> { [i]: 0 <= i < n }", "[lo, hi] -> { [j]: lo <= j < hi }"],
        """
        <int32> lo = start[i]   {id=lo}
        <int32> hi = start[i+1]  {id=hi}
        y[i] = sum(j, val[j]*x[col[j]])  {dep=lo:hi}
        """,
    )
    kernel = kernel.copy(
        arguments=tuple(a for a in kernel.arguments if not a.name.endswith("_len"))
    )
    for name in ("val", "col", "x"):
        found = guess_shape(kernel, name)
        assert shown(kernel, name) == f"{name}_len"
        assert found.new_parameters == (f"{name}_len",)
    for name, extent in (("y", "n"), ("start", "n + 1")):
        assert shown(kernel, name) == extent
        assert guess_shape(kernel, name).new_parameters == ()


def test_data_that_a_parameter_bounds() -> None:
    kernel = without_shape(
        ["[n] -> { [i]: 0 <= i < n }", "[hi, m] -> { [j]: 0 <= j < hi and j < m }"],
        """
        <int32> hi = stop[i]   {id=hi}
        y[i] = sum(j, val[j])  {dep=hi}
        """,
    )
    assert shown(kernel, "val") == "m"


def test_new_parameters_have_new_names() -> None:
    kernel = without_shape("[a_len] -> { [i]: 0 <= i < a_len }", "b[i] = a[idx[i]]")
    kernel = kernel.copy(arguments=tuple(a for a in kernel.arguments if a.name != "a_len_0"))
    assert guess_shape(kernel, "a").new_parameters == ("a_len_0",)


def test_an_affine_access_tells_the_extent_of_an_indirect_one() -> None:
    kernel = without_shape("[n] -> { [i]: 0 <= i < n }", "b[i] = a[i] + a[idx[i]]")
    assert shown(kernel, "a") == "n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("b[i] = a[i, idx[i]]", "subscript 2"),
        ("b[i] = a[0] + a[idx[i]]", "subscript 1"),
        ("b[i] = a[i, i*i]", "subscript 2"),
    ],
)
def test_shapes_that_cannot_be_guessed(text: str, part: str) -> None:
    shape = (9, 9) if "a[i," in text else (9,)
    declared = [pg.GlobalArg("a", shape=shape), "..."]
    kernel = without_shape("[n] -> { [i]: 0 <= i < n }", text, kernel_data=declared)
    with pytest.raises(ShapeNotFound) as error:
        guess_shape(kernel, "a")
    assert part in error.value.what
    assert "GlobalArg('a', shape=...)" in str(error.value)
    assert text in str(error.value)


def test_subscripts_that_differ_in_number() -> None:
    kernel = without_shape("[n] -> { [i]: 0 <= i < n }", "b[i] = a[i]")
    (insn,) = kernel.instructions
    other = insn.copy(id="other", assignee=ex.Subscript(ex.Variable("b"), (ex.Variable("i"), 0)))
    kernel = kernel.copy(instructions=(insn, other))
    with pytest.raises(ShapeNotFound, match="1 subscripts in 'insn' and 2"):
        guess_shape(kernel, "b")


def test_an_array_that_nothing_mentions() -> None:
    kernel = without_shape("[n] -> { [i]: 0 <= i < n }", "b[i] = a[i]")
    with pytest.raises(ShapeNotFound, match="no instruction mentions 'ghost'"):
        guess_shape(kernel, "ghost")


def test_loops_that_never_run() -> None:
    kernel = without_shape("[n] -> { [i]: 0 <= i < n and i < 0 }", "b[2*i, i] = a[i + i//2]")
    assert shown(kernel, "b") == "0, 0"
    assert shown(kernel, "a") == "0"


COVERAGE = [
    ("{ [i]: 0 <= i < n }", "b[i] = 1", True),
    ("{ [i]: 0 <= i < n }", "b[n - 1 - i] = 1", True),
    ("{ [i]: 1 <= i < n }", "b[i] = 1", False),
    ("{ [i]: 0 <= i < n }", "b[2*i] = 1", False),
    ("{ [i]: 0 <= i < n }", "b[2*i] = 1\nb[2*i+1] = 2", True),
    ("{ [i]: 0 <= i < n }", "b[i] = 1  {if=i > 0}", False),
    ("{ [i]: 0 <= i < n }", "b[i] = 1  {if=i > 0}\nb[0] = 2 {inames=}", True),
    ("{ [i]: 0 <= i < n }", "b[i] = 1  {if=a[i] > 0}", False),
    ("{ [i]: 0 <= i < n }", "b[idx[i]] = 1\nb[i] = 2  {if=i > 0}", False),
    ("{ [i, j]: 0 <= i < n and 0 <= j < m }", "b[i, j] = 1", True),
    ("{ [i, j]: 0 <= i < n and 0 <= j <= i }", "b[i, j] = 1", False),
    ("{ [i, j]: 0 <= i < n and 0 <= j <= i }", "b[i, j] = 1\nb[j, i] = 2", True),
    ("{ [i, j]: 0 <= 16*i + j < n and 0 <= j < 16 }", "b[16*i + j] = 1", True),
    ("{ [i, j]: 0 <= 16*i + j < n and 0 <= j < 15 }", "b[16*i + j] = 1", False),
]


@pytest.mark.parametrize(("domain", "text", "expected"), COVERAGE)
def test_coverage(domain: str, text: str, expected: bool) -> None:
    assumptions = "n >= 1 and m >= 1" if "m" in domain else "n >= 1"
    kernel = pg.make_kernel(domain, text, assumptions=assumptions)
    assert fully_written(kernel, "b") is expected


def test_coverage_of_a_declared_shape() -> None:
    domain, text = "[n] -> { [i]: 0 <= i < n }", "b[i] = 1"
    larger = pg.make_kernel(domain, text, [pg.GlobalArg("b", shape=(VAR_N + 1,)), "..."])
    assert not fully_written(larger, "b")
    product_ = pg.make_kernel(domain, text, [pg.GlobalArg("b", shape=(VAR_N * VAR_N,)), "..."])
    assert not fully_written(product_, "b")


def test_coverage_by_data_dependent_loops_is_not_certain() -> None:
    kernel = pg.make_kernel(
        ["[n] -> { [i]: 0 <= i < n }", "[hi, n] -> { [j]: 0 <= j < hi and j < n }"],
        """
        <int32> hi = stop[i]  {id=hi}
        b[j] = 1  {dep=hi, inames=i:j}
        """,
    )
    assert shown(kernel, "b") == "n"
    assert not fully_written(kernel, "b")


def test_a_thousand_instructions_take_linear_time() -> None:
    def seconds(count: int) -> float:
        text = "\n".join(f"b{k}[i] = a{k}[i + {k}]" for k in range(count))
        kernel = without_shape("{ [i]: 0 <= i < n }", text)
        start = time.process_time()
        for k in range(count):
            guess_shape(kernel, f"a{k}")
            guess_shape(kernel, f"b{k}")
        return time.process_time() - start

    # Four times as many: 16 times the time, were it quadratic.
    few, many = (min(seconds(count) for _ in range(3)) for count in (250, 1000))
    assert many < 11 * few


def test_tables_of_constants_tell_extents() -> None:
    table = pg.TemporaryVariable(
        "table", "int32", initializer=np.array([2, 0, 5], np.int32), read_only=True
    )
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<3 and 0<=j<n }", "a[2*table[i] + j, i] = b[table[i]]", [table, "..."]
    )
    assert show_tuple(knl.array("a").shape or ()) == "(n + 10, 3)"
    assert knl.array("b").shape == (6,)
    through = pg.make_kernel("{ [i]: 0<=i<3 }", "b[i] = a[c[table[i]]]", [table, "..."])
    assert through.array("c").shape == (6,)
    assert through.array("a").shape == (ex.Variable("a_len"),)
