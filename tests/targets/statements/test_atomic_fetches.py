"""Updates that return the old value: of every type, and by many work items at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AtomicNotSupported,
    MalformedLayout,
    MixedAssignees,
    NoAtomicUpdate,
    WrongStatement,
)
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign
from polygen.validation.validate import check
from tests.fetches import SOME
from tests.fetches import check as check_fetches
from tests.few import few
from tests.oracle.cases import agree, grid, kernel, split, tag
from tests.read_back.compare import check as check_text
from tests.validation.edits import said, where

FEW = 5


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_types(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_fetches(target, monkeypatch, SOME)


@pytest.mark.more
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_every_type(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_fetches(target, monkeypatch)


# --- by many at once: what is true in any order

CONTENDED = {
    "counted": ("fetch_add({}, 1)", "int32"),
    "reals": ("fetch_add({}, 1)", "float64"),
    "bytes": ("fetch_add({}, 1)", "int8"),
    "swapped": ("exchange({}, uint64(i + 1))", "uint64"),
    "first": ("compare_exchange({}, 0, int32(i + 1))", "int32"),
    "highest": ("fetch_max({}, x[i])", "float32"),
}
ORBIT = "old_orbit[i], orbit[at[i]] = orbit[at[i]], 1664525*orbit[at[i]] + 1  {atomic=any_order}"


def contended(target: str, count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a call is passed, and what it leaves."""
    names = {**{name: dtype for name, (_, dtype) in CONTENDED.items()}, "orbit": "uint32"}
    lines = [
        f"old_{name}[i] = {text.format(f'{name}[at[i]]')}  {{atomic=any_order}}"
        for name, (text, _) in CONTENDED.items()
    ]
    data: list[Any] = [pg.GlobalArg("at", np.int32, "n"), pg.GlobalArg("x", np.float32, "n")]
    data += [pg.GlobalArg(name, dtype, FEW) for name, dtype in names.items()]
    data += [pg.GlobalArg(f"old_{name}", dtype, "n") for name, dtype in names.items()]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "\n".join((*lines, ORBIT)), [*data, "..."])
    knl = grid("i", 64)(knl)
    rng = np.random.default_rng(3)
    given: dict[str, Any] = {
        "at": rng.integers(0, FEW, count).astype(np.int32),
        "x": rng.permutation(count).astype(np.float32) + 1,
        **{name: np.zeros(FEW, dtype) for name, dtype in names.items()},
        **{f"old_{name}": np.zeros(count, dtype) for name, dtype in names.items()},
    }
    passed = {name: array.copy() for name, array in given.items()}
    knl.executor(target)(**passed)
    return given, passed


@pytest.mark.parametrize(("target", "count"), [("c", 150_000), ("opencl", 4_000)])
def test_many_at_once(target: str, count: int) -> None:
    given, found = contended(target, count)
    for element in range(FEW):
        here = given["at"] == element
        olds = {name: found[f"old_{name}"][here] for name in (*CONTENDED, "orbit")}
        last = {name: found[name][element] for name in olds}
        times = int(here.sum())
        for name in "counted", "reals":
            assert np.array_equal(np.sort(olds[name]), np.arange(times))
            assert last[name] == times
        wrapped = np.arange(times).astype(np.int8)
        assert np.array_equal(np.sort(olds["bytes"]), np.sort(wrapped))
        swapped = np.sort([*olds["swapped"], last["swapped"]])
        assert np.array_equal(swapped, np.sort([0, *(np.flatnonzero(here) + 1)]))
        assert np.count_nonzero(olds["first"] == 0) == 1
        assert set(olds["first"]) == {0, last["first"]}
        assert last["first"] == np.flatnonzero(here)[olds["first"] == 0] + 1
        _check_records(given["x"][here], olds["highest"], last["highest"])
        assert np.array_equal(np.sort(olds["orbit"]), np.sort(_orbit(times)))


def _check_records(x: Any, olds: Any, last: Any) -> None:
    """Each number that was the greatest so far follows the one that was before."""
    records = np.argsort(np.where(x > olds, x, 0))[-np.count_nonzero(x > olds) :]
    assert np.array_equal(olds[records], [0, *x[records][:-1]])
    assert last == x[records][-1] == x.max()
    assert set(olds) <= {0.0, *x}


def _orbit(times: int) -> Sequence[int]:
    """Return what the generator of `ORBIT` makes, one number after the other."""
    found = [0]
    while len(found) < times:
        found.append((1664525 * found[-1] + 1) % 2**32)
    return found[:times]


# --- floating-point numbers: compared as `==` does


