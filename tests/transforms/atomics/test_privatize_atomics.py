"""`privatize_atomics`: histograms, scatter-add, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    NotPrivatizable,
    ObligationViolated,
    Reassociated,
    TypeNotFound,
    UserError,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import agree_in_arrays, kernel, steps, tag

RANDOM = np.random.default_rng(12)
BINS = 11


def scattered(update: str = "x[bin[i]] += v[i]", dtype: Any = np.int32, **options: Any) -> Kernel:
    """Return a kernel that updates x at subscripts that are data, by v."""
    data = [pg.GlobalArg("x", dtype, BINS), pg.GlobalArg("v", dtype), pg.GlobalArg("bin", np.int32)]
    return kernel("{ [i]: 0<=i<n }", f"{update}  {{id=add, atomic}}", *data, **options)


def some_bins(call: Mapping[str, int]) -> Any:
    return RANDOM.integers(0, BINS, call["n"]).astype(np.int32)


def in_groups(knl: Kernel) -> Kernel:
    """Return the kernel with 32 iterations for each group of 8 work items."""
    knl = pg.split_iname(knl, "i", 32, outer_tag="g.0")
    return pg.split_iname(knl, "i_inner", 8, inner_tag="l.0")


def privatized(knl: Kernel, **options: Any) -> Kernel:
    return pg.privatize_atomics(in_groups(knl), "x", "i_outer", **options)


UPDATES = {
    "sum": ("x[bin[i]] += v[i]", np.add),
    "difference": ("x[bin[i]] -= v[i]", np.subtract),
    "product": ("x[bin[i]] *= v[i]", np.multiply),
    "min": ("x[bin[i]] = min(x[bin[i]], v[i])", np.minimum),
    "max": ("x[bin[i]] = max(v[i], x[bin[i]])", np.maximum),
    "and": ("x[bin[i]] &= v[i]", np.bitwise_and),
    "or": ("x[bin[i]] |= v[i]", np.bitwise_or),
    "xor": ("x[bin[i]] ^= v[i]", np.bitwise_xor),
}


@few(1, "dtype", [np.int8, np.uint32, np.float64])
def test_operations_and_types(dtype: Any) -> None:
    """All negative, all equal labels, labels that never come: the identity has no say."""
    letter = np.dtype(dtype).kind
    for name, (update, ufunc) in UPDATES.items():
        if name in ("and", "or", "xor") and letter == "f":
            continue
        run = privatized(scattered(update, dtype)).executor("c")
        for n in (0, 1, 7, 31, 32, 33, 97):
            low = {"f": -9, "i": -9, "u": 1}[letter]
            x = RANDOM.integers(low, 0 if low < 0 else 9, BINS).astype(dtype)
            v = RANDOM.integers(low, 0 if low < 0 else 9, n).astype(dtype)
            v = np.sign(v) if name == "product" else v
            bins = (RANDOM.integers(0, BINS - 2, n) if n % 2 else np.full(n, 4)).astype(np.int32)
            wanted = x.copy()
            ufunc.at(wanted, bins, v)
            (found,) = run(x=x.copy(), v=v, bin=bins, n=n)[1]
            np.testing.assert_array_equal(found, wanted, strict=True, err_msg=f"{name} {n}")


def test_a_rule_says_what_is_added() -> None:
    knl = scattered("twice(k) := 2*v[k]\nx[bin[i]] += twice(i)")
    v = RANDOM.integers(-9, 9, 50).astype(np.int32)
    bins = some_bins({"n": 50})
    (found,) = privatized(knl).executor("c")(x=np.zeros(BINS, np.int32), v=v, bin=bins)[1]
    np.testing.assert_array_equal(found, np.bincount(bins, 2 * v, BINS))


def test_nan_goes_through() -> None:
    v, bins = np.array([1, np.nan, 3]), np.array([0, 1, 2], np.int32)
    for update in ("x[bin[i]] += v[i]", "x[bin[i]] = max(x[bin[i]], v[i])"):
        run = privatized(scattered(update, np.float64)).executor("c")
        (found,) = run(x=np.full(BINS, -np.inf if "max" in update else 0.0), v=v, bin=bins)[1]
        np.testing.assert_array_equal(found[:3], v)


def test_an_operation_of_ones_own() -> None:
    pg.register_reduction("clock", "(a + b) % 12", 0, associative=True, commutative=True)
    run = privatized(scattered("x[bin[i]] = clock(x[bin[i]], v[i])")).executor("c")
    x, v = (
        RANDOM.integers(0, 12, BINS).astype(np.int32),
        RANDOM.integers(0, 12, 50).astype(np.int32),
    )
    bins = RANDOM.integers(0, BINS, 50).astype(np.int32)
    wanted = (x + np.bincount(bins, v, BINS)) % 12
    np.testing.assert_array_equal(run(x=x, v=v, bin=bins)[1][0], wanted)


def test_rows_of_a_matrix() -> None:
    """The copy has the columns of a tile, and all labels."""
    data = [pg.GlobalArg("c", np.float32, (5, "m")), pg.GlobalArg("label", np.int32)]
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "c[label[i],j] += a[i,j]  {atomic}", *data)
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0")
    knl = pg.split_iname(knl, "j", 8, outer_tag="g.1", inner_tag="l.0")
    knl = pg.privatize_atomics(knl, "c", "i_outer, j_outer")
    assert knl.array("c_own").shape == (5, 8)
    for target in "c", "opencl":
        run = knl.executor(target)
        for n, m in ((0, 3), (1, 1), (17, 9), (35, 16), (3, 0)):
            a = RANDOM.integers(-8, 9, (n, m)).astype(np.float32)
            label = RANDOM.integers(0, 5, n).astype(np.int32)
            wanted = np.ones((5, m), np.float32)
            np.add.at(wanted, label, a)
            (found,) = run(c=np.ones((5, m), np.float32), label=label, a=a)[1]
            np.testing.assert_array_equal(found, wanted)


def test_what_comes_before_and_after() -> None:
    knl = kernel(
        ["{ [s]: 0<=s<11 }", "{ [i]: 0<=i<n }", "{ [e]: 0<=e<11 }"],
        """
        x[s] = 3                 {id=start}
        x[bin[i]] += 2           {id=add, dep=start, atomic}
        <> seen = 0              {id=seen, dep=add}
        y[e] = x[e] + seen       {id=end, dep=seen}
        """,
        pg.GlobalArg("x", np.int32, BINS),
        pg.GlobalArg("bin", np.int32),
    )
    new = privatized(knl)
    assert "add_flush" not in new.instructions_by_id
    assert "x_flush" in new.instruction("end").depends_on
    agree_in_arrays(knl, ({"n": 0}, {"n": 7}, {"n": 33}), privatized, bin=some_bins)


def test_copies_of_work_items() -> None:
    """A private copy is that of one work item; its updates are plain."""
    alone = steps(
        lambda knl: pg.split_iname(knl, "i", 8),
        lambda knl: pg.privatize_atomics(knl, "x", "i_outer", temporary_scope="private"),
        tag(i_outer="g.0"),
    )
    knl = alone(scattered())
    assert pg.generate_code(knl, "opencl").source.count("atomic_add") == 1
    agree_in_arrays(scattered(), ({"n": 0}, {"n": 1}, {"n": 17}), alone, bin=some_bins)


def in_order(knl: Kernel) -> Kernel:
    knl = pg.split_iname(knl, "i", 8, outer_tag="g.0")
    return pg.privatize_atomics(knl, "x", "i_outer", temporary_scope="global")


def test_copies_that_are_combined_in_order() -> None:
    """No update is atomic any more; whatever the operation is."""
    for update, _ in UPDATES.values():
        knl = in_order(scattered(update))
        assert not any(isinstance(i, pg.Assignment) and i.atomicity for i in knl.instructions)
        agree_in_arrays(scattered(update), ({"n": 0}, {"n": 17}), in_order, bin=some_bins)


def test_the_same_in_each_run() -> None:
    """Parts in their order, and then these: that is what any number of threads finds."""
    data = [pg.GlobalArg("x", np.float32, "bins"), pg.GlobalArg("bin", np.int32)]
    knl = kernel("{ [i]: 0<=i<n }", "x[bin[i]] += v[i]  {atomic}", *data)
    knl = pg.set_options(pg.add_dtypes(knl, {"v": np.float32}), deterministic=True)
    run = in_order(knl).executor("c")
    v, bins = RANDOM.normal(size=10_000).astype(np.float32), some_bins({"n": 10_000})
    x = np.zeros(BINS, np.float32)
    copies = np.zeros((1250, BINS), np.float32)
    np.add.at(copies, (np.arange(10_000) // 8, bins), v)
    wanted = x + np.add.accumulate(copies)[-1]
    for _ in range(3):
        np.testing.assert_array_equal(run(x=x.copy(), v=v, bin=bins)[1][0], wanted)


def test_copies_in_order_are_those_of_one_iteration() -> None:
    knl = pg.split_iname(scattered(), "i", 32, outer_tag="g.0")
    knl = pg.split_iname(knl, "i_inner", 8, inner_tag="l.0")
    with pytest.raises(UserError, match="depends on data"):
        pg.privatize_atomics(knl, "x", "i_outer", temporary_scope="global")

    def for_each_item(knl: Kernel) -> Kernel:
        return pg.privatize_atomics(
            in_groups(knl), "x", "i_outer, i_inner_inner", temporary_scope="global"
        )

    agree_in_arrays(scattered(), ({"n": 0}, {"n": 77}), for_each_item, bin=some_bins)
    loop = "x[bin[i]] += v[i] {inames=t:i, id=add, atomic}\ny[t] = x[0] {id=look, dep=add}"
    data = [pg.GlobalArg("x", np.int32, BINS), pg.GlobalArg("bin", np.int32)]
    knl = kernel("{ [t,i]: 0<=t<4 and 0<=i<n }", loop, *data)
    assert "touches 'x', too" in refused(knl, "x", "t", temporary_scope="global").what
    ragged = kernel(
        ["{ [t]: 0<=t<4 }", "{ [i]: 0<=i<m }"], "<> m = w[t]\nx[bin[i]] += 2 {atomic}", *data
    )
    assert "sizes do not say" in refused(ragged, "x", "i", temporary_scope="global").what


def test_bounds_are_those_of_the_array() -> None:
    """What the copy owes is what the array was owed; parts of a tile past its end stay away."""
    with pytest.raises(ObligationViolated):
        privatized(scattered())(
            x=np.zeros(BINS, np.int32),
            v=np.zeros(1, np.int32),
            bin=np.array([BINS], np.int32),
            check_assumptions=True,
        )
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "x[i] += a[i,j]  {atomic}")
    knl = pg.add_dtypes(pg.split_iname(knl, "i", 4), {"x, a": np.int32})
    agree_in_arrays(
        knl, ({"n": 5, "m": 3}, {"n": 0, "m": 1}), lambda k: pg.privatize_atomics(k, "x", "i_outer")
    )


def refused(knl: Kernel, *given: Any, **options: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        pg.privatize_atomics(knl, *given, **options)
    return caught.value


def test_refusals() -> None:
    error = refused(in_groups(scattered()), "v", "i_outer")
    assert isinstance(error, NotPrivatizable) and "no instruction updates 'v'" in error.what
    plain = kernel("{ [i]: 0<=i<n }", "x[i] = x[i] + 1", pg.GlobalArg("x", np.int32, "n"))
    assert "'insn' writes 'x', and is no atomic update" in refused(plain, "x", "i").what
    loop = "x[bin[i]] += v[i] {id=add, atomic}\ny[i] = x[0] {id=look, dep=add}"
    data = [pg.GlobalArg("x", np.int32, BINS), pg.GlobalArg("bin", np.int32)]
    both = kernel("{ [t,i]: 0<=t<4 and 0<=i<n }", loop.replace("{", "{inames=t:i,"), *data)
    assert "'look' touches 'x', too, in the loop of 'i'" in refused(both, "x", "t").what
    mixed = "x[bin[i]] += v[i] {atomic}\nx[bin[i]] *= 2 {atomic, dep=insn}"
    mixed_knl = kernel("{ [i]: 0<=i<n }", mixed, *data)
    assert "with different operations" in refused(mixed_knl, "x", "i").what
    sized = [pg.GlobalArg("x", np.int32, "m"), pg.GlobalArg("bin", np.int32)]
    knl = kernel("{ [i]: 0<=i<n }", "x[bin[i]] += 1 {atomic}", *sized)
    assert "axis 0 of 'x'" in refused(knl, "x", "i").what
    cut = [pg.GlobalArg("x", np.int32, BINS), pg.GlobalArg("v", np.float32)]
    knl = kernel("{ [i]: 0<=i<n }", "x[0] += v[i] {atomic}", *cut)
    assert "what each update cuts off" in refused(knl, "x", "i").what
    error = refused(in_groups(scattered()), "x", "i_outer", temporary_scope="private")
    assert "'i_inner_inner', which is tagged l.0" in error.what
    error = refused(scattered(), "x", "i", temporary_scope=pg.auto)
    assert isinstance(error, InvalidArgument)
    untyped = kernel("{ [i]: 0<=i<n }", "x[i] += 1 {atomic}", pg.GlobalArg("x", shape="n"))
    assert isinstance(refused(untyped, "x", "i"), TypeNotFound)
    strict = pg.set_options(scattered(dtype=np.float32), allow_reassociation=False)
    assert isinstance(refused(strict, "x", "i"), Reassociated)
    exact = pg.set_options(scattered(), allow_reassociation=False)
    assert privatized(exact).history[-1].name == "privatize_atomics"


def test_groups_that_would_share_no_copy() -> None:
    knl = pg.privatize_atomics(pg.split_iname(scattered(), "i", 8), "x", "i_outer")
    with pytest.raises(UserError, match="would have a copy of its own"):
        pg.tag_inames(knl, {"i_inner": "g.0"})
    inside = pg.tag_inames(pg.split_iname(scattered(), "i", 8), {"i_inner": "g.0"})
    assert "'i_inner', which is tagged g.0" in refused(inside, "x", "i_outer").what
