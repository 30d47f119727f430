"""Loops as long as data says: steps may move and divide them; none may get longer or shorter."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import polygen as pg
from polygen.errors import UserError
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import transformation
from tests.oracle.cases import kernel
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


@pytest.mark.parametrize(("which", "name"), LEGAL)
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
