"""Writes that come before reads: which, of what, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TypeAlias

import pytest

from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.dataflow.comparison_context import Context, Frame, Names
from polygen.analysis.dataflow.computed_difference import END
from polygen.analysis.values.same_past import (
    Pasts,
    Touch,
    before,
    conflicting,
    ordered_alike,
    read_by,
    written_by,
)
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from tests.analysis.flat import points
from tests.analysis.values.compared import LOOP, made, same_instances, verbatim

AT = "a[idx[i]] = b[i] {id=w, dep=*}\nout[i] = a[idx[7 - i]] {id=r, dep=*w}"
DEFAULT = (
    "v[0] = b[i] {id=t, dep=*}\nv[0] = a[i] {id=u, dep=*t, if=p[i]>0}\nout[i] = v[0] {id=r, dep=*u}"
)


def _touch(knl: Kernel, insn_id: str, name: str, called: str, *, write: bool) -> Touch:
    if write:
        (access,) = written_by(knl, insn_id, name)
        return Touch(knl, access, {"i": called})
    insn = knl.assignment(insn_id)
    return read_by(insn.values[0], Frame(knl, insn, {"i": called}))


# --- one kernel


SMALL = "{ [i]: 0<=i<4 }"
Pairs: TypeAlias = Callable[[int, int], bool]
ORDERS: list[tuple[str, Pairs, Pairs]] = [
    # the text, whether w at i comes before r at j, and whether they touch one element
    ("v[i] = a[i] {id=w, dep=*}\nout[i] = v[2*i] {id=r, dep=*w}",
     lambda i, j: i <= j, lambda i, j: i == 2*j),
    ("out[i] = v[2*i] {id=r, dep=*}\nv[i] = a[i] {id=w, dep=*r}",
     lambda i, j: i < j, lambda i, j: i == 2*j),
    ("v[0] = a[i] {id=w, dep=*}\nout[i] = v[0] {id=r, dep=*w}",
     lambda i, j: i <= j, lambda i, j: True),
    ("v[3] = a[i] {id=w, dep=*}\nout[i] = v[4] {id=r, dep=*w}",
     lambda i, j: i <= j, lambda i, j: False),
    ("v[idx[i]] = a[i] {id=w, dep=*}\nout[i] = v[i] {id=r, dep=*w}",
     lambda i, j: i <= j, lambda i, j: True),  # which is possible
]  # fmt: skip


@pytest.mark.parametrize(("text", "is_before", "meet"), ORDERS)
def test_pairs_of_a_write_and_a_read(text: str, is_before: Pairs, meet: Pairs) -> None:
    knl = made(text, SMALL)
    write = _touch(knl, "w", "v", "p", write=True)
    read = _touch(knl, "r", "v", "q", write=False)
    pairs = set(product(range(4), repeat=2))
    first = before(write, read)
    assert first is not None
    inside = range(4)
    assert points(first, ["p", "q"], inside) == {x for x in pairs if is_before(*x)}
    found = points(conflicting(write, read), ["p", "q"], inside)
    assert found == {x for x in pairs if meet(*x)}
    assert points(conflicting(read, write), ["q", "p"], inside) == {(j, i) for i, j in found}


def test_everything_comes_before_the_end() -> None:
    knl = made(DEFAULT, SMALL)
    write = _touch(knl, "t", "v", "p", write=True)
    end = read_by(parse_expression("v[q]"), Frame(knl, END, {"q": "q"}))
    assert end.access is None
    for found in (before(write, end), conflicting(write, end)):
        assert found is not None
        assert found.plain_is_universe()


def test_writes_of_an_instruction() -> None:
    knl = made(DEFAULT, SMALL)
    assert [a.insn_id for a in written_by(knl, "u", "v")] == ["u"]
    assert written_by(knl, "r", "v") == []
    assert written_by(knl, "nobody", "v") == []


# --- two kernels


def _pasts(old: Kernel, new: Kernel) -> tuple[Pasts, Context]:
    names = Names()
    return Pasts(old, new, UNMOVED, names), same_instances(old, new, "r", names)


def _are_same(old: str, new: str, domain: str = LOOP, *, within: bool = False) -> bool:
    was, now = made(old, domain), made(new, domain)
    pasts, at = _pasts(was, now)
    asked = pasts.are_same_within if within else pasts.are_same
    return asked(was.assignment("r").values[0], now.assignment("r").values[0], at)


@pytest.mark.parametrize(
    ("new", "same"),
    [
        (AT, True),
        (AT.replace("b[i]", "2*b[i]"), True),  # what is written is compared elsewhere
        (AT.replace("id=w", "id=n").replace("*w", "*n"), False),
        (f"{AT}\na[i] = 0 {{id=n, dep=*r}}", False),
        (AT.replace("dep=*w", "dep=*").replace("dep=*}\nout", "dep=*r}\nout"), False),
    ],
)
def test_the_same_writes_come_before(new: str, same: bool) -> None:
    assert _are_same(AT, new) is same


def test_arrays_whose_writes_have_to_be_compared() -> None:
    knl = made(AT)
    pasts, at = _pasts(knl, knl)
    node = knl.assignment("r").values[0]
    assert pasts.are_same(node, node, at)
    assert pasts.relied_on == {"a"}


@pytest.mark.parametrize(
    ("new", "same"),
    [
        (DEFAULT, True),
        (DEFAULT.replace("v[0]", "v[i]"), True),
        (DEFAULT.replace("v[0]", "v[7 - i]"), True),
        (DEFAULT.replace("v[0] = a", "v[1] = a"), False),  # it is not read
        (DEFAULT.replace("= v[0]", "= v[i]"), False),
        (
            DEFAULT.replace("dep=*}", "dep=*u}").replace("dep=*t,", "dep=*,"),
            False,
        ),  # the default comes last
        (DEFAULT.replace("dep=*t,", "dep=*r,").replace("dep=*u", "dep=*t"), False),
    ],
)
def test_a_temporary_that_is_elsewhere_in_each_iteration(new: str, same: bool) -> None:
    assert _are_same(DEFAULT, new, within=True) is same


def test_what_an_iteration_leaves_to_the_next_is_not_local() -> None:
    carried = DEFAULT.replace("id=t, dep=*", "id=t, dep=*, if=i<1")
    assert not _are_same(carried, carried.replace("v[0]", "v[i]"), within=True)


def test_nothing_is_read_where_nothing_is_executed() -> None:
    assert _are_same(AT, AT, "{ [i]: 0<=i<0 }")


def test_two_writes_in_another_order() -> None:
    """Where they are in one order in both kernels, or meet nowhere, all is well."""
    first = "v[i] = a[i] {{id=t, dep=*}}\nv[{0}] = b[i] {{id=u, dep=*t}}"
    last = "v[i] = a[i] {{id=t, dep=*u}}\nv[{0}] = b[i] {{id=u, dep=*}}"

    def alike(was: str, now: str, place: str) -> bool:
        old, new = (made(text.format(place), SMALL) for text in (was, now))
        pasts = Pasts(old, new, UNMOVED, Names())
        one, other = (next(pasts.written("v", i)) for i in "tu")
        return ordered_alike(one, other)

    assert alike(first, last, "7")
    assert not alike(first, last, "i")
    assert alike(first, first, "i")
    assert alike(last, last, "i")


def test_verbatim_c_that_reads_a_whole_array() -> None:
    alone = made(verbatim("r", "out[i] = a[0] + a[i];", "a", "out[i]"))
    code, write = alone.instruction("r"), made("a[i] = b[i] {id=w}").instruction("w")
    first = alone.copy(instructions=(write, code.copy(depends_on=frozenset("w"))))
    last = alone.copy(instructions=(code, write.copy(depends_on=frozenset("r"))))

    def is_same(old: Kernel, new: Kernel) -> bool:
        pasts, at = _pasts(old, new)
        return pasts.whole_is_same("a", at)

    assert is_same(alone, alone.copy(name="other"))  # nobody writes it
    assert is_same(first, first.copy(name="other"))
    assert not is_same(first, last)
    assert not is_same(first, alone)
