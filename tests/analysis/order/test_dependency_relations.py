"""Dependencies on instances: the pairs they order, and the same in other coordinates."""

from __future__ import annotations

import pytest

from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.order.dependency_relations import (
    compared,
    equal_in,
    moved_relations,
    related_pairs,
    standing_before,
    with_plain_dependencies,
)
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_statement
from tests.analysis.flat import where
from tests.analysis.pair_sets import listed, tagged, unproved
from tests.analysis.python_values import python_value

FEW = range(-1, 5)
PAIR = ["i", "i'"]


def _kernel(relation: str, domain: str = "{ [i]: 0<=i<4 }", later: str = "i") -> Kernel:
    lines = f"""
        a[i] = 1 {{id=a, dep=*}}
        b[{later}] = 2 {{id=b, dep=a[{relation}]}}
        """
    domains = [domain] if later == "i" else [domain, domain.replace("i", later)]
    return unproved(domains, lines)


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("{ [i] -> [i'] : i' = i + 1 }", lambda a, b: b == a + 1),
        ("{ [i] -> [i'] : i <= i' <= i + 2 }", lambda a, b: a <= b <= a + 2),
        (
            "{ [i] -> [i'] : i' = i < 2; [i] -> [i'] : i' = i + 2 }",
            lambda a, b: a == b < 2 or b == a + 2,
        ),
        ("{ [i] -> [i'] : i' = 2*i }", lambda a, b: b == 2 * a),
    ],
)
def test_only_instances_that_there_are(relation: str, expected: object) -> None:
    assert callable(expected)
    found = related_pairs(_kernel(relation), "a", "b")
    assert found is not None
    inside = where(lambda a, b: 0 <= a < 4 and 0 <= b < 4, 2, FEW)
    assert listed(found, PAIR, FEW) == where(expected, 2, FEW) & inside


def test_no_pairs() -> None:
    knl = _kernel("{ [i] -> [i'] : i' = i + 1 }")
    assert related_pairs(knl, "b", "a") is None
    assert related_pairs(knl, "a", "a") is None
    assert related_pairs(_kernel("{ [i] -> [i'] : i' = i + 4 }"), "a", "b") is None
    assert related_pairs(_kernel("{ [i] -> [i'] : i' = i + 3 }"), "a", "b") is not None


def test_a_symbolic_size() -> None:
    found = related_pairs(_kernel("{ [i] -> [i'] : i' = i + 1 }", "{ [i]: 0<=i<n }"), "a", "b")
    assert found is not None
    for n in range(5):
        assert listed(found, PAIR, FEW, n=n) == {(i, i + 1) for i in range(n - 1)}


def test_comparing_the_two_instances() -> None:
    for operator, holds in (
        ("==", lambda a, b: a == b),
        ("<", lambda a, b: a < b),
        (">", lambda a, b: a > b),
        (">=", lambda a, b: a >= b),
    ):
        assert listed(compared("i", operator), PAIR, FEW) == where(holds, 2, FEW)
    both = equal_in(compared("j", "<"), ["i"])
    expected = where(lambda i, j, k, m: i == k and j < m, 4, range(3))
    assert listed(both, ["i", "j", "i'", "j'"], range(3)) == expected
    assert equal_in(both, []).is_equal(both)


def test_who_stands_before_whom() -> None:
    """An instance of the same iteration must: what only comes an iteration later may be after."""
    assert standing_before(_kernel("{ [i] -> [i'] : i' = i + 1 }"))["b"] == frozenset()
    assert standing_before(_kernel("{ [i] -> [i'] : i <= i' }"))["b"] == {"a"}
    # With loops of their own, all instances are in one iteration of those that both are in.
    apart = _kernel("{ [i] -> [j'] : j' = i + 1 }", later="j")
    assert standing_before(apart) == {"a": frozenset(), "b": {"a"}}
    # On an axis, there is no loop that orders them.
    on_axis = tagged(_kernel("{ [i] -> [i'] : i' = i + 1 }"), i="l.0")
    assert standing_before(on_axis)["b"] == {"a"}


