"""Where what two kernels read comes from, before a step and after it."""

from __future__ import annotations

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.dataflow.comparison_context import Frame, Names
from polygen.analysis.dataflow.computed_difference import END
from polygen.analysis.dataflow.read_origins import NOWHERE, Origins, is_access
from polygen.analysis.dataflow.read_sources import Source, element_names
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from tests.analysis.bounded import both, enumerated
from tests.oracle.cases import kernel
from tests.proof.patterns import array

LINE = "{ [i]: 0<=i<n }"
ROW = pg.TemporaryVariable("t", "float64", ("n",), pg.AddressSpace.GLOBAL)
ARRAYS = [array("a", "n"), array("b", "n")]
STAGED = kernel(LINE, "t[i] = 2*a[i] {id=w}\nb[i] = t[i] {id=r, dep=w}", *ARRAYS, ROW)
DIRECT = kernel(LINE, "b[i] = 2*a[i] {id=r}", *ARRAYS)
POINTS = isl.Set("[n, p] -> { : 0 <= p < n }")
INAME = ex.Variable("i")


def _element(name: str) -> ex.Expression:
    return ex.element(ex.Variable(name), (INAME,))


def _frame(knl: Kernel, insn_id: str = "r") -> Frame:
    return Frame(knl, knl.assignment(insn_id), {"i": "p"})


def _origins(old: Kernel = STAGED, new: Kernel = DIRECT) -> Origins:
    return Origins(old, new, Names())


def test_where_reads_come_from() -> None:
    origins = _origins()
    (source,) = origins.of(_element("t"), _frame(STAGED)) or ()
    assert source.writer == "w"
    assert enumerated(source.pairs, both("i"), {"n": 4}) == {(i, i) for i in range(4)}
    # Nothing writes a: it is what it was before the kernel.
    assert origins.of(_element("a"), _frame(STAGED)) == NOWHERE
    # In the end, b[e] is what r wrote in iteration e; elsewhere there is none.
    ends = Frame(STAGED, END, {})
    last = {s.writer: s for s in origins.of(_element("b"), ends) or ()}
    names = [*element_names(STAGED, "b"), "i'"]
    assert enumerated(last["r"].pairs, names, {"n": 4}) == {(i, i) for i in range(4)}


def test_where_data_decides_the_certain_writes_are_known() -> None:
    text = "t[i] = 1 {id=w}\nt[i] = 2 {id=v, dep=w, if=a[i] > 0}\nb[i] = t[i] {id=r, dep=w:v}"
    knl = kernel(LINE, text, *ARRAYS, ROW)
    origins = _origins(knl, knl)
    assert origins.of(_element("t"), _frame(knl)) is None
    (certain,) = origins.certain(_element("t"), _frame(knl)) or ()
    assert certain.writer == "w"
    knl = kernel(LINE, "b[i] = 1 {id=w}\nb[i] = 2 {id=v, dep=w, if=a[i] > 0}", *ARRAYS)
    origins, ends = _origins(knl, knl), Frame(knl, END, {})
    assert origins.of(_element("b"), ends) is None
    assert {s.writer for s in origins.certain(_element("b"), ends) or ()} >= {"w"}


def test_arrays_that_may_overlap_are_not_told_apart() -> None:
    arrays = [array("a", "n", may_alias=True), *ARRAYS[1:]]
    knl = kernel(LINE, "b[i] = a[i] {id=r}", *arrays)
    origins = _origins(knl, knl)
    assert origins.of(_element("a"), _frame(knl)) is None
    assert origins.certain(_element("a"), _frame(knl)) is None


@pytest.mark.parametrize(
    ("writer", "new", "gone"),
    [("w", False, True), ("r", False, False), (None, False, False)],
)
def test_writers_of_one_kernel(writer: str | None, new: bool, gone: bool) -> None:
    source = Source(writer, isl.Set("{ : }"))
    assert (_origins().is_new(source), _origins().is_gone(source)) == (new, gone)
    swapped = _origins(DIRECT, STAGED)
    assert (swapped.is_new(source), swapped.is_gone(source)) == (gone, new)