@few(1, "target", ["c", "opencl"])
def test_numbers_are_compared_and_not_bits(target: str) -> None:
    """Of 0, the sign does not count; NaN is not what is there, though its bits are."""
    types = ("float16", "float32", "float64")
    lines = [f"old_{t}[i] = compare_exchange(h_{t}[i], e_{t}[i], 7)  {{atomic}}" for t in types]
    data = [pg.GlobalArg(f"h_{t}, e_{t}, old_{t}", t, "n") for t in types]
    knl = grid("i", 4)(pg.make_kernel("{ [i]: 0<=i<n }", "\n".join(lines), [*data, "..."]))
    before = [0.0, -0.0, -0.0, np.nan, np.nan, 1.0, np.inf, 0.0]
    wanted = [-0.0, 0.0, -0.0, np.nan, 1.0, np.nan, np.inf, 2.0**-24]
    swaps = [True, True, True, False, False, False, True, False]
    given = {f"h_{t}": np.array(before, t) for t in types}
    given |= {f"e_{t}": np.array(wanted, t) for t in types}
    given |= {f"old_{t}": np.zeros(len(before), t) for t in types}
    knl.executor(target)(**given)
    for t in types:
        old = np.array(before, t)
        for name, expected in ("old", old), ("h", np.where(swaps, np.array(7, t), old)):
            found = given[f"{name}_{t}"]
            np.testing.assert_array_equal(found, expected)
            signs = np.signbit(found) == np.signbit(expected)
            assert signs[~np.isnan(expected)].all()


# --- in a loop: one result


@pytest.mark.parametrize(("target", "sizes"), [("c", (0, 1, 33)), ("opencl", (33,))])
def test_one_after_the_other_is_what_numpy_does(target: str, sizes: Sequence[int]) -> None:
    text = "out[i] = fetch_add(h[b[i]], i)\nbest[i] = fetch_max(t[0], b[i])"
    data: list[Any] = [
        pg.GlobalArg("h, t", np.int32, 4),
        pg.GlobalArg("b, out, best", np.int32, "n"),
    ]
    data.append("...")
    run = pg.make_kernel("{ [i]: 0<=i<n }", text, data).executor(target)
    for n in sizes:
        given = {
            "b": np.random.default_rng(n).integers(0, 4, n).astype(np.int32),
            **{name: np.zeros(n, np.int32) for name in ("out", "best")},
            **{name: np.zeros(4, np.int32) for name in ("h", "t")},
        }
        wanted = {name: array.copy() for name, array in given.items()}
        for i, place in enumerate(wanted["b"]):
            wanted["out"][i] = wanted["h"][place]
            wanted["h"][place] += i
            wanted["best"][i] = wanted["t"][0]
            wanted["t"][0] = max(wanted["t"][0], place)
        run(**given)
        for name, array in wanted.items():
            np.testing.assert_array_equal(given[name], array, err_msg=name)


def test_loop_programs_do_what_kernels_mean() -> None:
    rng = np.random.default_rng(1)
    numbers = pg.GlobalArg("h, x", np.int32, shape="n")
    bins = {"b": lambda call: rng.integers(0, 5, call["n"]).astype(np.int32)}
    data = pg.GlobalArg("h", np.int32, shape="m"), pg.GlobalArg("b", np.int32)
    in_order = kernel("{ [i]: 0<=i<n }", "out[i] = fetch_add(h[b[i]], i)", *data)
    agree(in_order, tuple({"n": n, "m": 5} for n in (0, 1, 9)), split("i", 4), **bins)
    sizes = {"n": 0}, {"n": 1}, {"n": 7}
    for text in (
        "out[i] = fetch_max(h[i], x[i])",
        "out[i] = compare_exchange(h[i], 3, x[i])  {atomic=any_order}",
        "<> old = fetch_mul(h[i], x[i])  {atomic=any_order}\nout[i] = 2*old",
        "out[i], h[n-1-i] = h[n-1-i], h[n-1-i] // 3 + x[i]  {atomic}",
    ):
        own = kernel("{ [i]: 0<=i<n }", text, numbers)
        agree(own, sizes, grid("i", 4), split("i", 3), tag(i="g.0"))


# --- code


