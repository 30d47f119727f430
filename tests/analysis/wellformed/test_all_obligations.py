"""All obligations of a kernel: of its accesses, and of its powers."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.wellformed import check
from polygen.analysis.wellformed.integer_powers import power_obligations
from polygen.errors import NegativePower


def test_accesses_come_first() -> None:
    data = [pg.GlobalArg("k", "int32", "n"), pg.GlobalArg("x", "int32", "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "o[i] = 2**k[i] + x[k[i]]", data)
    inside, positive = pg.obligations(knl)
    assert (inside.kind, positive.kind) == ("inside", "not negative")
    assert check.obligations(knl) == (inside,)
    assert power_obligations(knl) == (positive,)
    assert str(positive) == "insn: 2**k[i] is a power of integers: k[i] >= 0"
    assert positive.array == ""


def test_errors_are_those_of_both() -> None:
    with pg.without_proofs():
        knl = pg.make_kernel("{ [i]: 0<=i<n }", "o[i] = 2**(i - 1)")
    for look in (pg.obligations, pg.check_well_formed):
        with pytest.raises(NegativePower):
            look(knl)
    assert check.obligations(knl) == ()
