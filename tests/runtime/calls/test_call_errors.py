"""What a call can get wrong: the class of each error, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.runtime.backends.opencl.opencl_driver import pyopencl

_Call = Callable[..., Any]


def array_arg(name: str, *shape: Any, **more: Any) -> pg.GlobalArg:
    """Return an array argument of this shape."""
    return pg.GlobalArg(name, shape=shape, **more)


@pytest.fixture
def axpy(target: str) -> _Call:
    """``out[i] = alpha*x[i] + y[i]``, with types left open, on each target."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = alpha*x[i] + y[i]")
    call: _Call = knl.executor(target)
    return call


def _ones(*shape: int, dtype: Any = np.float64) -> Any:
    return np.ones(shape, dtype)


def _says(error: pytest.ExceptionInfo[errors.UserError], *texts: str) -> None:
    shown = str(error.value)
    for text in texts:
        assert re.search(text, shown), shown
    # The place is the user's: this file.
    assert "test_call_errors.py:" in shown


def test_missing_array(axpy: _Call) -> None:
    with pytest.raises(errors.MissingArgument) as error:
        axpy(x=_ones(3), alpha=1.0)
    _says(error, "called without 'y'", "pass y=")


def test_missing_scalar(axpy: _Call) -> None:
    with pytest.raises(errors.MissingArgument) as error:
        axpy(x=_ones(3), y=_ones(3))
    _says(error, "called without 'alpha'")


def test_missing_size(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = i")
    with pytest.raises(errors.MissingArgument) as error:
        knl.executor(target)()
    _says(error, "a value of 'n'", "pass n=")


def test_array_that_is_read_before_it_is_written(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = a[i] + 1")
    with pytest.raises(errors.MissingArgument) as error:
        knl.executor(target)(n=3)
    _says(error, "called without 'a'")


def test_unknown_argument(axpy: _Call) -> None:
    with pytest.raises(errors.UnknownArgument) as error:
        axpy(x=_ones(3), y=_ones(3), alhpa=1.0)
    _says(error, "no argument 'alhpa'", "did you mean 'alpha'")


def test_wrong_dtype(target: str) -> None:
    knl = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]"), {"a": np.float32})
    with pytest.raises(errors.WrongArgumentType) as error:
        knl.executor(target)(a=_ones(3))
    _says(error, "'a' is an array of float64", "has it as float32", r"a\.astype\(np\.float32\)")


def test_wrong_dtype_of_an_output(axpy: _Call, target: str) -> None:
    knl = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]"), {"out": np.float32})
    with pytest.raises(errors.WrongArgumentType) as error:
        knl.executor(target)(a=_ones(3), out=_ones(3))
    _says(error, "'out' is an array of float64")


@pytest.mark.parametrize(
    "value, text",
    [
        ([1.0, 2.0], r"it is a list[\s\S]*np\.array\(x"),
        ((1.0,), "it is a tuple"),
        (3, "the number 3"),
        (np.float32(3), "the number 3.0"),
        ("text", "of type str"),
        (np.array(["a"]), "an array of <U1"),
        (np.array([None]), "an array of object"),
        (np.ones(3, np.longdouble)[:0].astype("M8[s]"), "an array of datetime64"),
        (np.ma.masked_array([1.0], [True]), "masked array"),
    ],
)
def test_no_array(axpy: _Call, value: Any, text: str) -> None:
    with pytest.raises(errors.WrongArgumentType) as error:
        axpy(x=value, y=_ones(1), alpha=1.0)
    _says(error, text, "'x'")


@pytest.mark.parametrize(
    "value, text",
    [
        (_ones(1), r"of type ndarray[\s\S]*array\.item\(\)"),
        ("1.0", "of type str"),
        ([1.0], "of type list"),
    ],
)
def test_no_number(axpy: _Call, value: Any, text: str) -> None:
    with pytest.raises(errors.WrongArgumentType) as error:
        axpy(x=_ones(1), y=_ones(1), alpha=value)
    _says(error, "'alpha' has to be a number", text)


