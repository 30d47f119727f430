"""`optimize_reductions`: what it makes is right, and chosen sensibly; what it leaves is told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, MissingArgument, NotOptimized, TypeNotFound
from tests.few import few

SMALL = pg.Limits(1e11, 1e12, 3, items_per_unit=256, items_per_group=64)
H200 = pg.Limits.named("H200")
BOX = "{ [i,j,k]: 0<=i<n and 0<=j<5 and 0<=k<m }"


def made(domain: str, text: str, **types: str) -> pg.Kernel:
    knl = pg.make_kernel(domain, text, silenced_warnings=["AmbiguousNesting"])
    return pg.add_dtypes(knl, types or {"a": "float64"})


def steps(knl: pg.Kernel) -> list[str]:
    return [step.name for step in knl.history if step.name != "add_dtypes"]


def arguments(knl: pg.Kernel, name: str) -> dict[str, Any]:
    """Return the arguments of the last step of a name."""
    return next(dict(step.arguments) for step in reversed(knl.history) if step.name == name)


# What is written, what NumPy makes of `a`, and of which sizes the choice is made.
SUMS: list[tuple[str, Callable[[Any], Any], dict[str, int]]] = [
    ("s[0] = sum((i,j,k), a[i,j,k])", lambda a: [a.sum()], {"n": 4000, "m": 70}),
    ("s[i] = sum((j,k), a[i,j,k])", lambda a: a.sum((1, 2)), {"n": 3, "m": 5000}),
    ("s[k] = sum((i,j), a[i,j,k])", lambda a: a.sum((0, 1)), {"n": 5000, "m": 40}),
    ("s[j] = 2*sum((i,k), a[i,j,k])**2", lambda a: 2 * a.sum((0, 2)) ** 2, {"n": 60, "m": 300}),
    (
        "s[j] = sum((i,k), if(a[i,j,k] > 0.5, 1, 0))",
        lambda a: (a > 0.5).sum((0, 2)),
        {"n": 60, "m": 300},
    ),
    ("s[i,k] = max(j, a[i,j,k])", lambda a: a.max(1), {"n": 50, "m": 70}),
]


@few(3, ("text", "right", "sizes"), SUMS, ids=[text for text, *_ in SUMS])
def test_against_numpy(text: str, right: Callable[[Any], Any], sizes: dict[str, int]) -> None:
    knl = pg.optimize_reductions(made(BOX, text), SMALL, sizes=sizes)
    assert "parallelize_reduction" in steps(knl)
    run = knl.executor("c")
    rng = np.random.default_rng(1)
    for n, m in ((1, 1), (7, 65), (129, 3)):
        a = rng.random((n, 5, m))
        _, (found,) = run(a=a)
        np.testing.assert_allclose(found, right(a), rtol=1e-12)


def test_nothing_to_add_up() -> None:
    knl = pg.optimize_reductions(made(BOX, SUMS[0][0]), SMALL, sizes=SUMS[0][2])
    assert knl.executor("c")(a=np.zeros((0, 5, 3)))[1][0] == [0]


def test_several_in_one_pass() -> None:
    text = "s[i] = sum((j,k), a[i,j,k])\nt[i] = sum((j,k), a[i,j,k]**2)"
    knl = pg.optimize_reductions(made(BOX, text), SMALL, sizes={"n": 600, "m": 90})
    assert steps(knl).count("parallelize_reduction") == 1
    a = np.random.default_rng(2).random((4, 5, 33))
    _, (s, t) = knl.executor("c")(a=a)
    np.testing.assert_allclose(s, a.sum((1, 2)), rtol=1e-12)
    np.testing.assert_allclose(t, (a**2).sum((1, 2)), rtol=1e-12)


def test_what_is_computed_ahead_is_computed_along() -> None:
    in_memory = pg.AddressSpace.GLOBAL
    knl = pg.make_kernel(
        BOX,
        "t[i,j,k] = a[i,j,k] + b[k]  {id=t}\ns[k] = sum((i,j), abs(t[i,j,k]))  {id=s}",
        [pg.TemporaryVariable("t", "float64", "n, 5, m", in_memory), "..."],
        silenced_warnings=["AmbiguousNesting"],
    )
    knl = pg.optimize_reductions(
        pg.add_dtypes(knl, {"a,b": "float64"}), SMALL, sizes={"n": 5000, "m": 40}
    )
    assert "t" not in knl.variables
    a, b = np.random.default_rng(3).random((9, 5, 33)), np.linspace(-1, 1, 33)
    _, (found,) = knl.executor("c")(a=a, b=b)
    np.testing.assert_allclose(found, abs(a + b).sum((0, 1)), rtol=1e-12)


def kept(name: str, shape: str) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, "float64", shape, pg.AddressSpace.GLOBAL)


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


# Several instructions on x[n,m]: domain, text, temporaries, what is right, and the steps.
MORE: dict[str, tuple[str, str, list[Any], Callable[[Any], Any], list[str]]] = {
    "softmax": (
        "{ [i,j,i1,k,i2,l]: 0<=i,i1,i2<60 and 0<=j,k,l<130 }",
        """
        most[i] = max(j, x[i,j])                     {id=most}
        total[i1] = sum(k, exp(x[i1,k] - most[i1]))  {id=total, dep=most}
        y[i2,l] = exp(x[i2,l] - most[i2])/total[i2]  {dep=most:total}
        """,
        [kept("most", "60"), kept("total", "60")],
        softmax,
        ["fuse_reductions", "fuse_reductions", "share_rows"],
    ),
    "epilogue": (
        "{ [i,j,k]: 0<=i,k<60 and 0<=j<130 }",
        "s[i] = sum(j, x[i,j]**2)\ny[k] = sqrt(s[k])",
        [kept("s", "60")],
        lambda x: np.sqrt((x**2).sum(1)),
        ["fuse_reductions", "parallelize_reduction"],
    ),
    "variance": (
        "{ [i,j]: 0<=i<60 and 0<=j<130 }",
        "<> mean = sum(j, x[i,j])/130\ny[i] = sum(j, (x[i,j] - mean)**2)/130",
        [],
        lambda x: x.var(1),
        ["share_rows"],
    ),
    "columns that all groups use": (
        "{ [i,j,k,l]: 0<=i,k<60 and 0<=j,l<130 }",
        "s[j] = sum(i, x[i,j])/60\ny[k,l] = x[k,l] - s[l]",
        [kept("s", "130")],
        lambda x: x - x.mean(0),
        ["parallelize_reduction", "join_inames", "split_iname", "split_iname"],
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_several_instructions(name: str) -> None:
    domain, text, temporaries, right, expected = MORE[name]
    knl = pg.make_kernel(
        domain, text, [*temporaries, "..."], silenced_warnings=["AmbiguousNesting"]
    )
    knl = pg.optimize_reductions(pg.add_dtypes(knl, {"x": "float64"}), SMALL)
    assert steps(knl) == expected
    x = np.random.default_rng(4).normal(size=(60, 130))
    _, (found,) = knl.executor("c")(x=x)
    np.testing.assert_allclose(found, right(x), rtol=1e-12, atol=1e-14)


LONG: list[tuple[int, str, str | None, dict[str, int]]] = [
    (1024, "float32", None, {"blocks": 1}),
    (65536, "float32", None, {"blocks": 4, "threads": 512}),
    (65536, "float32", "opencl", {"blocks": 1, "ahead": 4}),
    (65536, "float16", None, {"blocks": 2, "threads": 512}),
    (262144, "float32", None, {"blocks": 8, "threads": 1024}),
    (262144, "float16", None, {"blocks": 4, "threads": 1024}),
    (524288, "float32", None, {"blocks": 1, "ahead": 4}),
]


@pytest.mark.parametrize(("length", "dtype", "target", "expected"), LONG)
def test_long_rows(length: int, dtype: str, target: str | None, expected: dict[str, int]) -> None:
    knl = pg.make_kernel(
        f"{{ [i,j,k]: 0<=i<1000 and 0<=j,k<{length} }}",
        "<> s = sum(j, x[i,j])\ny[i,k] = x[i,k]/s",
        [pg.GlobalArg("x, y", dtype, (1000, length), alignment=16), "..."],
        target=target,
    )
    found = arguments(pg.optimize_reductions(knl, H200), "share_rows")
    assert found.items() >= {"keep": ("x",), **expected}.items()


def test_long_rows_of_what_is_computed() -> None:
    """Powers are kept beside what is read: half as many elements for a work item."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<1000 and 0<=j,k<65536 }",
        "p(a) := exp(x[i,a])\n<> s = sum(j, p(j))\ny[i,k] = p(k)/s",
        [pg.GlobalArg("x, y", "float32", (1000, 65536), alignment=16), "..."],
    )
    last = arguments(pg.optimize_reductions(knl, H200), "share_rows")
    assert (last["blocks"], last["threads"], "p" in last["keep"]) == (8, 512, True)


