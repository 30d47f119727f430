"""Reads of two kernels: by where what they see was written."""

from __future__ import annotations

import pytest

from polygen.analysis.dataflow.comparison_context import Names
from polygen.analysis.dataflow.computed_difference import Difference
from polygen.language.parser import parse_expression
from tests.analysis.values.compared import LOOP, made, matcher, same_instances
from tests.proof.judge import judge

# Instruction r stores what is compared: what it reads in a kernel before and in one after a step.
PLAIN = "out[i] = a[i] {id=r, dep=*}"
COPY = "v[i] = a[i] {id=w, dep=*}\nout[i] = v[i] {id=r, dep=*w}"
TWICE = "s = a[i] {id=c, dep=*}\nv[i] = s {id=w, dep=*c}\nout[i] = v[i] {id=r, dep=*w}"
LATER = "v[i] = a[i] {id=w, dep=*}\nv[i] = b[i] {id=u, dep=*w}\nout[i] = v[i] {id=r, dep=*w:u}"
FIRST = "v[i] = b[i] {id=u, dep=*}\nv[i] = a[i] {id=w, dep=*u}\nout[i] = v[i] {id=r, dep=*w:u}"
SOME = "b[i] = a[i] {id=w, dep=*, if=i<4}\nout[i] = b[i] {id=r, dep=*w}"
DATA = (
    "v[0] = b[i] {id=w, dep=*}\nv[0] = a[i] {id=u, dep=*w, if=p[i]>0}\nout[i] = v[0] {id=r, dep=*u}"
)
RUN = """\
v[0] = 0 {id=z, dep=*, inames=}
v[i + 1] = v[i] + a[i] {id=w, dep=*z}
out[i] = v[i + 1] {id=r, dep=*w}"""


def _both(old: str, new: str, domain: str = LOOP) -> Difference | None:
    """Compare what instruction r reads in two kernels."""
    before, after = made(old, domain), made(new, domain)
    names = Names()
    at = same_instances(before, after, "r", names)
    nodes = [k.assignment("r").values[0] for k in (before, after)]
    return matcher(before, after, names).reads.difference(nodes[0], nodes[1], at)


SAME = [
    (PLAIN, PLAIN),
    (PLAIN, COPY),  # a copy that one kernel makes
    (PLAIN, COPY.replace("v[i]", "v[8 - i]")),
    (PLAIN, TWICE),  # a copy of a copy
    (COPY, TWICE.replace("=c", "=d").replace("*c", "*d")),
    (COPY, COPY.replace("v[i]", "v[7 - i]")),  # one that both make, elsewhere
    # all sums so far: other places, by the instances that wrote them
    (RUN, RUN.replace("v[0]", "v[9]").replace("v[i + 1]", "v[8 - i]").replace("v[i]", "v[9 - i]")),
    (COPY, FIRST),  # what was overwritten before
    (SOME, SOME.replace("i<4", "2*i<8")),
    (SOME, SOME.replace(", if=i<4", "").replace("a[i]", "if(i<4, a[i], b[i])").replace("=w", "=n")
        .replace("*w", "*n")),
    (DATA, DATA),
    (DATA, DATA.replace("v[0]", "v[i]")),  # data decides which write is seen, in the same way
    (PLAIN.replace("a[i]", "a[idx[i]]"), PLAIN.replace("a[i]", "a[idx[2*i - i]]")),
]  # fmt: skip
OTHER = [
    (PLAIN, PLAIN.replace("a[i]", "b[i]")),
    (PLAIN, PLAIN.replace("a[i]", "a[7 - i]")),
    (PLAIN, COPY.replace("a[i]", "b[i]")),
    (PLAIN, COPY.replace("v[i] =", "v[7 - i] =")),
    (COPY, COPY.replace("v[i] {id=r", "v[7 - i] {id=r")),
    (RUN, RUN.replace("= v[i + 1]", "= v[i]")),
    (COPY, LATER),
    (SOME, SOME.replace("i<4", "i<5")),
    (DATA, DATA.replace("p[i]>0", "p[i]>1").replace("=u", "=n").replace("*u", "*n")),
    (DATA, DATA.replace("v[0] = a", "v[i] = a").replace("= v[0]", "= v[i]")),
    (PLAIN.replace("a[i]", "a[idx[i]]"), PLAIN.replace("a[i]", "a[idx[7 - i]]")),
]
CALLS = [({"x": 2}, 0)]
LIMITS = {"idx": 8}


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_is_seen(old: str, new: str) -> None:
    assert _both(old, new) is None
    assert _both(new, old) is None
    verdict = judge(made(old), made(new), CALLS, LIMITS, 1)
    assert verdict.differs is None


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_something_else_is_seen(old: str, new: str) -> None:
    assert _both(old, new) is not None
    assert _both(new, old) is not None
    assert judge(made(old), made(new), CALLS, LIMITS, 1).differs is not None


def test_the_two_writes_are_named() -> None:
    found = _both(FIRST, LATER)
    assert found is not None
    assert (found.insn_id, found.name, found.certain) == ("r", "v", True)
    assert found.before is not None
    assert found.now is not None
    assert (found.before.insn_id, found.now.insn_id) == ("w", "u")
    assert found.reader is not None
    assert found.point is not None
    at = {one.names["i"] for one in (found.reader, found.before, found.now)}
    assert len({found.point[name] for name in at}) == 1  # all in one iteration


def test_what_data_decides_is_not_certain() -> None:
    found = _both(DATA, PLAIN)
    assert found is not None
    assert (found.name, found.certain) == ("v", False)
    assert "depends on data" in found.what


def test_nowhere_the_same_is_seen() -> None:
    never = "{ [i]: 0<=i<0 }"
    assert _both(PLAIN, COPY.replace("a[i]", "b[i]"), never) is None


def test_the_same_element() -> None:
    knl = made(PLAIN)
    names = Names()
    at = same_instances(knl, knl, "r", names)
    reads = matcher(knl, knl, names).reads

    def differs(old: str, new: str) -> bool:
        return reads.same_element(parse_expression(old), parse_expression(new), at) is not None

    assert not differs("a[2*i, idx[i]]", "a[i + i, idx[i]]")
    assert not differs("a", "a")
    assert differs("a[i, 1]", "a[i]")
    assert differs("a[i]", "a[i + 1]")
    assert differs("a[i, idx[i]]", "a[i, idx[0]]")
    found = reads.same_element(parse_expression("a[i]"), parse_expression("a[min(i, 5)]"), at)
    assert found is not None
    assert found.point in ({"__0_i": 6}, {"__0_i": 7})
