"""`split_scan`: scans of all groups, in parts; any operation that associates; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotAScan, TagConflict, TypeNotFound, UserError
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import Step, agree_in_arrays, kernel, split, steps, tag

RANDOM = np.random.default_rng(9)
SIZES = (0, 1, 3, 4, 5, 7, 16, 17, 50)


def scan(text: str, domain: Any = "{ [i,j]: 0<=j<=i<n }", *data: Any, **types: Any) -> Kernel:
    knl = kernel(domain, text, *data)
    wanted = types or {"a": np.int64}
    return pg.add_dtypes(knl, {n: t for n, t in wanted.items() if n in knl.variables})


def in_parts(knl: Kernel) -> Kernel:
    """Return the kernel with parts of 4, on groups; what comes before each in one group of 4."""
    knl = pg.split_scan(knl, "i", 4)
    knl = pg.tag_inames(knl, {"i_outer": "g.0", "i_total": "g.0", "i_inner": "l.0"})
    return pg.split_iname(knl, "i_before", 4, inner_tag="l.0")


def split_alone(knl: Kernel) -> Kernel:
    return pg.split_scan(knl, "i", 4)


def cumulated(combine: Callable[[Any, Any], Any], first: Any) -> Callable[[Any], list[Any]]:
    """Return what scans numbers, one after the other."""

    def run(values: Any) -> list[Any]:
        found, so_far = list[Any](), first
        for value in values:
            so_far = combine(so_far, value)
            found.append(so_far)
        return found

    return run


def test_operations() -> None:
    """One kernel with all of them: what does not commute stays in order."""
    pg.register_reduction("latest", "if(b != 0, b, a)", 0, associative=True)
    wanted: dict[str, Callable[[Any], Any]] = {
        "sum": np.cumsum,
        "product": np.cumprod,
        "max": np.maximum.accumulate,
        "min": np.minimum.accumulate,
        "any": cumulated(lambda x, y: x or y != 0, False),
        "latest": cumulated(lambda x, y: y if y else x, 0),
    }
    run = in_parts(scan("\n".join(f"{name}_[i] = {name}(j, a[j])" for name in wanted))).executor(
        "c"
    )
    for n in SIZES:
        for low, high in ((-3, 3), (-5, 0)):  # all negative, too
            a = RANDOM.integers(low, high, n)
            _, found = run(a=a, n=n)
            for values, (name, expected) in zip(found, sorted(wanted.items()), strict=True):
                right = np.asarray(expected(a), values.dtype)
                np.testing.assert_array_equal(values, right, err_msg=f"{name} {n}")


@pytest.mark.parametrize("step", [in_parts, split_alone])
@few(
    2,
    ("domain", "text"),
    [
        ("{ [i,j]: 0<=j<=i<n }", "b[i] = sum(j, a[j])"),
        (["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"], "b[i] = sum(j, a[j])"),
        ("{ [i,j]: 2<=i<n and -3<=j<i }", "b[i] = i + sum(j, a[j+3])*2"),
        ("{ [i,j]: 0<=i<n and 0<=j<=2*i }", "b[i] = sum(j, a[j] + j)"),
        ("{ [i,j]: 0<=j<=i<n }", "b[i] = sum(j, a[j]) + max(j, a[j]*c[j])\nd[i] = sum(j, c[j])"),
    ],
)
def test_instances(domain: Any, text: str, step: Step) -> None:
    knl = scan(text, domain, a=np.int64, c=np.int64)
    agree_in_arrays(knl, ({"n": 0}, {"n": 1}, {"n": 7}, {"n": 18}), step)


@pytest.mark.more
def test_two_results() -> None:
    text = "t[i], f[i] = segmented(sum)(j, a[j], s[j])\nv[i], k[i] = argmax(j, a[j], j)"
    knl = scan(text, "{ [i,j]: 0<=j<=i<n }", a=np.int64, s=np.bool_)
    for n in SIZES:
        a, s = RANDOM.integers(-5, 5, n), RANDOM.random(n) < 0.2
        _, (f, k, t, v) = in_parts(knl).executor("c")(a=a, s=s, n=n)
        starts = np.maximum.accumulate(np.where(s, np.arange(n), 0))
        np.testing.assert_array_equal(t, [a[p : i + 1].sum() for i, p in enumerate(starts)])
        np.testing.assert_array_equal(f, np.logical_or.accumulate(s))
        np.testing.assert_array_equal(v, np.maximum.accumulate(a))
        np.testing.assert_array_equal(k, [np.argmax(a[: i + 1]) for i in range(n)])


def test_rows_and_columns() -> None:
    """Each row has totals of its own."""
    text = "b[r,i] = sum(j, a[r,j])"
    knl = scan(text, ["{ [r]: 0<=r<m }", "{ [i,j]: 0<=j<=i<n }"])
    knl = in_parts(pg.tag_inames(knl, {"r": "g.1"}))
    assert len(knl.array("total_j").shape or ()) == 2
    for target in "c", "opencl":
        for shape in ((3, 9), (1, 1), (2, 0)):
            a = RANDOM.integers(-9, 9, shape)
            (b,) = knl.executor(target)(a=a)[1]
            np.testing.assert_array_equal(b, np.cumsum(a, axis=1))


def in_groups(knl: Kernel) -> Kernel:
    """Return the kernel with 4 numbers a work item, 4 items a group, parts of parts."""
    knl = pg.split_scan(knl, "i", 16)
    knl = pg.split_scan(knl, "i_before", 4)
    knl = pg.split_scan(knl, "i_inner", 4, temporary_scope="local")
    groups = dict.fromkeys(("i_outer", "i_total", "i_before_outer", "i_before_total"), "g.0")
    items = ("i_inner_outer", "i_inner_total", "i_inner_before", "i_before_inner", "j_before_total")
    return pg.tag_inames(knl, {**groups, **dict.fromkeys(items, "l.0")})


@pytest.mark.more
def test_parts_of_parts() -> None:
    knl = in_groups(scan("b[i] = sum(j, a[j])"))
    assert knl.array("total_j_inner").shape == (3,)
    assert pg.generate_code(knl, "opencl").source.count("__kernel") == 5
    for target in "c", "opencl":
        run = knl.executor(target)
        for n in (0, 1, 15, 16, 17, 97, 300):
            a = RANDOM.integers(-9, 9, n)
            np.testing.assert_array_equal(run(a=a, n=n)[1][0], np.cumsum(a))


def test_sums_of_floats_are_near() -> None:
    a = RANDOM.standard_normal(5000).astype(np.float32)
    knl = pg.split_scan(scan("b[i] = sum(j, a[j])", a=np.float32), "i", 64)
    (b,) = knl.executor("c")(a=a)[1]
    np.testing.assert_allclose(b, np.cumsum(a, dtype=np.float64), atol=1e-3)
    assert b.dtype == np.float32


def test_rows_of_a_length_that_is_data() -> None:
    """Running sums of rows, which a group shares in tiles: empty rows, long ones, one of one."""
    knl = kernel(
        ["{ [r]: 0<=r<m }", "{ [i]: first<=i<last }", "{ [j]: first<=j<=i }"],
        "<> first = start[r]\n<> last = start[r+1]\nb[i] = sum(j, a[j])  {id=scan}",
        pg.GlobalArg("a, b", np.int64, "n"),
        pg.GlobalArg("start", np.int32),
    )
    knl = pg.tag_inames(pg.assume_independent(knl, "scan", "scan"), {"r": "g.0"})
    run = pg.split_iname(knl, "i", 32, inner_tag="l.0").executor("c")
    for lengths in ([0, 5, 0, 33, 1, 200, 0], [1], [64, 64]):
        start: Any = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        a: Any = RANDOM.integers(-9, 9, start[-1])
        (b,) = run(a=a, b=np.zeros_like(a), start=start)[1]
        rows: list[Any] = [np.cumsum(part) for part in np.split(a, start[1:-1])]
        np.testing.assert_array_equal(b, np.concatenate(rows))


def test_what_is_read_comes_first() -> None:
    text = (
        "c[k] = 2*a[k]  {id=make}\nb[i] = sum(j, c[j])  {id=scan, dep=make}\nd[e] = b[e] {dep=scan}"
    )
    domains = ["{ [k]: 0<=k<n }", "{ [i,j]: 0<=j<=i<n }", "{ [e]: 0<=e<n }"]
    knl = scan(text, domains, pg.TemporaryVariable("c", np.int64, "n", pg.AddressSpace.GLOBAL))
    assert "make" in in_parts(knl).instruction("scan_total").depends_on
    agree_in_arrays(knl, ({"n": 0}, {"n": 1}, {"n": 9}), in_parts)


def test_conditions() -> None:
    """A condition of the instruction does not matter to totals, where these read what is there."""
    some = scan("b[i] = sum(j, a[j])  {if=a[i] > 0}", "{ [i,j]: 0<=j<=i<n }")
    agree_in_arrays(some, ({"n": 1}, {"n": 9}), in_parts)
    inside = scan("b[i] = sum(j, if(p[j] >= 0, a[j], 0))", a=np.int64, p=np.int32)
    agree_in_arrays(inside, ({"n": 1}, {"n": 9}), steps(split("i", 3), tag(i_outer="for")))
    data = [pg.GlobalArg("a", np.int64, "m"), pg.GlobalArg("p", np.int32)]
    guarded = scan(
        "b[i] = sum(j, a[p[j]])  {if=flag > 0}", "{ [i,j]: 0<=j<=i<n }", *data, flag="int32"
    )
    assert "under conditions" in refused(guarded).what


def refused(knl: Kernel, iname: str = "i", **options: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        pg.split_scan(knl, iname, 4, **options)
    return caught.value


def test_refusals() -> None:
    window = scan("b[i] = sum(j, a[j])", "{ [i,j]: 0<=i<n and 0<=j and i-3<=j<=i }")
    assert "it does not take the same in all iterations" in refused(window).what
    apart = scan("b[i] = sum(j, a[j])", "{ [i,j]: 0<=i<n and i<=j<=i+3 }")
    assert "nothing comes before any part" in refused(apart).what
    own = scan("b[i] = sum(j, a[i-j])")
    assert "what it reduces depends on 'i'" in refused(own).what
    none = scan("b[i] = 2*a[i]", "{ [i]: 0<=i<n }")
    assert "no reduction in the loop of 'i'" in refused(none).what
    late = scan("b[i] = sum(j, a[j])", "{ [i,j]: 2<=i<n and 0<=j<=i-2 }")
    assert "it does not take the same in all iterations" in refused(late).what
    place = scan("a[i] = sum(j, a[j])  {id=s}", "{ [i,j]: 0<=j<=i<n }")
    assert "'s' writes 'a' in the loop of 'i'" in refused(place).what
    pg.register_reduction("halfway", "(a + b) / 2", 0)
    assert (
        "may not be combined in parts" in refused(scan("b[i] = halfway(j, a[j])", a="float64")).what
    )
    strict = pg.set_options(scan("b[i] = sum(j, a[j])", a="float32"), allow_reassociation=False)
    assert isinstance(refused(strict), NotAScan)
    exact = pg.set_options(scan("b[i] = sum(j, a[j])"), allow_reassociation=False)
    assert pg.split_scan(exact, "i", 4).history[-1].name == "split_scan"
    assert "no constant number of parts" in refused(exact, temporary_scope="local").what
    assert isinstance(refused(kernel("{ [i,j]: 0<=j<=i<n }", "b[i] = sum(j, a[j])")), TypeNotFound)
    assert isinstance(refused(pg.tag_inames(exact, {"i": "unr"})), TagConflict)
