"""Lazy calls: who makes them run, what else waits, and the traps of fusing calls."""

# What annotations of views and accumulators mean, polygen knows.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: no-warn-unused-ignores
# mypy: disable-error-code="call-overload,type-var,union-attr,index,misc,type-arg,valid-type"

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.workunits as pk
from polygen.errors import RaceFound, WorkUnitRefused
from polygen.ir.traced_calls import WAITING
from polygen.lazy.report import ACCOUNT

N = 16


@pk.workunit
def copied(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i] = x[i]


@pk.workunit
def doubled(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i] = 2.0 * x[i]


@pk.workunit
def filled(i: int, x: pk.View1D[pk.double], value: float):
    x[i] = value


@pk.workunit
def first_is_nine(i: int, x: pk.View1D[pk.double]):
    if i == 0:
        x[0] = 9.0


@pk.workunit
def dot(i: int, acc: pk.Acc[pk.double], x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    acc += x[i] * y[i]


@pk.workunit
def added(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], s: float):
    y[i] += s * x[i]


@pk.workunit
def racing(i: int, x: pk.View1D[pk.double]):
    x[i + 1] = x[i]


@pk.workunit
def sorting(i: int, x: pk.View1D[pk.double]):
    x[i] = sorted(x)[0]


def view(values: Any) -> pk.View:
    return pk.View(array=np.array(values, float))


def ramp() -> pk.View:
    return view(np.arange(N))


# --- the traps


def test_an_argument_that_is_written_afterwards() -> None:
    """`b` has what `a` was when the call was made."""
    a, b = view([1, 1, 1, 1]), view([0, 0, 0, 0])
    with pk.lazy():
        pk.parallel_for(4, copied, x=a, y=b)
        a.fill(7)
        assert list(a) == [7, 7, 7, 7]
        assert list(b) == [1, 1, 1, 1]


def test_a_part_that_is_written_after_the_whole() -> None:
    a = view(np.zeros(4))
    with pk.lazy():
        pk.parallel_for(4, filled, x=a, value=1.0)
        pk.parallel_for(4, first_is_nine, x=a)
        assert list(a) == [9, 1, 1, 1]


def test_parts_of_one_array() -> None:
    v = ramp()
    with pk.lazy():
        x, y = v[0:4], v[1:5]
        pk.parallel_for(4, filled, x=x, value=-1.0)
        pk.parallel_for(4, doubled, x=v[8:12], y=y)
        pk.parallel_for(2, copied, x=y[0:2], y=v[12:14])
        assert list(v) == [-1, 16, 18, 20, 22, 5, 6, 7, 8, 9, 10, 11, 16, 18, 14, 15]


def test_memory_that_is_freed_and_used_again() -> None:
    """Views that are gone keep their memory until their calls ran."""
    results = []
    with pk.lazy():
        total = view(np.zeros(N))
        for k in range(40):
            part = view(np.full(N, float(k)))
            pk.parallel_for(N, added, x=part, y=total, s=1.0)
            del part
        results.append(total[3])
    assert results == [sum(range(40))]


def test_merged_subscripts() -> None:
    """Elements at the other end are other elements, whatever the text says."""
    v, w = ramp(), view(np.zeros(N))
    with pk.lazy():
        pk.parallel_for(N, mirrored, x=v, y=w, n=N)
        pk.parallel_for(N, mirrored, x=w, y=v, n=N)
        np.testing.assert_array_equal(v, np.arange(N))
        np.testing.assert_array_equal(w, np.arange(N)[::-1])


@pk.workunit
def mirrored(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], n: int):
    y[i] = x[n - 1 - i]


# --- what runs, and what waits


