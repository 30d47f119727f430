"""Groups that are not interleaved with others, beside all orders there are."""

from __future__ import annotations

import itertools
import random

import pytest

import polygen as pg
from polygen.analysis.order.instruction_groups import conflicts_with_groups, orders_of_groups
from polygen.analysis.order.loop_tree import loop_tree, statements
from polygen.errors import GroupsInterleaved


def order(knl: pg.Kernel) -> list[str]:
    return [insn.id for insn in statements(loop_tree(knl, quiet=True))]


def kernel(text: str, domains: str = "{ [i, j]: 0<=i,j<n }") -> pg.Kernel:
    return pg.make_kernel(domains, text, silenced_warnings="UnusedGroup")


def test_a_group_stays_together() -> None:
    text = """
    a[i] = 1  {id=a0, groups=a}
    b[i] = 2  {id=b0, conflicts=a}
    c[i] = 3  {id=c}
    d[i] = 4  {id=a1, groups=a}
    """
    assert order(kernel(text)) == ["a0", "c", "a1", "b0"]
    assert order(kernel(text.replace("b[i] = 2", "b[j] = 2"))) == ["a0", "c", "a1", "b0"]


def test_two_groups_apart_from_each_other() -> None:
    text = """
    a[i] = 1  {id=a0, groups=a, conflicts=b}
    b[i] = 2  {id=b0, groups=b, conflicts=a}
    c[i] = 3  {id=a1, groups=a, conflicts=b}
    d[i] = 4  {id=b1, groups=b, conflicts=a}
    """
    assert order(kernel(text)) == ["a0", "a1", "b0", "b1"]
    other = text.replace("{id=a1,", "{id=a1, dep=b1,")
    assert order(kernel(other)) == ["b0", "b1", "a0", "a1"]


def test_loops_count() -> None:
    """The instruction between is put before both, for it shares a loop with the first."""
    text = """
    a[i] = 1  {id=a0, groups=a}
    b[i] = 2  {id=b, conflicts=a}
    c[j] = 3  {id=a1, groups=a, dep=a0}
    """
    assert order(kernel(text)) == ["b", "a0", "a1"]


@pytest.mark.parametrize(
    "text",
    [
        "a[i]=1 {groups=g}\nb[i]=a[i] {conflicts=g}\nc[i]=b[i] {groups=g}",
        # through a loop: what stands in it with the first comes before the second
        "a[i]=1 {id=a,groups=g}\nb[i]=2 {conflicts=g,dep=a}\nc[j]=1 {dep=a,groups=g}",
    ],
)
def test_what_cannot_be_kept_apart(text: str) -> None:
    with pytest.raises(GroupsInterleaved, match="is to come before or after all of"):
        kernel(text)


@pytest.mark.parametrize("seed", range(25))
def test_as_brute_force_says(seed: int) -> None:
    """An order is found where there is one among all, and keeps all groups whole."""
    chooser = random.Random(seed)
    names = [f"s{n}" for n in range(5)]
    deps = {n: [m for m in names[:k] if chooser.random() < 0.25] for k, n in enumerate(names)}
    groups = {n: [g for g in "gh" if chooser.random() < 0.4] for n in names}
    apart = {n: [g for g in "gh" if g not in groups[n] and chooser.random() < 0.5] for n in names}
    known = {g for found in groups.values() for g in found}  # others are refused
    apart = {n: [g for g in found if g in known] for n, found in apart.items()}
    lines = [
        f"{n}_[i] = 1 {{id={n}, dep=*{':'.join(deps[n])}, groups={':'.join(groups[n])}, "
        f"conflicts={':'.join(apart[n])}}}"
        for n in names
    ]

    def is_right(found: list[str]) -> bool:
        at = {n: position for position, n in enumerate(found)}
        for n in names:
            if any(at[d] > at[n] for d in deps[n]):
                return False
            for g in apart[n]:
                members = [at[m] for m in names if g in groups[m]]
                if members and min(members) < at[n] < max(members):
                    return False
        return True

    exists = any(is_right(list(o)) for o in itertools.permutations(names))
    chooser.shuffle(lines)
    if exists:
        assert is_right(order(kernel("\n".join(lines))))
    else:
        with pytest.raises(GroupsInterleaved):
            kernel("\n".join(lines))


