"""Which kernels have a loop nest, and what is to be duplicated where they have none."""

from __future__ import annotations

import itertools
import random

import pytest

import polygen as pg
from polygen.errors import NoLoopNest

DOMAIN = "{ [i, j, k, l]: 0<=i,j,k,l<3 }"


def kernel(*inames: str) -> pg.Kernel:
    """Return a kernel with an instruction for each text, in the loops that it names."""
    text = [f"a{n}[{', '.join(names)}] = {n}" for n, names in enumerate(inames)]
    with pg.without_proofs():
        return pg.make_kernel(DOMAIN, text)


def has_nest(groups: list[set[str]]) -> bool:
    """Tell by trying all orders of loops whether the instructions can share them."""

    def holds(order: tuple[str, ...]) -> bool:
        # One loop an iname: between two instructions with a loop in common, everything that is
        # outside of it is in common, too.
        for a, b in itertools.combinations(groups, 2):
            first, second = ([i for i in order if i in g] for g in (a, b))
            common = a & b
            if common and (
                set(first[: len(common)]) != common or set(second[: len(common)]) != common
            ):
                return False
        return True

    return any(holds(order) for order in itertools.permutations("ijkl"))


SHAPES = [s for n in (1, 2, 3) for s in itertools.combinations("ijkl", n)]


@pytest.mark.parametrize("seed", range(40))
def test_as_brute_force_says(seed: int) -> None:
    chooser = random.Random(seed)
    inames = [chooser.choice(SHAPES) for _ in range(chooser.randint(2, 4))]
    knl = kernel(*("".join(names) for names in inames))
    assert pg.has_schedulable_iname_nesting(knl) == has_nest([set(n) for n in inames])


@pytest.mark.parametrize(
    "inames",
    [
        ("ij", "jk", "ki"),
        ("ij", "i", "j"),
        ("ij", "jk", "kl", "li"),
        ("ijk", "i", "j", "k"),
        ("i", "ij", "jk", "k"),
    ],
)
def test_options_let_a_nest_exist(inames: tuple[str, ...]) -> None:
    knl = kernel(*inames)
    assert not pg.has_schedulable_iname_nesting(knl)
    options = list(pg.get_iname_duplication_options(knl))
    assert options
    for names, within in options:
        after = pg.duplicate_inames(knl, names, within)
        assert pg.has_schedulable_iname_nesting(after)
        assert not list(pg.get_iname_duplication_options(after))


def test_the_circle_is_named() -> None:
    with pytest.raises(NoLoopNest, match="circle, i - j - k - i: 'a' is in") as caught:
        pg.make_kernel(
            DOMAIN, "x[i, j] = 1 {id=a}\ny[j, k] = 1 {id=b}\nz[k, i] = 1 {id=c}\nw[k] = 2"
        )
    remedy = str(caught.value.remedy)
    assert "write {dup=i:j} at a; or make the kernel without_proofs()" in remedy
    assert "duplicate_inames(knl, 'i, j', within='id:a')" in remedy


def test_what_had_no_nest_keeps_its_instances() -> None:
    """A step that gives such a kernel a nest must not change what is executed, or be unordered."""
    knl = kernel("ij", "i", "j")
    with pg.without_proofs():
        wrong = pg.make_kernel(
            DOMAIN, "a[i, j] = 1 {id=a}\nb[i] = 1 {id=b}\nb[j] = 2 {id=c, dep=*}"
        )
    with pytest.raises(pg.errors.IllegalStep, match="leaves open which of two instances"):
        pg.duplicate_inames(wrong, "i", within="a")

    @pg.transformation
    def half(knl: pg.Kernel) -> pg.Kernel:
        knl = pg.duplicate_inames(knl, "i", "insn")
        return knl.copy(instructions=knl.instructions[:2])

    with pytest.raises(pg.errors.NotTheSame):
        half(knl)


def test_where_there_is_no_circle() -> None:
    what = "'a' is in both {i, j}, 'b' in 'i' and not in 'j', and 'c' in 'j' and not in 'i'"
    with pytest.raises(NoLoopNest, match=what):
        pg.make_kernel(DOMAIN, "x[i, j] = 1 {id=a}\ny[i] = 1 {id=b}\nz[j] = 1 {id=c}")


def test_dependencies_that_contradict_the_nest() -> None:
    with pg.without_proofs():
        knl = pg.make_kernel(
            DOMAIN, "a[i] = 1 {id=a}\nb[j] = 2 {id=b, dep=a}\nc[i] = 3 {id=c, dep=b}"
        )
        assert not pg.has_schedulable_iname_nesting(knl)
        loop = knl.copy(
            instructions=tuple(
                insn.copy(within_inames=frozenset("i") | insn.within_inames)
                if insn.id == "b"
                else insn
                for insn in knl.instructions
            )
        )
    assert pg.has_schedulable_iname_nesting(loop)
