"""Arrays for what is written, passed as ``out=``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, UnknownArgument, WrongArgumentType, WrongShape


@pytest.fixture(scope="module")
def one() -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")


@pytest.fixture(scope="module")
def two() -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "c[i] = a[i] - 1\nb[i] = a[i] + 1")


def test_one_array(one: pg.Kernel, numbers: Any, target: str) -> None:
    run = one.executor(target)
    for out in (np.zeros(10, np.float32), [np.zeros(10, np.float32)]):
        (array,) = out if isinstance(out, list) else (out,)
        for _ in range(2):
            array[:] = 0
            _, (found,) = run(a=numbers, out=out)
            assert found is array
            np.testing.assert_array_equal(array, 2 * numbers)
    _, (found,) = run(a=numbers, out=None)
    np.testing.assert_array_equal(found, 2 * numbers)


def test_several_arrays(two: pg.Kernel, numbers: Any) -> None:
    b, c = np.zeros(10, np.float32), np.zeros(10, np.float32)
    _, written = two(a=numbers, out=(b, c))
    assert written[0] is b
    assert written[1] is c
    np.testing.assert_array_equal(c, numbers - 1)
    np.testing.assert_array_equal(b, numbers + 1)
    _, (new, same) = two(a=-numbers, out=(None, c))
    assert same is c
    np.testing.assert_array_equal(new, 1 - numbers)
    np.testing.assert_array_equal(c, -numbers - 1)
    _, by_name = pg.set_options(two, return_dict=True)(a=numbers, out=[b, None])
    assert by_name["b"] is b
    two(a=numbers, out=(b, c), check_assumptions=True)


def test_an_argument_of_that_name_is_that_argument(numbers: Any) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = out[i] + 1")
    _, (found,) = knl(out=numbers)
    np.testing.assert_array_equal(found, numbers + 1)


def test_what_is_wrong(one: pg.Kernel, two: pg.Kernel, numbers: Any) -> None:
    b = np.zeros(10, np.float32)
    with pytest.raises(WrongArgumentType, match=r"for 1 arrays, and writes 2: b, c"):
        two(a=numbers, out=b)
    with pytest.raises(WrongArgumentType, match=r"for 2 arrays, and writes 1: b"):
        one(a=numbers, out=(b, b))
    with pytest.raises(
        InvalidArgument, match=r"two arrays for 'b': as out=\.\.\., and by its name"
    ):
        one(a=numbers, b=b, out=b)
    with pytest.raises(WrongShape, match="'b'"):
        one(a=numbers, n=10, out=b.reshape(2, 5))
    with pytest.raises(UnknownArgument, match="has no argument 'outs'"):
        one(a=numbers, outs=b)


# --- where results are


def test_results_on_the_host(one: pg.Kernel, numbers: Any, target: str) -> None:
    run = one.executor(target)
    for where in (True, False, None):
        _, (found,) = run(a=numbers, b=(out := np.zeros_like(numbers)), out_host=where)
        assert found is out
        np.testing.assert_array_equal(found, 2 * numbers)
    _, (found,) = run(a=numbers, out_host=True)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, 2 * numbers)


@pytest.mark.parametrize("by_name", [False, True])
def test_results_of_pyopencl(two: pg.Kernel, numbers: Any, by_name: bool) -> None:
    pyopencl = pytest.importorskip("pyopencl")
    array = pytest.importorskip("pyopencl.array")
    queue = pyopencl.CommandQueue(pyopencl.create_some_context(interactive=False))
    run = pg.set_options(two, return_dict=by_name)

    def results(**given: Any) -> tuple[Any, Any]:
        _, found = run(queue, **given)
        return (found["b"], found["c"]) if by_name else found

    on_device = array.to_device(queue, numbers)
    for a in (numbers, on_device):
        b, c = results(a=a, out_host=True)
        assert isinstance(b, np.ndarray)
        np.testing.assert_array_equal(b, numbers + 1)
        np.testing.assert_array_equal(c, numbers - 1)
        b, c = results(a=a, out_host=False)
        assert isinstance(b, array.Array)
        np.testing.assert_array_equal(b.get(), numbers + 1)
    c = np.zeros_like(numbers)
    b, found = results(a=numbers, c=c, out_host=False)
    assert isinstance(b, array.Array)
    assert found is c
    np.testing.assert_array_equal(c, numbers - 1)
    no_input = pg.make_kernel("{ [i]: 0<=i<8 }", "b[i] = 2*i")
    assert isinstance(no_input(queue, out_host=True)[1][0], np.ndarray)
    assert isinstance(no_input.executor("opencl")(out_host=False)[1][0], array.Array)


def test_an_argument_of_the_name_out_host(numbers: Any) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = out_host*a[i]")
    np.testing.assert_array_equal(knl(a=numbers, out_host=3)[1][0], 3 * numbers)


def test_other_places(one: pg.Kernel, numbers: Any) -> None:
    with pytest.raises(WrongArgumentType, match="was called with out_host='yes'"):
        one(a=numbers, out_host="yes")