def test_number_of_another_kind(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = a[i] + k", [pg.ValueArg("k", np.dtype("i4")), "..."]
    )
    with pytest.raises(errors.WrongArgumentType) as error:
        knl.executor(target)(a=_ones(3), k=1.5)
    _says(error, "'k' has to be of type int32; it is of type float")


def test_byte_order(axpy: _Call) -> None:
    with pytest.raises(errors.WrongByteOrder) as error:
        axpy(x=_ones(3).astype(">f8"), y=_ones(3), alpha=1.0)
    _says(error, "'x' is of type >f8", "newbyteorder")


def test_number_of_axes(axpy: _Call) -> None:
    with pytest.raises(errors.WrongShape) as error:
        axpy(x=_ones(3, 4), y=_ones(3), alpha=1.0)
    _says(error, r"'x' has shape \(3, 4\): 2 axes", r"has 1: \(n\)")


def test_constant_extent(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "out[i] = a[i]", [array_arg("a", 4), "..."])
    with pytest.raises(errors.WrongShape) as error:
        knl.executor(target)(a=_ones(5))
    _says(error, r"the shape \(5,\); it has to be \(4,\)")


def test_extent_without_a_solution(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[2*i]", [array_arg("a", "2*n"), "..."])
    with pytest.raises(errors.WrongShape) as error:
        knl.executor(target)(a=_ones(5))
    _says(error, r"no integer 'n' makes 2\*n equal to 5")


def test_square(target: str) -> None:
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<n }", "out[i] = sum(j, a[i, j])")
    with pytest.raises(errors.WrongShape) as error:
        knl.executor(target)(a=_ones(3, 4))
    _says(error, r"'a' has the shape \(3, 4\); it has to be \(3, 3\)")


def test_sizes_that_disagree(axpy: _Call) -> None:
    with pytest.raises(errors.SizeMismatch) as error:
        axpy(x=_ones(3), y=_ones(4), alpha=1.0)
    _says(
        error,
        r"'y' has the shape \(4,\); it has to be \(3,\) = \(n\)",
        r"n = 3 follows from the shape of 'x', \(n\) = \(3,\)",
    )


def test_size_that_was_passed_disagrees(axpy: _Call) -> None:
    with pytest.raises(errors.SizeMismatch) as error:
        axpy(x=_ones(3), y=_ones(3), alpha=1.0, n=4)
    _says(error, r"'x' has the shape \(3,\); it has to be \(4,\)", "n = 4 was passed")


@pytest.mark.parametrize("value", [3.0, np.float64(3), True, "3"])
def test_size_that_is_no_integer(axpy: _Call, value: Any) -> None:
    with pytest.raises(errors.WrongArgumentType) as error:
        axpy(x=_ones(3), y=_ones(3), alpha=1.0, n=value)
    _says(error, "'n' has to be")


def test_value_that_does_not_fit(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = a[i] + k", [pg.ValueArg("k", np.dtype("i1")), "..."]
    )
    for value in (128, np.int64(-129)):
        with pytest.raises(errors.ValueDoesNotFit) as error:
            knl.executor(target)(a=_ones(3), k=value)
        _says(error, f"'k' is {int(value)}, which int8 cannot hold", "from -128 to 127")
    count = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = i", [pg.ValueArg("n", np.dtype("i4")), "..."]
    )
    with pytest.raises(errors.ValueDoesNotFit):
        count.executor(target)(n=2**31)
    with pytest.raises(errors.ValueDoesNotFit):
        pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = i").executor(target)(n=2**63)


