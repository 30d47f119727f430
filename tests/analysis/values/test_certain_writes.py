"""Steps on writes under conditions that are data, compared as writes of what they choose."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import CannotProve, IllegalStep, NotTheSame
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged, prove
from tests.oracle.cases import kernel

_DATA = (
    pg.GlobalArg("out, a", "float64", "n"),
    pg.GlobalArg("c", "int32", "n"),
)


def _one(text: str) -> Kernel:
    with pg.without_proofs():
        return kernel("{ [i]: 0<=i<n }", text, *_DATA)


_OLD = "out[i] = a[i]  {id=s, if=c[i] > 0}\nout[i] = 2*a[i]  {id=r, if=c[i] > 3, dep=s}"
_BUFFERED = (
    "<float64> t = out[i]  {id=t, dep=*}\n"
    "t = a[i]  {id=s, if=c[i] > 0, dep=t}\n"
    "t = 2*a[i]  {id=r, if=c[i] > 3, dep=s}\n"
    "out[i] = t  {id=u, dep=r}"
)


def test_right() -> None:
    prove("step", _one(_OLD), Rearranged(_one(_BUFFERED)))
    prove("step", _one(_BUFFERED), Rearranged(_one(_OLD)))


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("c[i] > 0", "c[i] >= 0"),
        ("c[i] > 3", "c[i] > 3 and i > 0"),
        ("t = a[i]", "t = -a[i]"),
        ("t = out[i]", "t = a[i]"),
        ("out[i] = t  {id=u, dep=r}", "out[i] = t  {id=u, dep=r, if=c[i] > 0}"),
        ("out[i] = t  {id=u, dep=r}", "out[i] = t  {id=u, dep=*:s}"),  # r comes when it likes
        # The other one comes last.
        ("{id=s, if=c[i] > 0, dep=t}", "{id=s, if=c[i] > 0, dep=*:r}"),
        ("<float64> t", "<float32> t"),
    ],
)
def test_wrong(was: str, now: str) -> None:
    text = _BUFFERED.replace(was, now)
    assert text != _BUFFERED
    if "dep=*:r" in now:
        text = text.replace("if=c[i] > 3, dep=s", "if=c[i] > 3, dep=*:t").replace(
            "dep=r}", "dep=s}"
        )
    old, new = _one(_OLD), _one(text)
    with pytest.raises((CannotProve, IllegalStep, NotTheSame)):
        prove("step", old, Rearranged(new))


def test_work_items_that_never_write_both() -> None:
    """Nothing orders the two, and nothing has to: but what they choose is written by both."""
    text = "out[i] = a[i]  {id=s, if=c[i] > 0}\nout[i] = 2*a[i]  {id=r, if=not c[i] > 0, dep=*}"
    old, new = _one(text), _one(text.replace("2*a[i]", "3*a[i]"))
    prove("step", old, Rearranged(old.copy(name="other")))
    with pytest.raises((CannotProve, IllegalStep, NotTheSame)):
        prove("step", old, Rearranged(new))
