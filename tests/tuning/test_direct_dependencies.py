"""Dependencies on what an instruction meets, and on nothing else."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.tuning.direct_dependencies import with_direct_dependencies


def test_an_order_that_nothing_needs_is_gone() -> None:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i,j,k<n }",
        """
        b[i] = 2*a[i]        {id=first}
        c[j] = 3             {id=next, dep=first}
        d[k] = b[k] + c[k]   {id=last, dep=next}
        a[k] = 0             {id=zero, dep=last}
        """,
        [pg.GlobalArg("a", np.float64, shape="n"), "..."],
    )
    new = with_direct_dependencies(knl)
    found = {insn.id: set(insn.depends_on) for insn in new.instructions}
    assert found == {"first": set(), "next": set(), "last": {"first", "next"}, "zero": {"first"}}
    a = np.arange(5.0)
    _, (b, c, d) = new.executor("c")(a=a)
    np.testing.assert_array_equal(b, 2 * np.arange(5.0))
    np.testing.assert_array_equal(d, b + c)
    assert not a.any()
    assert with_direct_dependencies(new) is new
