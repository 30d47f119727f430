"""Whether instructions can share loops: they can if loops are in each other or apart."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from polygen.analysis.order.nestability import (
    Loops,
    as_arguments,
    duplications,
    is_nestable,
    parts,
    way_out,
    why_not_nestable,
)

SETS = [frozenset(text) for text in ("", "a", "b", "c", "ab", "ac", "bc", "abc")]
FAMILIES: list[Loops] = [
    dict(zip("stu", inames, strict=True)) for inames in product(SETS, repeat=3)
]


def _users(loops: Loops, iname: str) -> set[str]:
    return {insn_id for insn_id, inames in loops.items() if iname in inames}


def _is_laminar(loops: Loops) -> bool:
    """Tell whether of any two loops one is in the other, or none has an instruction of both."""
    names = {i for inames in loops.values() for i in inames}
    return all(
        not a & b or a <= b or b <= a for a, b in combinations([_users(loops, i) for i in names], 2)
    )


def _of_text(text: str) -> Loops:
    return {n: frozenset(i) for n, i in (part.split(": ") for part in text.split(", "))}


def test_every_family_of_three() -> None:
    for loops in FAMILIES:
        assert is_nestable(loops) is _is_laminar(loops), loops
    assert sum(map(_is_laminar, FAMILIES)) not in (0, len(FAMILIES))


def test_nothing_to_nest() -> None:
    assert is_nestable({})
    assert parts({}) == []
    assert is_nestable({"s": frozenset()})


def test_groups_that_share_a_loop() -> None:
    """Directly or through others; whoever is in no loop is alone."""
    loops = _of_text("s: ab, t: c, u: bd, v: de, w: f")
    groups = [sorted(part) for part in parts(loops)]
    assert sorted(groups) == [["s", "u", "v"], ["t"], ["w"]]
    assert all(part[n] == loops[n] for part in parts(loops) for n in part)
    assert len(parts({"s": frozenset(), "t": frozenset()})) == 2
    joined = parts(_of_text("s: a, t: b, u: ab"))
    assert [sorted(part) for part in joined] == [["s", "t", "u"]]


def test_inames_of_their_own_let_a_nest_exist() -> None:
    """One iname for part of its users if that is enough."""
    tried = 0
    for loops in FAMILIES:
        if _is_laminar(loops):
            continue
        tried += 1
        found = list(duplications(loops))
        assert found, loops
        for inames, insn_ids in found:
            new = {
                n: frozenset(i + "2" if n in insn_ids and i in inames else i for i in around)
                for n, around in loops.items()
            }
            assert _is_laminar(new), (loops, inames, insn_ids)
        single = {
            (i, users)
            for i in "abc"
            for count in (1, 2)
            for users in combinations(sorted(_users(loops, i)), count)
            if _is_laminar(
                {
                    n: frozenset(x + "2" if n in users and x == i else x for x in loops[n])
                    for n in loops
                }
            )
        }
        assert bool(single) is (len(found[0][0]) == 1)
    assert tried > 50


def test_what_is_said_of_it() -> None:
    loops = _of_text("s: a, t: ab, u: b")
    inames, insn_ids = next(duplications(loops))
    assert as_arguments((inames, insn_ids)) == (inames[0], f"id:{insn_ids[0]}")
    assert as_arguments((("a", "b"), ("s", "t"))) == ("a, b", "id:s or id:t")
    text = way_out(loops)
    assert text.startswith(f"write {{dup={inames[0]}}} at {insn_ids[0]}; or make the kernel")
    assert f"duplicate_inames(knl, '{inames[0]}', within='id:{insn_ids[0]}')" in text


def test_no_few_inames_are_enough() -> None:
    """Four crossings that share nothing: no three instructions can undo all."""
    crossing = {
        f"{n}{k}": frozenset(f"{i}{k}" for i in inames)
        for k in range(4)
        for n, inames in (("s", "a"), ("t", "ab"), ("u", "b"))
    }
    assert list(duplications(crossing)) == []
    assert way_out(crossing) == "write dup= at some of them"


def test_circles_of_loops() -> None:
    for text, circle in (
        ("s: ab, t: bc, u: ca", {"a", "b", "c"}),
        ("s: ab, t: bc, u: cd, v: da", {"a", "b", "c", "d"}),
        ("s: abx, t: bcx, u: cax, v: ay", {"a", "b", "c"}),
        # A shortest one.
        ("s: ab, t: bc, u: cd, v: da, w: de, x: ef, y: fd", {"d", "e", "f"}),
        # No instruction is in three of them: in s, any of its loops can be outside.
        ("s: abc, t: ax, u: bx", {"a", "b", "x"}),
    ):
        why = why_not_nestable(_of_text(text))
        assert why.startswith("the loops form a circle, ")
        path = why.partition("circle, ")[2].partition(":")[0].split(" - ")
        assert path[0] == path[-1]
        assert set(path) == circle
        assert len(path) == len(circle) + 1


@pytest.mark.parametrize(
    ("loops", "why"),
    [
        ("s: a, t: ab, u: b", "'t' is in both {a, b}, 's' in 'a' and not in 'b', and 'u' in 'b'"),
        ("s: ab, t: bc, u: c", "'t' is in both {b, c}, 's' in 'b' and not in 'c', and 'u' in 'c'"),
        ("s: c, t: bc, u: ab", "'t' is in both {b, c}, 'u' in 'b' and not in 'c', and 's' in 'c'"),
    ],
)
def test_who_keeps_a_nest_from_existing(loops: str, why: str) -> None:
    inames = {n: frozenset(i) for n, i in (part.split(": ") for part in loops.split(", "))}
    assert why_not_nestable(inames).startswith(why)
