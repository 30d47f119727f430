"""Parts of a variable that blocks of a cluster have to themselves are just that."""

from __future__ import annotations

from dataclasses import replace

import polygen as pg
from polygen.errors import WrongStorage
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Declare, Launch, Node
from polygen.validation.validate import check
from tests.validation.edits import edited, said


def own(index: str) -> Kernel:
    """Return a kernel in which work items store what all of their group reads, or they alone."""
    t = pg.TemporaryVariable("t", "float32", (4, 64), pg.AddressSpace.LOCAL)
    knl = pg.make_kernel(
        "{ [i,r,j,q,k]: 0<=i<n and 0<=r,q<4 and 0<=j,k<64 }",
        f"t[r, j] = a[i, r, j]  {{id=t}}\nout[i, q, k] = t[{index}, 63 - k]  {{dep=t}}",
        [t, pg.GlobalArg("a, out", "float32", "n, 4, 64"), "..."],
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "r": "l.2", "q": "l.2", "j": "l.0", "k": "l.0"})
    return prepare(pg.set_options(knl, clusters=True))


def parts(knl: Kernel) -> list[int | None]:
    (launch,) = lower_prepared(knl, Model.GRID).host
    assert isinstance(launch, Launch)
    return [node.parts for node in launch.body if isinstance(node, Declare) and node.name == "t"]


def test_what_blocks_use_alone() -> None:
    assert parts(own("q")) == [4]
    assert parts(own("3 - q")) == [None]
    assert parts(pg.set_options(own("q"), clusters=False)) == [None]


def test_parts_that_others_use_are_found_out() -> None:
    for index, count in (("3 - q", 4), ("q", 2)):
        knl = own(index)
        program = lower_prepared(knl, Model.GRID)
        check(knl, program)

        def rule(node: Node, count: int = count) -> tuple[Node, ...]:
            return (replace(node, parts=count),) if isinstance(node, Declare) else (node,)

        said(knl, edited(program, rule), WrongStorage)
