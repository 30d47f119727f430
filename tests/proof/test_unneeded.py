"""Values that are overwritten before anything reads them may become others; no other value may."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import polygen as pg
from polygen.errors import IllegalStep, NotTheSame, UserError
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.exchange import exchange
from tests.proof.judge import judge
from tests.proof.patterns import array, scalar

LOOP = ["{ [i]: 0<=i<8 }"]
DATA = (
    scalar("s"),
    pg.TemporaryVariable("k", "int32"),
    *(array(name, "10") for name in ("a", "b", "c", "out")),
    *(array(name, "10", dtype="int32") for name in ("idx", "other")),
    "...",
)

RESET = """
    s = 0              {id=z, dep=*}
    s = s + a[i]       {id=u, dep=*z, inames=i}
    s = b[0]           {id=w, dep=*u:z, inames=i}
    out[0] = s         {id=out, dep=*w}
    """
LAST = """
    s = 0              {id=z, dep=*}
    c[i + 1] = a[i]    {id=u, dep=*}
    s = c[i + 2]       {id=w, dep=*u:z, inames=i}
    out[0] = s         {id=out, dep=*w}
    """
OVER = """
    out[0] = a[i] + c[0]  {id=u, dep=*, inames=i}
    c[0] = b[i]           {id=w, dep=*u, inames=i}
    out[0] = b[8]         {id=v, dep=*u}
    c[0] = 1              {id=y, dep=*w:v}
    """
OWN = """
    s = 0              {id=z, dep=*}
    s = s + a[i]       {id=u, dep=*z, inames=i}
    s = b[i]           {id=w, dep=*u:z, inames=i}
    out[0] = s         {id=out, dep=*w}
    """
Step = Callable[[Kernel], Kernel]


def _reverse(knl: Kernel) -> Kernel:
    return pg.map_domain(knl, "{ [i] -> [r] : r = 7 - i }")


def _distribute(knl: Kernel) -> Kernel:
    return pg.distribute_loop(knl, "i", "u")


CASES: dict[str, tuple[Step, str, tuple[str, str]]] = {
    # What is taken, on which lines, and what makes a value needed that changes.
    "started anew": (_reverse, RESET, ("{id=w", "{if=i<7, id=w")),
    "added up": (_reverse, RESET, ("s = b[0] ", "s = 2*s ")),
    "read in the loop": (_reverse, RESET, ("b[0]           {id=w", "s*b[i]         {id=w")),
    "the last one": (_distribute, LAST, ("dep=*u:z,", "dep=*u:z, if=i<6,")),
    "what only reads itself": (_distribute, OWN, ("s = b[i] ", "s = s*b[i]")),
    "each one": (_distribute, LAST, ("out[0] = s         {", "out[i] = s         {inames=i, ")),
    "arguments": (_reverse, OVER, ("out[0] = b", "out[1] = b")),
}


def _made(lines: str) -> Kernel:
    with pg.without_proofs():
        return kernel(LOOP, "\n".join(map(str.strip, lines.strip().splitlines())), *DATA)


@pytest.mark.parametrize("name", CASES)
def test_what_is_overwritten_may_change(name: str) -> None:
    step, lines, (plain, needed) = CASES[name]
    assert plain in lines
    knl = _made(lines)
    assert judge(knl, step(knl), [({}, seed) for seed in range(4)]).differs is None
    other = _made(lines.replace(plain, needed))
    with pytest.raises((IllegalStep, pg.errors.CannotProve), match=r"would change|shown to keep"):
        step(other)
    with pg.without_proofs():
        found = judge(other, step(other), [({}, seed) for seed in range(4)])
    assert found.differs is not None


GATHER = """
    k = idx[i]         {id=k, dep=*, inames=i}
    s = c[k]           {id=u, dep=*k, inames=i}
    s = b[i]           {id=w, dep=*u, inames=i}
    out[i] = s         {id=out, dep=*w}
    """


@pytest.mark.parametrize(("old", "new"), [("idx[i]", "other[i]"), ("c[k]", "c[k + 1]")])
def test_what_is_overwritten_is_read_where_it_was(old: str, new: str) -> None:
    """It may be read outside of its array."""
    assert old in GATHER
    with pytest.raises(NotTheSame):
        exchange(_made(GATHER), _made(GATHER.replace(old, new)))


def test_what_is_overwritten_stays_inside() -> None:
    old = _made(GATHER.replace("c[k]", "c[i]"))
    assert not exchange(old, _made(GATHER.replace("c[k]", "c[i + 1]"))).claims
    with pytest.raises(UserError):
        exchange(old, _made(GATHER.replace("c[k]", "c[i + 3]")))
