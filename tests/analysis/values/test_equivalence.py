"""Two kernels compared by their dataflow; executing both says the same."""

from __future__ import annotations

import pytest

from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.dataflow.computed_difference import Difference
from polygen.analysis.values.equivalence import flow_difference
from polygen.analysis.values.unaffected_variables import Settled
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from tests.analysis.values.compared import made, verbatim
from tests.proof.judge import judge

CHAIN = "s = 2*a[i] {id=s, dep=*}\nout[i] = s + b[i] {id=r, dep=*s}"
BOUND = "<int32> m = idx[0] {id=m, dep=*, inames=}\nout[j] = a[j] {id=r, dep=*m, inames=j}"
BOUNDED = ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<m }"]
CALLS = [({"x": 2}, 0)]
LIMITS = {"idx": 8}
Texts = tuple[str, str]


def _difference(old: Kernel, new: Kernel, instances: InstanceMap = UNMOVED) -> Difference | None:
    return flow_difference(old, new, instances, Settled(old, new, instances))


SAME: list[Texts] = [
    (CHAIN, CHAIN),
    (CHAIN, "out[i] = 2*a[i] + b[i] {id=r, dep=*}"),
    (CHAIN, CHAIN.replace("s = 2", "v[i] = 2").replace("= s", "= v[i]")),
    # what nothing reads, and what nothing executes
    (CHAIN, f"{CHAIN}\nv[i] = a[i] {{id=v, dep=*}}"),
    (CHAIN, f"{CHAIN}\nb[i] = 0 {{id=b, dep=*r, if=i<0}}"),
    (CHAIN, CHAIN.replace("id=r", "id=r, if=i<8")),
    # what is overwritten before anything reads it
    (f"s = 0 {{id=n, dep=*}}\n{CHAIN.replace('id=s, dep=*', 'id=s, dep=*n')}", CHAIN),
    # an argument that keeps its values
    (CHAIN, f"{CHAIN}\nb[i] = b[i] {{id=b, dep=*r}}"),
    # the same conditions
    (
        CHAIN.replace("id=r", "id=r, if=i<4 and p[i]>0"),
        CHAIN.replace("id=r", "id=r, if=p[i]>0, if=4>i"),
    ),
]
OTHER: list[Texts] = [
    (CHAIN, CHAIN.replace("2*a", "3*a")),
    (CHAIN, CHAIN.replace("out[i]", "out[7 - i]")),
    (CHAIN, CHAIN.replace("id=r", "id=r, if=i<7")),
    (CHAIN, CHAIN.replace("id=r", "id=r, if=p[i]>0")),
    (CHAIN, f"{CHAIN}\nout[3] = 0 {{id=o, dep=*r, inames=}}"),
    (CHAIN, f"{CHAIN}\nb[i] = a[i] {{id=b, dep=*r}}"),
    (CHAIN, f"{CHAIN}\nb[i] = a[i] {{id=b, dep=*r, if=i>=7}}"),
    (CHAIN.replace("id=r", "id=r, if=p[i]>0"), CHAIN.replace("id=r", "id=r, if=p[i]>1")),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), SAME)
def test_kernels_that_compute_the_same(old: str, new: str) -> None:
    before, after = made(old), made(new)
    assert _difference(before, after) is None
    assert _difference(after, before) is None
    verdict = judge(before, after, CALLS, LIMITS, 1)
    assert (verdict.differs, verdict.calls) == (None, len(CALLS))


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_kernels_that_do_not(old: str, new: str) -> None:
    before, after = made(old), made(new)
    assert _difference(before, after) is not None
    assert _difference(after, before) is not None
    assert judge(before, after, CALLS, LIMITS, 1).differs is not None


def test_what_a_difference_says() -> None:
    knl = made(CHAIN)
    found = _difference(knl, made(CHAIN.replace("2*a", "3*a")))
    assert found is not None
    assert (found.insn_id, found.certain) == ("s", True)
    left_out = _difference(knl, made(CHAIN.replace("id=r", "id=r, if=i<7")))
    assert left_out is not None
    assert left_out.insn_id == "r"
    fewer = _difference(knl, made(CHAIN, "{ [i]: 0<=i<7 }"))
    assert fewer is not None
    assert "i=7" in fewer.what
    assert "left out" in fewer.what
    more = _difference(made(CHAIN, "{ [i]: 0<=i<7 }"), knl)
    assert more is not None
    assert more.certain


def test_instances_at_other_coordinates() -> None:
    """That the step says which is which, is all that tells instances of a loop apart."""
    backward = CHAIN.replace("[i]", "[7 - i]")
    turned = InstanceMap({"i": ex.sum_of(7, ex.negated(ex.Variable("i")))})
    assert _difference(made(CHAIN), made(backward), turned) is None
    assert _difference(made(CHAIN), made(backward)) is not None
    assert _difference(made(CHAIN), made(CHAIN), turned) is not None


def test_no_iteration_at_all() -> None:
    never = "{ [i]: 0<=i<0 }"
    assert _difference(made(CHAIN, never), made(CHAIN.replace("2*a", "3*a"), never)) is None


def test_loops_bounded_by_data() -> None:
    old = made(BOUND, BOUNDED)
    assert _difference(old, made(BOUND.replace("a[j]", "a[2*j - j]"), BOUNDED)) is None
    shorter = made(BOUND.replace("idx[0]", "idx[1]"), BOUNDED)
    assert _difference(old, shorter) is not None
    fixed = made(BOUND, [*BOUNDED[:1], "{ [j]: 0<=j<8 }"])
    assert _difference(old, fixed) is not None
    inside = [*BOUNDED[:1], "{ [j]: 0<=j<m and j<5 }"]
    found = _difference(old, made(BOUND, inside))
    assert found is not None
    assert judge(
        old, made(BOUND, inside), [({"x": 2}, seed) for seed in range(4)], LIMITS, 1
    ).differs


def test_verbatim_c_stays_what_it_is() -> None:
    old, new = (made(verbatim("c", f"out[i] = {k}*a[i];", "a", "out[i]")) for k in (2, 3))
    assert _difference(old, old.copy(name="other")) is None
    found = _difference(old, new)
    assert found is not None
    assert found.what == "it would execute other verbatim C"
