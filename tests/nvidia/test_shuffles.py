"""Reductions by shuffles on the host's processor, where work items of a warp are threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest

import polygen as pg
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.shuffled import TYPES, rows
from tests.properties.together import run_together

# Most take two seconds.
pytestmark = pytest.mark.more

SIZES = (1, 2, 3, 5, 31, 32, 33, 48, 64, 100, 257, 1000)  # of groups
ROWS = 2


_Case: TypeAlias = tuple[Kernel, dict[str, Any], Sequence[Any]]


def check(cases: Sequence[_Case], patch: pytest.MonkeyPatch) -> None:
    """Run kernels on arrays, and compare `b`, and `c`, with what is expected."""
    kernels = [(knl, given | _outputs(expected)) for knl, given, expected in cases]
    results = run_together(kernels, "cuda", patch, ())
    for (_, given, expected), found in zip(cases, results, strict=True):
        assert found is not None
        for name, values in _outputs(expected).items():
            shape = f"{name}, of {given['a'].dtype}, {given['a'].shape}"
            np.testing.assert_array_equal(found[name], _named(expected)[name], err_msg=shape)
            assert found[name].dtype == values.dtype


def _named(arrays: Sequence[Any]) -> dict[str, Any]:
    return dict(zip("bc", arrays, strict=False))


def _outputs(arrays: Sequence[Any]) -> dict[str, Any]:
    return {name: np.zeros_like(values) for name, values in _named(arrays).items()}


def test_every_size_of_a_group(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[_Case] = []
    for size in SIZES:
        a = np.random.default_rng(size).integers(-(2**40), 2**40, (ROWS, size))
        cases.append((rows(size), {"a": a, "n": ROWS}, [a.sum(1)]))
    check(cases, monkeypatch)
    assert host.compiled == 1


def shaped(extents: tuple[int, ...], reduced: int, rows: int) -> Kernel:
    """Return a kernel of groups with several axes, along one of which they reduce."""
    others = [k for k in range(len(extents)) if k != reduced]
    bounds = " and ".join(f"0<=x{k}<{extents[k]}" for k in (*others, reduced))
    names = ",".join(f"x{k}" for k in range(len(extents)))
    element = ",".join(["i", *(f"x{k}" for k in reversed(range(len(extents))))])
    left = ",".join(["i", *(f"x{k}" for k in reversed(others))])
    knl = pg.make_kernel(
        f"{{ [i,{names}]: 0<=i<{rows} and {bounds} }}",
        f"b[{left}] = sum(x{reduced}, a[{element}])",
    )
    return pg.tag_inames(knl, {"i": "g.0", **{f"x{k}": f"l.{k}" for k in range(len(extents))}})


# Groups, and along which of their axes neighbours are in one warp: 5 in a row need not be.
SHAPES: dict[tuple[int, ...], set[int]] = {
    (16, 8): {0, 1},
    (5, 8): set(),
    (64, 3): {0},
    (2, 4, 6): {0, 1, 2},
    (1, 33): {1},
    (8, 5): {0, 1},
}


def test_every_axis(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the group that share warps, that are warps, and that warps cut through."""
    cases: list[_Case] = []
    for extents, shuffled in SHAPES.items():
        for reduced in range(len(extents)):
            knl = shaped(extents, reduced, ROWS)
            shape = (ROWS, *reversed(extents))
            a = np.random.default_rng(reduced).integers(-9, 9, shape).astype(np.float64)
            text = str(pg.generate_code(pg.add_dtypes(knl, {"a": "float64"}), "cuda"))
            assert ("__shfl" in text) == (reduced in shuffled)
            cases.append((knl, {"a": a}, [a.sum(len(extents) - reduced)]))
    check(cases, monkeypatch)


