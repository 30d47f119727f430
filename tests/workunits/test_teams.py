"""Teams of several threads: barriers, scratch memory, work that threads share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import RaceFound, ThreadsPart, WorkUnitRefused
from tests.workunits.agreement import SPACES, agree

RNG = np.random.default_rng(2)
LEAGUE, SIZE = 5, 4
X = RNG.random(LEAGUE * SIZE)
ROWS = X.reshape(LEAGUE, SIZE)


def teams(space: Any, size: Any = SIZE, league: int = LEAGUE) -> pk.TeamPolicy:
    return pk.TeamPolicy(space, league, size)


def filled(space: Any, unit: Any, shape: Any, **arguments: Any) -> Any:
    """Return the array `y` that a work unit fills."""
    y = np.zeros(shape)
    size = arguments.pop("size", SIZE)
    pk.parallel_for(teams(space, size), unit, y=y, **arguments)
    return y


@pk.workunit
def counted(m: pk.TeamMember, acc: pk.Acc[pk.double], x: pk.View1D[pk.double]) -> None:
    acc += x[m.league_rank()]


@pk.workunit
def counted_above(m: pk.TeamMember, acc: pk.Acc[pk.int64], x: pk.View2D[pk.double]) -> None:
    e = m.league_rank()

    def one(j: int, count: pk.Acc[pk.int64]) -> None:
        if x[e][j] > 0.5:
            count += 1

    acc += pk.parallel_reduce(pk.TeamThreadRange(m, 1, 4), one)


def test_each_thread_counts() -> None:
    agree(
        lambda s: pk.parallel_reduce(teams(s), counted_above, x=ROWS),
        SIZE * (ROWS[:, 1:4] > 0.5).sum(),
    )
    agree(
        lambda s: pk.parallel_reduce(teams(s), counted, x=X),
        SIZE * X[:LEAGUE].sum(),
    )


@pk.workunit
def reversed_(m: pk.TeamMember, y: pk.View1D[pk.double], x: pk.View1D[pk.double]) -> None:
    e = m.league_rank()
    r = m.team_rank()
    y[e * m.team_size() + r] = x[e * m.team_size() + r]
    m.team_barrier()
    t = y[e * m.team_size() + r]
    m.team_barrier()
    y[e * m.team_size() + m.team_size() - 1 - r] = t


@pk.workunit
def convolved(m: pk.TeamMember, y: pk.View1D[pk.double], x: pk.View1D[pk.double]) -> None:
    e = m.league_rank()
    size = m.team_size()
    s: pk.ScratchView1D[pk.double] = pk.ScratchView1D(m.team_scratch(0), size)
    r = m.team_rank()
    s[r] = 2 * x[e * size + r]
    m.team_barrier()
    v = s[r]
    if r > 0:
        v += s[r - 1]
    if r < size - 1:
        v += s[r + 1]
    y[e * size + r] = v


def test_barriers() -> None:
    agree(lambda s: filled(s, reversed_, X.shape, x=X), ROWS[:, ::-1].ravel())
    near = 2 * ROWS
    near[:, 1:] += 2 * ROWS[:, :-1]
    near[:, :-1] += 2 * ROWS[:, 1:]
    agree(lambda s: filled(s, convolved, X.shape, x=X), near.ravel())


@pk.workunit
def halved(m: pk.TeamMember, y: pk.View1D[pk.double], x: pk.View1D[pk.double]) -> None:
    """Add up in a tree: barriers in a loop."""
    e = m.league_rank()
    r = m.team_rank()
    s = pk.ScratchView1D[pk.double](m.team_scratch(0), 4)
    s[r] = x[e * 4 + r]
    m.team_barrier()
    for k in range(2):
        step = 2 - k
        if r < step:
            s[r] += s[r + step]
        m.team_barrier()
    if r == 0:
        y[e] = s[0]


def test_barriers_in_loops() -> None:
    agree(lambda s: filled(s, halved, LEAGUE, x=X), ROWS.sum(axis=1))


@pk.workunit
def partial_sums(
    m: pk.TeamMember,
    acc: pk.Acc[pk.float32],
    x: pk.View2D[pk.float32],
    y: pk.View1D[pk.float32],
) -> None:
    e = m.league_rank()
    r = m.team_rank()
    t = 0
    for j in range(r, x.extent(1), m.team_size()):
        t += x[e][j] * 0.5
    m.team_barrier()
    y[e * 4 + r] = t
    acc += t


def test_variables_of_threads_live_across_barriers() -> None:
    """As numbers of the type that NumPy gives them: here of single precision."""
    x = RNG.random((LEAGUE, 9)).astype(np.float32)
    expected = np.array([x[:, r::4].sum(1) * 0.5 for r in range(4)]).T

    def run(space: Any) -> Any:
        y = np.zeros(20, np.float32)
        total = pk.parallel_reduce(teams(space), partial_sums, x=x, y=y)
        return np.append(y, total)

    agree(run, np.append(expected.ravel(), expected.sum()), rtol=1e-6)


@pk.workunit
def by_thread(m: pk.TeamMember, y: pk.View2D[pk.double], x: pk.View2D[pk.double]) -> None:
    e = m.league_rank()
    r = m.team_rank()
    s = pk.ScratchView1D[pk.double](m.thread_scratch(1), 3)
    for k in range(3):
        s[k] = x[e][r] * k
    m.team_barrier()

    def add(k: int) -> None:
        y[e][r] += s[k]

    pk.parallel_for(pk.ThreadVectorRange(m, 3), add)


def test_scratch_memory_of_threads() -> None:
    agree(lambda s: filled(s, by_thread, ROWS.shape, x=ROWS), 3 * ROWS)


@pk.workunit
def hierarchical(
    m: pk.TeamMember,
    acc: pk.Acc[pk.double],
    A: pk.View3D[pk.double],
    x: pk.View2D[pk.double],
    y: pk.View2D[pk.double],
) -> None:
    e = m.league_rank()

    def rows(j: int, total: pk.Acc[pk.double]) -> None:
        def columns(k: int, inner: pk.Acc[pk.double]) -> None:
            inner += A[e][j][k] * x[e][k]

        total += y[e][j] * pk.parallel_reduce(pk.ThreadVectorRange(m, A.extent(2)), columns)

    total = pk.parallel_reduce(pk.TeamThreadRange(m, A.extent(1)), rows)
    if m.team_rank() == 0:
        acc += total


@pytest.mark.parametrize("size", [pk.AUTO, 3])
def test_nested_reductions(size: Any) -> None:
    a, x, y = RNG.random((5, 6, 7)), RNG.random((5, 7)), RNG.random((5, 6))
    agree(
        lambda s: pk.parallel_reduce(pk.TeamPolicy(s, 5, size, 8), hierarchical, A=a, x=x, y=y),
        np.einsum("ej,ejk,ek", y, a, x),
    )


@pk.workunit
def scanned(m: pk.TeamMember, y: pk.View2D[pk.double], x: pk.View2D[pk.double]) -> None:
    e = m.league_rank()

    def add(j: int, acc: pk.Acc[pk.double], last: bool) -> None:
        acc += x[e][j]
        if last:
            y[e][j] = acc

    total = pk.parallel_scan(pk.TeamThreadRange(m, x.extent(1)), add)

    def once() -> None:
        y[e][x.extent(1)] += total

    pk.single(pk.PerTeam(m), once)


@pk.workunit
def boxes(m: pk.TeamMember, y: pk.View3D[pk.double]) -> None:
    e = m.league_rank()

    def fill(i: int, j: int) -> None:
        y[e][i][j] = e * 100 + i * 10 + j

    pk.parallel_for(pk.TeamThreadMDRange(m, y.extent(1), y.extent(2)), fill)
    pk.parallel_for(pk.TeamVectorRange(m, 0), lambda i: i)


def test_scans_boxes_and_parts_for_one_thread() -> None:
    x = RNG.random((LEAGUE, 7))
    sums = x.cumsum(axis=1)
    expected = np.column_stack([sums, sums[:, -1]])
    agree(lambda s: filled(s, scanned, (LEAGUE, 8), x=x), expected)
    e, i, j = np.indices((LEAGUE, 4, 5))
    agree(lambda s: filled(s, boxes, (LEAGUE, 4, 5), size=2), e * 100 + i * 10 + j)


@pk.workunit
def leaving(m: pk.TeamMember, y: pk.View2D[pk.double]) -> None:
    """Leave with all threads, and in a loop of one thread."""
    e = m.league_rank()
    r = m.team_rank()
    y[e, r] = 1 + r
    if e == 1:
        return
    m.team_barrier()
    k = 0
    while k < 3:
        t = y[e, m.team_size() - 1 - r]
        m.team_barrier()
        y[e, r] += t
        m.team_barrier()
        k += 1
    for j in range(r):
        if j == 2:
            return
        y[e, r] += 100
    y[e, r] += 1000


def test_leaving() -> None:
    def by_hand(e: int) -> Any:
        y = np.arange(1.0, SIZE + 1)
        if e == 1:
            return y
        for _ in range(3):
            y = y + y[::-1]
        return np.add(y, [1000, 1100, 1200, 200])

    agree(lambda s: filled(s, leaving, (LEAGUE, SIZE)), [by_hand(e) for e in range(LEAGUE)])


# --- refused


@pk.workunit
def barrier_in_branch(m: pk.TeamMember, y: pk.View1D[pk.double]) -> None:
    if m.team_rank() == 0:
        m.team_barrier()
    y[m.league_rank()] = 1


@pk.workunit
def leaves_early(m: pk.TeamMember, y: pk.View1D[pk.double]) -> None:
    if m.team_rank() > 1:
        return
    y[m.team_rank()] = 1
    m.team_barrier()
    y[m.team_rank() + 2] = 1


@pytest.mark.parametrize("unit", [barrier_in_branch, leaves_early])
@pytest.mark.parametrize("space", SPACES)
def test_all_threads_come_to_a_barrier(unit: Any, space: Any) -> None:
    with pytest.raises(ThreadsPart, match="barrier") as caught:
        pk.parallel_for(teams(space), unit, y=np.zeros(LEAGUE))
    assert "remedy: let all threads come" in str(caught.value)


@pk.workunit
def own_in_shared(m: pk.TeamMember, y: pk.View1D[pk.double]) -> None:
    r = m.team_rank()

    def fill(j: int) -> None:
        y[j] = r

    pk.parallel_for(pk.TeamThreadRange(m, 3), fill)


@pk.workunit
def rank_in_shared(m: pk.TeamMember, y: pk.View1D[pk.double]) -> None:
    def fill(j: int) -> None:
        y[j] = m.team_rank()

    pk.parallel_for(pk.TeamThreadRange(m, 3), fill)


@pk.workunit
def without_barrier(m: pk.TeamMember, y: pk.View1D[pk.double], x: pk.View1D[pk.double]) -> None:
    r = m.team_rank()
    e = m.league_rank() * 4
    y[e + r] = x[e + r]
    y[e + r] += y[e + 3 - r]


@pk.workunit
def unwritten(m: pk.TeamMember, y: pk.View1D[pk.double]) -> None:
    s = pk.ScratchView1D[pk.double](m.team_scratch(0), 4)
    r = m.team_rank()
    s[r] = 1.0
    y[m.league_rank() * 4 + r] = s[3 - r]


def test_what_depends_on_which_thread_it_is() -> None:
    with pytest.raises(ThreadsPart, match="work in which 'r' is, which differs by thread"):
        pk.parallel_for(teams(pk.Serial), own_in_shared, y=np.zeros(3))
    with pytest.raises(WorkUnitRefused, match="which thread does a part of the work"):
        pk.parallel_for(teams(pk.Serial), rank_in_shared, y=np.zeros(3))


def test_missing_barriers() -> None:
    with pytest.raises(RaceFound, match="the loop over 'team_rank' is not parallel"):
        pk.parallel_for(teams(pk.Serial), without_barrier, x=X, y=np.zeros(20))
    with pytest.raises(WorkUnitRefused, match="nothing has written before") as caught:
        pk.parallel_for(teams(pk.Serial), unwritten, y=np.zeros(20))
    assert "put a barrier" in str(caught.value)
