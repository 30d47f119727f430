"""Atomic updates: instances with one operation come in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AtomicNotSupported,
    CannotProve,
    IllegalStep,
    MalformedInstruction,
    NoAtomicUpdate,
    UnorderedAccess,
    UserError,
    WrongStatement,
)
from polygen.ir.atomicity import Atomicity, MemoryOrdering, MemoryScope
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign
from polygen.validation.validate import check
from tests.oracle.cases import agree, grid, kernel, split, tag
from tests.updates import check as check_updates
from tests.validation.edits import said, where

RANDOM = np.random.default_rng(5)
SIZES = tuple({"n": n, "m": 5} for n in (0, 1, 7, 8, 9))
BINS = {"bin": lambda call: RANDOM.integers(0, 5, call["n"]).astype(np.int32)}


def counts(dtype: Any = np.int32, option: str = "atomic") -> pg.Kernel:
    """Return a histogram."""
    data = pg.GlobalArg("count", dtype, shape="m"), pg.GlobalArg("bin", np.int32)
    return kernel("{ [i]: 0<=i<n }", f"count[bin[i]] += 1  {{id=add, {option}}}", *data)


def scattered(update: str, dtype: Any, value: Any = None) -> pg.Kernel:
    """Return a kernel that updates x at subscripts that are data, by v."""
    data = [pg.GlobalArg("x", dtype, shape="m"), pg.GlobalArg("v", value or dtype)]
    return kernel("{ [i]: 0<=i<n }", f"{update}  {{atomic}}", *data, pg.GlobalArg("bin", np.int32))


SUM = "x[bin[i]] += v[i]"
UPDATES = {
    "sum": (SUM, np.add),
    "difference": ("x[bin[i]] -= v[i]", np.subtract),
    "product": ("x[bin[i]] *= v[i]", np.multiply),
    "min": ("x[bin[i]] = min(x[bin[i]], v[i])", np.minimum),
    "max": ("x[bin[i]] = max(v[i], x[bin[i]])", np.maximum),
    "and": ("x[bin[i]] &= v[i]", np.bitwise_and),
    "or": ("x[bin[i]] |= v[i]", np.bitwise_or),
    "xor": ("x[bin[i]] ^= v[i]", np.bitwise_xor),
}


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_updates(target: str, dtype: Any) -> None:
    many, few = 1013, 7
    for name, (update, ufunc) in UPDATES.items():
        if name in ("and", "or", "xor") and np.dtype(dtype).kind == "f":
            continue
        knl = grid("i", 64)(scattered(update, dtype))
        low = 1 if name == "product" else 0
        x = RANDOM.integers(1, 100, few).astype(dtype)
        v = RANDOM.integers(low, low + (1 if name == "product" else 50), many).astype(dtype)
        v[::100] += 1
        bins = RANDOM.integers(0, few, many).astype(np.int32)
        wanted = x.copy()
        ufunc.at(wanted, bins, v)
        (found,) = knl.executor(target)(x=x.copy(), v=v, bin=bins)[1]
        np.testing.assert_array_equal(found, wanted, strict=True, err_msg=name)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_every_type(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of 8 and 16 bits share words with their neighbours; bfloat16 and halves round."""
    check_updates(target, monkeypatch)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_operands_of_another_type(target: str) -> None:
    knl = grid("i", 32)(scattered(SUM, np.float32, np.float64))
    x, bins = np.zeros(3, np.float32), np.arange(300, dtype=np.int32) % 3
    v = np.full(300, 0.25)
    (found,) = knl.executor(target)(x=x, v=v, bin=bins)[1]
    np.testing.assert_array_equal(found, np.full(3, 25, np.float32))


def test_what_is_swapped_by_no_device() -> None:
    data = pg.GlobalArg("x", np.complex128, shape="m"), pg.GlobalArg("v", np.complex128)
    knl = kernel("{ [i]: 0<=i<n }", f"{SUM}  {{atomic}}", *data, pg.GlobalArg("bin", np.int32))
    for target in ("c", "opencl", "cuda"):
        with pytest.raises(AtomicNotSupported, match=f"'complex128' at.*which target '{target}'"):
            pg.generate_code(tag(i="g.0")(knl), target)


def test_the_order_is_left_open() -> None:
    agree(counts(), SIZES, grid("i", 4), tag(i="g.0"), split("i", 4), **BINS)


