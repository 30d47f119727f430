"""Calls that work: sizes, types and strides come from the arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.runtime.backends.opencl.opencl_arrays import copied
from polygen.runtime.backends.opencl.opencl_driver import pyopencl


def array_arg(name: str, *shape: Any, **more: Any) -> pg.GlobalArg:
    """Return an array argument of this shape."""
    return pg.GlobalArg(name, shape=shape, **more)


def _kernel_2d(instructions: str, kernel_data: Any = None) -> pg.Kernel:
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<m }", instructions, kernel_data)
    return pg.prioritize_loops(knl, "i,j")


def test_sizes_types_and_outputs_are_found(double: pg.Kernel, target: str) -> None:
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.uint8):
        a = np.arange(7, dtype=dtype)
        _, (out,) = double.executor(target)(a=a)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, 2 * a)


def test_output_given(double: pg.Kernel, target: str, numbers: Any) -> None:
    out = np.full(10, -1, np.float32)
    _, (same,) = double.executor(target)(a=numbers, out=out)
    assert same is out
    np.testing.assert_array_equal(out, 2 * numbers)


def test_none_is_not_given(double: pg.Kernel, target: str, numbers: Any) -> None:
    _, (out,) = double.executor(target)(a=numbers, out=None)
    np.testing.assert_array_equal(out, 2 * numbers)


def test_kernel_itself_is_called(double: pg.Kernel, numbers: Any) -> None:
    event, (out,) = double(a=numbers)
    event.wait()
    np.testing.assert_array_equal(out, 2 * numbers)


def test_device_arrays(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    array = pyopencl().array
    a = array.to_device(queue, numbers)
    for arguments in ({"a": a}, {"a": a, "out": array.zeros_like(a)}):
        _, (out,) = double(queue, **arguments)
        assert isinstance(out, array.Array)
        np.testing.assert_array_equal(out.get(), 2 * numbers)
        _, (out,) = double(**arguments)
        np.testing.assert_array_equal(out.get(), 2 * numbers)


def test_queue_with_numpy_arrays(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    _, (out,) = double(queue, a=numbers)
    assert isinstance(out, np.ndarray)
    np.testing.assert_array_equal(out, 2 * numbers)


def test_mixed_arrays(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    out = pyopencl().array.zeros(queue, 10, np.float32)
    double(queue, a=numbers, out=out)
    np.testing.assert_array_equal(out.get(), 2 * numbers)
    host = np.zeros(10, np.float32)
    double(a=out, out=host)
    np.testing.assert_array_equal(host, 4 * numbers)


def test_each_kind_of_device(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    for device in (queue, queue.context, queue.device, "opencl", "c", None):
        _, (out,) = double.executor(device)(a=numbers)
        np.testing.assert_array_equal(out, 2 * numbers)
    assert double.executor(queue).target == "opencl"
    assert double.executor().target == "c"
    on_opencl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", target="opencl")
    assert on_opencl.executor().target == "opencl"
    np.testing.assert_array_equal(on_opencl(a=numbers)[1][0], 2 * numbers)


def test_without_arrays(queue: Any, target: str) -> None:
    count = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = i")
    _, (out,) = count.executor(target)(n=5)
    assert isinstance(out, np.ndarray)
    np.testing.assert_array_equal(out, np.arange(5))
    _, (out,) = count(queue, n=np.int64(5))
    np.testing.assert_array_equal(out.get(), np.arange(5))


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int16(3), True])
def test_scalars(target: str, value: Any) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = alpha*a[i]", [pg.ValueArg("alpha", np.dtype("f4")), "..."]
    )
    a = np.arange(4, dtype=np.float32)
    _, (out,) = knl.executor(target)(a=a, alpha=value)
    np.testing.assert_array_equal(out, np.float32(value) * a)


def test_scalars_change_without_a_new_plan(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = alpha*a[i]").executor(target)
    a = np.arange(4, dtype=np.float64)
    for alpha in (1.5, 2.5):
        np.testing.assert_array_equal(knl(a=a, alpha=alpha)[1][0], alpha * a)


@pytest.mark.parametrize("extent, length", [("n+2", 12), ("2*n", 20), ("3*n-1", 29)])
def test_sizes_are_solved_for(target: str, extent: str, length: int) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i]",
        [array_arg("a", extent), "..."],
    )
    _, (out,) = knl.executor(target)(a=np.arange(length, dtype=np.float32))
    np.testing.assert_array_equal(out, np.arange(10))


def test_a_size_in_a_maximum_or_a_minimum(target: str) -> None:
    text = "out[i] = sum(j, a[i, j]) + a[i, 2]"
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<m }", text)
    assert str(knl.array("a").shape) == "(Variable('n'), Max((3, Variable('m'))))"
    a = np.arange(8.0).reshape(2, 4)
    np.testing.assert_array_equal(knl.executor(target)(a=a)[1][0], a.sum(axis=1) + a[:, 2])
    few = a[:, :3].copy()  # that m is 3, 2, 1 or 0 is all that its shape says
    with pytest.raises(errors.MissingArgument, match="needs a value of 'm'"):
        knl.executor(target)(a=few)
    np.testing.assert_array_equal(knl.executor(target)(a=few, m=1)[1][0], few[:, 0] + few[:, 2])
    knl = pg.make_kernel(
        "{ [i]: 0<=i<m }", "out[i] = a[0]", [array_arg("a", "min(m + 1, 4)"), "..."]
    )
    assert knl.executor(target)(a=np.ones(3))[1][0].shape == (2,)
    with pytest.raises(errors.MissingArgument, match="needs a value of 'm'"):
        knl.executor(target)(a=np.ones(4))


def test_two_sizes_in_one_extent(target: str) -> None:
    knl = _kernel_2d("out[i, j] = a[i*m + j] + b[j]", [array_arg("a", "n*m"), "..."])
    a, b = np.arange(12.0), np.arange(4.0)
    _, (out,) = knl.executor(target)(a=a, b=b)
    np.testing.assert_array_equal(out, a.reshape(3, 4) + b)


# --- empty arrays


def test_empty_arrays(double: pg.Kernel, queue: Any, target: str) -> None:
    a = np.empty(0, np.float32)
    for kernel in (double, pg.split_iname(double, "i", 16, outer_tag="g.0", inner_tag="l.0")):
        assert kernel.executor(target)(a=a)[1][0].shape == (0,)
        assert kernel.executor(target)(a=a, out=np.empty(0, np.float32))[1][0].shape == (0,)
        array = pyopencl().array
        event, (out,) = kernel(queue, a=array.to_device(queue, a))
        event.wait()
        assert out.shape == (0,)


def test_one_empty_array_among_others(target: str) -> None:
    # A sparse matrix of zeros alone: rows, but no entries.
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: start<=j<end }"],
        """
        <> start = rows[i]
        <> end = rows[i+1]
        out[i] = sum(j, values[j])
        """,
    )
    rows = np.zeros(5, np.int32)
    _, (out,) = knl.executor(target)(rows=rows, values=np.empty(0))
    np.testing.assert_array_equal(out, np.zeros(4))


# --- strides


def _matrices() -> list[Any]:
    base = np.arange(400, dtype=np.float64).reshape(20, 20)
    return [
        base[:5, :7],
        base[::2, ::3],
        base[::-1, ::-2],
        base.T,
        np.asfortranarray(base),
        base[3:4, 5:6],
        base[3:4, ::2],
        np.broadcast_to(np.arange(6.0), (4, 6)),
        np.broadcast_to(np.float64(3), (4, 6)),
    ]


@pytest.mark.parametrize("number", range(9))
def test_strides_of_inputs(target: str, number: int) -> None:
    a = _matrices()[number]
    knl = _kernel_2d("out[i, j] = a[i, j] + 1")
    _, (out,) = knl.executor(target)(a=a)
    np.testing.assert_array_equal(out, a + 1)


@pytest.mark.parametrize("number", range(7))
def test_strides_of_outputs(target: str, number: int) -> None:
    out = _matrices()[number]
    a = np.random.default_rng(0).random(out.shape)
    knl = _kernel_2d("out[i, j] = 2*a[i, j]")
    base = out.base if out.base is not None else out
    kept = base.sum() - out.sum()
    knl.executor(target)(a=a, out=out)
    np.testing.assert_array_equal(out, 2 * a)
    # Nothing between the elements was touched.
    np.testing.assert_allclose(base.sum() - out.sum(), kept)


def test_strides_on_the_device(queue: Any) -> None:
    array = pyopencl().array
    host = np.arange(400, dtype=np.float64).reshape(20, 20)
    base = array.to_device(queue, host)
    knl = _kernel_2d("out[i, j] = a[i, j] + 1")
    for index in (
        (slice(1, 5), slice(3, 9)),
        (slice(None, None, 2), slice(1, None, 3)),
        (slice(None, None, -1), slice(None, None, -2)),
        (slice(3, 4), slice(5, 6)),
    ):
        _, (out,) = knl(queue, a=base[index])
        np.testing.assert_array_equal(out.get(), host[index] + 1)
    # Where the whole array is written through a view with an offset.
    target = array.zeros(queue, 50, np.float64)
    pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = i")(queue, out=target[7:31:3])
    expected = np.zeros(50)
    expected[7:31:3] = np.arange(8)
    np.testing.assert_array_equal(target.get(), expected)


def test_declared_strides(target: str) -> None:
    knl = _kernel_2d(
        "out[i, j] = 2*a[i, j]",
        [array_arg("a", "n", "m", strides=("ld", 1)), pg.ValueArg("ld"), "..."],
    )
    base = np.arange(60.0).reshape(6, 10)
    _, (out,) = knl.executor(target)(a=base[:, :7])
    np.testing.assert_array_equal(out, 2 * base[:, :7])


def test_zero_axes(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i] + b[0]",
        [array_arg("b", 1), "..."],
    )
    a = np.arange(4.0)
    np.testing.assert_array_equal(knl.executor(target)(a=a, b=np.ones(1))[1][0], a + 1)


# --- outputs


def test_what_is_not_written_is_zero(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[2*i] = a[i]", [array_arg("out", "2*n"), "..."])
    _, (out,) = knl.executor(target)(a=np.arange(1, 4, dtype=np.float32))
    np.testing.assert_array_equal(out, [1, 0, 2, 0, 3, 0])


def test_what_is_written_first_need_not_be_given(target: str) -> None:
    transposed = pg.make_kernel(
        "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
        """
        out[j,i] = a[i,j] {id=transpose}
        out[ii,jj] = 2*out[ii,jj] {dep=transpose}
        """,
    )
    transposed = pg.prioritize_loops(pg.prioritize_loops(transposed, "i,j"), "ii,jj")
    a = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(transposed.executor(target)(a=a)[1][0], 2 * a.T)
    same_loop = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i] {id=w}\nout[i] = 2*out[i] {dep=w}")
    np.testing.assert_array_equal(same_loop.executor(target)(a=a[0].copy())[1][0], 2 * a[0])


def test_update_in_place(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = a[i] + 1")
    a = np.arange(4.0)
    _, (same,) = knl.executor(target)(a=a)
    assert same is a
    np.testing.assert_array_equal(a, np.arange(4) + 1.0)


def test_several_outputs_and_return_dict(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "x[i] = a[i] + 1\nb[i] = a[i] - 1")
    a = np.arange(4.0)
    b, x = knl.executor(target)(a=a)[1]
    order = [arg.name for arg in knl.arguments if arg.name in "bx"]
    found = dict(zip(order, (b, x), strict=True))
    np.testing.assert_array_equal(found["x"], a + 1)
    np.testing.assert_array_equal(found["b"], a - 1)
    by_name = pg.set_options(knl, return_dict=True).executor(target)(a=a)[1]
    assert list(by_name) == order
    np.testing.assert_array_equal(by_name["x"], a + 1)


def test_may_alias() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = 2*a[i]",
        [array_arg("a", "n", may_alias=True), array_arg("out", "n"), "..."],
    )
    a = np.arange(6.0)
    knl.executor("c")(a=a, out=a)
    np.testing.assert_array_equal(a, 2 * np.arange(6))


# --- options


def test_write_code_and_wrapper(
    double: pg.Kernel, numbers: Any, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    knl = pg.set_options(double, write_code=True, write_wrapper=True).executor(target)
    knl(a=numbers)
    shown = capsys.readouterr().out
    assert "void" in shown and "out[i] = 2.0f * a[i]" in shown
    assert "def call(queue, wait_for, a" in shown
    knl(a=numbers)
    assert capsys.readouterr().out == ""


def test_skip_arg_checks(double: pg.Kernel, target: str) -> None:
    knl = pg.set_options(double, skip_arg_checks=True).executor(target)
    out = np.zeros(20, np.float32)
    knl(a=np.ones(10, np.float32), out=out)
    np.testing.assert_array_equal(out[:10], 2)


def test_wait_for(double: pg.Kernel, queue: Any, numbers: Any) -> None:
    cl = pyopencl()
    a = cl.array.to_device(queue, numbers)
    queue.finish()
    gate = cl.UserEvent(queue.context)
    event, (out,) = double(queue, a=a, wait_for=[gate])
    running = cl.command_execution_status
    assert event.command_execution_status != running.COMPLETE
    gate.set_status(running.COMPLETE)
    event.wait()
    np.testing.assert_array_equal(out.get(), 2 * numbers)
    done = double(queue, a=a)[0]
    _, (out,) = double.executor("c")(a=numbers, wait_for=[done])
    np.testing.assert_array_equal(out, 2 * numbers)


# --- counters


def test_counters_are_as_wide_as_needed(capsys: pytest.CaptureFixture[str]) -> None:
    data = [array_arg("a", "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "out[i] = a[i]", data, assumptions="n >= 4")
    knl = pg.set_options(knl, write_code=True).executor("c")
    for length, counter in ((8, "int const n"), (2**31, "int64_t const n")):
        # All elements of this array are one.
        a = np.broadcast_to(np.float64(3), (length,))
        np.testing.assert_array_equal(knl(a=a)[1][0], [3] * 4)
        assert counter in capsys.readouterr().out


def test_far_apart_elements(capsys: pytest.CaptureFixture[str]) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]")
    knl = pg.set_options(knl, write_code=True).executor("c")
    memory = np.zeros(2**31 + 8, np.uint8)
    memory[:: 2**30] = 5
    np.testing.assert_array_equal(knl(a=memory[:: 2**30])[1][0], [5, 5, 5])
    assert "int64_t const a_stride_0" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_python_floats_take_the_type_of_the_arrays(target: str) -> None:
    call = pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = alpha*x[i]").executor(target)
    for dtype in (np.float32, np.float64, np.int32):
        x: Any = np.arange(5, dtype=dtype)
        _, (y,) = call(x=x, alpha=2.5)
        expected = 2.5 * x
        assert y.dtype == expected.dtype
        np.testing.assert_array_equal(y, expected)
    _, (y,) = call(x=np.arange(5, dtype=np.float32), alpha=np.float64(2.5))
    assert y.dtype == np.float64


@pytest.mark.parametrize(
    ("strides", "elements"), [("1, n", (1, 4)), ("ld, 1", (5, 1)), ("3*ld, 2", (15, 2))]
)
def test_outputs_get_the_declared_strides(
    target: str, queue: Any, strides: str, elements: tuple[int, int]
) -> None:
    data = [pg.GlobalArg("out", None, "n, m", strides=strides), "..."]
    knl = _kernel_2d("out[i, j] = 2*a[i, j]", data)
    a = np.random.default_rng(1).random((4, 3))
    given = {"ld": 5} if "ld" in strides else {}
    _, (out,) = knl.executor(target)(a=a, **given)
    assert out.strides == tuple(8 * s for s in elements)
    np.testing.assert_array_equal(out, 2 * a)
    _, (new,) = knl.executor("opencl")(queue, a=pyopencl().array.to_device(queue, a), **given)
    assert new.strides == out.strides
    np.testing.assert_array_equal(copied(pg.GlobalArg("out"), new), 2 * a)
    _, (empty,) = knl.executor(target)(a=a[:0], **given)
    assert empty.shape == (0, 3)


def test_outputs_with_negative_strides_are_passed(target: str) -> None:
    data = [pg.GlobalArg("out", None, "n, m", strides="-m, 1"), "..."]
    knl = _kernel_2d("out[i, j] = 2*a[i, j]", data)
    a = np.random.default_rng(1).random((4, 3))
    with pytest.raises(errors.WrongStrides, match="negative ones are for arrays that are passed"):
        knl.executor(target)(a=a)
    out = np.zeros((4, 3))
    knl.executor(target)(a=a, out=out[::-1])
    np.testing.assert_array_equal(out[::-1], 2 * a)


# Names that functions on the way of a call have for something of their own, and Python's.
NAMES = [
    *("self", "stream", "allocator", "out", "args", "kwargs", "given", "values", "call", "form"),
    *("device", "context", "events", "event", "plan", "key", "name", "shape", "dtype", "order"),
    *("print", "len", "isinstance", "tuple", "dict", "None_", "type", "object", "super", "id"),
    *("lambda", "def", "is", "from", "yield", "async", "_"),
]  # fmt: skip


def _check_call_with_names(target: str, a: str, n: str, x: str, y: str) -> None:
    """Check calls of a kernel of two arrays, a size and a number that have these names."""
    data = [pg.GlobalArg(a, np.float64, n), pg.GlobalArg(y, np.float64, n), pg.ValueArg(x)]
    text = f"{y}[i] = {x}*{a}[i] {{id=insn}}"
    knl = pg.make_kernel(f"{{ [i]: 0<=i<{n} }}", text, [*data, "..."])
    given: dict[str, Any] = {a: np.arange(3.0), x: 2.0}
    calls: list[Callable[..., Any]] = [
        knl.executor(target),
        pg.merge([knl]).executor(target),
        pg.set_options(knl, fix_sizes=True).executor(target),
    ]
    if target == "c":
        calls += [knl, pg.merge([knl])]
    others: list[dict[str, Any]] = [{}, {n: 3}, {"check_assumptions": True, y: np.zeros(3)}]
    for call in calls:
        for more in others:
            np.testing.assert_array_equal(call(**given, **more)[1][0], [0, 2, 4])


def test_unusual_names_of_arguments() -> None:
    _check_call_with_names("c", "self", "stream", "lambda", "out")


@pytest.mark.deep
def test_any_name_of_an_argument(target: str) -> None:
    for at in range(len(NAMES) - 3):
        a, n, x, y = NAMES[at : at + 4]
        _check_call_with_names(target, a, n, x, y)
        _check_call_with_names(target, y, x, n, a)


@pytest.mark.parametrize("name", ["queue", "wait_for", "check_assumptions", "entrypoint", "unsafe"])
def test_names_that_calls_take(name: str) -> None:
    """They are refused where they come in, by whatever way."""
    plain = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    temporary = pg.make_kernel("{ [i]: 0<=i<n }", f"<> {name} = 2*a[i]\nout[i] = {name}")
    ways: list[Callable[[], object]] = [
        lambda: pg.make_kernel("{ [i]: 0<=i<n }", f"{name}[i] = 2*a[i]"),
        lambda: pg.make_kernel("{ [i]: 0<=i<n }", f"out[i] = {name}*a[i]"),
        lambda: pg.make_kernel(f"{{ [i]: 0<=i<{name} }}", "out[i] = 2*a[i]"),
        lambda: pg.make_function("{ [i]: 0<=i<n }", f"out[i] = {name}[i]"),
        lambda: pg.rename_argument(plain, "a", name),
        lambda: pg.parse_kernel(re.sub(r"\ba\b", name, str(plain))),
        lambda: pg.make_einsum("ij,j->i", [name, "x"]),
    ]
    for way in ways:
        with pytest.raises(pg.errors.ReservedName, match=f"'{name}' can be no argument") as error:
            way()
        assert f"call it '{name}_'" in str(error.value.remedy)
    np.testing.assert_array_equal(temporary(a=np.arange(3.0))[1][0], [0, 2, 4])
    iname = pg.rename_iname(plain, "i", name)
    np.testing.assert_array_equal(iname(a=np.arange(3.0))[1][0], [0, 2, 4])


def test_what_is_said_of_proofs_is_no_size() -> None:
    plain = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    for wrong in (4, None, "yes"):
        with pytest.raises(pg.errors.InvalidArgument, match="neither True nor False"):
            pg.fix_parameters(plain, n=4, unsafe=wrong)  # type: ignore[arg-type]
