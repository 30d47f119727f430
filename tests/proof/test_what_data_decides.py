"""Temporaries that are written or read where data says: where they are may change, no value may."""

from __future__ import annotations

from dataclasses import dataclass

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
from tests.proof.patterns import array, scalar

LOOP = ["{ [i]: 0<=i<8 }"]
PLANE = ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<4 }"]
DATA = (
    pg.TemporaryVariable("v", "float64", (9,)),
    pg.TemporaryVariable("c", "int32", (9,)),
    *(pg.TemporaryVariable(name, "int32") for name in "kl"),
    *(array(name, "9") for name in ("b", "p", "out")),
    array("a", "30"),
    array("idx", "9", dtype="int32"),
    "...",
)
LIMITS = {"idx": 9}
CALLS: list[Call] = [({}, seed) for seed in range(6)]


def made(lines: str, domains: list[str]) -> Kernel:
    """Return a kernel, well formed or not."""
    with pg.without_proofs():
        return kernel(domains, "\n".join(map(str.strip, lines.strip().splitlines())), *DATA)


@dataclass(frozen=True)
class Case:
    """Two kernels.

    Attributes:
        before: the lines of the one.
        texts: what is replaced in them, and by what, to get those of the other.
        domains: of both.
    """

    before: str
    texts: tuple[tuple[str, str], ...]
    domains: tuple[str, ...] = tuple(LOOP)

    def kernels(self) -> tuple[Kernel, Kernel]:
        """Return both."""
        after = self.before
        for old, new in self.texts:
            assert old in after
            after = after.replace(old, new)
        return made(self.before, list(self.domains)), made(after, list(self.domains))


STORED = """
    v[i] = b[i]    {id=t, dep=*, if=p[i]>0}
    out[i] = v[i]  {id=out, dep=*t, if=p[i]>0}
    """
ASKED = """
    v[i] = b[i]                        {id=t, dep=*}
    out[i] = if(p[i]>0, v[i], 0)       {id=out, dep=*t}
    """
DEFAULT = """
    v[0] = b[i]    {id=t, dep=*}
    v[0] = a[i]    {id=u, dep=*t, if=p[i]>0}
    out[i] = v[0]  {id=out, dep=*u}
    """
SEVERAL = """
    v[0] = b[i]       {id=t, dep=*, inames=i}
    v[0] = b[j] + i   {id=u, dep=*t, inames=i:j, if=p[j]>0}
    out[i] = v[0]     {id=out, dep=*u, inames=i}
    """
AT = """
    c[i] = idx[i]        {id=c, dep=*}
    a[c[i]] = b[i]       {id=a, dep=*c}
    """

SUMS = """
    k = idx[0]                    {id=k, dep=*}
    l = idx[1]                    {id=l, dep=*}
    out[i] = a[k + 2*l + i//4]    {id=out, dep=*k:l}
    """

SAME: dict[str, Case] = {
    "a sum in another order": Case(SUMS, (("k + 2*l + i//4", "i//4 + 2*l + k"),)),
    "a sum of other parts": Case(SUMS, (("i//4]", "(i+4)//4 - 1]"),)),
    "other elements": Case(STORED, (("v[i]", "v[8-i]"),)),
    "one element for all": Case(STORED, (("v[i]", "v[3]"),)),
    "read under conditions": Case(ASKED, (("v[i]", "v[8-i]"),)),
    "a default": Case(DEFAULT, (("v[0]", "v[i]"),)),
    "a default, shared": Case(DEFAULT.replace("v[0]", "v[i]"), (("v[i]", "v[0]"),)),
    "the last of several": Case(SEVERAL, (("v[0]", "v[i]"),), tuple(PLANE)),
    "a subscript": Case(AT, (("c[i]", "c[8-i]"),)),
}
OTHER: dict[str, Case] = {
    "a sum of other numbers": Case(SUMS, (("k + 2*l", "2*k + l"),)),
    "a sum that is larger": Case(SUMS, (("i//4]", "(i+1)//4]"),)),
    "a sum with a scalar from elsewhere": Case(SUMS, (("idx[1] ", "idx[2] "),)),
    "written elsewhere": Case(STORED, (("v[i] = b", "v[8-i] = b"),)),
    "read elsewhere": Case(ASKED, (("0, v[i]", "0, v[max(i-1, 0)]"),)),
    "another condition": Case(DEFAULT, (("v[0]", "v[i]"), ("p[i]>0", "p[i]>1"))),
    "a default that comes last": Case(
        DEFAULT,
        (("v[0]", "v[i]"), ("id=t, dep=*", "id=t, dep=*u"), ("id=u, dep=*t", "id=u, dep=*")),
    ),
    "read too early": Case(
        DEFAULT, (("v[0]", "v[i]"), ("dep=*t, ", "dep=*out, "), ("dep=*u}", "dep=*t}"))
    ),
    "an element that is hit now": Case(
        DEFAULT.replace("v[0] = a", "v[1] = a"), (("v[1] = a", "v[0] = a"),)
    ),
    "an element that is missed now": Case(DEFAULT, (("v[0] = a", "v[1] = a"),)),
    "another subscript": Case(AT, (("a[c[i]]", "a[c[0]]"),)),
    "an argument": Case(STORED.replace("v[", "a["), (("a[i] = b", "a[8-i] = b"),)),
}


