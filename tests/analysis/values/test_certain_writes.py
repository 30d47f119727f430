"""Steps on writes under conditions that are data, compared as writes of what they choose."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.values.certain_writes import with_choices
from polygen.errors import CannotProve, IllegalStep, NotTheSame
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
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


# --- what is written instead

INSTEAD: list[tuple[str, str, str, list[str]]] = [
    ("out[i] = a[i]", "c[i] > 0", "out[i] = if(c[i] > 0, a[i], out[i])", []),
    ("out[i] = a[i]", "c[i] > 0 and i < 3", "out[i] = if(c[i] > 0, a[i], out[i])", ["i < 3"]),
    (
        "out[i] = a[i]",
        "c[i] > 0 and c[0] > 1",
        "out[i] = if(c[i] > 0 and c[0] > 1, a[i], out[i])",
        [],
    ),
    ("out[i] = a[i]", "i < 3", "out[i] = a[i]", ["i < 3"]),  # no data has a say in it
    ("f[i] = a[i]", "c[i] > 0", "f[i] = a[i]", ["c[i] > 0"]),  # it would be rounded twice
    ("out[i] = out[i] + a[i] {atomic}", "c[i] > 0", "out[i] = out[i] + a[i]", ["c[i] > 0"]),
    ("t = a[i]", "c[i] > 0", "t = a[i]", ["c[i] > 0"]),  # t may have no value before
    ("<float64> s = 0 {id=s, dep=*}\ns = a[i]", "c[i] > 0", "s = if(c[i] > 0, a[i], s)", []),
]


@pytest.mark.parametrize(("text", "condition", "instead", "left"), INSTEAD)
def test_what_is_written_instead(text: str, condition: str, instead: str, left: list[str]) -> None:
    *first, last = text.split("\n")
    line = f"{last}{'' if '{' in last else ' {}'}".replace("{", "{id=w, dep=*, ")
    line = f"{line[:-1].removesuffix(', ')}, if={condition}}}"
    knl = _wide("\n".join([*first, line]))
    other = _wide("out[i] = 2*a[i] {if=c[i] > 0}")
    both = with_choices(knl, other)
    if instead == last.split("  {")[0].split(" {")[0]:
        assert both is None
        return
    assert both is not None
    insn = both[0].instruction("w")
    assert isinstance(insn, pg.Assignment)
    shown = f"{show_expression(insn.assignee)} = {show_expression(insn.expression)}"
    assert shown == instead
    assert [show_expression(p) for p in insn.predicates] == left


def test_both_kernels_need_such_writes() -> None:
    knl, plain = _wide("out[i] = a[i] {if=c[i] > 0}"), _wide("out[i] = a[i]")
    assert with_choices(knl, knl) is not None
    assert with_choices(knl, plain) is None
    assert with_choices(plain, knl) is None


def _wide(text: str) -> Kernel:
    more = pg.TemporaryVariable("t", "float64"), pg.GlobalArg("f", "float32", "n")
    with pg.without_proofs():
        return kernel("{ [i]: 0<=i<n }", text, *_DATA, *more)
