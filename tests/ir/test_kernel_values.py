"""Kernels as texts for the cache: the same kernel comes back, with its choices."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel_values import kernel_of_value_text, kernel_value_text
from polygen.ir.value_texts import NotText

KERNELS = {
    "scheduled": lambda: pg.optimize(
        pg.make_kernel(
            "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }",
            "c[i, j] = sum(k, a[i, k]*b[k, j])",
            [pg.GlobalArg("a, b, c", np.float64), "..."],
            target="c",
        ),
        sizes={"n": 500, "m": 500, "l": 500},
    ),
    "while": lambda: pg.make_kernel(
        "{ [t, i]: 0<=t and 0<=i<n }",
        """
        for t while s > 1
            s = s/2 {id=half}
            for i
                a[i] = a[i] + s {atomic}
            end
        end
        """,
        [pg.GlobalArg("a", np.float32, "n"), pg.GlobalArg("s", np.float64, ()), "..."],
    ),
    "claims": lambda: pg.assume_independent(
        pg.make_kernel(
            "{ [i]: 0<=i<n }", "a[p[i]] = x[i] {id=w}", [pg.GlobalArg("p", np.int32, "n"), "..."]
        ),
        "w",
        "w",
    ),
    "table": lambda: pg.make_kernel(
        "{ [i, j]: 0<=i<4 and 0<=j<3 }",
        "out[i], at[i] = argmax(j, t[i]*x[j], j)",
        [
            pg.TemporaryVariable(
                "t", np.float64, shape=(4,), initializer=np.array([1.0, -0.0, np.inf, 4]),
                read_only=True, address_space=pg.AddressSpace.GLOBAL,
            ),
            "...",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_come_back(name: str) -> None:
    kernel = KERNELS[name]()
    found = kernel_of_value_text(kernel_value_text(kernel))
    assert found == kernel
    assert str(found) == str(kernel)
    assert found.choices == kernel.choices
    assert hash(found) == hash(kernel)
    assert found.history == ()


def test_other_values_are_none() -> None:
    with pytest.raises(NotText, match="no text of a kernel"):
        kernel_of_value_text('{"classes": ["constant"], "values": [[0, 1]]}')