def test_a_read_runs_what_it_needs_and_nothing_else() -> None:
    a, b, c, d = ramp(), ramp(), ramp(), ramp()
    with pk.lazy():
        pk.parallel_for(N, doubled, x=a, y=b)
        pk.parallel_for(N, doubled, x=c, y=d)
        pk.parallel_for(N, doubled, x=b, y=c)  # after the second one, which reads `c`
        assert len(WAITING) == 3
        assert b[1] == 2
        assert len(WAITING) == 2
        assert c[1] == 4
        assert not WAITING
        assert d[1] == 2


def test_a_write_runs_what_reads_or_writes() -> None:
    a, b, c = ramp(), ramp(), ramp()
    with pk.lazy():
        pk.parallel_for(N, doubled, x=a, y=b)
        pk.parallel_for(N, filled, x=c, value=3.0)
        a[0] = 50.0
        assert len(WAITING) == 1
        assert b[0] == 0


@pytest.mark.parametrize("look", [float, str, repr, bool, int, np.asarray, lambda r: r > 3])
def test_whoever_looks_at_a_number(look: Any) -> None:
    a = ramp()
    with pk.lazy():
        found = pk.parallel_reduce(N, dot, x=a, y=a)
        assert len(WAITING) == 1
        assert look(found) == look(np.float64(np.arange(N) @ np.arange(N)))
        assert not WAITING


def test_numbers_are_passed_on_without_a_look() -> None:
    a, b = ramp(), ramp()
    with pk.lazy():
        found = pk.parallel_reduce(N, dot, x=a, y=a)
        pk.parallel_for(N, added, x=a, y=b, s=-(2 * found + 1) / 4)
        other = pk.parallel_reduce(N, dot, x=b, y=b)
        assert len(WAITING) == 3
        x = np.arange(N)
        y = x - x * (2 * (x @ x) + 1) / 4
        np.testing.assert_allclose(float(other), y @ y)
        np.testing.assert_allclose(float(found), x @ x)


def test_arrays_of_numpy_do_not_wait() -> None:
    """Nobody sees who reads them."""
    ACCOUNT.clear()
    a, b = np.arange(float(N)), ramp()
    with pk.lazy():
        pk.parallel_for(N, doubled, x=b, y=b[:])
        pk.parallel_for(N, doubled, x=b, y=a)
        assert a[1] == 4
        assert twice(a)[1] == 8
    assert "twice: at once" in pk.lazy_report()


@pg.jit
def twice(x):
    return 2 * x


@pg.jit
def total_of(x, y):
    x += y
    return x.sum()


def test_compiled_functions_wait() -> None:
    a = ramp()
    with pk.lazy():
        b = twice(a)
        total = total_of(b, a)
        assert len(WAITING) == 2
        a[0] = 9.0  # both had read it
        assert total == 3 * sum(range(N))
        np.testing.assert_array_equal(b, 3 * np.arange(N))


def test_kernels_wait() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 3*a[i]", target="c")
    knl = pg.add_dtypes(knl, {"a": "float64", "b": "float64"})
    a, b = ramp(), ramp()
    with pk.lazy():
        pk.parallel_for(N, filled, x=a, value=2.0)
        _, (out,) = knl(a=a, b=b)
        assert out is b
        assert len(WAITING) == 2
        assert b[5] == 6


def test_the_event_of_a_kernel_that_waits_runs_it() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 3*a[i]", target="c")
    knl = pg.add_dtypes(knl, {"a": "float64", "b": "float64"})
    a, b, c = ramp(), ramp(), ramp()
    with pk.lazy():
        event, _ = knl(a=a, b=b)
        assert len(WAITING) == 1
        event.wait()
        assert not WAITING
        event, _ = knl(a=b, b=c)
        knl(a=a, b=b, wait_for=[event])
        assert c[5] == 45
    assert b[5] == 15


def test_methods_have_what_the_object_stored_at_the_call() -> None:
    @pk.functor
    class Scale:
        def __init__(self) -> None:
            self.x, self.factor = ramp(), 2.0

        @pk.workunit
        def run(self, i: int):
            self.x[i] *= self.factor

    scale = Scale()
    with pk.lazy():
        pk.parallel_for(N, scale.run)
        scale.factor = 100.0
        assert scale.x[1] == 2


