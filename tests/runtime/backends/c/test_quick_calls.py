"""Calls like one before go through the helper in C, and all others through their wrapper."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    MisalignedArray,
    OutOfMemory,
    OverlappingArguments,
    ReadOnlyOutput,
    ValueDoesNotFit,
    WrongArgumentType,
)
from polygen.runtime.backends.c import quick_calls

DTYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
REALS = ("float16", "float32", "float64", "complex64", "complex128")


def _add(**options: Any) -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + b[i]")
    return pg.set_options(knl, **options) if options else knl


def _quick(knl: pg.Kernel, **args: Any) -> Any:
    """Return what the helper makes of a call: None if it leaves it to the wrapper."""
    found = [quick(args) for quick in knl._executor._quick]
    return next((each for each in found if each is not None), None)


@pytest.fixture(autouse=True)
def in_c(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ask for C, whatever is the default elsewhere."""
    assert pg.make_kernel("{ [i]: 0<=i<3 }", "o[i] = i")()[1][0].tolist() == [0, 1, 2]
    assert quick_calls._helper() is not None, "the helper is compiled here"
    yield


# --- what it takes


@pytest.mark.parametrize("dtype", [*DTYPES, *REALS, "bool"])
def test_every_type_of_array(dtype: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]")
    random = np.random.default_rng(3)
    for _ in range(2):
        a = (random.random(17) * 100).astype(dtype)
        out = np.zeros_like(a)
        event, (same,) = knl(a=a, out=out)
        assert same is out
        event.wait()
        np.testing.assert_array_equal(out, a)
    assert _quick(knl, a=a, out=out) is not None


@pytest.mark.parametrize("dtype", [*DTYPES, "float32", "float64"])
def test_every_type_of_scalar_over_its_range(dtype: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = s",
        [pg.ValueArg("s", dtype), pg.GlobalArg("out", dtype), "..."],
    )
    facts: Any = np.finfo(dtype) if dtype.startswith("f") else np.iinfo(dtype)
    python = float if dtype.startswith("f") else int
    for make in (python, np.dtype(dtype).type):
        for value in (facts.min, facts.max, 0, 1, 3):
            out = np.ones(3, dtype)
            s = make(value)
            knl(s=s, out=out)
            np.testing.assert_array_equal(out, np.full(3, value, dtype))
            assert _quick(knl, s=s, out=out) is not None, s


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_out_of_range_are_refused(dtype: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = s",
        [pg.ValueArg("s", dtype), pg.GlobalArg("out", dtype), "..."],
    )
    out = np.zeros(3, dtype)
    knl(s=1, out=out)
    limits = np.iinfo(dtype)
    for value in (int(limits.min) - 1, int(limits.max) + 1, 2**70, -(2**70)):
        assert _quick(knl, s=value, out=out) is None
        with pytest.raises(ValueDoesNotFit, match="'s'"):
            knl(s=value, out=out)
    np.testing.assert_array_equal(out, 1)


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("place", ["(i + s*s) % n", "(i + s*s) % n + 0*s", "(s*s + i) // 1 % n"])
def test_integers_in_subscripts_have_a_plan_for_each_width(place: str, target: str) -> None:
    """A small one has 32 bits in the code, a large one 64."""
    whole = pg.GlobalArg("a", shape="n")
    knl = pg.make_kernel("{ [i]: 0<=i<n }", f"out[i] = a[{place}]", [whole, "..."])
    run, a = knl.executor(target), np.arange(13)
    values = (1, -1, 2**20 - 1, 2**20, 2**31 - 2**20, 2**31 - 1, 2**31, -(2**31), 3 * 10**9, 0, 5)
    for _ in range(2):
        for s in values:
            places = [(i + s * s) % 13 for i in range(13)]
            np.testing.assert_array_equal(run(a=a, s=s)[1][0], a[places], err_msg=str(s))


def test_a_shift_of_any_width() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[max(0, min(i + s - t, n - 1))]",
        [pg.GlobalArg("a", shape="n"), "..."],
    )
    a = np.arange(13)
    knl(a=a, s=3, t=2)
    assert _quick(knl, a=a, s=2**20, t=2) is None
    assert _quick(knl, a=a, s=-(2**40), t=2) is None
    for _ in range(2):
        for s in (1, 2**20, 2**31 - 2**20, 2**31 + 5, -(2**40), 2):
            np.testing.assert_array_equal(knl(a=a, s=s, t=s)[1][0], a, err_msg=str(s))
    assert _quick(knl, a=a, s=7, t=7) is not None


