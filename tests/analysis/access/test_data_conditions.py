"""Conditions that data decides once for a whole run: steps are proved whichever of them hold."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.data_conditions import with_cases
from polygen.errors import CannotProve, NewObligation, UserError
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.oracle.evaluate import OracleError
from tests.oracle.interpreter import interpret
from tests.proof.exchange import exchange
from tests.proof.patterns import array
from tests.proof.test_what_data_decides import LOOP, PLANE, Case

FLAGS = (0, 1, 2)  # what is in the first element of `flag`; 1 in the others
DATA = (
    pg.TemporaryVariable("v", "float64", (9,)),
    pg.TemporaryVariable("s", "float64"),
    *(array(name, "9") for name in ("a", "b", "out")),
    array("flag", "9", dtype="int32"),
    pg.ValueArg("x", "float64"),
    "...",
)


def _made(lines: str, *domains: str) -> Kernel:
    """Return a kernel, well formed or not."""
    with pg.without_proofs():
        return pg.make_kernel([*domains], "\n".join(map(str.strip, lines.splitlines())), [*DATA])


def _kernels(case: Case) -> tuple[Kernel, Kernel]:
    after = case.before
    for old, new in case.texts:
        assert old in after
        after = after.replace(old, new)
    return _made(case.before, *case.domains), _made(after, *case.domains)


def _left(knl: Kernel, first: int, seed: int) -> dict[str, list[float]]:
    """Execute a kernel; return what it leaves, or nothing if that is not determined."""
    numbers = np.random.default_rng(first)
    arguments = {name: numbers.integers(-9, 9, 9).astype(float) for name in ("a", "b", "out")}
    flag = np.array([first, *[1] * 8], np.int32)
    given = {**arguments, "flag": flag, "x": first - 0.5}
    given = {n: v for n, v in given.items() if n in knl.variables}
    return {n: list(a) for n, a in interpret(knl, given, seed).arrays.items()}


def _do_the_same(old: Kernel, new: Kernel) -> bool:
    try:
        return all(_left(old, f, 0) == _left(new, f, seed) for f in FLAGS for seed in range(3))
    except OracleError:  # what is read is not determined
        return False


OVER = """
    s = b[0]       {id=t, dep=*}
    s = a[i]       {id=u, dep=*t, inames=i, if=flag[0]>1}
    out[0] = s     {id=out, dep=*u:t}
    """
BUFFER = """
    v[i] = a[i]             {id=t, dep=*}
    v[i] = v[i] + b[i]      {id=u, dep=*t, if=flag[0]>1}
    a[i] = v[i]             {id=out, dep=*u}
    """
NEST = """
    s = b[0]               {id=t, dep=*}
    s = a[i] + b[j]        {id=u, dep=*t, inames=i:j, if=flag[0]>1}
    s = b[i] + 3           {id=w, dep=*u:t, inames=i}
    out[0] = s             {id=out, dep=*w}
    """
SAME: dict[str, Case] = {
    "another place": Case(OVER, (("s = ", "v[2] = "), ("= s", "= v[2]"))),
    "a buffer that is gone": Case(
        BUFFER,
        (
            ("v[i] = a[i]             {id=t, dep=*}", ""),
            ("v[i] = v[i] + b[i]      {id=u, dep=*t, if=flag[0]>1}", ""),
            ("a[i] = v[i]             {id=out, dep=*u}", "a[i] = a[i] + b[i] {if=flag[0]>1}"),
        ),
    ),
    "a condition on a scalar": Case(
        OVER.replace("flag[0]>1", "x>0"), (("s = ", "v[2] = "), ("= s", "= v[2]"))
    ),
    "one of several conditions": Case(
        OVER.replace("flag[0]>1", "flag[1]>0 and not (flag[0]>1 or i>3)"),
        (("s = ", "v[2] = "), ("= s", "= v[2]")),
    ),
}
OTHER: dict[str, Case] = {
    "the other condition": Case(OVER, (("flag[0]>1", "flag[1]>1"),)),
    "an element that is not always written": Case(OVER, (("id=t", "id=t, if=flag[0]>0"),)),
    "the wrong place": Case(OVER, (("s = a", "v[2] = a"), ("= s", "= v[2]"))),
    "a condition that is written": Case(
        OVER.replace("flag[0]>1", "b[0]>1") + "b[0] = 2 {id=b, dep=*u}",
        (("id=b, dep=*u", "id=b, dep=*t"), ("dep=*t, inames", "dep=*b, inames")),
    ),
    "a buffer without a start": Case(BUFFER, (("v[i] = a[i] ", "v[i] = b[i] "),)),
    "the first of several": Case(OVER, (("a[i]", "a[7-i]"),)),
    "the other choice": Case(
        OVER.replace("a[i] ", "if(flag[0]>0, a[i], b[8]) ").replace(", if=flag[0]>1", ""),
        (("if(flag[0]>0, a[i], b[8])", "if(flag[0]>0, b[8], a[i])"),),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_whichever_holds(name: str) -> None:
    old, new = _kernels(SAME[name])
    assert not exchange(old, new).claims
    assert _do_the_same(old, new)


@pytest.mark.parametrize("name", OTHER)
def test_what_differs_in_one_case_is_refused(name: str) -> None:
    old, new = _kernels(OTHER[name])
    with pytest.raises(UserError):
        exchange(old, new)
    assert not _do_the_same(old, new)


def test_loops_whose_nest_is_open() -> None:
    old = _made(NEST, *PLANE)
    own = pg.duplicate_inames(old, "i", "w")
    assert _do_the_same(old, own)
    carried = _made(NEST.replace("b[i] + 3", "s + 3"), *PLANE)
    with pytest.raises(CannotProve):
        pg.duplicate_inames(carried, "i", "w")
    with pg.without_proofs():
        assert not _do_the_same(carried, pg.duplicate_inames(carried, "i", "w"))


def test_a_buffer_of_what_may_not_be_written() -> None:
    knl = _made("a[i + 1] = a[i] + 1 {id=u, if=flag[3]>1}", *LOOP)
    new = pg.buffer_array(knl, "a", [], default_tag=None)
    assert _do_the_same(knl, new)
    with pytest.raises(UserError):
        pg.tag_inames(knl, {"i": "l.0"})


def test_what_is_read_ahead_of_its_condition_is_still_owed() -> None:
    lines = "<> k = flag[x_at[0]] {{id=k{}}}\nout[i] = a[i] + if(flag[3]>0, {}, 0) {{id=out{}}}"
    at = [array("x_at", "1", dtype="int32"), *DATA]
    guarded = pg.make_kernel(LOOP, lines.format("", "flag[x_at[0]]", "").split("\n")[1], at)
    ahead = lines.format(", dep=*", "k", ", dep=*k").replace("<> k", "k")
    temporary = pg.TemporaryVariable("k", "int32")
    with pg.without_proofs():
        new = pg.make_kernel(LOOP, ahead, [temporary, *at])
    with pytest.raises(NewObligation, match=r"flag\[x_at\[0\]\] is inside"):
        exchange(guarded, new)


# --- what stands for a condition


def _cases(before: str, after: str) -> tuple[str, str] | None:
    """Return the text of two instructions with parameters for conditions, or None."""
    found = with_cases(_made(before, *LOOP), _made(after, *LOOP))
    if found is None:
        return None
    return _line(found[0]), _line(found[1])


def _line(knl: Kernel) -> str:
    (insn,) = knl.instructions
    assert isinstance(insn, pg.Assignment)
    conditions = ", ".join(show_expression(p) for p in insn.predicates)
    return f"{show_expression(insn.expression)} if {conditions}"


ONE = "out[i] = {} {{id=w, dep=*, if={}}}"


@pytest.mark.parametrize(
    ("value", "condition", "line"),
    [
        ("a[i]", "flag[0]>1", "a[i] if case > 0"),
        ("a[i]", "x>0", "a[i] if case > 0"),
        ("a[i]", "flag[0]>1 and i<3", "a[i] if case > 0 and i < 3"),
        ("a[i]", "not (flag[0]>1 or i<3)", "a[i] if not (case > 0 or i < 3)"),
        ("a[i]", "flag[0]>1 or flag[1]>1", "a[i] if case > 0 or case_0 > 0"),
        ("if(x>0, a[i], b[i])", "x>0", "if(case > 0, a[i], b[i]) if case > 0"),
        ("if(x>0 or i>2, a[i], b[i])", "i>2", "if(case > 0 or i > 2, a[i], b[i]) if i > 2"),
    ],
)
def test_parameters_for_conditions(value: str, condition: str, line: str) -> None:
    text = ONE.format(value, condition)
    found = _cases(text, text)
    assert found == (line, line)


@pytest.mark.parametrize("condition", ["flag[i]>0", "i>2", "out[0]>0", "sum(j, b[j])>0"])
def test_conditions_that_are_not_decided_once(condition: str) -> None:
    """They are others in each iteration, known, of what is written, or a reduction."""
    domains = "{ [i, j]: 0<=i<8 and 0<=j<4 }"
    knl = _made(ONE.format("a[i]", condition), domains)
    assert with_cases(knl, knl) is None


def test_conditions_on_sizes_are_sets_already() -> None:
    knl = _made(ONE.format("a[i]", "m>3"), "{ [i]: 0<=i<m and i<8 }")
    assert with_cases(knl, knl) is None


def test_one_name_for_one_condition_in_both_kernels() -> None:
    before, after = ONE.format("a[i]", "flag[0]>1"), ONE.format("a[i]", "flag[1]>1")
    assert _cases(before, after) == ("a[i] if case > 0", "a[i] if case_0 > 0")
    assert _cases(before, before) == ("a[i] if case > 0", "a[i] if case > 0")
    both = with_cases(_made(before, *LOOP), _made(after, *LOOP))
    assert both is not None
    for knl in both:
        added = [a for a in knl.arguments if a.name.startswith("case")]
        assert [(a.name, a.dtype) for a in added] == [
            ("case", np.dtype(np.int64)),
            ("case_0", np.dtype(np.int64)),
        ]


def test_what_one_of_the_kernels_writes_is_not_decided_once() -> None:
    old = _made(ONE.format("a[i]", "flag[0]>1"), *LOOP)
    new = _made(ONE.format("a[i]", "flag[0]>1") + "\nflag[0] = 1 {id=f, dep=w, inames=}", *LOOP)
    assert with_cases(old, new) is None
