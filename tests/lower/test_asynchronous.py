"""Asynchronous copies: what may be one, and where a work item waits for those that it began."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import MalformedInstruction, NotAsynchronous
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from polygen.lower.program import Assign, Barrier, Loop, LoopProgram, Wait
from tests.oracle.cases import lowered, nodes

LOCAL = pg.AddressSpace.LOCAL


def staged(second: str, option: str = "") -> Kernel:
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", "{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"],
        f"tile[i] = a[g,i]  {{{option}id=load, inames=g:i, asynchronous}}\n{second}",
        [pg.TemporaryVariable("tile", "float32", 4, address_space=LOCAL), "..."],
    )
    knl = pg.add_dtypes(knl, {"a": "float32"})
    return pg.tag_inames(knl, "g: g.0, i: l.0, j: l.0")


def kinds(program: LoopProgram) -> list[str]:
    named = (Assign, Barrier, Wait, Loop)
    return [type(node).__name__ for node in nodes(program) if isinstance(node, named)]


def test_round_trip() -> None:
    knl = staged("out[g,j] = tile[3-j] {dep=load}")
    assert "{id=load, asynchronous}" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    assert (
        pg.make_kernel(
            ["{ [g,i]: 0<=g<4 and 0<=i<4 }"],
            [knl.instruction("load")],
            [pg.TemporaryVariable("tile", "float32", 4, address_space=LOCAL), "..."],
        )
        .assignment("load")
        .asynchronous
    )


def test_a_wait_is_ahead_of_the_barrier() -> None:
    program = lowered(staged("out[g,j] = tile[3-j] {dep=load}"))
    assert kinds(program) == ["Assign", "Wait", "Barrier", "Assign"]
    assert "wait" in str(program)
    assert "load (asynchronous)" in str(program)


def test_a_wait_without_a_barrier() -> None:
    """What a work item copied itself."""
    program = lowered(staged("out[g,j] = tile[j] {dep=load}"))
    assert kinds(program) == ["Assign", "Wait", "Assign"]


def test_no_wait_for_what_is_elsewhere() -> None:
    """In the other half of an array, until somebody asks for it."""
    text = """
        two[0,i] = a[g,i]          {id=load, inames=g:i, asynchronous}
        two[1,i2] = 2*b[g,i2]      {id=other, inames=g:i2}
        c[g,i3] = two[1,i3]        {id=use, inames=g:i3, dep=other}
        d[g,i4] = two[0,i4]        {inames=g:i4, dep=load:use}
    """
    knl = pg.make_kernel(
        ["{ [g]: 0<=g<n }", *(f"{{ [{i}]: 0<={i}<4 }}" for i in ("i", "i2", "i3", "i4"))],
        text,
        [pg.TemporaryVariable("two", "float32", (2, 4), address_space=LOCAL), "..."],
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32", "b": "float32"}), "g: g.0")
    knl = pg.tag_inames(knl, dict.fromkeys(("i", "i2", "i3", "i4"), "l.0"))
    found = [n for n in nodes(lowered(knl)) if isinstance(n, Assign | Wait)]
    ids = [n.insn_id if isinstance(n, Assign) else "wait" for n in found]
    assert ids == ["load", "other", "use", "wait", "insn"]


def test_copies_that_nothing_reads_end_with_the_launch() -> None:
    knl = staged("out[g,j] = j")
    assert kinds(lowered(knl)).count("Wait") == 1


def test_in_c_copies_are_made_where_they_stand() -> None:
    program = lowered(staged("out[g,j] = tile[3-j] {dep=load}"), Model.LOOPS)
    assert "Wait" not in kinds(program)
    assert not any(n.asynchronous for n in nodes(program) if isinstance(n, Assign))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tile[i] = 2*a[g,i]", "it computes a value"),
        ("tile[i] = if(i < 2, a[g,i], b[i])", "it computes a value"),
        ("tile[i] = a[g,i] {atomic=init}", "it is atomic"),
        ("tile[i] = tile[3-i]", "'tile' is no array in global memory"),
        ("out[g,i] = a[g,i]", "'out' is no temporary in local memory"),
    ],
)
def test_what_is_no_such_copy(text: str, why: str) -> None:
    text = text.replace("{", "{asynchronous, ") if "{" in text else f"{text} {{asynchronous}}"
    with pytest.raises(NotAsynchronous, match=why), pg.without_proofs():
        pg.make_kernel(
            "{ [g,i]: 0<=g<n and 0<=i<4 }",
            text,
            [pg.TemporaryVariable("tile", shape=4, address_space=LOCAL), "..."],
        )


@pytest.mark.parametrize("text", ["... nop {asynchronous}", "x, y = a[g], b[g] {asynchronous}"])
def test_options_that_do_not_fit(text: str) -> None:
    with pytest.raises(MalformedInstruction, match="asynchronous is for a copy"):
        pg.make_kernel("{ [g]: 0<=g<n }", text)


def test_other_types_and_spaces() -> None:
    tile = pg.TemporaryVariable("tile", "float32", 4, address_space=LOCAL)
    with pytest.raises(NotAsynchronous, match="'a' and 'tile' have different types"):
        pg.make_kernel(
            "{ [i]: 0<=i<4 }",
            "tile[i] = a[i] {asynchronous}",
            [tile, pg.GlobalArg("a", "float64"), "..."],
        )
    own = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = a[i]*a[i] + j")
    with pytest.raises(NotAsynchronous, match="'a_fetch' is no temporary in local memory"):
        pg.add_prefetch(own, "a", asynchronous=True)
    auto = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        "tile[i] = a[i] {id=load, asynchronous}\nout[i] = 2*tile[i] {dep=load}",
        [pg.TemporaryVariable("tile", "float32", 4, address_space=pg.AddressSpace.AUTO), "..."],
    )
    with pytest.raises(NotAsynchronous, match="'tile' is no temporary in local memory") as caught:
        lowered(pg.tag_inames(auto, "i: g.0"))
    assert "an iname tagged l.0" in str(caught.value)


def test_an_array_that_is_written_in_the_same_launch() -> None:
    knl = staged("a[g,j] = tile[j] + 1 {dep=load}", "dep=*, ")
    with pytest.raises(NotAsynchronous, match="'a' is written in the same launch"):
        pg.generate_code(knl, "cuda")


def test_an_array_that_may_overlap_what_is_written() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<4 and 0<=j<4 }",
        "tile[i] = a[i] {id=load, inames=i, asynchronous}\nout[j] = tile[3-j] {dep=load, inames=j}",
        [
            pg.TemporaryVariable("tile", "float32", 4, address_space=LOCAL),
            pg.GlobalArg("a", "float32", 4, may_alias=True),
            "...",
        ],
    )
    with pytest.raises(NotAsynchronous, match="'out', which may overlap 'a', is written in the"):
        lowered(pg.tag_inames(knl, "i: l.0, j: l.0"))


def test_what_is_copied_is_in_memory() -> None:
    """Not in registers, where other arrays of work items may be."""
    knl = pg.make_kernel(
        "{ [g,i]: 0<=g<n and 0<=i<32 }",
        "tile[i] = a[g,i] {id=load, asynchronous}\nout[g,i] = 2*tile[i] {dep=load}",
        [pg.TemporaryVariable("tile", shape=32, address_space=LOCAL, shuffled=True), "..."],
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), "g: g.0, i: l.0")
    assert "pg_copy(&tile[i], &a[32 * g + i]);" in str(pg.generate_code(knl, "cuda"))
    plain = pg.map_instructions(knl, "id:load", lambda insn: insn.copy(asynchronous=False))
    assert "float const tile = a[" in str(pg.generate_code(plain, "cuda"))
