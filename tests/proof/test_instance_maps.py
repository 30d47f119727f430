"""What a step says of its instances is checked: a wrong map is refused."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.rearrangement.legality import violation
from polygen.analysis.rearrangement.same_instances import difference
from polygen.errors import NotTheSame
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from tests.oracle.cases import kernel
from tests.proof.patterns import PATTERNS, fuse, move, own, take

INAME, N, R = (ex.Variable(name) for name in "inr")


def _plus(*terms: Expression) -> Expression:
    return ex.sum_of(*terms)


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
