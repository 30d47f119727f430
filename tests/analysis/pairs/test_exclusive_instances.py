"""Instances of which data decides, but never that both are executed."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import CannotProve
from tests.proof.exchange import exchange

CONDITIONS = [
    ("c[i] > 0", "not c[i] > 0"),
    ("not c[i] > 0", "c[i] > 0"),
    ("c[i] > 0 and d[i] > 0", "not (c[i] > 0 and d[i] > 0)"),
    ("c[i] > 0 or d[i] > 0", "not (c[i] > 0 or d[i] > 0)"),
    ("c[i] > x", "not c[i] > x"),
    ("c[2*i + 1] > 0", "not c[i + i + 1] > 0"),
    ("c[index[i]] > 0 and i < 5", "not c[index[i]] > 0"),
    ("sqrt(c[i]) > 0", "not sqrt(c[i]) > 0"),
]
BOTH = [
    ("c[i] > 0", "not d[i] > 0"),
    ("c[i] > 0", "not c[i + 1] > 0"),
    ("c[i] > 0", "not c[i] > 1"),
    ("c[i] > 0", "not c[i] >= 0"),
    ("c[i] > 0", "c[i] <= 1"),
    ("c[i] > 0", "not (c[i] > 0 and d[i] > 0)"),
    ("c[i] > 0 or d[i] > 0", "not c[i] > 0"),
    ("c[index[i]] > 0", "not c[index[i + 1]] > 0"),
    ("c[i] > x", "not c[i] > y"),
    ("sqrt(c[i]) > 0", "not fabs(c[i]) > 0"),
    ("c[i] > 0", "not c[i] < 0"),
    ("c[i]*x > 0", "not c[i]*y > 0"),
    ("b[i] > 0", "not b[i] > 0"),  # which is written
]
DATA = [
    *(pg.GlobalArg(name, "float64", ("2*n + 2",)) for name in "bcd"),
    pg.GlobalArg("index", "int32", ("2*n + 2",)),
    pg.ValueArg("x", "float64"),
    pg.ValueArg("y", "float64"),
    "...",
]


def _ordered(first: str, second: str) -> list[str]:
    """Return what has to hold of two assignments in no order, one under each condition."""
    lines = f"b[i] = 1 {{dep=*, if={first}}}\nb[i] = 2 {{dep=*, if={second}}}"
    knl = pg.make_kernel("{ [i]: 0<=i<n }", lines, DATA)
    return [str(found) for found in pg.obligations(knl) if found.kind == "ordered"]


@pytest.mark.parametrize(("first", "second"), CONDITIONS)
def test_never_both(first: str, second: str) -> None:
    assert not _ordered(first, second)


@pytest.mark.parametrize(("first", "second"), BOTH)
def test_perhaps_both(first: str, second: str) -> None:
    assert _ordered(first, second)


def _sums(second: str) -> pg.Kernel:
    return pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<n }",
        f"""b[i] = b[i] + c[j] {{id=s, dep=*, if=c[i] > 0}}
        b[i] = 2*b[i] + d[j] {{id=u, dep=*s, if={second}}}""",
        DATA,
        loop_priority="i, j",
    )


def test_branches_get_loops_of_their_own() -> None:
    assert pg.duplicate_inames(_sums("not c[i] > 0"), "j", "u").history


@pytest.mark.parametrize("second", ["not c[j] > 0", "not d[i] > 0", "not b[i] > 0", "c[i] > 0"])
def test_what_may_be_both_stays_in_one_loop(second: str) -> None:
    with pytest.raises(CannotProve, match="depends on data"):
        pg.duplicate_inames(_sums(second), "j", "u")


BRANCHES = """b[i] = 1 {{id=s, dep=*, if=c[index[i]] > 0}}
b[i] = 2 {{id=u, dep=*{}, if=not {}[index[i]] > 0}}"""
STORED = """t = index[i] {{id=t, inames=i, dep=*}}
b[i] = 1 {{id=s, dep=*t, if=c[t] > 0}}
b[i] = 2 {{id=u, dep=*{}, if=not {}[t] > 0}}"""
T = pg.TemporaryVariable("t", "int32", ())


def _branches(text: str, *data: pg.TemporaryVariable) -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", text, [*DATA[:3], DATA[3], *data, "..."])


def test_branches_stay_apart_when_what_they_ask_is_stored() -> None:
    knl = pg.add_prefetch(_branches(BRANCHES.format("", "c")), "index", default_tag=None)
    assert "index_fetch" in knl.variables
    stored = _branches(STORED.format("t", "c"), T)
    assert exchange(_branches(BRANCHES.format("", "c")), stored) == stored


def test_other_branches_keep_their_order() -> None:
    with pytest.raises(CannotProve, match="depends on data"):
        exchange(_branches(BRANCHES.format("s", "d")), _branches(STORED.format("t", "d"), T))
    stored = _branches(STORED.format("s", "d"), T)
    assert exchange(_branches(BRANCHES.format("s", "d")), stored) == stored


def test_branches_of_branches_with_remainders() -> None:
    # The complement of what is excluded has very many pieces.
    first = "f[j, (k - j) % 5] or f[i, (-i - n) % 5]"
    second = "f[i, (k + i) % 5] or f[j, (2*j - n) % 5]"
    third = "f[i, (2*i - k) % 5]"
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<n and 0<=k<n and k<=2*j }",
        f"""o[k, j, i] = 1 {{dep=*, if={first}}}
        o[k, j, i] = 2 {{dep=*, if=not ({first}), if={second}}}
        o[k, j, i] = 3 {{dep=*, if=not ({first}), if=not ({second}), if={third}}}""",
        [pg.GlobalArg("f", "bool", "n, 5"), pg.GlobalArg("o", "int32", "n, n, n"), "..."],
    )
    assert not pg.obligations(knl)