def source(text: str, target: str, dtype: str = "int32", **tags: str) -> str:
    """Return what is generated for updates of h by x."""
    data = [pg.GlobalArg("h, x, out", dtype, "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, data, assumptions="n >= 1")
    return pg.generate_code(pg.tag_inames(knl, tags or {"i": "g.0"}), target).source


@pytest.mark.parametrize(
    ("call", "dtype", "c", "opencl", "cuda"),
    [
        ("fetch_add(h[i], x[i])", "int32", "{ h_old = h[i]; h[i] += x[i]; }", "= atomic_add(&h[i]",
         "int const h_old = atomicAdd(&h[i]"),
        ("fetch_or(h[i], x[i])", "int64", "h[i] |= x[i]; }", "= atom_or(&h[i]", "atomicOr(("),
        ("fetch_min(h[i], x[i])", "uint32", "__atomic_compare_exchange(", "= atomic_min(&h[i]",
         "= atomicMin(&h[i]"),
        ("fetch_add(h[i], x[i])", "float32", "h[i] += x[i]; }", "as_uint(h_old + x[i])",
         "= atomicAdd(&h[i]"),
        ("fetch_add(h[i], x[i])", "float16", "h[i] += x[i]; }", "atomic_cmpxchg", "atomicCAS("),
        ("exchange(h[i], x[i])", "float32", "__atomic_exchange(&h[i], &next, &h_old",
         "= atomic_xchg(&h[i], x[i])", "= atomicExch(&h[i], x[i])"),
        ("compare_exchange(h[i], 3, x[i])", "int32", "__atomic_compare_exchange(&h[i], &h_old, ",
         "= atomic_cmpxchg(&h[i], 3, x[i])", "atomicCAS((unsigned int *) &h[i], (unsigned"),
        # 0.0 and -0.0 are equal, and their bits are not.
        ("compare_exchange(h[i], 3.0f, x[i])", "float32", "do {", "do {", "do {"),
        ("fetch_add(h[i], 2*h[i])", "int32", "do {", "do {", "do {"),
    ],
)  # fmt: skip
def test_code(call: str, dtype: str, c: str, opencl: str, cuda: str) -> None:
    for target, wanted in (("c", c), ("opencl", opencl), ("cuda", cuda)):
        assert wanted in source(f"out[i] = {call}", target, dtype)


def test_one_thread_needs_nothing() -> None:
    text = source("out[i] = fetch_add(h[i], x[i])", "c", i="for")
    assert "out[i] = h[i];\n        h[i] += (uint32_t) x[i];" in text
    assert "atomic" not in text


def test_a_place_that_the_update_changes() -> None:
    """All is read before anything is written."""
    data = [pg.GlobalArg("h", np.int32, (1,)), pg.GlobalArg("out", np.int32, (4,))]
    text = "out[h[0] % 4] = fetch_add(h[0], 3)"
    knl = pg.make_kernel("{ [i]: 0<=i<1 }", text + "  {inames=i}", data)
    knl = pg.tag_inames(knl, {"i": "g.0"})
    for target in "c", "opencl":
        h, out = np.array([6], np.int32), np.zeros(4, np.int32)
        knl.executor(target)(h=h, out=out)
        assert [*h, *out] == [9, 0, 0, 6, 0]
    assert "out_at" in pg.generate_code(knl, "cuda").source


def test_scopes_and_orderings() -> None:
    line = "out[i] = fetch_mul(h[i], x[i])  {{atomic={}}}"
    assert "atomic capture seq_cst\n" in source(line.format("acq_rel"), "c")
    swap = "out[i] = exchange(h[i], x[i])  {atomic=acq_rel}"
    assert "&h_old, __ATOMIC_ACQ_REL);" in source(swap, "c")
    assert "atomicCAS_system(" in source(line.format("all_devices"), "cuda")
    fenced = source(line.format("seq_cst").replace("mul", "add"), "cuda")
    assert "__threadfence();\n    int const h_old = atomicAdd(" in fenced
    with pytest.raises(AtomicNotSupported, match=r"memory ordering 'seq_cst'.*: it has relaxed"):
        source(line.format("seq_cst"), "opencl")
    with pytest.raises(AtomicNotSupported, match="'complex128' atomically, which target 'cuda'"):
        source("out[i] = fetch_add(h[i], x[i])", "cuda", "complex128")


def test_places_in_local_memory() -> None:
    """Work items of a group take places in a queue of its own, as they come."""
    knl = pg.make_kernel(
        "{ [g,i]: 0<=g<n and 0<=i<32 }",
        """
        for g
            count = 0                           {id=start}
            for i
                <> place = fetch_add(count, 1)  {id=take, dep=start, atomic=any_order:work_group}
            end
            lined[g, place] = x[g, i]           {id=put, dep=take}
            total[g] = count                    {id=end, dep=take}
        end
        """,
        [
            pg.TemporaryVariable("count", np.int32, address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("x, lined", np.float32, "n, 32"),
            "...",
        ],
    )
    knl = pg.assume_independent(knl, "put", "put")
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})
    x = np.random.default_rng(0).random((6, 32), np.float32)
    for target in "c", "opencl":
        lined, total = np.zeros_like(x), np.zeros(6, np.int32)
        knl.executor(target)(x=x, lined=lined, total=total)
        np.testing.assert_array_equal(np.sort(lined), np.sort(x))
        assert set(total) == {32}
    assert "atomicAdd_block(" in pg.generate_code(knl, "cuda").source


def test_work_items_that_all_would_update() -> None:
    text = "<> old = fetch_add(h[0], 1)  {id=one}\nout[i] = old + i  {dep=one}"
    with pytest.raises(MixedAssignees, match="'one' writes old, h at once"):
        source(text, "opencl")


def test_kernels_that_are_called() -> None:
    """Their updates are those of the arrays that they are given parts of."""
    data = [pg.GlobalArg("c", np.int32, 4), pg.GlobalArg("b, o", np.int32, "m"), "..."]
    line = "o[j] = fetch_add(c[b[j]], 1)  {atomic=any_order}"
    inner = pg.make_kernel("{ [j]: 0<=j<m }", line, data, name="take")
    outer = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[k]: h[k], [j]: out[i, j] = take([k]: h[k], [j]: bins[i, j], m)",
        [pg.GlobalArg("h", np.int32, 4), pg.GlobalArg("bins, out", np.int32, "n, m"), "..."],
        functions={"take": inner},
    )
    bins = np.random.default_rng(4).integers(0, 4, (40, 8)).astype(np.int32)
    for made in (outer, pg.inline_callable_kernel(outer, "take")):
        h, out = np.zeros(4, np.int32), np.zeros((40, 8), np.int32)
        pg.tag_inames(made, {"i": "g.0"}).executor("c")(h=h, bins=bins, out=out)
        assert np.array_equal(h, np.bincount(bins.reshape(-1), minlength=4))
        for element in range(4):
            assert np.array_equal(np.sort(out[bins == element]), np.arange(h[element]))