def test_whole_dependencies_count_too() -> None:
    lines = "a[i] = 1 {id=a, dep=*}\nb[i] = 2 {id=b, dep=*a}\nc[i] = 3 {id=c, dep=*b}"
    knl = unproved("{ [i]: 0<=i<4 }", lines)
    assert standing_before(knl) == {"a": frozenset(), "b": {"a"}, "c": {"b"}}
    assert with_plain_dependencies(knl) is knl


def test_the_same_order_of_the_code_without_relations() -> None:
    for relation, before in (
        ("{ [i] -> [i'] : i' = i + 1 }", frozenset()),
        ("{ [i] -> [i'] : i' = i }", frozenset({"a"})),
    ):
        plain = with_plain_dependencies(_kernel(relation))
        assert not any(insn.happens_after for insn in plain.instructions)
        assert plain.instruction("b").depends_on == before


# --- in other coordinates


def _value(text: str) -> ex.Expression:
    return parse_statement(f"x = {text}").values[0]


@pytest.mark.parametrize(
    ("value", "domain", "new"),
    [
        ("3 - p", "{ [p]: 0<=p<4 }", ["p"]),
        ("p - 5", "{ [p]: 5<=p<9 }", ["p"]),
        ("2*p + q", "{ [p, q]: 0<=p,q<2 }", ["p", "q"]),
    ],
)
def test_relations_in_terms_of_new_inames(value: str, domain: str, new: list[str]) -> None:
    """Two new instances are related if the old ones that they are were."""
    names = ", ".join(new)
    relation = "{ [i] -> [i'] : i <= i' <= i + 1 }"
    moved = _kernel(relation).instructions
    lines = f"a[{names}] = 1 {{id=a, dep=*}}\nb[{names}] = 2 {{id=b, dep=*}}"
    knl = unproved(domain, lines)
    related = {insn.id: insn.happens_after for insn in moved}
    knl = knl.copy(
        instructions=tuple(i.copy(happens_after=related[i.id]) for i in knl.instructions)
    )
    (found,) = (
        moved_relations(knl, InstanceMap({"i": _value(value)})).instruction("b").happens_after
    )
    assert (found.inames, found.later_inames) == (tuple(new), tuple(new))

    def old(*point: int) -> int:
        return int(python_value(value, dict(zip(new, point, strict=True))))

    few, count = range(7) if len(new) == 1 else range(3), len(new)
    expected = where(lambda *x: 0 <= old(*x[count:]) - old(*x[:count]) <= 1, 2 * count, few)
    assert listed(found.flat("'"), [*new, *(f"{n}'" for n in new)], few) == expected


def test_each_side_has_a_map_of_its_own() -> None:
    knl = unproved("{ [p]: 0<=p<4 }", "a[p] = 1 {id=a, dep=*}\nb[p] = 2 {id=b, dep=*}")
    relations = _kernel("{ [i] -> [i'] : i' = i }").instruction("b").happens_after
    a, b = knl.instructions
    knl = knl.copy(instructions=(a, b.copy(happens_after=relations)))
    instances = InstanceMap({}, {"a": {"i": _value("p")}, "b": {"i": _value("p + 1")}})
    (found,) = moved_relations(knl, instances).instruction("b").happens_after
    assert listed(found.flat("'"), ["p", "p'"], FEW) == where(lambda p, q: p == q + 1, 2, FEW)


def test_nothing_to_move() -> None:
    knl = unproved("{ [i]: 0<=i<4 }", "a[i] = 1 {id=a}")
    assert moved_relations(knl, InstanceMap({"i": _value("3 - i")})) is knl
    with pytest.raises(InternalError, match="the old value of 'i' is not affine"):
        moved_relations(_kernel("{ [i] -> [i'] : i' = i }"), InstanceMap({"i": _value("i*i")}))
