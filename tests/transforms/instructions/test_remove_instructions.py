"""`remove_instructions`: instructions of which nothing is seen go."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from polygen.errors import CannotProve, IllegalStep, NotTheSame
from tests.oracle.cases import lowered, nodes
from tests.transforms.instructions.rows import APART, CHAIN, SCATTER, before, typed
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.refusals import refused

DEAD = typed(
    """
    <> t = a[i]       {id=x}
    <> u = 2*t        {id=y, dep=x}
    out[i] = a[i]     {id=z, dep=y}
    out[i] = 3*a[i]   {id=w, dep=z}
    """
)


def test_what_is_dead_goes() -> None:
    new = pg.remove_instructions(DEAD, ["x", "y"])
    assert [i.id for i in new.instructions] == ["z", "w"]
    assert new.temporaries == ()
    assert before(new, "z") == set()
    assert pg.remove_instructions(DEAD, "y").variables.keys() == DEAD.variables.keys() - {"u"}
    numpy_agrees(DEAD, lambda knl: pg.remove_instructions(knl, ["x", "y", "z"]), _tripled)


def _tripled(a: Any) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    return {"out": 3 * a}


def test_what_is_written_again_goes() -> None:
    new = pg.remove_instructions(DEAD, "z")
    assert before(new, "w") == {"y"}
    numpy_agrees(DEAD, lambda knl: pg.remove_instructions(knl, "z"), _tripled)


def test_dependencies_lead_through_what_is_gone() -> None:
    knl = typed(
        """
        b[i] = a[i]     {id=p}
        <> t = a[i]     {id=q, dep=p}
        <> u = t        {id=r, dep=q}
        b[i] = 2*a[i]   {id=s, dep=r}
        """
    )
    assert before(pg.remove_instructions(knl, ["q", "r"]), "s") == {"p"}
    refused(NotTheSame, "'b' would not end with 2", pg.remove_instructions, knl, "s")


def test_what_is_seen_stays() -> None:
    remove: Any = pg.remove_instructions
    refused(NotTheSame, "'out' would not end with 3", remove, DEAD, "w")
    refused(NotTheSame, "'d' would not end with c", remove, CHAIN, "z")
    refused(IllegalStep, "y.*reads 't', which nothing has written", remove, DEAD, "x")
    refused(NotTheSame, "'b' would not end with a", remove, CHAIN, "*")
    refused(CannotProve, "remove_instructions", remove, SCATTER, "x")
    assert [i.id for i in remove(DEAD, "w", unsafe=True).instructions] == ["x", "y", "z"]


def test_a_claim_about_what_is_gone_goes() -> None:
    knl = pg.assume_independent(DEAD, "y", "z")
    assert pg.remove_instructions(knl, "y").claims == ()
    assert pg.remove_instructions(pg.assume_independent(DEAD, "x", "w"), "y").claims != ()


def test_a_barrier_goes() -> None:
    knl = pg.add_barrier(APART, "x", "y", synchronization_kind="local")
    new = pg.remove_instructions(knl, "barrier")
    assert before(new, "y") == {"x"}
    assert not [n for n in nodes(lowered(new)) if type(n).__name__ == "Barrier"]