def test_a_histogram_in_local_memory() -> None:
    knl = kernel(
        ["{ [g,i]: 0<=g<n and 0<=i<64 }", "{ [b]: 0<=b<16 }", "{ [c]: 0<=c<16 }"],
        """
        part[b] = 0                                {id=clear, inames=g:b}
        part[bin[g,i]] += 1                        {id=count, inames=g:i, dep=clear, atomic}
        total[c] = total[c] + part[c]              {id=merge, inames=g:c, dep=count, atomic}
        """,
        pg.TemporaryVariable("part", np.int32, 16, address_space=pg.AddressSpace.LOCAL),
        pg.GlobalArg("bin", np.int32),
        pg.GlobalArg("total", np.int32),
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "b": "l.0", "c": "l.0"})
    bins = RANDOM.integers(0, 16, (9, 64)).astype(np.int32)
    for target in "c", "opencl":
        (total,) = knl.executor(target)(bin=bins, total=np.zeros(16, np.int32))[1]
        np.testing.assert_array_equal(total, np.bincount(bins.reshape(-1), minlength=16))
    program = pg.generate_code(knl, "opencl")
    assert program.source.count("atomic_add") == 2
    assert program.source.count("barrier(") == 2


def test_text() -> None:
    default = Atomicity()
    for option, wanted in {
        "atomic": default,
        "atomic=update": default,
        "atomic=seq_cst": Atomicity(ordering=MemoryOrdering.SEQUENTIALLY_CONSISTENT),
        "atomic=acq_rel:work_group": Atomicity(
            ordering=MemoryOrdering.ACQUIRE_RELEASE, scope=MemoryScope.WORK_GROUP
        ),
    }.items():
        knl = counts(option=option)
        insn = knl.assignment("add")
        assert insn.atomicity == wanted
        assert pg.parse_kernel(str(knl)) == knl
    init = kernel("{ [i]: 0<=i<n }", "x[i] = 0 {atomic=init}", pg.GlobalArg("x", np.int32))
    assert init.assignments[0].atomicity == Atomicity(init=True)
    assert pg.parse_kernel(str(init)) == init


# --- what is left in order


def test_without_atomic_it_is_a_race() -> None:
    data = pg.GlobalArg("count", np.int32, shape="m"), pg.GlobalArg("bin", np.int32)
    knl = kernel("{ [i]: 0<=i<n }", "count[bin[i]] += 1", *data)
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, {"i": "g.0"})
    known = kernel("{ [i]: 0<=i<n }", "total[0] += a[i]")
    with pytest.raises(IllegalStep):
        pg.tag_inames(known, {"i": "g.0"})


@pytest.mark.parametrize(
    "text",
    [
        "x[0] += a[i] {id=s, atomic}\nx[0] *= a[i] {id=t, atomic, dep=s}",
        "x[0] += a[i] {id=s, atomic}\ny[i] = x[0]  {id=t, dep=s}",
        "x[0] = i     {id=s}\nx[0] += a[i] {id=t, atomic, dep=s}",
        "x[0] += a[i] + x[1] {id=s, atomic}\nx[1] += a[i] {id=t, atomic, dep=s}",
        "x[0] += a[i] {id=s, atomic=work_group}",
        "x[0] += a[i] {id=s, atomic=init}",
    ],
)
def test_conflicts_that_remain(text: str) -> None:
    knl = kernel("{ [i]: 0<=i<n }", text, pg.GlobalArg("x", np.float64, shape=2))
    with pytest.raises(UserError) as caught:
        pg.tag_inames(knl, {"i": "g.0"})
    assert isinstance(caught.value, IllegalStep | UnorderedAccess)


def test_two_kinds_of_sums_commute() -> None:
    text = "x[0] += a[i] {id=s, atomic}\nx[0] -= b[i] {id=t, atomic}"
    knl = kernel("{ [i]: 0<=i<n }", text, pg.GlobalArg("x", np.float64, shape=1))
    agree(knl, ({"n": 0}, {"n": 5}), tag(i="g.0"), grid("i", 2))


def test_rounding() -> None:
    floats = pg.set_options(counts(np.float32), allow_reassociation=False)
    with pytest.raises(CannotProve):
        pg.tag_inames(floats, {"i": "g.0"})
    whole = pg.set_options(counts(np.int32), allow_reassociation=False)
    assert (
        pg.tag_inames(whole, {"i": "g.0"}).tags["i"]
        == pg.tag_inames(counts(), {"i": "g.0"}).tags["i"]
    )


