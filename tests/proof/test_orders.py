"""Steps that look right as long as one looks at some pairs of instances only."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import CannotProve, IllegalStep
from tests.oracle.cases import kernel
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
