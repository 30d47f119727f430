"""Functions in work units: of the module, nested, with the team member; lambdas and closures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import NoSource, WorkUnitRefused
from polygen.workunits.translation.lambdas import read_lambda
from tests.workunits.agreement import agree

RNG = np.random.default_rng(4)
N = 6
X, Y, A = RNG.random(N), RNG.random(N), RNG.random((N, 4))


@pk.function
def row_sum(a: pk.View2D[pk.double], i: int) -> float:
    t: float = 0.0
    for j in range(a.extent(1)):
        t += a[i][j]
    return t


@pk.workunit
def row_sums(i: int, a: pk.View2D[pk.double], z: pk.View1D[pk.double]) -> None:
    z[i] = row_sum(a, i) + row_sum(a=a, i=0)


@pk.function
def team_sum(m: pk.TeamMember, a: Any, z: Any, factor: float) -> None:
    e = m.league_rank()

    def add(j: int, acc: pk.Acc[pk.double]) -> None:
        acc += a[e][j] * factor

    t = pk.parallel_reduce(pk.TeamThreadRange(m, a.extent(1)), add)
    m.team_barrier()
    if m.team_rank() == 0:
        for k in range(1, 3):  # one iteration needs the one before
            z[e] = t * k - z[e]


@pk.workunit
def team_sums(m: pk.TeamMember, a: Any, z: Any) -> None:
    team_sum(m, a, z, factor=2.0)


@pk.workunit
def nested(i: int, x: Any, z: Any) -> None:
    t = 0.0

    def add(v: float) -> None:
        nonlocal t
        t += v * x[i]

    def square(v: float) -> float:
        if v > 0.5:
            return v * v + t
        return -v

    add(2.0)
    add(3.0)
    z[i] = square(x[i]) + t


def test_functions() -> None:
    def run(space: Any, unit: Any, policy: Any, **arguments: Any) -> Any:
        z = np.zeros(N)
        pk.parallel_for(policy(space), unit, z=z, **arguments)
        return z

    def ranged(space: Any) -> Any:
        return pk.RangePolicy(space, 0, N)

    agree(lambda s: run(s, row_sums, ranged, a=A), A.sum(1) + A[0].sum())
    for size in (1, 3):
        agree(
            lambda s, size=size: run(  # type: ignore[misc]
                s, team_sums, lambda space: pk.TeamPolicy(space, N, size), a=A
            ),
            2 * A.sum(1),
        )
    expected = np.where(X > 0.5, X * X + 5 * X, -X) + 5 * X
    agree(lambda s: run(s, nested, ranged, x=X), expected)


class Workload:
    """Lambdas that see an object, and variables that change between dispatches."""

    def __init__(self) -> None:
        self.x, self.y, self.factor = pk.from_numpy(X), pk.from_numpy(Y), 3.0

    def run(self, space: Any) -> float:
        policy = pk.RangePolicy(space, 0, N)
        total = 0.0
        for a in (2.0, 5.0):
            total += pk.parallel_reduce(
                "dot",
                policy,
                lambda i, acc: acc + self.x[i] * self.y[i] * a * self.factor,  # noqa: B023
            )
        return total


def test_lambdas() -> None:
    agree(lambda s: Workload().run(s), 21 * (X @ Y))


def test_values_from_outside() -> None:
    """Of a function around the work unit, as they are in each dispatch."""

    def run(space: Any) -> Any:
        z = pk.View([N])
        for k in (1.0, 2.0):

            @pk.workunit
            def add(i: int) -> None:
                z[i] += k * X[i]  # noqa: B023  (dispatched at once)

            pk.parallel_for(pk.RangePolicy(space, 0, N), add)
        return np.asarray(z).copy()

    agree(run, 3 * X)


def test_lambdas_without_text() -> None:
    made = eval("lambda i, acc: acc + i")  # noqa: S307
    with pytest.raises(NoSource, match="the source of a lambda cannot be had"):
        pk.parallel_reduce(pk.RangePolicy(pk.Serial, 0, 3), made)
    assert pk.parallel_reduce(pk.RangePolicy(pk.Debug, 0, 3), made) == 3


def test_the_lambda_is_found_among_others_of_its_line() -> None:
    import ast  # noqa: PLC0415

    both = (lambda i, acc: acc + i, lambda i, acc: acc + (i + 1))
    found = [ast.unparse(read_lambda(one, ["acc"]).tree.body[0]) for one in both]  # type: ignore[arg-type]
    assert found == ["acc = acc + i", "acc = acc + (i + 1)"]


@pk.workunit
def with_arguments(m: pk.TeamMember, x: Any, z: Any) -> None:
    e = m.league_rank()

    def add(j: int, acc: pk.Acc[pk.double], by: Any, factor: float) -> None:
        acc += by[j] * factor

    total = pk.parallel_reduce(pk.TeamThreadRange(m, 1, 4), add, by=x, factor=e + 0.5)

    def store(j: int, y: Any) -> None:
        y[e, j] = total

    pk.parallel_for(pk.TeamVectorRange(m, 2), store, y=z)


def test_nested_dispatches_pass_arguments() -> None:
    def run(space: Any) -> Any:
        z = np.zeros((3, 2))
        pk.parallel_for(pk.TeamPolicy(space, 3, 2), with_arguments, x=X, z=z)
        return z

    sums = X[1:4].sum() * (np.arange(3) + 0.5)
    agree(run, np.column_stack([sums, sums]))


def test_lambdas_of_loops() -> None:
    k, h = np.array([0, 1, 1, 2, 2, 2]), np.zeros(3, int)

    def run(space: Any) -> Any:
        h[:] = 0
        pk.parallel_for(pk.RangePolicy(space, 0, 6), lambda i: pk.atomic_add(h, [k[i]], 1))
        return h.copy()

    agree(run, [1, 2, 3])


@pk.function
def value_of_member(m: pk.TeamMember) -> int:
    return m.league_rank()


@pk.workunit
def asks_for_value(m: pk.TeamMember, z: Any) -> None:
    z[m.league_rank()] = value_of_member(m)


@pk.workunit
def in_condition(m: pk.TeamMember, z: Any) -> None:
    def one(j: int, acc: pk.Acc[pk.double]) -> None:
        acc += z[j]

    while pk.parallel_reduce(pk.TeamThreadRange(m, 3), one) < 3:
        z[0] += 1


@pk.workunit
def missing_argument(i: int, a: Any, z: Any) -> None:
    z[i] = row_sum(a)  # type: ignore[call-arg]


def test_refused_calls() -> None:
    team = pk.TeamPolicy(pk.Serial, 1, pk.AUTO)
    for unit, said in (
        (asks_for_value, "is passed the team member, and is called for a value"),
        (in_condition, "the condition of a loop has a nested dispatch"),
    ):
        with pytest.raises(WorkUnitRefused, match=said):
            pk.parallel_for(team, unit, z=np.zeros(3))
    with pytest.raises(WorkUnitRefused, match="'row_sum' is passed nothing for 'i'"):
        pk.parallel_for(pk.RangePolicy(pk.Serial, 0, 3), missing_argument, a=A, z=np.zeros(N))


@pk.workunit
def row_of(j: int, a: Any, z: Any) -> None:
    z[j] = a[j, 0]


@pk.workunit
def total_of(j: int, acc: pk.Acc[pk.double], a: Any) -> None:
    acc += a[j, 0]


@pk.workunit
def dispatching(i: int, a: Any, z: Any) -> None:
    pk.parallel_for(3, row_of, a=a, z=z)


@pk.workunit
def dispatching_for_value(i: int, a: Any, z: Any) -> None:
    z[i] = pk.parallel_reduce(pk.RangePolicy(pk.Serial, 0, 3), total_of, a=a)


@pytest.mark.parametrize(
    ("unit", "name", "culprit"),
    [
        (dispatching, "row_of", "pk.parallel_for(3, row_of, a=a, z=z)"),
        (
            dispatching_for_value,
            "total_of",
            "pk.parallel_reduce(pk.RangePolicy(pk.Serial, 0, 3), total_of, a=a)",
        ),
    ],
)
def test_a_work_unit_that_is_dispatched_within_another_is_refused_by_name(
    unit: Any, name: str, culprit: str
) -> None:
    with pytest.raises(WorkUnitRefused) as caught:
        pk.parallel_for(pk.RangePolicy(pk.Serial, 0, 3), unit, a=A, z=np.zeros(N))
    text = str(caught.value)
    assert f"the work unit '{name}' is dispatched within another one, in '{unit.__name__}'" in text
    line = unit.__wrapped__.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}:" in text
    shown, carets = [one[4:] for one in text.splitlines() if one.startswith("  | ")]
    assert shown[carets.index("^") : carets.rindex("^") + 1] == culprit
    assert f"call '{name}' in a loop" in text
