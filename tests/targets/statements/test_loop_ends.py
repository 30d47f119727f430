"""Where loops end: a loop from 0 on makes no iterations, however negative its end is."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg

A = pg.GlobalArg("a", "float64", "n")
# Domains of j, what is printed of its loop, and for which values of i and m there are some.
LOOPS = [
    ("0<=j and 4*j<i-m", "j < (i + 3 - m) / 4"),
    ("2<=j and 4*j<i-m", "j < (i + 3 - m) / 4"),
    ("0<=j and 4*j<=i-m", "j <= pg_floor_div_i32(i - m, 4)"),
    ("-2<=j and 4*j<i-m", "j < pg_floor_div_i32(i + 3 - m, 4)"),
]


@pytest.mark.parametrize(("domain", "text"), LOOPS)
def test_ends_that_may_be_negative(domain: str, text: str) -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", f"{{ [j]: {domain} }}"],
        "s[i] = sum(j, a[i] + j)",
        [A, "..."],
        assumptions="m >= 0",
    )
    assert text in pg.generate_code(knl, "c").source
    a = np.arange(23.0)
    for m in (0, 1, 5, 40):
        first = {"0": 0, "2": 2, "-": -2}[domain[0]]
        ends = [(i - m) // 4 + 1 if "<=i-m" in domain else -((m - i) // 4) for i in range(23)]
        right = [sum(a[i] + j for j in range(first, end)) for i, end in enumerate(ends)]
        for target in ("c", "opencl"):
            _, (s,) = knl.executor(target)(a=a, m=m)
            np.testing.assert_array_equal(s, right)


def test_the_inner_part_of_a_reduction_ends_with_plain_division() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "s[i] = sum(j, a[i,j])")
    knl = pg.tag_inames(
        pg.split_iname(pg.add_dtypes(knl, {"a": "float32"}), "j", 64), "j_inner:l.0"
    )
    assert "j_outer < (m + 63 - j_inner) / 64;" in str(pg.generate_code(knl, "opencl"))
