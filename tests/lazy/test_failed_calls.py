"""Calls that wait and fail: the error, the line of the call, what ran before and what still waits.

Each is compared with the same calls that run at once.
"""

# What annotations of views and accumulators mean, polygen knows.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: no-warn-unused-ignores
# mypy: disable-error-code="call-overload,type-var,union-attr,index,misc,type-arg,valid-type"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.workunits as pk
from polygen.errors import RaceFound, SizeMismatch, SubscriptOutOfBounds, WorkUnitRefused
from polygen.ir.traced_calls import WAITING

N = 8


@pk.workunit
def doubled(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i] = 2.0 * x[i]


@pk.workunit
def dot(i: int, acc: pk.Acc[pk.double], x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    acc += x[i] * y[i]


@pk.workunit
def added(i: int, x: pk.View1D[pk.double], s: float):
    x[i] += s


@pk.workunit
def shifted(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], k: int):
    y[i] = x[i + k] + 1.0


@pk.workunit
def gathered(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], at: pk.View1D[pk.int64]):
    y[i] = x[at[i]]


@pk.workunit
def computed_place(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i] = x[int(x[i])]


@pk.workunit
def divided(i: int, y: pk.View1D[pk.double], k: int):
    y[i] += 7 // k


@pk.workunit
def racing(i: int, y: pk.View1D[pk.double]):
    y[i + 1] = y[i]


@pk.workunit
def sorting(i: int, y: pk.View1D[pk.double]):
    y[i] = sorted(y)[0]


@pg.jit
def jitted_shift(x, y, k):
    for i in range(len(x)):
        y[i] = x[i + k]


