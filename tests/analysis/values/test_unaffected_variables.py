"""Variables that a step leaves alone, and temporaries that it gives other axes."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.values.unaffected_variables import Settled
from polygen.errors import UserError
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_statement
from tests.analysis.values.compared import LOOP, made
from tests.oracle.cases import kernel
from tests.proof.exchange import exchange

DOMAINS = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 }", "{ [k]: 0<=k<5 }"]
SUM = """\
{0} = 0 {{id=w, dep=, inames=i:j}}
{1} = {1} + a[i,k]*b[k,j] {{id=s, dep=w, inames=i:j:k}}
c[i,j] = {2} {{id=r, dep=s, inames=i:j}}"""


def _kernel(text: str, *shape: int, order: str = "i, j, k", **named: object) -> Kernel:
    space = named.pop("space", pg.AddressSpace.PRIVATE)
    assert isinstance(space, pg.AddressSpace)
    t = pg.TemporaryVariable("t", "float64", shape, space)
    with pg.without_proofs():
        return kernel(DOMAINS, text, t, "...", loop_priority=order)


def _is_same(old: Kernel, new: Kernel, before: str = "t", after: str = "t[j]") -> bool:
    reads = (parse_statement(f"x = {text}").values[0] for text in (before, after))
    return Settled(old, new, UNMOVED).is_same_elsewhere(*reads)


BEFORE = _kernel(SUM.format(*"ttt"))


@pytest.mark.parametrize(
    ("shape", "text"),
    [((4,), "t[j]"), ((4,), "t[3-j]"), ((4, 2), "t[j, 1]"), ((2, 4), "t[0, j]"), ((1,), "t[0]")],
)
def test_an_axis_for_what_is_in_one_iteration(shape: tuple[int, ...], text: str) -> None:
    after = _kernel(SUM.format(text, text, text), *shape)
    assert _is_same(BEFORE, after, "t", text)
    assert _is_same(after, BEFORE, text, "t")
    exchange(BEFORE, after)
    exchange(after, BEFORE)


@pytest.mark.parametrize(
    ("shape", "places"),
    [
        ((4,), ("t[j]", "t[j]", "t[0]")),
        ((4,), ("t[j]", "t[3-j]", "t[3-j]")),
        ((5,), ("t[j]", "t[j]", "t[j+1]")),
        ((5,), ("t[0]", "t[k]", "t[4]")),
    ],
)
def test_another_element_is_read(shape: tuple[int, ...], places: tuple[str, ...]) -> None:
    after = _kernel(SUM.format(*places), *shape)
    assert not _is_same(BEFORE, after, "t", places[2])
    with pytest.raises(UserError):
        exchange(BEFORE, after)


def test_what_earlier_iterations_left() -> None:
    """Each goes on from the one before, and no longer if it has an element of its own."""
    text = "{0} = 2*{0} + a[i,j] {{id=s, inames=i:j}}\nc[i,j] = {0} {{id=r, dep=s, inames=i:j}}"
    assert not _is_same(_kernel(text.format("t")), _kernel(text.format("t[j]"), 4))


def test_another_order() -> None:
    """The sum is stored before it is complete."""
    after = _kernel(SUM.format("t[j]", "t[j]", "t[j]").replace("dep=s", "dep=w"), 4)
    assert not _is_same(BEFORE, after)
    with pytest.raises(UserError):
        exchange(BEFORE, after)


def test_other_conditions() -> None:
    after = SUM.format("t[j]", "t[j]", "t[j]").replace("id=s", "id=s, if=k<4")
    assert not _is_same(BEFORE, _kernel(after, 4))


def test_other_tags() -> None:
    after = _kernel(SUM.format("t[j]", "t[j]", "t[j]"), 4)
    with pg.without_proofs():
        assert not _is_same(BEFORE, pg.tag_inames(after, {"j": "l.0"}))


def test_data_decides_where() -> None:
    text = SUM.format("t[p[j]]", "t[p[j]]", "t[p[j]]")
    assert not _is_same(BEFORE, _kernel(text, 4), "t", "t[p[j]]")
    old = _kernel(text, 4)
    with_more = _kernel(text.replace("t[p[j]]", "t[i-i, p[j]]"), 1, 4)
    assert _is_same(old, with_more, "t[p[j]]", "t[i-i, p[j]]")
    assert _is_same(with_more, old, "t[i-i, p[j]]", "t[p[j]]")
    exchange(old, with_more)
    other = _kernel(text.replace("t[p[j]]", "t[i-i, q[j]]"), 1, 4)
    assert not _is_same(old, other, "t[p[j]]", "t[i-i, q[j]]")


def test_data_that_changes_at_another_time() -> None:
    def written(axis: str, *after: str) -> Kernel:
        text = f"""\
        t[{axis}j] = a[i,j] {{id=w, dep=*, inames=i:j}}
        p[k] = 3 - p[k] {{id=p, dep=*{after[0]}, inames=i:k}}
        c[i,k] = t[{axis}p[k]] {{id=r, dep=*w{after[1]}, inames=i:k}}"""
        lines = "\n".join(line.strip() for line in text.splitlines())
        return _kernel(lines, *((1, 4) if axis else (4,)), order="i, k")

    last, again, first = written("", "r", ""), written("i-i, ", "r", ""), written("i-i, ", "", ":p")
    assert _is_same(last, again, "t[p[k]]", "t[i-i, p[k]]")
    assert not _is_same(last, first, "t[p[k]]", "t[i-i, p[k]]")
    with pytest.raises(UserError):
        exchange(last, first)


def test_who_shares_it() -> None:
    after = _kernel(SUM.format("t[j]", "t[j]", "t[j]"), 4, space=pg.AddressSpace.GLOBAL)
    assert not _is_same(BEFORE, after)


def test_reads_change_places() -> None:
    """Two reads of one instruction are told apart by what each reads."""
    text = """\
    t[0{0}] = a[i] {{id=w, dep=, inames=i:j}}
    t[1{0}] = b[i] {{id=v, dep=, inames=i:j}}
    c[i,j] = t[{1}{0}] - t[{2}{0}] {{id=r, dep=w:v}}"""
    lines = "\n".join(line.strip() for line in text.splitlines())
    old = _kernel(lines.format("", 0, 1), 2)
    new, turned = (_kernel(lines.format(", j", *order), 2, 4) for order in ((0, 1), (1, 0)))
    assert _is_same(old, new, "t[0]", "t[0, j]")
    assert not _is_same(old, new, "t[0]", "t[1, j]")
    exchange(old, new)
    with pytest.raises(UserError):
        exchange(old, turned)


# --- variables whose users, and their order, are what they were

CHAIN = """\
t = a[i] {id=t, dep=*, inames=i}
out[i] = t {id=r, dep=*t}
b[i] = 2*b[i] {id=b, dep=*}"""


def _settled(old: str, new: str) -> list[str]:
    before, after = made(old, LOOP, T), made(new, LOOP, T)
    found = Settled(before, after, UNMOVED)
    return [n for n in ("a", "t", "out", "b") if found.holds(n)]


T = pg.TemporaryVariable("t", "float64")
EVERYTHING = ["a", "t", "out", "b"]


@pytest.mark.parametrize(
    ("was", "now", "settled"),
    [
        ("2*b[i]", "3*b[i]", EVERYTHING),  # other work on the same elements
        ("dep=*t", "dep=*", ["a", "out", "b"]),  # t may be read before
        ("out[i] = t", "out[i] = a[i]", ["a", "out", "b"]),  # somebody reads it no more
        ("out[i]", "out[7 - i]", ["a", "t", "b"]),
        ("t = a[i]", "t = a[0]", EVERYTHING),  # nobody writes a
        ("id=r", "id=q", ["a", "b"]),
        ("id=b, dep=*", "id=b, dep=*, if=i>3", ["a", "t", "out"]),
    ],
)
def test_variables_that_are_settled(was: str, now: str, settled: list[str]) -> None:
    assert was in CHAIN
    assert _settled(CHAIN, CHAIN.replace(was, now, 1)) == settled


def test_what_decides_where_is_to_be_settled_too() -> None:
    text = """\
    k = idx[i] {{id=k, dep=*{0}}}
    k = 2 {{id=l, dep=*{1}, inames=i}}
    out[{2}] = k {{id=r, dep=*k:l, inames=i}}"""
    for subscript, is_settled in (("k", False), ("i", True)):
        old, new = (
            made(text.format(*after, subscript), LOOP, K) for after in (("", "k"), ("l", ""))
        )
        found = Settled(old, new, UNMOVED)
        assert not found.holds("k")  # another of its writes comes last
        assert found.holds("out") is is_settled
        assert Settled(old, old, UNMOVED).holds("out")


K = pg.TemporaryVariable("k", "int32")


def test_instances_that_move_settle_what_they_do_not_touch() -> None:
    knl = made(CHAIN, LOOP, T)
    moved = InstanceMap(by_instruction={"b": {"i": ex.sum_of(7, ex.negated(ex.Variable("i")))}})
    found = Settled(knl, knl, moved)
    assert [n for n in EVERYTHING if found.holds(n)] == ["a", "t", "out"]


def test_what_is_known_from_elsewhere() -> None:
    found = Settled(made(CHAIN, LOOP, T), made(CHAIN.replace("dep=*t", "dep=*"), LOOP, T), UNMOVED)
    found.doubt("out")
    found.accept("t")
    assert (found.holds("out"), found.holds("t")) == (False, True)
