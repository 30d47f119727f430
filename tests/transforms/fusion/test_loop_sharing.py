"""Instructions that get into the loops of others: which loops, and what is kept by a work item."""

from __future__ import annotations

from re import escape

import pytest

import polygen as pg
from polygen.analysis.access.accesses import Reference, references_by_name
from polygen.errors import InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.transforms.fusion.loop_sharing import (
    as_scalar,
    check_results,
    comes_after,
    in_loops_of,
    in_one_loop,
    is_passed_on,
    kept_by_items,
    loops_of_all,
)
from tests.oracle.cases import agree, kernel, split

SIZES = [{"n": n} for n in (1, 4, 9)]
CHAIN = kernel(
    "{ [i,j,k,l,p]: 0<=i,j,k,l,p<n }",
    "b[i,j] = a[i,j]  {id=b}\nc[k,l] = b[k,l] + k  {id=c, dep=b}\nd[i] = 1.0  {id=d}\n"
    "e[p] = d[p]  {id=e, dep=c:d}",
    pg.TemporaryVariable("b", shape="n, n", address_space=pg.AddressSpace.GLOBAL),
    loop_priority=("i, j", "k, l"),
)


def use(knl: Kernel, insn_id: str, name: str) -> Reference:
    """Return the one use of an array in an instruction."""
    (found,) = [u for u in references_by_name(knl)[name] if u.insn.id == insn_id]
    return found


def test_loops_around_all() -> None:
    assert loops_of_all(CHAIN, ["b"]) == {"i", "j"}
    assert loops_of_all(CHAIN, ["b", "d"]) == {"i"}
    assert loops_of_all(CHAIN, ["b", "d", "c"]) == frozenset()


def test_through_others_too() -> None:
    assert comes_after(CHAIN, "e", "b")
    assert comes_after(CHAIN, "c", "b")
    assert not comes_after(CHAIN, "b", "e")
    assert not comes_after(CHAIN, "d", "b")
    assert not comes_after(CHAIN, "b", "b")


def test_results_of_its_own() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = a[i]  {id=b}\n... nop  {id=point, dep=b}")
    check_results("mine", knl, [knl.instruction("b")])
    with pytest.raises(InvalidArgument, match="mine: 'point' assigns to nothing") as caught:
        check_results("mine", knl, knl.instructions)
    assert caught.value.remedy == "name instructions that assign"


def test_the_second_loop_gets_the_tag() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[i] = a[i]  {id=b}\nc[j] = b[j]  {id=c, dep=b}")
    new = in_one_loop(pg.tag_inames(knl, {"i": "g.0"}), "i", "j")
    assert loops_of_all(new, ["b", "c"]) == {"i"}
    assert str(new.tags["i"]) == "g.0"


def test_loops_that_count_the_same_element() -> None:
    new = in_loops_of(CHAIN, use(CHAIN, "b", "b"), use(CHAIN, "c", "b"))
    assert loops_of_all(new, ["b", "c"]) == {"i", "j"}
    agree(CHAIN, SIZES, lambda k: in_loops_of(k, use(k, "b", "b"), use(k, "c", "b")))


def test_loops_that_are_divided_or_run_the_other_way() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 1<=j<=n }",
        "b[i] = 2*a[i]  {id=b}\nc[j] = b[n - j]  {id=c, dep=b}",
    )
    divided = split("i", 4, inner_tag="l.0")

    def step(k: Kernel) -> Kernel:
        k = divided(k)
        return in_loops_of(k, use(k, "b", "b"), use(k, "c", "b"))

    assert loops_of_all(step(knl), ["b", "c"]) == {"i_outer", "i_inner"}
    agree(knl, SIZES, step)


