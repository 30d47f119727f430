"""Instances whose values something reads, beside executions that follow each value."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.dataflow.needed_instances import is_free_of_data, needed_instances
from polygen.ir.kernel import Kernel
from tests.analysis.bounded import enumerated
from tests.oracle.cases import kernel
from tests.proof.judge import arguments_of
from tests.proof.patterns import array
from tests.proof.trace import Instance, trace

N = 5
LINE = "{ [i]: 0<=i<n }"
ROW = pg.TemporaryVariable("t", "float64", ("n",), pg.AddressSpace.GLOBAL)
ARRAYS = [array(name, "n") for name in "ab"]


def _read(knl: Kernel, arguments: tuple[str, ...]) -> set[Instance]:
    """Return the instances of which something reads what they wrote, found by execution."""
    run = trace(knl, arguments_of(knl, {"n": N}, 0, {}), 0)
    last: dict[tuple[str, tuple[int, ...]], Instance] = {}
    found: set[Instance] = set()
    for instance in run.order:
        touched = run.touched[instance]
        found |= {last[n, i] for n, i, writes in touched if not writes and (n, i) in last}
        last |= {(n, i): instance for n, i, writes in touched if writes}
    return found | {instance for (name, _), instance in last.items() if name in arguments}


KERNELS = {
    "all": kernel(LINE, "b[i] = a[i] {id=s}", *ARRAYS),
    "half of it": kernel(
        [LINE, "{ [j]: 0<=2*j<n }"],
        "t[i] = a[i] {id=s}\nb[j] = t[2*j] {id=u, dep=s}",
        *ARRAYS,
        ROW,
    ),
    "overwritten": kernel(
        LINE,
        "b[i] = 1 {id=s}\nb[0] = a[i] {id=u, dep=s, inames=i}\nb[n-1] = 3 {id=v, dep=s:u}",
        *ARRAYS,
        assumptions="n >= 1",
    ),
    "overwritten, and read before": kernel(
        LINE,
        "b[i] = 1 {id=s}\na[i] = b[i] {id=u, dep=s}\nb[i] = 2 {id=v, dep=s:u}",
        *ARRAYS,
    ),
    "one for all": kernel(
        "{ [i]: 1<=i<n }", "t[i] = a[i] {id=s}\nb[i] = t[1] {id=u, dep=s}", *ARRAYS, ROW
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_what_something_reads(name: str) -> None:
    knl = KERNELS[name]
    found: set[Instance] = set()
    for insn in knl.instructions:
        needed = needed_instances(knl, insn.id)
        assert needed is not None
        inames = sorted(insn.within_inames)
        points = enumerated(needed, inames, {"n": N})
        found |= {(insn.id, tuple(zip(inames, point, strict=True))) for point in points}
    assert found == _read(knl, ("a", "b"))


def test_what_nothing_but_itself_reads() -> None:
    text = "t[i] = 0 {id=z}\nt[0] = t[0] + a[i] {id=s, dep=z, inames=i}\nb[i] = a[i] {id=u}"
    knl = kernel(LINE, text, *ARRAYS, ROW)
    needed = needed_instances(knl, "s")
    assert needed is not None
    assert needed.is_empty()
    never = needed_instances(kernel(LINE, "t[i] = a[i] {id=s}\nb[i] = 1 {id=u}", *ARRAYS, ROW), "s")
    assert never is not None
    assert never.is_empty()


def test_who_reads_is_not_known() -> None:
    index = array("idx", "n", dtype="int32")
    knl = kernel(LINE, "t[i] = a[i] {id=s}\nb[i] = t[idx[i]] {id=u}", *ARRAYS, index, ROW)
    assert needed_instances(knl, "s") is None
    assert not is_free_of_data(knl, "s")
    assert not is_free_of_data(knl, "u")


def test_instructions_that_are_free_of_data() -> None:
    index = array("idx", "n", dtype="int32")
    text = """b[i] = a[i]         {id=plain}
    c[i] = a[idx[i]]    {id=looks, if=i > 0}
    d[i] = 1            {id=maybe, if=idx[i] > 0}
    d[i] = d[i] + 2     {id=after, dep=maybe}""".replace("    ", "")
    knl = kernel(LINE, text, *ARRAYS, index, array("c", "n"), array("d", "n"))
    free = {insn.id for insn in knl.instructions if is_free_of_data(knl, insn.id)}
    # looks reads where data says; after shares d with one who does.
    assert free == {"plain"}


def test_arrays_that_may_overlap() -> None:
    arrays = [array("a", "n", may_alias=True), array("b", "n")]
    knl = kernel(LINE, "b[i] = a[i] {id=s}", *arrays)
    assert not is_free_of_data(knl, "s")
    assert is_free_of_data(kernel(LINE, "b[i] = a[i] {id=s}", *ARRAYS), "s")
