"""Forms of subscripts and conditions, and the elements that two references have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.dataflow.comparison_context import Names
from polygen.analysis.values.value_forms import Touched, ValueForms
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.flat import points
from tests.analysis.values.compared import LOOP, made, reference, verbatim

Inames: TypeAlias = Callable[[str], frozenset[str] | None]


def _followed(_insn_id: str) -> frozenset[str] | None:
    return None


def _touched(
    knl: Kernel,
    insn_id: str,
    name: str,
    names: Names | None = None,
    inames_of: Inames = _followed,
) -> Touched | None:
    forms = ValueForms(knl, names or Names(), UNMOVED, inames_of)
    return forms.touched(reference(knl, insn_id, name), 0)


def _form(
    lines: str, domain: str = LOOP, inames_of: Inames | None = None
) -> tuple[str, list[str]] | None:
    """Return the form of the subscript of `a` in instruction `r`, and its arguments."""
    found = _touched(made(lines, domain), "r", "a", None, inames_of or _followed)
    if found is None:
        return None
    arguments = [show_expression(a) for a in found.subscript.arguments]
    return show_expression(found.subscript.form), arguments


PLANE = "{ [i, j]: 0<=i<4 and 0<=j<4 }"


@pytest.mark.parametrize(
    ("subscript", "form", "arguments"),
    [
        ("2*idx[i + 1] + j", "_0*idx[_1] + _2", ["2", "__0_i + 1", "__0_j"]),
        ("i + idx[j] + 3", "idx[_0] + _1", ["__0_j", "__0_i + 3"]),
        ("2*i - j", "_0", ["2*__0_i - __0_j"]),
        ("7", "_0", ["7"]),
        ("idx[idx[i]]", "idx[idx[_0]]", ["__0_i"]),
        ("idx[i]*idx[j]", "idx[_0]*idx[_1]", ["__0_i", "__0_j"]),
    ],
)
def test_what_is_affine_becomes_an_argument(
    subscript: str, form: str, arguments: list[str]
) -> None:
    assert _form(f"out[i] = a[{subscript}] {{id=r}}", PLANE) == (form, arguments)


STORED = "<int32> k = idx[i + 1] {id=w}\nout[i] = a[k + i] {id=r, dep=w}"


def test_what_was_stored_is_followed() -> None:
    """The writer is at an instance of its own, which the points link to the reader's."""
    assert _form(STORED) == ("idx[_0] + _1", ["__1_i + 1", "__0_i"])
    found = _touched(made(STORED), "r", "a")
    assert found is not None
    assert points(found.points, ["__0_i", "__1_i"]) == {(i, i) for i in range(8)}


def test_what_an_instruction_of_both_kernels_stored_is_named_by_it() -> None:
    known = {"w": frozenset("i")}
    assert _form(STORED, inames_of=known.get) == ("k of w, 0[_0] + _1", ["__1_i", "__0_i"])


@pytest.mark.parametrize(
    "lines",
    [
        # one of two instructions wrote it
        "<int32> k = idx[i] {id=w, if=i<4}\nk = 2 {id=u, if=i>=4, dep=*w}\n"
        "out[i] = a[k] {id=r, dep=*w:u}",
        # data decides whether it was written
        "<int32> k = idx[i] {id=w, if=p[i]>0}\nout[i] = a[k] {id=r, dep=*w}",
        # a reduction
        "out[i] = a[sum(j, idx[j])] {id=r, inames=i}",
        # a type of its own may cut it off
        "<int8> k = idx[i] {id=w}\nout[i] = a[k] {id=r, dep=*w}",
    ],
)
def test_subscripts_without_a_form(lines: str) -> None:
    assert _form(lines, "{ [i, j]: 0<=i<8 and 0<=j<2 }") is None


