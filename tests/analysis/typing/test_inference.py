"""Inference of the types that nobody declared."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.inference import infer_types, kinds, sizes
from polygen.errors import TypeMismatch, TypeNotFound, UnknownFunction, UserError, WrongArity
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel


@pytest.fixture(autouse=True, scope="module")
def _of_any_kernel() -> Iterator[None]:
    """What is tested here holds of kernels whose result is open, too."""
    with pg.without_proofs():
        yield


LOOP = "{ [i]: 0 <= i < n }"


def typed(kernel: Kernel, **dtypes: str) -> Kernel:
    """Return the kernel with some types declared."""

    def declare(variable: Any) -> Any:
        given = dtypes.get(variable.name)
        return variable if given is None else replace(variable, dtype=np.dtype(given))

    return kernel.copy(
        arguments=tuple(declare(a) for a in kernel.arguments),
        temporaries=tuple(declare(t) for t in kernel.temporaries),
    )


def inferred(text: str, domain: Any = LOOP, **dtypes: str) -> dict[str, str]:
    kernel = infer_types(typed(pg.make_kernel(domain, text), **dtypes))
    return {name: str(v.dtype) for name, v in kernel.variables.items()}


@pytest.mark.parametrize(
    ("text", "dtypes", "expected"),
    [
        ("b[i] = 2*a[i]", {"a": "float32"}, {"b": "float32"}),
        ("b[i] = a[i]*i", {"a": "float32"}, {"b": "float32"}),
        ("b[i] = a[i]*n", {"a": "int8"}, {"b": "int32"}),
        ("b[i] = 3*a[i]", {"a": "int8"}, {"b": "int8"}),
        ("b[i] = a[i] - i", {"a": "uint32"}, {"b": "int64"}),
        ("b[i] = a[i] - i", {"a": "uint64"}, {"b": "uint64"}),
        ("b[i] = a[i]*i", {"a": "float16"}, {"b": "float16"}),
        ("b[i] = a[i]/2", {"a": "int32"}, {"b": "float64"}),
        ("b[i] = a[i] + c[i]", {"a": "int32", "c": "float32"}, {"b": "float64"}),
        ("b[i] = a[i] > 0", {"a": "float32"}, {"b": "bool"}),
        ("b[i] = a[i]*alpha", {"a": "float32", "alpha": "float64"}, {"b": "float64"}),
        ("b[i] = 0", {}, {"b": "int64"}),
        ("b[i] = 9223372036854775808", {}, {"b": "uint64"}),
        ("<> t = 2147483647", {}, {"t": "int32"}),
        ("<> t = 2147483648", {}, {"t": "int64"}),
        ("<> t = -2147483649", {}, {"t": "int64"}),
        ("<> t = 1 {id=a}\nt = 4294967296 {dep=a}", {}, {"t": "int64"}),
        ("<> t = 18446744073709551615", {}, {"t": "uint64"}),
        ("b[i] = i", {}, {"b": "int64"}),
        ("b[i] = i/n", {}, {"b": "float64"}),
        ("b[i] = 1.5", {}, {"b": "float64"}),
        ("b[i] = sqrt(a[i])", {"a": "int32"}, {"b": "float64"}),
        ("<> t = i\nb[i] = t", {}, {"t": "int32", "b": "int32"}),
        ("<> t = 0\nb[i] = t*a[i]", {"a": "int8"}, {"t": "int32", "b": "int32"}),
        ("<> t = 0.5\nb[i] = t*a[i]", {"a": "float32"}, {"t": "float64", "b": "float64"}),
        ("<> t = a[i]\nb[i] = t*2", {"a": "float32"}, {"t": "float32", "b": "float32"}),
        ("<float32> t = 0.5\nb[i] = t*a[i]", {"a": "float32"}, {"t": "float32", "b": "float32"}),
        ("b[i] = 0 {id=x}\nb[i] = a[i] {dep=x}", {"a": "uint8"}, {"b": "uint8"}),
        ("b[i] = a[i] {id=x}\nb[i] = c[i] {dep=x}", {"a": "int16", "c": "uint8"}, {"b": "int16"}),
        ("b[i] = a[col[i]]", {"a": "float32", "col": "int64"}, {"b": "float32"}),
        ("b[i] = a[i + off]", {"a": "float32"}, {"b": "float32", "off": "int32"}),
    ],
)
def test_types_follow_from_what_is_written(
    text: str, dtypes: dict[str, str], expected: dict[str, str]
) -> None:
    found = inferred(text, **dtypes)
    assert {name: found[name] for name in expected} == expected
    assert found["n"] == "int32"


def test_reductions_widen() -> None:
    domain = "{ [i, j]: 0 <= i < n and 0 <= j < n }"
    found = inferred("b[i] = sum(j, a[i, j])\nc[i] = max(j, a[i, j])", domain, a="int8")
    assert (found["b"], found["c"]) == ("int64", "int8")


def test_an_accumulator_has_the_type_of_what_it_adds() -> None:
    text = """
    <> acc = 0  {id=zero}
    acc = acc + a[i]  {id=add, dep=zero, inames=i}
    b[0] = acc  {dep=add}
    """
    assert inferred(text, a="float32")["acc"] == "float32"


def test_variables_that_need_each_other() -> None:
    text = """
    <> p = 1  {id=p}
    <> q = p + a[i]  {id=q, dep=p}
    p = q*2  {id=pq, dep=q}
    b[i] = p  {dep=pq}
    """
    found = inferred(text, a="float32")
    assert (found["p"], found["q"], found["b"]) == ("float32", "float32", "float32")


def test_what_is_written_after_a_cycle() -> None:
    text = """
    <> p = q0  {id=p}
    <> q = if(a[i] > 0, p, 1)  {id=q, dep=p}
    p = q  {id=pq, dep=q}
    <> r = p  {id=r, dep=pq}
    b[i] = r*a[i]  {dep=r}
    """
    found = inferred(text, a="int8", q0="int16")
    assert [found[name] for name in "pqrb"] == ["int16"] * 4


def test_nothing_to_infer() -> None:
    kernel = typed(pg.make_kernel(LOOP, "b[i] = 2*a[i]"), a="float32", b="float64", n="int64")
    assert infer_types(kernel) is kernel


def test_the_result_needs_no_inference() -> None:
    kernel = infer_types(typed(pg.make_kernel(LOOP, "<> t = a[i]\nb[i] = t/2"), a="float64"))
    assert infer_types(kernel) is kernel


def test_expressions_keep_their_types() -> None:
    kernel = typed(pg.make_kernel(LOOP, "b[i] = a[i]*n*i"), a="int8")
    after = infer_types(kernel)
    (insn,) = after.assignments
    assert type_of(insn.values[0], kinds(kernel)) == np.dtype("int32")
    assert type_of(insn.values[0], kinds(after)) == np.dtype("int32")


def test_the_type_of_indices() -> None:
    kernel = typed(pg.make_kernel(LOOP, "<> t = i\nb[i] = t*a[i]"), a="float32")
    found = infer_types(kernel, np.int64).variables
    assert found["n"].dtype == np.dtype("int64")
    assert found["t"].dtype == np.dtype("int64")


def test_sizes() -> None:
    kernel = typed(
        pg.make_kernel(
            LOOP,
            "b[i] = a[i + off]*alpha + c[i]*count",
            [pg.GlobalArg("c", shape=(ex.Variable("m"),)), "..."],
            assumptions="k >= 1",
        ),
        alpha="float32",
        count="int32",
    )
    assert sizes(kernel) >= {"n", "off", "m"}
    assert not sizes(kernel) & {"alpha", "count", "a", "b", "i"}


@pytest.mark.parametrize(
    ("text", "dtypes", "name", "part"),
    [
        ("b[i] = 2*a[i]", {}, "a", "instruction 'insn' reads it, and none writes it"),
        ("b[i] = alpha*a[i]", {"a": "float32"}, "alpha", "the scalar argument 'alpha'"),
        ("<> t = t0 {id=x}\nb[i] = t {dep=x}", {}, "t0", "the scalar argument 't0'"),
        ("b[i] = b[i]", {}, "b", "has no type that does not depend on it"),
    ],
)
def test_types_that_nothing_tells(text: str, dtypes: dict[str, str], name: str, part: str) -> None:
    with pytest.raises(TypeNotFound) as error:
        inferred(text, **dtypes)
    assert f"'{name}'" in error.value.what
    assert part in error.value.what
    assert f"add_dtypes(kernel, {{'{name}': ...}})" in str(error.value)
    assert error.value.where is not None


def test_an_argument_that_nothing_uses() -> None:
    kernel = pg.make_kernel(
        LOOP, "b[i] = 1", [pg.GlobalArg("ghost", shape=(ex.Variable("n"),)), "..."]
    )
    with pytest.raises(TypeNotFound, match="no instruction uses it"):
        infer_types(kernel)


@pytest.mark.parametrize(
    ("text", "dtypes", "error", "part"),
    [
        ("b[i] = a[i]", {"a": "float32", "b": "int32"}, TypeMismatch, "'float32' to 'b'"),
        ("b[i] = a[i]", {"a": "complex64", "b": "float64"}, TypeMismatch, "'complex64' to 'b'"),
        ("b[i] = 1.5", {"b": "int32"}, TypeMismatch, "'float' to 'b'"),
        ("b[i] = a[i]", {"a": "int8", "b": "bool"}, TypeMismatch, "x != 0"),
        ("b[i] = a[i] & 1", {"a": "float32"}, TypeMismatch, "only there for integers"),
        ("b[i] = a[idx[i]]", {"a": "int8", "idx": "float32"}, TypeMismatch, "'a[idx[i]]'"),
        ("b[idx[i]] = a[i]", {"a": "int8", "idx": "bool"}, TypeMismatch, "'b[idx[i]]'"),
        ("b[i] = a[i]  {if=a[i] & 1 > 0}", {"a": "float32"}, TypeMismatch, "for integers"),
        ("b[i] = a[i]", {"a": "int8", "n": "float32"}, TypeMismatch, "bounds of loops"),
    ],
)
def test_mismatches(text: str, dtypes: dict[str, str], error: type[UserError], part: str) -> None:
    with pytest.raises(error) as raised:
        inferred(text, **dtypes)
    assert part in str(raised.value)
    assert raised.value.where is not None


def test_calls_are_checked_also_where_all_types_are_declared() -> None:
    for text, error in (("b[i] = sqr(a[i])", UnknownFunction), ("b[i] = exp(a[i], 1)", WrongArity)):
        with pytest.raises(error):
            inferred(text, a="float32", b="float32")


def chain(count: int) -> Kernel:
    """Return a kernel in which each temporary gets its type from the next line's."""
    lines = [f"<> t{k} = t{k + 1} + 1  {{id=s{k}, dep=s{k + 1}}}" for k in range(count)]
    text = "\n".join([*lines, f"<> t{count} = a[i]  {{id=s{count}}}", "b[i] = t0  {dep=s0}"])
    return typed(pg.make_kernel(LOOP, text), a="float32")


def test_a_thousand_instructions_take_linear_time() -> None:
    def seconds(kernel: Kernel) -> float:
        kernel.memo.clear()
        start = time.process_time()
        found = infer_types(kernel)
        assert found.variables["b"].dtype == np.dtype("float32")
        return time.process_time() - start

    few, many = chain(100), chain(1000)
    assert min(seconds(many) for _ in range(2)) < 30 * min(seconds(few) for _ in range(3))
