"""`assume`: what is known of the parameters."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import AssumptionViolated, InvalidArgument, MalformedDomain, UnknownName
from tests.oracle.cases import agree, kernel, lowered, split
from tests.transforms.refusals import refused

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = n*a[i]")


def test_what_is_assumed_is_the_intersection() -> None:
    knl = pg.assume(pg.assume(LINE, "n >= 1"), "n mod 4 = 0")
    assert knl.assumptions.set.is_equal(isl.Set("[n] -> { : n >= 1 and n mod 4 = 0 }").params())
    assert knl.domains == LINE.domains
    assert pg.assume(knl, "n >= 1") == knl
    agree(knl, [{"n": n} for n in (4, 8, 16)], split("i", 4), split("i", 4, inner_tag="unr"))


def test_assuming_what_is_known_changes_nothing() -> None:
    knl = pg.assume(LINE, "n >= 1 and n mod 4 = 0")
    assert pg.assume(knl, "n >= 1") is knl


def test_assumptions_change_the_code() -> None:
    knl = split("i", 4, inner_tag="unr")(LINE)
    assert "if " in str(lowered(knl))
    assert "if " not in str(lowered(pg.assume(knl, "n mod 4 = 0 and n >= 0")))


def test_refused_assumptions() -> None:
    knl = pg.assume(LINE, "n >= 4")
    refused(InvalidArgument, "'n < 3' contradicts what is assumed already", pg.assume, knl, "n < 3")
    refused(MalformedDomain, "contradict each other", pg.assume, LINE, "n < 0 and n > 0")
    refused(MalformedDomain, "n >= >= 4", pg.assume, LINE, "n >= >= 4")
    refused(UnknownName, "mentions 'k'", pg.assume, LINE, "k > 3")
    refused(InvalidArgument, "assumptions=4, which is not a string", pg.assume, LINE, 4)


def test_calls_are_checked() -> None:
    knl = pg.assume(pg.add_dtypes(LINE, {"a": "float64"}), "n >= 4 and n mod 4 = 0")
    run = split("i", 4, inner_tag="unr")(knl).executor("c")
    for n in (4, 12):
        a = np.arange(n) - 1.5
        np.testing.assert_array_equal(run(a=a)[1][0], n * a)
    for n in (0, 3, 6):
        with pytest.raises(AssumptionViolated):
            run(a=np.zeros(n), n=n)


def test_it_is_printed_and_read() -> None:
    knl = pg.assume(LINE, "n >= 1")
    assert pg.parse_kernel(str(knl)) == knl != LINE
    assert pg.replay(LINE, knl.history) == knl
    assert "n > 0" in str(knl)