def test_verbatim_c_touches_nothing_for_certain() -> None:
    code = verbatim("r", "out[i] = a[i];", "a", "out[i]")
    knl = made(code)
    forms = ValueForms(knl, Names(), UNMOVED, _followed)
    assert forms.touched(reference(knl, "r", "a"), 0) is None


def test_loops_as_long_as_data_says_touch_nothing_for_certain() -> None:
    lines = "<int32> k = idx[0] {id=w, inames=}\nout[j] = a[j] {id=r, dep=w, inames=j}"
    domains = ["{ [j]: 0<=j<k }"]
    assert _touched(made(lines, domains), "r", "a") is None


# --- what others touch as well

LEFT: list[tuple[str, str, Callable[[int], bool]]] = [
    # what is read (q is what the others read), and for which i nothing else reads that
    ("a[idx[i]] {if=i<6}", "a[idx[i + 2]] {if=i<3}", lambda i: i < 2 or 5 <= i < 6),
    ("a[idx[i]]", "a[idx[2*i]]", lambda i: i % 2 == 1),
    ("a[idx[i]]", "a[idx[i]] {if=i<0}", lambda _: True),  # which is nothing at all
    ("a[idx[i]] {if=i<0}", "a[idx[i]]", lambda _: False),
    ("a[idx[i]]", "a[2*idx[i]]", lambda _: True),  # another form
    ("a[i]", "a[7 - i]", lambda _: False),
    # conditions that are data: a read under fewer is read where one under more is
    ("a[idx[i]] {if=p[i]>0}", "a[idx[i]]", lambda _: False),
    ("a[idx[i]]", "a[idx[i]] {if=p[i]>0}", lambda _: True),
    ("a[idx[i]] {if=p[i]>0}", "a[idx[i]] {if=p[i]>0}", lambda _: False),
    ("a[idx[i]] {if=p[i]>0}", "a[idx[i]] {if=p[i + 1]>0}", lambda _: True),
    ("a[idx[i]] {if=p[i]>0}", "a[idx[i]] {if=p[i]>1}", lambda _: True),
    (
        "a[idx[i]] {if=p[i]>0, if=p[i + 1]>0}",
        "a[idx[i]] {if=p[i + 1]>0}",
        lambda _: False,
    ),
    # a condition that has no form: who knows when it holds
    ("a[idx[i]]", "a[idx[i]] {if=sum(j, p[j])>0, inames=i}", lambda _: True),
    # and of what is read, it only says that less is read
    ("a[idx[i]] {if=sum(j, p[j])>0, inames=i}", "a[idx[i]]", lambda _: False),
]


@pytest.mark.parametrize(("mine", "other", "is_left"), LEFT)
def test_what_is_left(mine: str, other: str, is_left: Callable[[int], bool]) -> None:
    lines = "\n".join(
        f"{name}[i] = {text if '{' in text else text + ' {}'}".replace("{", f"{{id={name}, dep=*, ")
        for name, text in (("out", mine), ("v", other))
    )
    knl = made(lines.replace(", }", "}"), "{ [i, j]: 0<=i<8 and 0<=j<2 }")
    names = Names()
    here, there = (_touched(knl, insn_id, "a", names) for insn_id in ("out", "v"))
    assert here is not None
    assert there is not None
    within = {i for (i,) in points(here.points, ["__0_i"])}
    assert points(here.left([there]), ["__0_i"]) == {(i,) for i in within if is_left(i)}
    assert points(here.left([]), ["__0_i"]) == {(i,) for i in within}


def test_several_others_together_leave_less() -> None:
    knl = made(
        "out[i] = a[idx[i]] {id=m}\nv[i] = a[idx[i]] {id=x, if=i<3}\ns = a[idx[i]] {id=y, if=i>4}"
    )
    names = Names()
    here, *others = (_touched(knl, insn_id, "a", names) for insn_id in "mxy")
    assert here is not None
    assert points(here.left(filter(None, others)), ["__0_i"]) == {(3,), (4,)}
