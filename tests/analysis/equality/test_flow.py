"""From what is read to what was written, beside lists of instances."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.equality.compared_values import Value
from polygen.analysis.equality.flow import Flow
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.equality.small_kernels import LINE, at_end, at_sizes, numbers, ordered, value

SIZES = [{"n": n} for n in (0, 1, 2, 5)]
INSIDE = isl.Set("[n, __i] -> { : 0 <= __i < n }")
SHIFTED = """
for i
    b[i] = a[i] {id=w}
    out[i] = if(i > 0, b[i-1], 0) {id=r}
end
"""


def _written(flow: Flow, read: Value, where: isl.Set) -> dict[str, set[tuple[int, ...]]]:
    """Return what was written: for the size and instance of the reader, that of the writer."""
    found: dict[str, set[tuple[int, ...]]] = {}
    for written, pairs in flow.written(read, where):
        names = ["__i"] if written.was_there else ["__i", *sorted(written.names)]
        shown = show_expression(written.node)
        key = f"{shown} as it was" if written.was_there else f"{written.frame.insn.id}: {shown}"
        assert key not in found
        found[key] = at_sizes(pairs, names, SIZES)
    return found


def test_the_write_that_a_read_sees() -> None:
    knl = ordered(LINE, SHIFTED)
    read = value(knl, "r", "b[i-1]", i="__i")
    later = INSIDE.intersect(isl.Set("[__i] -> { : __i > 0 }"))
    assert _written(Flow(), read, later) == {
        "w: a[i]": {(n, i, i - 1) for n in (1, 2, 5) for i in range(1, n)}
    }


def test_what_was_there_before() -> None:
    knl = ordered(LINE, "out[i] = 2*out[i] {id=s, if=i >= 2}\nsum[i] = out[i] {id=r}")
    found = _written(Flow(), value(knl, "r", i="__i"), INSIDE)
    assert found == {
        "s: 2*out[i]": {(5, i, i) for i in (2, 3, 4)},
        "out[i] as it was": {(n, i) for n in (1, 2, 5) for i in range(min(n, 2))},
    }
    # Of an argument that nothing writes, too; also where that is data, and of no dimension.
    knl = ordered(LINE, "out[i] = x*a[idx[i]] {id=r}", numbers("idx", "int32", "n"))
    for text in ("a[idx[i]]", "x"):
        read = value(knl, "r", text, i="__i")
        ((there, pairs),) = Flow().written(read, INSIDE)
        assert there == replace(read, was_there=True)
        assert pairs.is_equal(INSIDE)
    assert list(Flow().written(read, INSIDE.subtract(INSIDE))) == []


def test_the_last_write_before_the_end() -> None:
    knl = ordered(LINE, "out[0] = a[i] {id=w, inames=i}", numbers("out", "float64", "n"))
    found = _written(Flow(), at_end(knl, "out", "__i"), INSIDE)
    assert found["w: a[i]"] == {(n, 0, n - 1) for n in (1, 2, 5)}
    (other,) = [points for shown, points in found.items() if shown != "w: a[i]"]
    assert other == {(n, e) for n in (2, 5) for e in range(1, n)}


@pytest.mark.parametrize(
    "text",
    [
        "b[idx[i]] = a[i] {id=w}\nout[i] = b[i] {id=r}",
        "b[i] = a[i] {id=w, if=a[i] > 0}\nout[i] = b[i] {id=r}",
        "b[i] = a[i] {id=w}\nout[i] = b[idx[i]] {id=r}",
    ],
)
def test_where_data_decides(text: str) -> None:
    knl = ordered(
        LINE, text, numbers("b", "float64", "n"), numbers("idx", "int32", "n"), name="scatter"
    )
    flow = Flow()
    assert list(flow.written(value(knl, "r", i="__i"), INSIDE)) == []
    assert list(flow.obstacles) == ["data decides which write of 'b' is seen in kernel 'scatter'"]


def test_verbatim_code_is_an_obstacle() -> None:
    knl = ordered(
        LINE,
        '... code(i) "t = a[i];" reads(a) writes(t) {id=c, inames=i}\nout[i] = t {id=r, inames=i}',
        pg.TemporaryVariable("t", "float64", shape=()),
        numbers("a", "float64", "n"),
        numbers("out", "float64", "n"),
    )
    flow = Flow()
    read = value(knl, "r", i="__i")
    assert list(flow.written(read, INSIDE)) == []  # which elements C writes is not known
    assert len(flow.obstacles) == 1
    assert flow.stored(read, knl.assignment("c"), 0, {}) is None
    assert list(flow.obstacles)[1:] == ["'c' is verbatim C"]


def test_obstacles_are_kept_once_and_in_order() -> None:
    flow = Flow()
    for obstacle in ("two", "one", "two"):
        flow.note(obstacle)
    assert list(flow.obstacles) == ["two", "one"]


def _stored(knl: Kernel, text: str, **casts: str) -> Value:
    """Return what instruction `w` stored in what `r` reads as this."""
    read = replace(value(knl, "r", text, i="__i"), casts=tuple(np.dtype(c) for c in casts.values()))
    found = Flow().stored(read, knl.assignment("w"), 0, {"i": "__j"})
    assert found is not None
    assert found.frame.names == {"i": "__j"}
    return found


@pytest.mark.parametrize(
    ("dtype", "text", "casts", "rounded"),
    [
        ("float64", "a[i]", ["float64"], ["float16"]),  # of float32, which float64 keeps
        ("float32", "a[i]", [], ["float16"]),
        ("float32", "float32(a[i])", [], ["float16"]),
        ("float64", "2.5", ["float64"], ["float16", "float64"]),  # a number of no type
        ("float32", "b[i]", ["float32"], ["float16", "float32"]),  # rounded twice
    ],
)
def test_what_is_stored_is_converted(
    dtype: str, text: str, casts: list[str], rounded: list[str]
) -> None:
    knl = ordered(
        LINE,
        f"<{dtype}> t = {text} {{id=w, inames=i}}\nout[i] = t {{id=r}}",
        numbers("a", "float32", "n"),
        numbers("out", "float64", "n"),
    )
    assert [c.name for c in _stored(knl, "t").casts] == casts
    assert [c.name for c in _stored(knl, "t", later="f2").casts] == rounded


@pytest.mark.parametrize(("text", "casts"), [("2*i + 1", []), ("i*i", ["int64"])])
def test_indices_are_as_wide_as_they_have_to_be(text: str, casts: list[str]) -> None:
    knl = ordered(LINE, f"<> t = {text} {{id=w, inames=i}}\nout[i] = t {{id=r}}")
    assert [c.name for c in _stored(knl, "t").casts] == casts


def test_conditions_of_the_writer_hold() -> None:
    knl = ordered(LINE, "b[i] = a[i] {id=w, if=i > 2}\nout[i] = b[i] {id=r}")
    found = _stored(knl, "b[i]")
    assert [show_expression(c) for c in found.frame.conditions] == ["i > 2"]
    assert show_expression(found.node) == "a[i]"
