"""Dependencies on what an instruction meets, and on nothing else."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.tuning.direct_dependencies import with_direct_dependencies


def test_an_order_that_nothing_needs_is_gone() -> None:
    knl = pg.make_kernel(
        "{ [i,j,k,l]: 0<=i,j,k,l<n }",
        """
        b[i] = 2*a[i]        {id=first}
        c[j] = 3             {id=next}
        d[k] = b[k] + c[k]   {id=last}
        a[l] = 0             {id=zero}
        """,
        [pg.GlobalArg("a", np.float64, shape="n"), "..."],
        seq_dependencies=True,
    )
    new = with_direct_dependencies(knl)
    found = {insn.id: set(insn.depends_on) for insn in new.instructions}
    assert found == {"first": set(), "next": set(), "last": {"first", "next"}, "zero": {"first"}}
    a = np.arange(5.0)
    _, found = new.executor("c")(a=a)
    arrays = dict(zip([x.name for x in new.arguments if x.name in new.writers], found, strict=True))
    b, c, d = arrays["b"], arrays["c"], arrays["d"]
    np.testing.assert_array_equal(b, 2 * np.arange(5.0))
    np.testing.assert_array_equal(d, b + c)
    assert not a.any()
    assert with_direct_dependencies(new) is new