@pytest.mark.parametrize("name", SAME)
def test_where_a_temporary_is_does_not_matter(name: str) -> None:
    old, new = SAME[name].kernels()
    assert not exchange(old, new).claims
    verdict = judge(old, new, CALLS, LIMITS)
    assert verdict.differs is None
    assert verdict.calls == len(CALLS)


@pytest.mark.parametrize("name", OTHER)
def test_other_values_are_refused(name: str) -> None:
    old, new = OTHER[name].kernels()
    with pytest.raises(UserError):
        exchange(old, new)
    assert judge(old, new, CALLS, LIMITS).differs is not None


def test_the_last_of_several_that_come_in_another_order() -> None:
    @transformation
    def reverse(knl: Kernel) -> Rearranged:
        """Store what is in v for each i, and run the inner loop downward."""
        with pg.without_proofs():
            new = made(SEVERAL.replace("v[0]", "v[i]"), PLANE)
            new = pg.map_domain(new, "{ [j] -> [r] : r = 3 - j }")
        new = knl.copy(instructions=new.instructions, domains=new.domains)
        return Rearranged(new, {"j": ex.Sum((3, ex.Product((-1, ex.Variable("r")))))})

    knl = made(SEVERAL, PLANE)
    with pytest.raises(UserError):
        reverse(knl)
    unsafe = reverse(knl, unsafe=True)  # type: ignore[call-arg]
    assert judge(knl, unsafe, CALLS, LIMITS).differs is not None


CARRIED = {
    "read": "out[i] = if(p[i]>0, s, 0) {id=out, dep=*, if=i>0}\ns = b[i] {id=s, dep=*out}",
    "written": "s = b[i] {id=s, dep=*, if=i==0 or p[i]>0}\nout[i] = s {id=out, dep=*s}",
}
OWN = {
    "read": "s = b[i] {id=s, dep=*}\nout[i] = if(p[i]>0, s, 0) {id=out, dep=*s}",
    "written": "s = b[i] {id=s, dep=*, if=p[i]>0}\nout[i] = s {id=out, dep=*s, if=p[i]>0}",
    "a default": "s = 0 {id=t, dep=*, inames=i}\ns = b[i] {id=s, dep=*t, if=p[i]>0}\n"
    "out[i] = s {id=out, dep=*s}",
}


@pytest.mark.parametrize("how", CARRIED)
def test_a_scalar_that_carries_a_value_has_no_copies(how: str) -> None:
    knl = kernel(LOOP, CARRIED[how], scalar("s"), *DATA[2:])
    with pytest.raises(UserError):
        pg.privatize_temporaries_with_inames(knl, ["i"])


@pytest.mark.parametrize("how", OWN)
def test_a_scalar_of_each_iteration_may_have_copies(how: str) -> None:
    knl = kernel(LOOP, OWN[how], scalar("s"), *DATA[2:])
    new = pg.privatize_temporaries_with_inames(knl, ["i"])
    assert new.array("s").shape == (8,)
    verdict = judge(knl, new, CALLS)
    assert verdict.differs is None
    assert verdict.calls == len(CALLS)


@pytest.mark.parametrize("space", ["local", "global"])
def test_a_scalar_of_each_iteration_may_be_shared_by_loops_alone(space: str) -> None:
    knl = kernel(LOOP, OWN["a default"], scalar("s"), *DATA[2:])
    shared = pg.set_temporary_address_space(knl, "s", space)
    assert judge(knl, shared, CALLS).differs is None
    items = pg.tag_inames(knl, {"i": "l.0"})
    with pytest.raises(UserError):
        pg.set_temporary_address_space(items, "s", space)


def test_a_result_that_nobody_needs_may_become_another() -> None:
    """One of two assignees is stored in a narrow type, but reaches no argument."""
    lines = """
    s = 3*a[i]              {id=s}
    out[i], u = b[i], s     {id=out, dep=s}
    """
    knl = kernel(LOOP, lines, pg.TemporaryVariable("s", "bfloat16"), scalar("u"), *DATA[2:])
    new = pg.assignment_to_subst(knl, "s")
    assert judge(knl, new, CALLS).differs is None
    needed = kernel(
        LOOP, f"{lines}\np[i] = u {{dep=out}}", pg.TemporaryVariable("s", "bfloat16"), scalar("u"),
        *DATA[2:],
    )  # fmt: skip
    with pytest.raises(pg.errors.CannotProve, match="its type may not be"):
        pg.assignment_to_subst(needed, "s")