def test_what_is_never_rounded_has_no_order() -> None:
    """The greatest of some numbers is one of them."""
    knl = pg.set_options(scattered(UPDATES["max"][0], np.float32), allow_reassociation=False)
    assert pg.tag_inames(knl, {"i": "g.0"}).history


def test_a_sum_in_groups_of_a_scope() -> None:
    knl = kernel(
        "{ [g,i]: 0<=g<n and 0<=i<8 }",
        """
        t = 0               {id=start, inames=g}
        t += a[g,i]         {id=add, inames=g:i, dep=start, atomic=work_group}
        out[g] = t          {id=store, inames=g, dep=add}
        """,
        pg.TemporaryVariable("t", np.int32, address_space=pg.AddressSpace.LOCAL),
        pg.GlobalArg("a", np.int32),
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0"})
    a = RANDOM.integers(0, 9, (5, 8)).astype(np.int32)
    for target in "c", "opencl":
        (out,) = knl.executor(target)(a=a)[1]
        np.testing.assert_array_equal(out, a.sum(1))


# --- code


def source(knl: pg.Kernel, target: str) -> str:
    """Return what is generated."""
    return pg.generate_code(knl, target).source


def test_code() -> None:
    parallel = tag(i="g.0")(counts())
    assert "#pragma omp atomic\n" in source(parallel, "c")
    assert "atomic_add(&count[bin[i]], 1)" in source(parallel, "opencl")
    assert "#pragma" not in source(counts(), "c")  # one thread
    ordered = tag(i="g.0")(counts(option="atomic=seq_cst"))
    assert "#pragma omp atomic seq_cst" in source(ordered, "c")
    with pytest.raises(AtomicNotSupported, match=r"memory ordering 'seq_cst'.*: it has relaxed"):
        source(ordered, "opencl")
    everywhere = tag(i="g.0")(counts(option="atomic=all_devices"))
    with pytest.raises(
        AtomicNotSupported, match=r"'all_devices'.*it has work_item, work_group, device"
    ):
        source(everywhere, "opencl")
    assert "cl_khr_int64_base_atomics" in source(tag(i="g.0")(counts(np.int64)), "opencl")


def test_atomic_init() -> None:
    text = "x[i] = 2.5 {id=start, atomic=init}\nx[0] += v[j] {id=add, dep=start, atomic}"
    for dtype in np.float32, np.float64:
        knl = kernel(
            ["{ [i]: 0<=i<3 }", "{ [j]: 0<=j<n }"], text, pg.GlobalArg("x", dtype, shape=3)
        )
        knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
        for target in "c", "opencl":
            (x,) = knl.executor(target)(v=np.ones(10, dtype))[1]
            assert list(x) == [12.5, 2.5, 2.5]


@pytest.mark.parametrize(
    "text",
    ["x[i] = 2", "x[i] = x[i] + 1 + a[i]", "x[i] = 2*x[i] + 1", "x[i] /= 2", "x[i] = x[i] + x[i]"],
)
def test_no_update(text: str) -> None:
    with pytest.raises(NoAtomicUpdate, match="no update"):
        kernel("{ [i]: 0<=i<n }", text + " {atomic}")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x[i] += 1 {atomic=fast}", "'fast' says nothing of an atomic operation"),
        ("x[i] += 1 {atomic=init:update}", "'update' is said twice"),
        ("x[i] += 1 {atomic=relaxed:acquire}", "'acquire' is said twice"),
        ("x[i], y[i] = 1, 2 {atomic}", "has one assignee"),
        ("... lbarrier {atomic}", "never atomic"),
        ("x[i] += 1 {atomic, atomic}", "two options"),
    ],
)
def test_malformed(text: str, what: str) -> None:
    with pytest.raises(MalformedInstruction) as caught:
        kernel("{ [i]: 0<=i<n }", text)
    assert what in caught.value.what


def test_validation_looks_at_it() -> None:
    knl = prepare(tag(i="g.0")(counts()))
    program = lower_prepared(knl, Model.GRID)
    check(knl, program)
    edit = where(Assign, lambda n: (replace(n, atomicity=None),), "add")
    assert "is not atomic as it should be" in said(knl, edit(program), WrongStatement)
