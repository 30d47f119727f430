"""`is_legal`: the same answer as taking the step, as a value."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InvalidArgument,
    NameTaken,
    NotTheSame,
    ReservedName,
    TagConflict,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from polygen.transformation import transformation
from tests.few import few
from tests.proof.generator import Maker
from tests.proof.patterns import PATTERNS


def test_a_legal_step_brings_the_new_kernel() -> None:
    knl = PATTERNS["wavefront"].kernel()
    verdict = pg.is_legal(knl, pg.split_iname, "i", 16, inner_tag="unr")
    assert verdict
    assert verdict.error is None
    assert verdict.kernel == pg.split_iname(knl, "i", 16, inner_tag="unr")
    assert str(verdict) == "legal"


def test_an_illegal_step_brings_the_error() -> None:
    knl = PATTERNS["forward"].kernel()
    verdict = pg.is_legal(knl, pg.tag_inames, {"i": "g.0"})
    assert not verdict
    assert verdict.kernel is None
    assert type(verdict.error) is IllegalStep
    assert verdict.error.__traceback__ is None
    assert "s[i=1] writes the element of 'a' that s[i=2] reads" in str(verdict)


def test_doubt_is_no_yes() -> None:
    verdict = pg.is_legal(PATTERNS["scatter"].kernel(), pg.tag_inames, {"i": "g.0"})
    assert type(verdict.error) is CannotProve


def test_a_step_that_does_not_apply_is_not_legal() -> None:
    knl = pg.tag_inames(PATTERNS["copy"].kernel(), {"i": "g.0"})
    assert type(pg.is_legal(knl, pg.tag_inames, {"j": "g.0"}).error) is TagConflict
    assert type(pg.is_legal(knl, pg.split_iname, "j", 4, inner_iname="i").error) is NameTaken


def test_a_transformation_that_is_wrong_is_not_legal() -> None:
    @transformation
    def drop_half(kernel: Kernel) -> Kernel:
        half = pg.make_kernel("{ [i]: 0<=2*i<n }", "a[i] = 1").domains
        return kernel.copy(domains=half)

    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1")
    assert type(pg.is_legal(knl, drop_half).error) is NotTheSame


def test_several_steps_are_one_function() -> None:
    def tiled(kernel: Kernel, length: int, outer: str) -> Kernel:
        kernel = pg.split_iname(kernel, "i", length)
        kernel = pg.split_iname(kernel, "j", length)
        return pg.prioritize_loops(kernel, f"{outer}, i_inner, j_inner")

    wavefront, shear = (PATTERNS[name].kernel() for name in ("wavefront", "antidiagonal"))
    assert pg.is_legal(wavefront, tiled, 4, outer="i_outer, j_outer")
    # Tiles of a dependence (1, -1) would each have to come before the other.
    assert not pg.is_legal(shear, tiled, 4, outer="i_outer, j_outer")


def test_a_changed_interface_needs_no_proof() -> None:
    verdict = pg.is_legal(PATTERNS["forward"].kernel(), pg.fix_parameters, n=4)
    assert verdict.kernel is not None
    assert verdict.kernel.parameters == ()


def test_proofs_are_on(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = PATTERNS["forward"].kernel()
    with pg.without_proofs():
        assert not pg.is_legal(knl, pg.tag_inames, {"i": "g.0"})
        assert pg.tag_inames(knl, {"i": "g.0"}).tags  # off again
    monkeypatch.setenv("POLYGEN_PROOFS", "0")
    assert not pg.is_legal(knl, pg.tag_inames, {"i": "g.0"})
    assert pg.tag_inames(knl, {"i": "g.0"}).tags


def test_wrong_calls_are_errors() -> None:
    knl = PATTERNS["copy"].kernel()
    with pytest.raises(UnknownIname, match="no iname 'ii'"):
        pg.is_legal(knl, pg.split_iname, "ii", 4)
    with pytest.raises(InvalidArgument, match="not a positive integer"):
        pg.is_legal(knl, pg.split_iname, "i", 0)
    with pytest.raises(InvalidArgument, match="no iname tag"):
        pg.is_legal(knl, pg.tag_inames, {"i": "g.7"})
    with pytest.raises(ReservedName):
        pg.is_legal(knl, pg.rename_iname, "i", "for")


def some_step(knl: Kernel, choose: random.Random) -> tuple[Callable[..., Kernel], tuple[Any, ...]]:
    """Return a step, and its arguments."""
    iname = choose.choice([i for i in knl.inames if not i.startswith("k")])
    steps: list[tuple[Callable[..., Kernel], tuple[Any, ...]]] = [
        (pg.tag_inames, ({iname: choose.choice(("g.0", "l.0"))},)),
        (pg.split_iname, (iname, choose.choice((2, 3)))),
        (pg.prioritize_loops, (tuple(choose.sample(knl.inames, len(knl.inames))),)),
    ]
    return choose.choice(steps)


@few(1, "start", range(0, 60, 30))
def test_the_answer_is_that_of_the_step(start: int) -> None:
    legal = 0
    for seed in range(start, start + 30):
        with pg.without_proofs():
            knl = Maker(seed).kernel()
        step, arguments = some_step(knl, random.Random(seed))
        try:
            expected, error = step(knl, *arguments), None
        except pg.UserError as refused:
            expected, error = None, type(refused)
        verdict = pg.is_legal(knl, step, *arguments)
        assert verdict.kernel == expected
        assert (type(verdict.error) if verdict.error else None) is error
        legal += bool(verdict)
    assert 5 < legal < 30