def chosen(shape: tuple[int, ...], over: str, to: str) -> dict[str, int]:
    """Return what is chosen for the H200."""
    bounds = " and ".join(f"0<={i}<{n}" for i, n in zip("ij", shape, strict=False))
    inames = "i,j"[: 2 * len(shape) - 1]
    knl = made(f"{{ [{inames}]: {bounds} }}", f"s[{to}] = sum({over}, a[{inames}])", a="float32")
    return arguments(pg.optimize_reductions(knl, H200), "parallelize_reduction")


@pytest.mark.parametrize("length", [2, 3, 1000])
def test_what_a_rule_says_is_reduced(length: int) -> None:
    """In terms, in lanes and in groups: the type is that of what the rule stands for."""
    text = "scaled(x) := a[i,x]*a[i,0]\ns[i] = sum(j, scaled(j)) {id=s}\nt[i] = scaled(0)"
    a = np.random.default_rng(length).integers(-9, 9, (3, length)).astype(np.float32)
    for target in (None, "c"):
        knl = made(f"{{ [i,j]: 0<=i<3 and 0<=j<{length} }}", text, a="float32").copy(target=target)
        knl = pg.set_options(knl, silenced_warnings=["NotOptimized", "NotVectorized"])
        total, first = pg.optimize_reductions(knl, H200).executor("c")(a=a)[1]
        np.testing.assert_array_equal(total, a.sum(1) * a[:, 0])
        np.testing.assert_array_equal(first, a[:, 0] ** 2)


