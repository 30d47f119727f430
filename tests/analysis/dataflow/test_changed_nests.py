"""Proofs of steps by the nests that they change: what they show, and what they leave to others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.dataflow import changed_nests as module
from polygen.analysis.dataflow.changed_nests import changed_nests
from polygen.ir.expression import Variable
from polygen.ir.kernel import Kernel
from polygen.ir.recomputed import recomputing
from polygen.ir.tags import GroupTag
from tests.proof.sequences import check_results, random_sequence

OTHERS = 8


def _kernel(inames: str, text: str, *declared: object, others: int = OTHERS) -> Kernel:
    """Return a kernel with nests behind what is given, that have nothing to do with it.

    Parameters:
        inames: those of the text, each of 16 values.
        text: instructions.
        declared: variables.
        others: how many nests.
    """
    names = [f"o{k}" for k in range(others)]
    return pg.make_kernel(
        [f"{{ [{iname}]: 0<={iname}<16 }}" for iname in (*inames, *names)],
        "\n".join([text, *(f"{o}_out[{o}] = {o}_in[{o}] {{id=s_{o}}}" for o in names)]),
        [*declared, "..."],
    )


def _tagged(knl: Kernel, iname: str = "i") -> Kernel:
    return knl.copy(tags={**knl.tags, iname: GroupTag(0)})


def test_a_nest_is_looked_at_alone() -> None:
    knl = _kernel("i", "a[i] = b[i] {id=first}")
    found = changed_nests(knl, _tagged(knl), UNMOVED)
    assert found is not None
    before, after = found
    assert [insn.id for insn in after.instructions] == ["first"]
    assert (before.tags, dict(after.tags)) == ({}, {"i": GroupTag(0)})


def test_what_shares_a_loop_comes_along() -> None:
    knl = _kernel("ij", "a[i] = b[i] {id=one}\nc[i,j] = d[i,j] {id=two}")
    found = changed_nests(knl, knl.copy(tags={"j": GroupTag(0)}), UNMOVED)
    assert found is not None
    assert [insn.id for insn in found[1].instructions] == ["one", "two"]


def _more_than_half(knl: Kernel) -> Kernel:
    return knl.copy(tags=dict.fromkeys(knl.inames, GroupTag(0)))


def _with_other_dependency(knl: Kernel) -> Kernel:
    first, *rest = knl.instructions
    return knl.copy(instructions=(first.copy(depends_on=frozenset(["s_o1"])), *rest))


def _in_one_loop(knl: Kernel) -> Kernel:
    """Let two nests be one."""
    insns = [
        i.copy(within_inames=frozenset(["i"])) if i.id == "s_o0" else i for i in knl.instructions
    ]
    return knl.copy(instructions=tuple(insns))


@pytest.mark.parametrize("change", [_more_than_half, _with_other_dependency, _in_one_loop])
def test_what_it_says_nothing_of(change: Callable[[Kernel], Kernel]) -> None:
    knl = _kernel("i", "a[i] = b[i] {id=first}")
    assert changed_nests(knl, change(knl), UNMOVED) is None


def test_moved_inames_are_changed() -> None:
    knl = _kernel("i", "a[i] = b[i] {id=first}")
    found = changed_nests(knl, knl, InstanceMap({"i": 15 - Variable("i")}))
    assert found is not None
    assert [insn.id for insn in found[0].instructions] == ["first"]
    assert changed_nests(knl, knl, InstanceMap({}, {"s_o2": {"o2": 15 - Variable("o2")}}))


# --- steps that only the whole kernel shows to be wrong


def test_the_order_with_a_part_of_a_nest_alone() -> None:
    """The loop of i keeps `one` behind `before`, on which `two` alone depends."""
    text = """
        a[k] = k {id=before}
        b[i] = a[15-i] {id=one, dep=*}
        c[i] = b[i] {id=two, dep=*before:one}
    """
    knl = _kernel("ki", text)
    with pytest.raises(pg.errors.IllegalStep, match=r"before.*of 'a' that one"):
        pg.tag_inames(knl, {"i": "g.0"})
    whole = _kernel("ki", text.replace("dep=*}", "dep=*before}"))
    assert pg.tag_inames(whole, {"i": "g.0"}).tags == {"i": GroupTag(0)}


def test_what_comes_after_a_part_of_a_nest_alone() -> None:
    """The loop of i keeps `after` behind `two`, though it depends on `one` alone."""
    text = """
        b[i] = d[i] {id=one}
        c[i] = b[i] {id=two}
        a[k] = c[15-k] {id=after, dep=*one}
    """
    knl = _kernel("ki", text)
    with pytest.raises(pg.errors.IllegalStep):
        pg.tag_inames(knl, {"i": "g.0"})


@pytest.mark.parametrize(
    ("space", "legal"), [("private", False), ("local", False), ("global", True)]
)
def test_copies_that_others_use(space: str, legal: bool) -> None:
    """What a work item keeps for itself another nest does not find."""
    place = pg.AddressSpace[space.upper()]
    tmp = pg.TemporaryVariable("tmp", "float64", shape=(16,), address_space=place)
    knl = _kernel(
        "ij",
        "tmp[i] = b[i] {id=writes}\na[j] = tmp[15-j] {id=reads}",
        tmp,
    )
    if legal:
        found = changed_nests(knl, _tagged(knl), UNMOVED)
        assert found is not None
        assert "tmp" in {a.name for a in found[1].arguments}
        assert pg.tag_inames(knl, {"i": "g.0"}).tags
        return
    assert changed_nests(knl, _tagged(knl), UNMOVED) is None
    with pytest.raises(pg.errors.UserError):
        pg.tag_inames(knl, {"i": "g.0"})


def test_a_refused_step_says_what_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = _kernel("i", "a[i+1] = a[i] {id=first}")
    with pytest.raises(pg.errors.IllegalStep) as found:
        pg.tag_inames(knl, {"i": "g.0"})
    monkeypatch.setattr(module, "FEWEST", 1000)
    with pytest.raises(pg.errors.IllegalStep) as whole:
        pg.tag_inames(knl, {"i": "g.0"})
    assert found.value.what == whole.value.what


def test_whole_kernels_say_the_same_of_random_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `recomputing`, each step that is proved by nests is proved for the whole kernel, too."""
    monkeypatch.setattr(module, "FEWEST", 0)
    monkeypatch.setattr(module, "LARGEST", 1)
    asked: list[bool] = []

    def watched(*arguments: object) -> object:
        found = changed_nests(*arguments)  # type: ignore[arg-type]
        asked.append(found is not None)
        return found

    monkeypatch.setattr("polygen.proof.changed_nests", watched)
    with recomputing(1.0):
        for seed in range(40_000, 40_006):
            check_results(random_sequence(seed))
    assert sum(asked) > 3


@pytest.mark.deep
@pytest.mark.parametrize("start", range(41_000, 42_000, 100))
def test_whole_kernels_say_the_same_of_many(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST", 0)
    monkeypatch.setattr(module, "LARGEST", 1)
    with recomputing(0.5):
        for seed in range(start, start + 100):
            check_results(random_sequence(seed))
