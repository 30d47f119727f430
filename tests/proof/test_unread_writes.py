"""Writes that nothing reads are no race either: of work items that share a temporary."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import pytest

import polygen as pg
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower
from tests.oracle.cases import kernel
from tests.oracle.compare import run_program
from tests.oracle.evaluate import OracleError
from tests.proof.sequences import NO_CODE
from tests.proof.unread import Maker, arguments, meets

GLOBAL, LOCAL = AddressSpace.GLOBAL, AddressSpace.LOCAL
AUTO, PRIVATE = AddressSpace.AUTO, AddressSpace.PRIVATE


def _races(knl: Kernel, given: Mapping[str, Any]) -> bool | None:
    """Tell whether work items write one element at once; None if there is no code."""
    tried = False
    for model in Model:
        with suppress(*NO_CODE), pg.without_proofs():
            program, tried = lower(knl, model), True
            try:
                run_program(program, given)
            except OracleError as error:
                if "a race for t" not in str(error):
                    raise
                return True
    return False if tried else None


# --- by hand


def _unread(target: str, space: AddressSpace) -> Kernel:
    t = TemporaryVariable("t", "float64", shape=8, address_space=space)
    data = [t, pg.GlobalArg("a", "float64", (8, 8)), pg.GlobalArg("x", "int32", (8,))]
    return kernel("{ [i,j]: 0<=i,j<8 }", f"{target} = a[i, j]", *data)


RACES = [
    ("t[i]", "l.0", GLOBAL),
    ("t[i]", "g.0", GLOBAL),
    ("t[i]", "l.0", LOCAL),
    ("t[i]", "l.auto", AUTO),
    ("t[(i + j) // 2]", "l.0", GLOBAL),
    ("t[7 - j // 2]", "g.0", GLOBAL),
]
FINE = [
    ("t[i]", "unr", GLOBAL),
    ("t[i]", "ilp", GLOBAL),
    ("t[i]", "g.0", LOCAL),
    ("t[i]", "l.0", AUTO),
    ("t[i]", "g.0", AUTO),
    ("t[i]", "l.0", PRIVATE),
    ("t[j]", "l.0", GLOBAL),
    ("t[7 - j]", "g.0", GLOBAL),
]


@pytest.mark.parametrize(("target", "tag", "space"), RACES)
def test_work_items_that_write_one_element_at_once_are_refused(
    target: str, tag: str, space: AddressSpace
) -> None:
    plain = _unread(target, space)
    with pytest.raises(pg.errors.IllegalStep, match="Nothing reads 't', but work items share it"):
        pg.tag_inames(plain, {"j": tag})
    with pg.without_proofs():
        tagged = pg.tag_inames(plain, {"j": tag})
    with pytest.raises(pg.errors.UnorderedAccess, match="Nothing reads 't'") as caught:
        pg.check_well_formed(tagged)
    assert caught.value.remedy == "leave 'insn' out; or let 't' be private"


@pytest.mark.parametrize(("target", "tag", "space"), FINE)
def test_others_are_not(target: str, tag: str, space: AddressSpace) -> None:
    tagged = pg.tag_inames(_unread(target, space), {"j": tag})
    pg.check_well_formed(tagged)
    assert pg.obligations(tagged) == ()


def test_instances_of_different_instructions_and_iterations_are_no_race() -> None:
    t = TemporaryVariable("t", "float64", shape=15, address_space=GLOBAL)
    lines = "t[i] = 1 {id=one, dep=*}\nt[7 - j] = 2 {id=two, dep=*}\nt[k + m] = 3 {dep=*}"
    knl = kernel("{ [i,j,k,m]: 0<=i,j,k,m<8 }", lines, t)
    knl = pg.tag_inames(knl, {"i": "l.0", "j": "l.0", "k": "l.0"})
    pg.check_well_formed(knl)
    assert _races(knl, {}) is False


def test_data_that_decides_is_owed() -> None:
    """Where subscripts are data, it is an obligation, which calls can check."""
    with pg.without_proofs():
        knl = pg.tag_inames(_unread("t[x[j]]", GLOBAL), {"j": "l.0"})
    (owed,) = (o for o in pg.obligations(knl) if o.kind == "ordered")
    assert str(owed) == (
        "insn: no two instances with different j touch one element, t[x[j]] in the same iteration "
        "of i"
    )
    with pytest.raises(pg.errors.CannotProve, match="Nothing reads 't'"):
        pg.tag_inames(_unread("t[x[j]]", GLOBAL), {"j": "l.0"})
    known = pg.assume_injective(_unread("t[x[j]]", GLOBAL), "x")
    assert not [o for o in pg.obligations(pg.tag_inames(known, {"j": "l.0"})) if o.kind != "inside"]


@pytest.mark.parametrize("space", ["global", "local"])
def test_what_work_items_had_for_themselves_is_not_shared(space: str) -> None:
    tagged = pg.tag_inames(_unread("t[i]", PRIVATE), {"j": "l.0"})
    with pytest.raises(pg.errors.IllegalStep, match="Nothing reads 't'"):
        pg.set_temporary_address_space(tagged, "t", space)
    assert not pg.obligations(pg.set_temporary_address_space(_unread("t[i]", PRIVATE), "t", space))


def test_a_step_may_reverse_what_nothing_reads() -> None:
    t = TemporaryVariable("t", "float64", shape=8, address_space=GLOBAL)
    knl = kernel("{ [i,j]: 0<=i,j<4 }", "t[i + j] = 1", t)
    assert pg.reverse(knl, "i").inames


# --- random ones


def _quiet() -> None:
    warnings.simplefilter("ignore")


def _stepwise(seeds: Iterable[int]) -> tuple[int, int]:
    """Check what random steps are accepted; return how many kernels were executed and refused."""
    done = refused = 0
    for seed in seeds:
        choices = random.Random(seed)
        maker = Maker(choices)
        with suppress(pg.errors.NoLoopNest, pg.errors.DependencyCycle):
            knl = maker.kernel()
            for _ in range(4):
                try:
                    knl = maker.step(knl)
                except pg.errors.TagConflict:
                    pass
                except (pg.errors.IllegalStep, pg.errors.CannotProve):
                    refused += 1
            found = _races(knl, arguments(choices))
            assert not found, f"seed {seed}: {[str(s) for s in knl.history]}"
            done += found is False
    return done, refused


def _at_once(seeds: Iterable[int]) -> tuple[int, int]:
    """Check kernels as they are: accepted if, and only if, there is no race."""
    accepted = refused = 0
    for seed in seeds:
        choices = random.Random(seed)
        maker = Maker(choices)
        with suppress(pg.errors.NoLoopNest, pg.errors.DependencyCycle, pg.errors.TagConflict):
            with pg.without_proofs():
                knl = pg.tag_inames(maker.kernel(), maker.tags())
            given = arguments(choices)
            try:
                pg.check_well_formed(knl)
            except pg.errors.UnorderedAccess:
                refused += 1
                # Lowering may leave an iname that is tagged l.auto in a loop.
                if "l.auto" not in map(str, knl.tags.values()):
                    assert _races(knl, given) is not False, f"seed {seed}"
                continue
            if meets(knl, given):
                assert not _races(knl, given), f"seed {seed}"
                accepted += 1
    return accepted, refused


def test_random_steps_make_no_race() -> None:
    with warnings.catch_warnings():
        _quiet()
        done, refused = _stepwise(range(25))
    assert done > 12
    assert refused > 3


def test_random_kernels_without_a_race_are_well_formed_and_no_others() -> None:
    with warnings.catch_warnings():
        _quiet()
        accepted, refused = _at_once(range(60))
    assert accepted > 20
    assert refused > 5


@pytest.mark.deep
@pytest.mark.parametrize("start", range(1_000, 6_000, 500))
def test_thousands_of_random_kernels(start: int) -> None:
    with warnings.catch_warnings():
        _quiet()
        assert min(_stepwise(range(start, start + 500))) > 50
        assert min(_at_once(range(start, start + 500))) > 50
