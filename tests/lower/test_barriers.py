"""Barriers, launches and loops on the host: where they are needed, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from polygen.lower.program import Assign, Barrier, Declare
from tests.oracle.cases import (
    agree,
    barriers,
    grid,
    host_loops,
    kernel,
    launches,
    loops,
    lowered,
    nodes,
    steps,
    tag,
)

LOCAL, GLOBAL = pg.AddressSpace.LOCAL, pg.AddressSpace.GLOBAL


def _reversal(space: pg.AddressSpace, **tags: str) -> Kernel:
    knl = kernel(
        "{ [i,j]: 0<=i,j<16 }",
        "t[i] = a[i]  {id=w}\nout[j] = t[15-j]  {dep=w}",
        pg.TemporaryVariable("t", shape=(16,), address_space=space),
    )
    return pg.tag_inames(knl, tags)


def test_local_memory_needs_one_barrier() -> None:
    program = lowered(_reversal(LOCAL, i="l.0", j="l.0"))
    assert len(launches(program)) == 1
    assert [type(n).__name__ for n in launches(program)[0].body] == [
        "Declare",
        "Assign",
        "Barrier",
        "Assign",
    ]


def test_global_memory_within_one_group_needs_one_barrier() -> None:
    program = lowered(_reversal(GLOBAL, i="l.0", j="l.0"))
    assert (len(launches(program)), len(barriers(program))) == (1, 1)


def test_global_memory_across_groups_needs_two_launches() -> None:
    program = lowered(_reversal(GLOBAL, i="g.0", j="g.0"))
    assert (len(launches(program)), len(barriers(program))) == (2, 0)
    assert [t.name for t in program.global_temporaries] == ["t"]


def test_no_work_items_walk_through_nothing() -> None:
    """In C, where the body of a loop begins with a barrier, nothing stands before that."""
    knl = kernel(
        ["{ [t]: 0<=t<3 }", "{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        """... lbarrier {id=before, inames=t}
        x[i] = t + a[i] {id=x, inames=t:i, dep=before}
        ... lbarrier {id=after, inames=t, dep=x}
        out[t,j] = x[7-j] {inames=t:j, dep=after}""",
        pg.TemporaryVariable("x", "float64", 8, LOCAL),
    )
    agree(knl, [{}], tag(i="l.0", j="l.0"))
    source = str(pg.generate_code(pg.add_dtypes(tag(i="l.0", j="l.0")(knl), {"a": "f8"}), "c"))
    assert source.count("for") == 3


def test_private_memory_needs_none() -> None:
    knl = kernel(
        "{ [i,k,kk]: 0<=i<16 and 0<=k,kk<4 }",
        "t[k] = a[i]*k  {id=w}\nout[i,kk] = t[3-kk]  {dep=w}",
        pg.TemporaryVariable("t", shape=(4,)),
    )
    assert barriers(lowered(tag(i="l.0")(knl))) == []


@pytest.mark.parametrize("space", [LOCAL, GLOBAL])
def test_elements_of_ones_own_need_none(space: pg.AddressSpace) -> None:
    knl = kernel(
        "{ [i]: 0<=i<16 }",
        "t[i] = 2*a[i]  {id=w}\nout[i] = t[i] + 1  {dep=w}",
        pg.TemporaryVariable("t", shape=(16,), address_space=space),
    )
    program = lowered(tag(i="l.0")(knl))
    assert (len(launches(program)), barriers(program)) == (1, [])


def test_in_place_needs_none() -> None:
    knl = kernel(
        "{ [i,t]: 0<=i<n and 0<=t<5 }", "a[i] = 2*a[i]  {id=s,inames=t:i}\nb[i] = a[i]  {dep=s}"
    )
    program = lowered(grid("i", 16)(knl))
    assert (len(launches(program)), barriers(program)) == (1, [])


@pytest.mark.parametrize("space", [LOCAL, GLOBAL])
@pytest.mark.parametrize(
    ("first", "domain", "count"),
    [
        ("t[i] = a[i]", "0<=i,j<16", 0),
        ("t[i] = a[i]", "0<=i<16 and 0<=j<16 and j<n", 0),  # some work items have nothing to do
        ("t[i-3] = a[i]", "3<=i<19 and 0<=j<16", 0),  # axes begin with the first values
        ("t[i] = a[i]", "1<=i<17 and 1<=j<16", 0),
        ("t[i] = a[i]", "0<=i<16 and 1<=j<16", 1),  # another work item's
        ("t[15-i] = a[i]", "0<=i,j<16", 1),
        ("t[i-m] = a[i]", "m<=i<m+16 and 0<=j<16", 0),  # wherever that is
    ],
)
def test_a_work_items_own_elements_under_other_inames(
    space: pg.AddressSpace, first: str, domain: str, count: int
) -> None:
    knl = kernel(
        f"{{ [i,j]: {domain} }}",
        first + "  {id=w}\nout[j] = t[j] + 1  {dep=w}",
        pg.TemporaryVariable("t", shape=(17,), address_space=space),
        assumptions="m >= 0 and n >= 1",
    )
    program = lowered(tag(i="l.0", j="l.0")(knl))
    assert (len(launches(program)), len(barriers(program))) == (1, count)


def test_where_loops_decide_where_an_axis_begins_they_wait() -> None:
    knl = kernel(
        ["{ [o]: 0<=o<4 }", "{ [i]: o<=i<o+8 }", "{ [j]: 0<=j<8 }"],
        "t[i] = a[i]  {id=w,inames=o:i}\nout[o,j] = t[j]  {dep=w,inames=o:j}",
        pg.TemporaryVariable("t", shape=(11,), address_space=GLOBAL),
    )
    program = lowered(tag(i="l.0", j="l.0")(knl))
    assert len(barriers(program)) == 2


def test_a_transposition_through_a_tile() -> None:
    knl = kernel(
        "{ [io,jo,ii,ji,iw,jw]: 0<=io,jo<n and 0<=ii,ji,iw,jw<4 }",
        """
        t[ii,ji] = a[4*io+ii, 4*jo+ji]      {id=w}
        out[4*jo+jw, 4*io+iw] = t[iw,jw]    {dep=w, inames=io:jo:iw:jw}
        """,
        pg.TemporaryVariable("t", shape=(4, 4), address_space=LOCAL),
    )
    tags = {"io": "g.1", "jo": "g.0", "ii": "l.1", "ji": "l.0", "iw": "l.0", "jw": "l.1"}
    program = lowered(tag(**tags)(knl))
    assert (len(launches(program)), len(barriers(program))) == (1, 1)


def test_a_shift_in_a_loop_needs_two_an_iteration() -> None:
    knl = kernel(
        "{ [t,i,j]: 0<=t<m and 0<=i,j<8 }",
        "s[i] = a[i] + t  {id=w, inames=t:i, dep=*}\na[j] = s[7-j]  {dep=w, inames=t:j}",
        pg.TemporaryVariable("s", shape=(8,), address_space=LOCAL),
    )
    program = lowered(tag(i="l.0", j="l.0")(knl))
    (loop,) = loops(program)
    assert sum(isinstance(n, Barrier) for n in loop.body) == 2
    assert len(launches(program)) == 1


def test_only_one_if_the_next_iteration_writes_what_nobody_reads() -> None:
    knl = kernel(
        "{ [t,i,j]: 0<=t<4 and 0<=i,j<8 }",
        "s[t,i] = a[t,i]  {id=w}\nout[t,j] = s[t,7-j]  {dep=w}",
        pg.TemporaryVariable("s", shape=(4, 8), address_space=LOCAL),
    )
    program = lowered(tag(i="l.0", j="l.0")(knl))
    assert len(barriers(program)) == 1


def test_transpose_then_double_is_two_launches() -> None:
    knl = kernel(
        "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
        "out[j,i] = a[i,j]  {id=t}\nout[ii,jj] = 2*out[ii,jj]  {dep=t}",
    )
    knl = steps(grid("j", 16), grid("jj", 16), tag(i="g.1", ii="g.1"))(knl)
    program = lowered(knl)
    first, second = launches(program)
    assert first.name != second.name
    assert host_loops(program) == []
    assert barriers(program) == []


def test_a_time_loop_around_two_phases_runs_on_the_host() -> None:
    knl = kernel(
        "{ [t,i,j]: 0<=t<m and 1<=i<n-1 and 1<=j<n-1 }",
        """
        b[i] = a[i-1] + a[i+1]  {id=s, dep=*, inames=t:i}
        a[j] = b[j]             {dep=s, inames=t:j}
        """,
    )
    program = lowered(steps(grid("i", 16), grid("j", 16))(knl))
    (loop,) = host_loops(program)
    assert loop.iname == "t"
    assert len(launches(program)) == 2
    assert len(loop.body) == 2
    assert all("t" not in {a.name for a in launch.arguments} for launch in launches(program))


def test_the_host_loops_variable_is_passed_where_it_is_used() -> None:
    knl = kernel(
        "{ [t,i]: 0<=t<m and 0<=i<n }",
        "a[t+1,i] = a[t,n-1-i] + t",
        assumptions="n>=1 and m>=1",
        loop_priority="t, i",
    )
    program = lowered(grid("i", 16)(knl))
    (loop,) = host_loops(program)
    (launch,) = launches(program)
    assert loop.iname == "t"
    assert "t" in {a.name for a in launch.arguments}


def test_an_accumulator_starts_on_the_side_of_its_loop() -> None:
    """The barrier stands before it, although only the loop has to wait."""
    knl = kernel("{ [i,j,k]: 0<=i,j,k<n }", "t[i] = 2*a[i]  {id=t}\nout[j] = sum(k, t[k])  {dep=t}")
    program = lowered(steps(grid("i", 4), grid("j", 4))(knl))
    first, second = launches(program)
    assert next(n.insn_id for n in nodes(program) if isinstance(n, Assign)) == "t"
    assert "acc_k" not in str(first.body)
    assert "acc_k" in str(second.body)


def test_what_lacks_the_axis_altogether_does_not_wait_for_itself() -> None:
    knl = kernel("{ [i,j,k]: 0<=i<n and 1<=j,k<n }", "b[k] = b[k-1] + a[k]\nout[i] = a[i]")
    program = lowered(tag(i="g.0")(knl))
    assert (len(launches(program)), host_loops(program), barriers(program)) == (1, [], [])


def test_in_loops_the_work_items_start_anew_after_a_barrier() -> None:
    program = lowered(_reversal(LOCAL, i="l.0", j="l.0"), Model.LOOPS)
    assert len(loops(program)) == len(launches(program)[0].body) - 1 == 2
    assert barriers(program) == []


def test_in_loops_what_is_kept_across_a_barrier_is_an_array() -> None:
    knl = kernel(
        "{ [i]: 0<=i<16 }",
        """
        <> p = a[i]*2       {id=p}
        <> q = a[i]*3       {id=q}
        t[i] = p + q        {id=w}
        out[i] = t[i//2]+p  {dep=w:p}
        """,
        pg.TemporaryVariable("t", shape=(16,), address_space=LOCAL),
    )
    program = lowered(tag(i="l.0")(knl), Model.LOOPS)
    extents = {n.name: n.extent for n in nodes(program) if isinstance(n, Declare)}
    assert extents == {"t": 16, "p": 16, "q": None}
    assert len(loops(program)) == 2


def test_no_barrier_without_a_grid() -> None:
    program = lowered(_reversal(LOCAL))
    assert barriers(program) == []
    assert [loop.parallel for loop in loops(program)] == [0, 0]


def test_an_axis_that_begins_before_its_first_value() -> None:
    """The first group writes, and it is none of those that read."""
    knl = kernel(
        "{ [p,q]: 0<=p<n and p mod 2 = 1 and 0<=q<=2-p }",
        "o[1] = a[0]  {id=first, if=a[0] > 0}\nout[p,q] = o[1]  {dep=first}",
        *(pg.GlobalArg(name, np.float64, "2") for name in ("a", "o")),
        pg.GlobalArg("out", np.float64, "n, 3"),
    )
    knl = tag(p="g.0")(knl)
    assert len(launches(lowered(knl))) == 2
    agree(knl, [{"n": n} for n in (0, 1, 2, 5)])


def _histogram() -> Kernel:
    """Return one whose groups clear and fill memory of their own, and then add to the result."""
    knl = pg.make_kernel(
        ["{ [s]: 0<=s<8 }", "{ [p,c,t]: 0<=p<n and 0<=c,t<8 }", "{ [i]: 0<=i<32 }"],
        """
        total[s] = 0  {id=start}
        for p
            mine[c] = 0  {id=clear}
            <> bin = data[p, i]  {id=bin}
            mine[bin] = mine[bin] + 1  {id=count, dep=clear:bin, inames=p:i, atomic}
            total[t] = total[t] + mine[t]  {id=add, dep=count:start, atomic}
        end
        """,
        [
            pg.GlobalArg("total", np.int32),
            pg.GlobalArg("data", np.int32),
            pg.TemporaryVariable("mine", np.int32, 8, address_space=LOCAL),
            "...",
        ],
    )
    knl = pg.split_iname(knl, "i", 8, inner_tag="l.0")
    return pg.tag_inames(knl, "p: g.0, s: l.0, c: l.0, t: l.0")


def test_what_is_in_local_memory_stays_in_one_launch() -> None:
    """The boundary between launches is ahead of it; the group waits by itself where it has to."""
    program = lowered(_histogram())
    first, second = launches(program)
    assert [n.insn_id for n in first.body if isinstance(n, Assign)] == ["start"]
    kinds = [type(n).__name__ for n in second.body]
    assert kinds == ["Declare", "Assign", "Barrier", "Loop", "Barrier", "Assign"]
    data = np.random.default_rng(1).integers(0, 8, size=(5, 32), dtype=np.int32)
    for target in ("c", "opencl"):
        _, (total,) = _histogram().executor(target)(data=data)
        np.testing.assert_array_equal(total, np.bincount(data.ravel(), minlength=8))
