"""Steps that look right as long as one looks at some pairs of instances only."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import CannotProve, IllegalStep, NotTheSame
from tests.oracle.cases import kernel
from tests.proof.exchange import exchange
from tests.proof.patterns import array, scalar


@pytest.mark.parametrize("rows", [False, True])
def test_what_the_last_iteration_wrote_is_not_what_this_one_writes(rows: bool) -> None:
    """In the new loop each value is used in the iteration that writes it, but another one."""
    around, at = ("i:", "i,") if rows else ("", "")
    shape = ("4", "2") if rows else ("2",)
    domains = ["{ [j]: 0<=j<2 }", "{ [k]: 0<=k<2 }", *(["{ [i]: 0<=i<4 }"] if rows else [])]
    write = f"t = j {{id=w, inames={around}j, dep=*}}"
    text = f"{write}\na[{at}k] = t {{id=r, inames={around}k, dep=w}}"
    knl = kernel(domains, text, scalar("t"), array("a", *shape))
    with pytest.raises(IllegalStep, match="the second would come first"):
        pg.rename_iname(knl, "k", "j", existing_ok=True)


def test_data_decides_which_copy_was_overwritten() -> None:
    """Of the work items, only the first got b[0]: now all of them do."""
    text = """m = p[0] {id=m, dep=*}
    t = a[y-m] {id=w0, inames=y, dep=m}
    t = b[x] {id=w, inames=x, dep=m:w0}
    c[y-m] = t {id=r, inames=y, dep=m:w}"""
    data = (
        *(pg.TemporaryVariable("m", "int32"), scalar("t"), array("p", "1", dtype="int32")),
        *(array("a", "4"), array("b", "1"), array("c", "4")),
    )
    lines = "\n".join(line.strip() for line in text.splitlines())
    with pg.without_proofs():
        knl = kernel(["{ [y]: m<=y<m+4 }", "{ [x]: x=0 }"], lines, *data)
        knl = pg.tag_inames(knl, {"y": "l.0", "x": "l.0"})
    with pytest.raises(CannotProve, match="both would use the same copy"):
        pg.untag_inames(knl, "x")


def test_what_may_overlap_is_read_before_it_is_written() -> None:
    """Only the second array is written, and only after the first was read."""
    a, b = (pg.GlobalArg(name, "float32", "n", may_alias=True) for name in "ab")
    knl = kernel(
        "{ [i, j]: 0<=i,j<n }",
        "c[i] = a[i]  {id=r}\nb[j] = 0  {id=w, dep=r}",
        *(a, b, pg.GlobalArg("c", "float32", "n")),
    )
    with pytest.raises(CannotProve, match=r"r\[i=1\] reads the element of 'a' that w\[i=0\]"):
        pg.rename_iname(knl, "j", "i", existing_ok=True)


def test_data_decided_which_copy_was_read() -> None:
    """Each work item has a copy of t before, and all use one copy after."""
    text = """m = p[0] {{id=m, dep=*}}
    t[0] = 0 {{id=z, inames=y, dep=m}}
    {more}
    t[q[y]] = {value} {{id=w, inames=y, dep=z:{dep}}}
    c[x] = t[0] {{id=r, inames=x, dep=w}}"""
    data = (
        *(pg.TemporaryVariable("m", "int32", ()), array("p", "1", dtype="int32"), scalar("u")),
        *(array("q", "9", dtype="int32"), array("a", "4"), array("c", "4")),
        pg.TemporaryVariable("t", "float64", 4, pg.AddressSpace.PRIVATE),
    )
    stored = {"more": "u = a[y-m] {id=u, inames=y, dep=z}", "value": "u", "dep": "u"}
    domains = ["{ [y]: m<=y<m+4 }", "{ [x]: 0<=x<4 }"]
    before, after = (
        "\n".join(line.strip() for line in text.format(**given).splitlines() if line.strip())
        for given in ({"more": "", "value": "a[y-m]", "dep": "m"}, stored)
    )
    with pg.without_proofs():
        old = pg.tag_inames(kernel(domains, before, *data), {"y": "l.0", "x": "l.0"})
        new = kernel(domains, after, *data)
    with pytest.raises(CannotProve, match="'t': which elements are touched depends on data"):
        exchange(old, new)


@pytest.mark.parametrize("shift", [2, 0])
def test_copies_are_counted_from_the_first_value_of_each_iname(shift: int) -> None:
    """The work item of j = 5, the first one, has what that of i = 3, the first one, stored."""
    data = (array("a", "20"), array("b", "20"), scalar("t"))
    domains = ["{ [i]: 3<=i<11 }", "{ [j]: 5<=j<13 }"]
    text = "t = a[i] {id=t, inames=i, dep=*}\nb[j] = t {id=b, inames=j, dep=t}"
    read = kernel(domains, f"b[j] = a[j-{shift}] {{id=b, inames=j}}", *data)
    read = pg.tag_inames(read, {"j": "l.0"})
    with pg.without_proofs():  # without tags, t has one value
        stored = pg.tag_inames(kernel(domains, text, *data), {"i": "l.0", "j": "l.0"})
    if shift == 2:
        assert exchange(stored, read).history
        return
    with pytest.raises(NotTheSame):
        exchange(stored, read)


@pg.transformation
def forget(knl: pg.Kernel) -> pg.Kernel:
    """Forget which loop is outside."""
    return knl.copy(priorities=())


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("a[i+j] = b[i,j] {id=s}", IllegalStep, "depends on which loop is outside"),
        ("a[idx[i,j]] = b[i,j] {id=s}", CannotProve, r"with a larger i and a smaller j"),
        ("a[0] = b[i,j] {id=s}", None, ""),
        ("a[i] = a[i] + b[i,j]*b[j,i] {id=s}", None, ""),
    ],
)
def test_which_loop_is_outside_is_forgotten(
    text: str, error: type[Exception] | None, says: str
) -> None:
    """The code would not change; but the kernel would not say any more that it must not."""
    data = (array("a", "2*n"), array("b", "n", "n"), array("idx", "n", "n", dtype="int32"))
    knl = kernel("{ [i,j]: 0<=i,j<n }", text, *data, loop_priority="i, j")
    if error is None:
        assert forget(knl).priorities == ()
        return
    with pytest.raises(error, match=says):
        forget(knl)