def test_instances_get_names_that_are_used_once() -> None:
    origins = _origins()
    (source,) = origins.of(_element("t"), _frame(STAGED)) or ()
    first, second = (origins.at(STAGED, source) for _ in range(2))
    assert first.insn_id == second.insn_id == "w"
    assert first.names.keys() == second.names.keys() == {"i"}
    names = [first.names["i"], second.names["i"], origins.unread(STAGED, source)["i"]]
    assert len(set(names)) == 3
    at = origins.at(STAGED, NOWHERE[0])
    assert (at.insn_id, at.names, origins.unread(STAGED, NOWHERE[0])) == (None, {}, {})


def test_following_a_value_to_its_writer() -> None:
    text = "t[n-1-i] = a[i] {id=w}\nb[j] = t[j] {id=r, dep=w}"
    knl = kernel([LINE, "{ [j]: 0<=j<n }"], text, *ARRAYS, ROW)
    origins, reader = _origins(knl), Frame(knl, knl.assignment("r"), {"j": "p"})
    read = ex.element(ex.Variable("t"), (ex.Variable("j"),))
    (source,) = origins.of(read, reader) or ()
    writer, points = origins.followed(knl, source, reader, POINTS)
    assert (writer.insn.id, writer.trail) == ("w", ("r",))
    there = writer.names["i"]
    expected = {(i, 4 - i) for i in range(5)}
    assert enumerated(points, ["p", there], {"n": 5}) == expected
    with pytest.raises(InternalError, match="has no writer"):
        origins.followed(knl, NOWHERE[0], reader, POINTS)


def test_what_one_instruction_stored() -> None:
    for origins in (_origins(), _origins(DIRECT, STAGED)):
        found = origins.stored(_element("t"), _frame(STAGED), POINTS)
        assert found is not None
        frame, points, value = found
        assert (frame.insn.id, value) == ("w", ex.product_of(2, _element("a")))
        names = ["p", frame.names["i"]]
        assert enumerated(points, names, {"n": 3}) == {(i, i) for i in range(3)}


def test_nothing_is_stored_by_one_instruction_alone() -> None:
    # Both kernels have w; no access; nothing wrote it; nothing is asked for.
    assert _origins(STAGED, STAGED).stored(_element("t"), _frame(STAGED), POINTS) is None
    assert _origins().stored(INAME, _frame(STAGED), POINTS) is None
    assert _origins().stored(_element("a"), _frame(STAGED), POINTS) is None
    nowhere = POINTS.intersect(isl.Set("[p] -> { : p < 0 }"))
    assert _origins().stored(_element("t"), _frame(STAGED), nowhere) is None
    # Two instructions stored it, each a part.
    text = """t[i] = a[i]   {id=w, if=i < 2}
    t[i] = 2*a[i] {id=v, if=i >= 2}
    b[i] = t[i]   {id=r, dep=w:v}""".replace("    ", "")
    knl = kernel(LINE, text, *ARRAYS, ROW)
    assert _origins(knl).stored(_element("t"), _frame(knl), POINTS) is None
    few = POINTS.intersect(isl.Set("[p] -> { : p < 2 }"))
    found = _origins(knl).stored(_element("t"), _frame(knl), few)
    assert found is not None
    assert (found[0].insn.id, found[2]) == ("w", _element("a"))
    # w is in both kernels: what v stored is had where w stored nothing.
    both_have = _origins(
        knl, kernel(LINE, text.replace("id=v", "id=z").replace(":v", ":z"), *ARRAYS, ROW)
    )
    assert both_have.stored(_element("t"), _frame(knl), POINTS) is None
    rest = both_have.stored(_element("t"), _frame(knl), POINTS.subtract(few))
    assert rest is not None
    assert rest[0].insn.id == "v"


def test_what_is_rounded_is_not_what_was_stored() -> None:
    row = pg.TemporaryVariable("t", "float32", ("n",), pg.AddressSpace.GLOBAL)
    text = "t[i] = 2*a[i] {id=w}\nb[i] = t[i] {id=r, dep=w}"
    knl = kernel(LINE, text, *ARRAYS, row)
    assert _origins(knl).stored(_element("t"), _frame(knl), POINTS) is None


def test_accesses() -> None:
    knl = kernel(LINE, "b[i] = x*a[i] {id=r}", *ARRAYS, pg.ValueArg("x", "float64"))
    frame = _frame(knl)
    assert is_access(_element("a"), frame)
    assert is_access(ex.Variable("x"), frame)
    assert not is_access(INAME, frame)
    assert not is_access(3, frame)
    assert not is_access(ex.sum_of(_element("a"), 1), frame)