def test_a_group_that_nothing_conflicts_with() -> None:
    text = "a[i] = 1 {groups=heap}\nb[i] = 2 {groups=heap:pile}\nc[i] = 3 {conflicts=pile}"
    with pytest.warns(pg.errors.UnusedGroup, match="conflicts with the group 'heap'") as caught:
        pg.make_kernel("{ [i]: 0<=i<n }", text)
    assert len(caught) == 1
    assert "conflicts=heap keeps another instruction out" in str(caught[0].message)
    with pytest.warns(pg.errors.UnusedGroup, match=r"did you mean 'heap'\?"):
        pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1 {groups=heap:haep}\nb[i] = 2 {conflicts=heap}")
    assert order(kernel(text)) == ["insn", "insn_0", "insn_1"]


# --- all ways


def test_who_conflicts_with_what() -> None:
    """With a group of one, nobody does: it is whole anyway."""
    text = """
    a[i] = 1  {id=a0, groups=a:b}
    b[i] = 2  {id=b0, conflicts=a:b}
    c[i] = 3  {id=c, conflicts=c}
    d[i] = 4  {id=a1, groups=a}
    e[i] = 5  {id=e, groups=c}
    """
    assert conflicts_with_groups(kernel(text)) == (("b0", ("a0", "a1")),)
    assert conflicts_with_groups(kernel("a[i] = 1 {groups=a}\nb[i] = 2 {groups=a}")) == ()


def test_one_way_where_nothing_conflicts() -> None:
    knl = kernel("a[i] = 1 {id=a, dep=*}\nb[i] = 2 {id=b, dep=*a}")
    assert list(orders_of_groups(knl)) == [{"a": frozenset(), "b": {"a"}}]


def test_as_written_comes_first() -> None:
    lines = [
        "a[i] = 1 {id=a, groups=g}",
        "b[i] = 2 {id=b, conflicts=g}",
        "c[i] = 3 {id=c, groups=g}",
    ]
    early, late = ({"a": {"b"}, "b": set(), "c": {"b"}}, {"a": set(), "b": {"a", "c"}, "c": set()})
    knl = kernel("\n".join(lines))
    assert list(orders_of_groups(knl)) == [late, early]  # b is after the first of the group
    knl = kernel("\n".join([lines[1], lines[0], lines[2]]))
    assert list(orders_of_groups(knl)) == [early, late]


@pytest.mark.parametrize("seed", range(12))
def test_every_way_there_is(seed: int) -> None:
    """What is decided for each conflict is what some order of all instructions does."""
    chooser = random.Random(seed)
    names = [f"s{n}" for n in range(5)]
    deps = {n: [m for m in names[:k] if chooser.random() < 0.2] for k, n in enumerate(names)}
    groups = {n: "gh"[k % 2] for k, n in enumerate(chooser.sample(names, 4))}
    others = {n: [g for g in "gh" if g != groups.get(n) and chooser.random() < 0.6] for n in names}
    lines = [
        f"{n}_[i] = 1 {{id={n}, dep=*{':'.join(deps[n])}, groups={groups.get(n, '')}, "
        f"conflicts={':'.join(others[n])}}}"
        for n in names
    ]
    with pg.without_proofs():
        knl = kernel("\n".join(lines))
    apart = [(n, m) for n in names for m in names if groups.get(m) in others[n]]
    expected: set[frozenset[tuple[str, str]]] = set()
    for found in itertools.permutations(names):
        before = {(a, b) for a, b in itertools.combinations(found, 2)}
        sides = [
            {(n, m) in before for m in names if groups.get(m) == g}
            for n in names
            for g in others[n]
        ]
        if all(len(side) == 1 for side in sides) and all(
            (d, n) in before for n in names for d in deps[n]
        ):
            expected.add(frozenset((n, m) for n, m in apart if (n, m) in before))
    decided = []
    for way in orders_of_groups(knl):
        assert all(way[n] >= set(deps[n]) for n in names)
        assert all((n in way[m]) != (m in way[n]) for n, m in apart)
        decided.append(frozenset((n, m) for n, m in apart if n in way[m]))
    assert len(decided) == len(set(decided))
    assert set(decided) == expected