@pg.jit
def jitted_parts(y, k):
    for i in range(len(y) // k):
        y[i] += 1


@pg.jit
def jitted_raise(y):
    for i in range(len(y)):
        if y[i] > 5:
            raise ValueError("too large")
        y[i] += 1


@pg.jit
def jitted_tail(y, k):
    y += 1
    return [1 // k]


TRIPLED = pg.add_dtypes(
    pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 3*a[i]", target="c"),
    {"a": "float64", "b": "float64"},
)


class Views:
    """What calls work on: `x` is 0, 1, ..., the others begin with zeros."""

    def __init__(self) -> None:
        self.x = pk.View(array=np.arange(float(N)))
        self.y, self.z, self.other = (pk.View(array=np.zeros(N)) for _ in range(3))
        self.short = pk.View(array=np.zeros(3))
        self.at = pk.View(array=np.array([0, 1, 2, 3, 4, 5, 6, N + 3]))


# Of each call that fails: its class of error, and whether calls behind it share its kernel.
FAILING: dict[str, tuple[Callable[[Views], Any], type[Exception], bool]] = {
    "shifted": (
        lambda v: pk.parallel_for(N, shifted, x=v.y, y=v.z, k=3), SubscriptOutOfBounds, True
    ),
    "too_long": (
        lambda v: pk.parallel_for(N + 2, doubled, x=v.y, y=v.z), SubscriptOutOfBounds, False
    ),
    "gathered": (
        lambda v: pk.parallel_for(N, gathered, x=v.y, y=v.z, at=v.at), SubscriptOutOfBounds, False
    ),
    "computed_place": (
        lambda v: pk.parallel_for(N, computed_place, x=v.y, y=v.z), SubscriptOutOfBounds, True
    ),
    "divided": (lambda v: pk.parallel_for(N, divided, y=v.y, k=0), ZeroDivisionError, True),
    "racing": (lambda v: pk.parallel_for(N - 1, racing, y=v.y), RaceFound, False),
    "sorting": (lambda v: pk.parallel_for(N, sorting, y=v.y), WorkUnitRefused, False),
    "jitted_shift": (lambda v: jitted_shift(v.y, v.z, 3), IndexError, True),
    "jitted_parts": (lambda v: jitted_parts(v.y, 0), ZeroDivisionError, True),
    "jitted_raise": (lambda v: jitted_raise(v.y), ValueError, False),
    "jitted_tail": (lambda v: jitted_tail(v.y, 0), ZeroDivisionError, True),
    "kernel": (lambda v: TRIPLED(a=v.y, b=v.short), SizeMismatch, False),
}  # fmt: skip


def text_of(error: BaseException) -> str:
    """Return what is shown of an error."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def failed_at_once(call: Callable[[Views], Any]) -> tuple[Exception, Views, float]:
    """Make a call that fails behind others, at once."""
    views = Views()
    pk.parallel_for(N, doubled, x=views.x, y=views.y)
    before = pk.parallel_reduce(N, dot, x=views.y, y=views.x)
    try:
        call(views)
    except Exception as error:  # the class is what is asked
        return error, views, before
    raise AssertionError("it did not fail")


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("repeated", [False, True])
def test_a_call_that_fails_among_others(name: str, *, repeated: bool) -> None:
    call, kind, is_fused = FAILING[name]
    if repeated:
        failed_at_once(call)
    error, expected, number = failed_at_once(call)
    assert type(error) is kind
    views = Views()
    with pk.lazy():
        pk.parallel_for(N, doubled, x=views.x, y=views.y)
        before = pk.parallel_reduce(N, dot, x=views.y, y=views.x)
        call(views)
        pk.parallel_for(N, doubled, x=views.y, y=views.other)
        behind = pk.parallel_reduce(N, dot, x=views.x, y=views.x)
        with pytest.raises(kind) as caught:
            pk.fence()
        assert type(caught.value) is kind
        assert str(caught.value).splitlines()[0] == str(error).splitlines()[0]
        assert __file__ in text_of(caught.value)
        assert f":{call.__code__.co_firstlineno}" in text_of(caught.value)  # the line of the call
        assert bool(WAITING) is not is_fused
        np.testing.assert_array_equal(views.y, expected.y)
        assert float(before) == number
        if is_fused:
            with pytest.raises(kind):
                float(behind)
        else:
            assert float(behind) == np.arange(N) @ np.arange(N)
            np.testing.assert_array_equal(views.other, 2 * np.asarray(views.y))
    assert not WAITING


def test_a_number_of_a_call_that_failed_raises_again_wherever_it_goes() -> None:
    views = Views()
    with pk.lazy():
        lost = pk.parallel_reduce(N + 2, dot, x=views.x, y=views.x)
        for _ in range(2):
            with pytest.raises(SubscriptOutOfBounds, match=r"index 8 .* i=8 of 'dot'"):
                float(lost)
        pk.parallel_for(N, doubled, x=views.x, y=views.z)
        pk.parallel_for(N, added, x=views.y, s=2 * lost)
        pk.parallel_for(N, added, x=views.other, s=1.0)
        with pytest.raises(SubscriptOutOfBounds, match=r"index 8 .* i=8 of 'dot'"):
            pk.fence()
        assert views.z[1] == 2
        assert len(WAITING) == 1
        assert views.other[0] == 1
        assert views.y[0] == 0


def test_a_refusal_speaks_of_the_users_names() -> None:
    views = Views()
    with pk.lazy():
        pk.parallel_for(N - 1, racing, y=views.y)
        with pytest.raises(RaceFound, match=r"the policy's end=\d+, iteration .* 'y'") as caught:
            pk.fence()
    assert "x0" not in str(caught.value)
    assert "n0" not in str(caught.value)


def test_what_a_later_call_overwrote_is_not_searched_for_the_iteration() -> None:
    """The places are others when it is asked which one was outside."""
    views = Views()
    with pk.lazy():
        pk.parallel_for(N, doubled, x=views.x, y=views.y)
        pk.parallel_for(N, computed_place, x=views.y, y=views.z)
        pk.parallel_for(N, added, x=views.y, s=-100.0)
        with pytest.raises(SubscriptOutOfBounds, match="'computed_place'") as caught:
            pk.fence()
    assert "i=" not in str(caught.value)
    assert "y[i] = x[int(x[i])]" in str(caught.value)