@pytest.mark.parametrize(
    ("updated", "kept"), [("N0,sep", None), (None, "N0,vec"), (None, "N0,sep")]
)
def test_layouts(updated: str | None, kept: str | None) -> None:
    data = [
        pg.GlobalArg("h", np.float32, "n, 4", dim_tags=updated),
        pg.GlobalArg("out", np.float32, "n, 4", dim_tags=kept),
    ]
    text = "out[i, c] = fetch_add(h[i, c], 1.5f)"
    knl = pg.make_kernel("{ [i, c]: 0<=i<n and 0<=c<4 }", text, [*data, "..."])
    knl = pg.tag_inames(pg.prioritize_loops(knl, "i, c"), {"c": "unr", "i": "g.0"})
    for target in "c", "opencl", "cuda":
        assert check_text(pg.generate_code(knl, target)) == ""


def test_no_part_of_a_vector() -> None:
    data = [pg.GlobalArg("h", np.float32, "n, 4", dim_tags="N0,vec"), "..."]
    with pytest.raises(MalformedLayout, match="'insn' updates a component atomically"):
        pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = fetch_add(h[i, 2], 1)", data)


def test_steps_that_read_another_copy() -> None:
    """What is updated is what is read: a step that would read a copy of it is refused."""
    data = [pg.GlobalArg("h, x, out", np.int32, "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = fetch_add(h[i], x[i])", data)
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    assert "x_fetch" in str(pg.add_prefetch(knl, "x", "i_inner"))
    with pytest.raises(NoAtomicUpdate, match="do not get the old value of an element"):
        pg.add_prefetch(knl, "h", "i_inner")


def test_validation_looks_at_it() -> None:
    """A statement that is not atomic, or computes something else, is noticed."""
    data = [pg.GlobalArg("h", np.int32, "m"), pg.GlobalArg("b, out", np.int32, "n"), "..."]
    line = "out[i] = fetch_add(h[b[i]], 1)  {id=take, atomic=any_order}"
    knl = pg.tag_inames(pg.make_kernel("{ [i]: 0<=i<n }", line, data), {"i": "g.0"})
    knl = prepare(knl)
    program = lower_prepared(knl, Model.GRID)
    check(knl, program)
    plain = where(Assign, lambda n: (replace(n, atomicity=None),), "take")
    assert "is not atomic as it should be" in said(knl, plain(program), WrongStatement)
    alone = where(Assign, lambda n: (replace(n, others=()),), "take")
    assert "writes 1 variables instead of 2" in said(knl, alone(program), WrongStatement)
    other = where(Assign, lambda n: (replace(n, value=0),), "take")
    assert "computes '0', which is not 'h[b[i]]'" in said(knl, other(program), WrongStatement)
