"""Counters and subscripts have 64 bits where the sizes in the kernel need them, else 32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.index_type import index_type

F32 = np.float32


def source(domain: str, text: str, *data: Any, target: str = "c") -> str:
    knl = pg.make_kernel(
        domain, text, [*data, "..."], loop_priority="i, j" if "j" in domain else ()
    )
    return pg.generate_code(pg.add_dtypes(knl, {"a": F32}), target).source


@pytest.mark.parametrize(
    ("domain", "text", "shape", "wide"),
    [
        ("{ [i]: 0<=i<n }", "out[i] = a[i]", None, False),
        ("{ [i, j]: 0<=i<40000 and 0<=j<40000 }", "out[i, j] = a[i, j]", None, False),
        ("{ [i, j]: 0<=i<70000 and 0<=j<70000 }", "out[i, j] = a[i, j]", None, True),
        ("{ [i]: 0<=i<n }", "out[i] = a[70000*i, 5]", (2**17, 2**15), True),
        ("{ [i]: 0<=i<3000000000 }", "out[i] = a[i]", None, True),
        ("{ [i, j]: 0<=i<5 and 0<=j<2999999999 }", "out[i] = a[i]*sum(j, 0.5)", None, True),
        ("{ [i]: 0<=i<n }", "out[i] = a[i + 2147483648]", (2**33,), True),
    ],
)
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_width(domain: str, text: str, shape: Any, wide: bool, target: str) -> None:
    bound = "" if shape is None else " and 0<=i<2"
    knl = source(domain.replace(" }", f"{bound} }}"), text, pg.GlobalArg("a", F32, shape),
                 target=target) if shape else source(domain, text, target=target)  # fmt: skip
    counter = {"c": "int64_t", "opencl": "long"}[target]
    assert (f"for ({counter} i = 0" in knl) == wide
    assert ("for (int i = 0" in knl) != wide


@pytest.mark.parametrize(
    ("text", "dtype", "wide"),
    [
        ("out[i] = a[i]", "int64", True),
        ("out[i] = a[i]", "uint32", True),
        ("out[i] = a[i]", "uint64", True),
        ("out[i] = a[i]", "int32", False),
        ("out[i] = a[i]", "int16", False),
        ("out[m*i] = a[i]", "int64", True),
        ("out[i] = a[i] + m", "int64", False),  # `m` is no size
        ("out[i] = a[i] + m", "float64", False),
    ],
)
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_sizes_of_declared_types(text: str, dtype: str, wide: bool, target: str) -> None:
    """A size that is declared of a wide type may be large; a call knows whether it is."""
    size = "m" if "m" in text else "n"
    data = [pg.GlobalArg("a", F32, "n"), pg.GlobalArg("out", F32, 99), pg.ValueArg(size, dtype)]
    known = "n <= 9 and m >= 1" if "m*" in text else "n <= 99"
    with pg.without_proofs():
        knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."], assumptions=known)
    code = pg.generate_code(knl, target).source
    counter = {"c": "int64_t", "opencl": "long"}[target]
    assert (f"for ({counter} i = 0" in code) == wide
    assert ("for (int i = 0" in code) != wide
    given = {"a": np.arange(5, dtype=F32), size: np.dtype(dtype).type(2 if size == "m" else 5)}
    out = np.zeros(99, F32)
    knl.executor(target)(out=out, **given)
    expected = np.zeros(99, F32)
    expected[: 10 if "m*" in text else 5 : 2 if "m*" in text else 1] = np.arange(5)
    expected[:5] += 2 if "+ m" in text else 0
    np.testing.assert_array_equal(out, expected)


def test_what_is_computed_with_wide_counters() -> None:
    """Elements far apart: the array takes up addresses, of which a few are written."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<4 }", "a[1000000000*i] = i + 1", [pg.GlobalArg("a", np.int8, 2**32), "..."]
    )
    array = np.zeros(2**32, np.int8)
    knl.executor("c")(a=array)
    assert [int(array[1000000000 * i]) for i in range(5)] == [1, 2, 3, 4, 0]


@pytest.mark.parametrize(
    ("size", "places", "bits"),
    [
        (2**14, 2**29, 32),  # rows and columns are few, however many elements there are
        (2**29, 2**29, 64),  # tiles end past the largest size, and numbers of 32 bits
        (2**14, 2**31, 64),
    ],
)
def test_what_a_call_knows_of_sizes_and_of_places(size: int, places: int, bits: int) -> None:
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<m }", "out[i, j] = a[i, 4*j]")
    knl = pg.split_iname(pg.assume(knl, "m mod 2048 = 0"), "j", 2048)
    knl = pg.split_iname(pg.skew(pg.untag_inames(knl, "i"), "i", "j_inner", 4), "i", 4)
    assert index_type(knl, size, places).itemsize == bits // 8


def test_loops_that_data_bound_may_be_as_long_as_arrays_are() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: first<=k<last }"],
        "<> first = rows[i]\n<> last = rows[i+1]\nout[i] = sum(k, 8*k)",
        [pg.GlobalArg("rows", np.int32, "n + 1"), "..."],
    )
    assert index_type(knl, 2**10, 2**20).itemsize == 4
    assert index_type(knl, 2**10, 2**30).itemsize == 8
