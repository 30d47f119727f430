"""Counters and subscripts have 64 bits where the sizes in the kernel need them, else 32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg

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


def test_what_is_computed_with_wide_counters() -> None:
    """Elements far apart: the array takes up addresses, of which a few are written."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<4 }", "a[1000000000*i] = i + 1", [pg.GlobalArg("a", np.int8, 2**32), "..."]
    )
    array = np.zeros(2**32, np.int8)
    knl.executor("c")(a=array)
    assert [int(array[1000000000 * i]) for i in range(5)] == [1, 2, 3, 4, 0]
