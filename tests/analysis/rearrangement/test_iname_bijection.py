"""Maps of inames: whether they are one to one, and what each iname is in terms of others."""

from __future__ import annotations

import islpy as isl
import pytest

from polygen.analysis.rearrangement.iname_bijection import InameMap, in_new_terms
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.domain import flatten
from polygen.ir.show_expression import show_expression
from tests.analysis.flat import points, where

SQUARE = "[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }"


def _map(transform: str, domain: str = SQUARE) -> InameMap:
    return InameMap(flatten(isl.Set(domain)), isl.Map(transform), ["i", "j"], ["p", "q"])


def test_a_skew() -> None:
    found = _map("{ [i, j] -> [p, q] : p = i and q = i + j }")
    assert found.missing() is None
    assert found.several() is None
    assert found.merged() is None
    shown = {name: show_expression(value) for name, value in found.values.items() if value}
    assert shown == {"i": "p", "j": "q - p"}
    assert found.needs == {"p": {"i"}, "q": {"i", "j"}}
    image = found.image(flatten(isl.Set("{ [i, j] : 0 <= i < 3 and 0 <= j < 2 }")))
    assert points(image, ["p", "q"]) == where(lambda p, q: 0 <= p < 3 and 0 <= q - p < 2, 2)
    bounded = found.image(flatten(isl.Set("{ [i] : i = 1 }")))
    assert points(bounded, ["p", "q"]) == where(lambda p, _q: p == 1, 2)


def test_a_point_that_goes_nowhere() -> None:
    found = _map("{ [i, j] -> [p, q] : p = i and q = j and (i != 2 or j < 1) }").missing()
    assert found is not None
    assert (found["i"] == 2) and (1 <= found["j"] < found["n"])


def test_a_point_that_goes_to_two() -> None:
    clash = _map("{ [i, j] -> [p, q] : p = i and j <= q <= j + 1 }").several()
    assert clash is not None
    common, first, second = clash
    assert 0 <= common["i"] < common["n"]
    assert first.keys() == second.keys() == {"p", "q"}
    assert {first["q"], second["q"]} == {common["j"], common["j"] + 1}
    assert first["p"] == second["p"] == common["i"]


def test_two_points_that_go_to_one() -> None:
    found = _map("{ [i, j] -> [p, q] : p = i + j and q = 0 }")
    clash = found.merged()
    assert clash is not None
    common, first, second = clash
    assert first != second
    for point in (first, second):
        assert point.keys() == {"i", "j"}
        assert point["i"] + point["j"] == common["p"]
        assert all(0 <= value < common["n"] for value in point.values())
    # Where there is one value of i, there is none to be confused.
    small = _map("{ [i, j] -> [p, q] : p = i + j and q = 0 }", "{ [i, j] : i = 0 and 0 <= j < 3 }")
    assert small.merged() is None


def test_what_inames_depend_on() -> None:
    halves = _map("{ [i, j] -> [p, q] : p = floor(i/2) and q = i mod 2 }", "{ [i, j] : j = 0 }")
    assert halves.needs == {"p": {"i"}, "q": {"i"}}
    constant = _map("{ [i, j] -> [p, q] : p = 7 and q = j }")
    assert constant.needs == {"p": {"i"}, "q": {"j"}}  # the first, for want of any
    either = _map("{ [i, j] -> [p, q] : q = j and ((j >= 1 and p = i) or (j < 1 and p = i + 1)) }")
    assert either.needs == {"p": {"i", "j"}, "q": {"j"}}


def test_values_that_are_no_single_function() -> None:
    found = _map("{ [i, j] -> [p, q] : q = j and ((j >= 1 and p = i) or (j < 1 and p = i + 1)) }")
    assert found.values["i"] is None
    assert found.values["j"] == ex.Variable("q")
    with pytest.raises(InternalError, match="'i~' has several values"):
        _ = _map("{ [i, j] -> [p, q] : p = j and q = j }").values


def test_the_map_alone_says_more_than_the_domain() -> None:
    # In this domain i is always 0; the value must not lose sight of p.
    found = _map("{ [i, j] -> [p, q] : p = i and q = j }", "{ [i, j] : i = 0 and 0 <= j < 4 }")
    assert found.values == {"i": ex.Variable("p"), "j": ex.Variable("q")}
    # Here only the domain says which.
    found = _map("{ [i, j] -> [p, q] : p = i and q = 0 }", "{ [i, j] : j = 2*i and 0 <= i < 4 }")
    shown = {name: show_expression(value) for name, value in found.values.items() if value}
    assert shown == {"i": "p", "j": "2*p"}


def test_sets_in_new_terms() -> None:
    flat = isl.Set("[i, j, n] -> { : i < n and j = 2 }")
    values = {"i": ex.sum_of(ex.Variable("p"), 1), "j": ex.Variable("i"), "k": ex.Variable("q")}
    both = in_new_terms(flat, values, ["i", "j", "k"])
    assert points(both, ["p", "i", "n"]) == where(lambda p, i, n: p + 1 < n and i == 2, 3)
    one = in_new_terms(flat, values, ["i"])
    assert points(one, ["p", "j", "n"]) == where(lambda p, j, n: p + 1 < n and j == 2, 3)