# --- what becomes one


def test_calls_are_one_kernel_and_dead_views_are_not_stored() -> None:
    ACCOUNT.clear()
    a, c = ramp(), view(np.zeros(N))
    with pk.lazy():
        b = view(np.zeros(N))
        pk.parallel_for(N, doubled, x=a, y=b)
        pk.parallel_for(N, doubled, x=b, y=c)
        del b
        assert c[3] == 12
    (group,) = ACCOUNT.groups
    ((step,),) = group.programs[0].steps.values()
    source = str(pg.generate_code(step.kernel).source)
    assert source.count("for (") == 1
    assert "double const unread" in source
    assert "2 calls:" in pk.lazy_report()
    assert "fused along" in pk.lazy_report()


def test_views_that_may_be_read_before_they_are_written_are_stored() -> None:
    a, c = ramp(), view(np.zeros(N))
    with pk.lazy():
        b = view(np.full(N, 5.0))
        pk.parallel_for(N, first_is_nine, x=b)
        pk.parallel_for(N, added, x=a, y=b, s=0.0)
        pk.parallel_for(N, copied, x=b, y=c)
        del b
        assert list(c[:3]) == [9, 5, 5]


def test_what_cannot_be_one_is_several() -> None:
    """What stays Python in a function runs between kernels."""
    a, b = ramp(), ramp()
    with pk.lazy():
        pk.parallel_for(N, doubled, x=a, y=b)
        found = in_python(b)
        pk.parallel_for(N, doubled, x=b, y=a)
        assert list(found) == [0, 30]
        assert a[1] == 4


@pg.jit
def in_python(x):
    y = np.array(sorted(x))
    return y[:: len(y) - 1]


# --- errors, threads, processes


@pytest.mark.parametrize(("unit", "kind"), [(racing, RaceFound), (sorting, WorkUnitRefused)])
def test_errors_come_at_the_look_with_the_line_of_the_call(unit: Any, kind: Any) -> None:
    a, b = ramp(), ramp()
    with pk.lazy():
        pk.parallel_for(N, doubled, x=a, y=b)
        pk.parallel_for(N - 1, unit, x=b)  # the call
        pk.parallel_for(N, doubled, x=b, y=a)
        with pytest.raises(kind, match=r"pk\.parallel_for\(N - 1, unit, x=b\)  # the call"):
            str(b)
        assert b[1] == 2  # the call before was executed
        assert a[1] == 4  # and the one behind, which waited


def test_other_threads_see_what_waits() -> None:
    a, b = ramp(), ramp()
    seen: list[float] = []
    with pk.lazy():
        pk.parallel_for(N, doubled, x=a, y=b)
        thread = threading.Thread(target=lambda: seen.append(float(b[1])))
        thread.start()
        thread.join()
    assert seen == [2]


def test_threads_that_all_trace() -> None:
    results: dict[int, float] = {}

    def work(k: int) -> None:
        x, y = view(np.full(N, float(k))), view(np.zeros(N))
        with pk.lazy():
            for _ in range(20):
                pk.parallel_for(N, added, x=x, y=y, s=1.0)
            results[k] = float(pk.parallel_reduce(N, dot, x=y, y=y))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert results == {k: N * (20.0 * k) ** 2 for k in range(4)}


PROGRAM = """
import numpy as np
import polygen.workunits as pk
from polygen.ir.traced_calls import WAITING

@pk.workunit
def doubled(i: int, x: pk.View1D[pk.double]):
    x[i] *= 2.0

data = np.arange(4.0)
x = pk.View(array=data)
pk.parallel_for(4, doubled, x=x)
print(len(WAITING), data[1])
import atexit
"""


def test_the_environment_says_so(tmp_path: Any) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    given = {**os.environ, "POLYGEN_LAZY": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(file)], env=given, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("1 1.0\n", "")
