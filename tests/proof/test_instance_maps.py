"""What a step says of its instances is checked: a wrong map is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import InstanceMap, at_new_instance, is_at_new_instance
from polygen.analysis.rearrangement.legality import violation
from polygen.analysis.rearrangement.same_instances import difference
from polygen.errors import NotTheSame
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import identical
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_statement
from polygen.language.reductions import resolve_reductions
from polygen.proof import Rearranged
from tests.oracle.cases import kernel
from tests.proof.patterns import PATTERNS, fuse, move, own, take

INAME, J, N, R = (ex.Variable(name) for name in "ijnr")


def _plus(*terms: Expression) -> Expression:
    return ex.sum_of(*terms)


def test_an_instruction_has_its_own_map_as_a_whole() -> None:
    instances = InstanceMap({"i": R, "j": R}, {"s": {"i": J}})
    assert instances.value("s", "i") == J
    assert instances.value("s", "j") == J
    assert instances.value("u", "j") == R
    assert instances.value("u", "k") == ex.Variable("k")
    assert instances.moves("s", frozenset("i"))
    assert not instances.moves("s", frozenset("j"))


REWRITTEN: list[tuple[str, Mapping[str, Expression], str, str]] = [
    # an expression, what inames are, the inames around, and what it becomes
    ("a[i + 1]", {"i": _plus(N, ex.negated(INAME))}, "i", "a[n - i + 1]"),
    ("sum(j, a[i, j])", {"j": _plus(R, INAME)}, "i", "sum(r, a[i, r + i])"),
    ("sum(j, a[i, j])", {"i": J, "j": INAME}, "i", "sum(i, a[j, i])"),
    ("sum(i, sum(j, a[i, j]))", {"i": J, "j": INAME}, "", "sum(j, sum(i, a[j, i]))"),
    (
        "sum((i, j), a[i, j])",
        {"j": _plus(R, ex.negated(INAME))},
        "",
        "sum((i, r), a[i, r - i])",
    ),
    ("sum(i, b[i]) + sum(j, b[j])", {"i": R, "j": R}, "", "sum(r, b[r]) + sum(r, b[r])"),
]


@pytest.mark.parametrize(("text", "values", "around", "expected"), REWRITTEN)
def test_expressions_in_terms_of_new_inames(
    text: str, values: Mapping[str, Expression], around: str, expected: str
) -> None:
    statement = parse_statement(f"x = {text}  {{inames={around}}}")
    node = resolve_reductions(statement, "ij").values[0]
    found = at_new_instance(node, frozenset(around), values, ["i", "j", "r"])
    assert show_expression(found) == expected


PLAIN: list[tuple[str, str, Mapping[str, Expression], bool]] = [
    ("a[i + 1]", "a[r + 1]", {"i": R}, True),
    ("a[i + 1]", "a[r + j + 1]", {"i": _plus(R, J)}, True),
    ("a[1 + i]", "a[1 + r + j]", {"i": _plus(R, J)}, True),
    ("a[i, 2*i]", "a[j, 2*j]", {"i": J}, True),
    ("a[i, j] - 2*a[j, i]", "a[j, i] - 2*a[i, j]", {"i": J, "j": INAME}, True),
    ("a[i + j]", "a[j + i]", {"i": J, "j": INAME}, True),
    ("a[i + j]", "a[r + j + r]", {"i": _plus(R, J), "j": R}, True),
    ("a[i + j]", "a[r + r + r]", {"i": _plus(R, J), "j": R}, False),
    ("a[i + 1]", "a[r + 2]", {"i": R}, False),
    ("a[i + 1]", "a[r + 1.0]", {"i": R}, False),
    ("a[i + 1]", "a[i + 1]", {"i": R}, False),
    ("a[2*i + 1]", "a[2*i + 1]", {"i": _plus(R, J)}, False),
    ("a[i + 1]", "a[r + 1 + 1]", {"i": R}, False),
    ("a[i + 1]", "a[r]", {"i": R}, False),
    ("a[i]", "b[r]", {"i": R}, False),
    ("a[i]", "a[r, r]", {"i": R}, False),
    ("a[i] + 2", "a[r] + 2.0", {"i": R}, False),
    ("a[i]*b[i]", "a[r] + b[r]", {"i": R}, False),
    ("sum(j, a[i + 1, j])", "sum(j, a[r + 1, j])", {"i": R}, True),
    ("sum(j, a[i, j])", "sum(j, a[i, j])", {"i": R}, False),
    ("sum(j, a[i, j])", "sum(r, a[r, j])", {"i": R}, False),
    ("sum(j, a[i, j])", "product(j, a[r, j])", {"i": R}, False),
    ("2*sum(j, a[i, j])", "2*sum(j, a[r + 1, j])", {"i": _plus(R, 1)}, True),
    ("i + 1", "r + j + 1", {"i": _plus(R, J)}, False),  # no subscript: a sum in a sum
]


@pytest.mark.parametrize(("old", "new", "values", "seen"), PLAIN)
def test_expressions_that_are_plainly_at_the_new_instance(
    old: str, new: str, values: Mapping[str, Expression], seen: bool
) -> None:
    statements = (parse_statement(f"x = {text}  {{inames=}}") for text in (old, new))
    first, second = (resolve_reductions(s, "ijr").values[0] for s in statements)
    assert is_at_new_instance(first, second, values) is seen
    around = frozenset("ij") - walk.reduction_inames(first)
    moved = at_new_instance(first, around, values, ["i", "j", "r"])
    assert identical(moved, second) is seen


def test_what_a_reduction_would_capture_is_not_plain() -> None:
    statement = parse_statement("x = sum(j, a[i, j]) + sum(j, a[j, j])  {inames=}")
    first, second = walk.parts(resolve_reductions(statement, "ij").values[0])
    assert not is_at_new_instance(first, second, {"i": J})
    assert is_at_new_instance(first, first, {"k": J})


# --- wrong maps


def _claiming(old: Kernel, new: Kernel, **claims: Any) -> Kernel:
    """Take a step from one kernel to another, with these claims."""

    stranger = pg.parse_kernel(str(new))  # what steps made of the old one is believed

    @pg.transformation
    def claim(_kernel: Kernel) -> Rearranged:
        """Return a kernel that was made elsewhere."""
        return Rearranged(stranger, **claims)

    return claim(old)


@pytest.fixture
def recurrence() -> Kernel:
    """Return a kernel whose instances are all different."""
    return kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + i  {id=s}")


OTHER_POINTS = "leaves out iterations"
NOT_AFFINE = "'i' = .* is no affine function of its inames"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (R, OTHER_POINTS),  # off by one
        (_plus(R, 2), OTHER_POINTS),
        (ex.product_of(2, R), OTHER_POINTS),
        (ex.FloorDiv(R, 2), OTHER_POINTS),
        (N, OTHER_POINTS),
        (ex.product_of(R, R), NOT_AFFINE),
        (ex.Variable("elsewhere"), NOT_AFFINE),
        (ex.Subscript(ex.Variable("a"), R), NOT_AFFINE),
    ],
)
def test_a_wrong_value_of_an_iname(recurrence: Kernel, value: Expression, text: str) -> None:
    new = take(recurrence, move("[i] -> [r] : r = i - 1"))
    assert _claiming(recurrence, new, values={"i": _plus(R, 1)}).domains == new.domains
    with pytest.raises(NotTheSame, match=text):
        _claiming(recurrence, new, values={"i": value})


def test_a_map_for_the_wrong_instruction() -> None:
    old = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + i  {id=s}\nb[i] = a[i]*i  {id=u}")
    new = take(old, own("i", "u"))
    right = {"u": {"i": ex.Variable("i_0")}}
    assert _claiming(old, new, by_instruction=right).inames == new.inames
    wrongs: list[dict[str, Any]] = [
        {"by_instruction": {"s": {"i": ex.Variable("i_0")}}},
        {"values": {"i": ex.Variable("i_0")}},
        {"values": {}},
        {"values": {"i": ex.Variable("i_0")}, "by_instruction": {"u": {}}},
    ]
    for wrong in wrongs:
        found = Rearranged(new, **wrong)
        assert difference(old, new, found.instances) is not None
        with pytest.raises(NotTheSame):
            _claiming(old, new, **wrong)


def test_a_domain_that_stays_although_its_points_move() -> None:
    old = PATTERNS["pointwise"].kernel()
    new = take(old, move("[i] -> [i'] : i' = n - 1 - i"))
    assert new.domains == old.domains
    reversal = InstanceMap({"i": _plus(N, -1, ex.negated(INAME))})
    assert difference(old, new, reversal) is None
    assert difference(old, new, InstanceMap()) is not None
    shifted = InstanceMap({"i": _plus(N, ex.negated(INAME))})
    assert difference(old, new, shifted) == "it leaves out iterations, or has new ones"


def test_variables_that_are_not_to_be_looked_at() -> None:
    old = PATTERNS["loops ahead"].kernel()
    result = Rearranged(take(old, fuse("j", "i"), unsafe=True), {"j": INAME})
    found = violation(old, result.kernel, result.instances)
    assert found is not None
    assert found.name == "a"
    assert violation(old, result.kernel, result.instances, skip=frozenset("a")) is None
    assert violation(old, result.kernel, result.instances, skip=frozenset("b")) == found


def test_arrays_that_may_overlap_are_looked_at_nevertheless() -> None:
    old = PATTERNS["alias"].kernel()
    new = take(old, move("[i] -> [i'] : i' = n - 1 - i"), unsafe=True)
    reversal = InstanceMap({"i": _plus(N, -1, ex.negated(INAME))})
    found = violation(old, new, reversal, skip=frozenset("ab"))
    assert found is not None
    assert {found.name, found.other_name} == {"a", "b"}
