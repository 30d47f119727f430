"""Types that are said: what each instruction becomes, and that it computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.explicit_types import bounding, with_explicit_types, with_typed_sizes
from polygen.analysis.typing.inference import infer_types
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import kernel

I32, I64 = np.dtype("int32"), np.dtype("int64")


def _kernel(text: str, *data: pg.ValueArg | pg.GlobalArg | pg.TemporaryVariable) -> Kernel:
    """Return a typed kernel; x, y and z are bytes, w is as wide as indices, f has fractions."""
    types = {"x": "uint8", "y": "uint8", "w": "int32", "f": "float32", "u": "uint64", "z": "int8"}
    arrays = [pg.GlobalArg(name, dtype, ("n",)) for name, dtype in types.items() if name in text]
    with pg.without_proofs():
        return infer_types(kernel("{ [i]: 0<=i<n }", text, *arrays, *data))


def _value(knl: Kernel) -> str:
    (value,) = knl.assignment("s").values
    return show_expression(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("i + x[i]", "int32(i) + x[i]"),
        ("x[i] + n", "x[i] + int32(n)"),
        ("x[i]*i*2", "x[i]*int32(i)*2"),
        ("i + 2 + x[i]", "int32(i) + 2 + x[i]"),
        ("max(i, x[i])", "max(int32(i), x[i])"),
        ("(i + n)*x[i]", "(int32(i) + int32(n))*x[i]"),
        ("x[i] // (i + 1)", "x[i]//(int32(i) + 1)"),
        ("f[i]*(i + x[i])", "f[i]*(int32(i) + x[i])"),
        ("uint8(i) + i", "uint8(i) + int32(i)"),
        # Nothing gets its type from an iname.
        ("i + 2", "i + 2"),
        ("x[i] + 2", "x[i] + 2"),
        ("x[i] + y[i]", "x[i] + y[i]"),
        ("i + w[i]", "i + w[i]"),
        ("i + f[i]", "i + f[i]"),
        ("i + u[i]", "i + u[i]"),
        # Subscripts are indices; values in them are not.
        ("x[n - 1 - i]", "x[n - 1 - i]"),
        ("w[x[i] + i]", "w[x[i] + i]"),
        ("if(i > 0, x[i], 3)", "if(i > 0, x[i], 3)"),
    ],
)
def test_inames_beside_integers_say_their_type(value: str, said: str) -> None:
    knl = _kernel(f"out[i] = {value} {{id=s}}")
    explicit = with_explicit_types(knl, I32)
    assert _value(explicit) == said
    if said.replace(" ", "") == value.replace(" ", ""):
        assert explicit is knl


def test_indices_of_64_bits() -> None:
    knl = _kernel("out[i] = i + w[i] {id=s}")
    assert _value(with_explicit_types(knl, I64)) == "int64(i) + w[i]"
    assert (
        _value(with_explicit_types(_kernel("out[i] = i + x[i] {id=s}"), I64)) == "int64(i) + x[i]"
    )


def test_atomic_updates_add_what_has_the_type_of_the_element() -> None:
    knl = _kernel("z[0] = z[0] + i*y[i] {id=s, atomic, inames=i}")
    assert _value(with_explicit_types(knl, I32)) == "z[0] + int32(i)*y[i]"
    text = "z[0] = z[0] + i {id=s, inames=i}"
    assert _value(with_explicit_types(_kernel(text), I32)) == "z[0] + int32(i)"
    atomic = _kernel(text.replace("id=s", "id=s, atomic"))
    assert with_explicit_types(atomic, I32) == atomic


BOUNDED = "m = x[i] {id=m}\nout[i] = sum(j, w[j]) {id=s, dep=m, if=m + 200 < n}"


def _bounded(text: str, dtype: str = "uint8") -> Kernel:
    arrays = [pg.GlobalArg("x", dtype, ("n",)), pg.GlobalArg("w", "int32", (256,))]
    count = pg.TemporaryVariable("m", dtype, ())
    with pg.without_proofs():
        domains = ["{ [i]: 0<=i<n }", "[m] -> { [j]: 0<=j<m }"]
        return infer_types(kernel(domains, text, *arrays, count))


def test_what_bounds_loops_says_its_type_in_conditions() -> None:
    knl = _bounded(BOUNDED)
    assert bounding(knl) == {"m"}
    (condition,) = with_explicit_types(knl, I32).assignment("s").predicates
    assert show_expression(condition) == "uint8(m) + 200 < n"
    words = with_explicit_types(_bounded(BOUNDED, "int32"), I32)
    assert show_expression(words.assignment("s").predicates[0]) == "int32(m) + 200 < n"
    # Alone it is a number like any other.
    (condition,) = (
        with_explicit_types(_bounded(BOUNDED.replace("m + 200", "m")), I32)
        .assignment("s")
        .predicates
    )
    assert show_expression(condition) == "m < n"


def test_nothing_bounds_loops_but_temporaries() -> None:
    assert bounding(_kernel("out[i] = x[i] {id=s}")) == frozenset()
    scalar = pg.TemporaryVariable("m", "uint8", ())
    assert bounding(_kernel("m = x[0] {id=m}\nout[i] = m {id=s, dep=m}", scalar)) == frozenset()


def test_sizes_that_become_numbers() -> None:
    knl = _kernel("out[i] = x[i]*n + i*y[i] {id=s}\nmore[i] = i + y[i] {id=t}")
    typed = with_typed_sizes(knl, ["n"])
    assert _value(typed) == "x[i]*int32(n) + i*y[i]"
    assert typed.assignment("t") == knl.assignment("t")
    assert with_typed_sizes(knl, []) == knl


def test_sizes_beside_what_has_no_type_yet() -> None:
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<n }", "out[i] = a[i]*n {id=s}")
    assert with_typed_sizes(knl, ["n"]) == knl
