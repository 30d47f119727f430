"""Where temporaries live that are declared ``auto``: by reasoning, and instance by instance."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e
from polygen.analysis.pairs.automatic_spaces import choice
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.spaces import space_of

AUTO, PRIVATE, LOCAL, GLOBAL = (
    AddressSpace.AUTO,
    AddressSpace.PRIVATE,
    AddressSpace.LOCAL,
    AddressSpace.GLOBAL,
)
I_LOOP = "{ [i]: 0<=i<8 }"
J_LOOP = "{ [j]: 0<=j<8 }"
K_LOOP = "{ [k]: 0<=k<8 }"


def make(domains: Any, instructions: str, shape: Any = 8, **options: Any) -> Kernel:
    given = pg.TemporaryVariable("t", np.float64, shape, AUTO)
    return pg.make_kernel(domains, instructions, [given, "..."], **options)


def space(kernel: Kernel, tags: dict[str, str]) -> AddressSpace:
    """Return where `t` is when inames have these tags: also found instance by instance."""
    with pg.without_proofs():
        tagged = pg.tag_inames(kernel, tags)
    found = tagged.address_space("t")
    assert found is space_of(tagged, "t", {})
    return found


BACKWARDS = "t[i] = a[i]\nout[j] = t[7 - j]"
SHIFTED = "t[i] = a[i]\nout[j] = t[j]"


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({}, PRIVATE),
        ({"i": "l.0", "j": "l.0"}, LOCAL),
        ({"i": "l.0"}, LOCAL),
        ({"j": "l.0"}, PRIVATE),
        ({"j": "g.0"}, PRIVATE),
        ({"i": "g.0"}, GLOBAL),
        ({"i": "g.0", "j": "g.0"}, GLOBAL),
        ({"i": "l.0", "j": "g.0"}, LOCAL),
        ({"i": "g.0", "j": "l.0"}, GLOBAL),
        ({"i": "l.0", "j": "l.1"}, LOCAL),
        ({"i": "unr"}, PRIVATE),
    ],
)
def test_by_who_reads(tags: dict[str, str], expected: AddressSpace) -> None:
    assert space(make([I_LOOP, J_LOOP], BACKWARDS), tags) is expected


def test_by_elements_and_not_by_names() -> None:
    # the same work item reads what it wrote: the subscripts have the axis, and need not
    assert space(make([I_LOOP, J_LOOP], SHIFTED), {"i": "l.0", "j": "l.0"}) is PRIVATE
    assert space(make([I_LOOP, J_LOOP], SHIFTED), {"i": "g.0", "j": "g.0"}) is PRIVATE
    other = "{ [j]: 1<=j<9 }"
    knl = make([I_LOOP, other], "t[i] = a[i]\nout[j] = t[j - 1]")
    assert space(knl, {"i": "l.0", "j": "l.0"}) is PRIVATE
    knl = make([I_LOOP, other], "t[i] = a[i]\nout[j] = t[j % 8]")
    assert space(knl, {"i": "l.0", "j": "l.0"}) is LOCAL
    # only groups differ, or only work items, as the subscripts have it
    two = ["{ [i, p]: 0<=i, p<4 }", "{ [j, q]: 0<=j, q<4 }"]
    axes = {"i": "g.0", "p": "l.0", "j": "g.0", "q": "l.0"}
    assert space(make(two, "t[i, p] = a[i, p]\nout[j, q] = t[j, 3 - q]", (4, 4)), axes) is LOCAL
    assert space(make(two, "t[i, p] = a[i, p]\nout[j, q] = t[3 - j, q]", (4, 4)), axes) is GLOBAL
    assert space(make(two, "t[i, p] = a[i, p]\nout[j, q] = t[j, q]", (4, 4)), axes) is PRIVATE


def test_scalars() -> None:
    knl = make("{ [k, i]: 0<=k, i<8 }", "t = a[k, i]\nout[k, i] = t", (), loop_priority="k, i")
    for tags in ({"i": "l.0"}, {"k": "g.0", "i": "l.0"}, {"i": "g.0"}):
        assert space(knl, tags) is PRIVATE
    knl = make([I_LOOP], "t = 2*s\nout[i] = t", ())
    assert space(knl, {"i": "l.0"}) is PRIVATE
    knl = make([I_LOOP, J_LOOP], "t = sum(i, a[i])\nout[j] = t", ())
    assert space(knl, {"j": "g.0"}) is PRIVATE


def test_what_is_overwritten_does_not_count() -> None:
    # item 7 writes last before the loop ends, but each reads its own of the same iteration
    text = "t[i] = a[k, i] {id=w}\nout[k, i] = t[i] {dep=w, inames=k:i}"
    knl = make("{ [k, i]: 0<=k, i<8 }", text, loop_priority="k, i")
    assert space(knl, {"i": "l.0"}) is PRIVATE
    # each work item clears all of it; but a later write by another one is what is read
    domains = [I_LOOP, J_LOOP, K_LOOP]
    text = "t[i] = 0 {id=z}\nt[j] = a[j] {id=w, dep=z}\nout[k] = t[7 - k] {id=r, dep=w}"
    assert space(make(domains, text), {"j": "l.0", "k": "l.0"}) is LOCAL
    assert space(make(domains, text), {"j": "g.0", "k": "l.0"}) is GLOBAL
    # here, what others write is overwritten by each for itself
    text = "t[j] = a[j] {id=w}\nt[i] = 0 {id=z, dep=w}\nout[k] = t[7 - k] {id=r, dep=z:w}"
    assert space(make(domains, text), {"j": "g.0", "k": "l.0"}) is PRIVATE


def test_atomic_updates_add_to_what_others_add_to() -> None:
    text = "t[0] = 0 {id=z}\nt[0] += a[i] {id=w, dep=z, atomic}\nout[j] = t[0] {id=r, dep=w}"
    knl = make([I_LOOP, J_LOOP], text, 1)
    assert space(knl, {"i": "l.0", "j": "l.0"}) is LOCAL
    assert space(knl, {"i": "g.0", "j": "l.0"}) is GLOBAL
    assert space(knl, {"j": "l.0"}) is PRIVATE
    tagged = pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})
    a = np.arange(8.0)
    for target in ("c", "opencl"):
        _, (out,) = tagged.executor(target)(a=a)
        np.testing.assert_array_equal(out, np.full(8, 28.0))


def test_what_data_decides_counts_as_read_elsewhere() -> None:
    indices = pg.GlobalArg("idx", np.int32, "8")
    given = pg.TemporaryVariable("t", np.float64, 8, AUTO)
    knl = pg.make_kernel(
        [I_LOOP, J_LOOP], "t[i] = a[i]\nout[j] = t[idx[j]]", [given, indices, "..."]
    )
    for tags, expected in (({"i": "l.0", "j": "l.0"}, LOCAL), ({"i": "g.0", "j": "g.0"}, GLOBAL)):
        tagged = pg.tag_inames(knl, tags)
        assert pg.address_spaces(tagged)["t"] is expected
        a, idx = np.arange(8.0) ** 2, np.array([7, 7, 0, 3, 2, 1, 4, 6], np.int32)
        for target in ("c", "opencl"):
            _, (out,) = tagged.executor(target)(a=a, idx=idx)
            np.testing.assert_array_equal(out, a[idx])


def test_shared_iterations_are_not_private() -> None:
    given = [pg.TemporaryVariable("t", np.float64, 8, AUTO), "..."]
    knl = pg.make_kernel([I_LOOP, J_LOOP], "t[i] = a[i]\nout[j] = t[j]", given)
    tagged = pg.tag_inames(knl, {"i": "l.auto", "j": "l.0"})
    assert pg.address_spaces(tagged)["t"] is LOCAL
    assert "__local double t[8];" in str(pg.generate_code(pg.add_dtypes(tagged, {"a": "f8"})))


def test_rules_are_seen() -> None:
    knl = make([I_LOOP, J_LOOP], "f(x) := t[7 - x]\nt[i] = a[i]\nout[j] = f(j)")
    tagged = pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})
    assert pg.address_spaces(tagged)["t"] is LOCAL


def test_who_is_to_blame() -> None:
    with pg.without_proofs():
        knl = pg.tag_inames(make([I_LOOP, J_LOOP], BACKWARDS), {"i": "g.0", "j": "g.0"})
        assert choice(knl, "t").pair == ("insn", "insn_0")
        knl = pg.tag_inames(make([I_LOOP, J_LOOP], SHIFTED), {"i": "g.0", "j": "g.0"})
    assert choice(knl, "t").pair is None


# --- declared, printed, generated


def test_text_and_value() -> None:
    knl = make([I_LOOP, J_LOOP], BACKWARDS)
    assert "t: type: float64, shape: (8), aspace: auto\n" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    assert "address_space=pg.AddressSpace.AUTO" in pg.kernel_to_python(knl)
    text = "t: type: float64, shape: (8), aspace: auto\n"
    same = pg.TemporaryVariable("t", np.float64, 8, address_space=pg.auto)  # Loo.py's name for it
    assert text in str(pg.make_kernel([I_LOOP, J_LOOP], BACKWARDS, [same, "..."]))
    private = pg.make_kernel(
        [I_LOOP, J_LOOP], BACKWARDS, [pg.TemporaryVariable("t", np.float64, 8), "..."]
    )
    assert private != knl
    assert pg.generate_code(pg.add_dtypes(private, {"a": "f8"})) == pg.generate_code(
        pg.add_dtypes(knl, {"a": "f8"})
    )


@few(2, "n", [0, 1, 7, 8, 13])
def test_runs(n: int) -> None:
    """Tiles are reversed, with the temporary wherever it has to be."""
    text = "t[i] = 2*a[o, i] {id=w}\nout[o, j] = t[7 - j] + t[0] {id=r, dep=w}"
    knl = make(["{ [o]: 0<=o<n }", I_LOOP, J_LOOP], text.replace("{id=w}", "{id=w, inames=o:i}"))
    a = np.random.default_rng(n).normal(size=(n, 8))
    for tags in (
        {},
        {"o": "g.0"},
        {"o": "g.0", "i": "l.0", "j": "l.0"},
        {"o": "g.0", "i": "l.0"},
        {"o": "g.0", "j": "l.0"},
        {"i": "l.0", "j": "l.1"},
    ):
        tagged = pg.tag_inames(knl, tags) if tags else knl
        for target in ("c", "opencl"):
            _, (out,) = tagged.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(out, 2 * a[:, ::-1] + 2 * a[:, :1])


# --- refused


def test_refused_where_no_space_will_do() -> None:
    knl = make([I_LOOP, J_LOOP], "t = a[i] {id=w}\nout[j] = t {id=r, dep=w, inames=j}", ())
    for tags, what in (
        (
            {"i": "l.0"},
            "'t' is declared auto, and is local: 'r' may read what 'w' writes in another work item",
        ),
        (
            {"i": "g.0"},
            "'t' is declared auto, and is global: 'r' may read what 'w' writes in another group",
        ),
        ({"i": "l.0", "j": "l.0"}, "'t' is declared auto, and is private"),
    ):
        with pytest.raises(e.IllegalStep) as caught:
            pg.tag_inames(knl, tags)
        assert what in caught.value.what
    with pg.without_proofs():
        tagged = pg.tag_inames(knl, {"i": "l.0"})
    with pytest.raises(e.UnorderedAccess, match="'t' is declared auto, and is local: 'r' may"):
        pg.check_well_formed(tagged)


def test_global_where_it_would_be_lost_between_launches() -> None:
    text = "t[i] = a[i] {id=w}\nb[j] = t[j] {id=v}\nout[k] = t[k] + b[7 - k] {dep=w:v}"
    knl = make([I_LOOP, J_LOOP, K_LOOP], text)
    tagged = pg.tag_inames(knl, {"i": "g.0", "j": "g.0", "k": "g.0"})
    assert tagged.address_space("t") is PRIVATE  # as far as its values go
    assert pg.address_spaces(tagged)["t"] is GLOBAL
    a = np.arange(8.0)
    for target in ("c", "opencl"):
        _, (b, out) = tagged.executor(target)(a=a)
        np.testing.assert_array_equal(b, a)
        np.testing.assert_array_equal(out, a + a[::-1])


@few(
    2,
    ("tags", "expected"),
    [
        ({}, (PRIVATE, PRIVATE)),
        (dict.fromkeys("ijpq", "l.0"), (PRIVATE, LOCAL)),
        (dict.fromkeys("ijpq", "g.0"), (GLOBAL, GLOBAL)),
        (dict.fromkeys("ij", "g.0"), (GLOBAL, GLOBAL)),
    ],
)
def test_sums_that_are_kept_from_step_to_step(
    tags: dict[str, str], expected: tuple[AddressSpace, AddressSpace]
) -> None:
    """Each work item adds to a sum of its own; groups make the loop run on the host."""
    domains = ["{ [k]: 0<=k<n }", *(f"{{ [{i}]: 0<={i}<8 }}" for i in "ijpq")]
    text = """
        s[p] = 0                  {id=zero, inames=p}
        s[i] = s[i] + x[i]        {id=add, inames=k:i, dep=*zero}
        t[i] = x[i]               {id=keep, inames=k:i, dep=*add}
        x[j] = t[(j + 1) % 8]/2   {id=turn, inames=k:j, dep=*keep:add}
        out[q] = s[q]             {inames=q, dep=*add:zero}
        """
    given = [pg.TemporaryVariable(name, np.float64, 8, AUTO) for name in "st"]
    knl = pg.make_kernel(domains, text, [*given, pg.GlobalArg("x", np.float64, 8), "..."])
    knl = pg.tag_inames(knl, tags) if tags else knl
    assert tuple(pg.address_spaces(knl).values()) == expected
    start = np.random.default_rng(3).normal(size=8)
    for n in (0, 1, 5):
        x, total = start.copy(), np.zeros(8)
        for _ in range(n):
            total, x = total + x, np.roll(x, -1) / 2
        for target in ("c", "opencl"):
            found = start.copy()
            _, (_, out) = knl.executor(target)(x=found, n=n)
            np.testing.assert_array_equal(found, x)
            np.testing.assert_array_equal(out, total)


def test_one_element_that_a_single_group_writes_is_global() -> None:
    text = "t[0] = a[i] {id=w}\nb[j] = a[j] + t[0] {id=v}\nout[k] = t[0] + b[7 - k] {dep=w:v}"
    knl = make(["{ [i]: 0<=i<1 }", J_LOOP, K_LOOP], text, 1)
    tagged = pg.tag_inames(knl, {"j": "g.0", "k": "g.0"})
    assert pg.address_spaces(tagged)["t"] is GLOBAL
    a = np.arange(1.0, 9)
    for target in ("c", "opencl"):
        _, (b, out) = tagged.executor(target)(a=a, b=np.zeros(8))
        np.testing.assert_array_equal(b, a + 1)
        np.testing.assert_array_equal(out, 1 + b[::-1])


@pytest.mark.parametrize("declared", [AUTO, PRIVATE])
def test_what_cannot_be_shared_is_kept_for_each_work_item_if_it_may_be(
    declared: AddressSpace,
) -> None:
    given = [pg.TemporaryVariable("t", np.float64, (), declared), "..."]
    text = "t = a[i] {id=w}\nb[i] = t {id=v}\nout[i] = t + b[i] {id=r}"
    knl = pg.make_kernel([I_LOOP], text, given)
    text = str(pg.tag_inames(knl, {"i": "g.0"}))
    line = "[i] out[i] = t + b[i]  {id=r, dep="
    assert line in text
    waits = "[] ... gbarrier  {id=g, dep=v}\n"
    tagged = pg.parse_kernel(text.replace(line, f"{waits}{line}g:"))
    if declared is PRIVATE:
        assert pg.address_spaces(tagged)["t"] is PRIVATE
        with pytest.raises(e.PrivateAcrossLaunches, match="'t' is private, but its value is need"):
            pg.generate_code(pg.add_dtypes(tagged, {"a": "f8"}))
        return
    assert pg.address_spaces(tagged)["t"] is GLOBAL
    a = np.arange(8.0)
    for target in ("c", "opencl"):
        _, (b, out) = tagged.executor(target)(a=a)
        np.testing.assert_array_equal(b, a)
        np.testing.assert_array_equal(out, a + a)


# --- steps


def test_steps_are_proved_for_what_it_becomes() -> None:
    """Splitting and tagging changes where it is; each result computes the same."""
    knl = make(
        ["{ [o]: 0<=o<n }", I_LOOP, J_LOOP], "t[i] = a[o, i] {inames=o:i}\nout[o, j] = t[7 - j]"
    )
    a = np.random.default_rng(1).normal(size=(5, 8))
    knl = pg.split_iname(knl, "i", 2, outer_tag="l.0")
    assert pg.address_spaces(knl)["t"] is LOCAL
    knl = pg.split_iname(knl, "j", 2, outer_tag="l.0")
    assert pg.address_spaces(knl)["t"] is LOCAL
    knl = pg.tag_inames(knl, {"o": "g.0"})
    assert pg.address_spaces(knl)["t"] is LOCAL
    assert pg.replay(knl.original or knl, knl.history) == knl
    for target in ("c", "opencl"):
        _, (out,) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(out, a[:, ::-1])


# --- at random


def _random_kernel(shuffler: random.Random) -> tuple[Kernel, dict[str, str]]:
    """Return a kernel, well formed or not, whose `t` many work items may touch."""
    names = shuffler.sample("ijkl", shuffler.randint(2, 4))
    domains = [f"{{ [{n}]: {shuffler.randint(0, 1)}<={n}<4 }}" for n in names]
    lines: list[str] = []
    outer = shuffler.choice([None, None, names[0]])
    for number in range(shuffler.randint(2, 4)):
        inames = {shuffler.choice(names), *([outer] if outer else [])}
        iname = shuffler.choice(sorted(inames))
        index = shuffler.choice([iname, f"4 - {iname}", f"{iname} + 1", "0", f"{iname} // 2"])
        before = [f"s{n}" for n in range(number) if shuffler.random() < 0.7]
        options = f"{{id=s{number}, inames={':'.join(sorted(inames))}, dep=*{':'.join(before)}}}"
        work = shuffler.choice([f"t[{index}] = 1", f"out[{number}] = t[{index}]"])
        lines.append(f"{work} {options}")
    tags = {n: shuffler.choice(["l.0", "l.1", "g.0", "for"]) for n in names}
    given = [
        pg.TemporaryVariable("t", np.float64, 8, AUTO),
        pg.GlobalArg("out", np.float64, 8),
        "...",
    ]
    return pg.make_kernel(domains, "\n".join(lines), given), tags


@few(1, "start", range(0, 400, 100))
def test_at_random(start: int) -> None:
    counts = dict.fromkeys((PRIVATE, LOCAL, GLOBAL), 0)
    for seed in range(start, start + 100):
        with pg.without_proofs():
            knl, tags = _random_kernel(random.Random(seed))
            try:
                knl = pg.tag_inames(knl, tags, force=True)
                found = choice(knl, "t").space
            except (e.TagConflict, e.DependencyCycle):  # it is no kernel
                continue
        assert found is space_of(knl, "t", {}), seed
        counts[found] += 1
    assert min(counts.values()) > 0
    assert sum(counts.values()) > 50
