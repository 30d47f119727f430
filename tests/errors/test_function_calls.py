"""Calls of mathematical functions that must be rejected, and what is marked."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NameTaken, TypeMismatch, UserError, WrongArity


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("sign[i] = sign(a[i])", NameTaken, "'sign' is a function in one place and a variable"),
        ("clamp(x) := x\nout[i] = clamp(a[i])", NameTaken, "a function has this name"),
        ("step(x, y) := x\nout[i] = a[i]", NameTaken, "a function has this name"),
        ("out[i] = frexp(a[i])", WrongArity, "'frexp(a[i])' has several results"),
        ("out[i] = sincos(a[i])[2]", WrongArity, "result 2 of 'sincos', which has 2 results"),
        ("x[i], y[i], z[i] = modf(a[i])", WrongArity, "result 2 of 'modf'"),
        ("x[i], y[i] = lgamma_r(a[i], i)", WrongArity, "gives 2 arguments to 'lgamma_r'"),
        ("out[i] = clamp(a[i], 1)", WrongArity, "gives 2 arguments to 'clamp', which takes 3"),
        ("out[i] = clz(a[i])", TypeMismatch, "type 'float32'; it is only there for integers"),
        ("out[i] = add_sat(b[i], a[i])", TypeMismatch, "it is only there for integers"),
        ("out[i] = rotate(b[i], 1.5)", TypeMismatch, "an integer as the last argument"),
        ("out[i] = mul24(l[i], b[i])", TypeMismatch, "only there for integers of at most 32 bits"),
        ("out[i] = upsample(b[i], b[i])", TypeMismatch, "the second of them unsigned"),
        ("out[i] = upsample(l[i], uint64(b[i]))", TypeMismatch, "of one size, up to 32 bits"),
        ("out[i] = upsample(b[i], 3)", TypeMismatch, "types 'int32' and 'int'"),
        ("out[i] = hadd(l[i], uint64(b[i]))", TypeMismatch, "no integer type in common"),
        ("out[i] = nan(b[i])", TypeMismatch, "only there for uint16, uint32 and uint64"),
        ("out[i] = select(a[i], a[i], a[i])", TypeMismatch, "an integer or a truth value"),
        ("out[i] = erf(1j*a[i])", TypeMismatch, "it is only there for real numbers"),
        ("out[i] = isless(1j*a[i], 2)", TypeMismatch, "it is only there for real numbers"),
        ("out[i] = pown(a[i], l[i])", TypeMismatch, "a last argument of type 'int64', of which"),
    ],
)
def test_what_is_refused(text: str, kind: type[UserError], what: str) -> None:
    dtypes = {"a": np.float32, "b": np.int32, "l": np.int64}
    used = [n for n in dtypes if f"{n}[i]" in text]
    data = [pg.GlobalArg(name, dtypes[name], shape="n") for name in used]
    with pytest.raises(kind) as caught:
        pg.generate_code(pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."]))
    error = caught.value
    assert type(error) is kind
    assert what in error.what
    shown = str(error.excerpt).splitlines()
    start = text.partition("\n")[0].partition("(")[0].split(" = ")[0].partition("[")[0]
    assert any(start in line for line in shown), error.excerpt
    assert "test_function_calls.py" in str(error.where)