@pytest.mark.parametrize("index", ["2*j", "j//2", "3", "x[j]"])
def test_elements_that_no_loop_counts(index: str) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }",
        f"b[i] = 2*a[i]  {{id=b}}\nc[j] = b[{index}]  {{id=c, dep=b}}",
        *([pg.GlobalArg("x", "int32")] if "x" in index else []),
        assumptions="n >= 8",
    )
    refused = "no loop of 'c' counts the results of 'b': b[i] is written, and 'c' has "
    with pytest.raises(InvalidArgument, match=escape(f"{refused}b[{index}]")):
        in_loops_of(knl, use(knl, "b", "b"), use(knl, "c", "b"))


@pytest.mark.parametrize(
    ("index", "tags", "passed"),
    [
        ("j", {}, False),
        ("n - 1 - j", {}, False),  # one group does it all
        ("j", {"i": "g.0", "j": "g.0"}, False),  # each group reads what it has written
        ("n - 1 - j", {"i": "g.0", "j": "g.0"}, True),
        ("j", {"i": "g.0", "j": "g.1"}, True),
        ("j", {"i": "g.0"}, True),
        ("n - 1 - j", {"i": "l.0", "j": "l.0"}, False),
    ],
)
def test_from_group_to_group(index: str, tags: dict[str, str], passed: bool) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i,j<n }",
        f"b[i] = 2*a[i]  {{id=b}}\nc[j] = b[{index}]  {{id=c, dep=b}}",
        pg.GlobalArg("b", shape="n"),
        "...",
    )
    knl = pg.fix_parameters(knl, n=8)
    assert is_passed_on(pg.tag_inames(knl, tags), "b", "c", "b") == passed


def test_what_stays_in_a_group_is_not_passed_on() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        "t[i] = a[i]  {id=t}\nc[j] = t[7 - j]  {id=c, dep=t}",
        pg.TemporaryVariable("t", shape=8, address_space=pg.AddressSpace.LOCAL),
        pg.GlobalArg("a", shape=8),
        "...",
    )
    assert not is_passed_on(pg.tag_inames(knl, "i: l.0, j: l.0"), "t", "c", "t")


KEPT = kernel(
    "{ [i]: 0<=i<n }",
    "t[i] = a[i]  {id=t}\nu[i] = t[i] + 1  {id=u}\nv[0] = u[i]  {id=v}\nb[i] = v[0]  {id=b}\n"
    "w[i] = u[i] + if(i > 0, w[i-1], 0)  {id=w}",
    *[pg.TemporaryVariable(x, "float64", "n", pg.AddressSpace.GLOBAL) for x in ("t", "u", "w")],
    pg.TemporaryVariable("v", "float64", 1, pg.AddressSpace.PRIVATE),
)


def test_variables_of_work_items() -> None:
    """An element that each iteration has to itself needs no array."""

    def shapes(knl: Kernel) -> dict[str, int]:
        return {t.name: len(t.shape or ()) for t in knl.temporaries}

    assert shapes(kept_by_items(KEPT, "t", "u")) == {"t": 0, "u": 0, "v": 1, "w": 1}
    assert shapes(kept_by_items(KEPT, "t")) == {"t": 0, "u": 1, "v": 1, "w": 1}
    assert shapes(kept_by_items(KEPT, "b")) == {"t": 1, "u": 1, "v": 0, "w": 1}
    of_last = kept_by_items(KEPT, "w")  # which reads what the iteration before has written
    assert shapes(of_last) == {"t": 1, "u": 0, "v": 1, "w": 1}
    assert kept_by_items(of_last, "w") is of_last
    scalar = as_scalar(KEPT, "t")
    assert scalar.address_space("t") is pg.AddressSpace.PRIVATE
    assert "t = a[i]" in str(scalar) and "u[i] = t + 1" in str(scalar)
    agree(KEPT, SIZES, lambda k: kept_by_items(k, "t", "u"), lambda k: as_scalar(k, "w"))
    with pytest.raises(pg.errors.IllegalStep):  # all of it is written before it is read
        as_scalar(CHAIN, "b")