def test_negative_size(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = i")
    with pytest.raises(errors.NegativeSize) as error:
        knl.executor(target)(n=-1)
    _says(error, r"'out' .* would get the shape \(-1,\) = \(n\)")


def test_a_negative_extent_is_refused_where_something_is_executed(target: str) -> None:
    out = pg.GlobalArg("out", shape="n-5")
    knl = pg.make_kernel("{ [i]: 0<=i<1 and n<=3 }", "out[i] = 1", [out, "..."])
    with pytest.raises(errors.NegativeSize) as error:
        knl.executor(target)(n=1)
    _says(error, r"'out' .* would get the shape \(-4,\) = \(n - 5\)")
    with pytest.raises(errors.SizeMismatch):
        knl.executor(target)(n=1, out=np.zeros(0, np.int64))


def test_arrays_of_nothing_are_empty(target: str) -> None:
    strided = pg.make_kernel("{ [i]: 0<=i<n and i%4=1 }", "out[i] = 3")
    assert strided.executor(target)(n=0)[1][0].shape == (0,)
    difference = pg.make_kernel(
        "{ [i]: 0<=i<n-1 }", "out[i] = a[i+1] - a[i]", [pg.GlobalArg("a", shape="n"), "..."]
    )
    split = pg.split_iname(difference, "i", 4, outer_tag="g.0", inner_tag="l.0")
    for knl in (difference, split):
        run = knl.executor(target)
        assert run(a=_ones(0))[1][0].shape == (0,)
        assert run(a=_ones(0), out=_ones(0))[1][0].shape == (0,)
        assert np.array_equal(run(a=_ones(3))[1][0], [0, 0])


def test_assumptions(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = a[i]", assumptions="n mod 4 = 0 and n >= 0"
    ).executor(target)
    knl(a=_ones(8))
    with pytest.raises(errors.AssumptionViolated) as error:
        knl(a=_ones(6))
    _says(error, "do not hold for n = 6", "mod 4")


def test_read_only_output(double: pg.Kernel, target: str, numbers: Any) -> None:
    out = np.zeros(10, np.float32)
    knl = double.executor(target)
    knl(a=numbers, out=out)
    out.flags.writeable = False
    with pytest.raises(errors.ReadOnlyOutput) as error:
        knl(a=numbers, out=out)
    _says(error, "'out' is written")
    # What is only read may be read-only.
    np.testing.assert_array_equal(knl(a=out)[1][0], 2 * out)


def test_overlap(double: pg.Kernel, target: str) -> None:
    knl = double.executor(target)
    memory = np.zeros(40, np.float32)
    for a, out in (
        (memory[:10], memory[:10]),
        (memory[:10], memory[9:19]),
        (memory[::2], memory[20:40]),
        (memory[:10], memory[9::-1]),
    ):
        with pytest.raises(errors.OverlappingArguments) as error:
            knl(a=a, out=out)
        _says(error, "'out' and 'a' overlap", "copy")
    knl(a=memory[:10], out=memory[10:20])
    # Interleaved, but apart.
    knl(a=memory[::2], out=memory[1::2])


def test_overlap_is_seen_in_every_call(double: pg.Kernel, target: str) -> None:
    knl = double.executor(target)
    memory = np.zeros(20, np.float32)
    knl(a=memory[:10], out=memory[10:])
    with pytest.raises(errors.OverlappingArguments):
        knl(a=memory[:10], out=memory[5:15])


def test_overlap_on_the_device(double: pg.Kernel, queue: Any) -> None:
    cl = pyopencl()
    memory = cl.array.zeros(queue, 1024, np.float32)
    with pytest.raises(errors.OverlappingArguments):
        double(queue, a=memory[:10], out=memory[5:15])
    double(queue, a=memory[:10], out=memory[10:20])
    double(queue, a=memory[::2], out=memory[1::2])
    # Parts of one buffer are other objects.
    part = cl.array.Array(
        queue, (10,), np.float32, data=memory.base_data.get_sub_region(0, 40), offset=0
    )
    with pytest.raises(errors.OverlappingArguments):
        double(queue, a=part, out=memory[5:15])
    double(queue, a=part, out=memory[10:20])


def test_aliases_on_the_device() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = 2*a[i]",
        [array_arg("a", "n", may_alias=True), "..."],
    )
    a = np.arange(6.0)
    with pytest.raises(errors.OverlappingArguments) as error:
        knl.executor("opencl")(a=a, out=a)
    _says(error, "on a device, NumPy arrays that overlap would not")


def test_strides_between_elements(axpy: _Call) -> None:
    records = np.zeros(4, np.dtype([("x", "f8"), ("tag", "i4")]))
    with pytest.raises(errors.WrongStrides) as error:
        axpy(x=records["x"], y=_ones(4), alpha=1.0)
    _says(error, r"strides of \(12,\) bytes", "copy")


