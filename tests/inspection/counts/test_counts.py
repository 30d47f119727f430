"""Counts of operations, accesses, barriers and elements: against counting one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import CountGranularity
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.errors import AssumptionViolated, InvalidArgument, MissingArgument, NotCountable
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag
from polygen.lower.lower import Model, lower
from tests.oracle.cases import Step, grid, kernel, split, steps, tag
from tests.oracle.compare import make_arguments, run_program
from tests.oracle.counting import Done, done, group_of, synchronized
from tests.oracle.evaluate import integer
from tests.oracle.trace import traced
from tests.oracle.typing import size_values

SIZES = (0, 1, 7, 8, 9)
SUBGROUP = 4


def typed(knl: Kernel, dtype: Any = np.float32) -> Kernel:
    names = [a.name for a in knl.arguments if isinstance(a, pg.GlobalArg) and a.dtype is None]
    inputs = {n: np.int32 if n.startswith("k") else dtype for n in names if n not in knl.writers}
    return pg.add_dtypes(knl, inputs)


def _product(knl: Kernel) -> Kernel:
    knl = steps(grid("i", 4, axis=1), grid("j", 4), split("k", 4))(knl)
    knl = pg.add_prefetch(knl, "a", ["k_inner", "i_inner"], default_tag="l.auto")
    return pg.add_prefetch(knl, "b", ["j_inner", "k_inner"], default_tag="l.auto")


SQUARE = "{ [i,j]: 0<=i,j<n }"
MATRICES = kernel("{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])")
TRIANGLE = kernel("{ [i,j]: 0<=j<=i<n }", "b[i] = sum(j, a[i,j]*x[j] - 2*x[i])")
KERNELS: dict[str, Callable[[], Kernel]] = {
    "a line": lambda: kernel("{ [i]: 0<=i<n }", "b[i] = a[2*i+1]*3 + a[0]/2"),
    "split": lambda: split("i", 4)(kernel("{ [i]: 0<=i<n }", "b[i] = a[i] - x[i]")),
    "split twice": lambda: steps(split("i", 8), split("i_inner", 2))(
        kernel("{ [i]: 0<=i<n }", "b[i] = -a[i]**2")
    ),
    "on a grid": lambda: grid("i", 8)(kernel("{ [i]: 0<=i<n }", "b[i] = a[i] + x[0]")),
    "two axes": lambda: steps(grid("i", 2, axis=1), grid("j", 3))(
        kernel(SQUARE, "b[j,i] = a[i,j]*x[j] % 3")
    ),
    "slabs": lambda: split("i", 4, slabs=(0, 1))(kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")),
    "triangle": lambda: TRIANGLE,
    "triangle, tiled": lambda: steps(grid("i", 4), split("j", 2))(TRIANGLE),
    "triangle of groups": lambda: tag(i="g.0", j="g.1")(
        kernel("{ [i,j]: 0<=j<i<n }", "b[i,j] = a[j,i]*2")
    ),
    "strided": lambda: kernel("{ [i]: 1<=i<n and i mod 3 = 1 }", "b[i] = a[i]*a[i-1]"),
    "skewed": lambda: kernel("{ [i,j]: 0<=i<n and i<=j<i+3 }", "b[i,j] = a[i+j]*2"),
    "not so plain": lambda: kernel("{ [i,j]: 0<=i and 0<=j and 2*i+3*j<n }", "b[i,j] = a[j] + i"),
    "conditions": lambda: kernel(
        SQUARE,
        """
        if i < j and (i + j) % 2 == 0
            b[i,j] = a[i]*2
        else
            b[i,j] = a[j] + 1
        end
        """,
    ),
    "conditions that are not affine": lambda: grid("j", 4)(
        kernel(
            SQUARE,
            """
            if i*j < n and i/2 != 1
                b[i,j] = a[i]*2
            end
            c[i,j] = if(not(i < n - 2) and i > 6 or i*i == j, a[i] + 1, 0)
            """,
        )
    ),
    "a choice": lambda: kernel(SQUARE, "b[i,j] = if(i == 0 or j > 3, a[i]*a[j], x[j] - 1)"),
    "a choice that makes no difference": lambda: kernel(
        "{ [i]: 0<=i<n }", "b[i] = if(a[i] > 0, 2*a[i], 3*a[i]) + if(x[i] > 0, 1, 0)"
    ),
    "integers": lambda: kernel(
        "{ [i]: 0<=i<n }", "b[i] = (k1[i] << 2 | ~k2[i] & 7 ^ 1) // (k1[i] % 3 + 4) + i//2"
    ),
    "functions": lambda: kernel(
        "{ [i]: 0<=i<n }", "b[i] = sin(a[i]) + min(a[i], x[i], 1) + float64(a[i])"
    ),
    "reductions": lambda: kernel(
        SQUARE,
        """
        p[i] = max(j, a[i,j]*2)
        q[i] = product(j, a[i,j])
        r[i] = any(j, a[i,j] > 0)
        s[i], t[i] = argmin(j, a[i,j] + 1, j)
        """,
    ),
    "a reduction in a condition": lambda: kernel(
        SQUARE, "b[i] = if(i < 2, sum(j, a[i,j]), a[i,0]*3)", pg.GlobalArg("a", shape="n, n")
    ),
    "temporaries": lambda: kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }",
        "<> t[j] = a[i]*x[j]  {id=t}\nb[i,j] = t[j] + t[j]*3  {dep=t}",
        loop_priority="i, j",
    ),
    "product": lambda: MATRICES,
    "product in tiles": lambda: _product(MATRICES),
    "prefetched": lambda: pg.add_prefetch(
        grid("i", 4)(kernel("{ [i]: 0<=i<n }", "b[i] = a[i] + a[i+1] + a[i+2]")),
        "a", ["i_inner"], default_tag="l.auto",
    ),
    "in vectors": lambda: split("i", 4, inner_tag="vec")(
        kernel("{ [i]: 0<=i<n }", "b[i] = a[i] + x[0]", assumptions="n mod 4 = 0")
    ),
    "joined": lambda: pg.join_inames(kernel(SQUARE, "b[i,j] = a[j,i]*2"), ["i", "j"], "ij"),
    "atomic": lambda: kernel(
        "{ [i]: 0<=i<n }",
        "b[i//4] = b[i//4] + a[i]  {atomic}",
        pg.GlobalArg("b", np.float32, shape="n"),
    ),
    "old values": lambda: kernel(
        "{ [i]: 0<=i<n }",
        """
        c[i] = fetch_add(b[i//4], 2*a[i])               {id=add}
        <> old = exchange(s[0], i)                      {id=swap}
        d[i] = compare_exchange(t[i], old, i)           {id=compare, dep=swap}
        """,
        pg.GlobalArg("b, s, t", np.int32, shape="n"),
        pg.GlobalArg("a", np.int32, shape="n"),
    ),
    "time steps": lambda: tag(i="g.0", j="g.0")(
        kernel(
            "{ [t,i,j]: 0<=t<3 and 0<=i,j<n }",
            "b[i] = a[i]*2  {id=f,dep=*}\na[j] = b[n-1-j] + 1  {id=g,dep=*f}",
            loop_priority=["t, i", "t, j"],
        )
    ),
    "a rule": lambda: kernel("{ [i]: 0<=i<n }", "f(x) := x*x + 1\nb[i] = f(a[i]) + f(2*a[i])"),
}  # fmt: skip


def by_operation(counts: pg.CountMap[pg.Op], sizes: Mapping[str, int]) -> dict[Any, int]:
    found: Counter[Any] = Counter()
    for key, count in counts.items():
        found[key.name, str(key.dtype)] += count.eval_with_dict(sizes)
    return {key: number for key, number in found.items() if number}


def sizes_of(knl: Kernel) -> list[dict[str, int]]:
    context = knl.assumptions.text
    return [{"n": n} for n in SIZES if "mod 4" not in context or n % 4 == 0]


def plain(knl: Kernel) -> Kernel:
    return infer_types(knl, index_type(knl)).on_axes


@pytest.mark.parametrize("name", KERNELS)
def test_one_by_one(name: str) -> None:
    knl = typed(KERNELS[name]())
    ops = {
        granularity: pg.get_op_map(knl, subgroup_size=SUBGROUP, count_granularity=granularity)
        for granularity in CountGranularity.ALL
    }
    accesses = pg.get_mem_access_map(knl, count_granularity="workitem")
    if affine := "not affine" not in name:
        elements = pg.gather_access_footprint_elements(knl)
    else:
        elements = {}
        _error(lambda: pg.gather_access_footprints(knl), NotCountable, "is not affine, decides")
    waits = pg.get_synchronization_map(knl)
    program = lower(infer_types(knl), Model.GRID)
    for sizes in sizes_of(knl):
        found = done(plain(knl), sizes, group_of(program), SUBGROUP, index_type(knl))
        assert by_operation(ops["workitem"], sizes) == +found.operations, sizes
        assert by_operation(ops["subgroup"], sizes) == +found.by_subgroup, sizes
        assert by_operation(ops["workgroup"], sizes) == +found.by_group, sizes
        _check_accesses(accesses, found, sizes)
        if affine:
            _check_elements(elements, knl, found, sizes)
        barriers, launches = synchronized(program, size_values(knl, sizes))
        waited = waits.get(pg.Sync("barrier_local", knl.name))
        assert (0 if waited is None else waited.eval_with_dict(sizes)) == barriers
        assert waits[pg.Sync("kernel_launch", knl.name)].eval_with_dict(sizes) == launches


def _check_accesses(
    accesses: pg.CountMap[pg.MemAccess], found: Done, sizes: Mapping[str, int]
) -> None:
    together = accesses.group_by("mtype", "direction", "variable")
    counts = {
        (k.mtype, k.direction, k.variable): c.eval_with_dict(sizes) for k, c in together.items()
    }
    assert {key: n for key, n in counts.items() if n} == +found.accesses, sizes


def _check_elements(
    elements: Mapping[tuple[str, str], pg.Count], knl: Kernel, found: Done, sizes: Mapping[str, int]
) -> None:
    touched = Counter((name, direction) for name, direction, _ in found.elements)
    counts = {key: count.eval_with_dict(sizes) for key, count in elements.items()}
    space = plain(knl).address_space
    in_global = {k: n for k, n in touched.items() if space(k[0]) is pg.AddressSpace.GLOBAL}
    assert {key: n for key, n in counts.items() if n} == in_global, sizes


def _along(places: list[tuple[dict[str, int], int]], iname: str) -> set[int]:
    """Return by how much a place changes from one value of an iname to the next."""
    rest = {
        (tuple(sorted((i, v) for i, v in at.items() if i != iname)), at[iname]): place
        for at, place in places
    }
    return {rest[others, v + 1] - p for (others, v), p in rest.items() if (others, v + 1) in rest}


STRIDES: list[tuple[str, dict[int, Any], dict[int, Any]]] = [
    ("a line", {}, {}),
    ("on a grid", {0: "1"}, {0: "8"}),
    ("two axes", {0: "n", 1: "1"}, {0: "3*n", 1: "2"}),
    ("triangle of groups", {}, {0: "n + -1", 1: "1"}),
    ("product in tiles", {0: "1", 1: "n"}, {0: "4", 1: "4*n"}),
]


@pytest.mark.parametrize(("name", "lid", "gid"), STRIDES, ids=[row[0] for row in STRIDES])
def test_strides(name: str, lid: dict[int, str], gid: dict[int, str]) -> None:
    knl = typed(KERNELS[name]())
    stores = pg.get_mem_access_map(knl, subgroup_size=4).filter_by(
        direction=["store"], mtype=["global"]
    )
    (stored,) = stores
    for strides, expected in ((stored.lid_strides, lid), (stored.gid_strides, gid)):
        assert {axis: str(stride) for axis, stride in (strides or {}).items()} == expected
    whole = plain(knl)
    places = done(whole, {"n": 9}).places["insn", f"store {stored.variable}"]
    for iname in whole.instruction("insn").within_inames:
        tag_ = whole.tags.get(iname)
        if isinstance(tag_, GroupTag | LocalTag):
            strides = stored.gid_strides if isinstance(tag_, GroupTag) else stored.lid_strides
            stride = (strides or {}).get(tag_.axis, 0)
            assert stride is not None
            assert _along(places, iname) == {integer(stride, {"n": 9})}


FOUR = "{ [i,j]: 0<=i<n and 0<=j<4 }"
# What is counted, and which of the marks of `traced` is executed as often.
MANY: dict[str, tuple[str, str, Step, tuple[str, int]]] = {
    "a private variable": (
        FOUR, "<> t = a[i]*3\nb[i,j] = t", tag(i="g.0", j="l.0"), ("mul", 0)
    ),
    "a reduction": (
        "{ [i,j,k]: 0<=i,k<n and 0<=j<4 }",
        "c[i,j] = 1\nb[i] = sum(k, a[i,k])",
        tag(i="g.0", j="l.0"),
        ("add", 1),
    ),
    "a group's variable": (
        "{ [i,j,k,l]: 0<=i,j<n and 0<=k,l<4 }",
        "t[k] = a[k]*3  {id=t}\nb[i,j,l] = t[3-l]  {dep=t}",
        tag(i="g.0", j="g.1", k="l.0", l="l.0"),
        ("mul", 0),
    ),
    "everyone's": (FOUR, "c[i,j] = 1\nb[i] = a[i]*3", tag(i="g.0", j="l.0"), ("mul", 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY)
def test_redundant_work(name: str) -> None:
    """As often as the loop program does it, in an interpreter that knows nothing of counts."""
    domain, text, step, (operation, mark) = MANY[name]
    local = pg.TemporaryVariable("t", np.float32, 4, address_space=pg.AddressSpace.LOCAL)
    knl = typed(step(kernel(domain, text, *([local] if "t[k]" in text else []))))
    options: dict[str, Any] = {"count_granularity": "workitem", "subgroup_size": 4}
    plainly = pg.get_op_map(knl, **options).filter_by(name=[operation])
    counts = pg.get_op_map(knl, True, **options).filter_by(name=[operation])
    marked = traced(infer_types(knl))
    for n in (0, 1, 2, 5):
        arguments = make_arguments(marked.kernel, {"n": n})
        outcome = run_program(lower(marked.kernel, Model.GRID), arguments)
        times = [t for (number, _), t in outcome.events.items() if number == mark]
        assert counts.eval_and_sum({"n": n}) == sum(times)
        assert plainly.eval_and_sum({"n": n}) == len(times)


SCAN = ("{ [i,j]: 0<=i<n and 0<=j<=i }", "b[i] = sum(j, a[j]*3)")
IN_GROUPS = ("{ [o,w,j]: 0<=o<n and 0<=w<4 and 0<=j<=4*o + w }", "b[o,w] = sum(j, a[j]*3)")
IN_STEPS = (
    "{ [t,i,k,j]: 0<=t<n and 0<=i,k<5 and 0<=j<=t }",
    """
    for t
        x[i] = y[4 - i] + sum(j, a[j]*3)  {id=there, dep=*}
        y[k] = x[4 - k]                   {dep=there}
    end
    """,
)
SCANS: dict[str, tuple[Callable[[], Kernel], Callable[[int], int]]] = {
    "in a loop": (lambda: kernel(*SCAN), lambda n: n),
    "no more from the fifth on": (
        lambda: kernel("{ [i,j]: 0<=i<n and 0<=j<=i and j<5 }", SCAN[1]), lambda n: min(n, 5)
    ),
    "in each row": (
        lambda: kernel("{ [k,i,j]: 0<=k,i<n and 0<=j<=i }", "b[k,i] = sum(j, a[k,j]*3)"),
        lambda n: n * n,
    ),
    "groups, each anew": (lambda: tag(i="g.0")(kernel(*SCAN)), lambda n: n * (n + 1) // 2),
    "by work items": (lambda: tag(w="l.0")(kernel(*IN_GROUPS)), lambda n: 4 * n),
    "between launches, anew": (
        lambda: tag(i="g.0", k="g.0")(
            kernel(*IN_STEPS, pg.GlobalArg("x", shape="5"), pg.GlobalArg("y", shape="5"))
        ),
        lambda n: 5 * n * (n + 1) // 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCANS)
def test_scans_take_each_element_once(name: str) -> None:
    """As what is generated does it: contributions, what they are computed of, and reads."""
    make, expected = SCANS[name]
    knl = pg.add_dtypes(make(), {"a": np.float32})
    if "x" in knl.variables:
        knl = pg.add_dtypes(knl, {"x": np.float32, "y": np.float32})
    done = pg.get_op_map(knl, count_granularity="workitem", count_within_subscripts=False)
    reads = pg.get_mem_access_map(knl, count_granularity="workitem").filter_by(variable=["a"])
    for n in (0, 1, 2, 7):
        sizes = {"n": n}
        more = 5 * n if "launches" in name else 0  # beside the reduction
        assert done.filter_by(name=["mul"]).eval_and_sum(sizes) == expected(n)
        assert done.filter_by(name=["add"]).eval_and_sum(sizes) == expected(n) + more
        assert reads.eval_and_sum(sizes) == expected(n)


def test_reads_of_a_shared_scan_are_of_neighbours() -> None:
    knl = tag(w="l.0")(kernel(*IN_GROUPS))
    reads = pg.get_mem_access_map(pg.add_dtypes(knl, {"a": np.float32}), subgroup_size=4)
    (key,) = reads.filter_by(direction=["load"], variable=["a"])
    assert key.lid_strides == {0: 1}


def test_a_number_without_a_formula_first() -> None:
    knl = typed(steps(grid("i", 5), grid("j", 3, axis=1))(kernel(
        "{ [i,j]: 0<=j<=i<n and (i+j) mod 2 = 0 }", "b[i,j] = a[j,i]*2 + a[i,j]"
    )))  # fmt: skip
    for count in pg.get_op_map(knl, count_granularity="workitem").values():
        for n in (0, 1, 8, 33):
            assert count.at({"n": n}) == count.eval_with_dict({"n": n})
    with pytest.raises(MissingArgument):
        count.at({})


# --- what is refused, and what maps can do

LINE = "{ [i]: 0<=i<n }"


def _error(call: Callable[[], object], kind: type[pg.UserError], what: str) -> None:
    with pytest.raises(kind, match=what) as caught:
        call()
    assert caught.value.remedy


DATA: list[tuple[str, Callable[[], Kernel], str]] = [
    ("a predicate", lambda: kernel(LINE, "if a[i] > 0\n  b[i] = 2*a[i]\nend"), "'a.i. > 0' holds"),
    ("a choice", lambda: kernel(LINE, "b[i] = if(a[i] > 0, a[i] + x[i], 0)"), "'a.i. > 0' holds"),
    ("and", lambda: kernel(LINE, "b[i] = if(a[i] > 0 and x[i] + 1 > 0, 1, 2)"), "'a.i. > 0' holds"),
    (
        "a bound",
        lambda: kernel(
            [LINE, "{ [j]: 0<=j<m }"],
            "<int32> m = k1[i]\nb[i] = sum(j, a[i]*a[j])",
            pg.GlobalArg("a", shape="n"),
        ),
        "the bounds of its loops are data",
    ),
    ("a number", lambda: kernel(LINE, "b[i] = if(alpha > 0, a[i] + 1, 0)"), "'alpha > 0' holds"),
]


@pytest.mark.parametrize(("name", "make", "what"), DATA, ids=[row[0] for row in DATA])
def test_data_decides(name: str, make: Callable[[], Kernel], what: str) -> None:
    knl = make()
    knl = typed(pg.add_dtypes(knl, {"alpha": np.float32}) if "alpha" in knl.variables else knl)
    _error(lambda: pg.get_op_map(knl), NotCountable, f"operations of instruction .*{what}")
    if name != "a number":
        _error(lambda: pg.get_mem_access_map(knl), NotCountable, f"accesses of .*{what}")


def test_verbatim_c_is_not_counted() -> None:
    out = ex.Subscript(ex.Variable("out"), ex.Variable("i"))
    code = pg.CInstruction(
        (("i", ex.Variable("i")),), "out[i] = i;", frozenset(), (out,), "c", frozenset(("i",))
    )
    arrays = [pg.GlobalArg("out", np.float32, "n"), "..."]
    knl = pg.make_kernel(LINE, [code, "b[i] = 2*a[i]  {id=b}"], arrays)
    knl = typed(knl)
    _error(lambda: pg.get_op_map(knl), NotCountable, "'c' cannot be counted: verbatim C")
    assert pg.get_op_map(knl, within="id:b").eval_and_sum({"n": 7}) == 7


def test_functions_of_ones_own_with_several_results() -> None:
    """They count once, by the type of what they are given."""
    parts = pg.ScalarCallable({"parts_i": "int32 -> int32, int32"}, "void parts_i(...);")
    knl = kernel(LINE, "b[i], c[i] = parts(k1[i])", functions={"parts": parts})
    (key,) = counts = pg.get_op_map(typed(knl), count_granularity="workitem")
    assert (key.name, str(key.dtype)) == ("func:parts", "int32")
    assert counts.eval_and_sum({"n": 7}) == 7


def test_elements_that_data_chooses() -> None:
    knl = typed(kernel(LINE, "b[i] = a[k1[i]] + x[2*i]", pg.GlobalArg("a", shape="n")))
    _error(lambda: pg.gather_access_footprints(knl), NotCountable, "elements of 'a' .* reads")
    found = pg.gather_access_footprint_bytes(knl, ignore_uncountable=True)
    assert {key: n.eval_with_dict({"n": 5}) for key, n in found.items()} == {
        ("b", "write"): 20, ("k1", "read"): 20, ("x", "read"): 20,
    }  # fmt: skip


def test_layouts_that_calls_decide() -> None:
    local = pg.TemporaryVariable("t", np.float32, 4, address_space=pg.AddressSpace.LOCAL)
    a = pg.GlobalArg("a", np.float32, "n, 4", strides=(pg.auto, pg.auto), offset=pg.auto)
    knl = kernel(
        "{ [g,i,j]: 0<=g<n and 0<=i,j<4 }",
        "t[i] = 2*a[g,i]  {id=t}\nb[g,j] = t[3-j]  {dep=t}",
        a,
        local,
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})
    waits = pg.get_synchronization_map(knl)
    assert waits[pg.Sync("barrier_local", knl.name)].eval_with_dict({"n": 9}) == 1
    done = pg.get_op_map(knl, subgroup_size=4, count_within_subscripts=False)
    assert done.eval_and_sum({"n": 9}) == 9
    assert pg.roofline(knl, pg.Limits(1, 1), {"n": 9}).needed_bytes == 2 * 4 * 36


def test_groups_that_wait_differently() -> None:
    local = pg.TemporaryVariable("t", np.float32, 4, address_space=pg.AddressSpace.LOCAL)
    knl = kernel(
        "{ [g,s,i,j]: 0<=g<n and 0<=s<g and 0<=i,j<4 }",
        "t[i] = a[s,i]  {id=t, inames=g:s:i}\nb[g,s,j] = t[3-j]  {dep=t}",
        local,
        loop_priority=["g, s, i", "g, s, j"],
    )
    knl = typed(tag(g="g.0", i="l.0", j="l.0")(knl))
    _error(lambda: pg.get_synchronization_map(knl), NotCountable, "'g' decides")


def test_sizes_have_to_be_given() -> None:
    knl = typed(kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", assumptions="n mod 4 = 0"))
    (count,) = pg.get_op_map(knl).values()
    assert str(count) == "[n] -> { n : n >= 4 }"
    assert count.eval_with_dict({"n": np.int64(8), "m": 3}) == 8
    _error(lambda: count.eval_with_dict({}), MissingArgument, "needs a value of 'n'")
    _error(lambda: count.eval_with_dict({"n": 8.5}), InvalidArgument, "8.5, which is no integer")  # type: ignore[dict-item]
    _error(lambda: count.eval_with_dict({"n": 7}), AssumptionViolated, "do not hold for n=7")
    other = typed(kernel(LINE, "b[i] = 3*a[i]"))
    (more,) = pg.get_op_map(other).values()
    _error(lambda: count + more, InvalidArgument, "counts of two kernels")


def test_how_large_a_subgroup_is_has_to_be_said() -> None:
    knl = typed(KERNELS["on a grid"]())
    _error(lambda: pg.get_op_map(knl), InvalidArgument, "executed by groups of 8")
    _error(lambda: pg.get_op_map(knl, subgroup_size=0), InvalidArgument, "subgroup_size=0 is no")
    guessed = pg.get_op_map(knl, subgroup_size="guess")
    assert by_operation(guessed, {"n": 17})["add", "float32"] == 3
    _error(lambda: pg.get_op_map(knl, count_granularity="warp"), InvalidArgument, "'warp' is no")


def test_maps() -> None:
    knl = typed(kernel(LINE, "b[i] = a[2*i+1]*3 + a[0]/2", name="mine"))
    counts, sizes = pg.get_op_map(knl), {"n": 5}
    assert pg.Op("float32", "pow") not in counts
    assert (counts + counts).eval_and_sum(sizes) == (counts * 2).eval_and_sum(sizes) == 50
    assert counts.sum().eval_with_dict(sizes) == 25
    assert sum(counts.values()).eval_with_dict(sizes) == 25  # type: ignore[union-attr]
    assert counts.filter_by_func(lambda key: key.name == "add").eval_and_sum(sizes) == 10
    assert counts.copy() == counts
    assert counts.get(pg.Op("float32", "pow")) is None
    assert counts.get(pg.Op("float32", "pow"), 0) == 0
    other = counts.with_set_attributes(kernel_name="other", name="any")
    assert sorted(str(key) for key in other) == [
        "Op(float32, any, subgroup, other)", "Op(int32, any, subgroup, other)",
    ]  # fmt: skip
    assert other.eval_and_sum(sizes) == 25
    _error(lambda: counts.with_set_attributes(nome="x"), InvalidArgument, "has no 'nome'")
    assert "Op(int32, mul, subgroup, mine): [n] -> { n : n > 0 }" in str(counts)
    _error(lambda: counts.filter_by(direction=["load"]), InvalidArgument, "has no 'direction'")
    assert counts.filter_by(name="add").eval_and_sum(sizes) == 10
    _error(lambda: counts.group_by("mtype"), InvalidArgument, "has no 'mtype'")
    _error(lambda: counts.group_by("name").to_bytes(), InvalidArgument, "no type, so its bytes")
    assert counts.group_by().eval_and_sum(sizes) == 25
    accesses = pg.get_mem_access_map(typed(KERNELS["on a grid"]()), subgroup_size=4)
    assert [k.variable for k in accesses.filter_by(lid_strides={0: 1})] == ["a", "b"]
    assert [k.variable for k in accesses.filter_by(lid_strides=[{}])] == ["x"]
    assert accesses.to_bytes().filter_by(variable=["b"]).eval_and_sum({"n": 9}) == 36
    assert [k.lanes for k in pg.get_mem_access_map(typed(KERNELS["in vectors"]()))] == [4, None, 4]


def test_counts_without_a_formula() -> None:
    """There are too many residue classes to tell apart."""
    knl = typed(kernel("{ [i,j]: 0<=i,j<n and 0<=997*i - 1009*j<n }", "b[i,j] = a[i] + x[j]"))
    (count,) = pg.get_op_map(knl).values()
    assert count.pwqpolynomial is None
    assert str(count) == "no formula: eval_with_dict counts, for given sizes"
    i, j = np.ogrid[:300, :300]
    for n in (0, 1, 300):
        inside = (997 * i - 1009 * j >= 0) & (997 * i - 1009 * j < n) & (i < n) & (j < n)
        assert count.eval_with_dict({"n": n}) == inside.sum()


@pytest.mark.parametrize("n", [2**31 + 1, 2**62, 2**63 - 1, 2**63, 10**30])
def test_sizes_past_64_bits(n: int) -> None:
    """For which isl takes texts alone; the formula of a triangle, and its number without one."""
    knl = pg.make_kernel("{ [i,j]: 0<=i<=j<n }", "a[i,j] = 2.0*b[i,j]")
    count = pg.get_op_map(pg.add_dtypes(knl, {"b": "float64"})).sum()
    assert count.eval_with_dict({"n": n}) == count.at({"n": n}) == n * (n + 1) // 2


def test_sizes_that_cancel_are_not_asked_for() -> None:
    """Whether a loop runs at all matters, unless the kernel says that it does."""
    text = "for t\nfor i\nx[i] = 2*x[i]\nend\nend"
    domains = ["{ [t]: 0<=t<T }", "{ [i]: 0<=i<n }"]
    knl = pg.make_kernel(domains, text, [pg.GlobalArg("x", "float64", "n"), "..."])
    moved = pg.gather_access_footprint_bytes(knl)["x", "read"]
    with pytest.raises(MissingArgument, match="a value of 'T'"):
        moved.at({"n": 5})
    runs = pg.assume(knl, "T >= 1")
    moved = pg.gather_access_footprint_bytes(runs)["x", "read"]
    assert moved.at({"n": 5}) == moved.eval_with_dict({"n": 5}) == 8 * 5
    assert moved.at({"n": 0}) == 0
    (times,) = pg.get_op_map(runs).values()
    assert times.at({"n": 5, "T": 3}) == 15
    with pytest.raises(MissingArgument, match="a value of 'T'"):
        times.at({"n": 5})
    assert times.at({"n": 0}) == 0  # whatever T is
    few = pg.assume(runs, "T <= n")
    with pytest.raises(AssumptionViolated, match="do not hold for n=0"):
        pg.gather_access_footprint_bytes(few)["x", "read"].at({"n": 0})


def test_values_that_are_wanted_alone() -> None:
    knl = typed(KERNELS["a line"]())
    counts = pg.get_mem_access_map(knl, subgroup_size=4)
    for wanted in ({"direction": "load"}, {"dtype": np.float32}, {"mtype": "global"}):
        ((name, value),) = wanted.items()
        assert counts.filter_by(**wanted) == counts.filter_by(**{name: [value]})
    assert len(counts.filter_by(direction="load")) < len(counts)
