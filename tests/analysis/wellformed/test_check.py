"""Whether kernels are well formed: which of the checks refuses, and what is left to data."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.values.sound_accesses import NOTHING, Unchanged, is_sound
from polygen.analysis.wellformed.check import (
    check_permitted,
    check_result,
    check_well_formed,
    obligations,
)
from polygen.analysis.wellformed.obligations import INSIDE, ORDERED, WRITTEN
from polygen.errors import (
    DependencyCycle,
    NestingDecides,
    NoLoopNest,
    OutOfBounds,
    OverlappingElements,
    ProofLimit,
    UninitializedRead,
    UnorderedAccess,
    UserError,
)
from polygen.ir.kernel import Kernel
from tests.analysis.wellformed.unproved import LINE, SQUARE, array, unproved

DATA = (array("a", "n + 1"), array("b", "n"), array("idx", "n", dtype="int32"))
T = pg.TemporaryVariable("t", "float64", shape=())
STRIDED = pg.GlobalArg("s", "float64", "n, m", strides="1, 1")


def _made(domains: object, text: str, *data: object) -> Kernel:
    return unproved(domains, text, *DATA, *data)


ILL_FORMED: dict[str, tuple[type[UserError], object, str]] = {
    "no order": (UnorderedAccess, LINE, "a[i] = 1 {id=s}\nb[i] = a[i] {id=t, dep=*}"),
    "two nests": (NestingDecides, SQUARE, "s[i, j] = s[j, i] {if=i < m and j < m}"),
    "no write": (UninitializedRead, LINE, "b[i] = t"),
    "outside": (OutOfBounds, LINE, "b[i] = a[i + 2]"),
    "one place": (OverlappingElements, SQUARE, "s[i, j] = 1"),
    "a circle": (  # of the loops over i and j
        DependencyCycle,
        [LINE, "{ [j]: 0<=j<n }"],
        "a[i] = 1 {id=s}\nb[j] = 1 {id=t, dep=s}\na[i] = 2 {id=u, dep=t}",
    ),
    "no nest": (
        NoLoopNest,
        ["{ [i, j, k]: 0<=i,j,k<n }"],
        "a[i] = j {id=s}\na[j] = k {id=t}\na[k] = i {id=u}",
    ),
}


def _ill_formed(case: str) -> tuple[type[UserError], Kernel]:
    kind, domains, text = ILL_FORMED[case]
    square = STRIDED if case == "one place" else array("s", "n", "n")
    return kind, _made(domains, text, *([square] if "s[" in text else []), T)


@pytest.mark.parametrize("case", ILL_FORMED)
def test_what_is_refused(case: str) -> None:
    kind, knl = _ill_formed(case)
    for check in (check_well_formed, obligations):
        with pytest.raises(kind) as caught:
            check(knl)
        assert type(caught.value) is kind
        assert caught.value.where
    assert not is_sound(knl)
    with pytest.raises(kind):
        check_result(knl, NOTHING)


@pytest.mark.parametrize("case", ["a circle", "no nest"])
def test_no_execution_is_permitted(case: str) -> None:
    kind, knl = _ill_formed(case)
    with pytest.raises(kind) as caught:
        check_permitted(knl)
    assert caught.value.remedy


@pytest.mark.parametrize("case", ["no order", "no write", "outside", "one place"])
def test_executions_of_ill_formed_kernels_are_permitted(case: str) -> None:
    check_permitted(_ill_formed(case)[1])


def test_a_well_formed_kernel_owes_nothing() -> None:
    knl = _made(LINE, "a[i + 1] = a[i] + b[i]")
    check_well_formed(knl)
    assert obligations(knl) == ()
    assert is_sound(knl)
    empty = _made("{ [i]: 0<=i<0 }", "a[i + 100] = a[2*i]")
    assert obligations(empty) == ()


def test_what_data_decides_is_listed_once() -> None:
    """In the order of the checks; a read that stands twice in an instruction owes the same."""
    knl = _made(
        LINE,
        """
        t = b[i] {id=w, if=b[i] > 0}
        a[idx[i]] = t + b[idx[i]] + b[idx[i]] {id=s, dep=w}
        a[idx[n-1-i]] = 1 {id=u, dep=w}
        """,
        T,
    )
    owed = obligations(knl)
    kinds = [each.kind for each in owed]
    assert kinds == sorted(kinds, key=[ORDERED, WRITTEN, INSIDE].index)
    assert len(set(map(str, owed))) == len(owed)
    assert {str(each).partition(" <= idx")[0] for each in owed if each.kind == INSIDE} == {
        "s: a[idx[i]] is inside of 'a': 0",
        "s: b[idx[i]] is inside of 'b': 0",
        "u: a[idx[n - 1 - i]] is inside of 'a': 0",
    }
    assert [str(each) for each in owed if each.kind == WRITTEN] == [
        "s: t was written before it is read"
    ]
    assert all(each.array == "a" for each in owed if each.kind == ORDERED)
    assert ORDERED in kinds


def test_what_a_step_left_is_not_looked_at() -> None:
    kind, knl = _ill_formed("no write")
    assert check_result(knl, Unchanged(frozenset({"t"}), frozenset())) == ()
    assert is_sound(knl)
    kind, knl = _ill_formed("no order")
    assert check_result(knl, Unchanged(frozenset({"a"}), frozenset())) == ()
    with pytest.raises(kind):
        check_result(knl, Unchanged(frozenset({"b"}), frozenset()))


def test_rules_are_expanded() -> None:
    with pg.without_proofs():
        knl = pg.make_kernel(LINE, "f(x) := a[x + 2]\nb[i] = f(i)", [*DATA, "..."])
    with pytest.raises(OutOfBounds):
        check_well_formed(knl)


def test_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygen.analysis.integers.proving.MOST_OPERATIONS", 1)
    with pytest.raises(ProofLimit, match="could not be shown to be well formed"):
        obligations(_made(SQUARE, "a[(i + j) % n] = b[i % n]"))
