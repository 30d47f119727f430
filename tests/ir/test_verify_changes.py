"""Kernels of which only what a step changed is looked at: what does not fit is found as ever."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import polygen as pg
from polygen.errors import UserError
from polygen.ir import expression as ex
from polygen.ir import kernel as kernel_module
from polygen.ir.domain import parse_domain
from polygen.ir.expression import Subscript, Variable
from polygen.ir.kernel import Kernel
from polygen.ir.kernel_changes import kernel_changes
from polygen.ir.recomputed import is_same
from polygen.ir.tags import GroupTag
from polygen.ir.verify import verify

NESTS = 6


def _made() -> Kernel:
    knl = pg.make_kernel(
        [f"{{ [i{k},j{k}]: 0<=i{k}<n and 0<=j{k}<=i{k} }}" for k in range(NESTS)],
        "\n".join(f"a{k}[i{k},j{k}] = b[i{k}] {{id=s{k}}}" for k in range(NESTS)),
    )
    verify(knl)
    return knl


def _insn(knl: Kernel, **changes: object) -> Kernel:
    first, *rest = knl.instructions
    return knl.copy(instructions=(first.copy(**changes), *rest))


def _domain(knl: Kernel, text: str) -> Kernel:
    return knl.copy(domains=(parse_domain(text), *knl.domains[1:]))


FAULTS: dict[str, Callable[[Kernel], Kernel]] = {
    "a name": partial(_insn, expression=Variable("nobody")),
    "subscripts": partial(_insn, expression=Subscript(Variable("b"), (0, 0))),
    "a scalar": partial(_insn, assignee=Variable("n")),
    "a loop": partial(_insn, within_inames=frozenset(["i0", "j0", "nobody"])),
    "a dependency": partial(_insn, depends_on=frozenset(["nobody"])),
    "a loop around": partial(_insn, within_inames=frozenset(["j0"]), expression=1),
    "an iname that is gone": partial(_domain, text="[n] -> { [i0,k0]: 0<=i0<n and 0<=k0<=i0 }"),
    "an iname twice": partial(_domain, text="[n] -> { [i0,j1]: 0<=i0<n and 0<=j1<=i0 }"),
    "a variable's name": partial(_domain, text="[n] -> { [i0,b]: 0<=i0<n and 0<=b<=i0 }"),
    "a parameter": partial(_domain, text="[n,m] -> { [i0,j0]: 0<=i0<m and 0<=j0<=i0 }"),
    "a separation": lambda knl: knl.copy(separations=(ex.Comparison(Variable("x"), "<", 3),)),
    "tags": lambda knl: knl.copy(tags={"i0": GroupTag(0), "j0": GroupTag(0)}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_does_not_fit_is_found(name: str) -> None:
    knl = _made()
    bad = FAULTS[name](knl)
    assert kernel_changes(knl, bad) is not None
    with pytest.raises(UserError) as whole:
        verify(bad)
    with pytest.raises(type(whole.value)) as found:
        verify(bad, knl)
    assert found.value.what == whole.value.what
    assert found.value.excerpt == whole.value.excerpt


def test_a_bound_that_mentions_an_iname_that_is_gone() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", *(f"{{ [o{k}]: 0<=o{k}<n }}" for k in range(4))],
        "a[i,j] = 1\n" + "\n".join(f"b{k}[o{k}] = 1" for k in range(4)),
    )
    verify(knl)
    at = knl.inames.index("i")
    domains = list(knl.domains)
    domains[at] = parse_domain("[n] -> { [k]: 0<=k<n }")
    first, *rest = knl.instructions
    bad = knl.copy(
        domains=tuple(domains),
        instructions=(first.copy(within_inames=frozenset("jk"), assignee=Variable("a")), *rest),
    )
    with pytest.raises(UserError) as whole:
        verify(bad)
    with pytest.raises(type(whole.value)):
        verify(bad, knl)


def test_what_was_not_looked_at_before_is_looked_at() -> None:
    knl = _made()
    bad = _insn(knl, expression=Variable("nobody"))  # which nobody has verified
    with pytest.raises(pg.errors.UnknownName):
        verify(bad.copy(tags={"i3": GroupTag(0)}), bad)


def test_properties_that_copies_share_are_those_of_the_copies() -> None:
    knl = _made()
    names = vars(kernel_module)["_FOLLOWS_FROM"]
    for name in names:
        getattr(knl, name)
    copies = [
        knl.copy(tags={"i0": GroupTag(0)}),
        _insn(knl, within_inames=frozenset(["i0", "j0", "i1"])),
        _insn(knl, within_inames=frozenset(["i0"]), expression=1),
        knl.copy(instructions=knl.instructions[1:]),
        _domain(knl, "[n] -> { [i0,k0]: 0<=i0<n and 0<=k0<=i0 }"),
        knl.copy(arguments=knl.arguments[1:]),
        knl.copy(name="other"),
    ]
    for new in copies:
        for name in names:
            anew = vars(Kernel)[name].func(new)
            assert is_same(getattr(new, name), anew), name
    assert copies[0].writers is knl.writers
