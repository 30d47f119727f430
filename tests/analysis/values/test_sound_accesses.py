"""What is known of a kernel before a step is not taken for known where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.values.sound_accesses import is_sound
from polygen.ir.kernel import Kernel

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
