"""`find_rules_matching`: the names of rules."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import InvalidArgument


def test_patterns() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        ["load(k) := a[k]", "loads(k) := load(k)", "Load() := 1", "out[i] = loads(i) + Load()"],
    )
    assert pg.find_rules_matching(knl, "load*") == ("load", "loads")
    assert pg.find_rules_matching(knl, "?oad") == ("load", "Load")
    assert pg.find_rules_matching(knl, "[lx]oad") == ("load",)
    assert pg.find_rules_matching(knl, "*") == ("load", "loads", "Load")
    assert pg.find_rules_matching(knl, "store") == ()
    assert pg.find_rules_matching(pg.expand_subst(knl), "*") == ()
    with pytest.raises(InvalidArgument):
        pg.find_rules_matching(knl, None)  # type: ignore[arg-type]
