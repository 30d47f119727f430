"""Loops as long as data says: steps may move and divide them; none may get longer or shorter."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import polygen as pg
from polygen.errors import UserError
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import transformation
from tests.few import few
from tests.oracle.cases import kernel
from tests.oracle.compare import make_arguments
from tests.oracle.evaluate import OracleError
from tests.oracle.interpreter import interpret
from tests.proof.exchange import exchange
from tests.proof.judge import Call, judge
from tests.proof.patterns import array, move, prior, rename, scalar, split, tag, take

LIMITS = {"m": 9, "q": 9}
CALLS: list[Call] = [({"n": n}, seed) for seed, n in enumerate((0, 1, 5, 7, 8))]
DATA = (
    *(pg.TemporaryVariable(name, "int32") for name in ("count", "other")),
    array("m", "n", dtype="int32"),
    array("q", "9", dtype="int32"),
    *(array(name, "9") for name in "xz"),
    *(array(name, "n") for name in "sy"),
    scalar("t"),
    pg.TemporaryVariable("v", "float64", (9,)),
    "...",
)
DOMAINS = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<count }"]

# What is added up is computed in the loop of the sum.
SHARED = """
    count = m[i]        {id=count, dep=*}
    t = 2*x[j]          {id=t, inames=i:j, dep=*count}
    y[i] = sum(j, t)    {id=y, inames=i, dep=*t:count}
    """
ALONE = """
    count = m[i]                {id=count, dep=*}
    y[i] = sum(j, x[j]*z[j])    {id=y, inames=i, dep=*count}
    """
# A loop in it is as long as other data says.
INSIDE = "{ [k]: 0<=k<other }"
NESTED = """
    count = m[i]                   {id=count, dep=*}
    other = q[j]                   {id=other, inames=i:j, dep=*count}
    s[i] = s[i] + sum(k, x[k])     {id=s, inames=i:j, dep=*count:other}
    """
# A row is stored in one loop and used in another one.
OTHER = "{ [k]: 0<=k<count }"
ROW = """
    count = m[i]                    {id=count, dep=*}
    v[j] = x[j] + i                 {id=v, inames=i:j, dep=*count}
    y[i] = sum(k, v[k]*z[k])        {id=y, inames=i, dep=*count:v}
    """
STEPS = {
    "split": (split("i", 4),),
    "split on axes": (split("i", 4, "g.0", "l.0"),),
    "downward": (move("[i] -> [r] : r = n - 1 - i"),),
    "renamed": (rename("i", "row"),),
    "both": (split("i", 2), split("j", 4)),
    "inside": (split("j", 3, None, "unr"),),
    "moved inside": (move("[j] -> [p] : p = j + 2"), tag(i="g.0")),
    "inside downward": (move("[j] -> [p] : p = 8 - j"),),
    "parts in order": (split("i", 2), prior("i_outer, i_inner, j")),
}


def made(lines: str, *domains: str, proofs: bool = True) -> Kernel:
    """Return a kernel."""
    text = "\n".join(map(str.strip, lines.strip().splitlines()))
    with nullcontext() if proofs else pg.without_proofs():
        return kernel([*DOMAINS, *domains], text, *DATA)


KERNELS = {"shared": (SHARED,), "alone": (ALONE,), "nested": (NESTED, INSIDE), "row": (ROW, OTHER)}


# The one that adds up in the loop itself has to keep its order.
LEGAL = [(w, name) for w in KERNELS for name in STEPS if (w, name) != ("nested", "inside downward")]


@few(15, ("which", "name"), LEGAL)
def test_steps_that_are_accepted(which: str, name: str) -> None:
    knl = new = made(*KERNELS[which])
    for call in STEPS[name]:
        new = take(new, call)
    assert not new.claims
    verdict = judge(knl, new, CALLS, LIMITS, seeds=3)
    assert verdict.differs is None
    assert verdict.calls == len(CALLS)


TWICE = (
    NESTED.replace("id=other, ", "id=first, ").replace("count:other}", "count:first:other}")
    + "other = m[i] {id=other, inames=i:j, dep=*first}"
)
ILLEGAL: dict[str, tuple[str, str, str]] = {
    "one iteration more": (SHARED, "j<count", "j<count+1"),
    "one iteration less": (SHARED, "j<count", "j<count-1"),
    "all iterations but one": (SHARED, "0<=j<count", "0<=j<count and j != 2"),
    "one more, alone": (ALONE, "j<count", "j<count+1"),
    "other data": (SHARED, "count = m[i]", "count = q[i]"),
    "data of another iteration": (ALONE, "count = m[i]", "count = m[n-1-i]"),
    "a scalar that is computed otherwise": (ALONE, "count = m[i]", "count = m[i]//2"),
    "a row of which more is read": (ROW, "k<count", "k<count+1"),
    "a row of which less is written": (ROW, "j<count", "j<count-1"),
    "a row that is read downward": (ROW, "v[k]", "v[8-k]"),
    "an inner loop of other data": (NESTED, "other = q[j]", "other = q[0*j]"),
    "an inner loop by the outer one's": (NESTED, "k<other", "k<count"),
    "another writer that comes last": (
        TWICE, "id=other, inames=i:j, dep=*first", "id=other, inames=i:j, dep=*count"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ILLEGAL)
def test_other_loops_are_refused(name: str) -> None:
    lines, old, new = ILLEGAL[name]
    domains = [INSIDE] if "other" in lines else [OTHER] if lines == ROW else []
    before = made(lines, *domains, proofs=False)
    changed = lines.replace(old, new)
    if name == "another writer that comes last":
        changed = changed.replace(
            "id=first, inames=i:j, dep=*count", "id=first, inames=i:j, dep=*other"
        )
    with pg.without_proofs():
        after = kernel(
            [d.replace(old, new) for d in (*DOMAINS, *domains)],
            "\n".join(map(str.strip, changed.strip().splitlines())),
            *DATA,
        )
    with pytest.raises(UserError):
        exchange(before, after)
    assert judge(before, after, CALLS, LIMITS).differs is not None


def test_a_loop_is_not_divided_by_what_is_not_divisible() -> None:
    """The pieces leave out what is left over."""

    @transformation
    def divide(knl: Kernel) -> Rearranged:
        """Divide the inner loop by 4, without what is left over."""
        with pg.without_proofs():
            new = pg.split_iname(knl, "j", 4)
            domains = [str(d).replace("4j_outer", "4j_outer + 3 - j_inner") for d in new.domains]
            text = str(new)
            for was, now in zip(new.domains, domains, strict=True):
                text = text.replace(str(was), now)
            new = pg.parse_kernel(text)
        j = ex.Sum((ex.Product((4, ex.Variable("j_outer"))), ex.Variable("j_inner")))
        return Rearranged(knl.copy(domains=new.domains, instructions=new.instructions), {"j": j})

    knl = made(SHARED)
    with pytest.raises(UserError):
        divide(knl)
    assert judge(knl, divide(knl, unsafe=True), CALLS, LIMITS).differs  # type: ignore[call-arg]


def test_rows_that_work_items_share() -> None:
    """As many work items as data says store a row, and as many use it."""
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<count and j<4 }", "{ [k]: 0<=k<count and k<4 }"]
    lines = """
        count = m[i]          {id=count, dep=*}
        v[j] = x[j] + i       {id=v, inames=i:j, dep=*count}
        z[i,k] = v[k]         {id=z, inames=i:k, dep=*count:v}
        """
    data = (
        pg.TemporaryVariable("count", "int32"),
        pg.TemporaryVariable("v", "float64", (9,), pg.AddressSpace.LOCAL),
        array("m", "n", dtype="int32"),
        array("x", "9"),
        array("z", "n", "9"),
        "...",
    )
    knl = kernel(domains, "\n".join(map(str.strip, lines.strip().splitlines())), *data)
    new = pg.tag_inames(knl, {"i": "g.0", "j": "l.0", "k": "l.0"})
    verdict = judge(knl, new, CALLS, LIMITS)
    assert verdict.differs is None
    assert verdict.calls == len(CALLS)
    assert "barrier" in str(pg.generate_code(new, "opencl"))
    with pytest.raises(pg.errors.CannotProve):  # then all share one row
        pg.tag_inames(knl, {"i": "l.0"})


# --- what such loops certainly write


@pytest.mark.parametrize(("limit", "owes"), [("count[i]", True), ("count[4]", False)])
def test_what_another_iteration_wrote_is_there_if_its_loop_ran_as_long(
    limit: str, owes: bool
) -> None:
    """Each iteration reads what the one before wrote, in a loop that data bounds."""
    lines = [
        f"m = {limit} {{id=m, inames={'i' if owes else ''}, dep=*}}",
        "out[i,j] = t[j] {id=out, inames=i:j, dep=*m, if=i>0}",
        "t[j] = a[i,j] {id=t, inames=i:j, dep=*m:out}",
    ]
    data = (
        pg.TemporaryVariable("m", "int32"),
        pg.TemporaryVariable("t", "float64", (9,)),
        *(array(name, "n", "9") for name in ("a", "out")),
        array("count", "n", dtype="int32"),
        "...",
    )
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"]
    knl = kernel(domains, "\n".join(lines), *data, loop_priority="i, j", assumptions="n >= 5")
    found = [(o.kind, o.array) for o in pg.obligations(knl)]
    assert (("written", "t") in found) is owes
    counts = np.array([1, 3, 3, 3, 3], np.int32)
    arguments = make_arguments(knl, {"n": 5}, count=counts)
    if owes:
        with pytest.raises(OracleError, match="before it is written"):
            interpret(knl, arguments)
    else:
        out = interpret(knl, arguments).arrays["out"]
        np.testing.assert_array_equal(out[1:, :3], arguments["a"][:-1, :3])


ROWS = """
    m = count[i]            {id=m, inames=i, dep=*}
    t[j] = a[i,j]           {id=t, inames=i:j, dep=*m}
    out[i,k] = t[k]         {id=out, inames=i:k, dep=*m:t}
    """
# What is replaced in these lines and bounds; and counts with which something is read too early.
LENGTHS: dict[str, tuple[tuple[tuple[str, str], ...], tuple[int, ...] | None]] = {
    "as long": ((), None),
    "shorter": ((("k<m", "k<m-1"),), None),
    "from further on": ((("0<=k<m", "2<=k<m"),), None),
    "downward": ((("t[k]", "t[m2-1-k]"), ("k<m", "k<m2")), None),
    "half": ((("k<m", "2*k<m"), ("t[k]", "t[2*k]")), None),
    "longer": ((("k<m", "k<=m"),), (3, 3, 3)),
    "written from further on": ((("0<=j<m", "1<=j<m"),), (3, 3, 3)),
    "written less": ((("j<m", "j<m-1"),), (3, 3, 3)),
    "the bound is overwritten in between": (
        (("dep=*m:t}", "dep=*n}\nm = 4  {id=n, inames=i, dep=*t}"),), (3, 3, 3)
    ),
    "the bound is of the iteration before": (
        (
            ("m = count[i]            {id=m, inames=i, dep=*}", "m = 1 {id=o, inames=, dep=*}"),
            ("dep=*m}", "dep=*o}"),
            ("dep=*m:t}", "dep=*m}\nm = count[i] {id=m, inames=i, dep=*o:t}"),
        ),
        (3, 3, 3),
    ),
    "read in the next iteration": (
        (("dep=*m}", "dep=*m:out}"), ("dep=*m:t}", "dep=*m, if=i>0}")), (1, 3, 3)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LENGTHS)
def test_loops_that_one_scalar_bounds(name: str) -> None:
    """A row is written in one loop and read in another; nobody else has to say that it was."""
    texts, counts = LENGTHS[name]
    whole = "\n".join(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }", "{ [k]: 0<=k<m }", ROWS])
    for old, new in texts:
        assert old in whole
        whole = whole.replace(old, new)
    *domains, lines = whole.split("\n", 3)
    if "m2" in lines:
        lines = lines.replace("t[j] = ", "m2 = count[i] {id=m2, inames=i, dep=*}\nt[j] = ")
        lines = lines.replace("dep=*m:t}", "dep=*m:t:m2}")
    data = (
        *(pg.TemporaryVariable(x, "int32") for x in ("m", "m2")),
        pg.TemporaryVariable("t", "float64", (9,)),
        *(array(x, "n", "9") for x in ("a", "out")),
        array("count", "n", dtype="int32"),
        "...",
    )
    lines = "\n".join(map(str.strip, lines.strip().splitlines()))
    knl = kernel(domains, lines, *data, loop_priority=("i, j", "i, k"))
    owes = ("written", "t") in [(o.kind, o.array) for o in pg.obligations(knl)]
    assert owes is (counts is not None or "m2" in whole)
    if counts is not None:
        arguments = make_arguments(knl, {"n": 3}, count=np.array(counts, np.int32))
        with pytest.raises(OracleError, match="before it is written"):
            interpret(knl, arguments)
