"""`add_nosync`: who need not wait for whom."""

from __future__ import annotations

import polygen as pg
from polygen.errors import InvalidArgument, NothingMatches, UnknownInstruction, WaitNeeded
from tests.oracle.cases import kernel, lowered
from tests.transforms.instructions.rows import CHAIN, LINE, typed
from tests.transforms.refusals import refused


def test_who_need_not_wait() -> None:
    new = pg.add_nosync(CHAIN, "local", "x", "*")
    assert [sorted(i.no_sync_with) for i in new.instructions] == [[], *[[("x", "local")]] * 2]
    both = pg.add_nosync(CHAIN, "any", "x", "z", bidirectional=True)
    assert both.instruction("x").no_sync_with == {("z", "any")}
    assert both.instruction("z").no_sync_with == {("x", "any")}
    forced = pg.add_nosync(CHAIN, "any", "z", "x", force=True)
    assert forced.instruction("x").no_sync_with == {("z", "any")}
    assert pg.add_nosync(CHAIN, "any", "z", "x", empty_ok=True) is CHAIN
    text = "nothing that 'x' means depends on anything that 'z' means"
    refused(NothingMatches, text, pg.add_nosync, CHAIN, "any", "z", "x")
    refused(InvalidArgument, "not 'local', 'global' or 'any'", pg.add_nosync, CHAIN, "a", "x", "y")


def test_through_others_and_groups() -> None:
    chain = pg.remove_dependency(CHAIN, "z", "x")
    assert pg.add_nosync(chain, "any", "x", "z").instruction("z").no_sync_with == {("x", "any")}
    groups = kernel(LINE, "b[i] = a[i]  {id=x, groups=g}\nc[i] = a[i]  {id=y, conflicts=g}")
    assert pg.add_nosync(groups, "any", "x", "y").instruction("y").no_sync_with == {("x", "any")}
    assert pg.add_nosync(groups, "any", "y", "x").instruction("x").no_sync_with == {("y", "any")}


TURNED = typed(
    "t[i] = a[i]  {id=x}\nout[j] = t[7-j]  {id=y, dep=x}",
    pg.TemporaryVariable("t", shape=8, address_space=pg.AddressSpace.LOCAL),
    domains=["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
)


def test_code_is_refused_if_somebody_has_to_wait() -> None:
    turned = pg.tag_inames(TURNED, {"i": "l.0", "j": "l.0"})
    refused(WaitNeeded, "need not wait for 'x'", lowered, pg.add_nosync(turned, "local", "x", "y"))
    other = pg.add_nosync(turned, "global", "x", "y")
    assert lowered(other) == lowered(turned)


def test_it_is_printed_and_read() -> None:
    new = pg.add_nosync(CHAIN, "global", "x", "y")
    (line,) = [line for line in str(new).splitlines() if "nosync" in line]
    assert line == "[i] c[i] = 2*b[i]  {id=y, dep=x, nosync=x@global}"
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(CHAIN, new.history) == new
    assert pg.add_nosync(new, "global", "x", "y") is new
    assert lowered(new) == lowered(CHAIN)
    refused(UnknownInstruction, "no instruction 'q'", pg.add_nosync, CHAIN, "any", "q", "y")


def test_nobody_is_its_own_sink() -> None:
    assert pg.add_nosync(CHAIN, "any", "x", "x", force=True, empty_ok=True) is CHAIN
    new = pg.add_nosync(CHAIN, "any", "*", "*")
    assert [sorted(i.no_sync_with) for i in new.instructions] == [
        [],
        [("x", "any")],
        [("x", "any"), ("y", "any")],
    ]
