"""Local variables of a cluster that consist of parts, each of one block."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.access.parts_of_blocks import parts_of_blocks
from polygen.ir.array import TemporaryVariable
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

LOCAL = pg.AddressSpace.LOCAL
DOMAIN = "{ [r,j,q,k]: 0<=r,q<4 and 0<=j,k<8 }"
TEXT = "t[r, j] = a[r, j]  {id=t}\nout[q, k] = t[q, 7 - k]  {id=r, dep=t}"
TAGS = {"r": "l.2", "q": "l.2", "j": "l.0", "k": "l.0"}


def _kernel(
    text: str = TEXT,
    *,
    clusters: bool = True,
    shape: tuple[int, ...] = (4, 8),
    space: pg.AddressSpace = LOCAL,
) -> Kernel:
    t = pg.TemporaryVariable("t", "float32", shape, space)
    with pg.without_proofs():
        knl = kernel(DOMAIN, text, t, pg.GlobalArg("a, out", "float32", "4, 8"))
        return pg.set_options(pg.tag_inames(knl, TAGS), clusters=clusters)


def _parts(knl: Kernel) -> int | None:
    found = knl.variables["t"]
    assert isinstance(found, TemporaryVariable)
    return parts_of_blocks(knl, found)


def test_each_block_has_a_part() -> None:
    assert _parts(_kernel()) == 4
    longer = _kernel(shape=(6, 8))  # blocks that there are not have parts, too
    assert _parts(longer) == 6


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("t[q, 7 - k]", "t[3 - q, k]"),  # of another block
        ("t[q, 7 - k]", "t[0, k]"),  # of the first one
        ("t[q, 7 - k]", "t[k//2, k]"),
        ("t[r, j] =", "t[j//2, r] ="),
        ("t[q, 7 - k]", "t[q, 7 - k] + t[k//2, q]"),  # one of two reads
    ],
)
def test_others_meet_its_elements(was: str, now: str) -> None:
    assert was in TEXT
    assert _parts(_kernel(TEXT.replace(was, now))) is None


def test_variables_that_have_no_parts() -> None:
    assert _parts(_kernel(clusters=False)) is None
    assert _parts(_kernel(space=pg.AddressSpace.GLOBAL)) is None
    scalar = _kernel(
        "t = a[r, j]  {id=t, inames=r:j}\nout[q, k] = t  {id=r, dep=t, inames=q:k}", shape=()
    )
    assert _parts(scalar) is None


def test_axes_in_another_order_are_no_parts() -> None:
    knl = _kernel()
    with pg.without_proofs():
        turned = pg.tag_array_axes(knl, "t", "N0, N1")
    assert _parts(turned) is None


def test_verbatim_c_may_touch_all_of_it() -> None:
    given = _kernel()
    write, read = given.instruction("t"), given.instruction("r")
    assert isinstance(write, pg.Assignment)
    verbatim = pg.CInstruction(
        (), "t[7] = a[0];", frozenset({"a"}), (write.assignee,), "t", write.within_inames
    )
    assert _parts(given.copy(instructions=(verbatim, read))) is None