def test_misaligned() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]").executor("c")
    a = np.frombuffer(bytes(81), np.uint8)[1:].view(np.float64)
    with pytest.raises(errors.MisalignedArray) as error:
        knl(a=a)
    _says(error, "copy")


def test_declared_strides(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i]",
        [array_arg("a", "n", strides=(2,)), "..."],
    )
    np.testing.assert_array_equal(knl.executor(target)(a=np.arange(8.0)[::2])[1][0], [0, 2, 4, 6])
    with pytest.raises(errors.WrongStrides) as error:
        knl.executor(target)(a=_ones(8))
    _says(error, r"the strides, in elements, \(1,\); it has to be \(2,\)")


# --- places


def test_wrong_queue(double: pg.Kernel, numbers: Any) -> None:
    with pytest.raises(errors.WrongArgumentType) as error:
        double(numbers)
    _says(error, "for a queue")


def test_wrong_queue_after_a_right_one(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    a = pyopencl().array.to_device(queue, numbers)
    double(queue, a=a)
    with pytest.raises(errors.WrongArgumentType) as error:
        double("queue", a=a[:5])
    _says(error, "'queue' for a queue")


def test_device_array_for_c(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    a = pyopencl().array.to_device(queue, numbers)
    with pytest.raises(errors.WrongDevice) as error:
        double.executor("c")(a=a)
    _says(error, "runs in C here", "the array 'a'")
    with pytest.raises(errors.WrongDevice):
        double.executor("c")(queue, a=numbers)


def test_kernel_with_another_target(queue: Any, numbers: Any) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]", target="c")
    with pytest.raises(errors.WrongDevice) as error:
        knl.executor("opencl")
    _says(error, "has the target 'c'")
    with pytest.raises(errors.WrongDevice):
        knl(queue, a=numbers)


def test_other_context(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    cl = pyopencl()
    other = cl.CommandQueue(cl.Context([queue.device]))
    a = cl.array.to_device(other, numbers)
    with pytest.raises(errors.WrongDevice) as error:
        double(queue, a=a)
    _says(error, "another context")
    with pytest.raises(errors.WrongDevice):
        double.executor(queue.context)(a=a)


def test_no_such_device(double: pg.Kernel) -> None:
    for device in ("metal", 3):
        with pytest.raises(errors.InvalidArgument) as error:
            double.executor(device)
        _says(error, "no device")


def test_names_that_calls_use() -> None:
    with pytest.raises(errors.ReservedName) as error:
        pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = queue[i]")
    assert "call it 'queue_'" in str(error.value)


def test_python_keywords_are_fine_names(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "pass[i] = lambda[i] + None",
        [array_arg("lambda", "n"), pg.ValueArg("None"), "..."],
    )
    _, (out,) = knl.executor(target)(**{"lambda": _ones(3), "None": 2.0})
    np.testing.assert_array_equal(out, 3)


def test_what_is_waited_for(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    """Events of any library; of PyTorch's, `wait` does not wait."""
    done: list[str] = []

    class Theirs:
        def wait(self) -> None:
            raise AssertionError("it lets a stream wait")

        def synchronize(self) -> None:
            done.append("theirs")

    class Plain:
        def wait(self) -> None:
            done.append("plain")

    array = pyopencl().array.to_device(queue, numbers)
    of_c, of_opencl = double(a=numbers)[0], double(queue, a=array)[0]
    for a, where in ((numbers, None), (array, queue)):
        done.clear()
        _, (out,) = double(where, a=a, wait_for=(Plain(), of_c, of_opencl, Theirs()))
        assert done == ["plain", "theirs"]
        np.testing.assert_array_equal(out if where is None else out.get(), 2 * numbers)
        with pytest.raises(errors.WrongArgumentType, match=r"takes a sequence of events; it was"):
            double(where, a=a, wait_for=of_c)
        with pytest.raises(errors.WrongArgumentType, match=r"takes events; among them is 3"):
            double(where, a=a, wait_for=[3])


def test_group_too_large(queue: Any, numbers: Any) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]")
    knl = pg.split_iname(knl, "i", 2**20, outer_tag="g.0", inner_tag="l.0")
    with pytest.raises(errors.LaunchFailed) as error:
        knl(queue, a=numbers)
    _says(error, "work items", "split the inames")