def test_every_type(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[_Case] = []
    for dtype, (text, expected) in TYPES.items():
        numbers = np.random.default_rng(3).integers(1, 3, (ROWS, 40))
        numbers[1, 20:] *= 2 if dtype in ("float32", "int64") else 1
        a = numbers.astype(to_dtype(dtype))
        cases.append((rows(40, text), {"a": a, "n": ROWS}, expected(a)))
    check(cases, monkeypatch)


def summed_in_order(a: Any) -> Any:
    """Return the sum of a row in the order that is documented: docs/reference/reductions.md."""
    while len(a) > 1:
        parts = [a[first : first + 32].copy() for first in range(0, len(a), 32)]
        for part in parts:
            distance = 16
            while distance:
                further = part[distance : 2 * distance].copy()
                part[: len(further)] += further
                part = part[:distance]  # noqa: PLW2901
                distance //= 2
        a = np.array([part[0] for part in parts])
    return a[0]


def test_the_order_of_a_sum(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[_Case] = []
    for size in (31, 64, 500):
        a = np.random.default_rng(size).standard_normal((ROWS, size)).astype(np.float32)
        expected = np.array([summed_in_order(row) for row in a])
        assert (expected != a.sum(1)).any()  # the order can be seen
        cases.append((rows(size), {"a": a, "n": ROWS}, [expected]))
    check(cases, monkeypatch)


def test_around_reductions(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops, conditions, what all work items use, two reductions, an operation of one's own."""
    pg.register_reduction("product_mod_251", "a*b % 251", 1, associative=True, commutative=True)
    domain = "{ [i,j,k]: 0<=i<n and 0<=j,k<50 }"
    a = np.random.default_rng(5).integers(1, 250, (5, 50))
    modular = np.array([np.prod([int(x) for x in row], dtype=object) % 251 for row in a], np.int64)
    odd = np.arange(5) % 2 == 1
    kernels = {
        "b[i] = sum(j, a[i,j]) - max(j, a[i,j])": [a.sum(1) - a.max(1)],
        "b[i] = product_mod_251(j, a[i,j])": [modular],
        "<> t = sum(j, a[i,j])\nb[i,k] = t - a[i,k]": [a.sum(1)[:, None] - a],
        "b[i] = sum(j, a[i,j]) if i % 2 == 0 else -1": [np.where(odd, -1, a.sum(1))],
    }
    cases: list[_Case] = []
    for text, expected in kernels.items():
        for tag in "g.0", "for":
            knl = pg.make_kernel(domain, text, silenced_warnings=["UnusedIname"])
            tags = {"i": tag, "j": "l.0"} | ({"k": "l.0"} if "k]" in text else {})
            cases.append((pg.tag_inames(knl, tags), {"a": a, "n": 5}, expected))
    long = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "b[i] = sum(j, a[i,j])")
    long = pg.split_iname(long, "j", 33, inner_tag="l.0")
    long = pg.split_iname(long, "i", 2, outer_tag="g.0", inner_tag="l.1")
    for columns in (20, 50, 33):
        part = a[:, :columns].copy()
        cases.append((long, {"a": part, "n": 5, "m": columns}, [part.sum(1)]))
    check(cases, monkeypatch)


def test_one_atomic_update_for_each_group(host: HostDriver) -> None:
    knl = pg.make_kernel(
        "{ [i,k,j]: 0<=i<n and 0<=k<8 and 0<=j<64 }",
        "s[0] = s[0] + sum((k,j), a[512*i + 64*k + j])  {atomic}",
        [pg.GlobalArg("s", "int64", 1), pg.GlobalArg("a", "int64", "512*n"), "..."],
    )
    a, s = np.arange(512 * 3), np.array([10])
    pg.tag_inames(knl, {"i": "g.0", "j": "l.0"}).executor("cuda")(a=a, s=s)
    assert s[0] == 10 + a.sum()


def test_arrays_of_ones_own(host: HostDriver) -> None:
    """Work items read what their neighbours in a warp of 32 have written."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<50 }",
        """
        t[j] = 2*a[i,j]  {inames=i:j}
        b[i,k] = t[k] if k % 32 == 31 or k == 49 else t[k] - t[k+1]  {if=k % 32 < 31 and k < 49}
        """,
        [
            pg.TemporaryVariable("t", np.int64, 50, pg.AddressSpace.LOCAL, shuffled=True),
            pg.GlobalArg("a, b", np.int64, "n, 50"),
            "...",
        ],
        seq_dependencies=True,
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "l.0", "k": "l.0"})
    assert "__shared__" not in str(pg.generate_code(knl, "cuda"))
    a: Any = np.random.default_rng(2).integers(0, 99, (3, 50))
    b = np.zeros((3, 50), np.int64)
    knl.executor("cuda")(a=a, b=b)
    there = np.arange(50) % 32 < 31
    differences: Any = 2 * (a - np.roll(a, -1, 1))
    expected = np.where(there, differences, 0)
    expected[:, 49] = 0
    np.testing.assert_array_equal(b, expected)


def test_the_text_compiles() -> None:
    texts = [
        pg.generate_code(pg.add_dtypes(rows(50, text).copy(name=f"k{n}"), {"a": dtype}), "cuda")
        for n, (dtype, (text, _)) in enumerate(TYPES.items())
    ]
    assert all("shfl" in str(text) for text in texts)


def scan(size: int, text: str, *, rows: bool) -> Kernel:
    """Return a kernel whose groups scan a row each, or one row together, in a loop."""
    arrays = [pg.GlobalArg("a", shape=("m", size) if rows else "n"), "..."]
    up_to = "{ [j]: 0<=j<=i }"
    if rows:
        knl = pg.make_kernel([f"{{ [r,i]: 0<=r<m and 0<=i<{size} }}", up_to], text, arrays)
        return pg.tag_inames(knl, {"r": "g.0", "i": "l.0"})
    knl = pg.make_kernel(["{ [i]: 0<=i<n }", up_to], text, arrays)
    return pg.split_iname(knl, "i", size, inner_tag="l.0")


@pytest.mark.parametrize("rows", [True, False], ids=["rows", "loop"])
@few(1, "sizes", [(20, 33), (32, 100)])
def test_scans(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch, rows: bool, sizes: tuple[int, ...]
) -> None:
    """Of sums, and of an operation of which the order matters."""
    pg.register_reduction("later", "if(b != 0, b, a)", 0, associative=True)
    where, of = ("r,i", "r,j") if rows else ("i", "j")
    cases: list[_Case] = []
    for size in sizes:
        a: Any = np.random.default_rng(size).integers(0, 4, (ROWS, size) if rows else 3 * size - 1)
        places = np.arange(len(a.T), dtype=np.int64)
        last = np.maximum.accumulate(np.where(a != 0, places, 0), axis=-1)
        latest = np.take_along_axis(a, last, -1)
        given = {"a": a, "m": ROWS} if rows else {"a": a, "n": len(a)}
        texts = {
            f"b[{where}] = sum(j, a[{of}])": [a.cumsum(-1)],
            f"b[{where}] = later(j, a[{of}])": [latest],
        }
        for text, expected in texts.items():
            knl = scan(size, text, rows=rows)
            assert "__shfl_up" in str(pg.generate_code(pg.add_dtypes(knl, {"a": "int64"}), "cuda"))
            cases.append((knl, given, expected))
    check(cases, monkeypatch)