@pytest.mark.parametrize("size", [0, 1, 2, 17, 128])
def test_sizes_and_new_outputs(size: int) -> None:
    knl = _add()
    for _ in range(3):
        a, b = np.random.default_rng(size).random((2, size))
        np.testing.assert_array_equal(knl(a=a, b=b)[1][0], a + b)
        out = np.zeros(size)
        np.testing.assert_array_equal(knl(a=a, b=b, out=out, n=size)[1][0], a + b)
    assert _quick(knl, a=a, b=b) is not None
    assert _quick(knl, a=a, b=b, out=out, n=size) is not None
    assert _quick(knl, a=a, b=b, out=out, n=size + 1) is None


def test_new_outputs_are_new() -> None:
    knl, a, b = _add(), np.ones(5), np.ones(5)
    outs = [knl(a=a, b=b)[1][0] for _ in range(3)]
    assert not any(np.shares_memory(x, y) for x, y in pairwise(outs))


def test_strides_layouts_and_offsets() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "out[i,j] = a[i,j]",
        [pg.GlobalArg("a", strides=(pg.auto, pg.auto), shape="n, m"), "..."],
        loop_priority="i, j",
    )
    whole = np.arange(400.0).reshape(20, 20)
    views = (whole[3:9, 4:13], whole[3:15:2, ::3], whole.T[2:7, 5:6], whole[::-1, ::-2])
    for _ in range(2):
        for view in views:
            np.testing.assert_array_equal(knl(a=view)[1][0], view)
            assert _quick(knl, a=view) is not None
    later = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = a[i]", [pg.GlobalArg("a", "float64", "n", offset=2), "..."]
    )
    for start in (2, 4):
        part = whole.reshape(-1)[start : start + 7]
        np.testing.assert_array_equal(later(a=part)[1][0], part)
        assert _quick(later, a=part) is not None


def test_several_outputs_come_in_their_order() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "p[i] = a[i] + 1\nq[i] = a[i] + 2")
    a, p = np.zeros(4), np.zeros(4)
    for _ in range(2):
        first, second = knl(a=a, p=p)[1]
        assert first is p
        np.testing.assert_array_equal(second, 2)
        np.testing.assert_array_equal(knl(a=a)[1], [[1] * 4, [2] * 4])
    assert _quick(knl, a=a, p=p)[1][0] is p


def test_names_that_are_not_interned() -> None:
    knl, arrays = _add(), {f"{'ab'[k]}": np.ones(3) for k in range(2)}
    built: dict[str, Any] = {"".join(["o", "ut"]): np.zeros(3), **arrays}
    knl(**built)
    again: dict[str, Any] = {"".join(["o", "ut"]): np.zeros(3), **arrays}
    assert _quick(knl, **again) is not None


def test_in_either_order() -> None:
    knl, a, b = _add(), np.arange(3.0), np.ones(3)
    for _ in range(2):
        np.testing.assert_array_equal(knl(a=a, b=b)[1][0], [1, 2, 3])
        np.testing.assert_array_equal(knl(b=b, a=a)[1][0], [1, 2, 3])


def test_more_kinds_of_calls_than_are_kept() -> None:
    knl = _add()
    for _ in range(3):
        for size in range(20):
            a = np.arange(float(size))
            np.testing.assert_array_equal(knl(a=a, b=a)[1][0], 2 * a)
    assert len(knl._executor._quick) == 8


# --- what it leaves to the wrapper


def test_another_type_or_byte_order_is_another_variant() -> None:
    knl, a, b = _add(), np.arange(3.0), np.ones(3)
    knl(a=a, b=b)
    assert _quick(knl, a=a.astype(np.float32), b=b) is None
    assert knl(a=a.astype(np.float32), b=b.astype(np.float32))[1][0].dtype == np.float32
    swapped = a.astype(a.dtype.newbyteorder())
    assert _quick(knl, a=swapped, b=b) is None
    with pytest.raises(WrongArgumentType):
        knl(a=swapped, b=b)


def test_classes_of_the_users_own() -> None:
    class Own(np.ndarray[Any, Any]):
        pass

    knl, a = _add(), np.arange(3.0)
    knl(a=a, b=a)
    own = a.view(Own)
    assert _quick(knl, a=own, b=a) is None
    np.testing.assert_array_equal(knl(a=own, b=a)[1][0], 2 * a)


def test_what_is_read_only_is_refused() -> None:
    knl, a, out = _add(), np.arange(3.0), np.zeros(3)
    knl(a=a, b=a, out=out)
    out.flags.writeable = False
    assert _quick(knl, a=a, b=a, out=out) is None
    with pytest.raises(ReadOnlyOutput, match="'out'"):
        knl(a=a, b=a, out=out)
    a.flags.writeable = False
    assert knl(a=a, b=a)[1][0].tolist() == [0, 2, 4]


