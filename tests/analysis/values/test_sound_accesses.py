"""What is known of a kernel before a step is not taken for known where it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.values.sound_accesses import (
    NOTHING,
    is_sound,
    keeps_sound,
    note_sound,
    only_adds_types,
    unchanged,
    where,
)
from polygen.analysis.values.unaffected_variables import Settled
from polygen.ir.claims import Injective
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.values.compared import made, reference

DOMAIN = "{ [i]: 0<=i<16 }"


def _copied(kernel: Kernel) -> Kernel:
    """A step that is proved by value."""
    return pg.add_prefetch(kernel, "b", default_tag=None)


def test_what_is_proved_stays_sound() -> None:
    knl = pg.make_kernel(DOMAIN, "out[i] = a[i] + b[i]")
    assert is_sound(knl)
    knl = pg.split_iname(knl, "i", 4)
    assert is_sound(knl)
    knl = pg.add_dtypes(knl, {"a": np.float32, "b": np.float32})
    assert is_sound(knl)
    assert is_sound(_copied(knl))


def test_what_is_vouched_for_is_not_known() -> None:
    knl = pg.make_kernel(DOMAIN, "out[i] = a[i] + b[i]")
    split: Any = pg.split_iname  # its own signature does not say what all steps take
    assert not is_sound(split(knl, "i", 4, unsafe=True))
    with pg.without_proofs():
        assert not is_sound(pg.split_iname(knl, "i", 4))
        assert not is_sound(pg.make_kernel(DOMAIN, "out[i] = a[i]"))
    assert not is_sound(pg.fix_parameters(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]"), n=4))


ILL_FORMED: dict[str, tuple[str, list[object]]] = {
    "outside": ("out[i] = a[i+1] + b[i]", [pg.GlobalArg("a", shape=(16,)), "..."]),
    "unwritten": (
        "out[i] = t[i] + b[i]",
        [pg.TemporaryVariable("t", "float32", shape=(16,)), "..."],
    ),
    "unordered": ("out[i] = a[i]\nout[i] = b[i]", ["..."]),
}


@pytest.mark.parametrize("case", ILL_FORMED)
def test_steps_on_ill_formed_kernels_are_refused(case: str) -> None:
    text, data = ILL_FORMED[case]
    with pg.without_proofs():
        knl = pg.make_kernel(DOMAIN, text, data)
    with pytest.raises(pg.UserError):
        _copied(knl)


@pg.transformation
def _without_order(kernel: Kernel) -> Kernel:
    """Drop all dependencies, and write through another instruction."""
    return kernel.copy(
        instructions=tuple(i.copy(depends_on=frozenset[str]()) for i in kernel.instructions)
    )


def test_an_order_that_a_step_takes_away_is_missed() -> None:
    knl = pg.make_kernel(DOMAIN, "out[i] = a[i] {id=x}\nout[i] = b[i] {id=y, dep=x}")
    assert is_sound(knl)
    with pytest.raises(pg.errors.IllegalStep):
        _without_order(knl)
    with pytest.raises(pg.errors.IllegalStep):
        _without_order(_copied(knl))


# --- what a step leaves as it was

TWO = "t = a[i] {id=t}\nout[i] = t + b[idx[i]] {id=r, dep=t}"
T = pg.TemporaryVariable("t", "float64")


def _sound(lines: str = TWO) -> Kernel:
    knl = made(lines, DOMAIN, T)
    note_sound(knl)
    return knl


def test_a_step_keeps_what_is_sound_and_claims() -> None:
    old = _sound()
    claimed = old.copy(claims=(Injective("idx"),))
    assert keeps_sound(old, claimed)
    note_sound(claimed)
    assert not keeps_sound(claimed, old)  # what it rests on is gone
    assert not keeps_sound(made(TWO, DOMAIN, T), old)
    exact = pg.set_options(old, allow_reassociation=False)
    assert not keeps_sound(old, exact)


def test_only_types_are_added() -> None:
    old = pg.make_kernel(DOMAIN, "<> t = a[i]\nout[i] = t")
    typed = pg.add_dtypes(old, {"a": np.float32})
    assert only_adds_types(old, typed)
    assert only_adds_types(old, old)
    assert not only_adds_types(typed, old)
    assert not only_adds_types(typed, pg.add_dtypes(old, {"a": np.float64}))
    assert not only_adds_types(old, pg.split_iname(old, "i", 4))
    assert not only_adds_types(old, pg.tag_inames(old, {"i": "l.0"}))
    more = old.copy(arguments=(*old.arguments, pg.ValueArg("x", np.dtype(np.float32))))
    assert not only_adds_types(old, more)
    longer = [replace(a, shape=(17,)) if isinstance(a, pg.GlobalArg) else a for a in old.arguments]
    assert not only_adds_types(old, old.copy(arguments=tuple(longer)))


def _unchanged(old: Kernel, new: Kernel) -> tuple[list[str], list[str]]:
    """Return the names of the variables, and of the references, that are as they were."""
    found = unchanged(old, new, Settled(old, new, UNMOVED))
    return sorted(found.variables), sorted(name for name, *_ in found.references)


def test_what_is_the_same_after_a_step() -> None:
    old = _sound()
    # Nothing decides but the loops; b, whose subscript is data, is not among the references.
    everything = ["out", "t"], ["a", "idx", "out", "t"]
    assert _unchanged(old, old) == everything

    def with_text(was: str, now: str) -> Kernel:
        return old.copy(instructions=made(TWO.replace(was, now), DOMAIN, T).instructions)

    assert _unchanged(old, with_text("t = a[i]", "t = 2*a[i]")) == everything
    # What the old kernel mentions counts: that the new one does not, is no harm.
    assert _unchanged(old, with_text("out[i]", "out[15 - i]")) == (["t"], everything[1])
    split = pg.split_iname(old, "i", 4)
    assert _unchanged(old, split)[1] == []


def test_data_in_the_bounds_of_a_loop_has_a_say() -> None:
    lines = "<int32> k = idx[0] {id=k, inames=}\nout[j] = 2 {id=r, dep=k, inames=j}"
    old = made(lines, "{ [j]: 0<=j<k }")
    note_sound(old)
    assert _unchanged(old, old) == (["k", "out"], ["idx", "k"])


def test_nothing_is_known_after_a_step_from_a_kernel_of_which_nothing_is() -> None:
    old = made(TWO, DOMAIN, T)
    assert unchanged(old, old, Settled(old, old, UNMOVED)) == NOTHING


def test_where_a_reference_is() -> None:
    knl = made("out[i] = b[idx[i]] + if(i > 3, a[2*i], 0) {id=r, if=x > 0}")
    found = where(reference(knl, "r", "a"))
    assert found[0] == "a"
    assert [show_expression(i) for i in found[1]] == ["2*i"]
    assert found[2] == frozenset("i")
    assert [show_expression(c) for c in found[3]] == ["x > 0", "i > 3"]
    assert where(reference(knl, "r", "out", is_write=True))[3] == found[3][:1]