def test_a_small_input_is_one_groups() -> None:
    found = chosen((1000,), "i", "0")
    assert found["blocks"] == 1
    assert found["threads"] * found["items"] < 2000


def test_a_large_input_keeps_all_units_busy() -> None:
    for shape, over, to, results in (
        ((2**28,), "i", "0", 1),
        ((3, 2**24), "j", "i", 3),
        ((2**24, 3), "i", "j", 3),
        ((2**20, 512), "j", "i", 2**20),
        ((2**20, 512), "i", "j", 512),
    ):
        found = chosen(shape, over, to)
        groups = found["blocks"] * -(-results // found["across"])
        in_flight = 4 * found["items"] * min(groups * found["threads"], 132 * 2048)
        assert groups >= 132
        assert in_flight >= 0.9 * H200.bytes_per_second * H200.latency_seconds


def test_short_rows_share_a_group() -> None:
    found = chosen((2**20, 5), "j", "i")
    assert found["across"] * 4 >= found["threads"]
    assert found["blocks"] == 1


def test_no_reduction() -> None:
    knl = made("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    assert pg.optimize_reductions(knl, H200) is knl


LEFT: list[tuple[str, Callable[[], pg.Kernel], str]] = [
    (
        "order matters",
        lambda: made(
            "{ [i,j]: 0<=i<64 and 0<=j<64 }",
            "t[i], f[i] = segmented(sum)(j, a[i,j], b[i,j])",
            a="float64",
            b="int8",
        ),
        "'insn' is left as it is: .*segmented",
    ),
    (
        "a scan",
        lambda: made("{ [i,j]: 0<=i<64 and 0<=j<=i }", "s[i] = sum(j, a[j])"),
        "'insn' is left as it is: 'insn' is a scan: split_scan",
    ),
    (
        "tagged",
        lambda: pg.tag_inames(
            made("{ [i,j]: 0<=i<64 and 0<=j<64 }", "s[i] = sum(j, a[i,j])"), {"j": "l.0"}
        ),
        r"'insn' is left as it is: 'j' is tagged l\.0",
    ),
]


@pytest.mark.parametrize(("name", "make", "why"), LEFT, ids=[name for name, *_ in LEFT])
def test_left_as_it_is(name: str, make: Callable[[], pg.Kernel], why: str) -> None:
    knl = make()
    with pytest.warns(NotOptimized, match=why):
        assert pg.optimize_reductions(knl, H200) is knl
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = pg.set_options(knl, silenced_warnings=["NotOptimized"])
        assert pg.optimize_reductions(quiet, H200) is quiet


def test_what_data_decides_is_left() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: first<=k<last }"],
        """
        <> first = start[i]
        <> last = start[i+1]
        y[i] = sum(k, a[k])  {id=insn}
        """,
        [pg.GlobalArg("a", "float64", "m"), pg.GlobalArg("start", "int32", "n+1"), "..."],
    )
    with pytest.warns(NotOptimized, match="'insn' is left as it is"):
        assert pg.optimize_reductions(knl, H200, sizes={"n": 10, "m": 100}) is knl


def test_refused() -> None:
    knl = made("{ [i]: 0<=i<n }", "s[0] = sum(i, a[i])")
    with pytest.raises(InvalidArgument, match="how many compute units") as caught:
        pg.optimize_reductions(knl, pg.Limits(1, 1))
    assert caught.value.remedy
    with pytest.raises(MissingArgument, match="a value of 'n'"):
        pg.optimize_reductions(knl, H200)
    untyped = pg.make_kernel("{ [i]: 0<=i<8 }", "s[0] = sum(i, a[i])")
    with pytest.raises(TypeNotFound):
        pg.optimize_reductions(untyped, H200)


def test_tuning_takes_what_was_fastest_and_keeps_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYGEN_NO_CACHE", raising=False)
    asked: list[dict[str, Any]] = []

    def seconds(executor: pg.Executor, new_args: Callable[[], Any], enough: float) -> float:
        assert new_args()["a"].shape == (4096,)
        asked.append(arguments(executor.kernel, "parallelize_reduction"))
        return 1.0 if len(asked) != 3 else 0.5

    monkeypatch.setattr("polygen.tuning.measure.seconds_of", seconds)
    knl = made("{ [i]: 0<=i<4096 }", "s[0] = sum(i, a[i])")
    first = pg.optimize_reductions(knl, SMALL, tune=True)
    assert arguments(first, "parallelize_reduction") == asked[2]
    count = len(asked)
    assert pg.optimize_reductions(knl, SMALL, tune=True) == first
    assert len(asked) == count