def test_overlaps_are_refused() -> None:
    knl, memory = _add(), np.zeros(30)
    a, b, out = memory[:10], memory[10:20], memory[20:]
    knl(a=a, b=b, out=out)
    for begin in (0, 1, 9, 11, 19):
        other = memory[begin : begin + 10]
        assert _quick(knl, a=a, b=b, out=other) is None
        with pytest.raises(OverlappingArguments):
            knl(a=a, b=b, out=other)
    assert _quick(knl, a=a, b=a, out=b) is not None


def test_addresses_that_are_not_aligned_are_refused() -> None:
    knl, memory = _add(), np.zeros(100, np.uint8)
    a, out = memory[:24].view(np.float64), memory[32:56].view(np.float64)
    knl(a=a, b=a, out=out)
    odd = memory[57:81].view(np.float64)
    assert _quick(knl, a=a, b=a, out=odd) is None
    with pytest.raises(MisalignedArray):
        knl(a=a, b=a, out=odd)


@pytest.mark.parametrize(
    ("dtype", "value"), [("float16", 1.5), ("complex64", 2 + 1j), ("bool", True)]
)
def test_scalars_of_other_types_go_through_the_wrapper(dtype: str, value: Any) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = s",
        [pg.ValueArg("s", dtype), pg.GlobalArg("out", dtype), "..."],
    )
    for _ in range(2):
        out = np.zeros(3, dtype)
        knl(s=value, out=out)
        np.testing.assert_array_equal(out, np.full(3, value, dtype))
    assert not knl._executor._quick


def test_dictionaries_of_outputs() -> None:
    knl, a = _add(return_dict=True), np.ones(3)
    for _ in range(2):
        assert knl(a=a, b=a)[1]["out"].tolist() == [2, 2, 2]
    assert not knl._executor._quick


def test_none_is_for_what_is_new() -> None:
    knl, a = _add(), np.ones(3)
    for _ in range(2):
        assert knl(a=a, b=a, out=None)[1][0].tolist() == [2, 2, 2]


def test_profiles_see_every_call() -> None:
    knl, a = _add(), np.ones(3)
    knl(a=a, b=a)
    with pg.profile() as profile:
        for _ in range(3):
            knl(a=a, b=a)
    assert [row.launches for row in profile.table().rows] == [3]


def test_without_the_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_calls, "_helper", lambda: None)
    knl, a = _add(), np.arange(3.0)
    for _ in range(2):
        assert knl(a=a, b=a)[1][0].tolist() == [0, 2, 4]
    assert not knl._executor._quick


def test_nothing_is_kept_without_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    knl, a = _add(), np.arange(3.0)
    assert knl(a=a, b=a)[1][0].tolist() == [0, 2, 4]
    assert not knl._executor._quick


# --- memory


def test_references_are_given_back() -> None:
    knl, a, out = _add(), np.arange(3.0), np.zeros(3)
    knl(a=a, b=a, out=out)
    quick = knl._executor._quick[0]
    event = quick({"a": a, "b": a, "out": out})[0]
    watched = (a, out, event, quick, a.dtype, np.ndarray)
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(1000):
        knl(a=a, b=a, out=out)
        knl(a=a, b=a)
        quick({"a": a, "b": out, "out": out})
    del knl
    after = [sys.getrefcount(each) for each in watched]
    grown = [late - early for early, late in zip(before, after, strict=True)]
    assert max(grown) < 100, grown


def test_temporaries_of_threads_are_their_own() -> None:
    u = pg.TemporaryVariable("u", shape="n", address_space=pg.AddressSpace.GLOBAL)
    text = "u[i] = a[i]  {id=u}\nout[j] = u[n - 1 - j]  {dep=u}"
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", text, [u, "..."])
    size, wrong = 20_000, []

    def work(value: float) -> None:
        a = np.arange(size) + value
        for _ in range(30):
            out = knl(a=a)[1][0]
            if not np.array_equal(out, a[::-1]):
                wrong.append(value)

    knl(a=np.arange(size) + 0.0)
    assert _quick(knl, a=np.arange(size) + 0.0) is not None
    threads = [threading.Thread(target=work, args=(value,)) for value in (0.0, 0.5, 0.25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_errors_of_allocation_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Any:
        raise MemoryError("no more")

    monkeypatch.setattr(
        "polygen.runtime.backends.c.c_backend.allocator", lambda *_: fails, raising=True
    )
    knl, a = _add(), np.ones(3)
    for _ in range(2):
        with pytest.raises(OutOfMemory, match="no more"):
            knl(a=a, b=a)
