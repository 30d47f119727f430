"""Images: printed, proved, lowered, and run on the device that there is."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import polygen as pg
from polygen import errors as e
from polygen.ir import expression as ex
from polygen.ir.walk import rewrite
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign
from polygen.runtime.backends.opencl.opencl_driver import default_context, queue_of
from polygen.transformation import transformation
from polygen.validation.validate import validate
from tests.oracle.compare import assert_same, make_arguments
from tests.validation.edits import edited

DTYPES = ("float32", "int8", "int16", "int32", "uint8", "uint16", "uint32")


def blurred(dtype: Any = None) -> pg.Kernel:
    """Return a kernel that adds up neighbours, of which an image has a border of one more."""
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k, l]: 0<=k, l<3 }"],
        "out[i, j] = sum((k, l), img[i + k, j + l])",
        [pg.ImageArg("img", dtype, "n + 2, m + 2"), "..."],
        loop_priority="i, j, k, l",
    )


def of_blurred(img: Any) -> Any:
    rows, columns = (extent - 2 for extent in img.shape)
    return sum(img[i : i + rows, j : j + columns] for i in range(3) for j in range(3))


def picture(dtype: Any, *shape: int) -> Any:
    values = np.random.default_rng(len(shape)).integers(0, 9, shape)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 2), (2, 9), (3, 3), (9, 7), (18, 33)])
def test_two_axes(dtype: str, shape: tuple[int, int]) -> None:
    img = picture(dtype, *shape)
    _, (out,) = blurred().executor("opencl")(img=img)
    assert isinstance(out, np.ndarray)
    np.testing.assert_array_equal(out, of_blurred(img.astype(out.dtype)))


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int32"])
def test_all_values_of_elements(dtype: str) -> None:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        values = [0.1, -0.0, np.inf, -np.inf, np.nan, np.finfo(kind).max, np.finfo(kind).tiny]
    else:
        values = [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1]
    img = np.array([values, values[::-1]], kind)
    text = "out[i, j] = img[i, j]"
    knl = pg.make_kernel(
        f"{{ [i, j]: 0<=i<2 and 0<=j<{len(values)} }}",
        text,
        [pg.ImageArg("img"), "..."],
        loop_priority="i, j",
    )
    _, (out,) = knl.executor("opencl")(img=img)
    assert out.dtype == kind
    np.testing.assert_array_equal(out, img)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (7, 4, 9)])
def test_three_axes(shape: tuple[int, int, int]) -> None:
    """Axes are turned: each subscript is of its own axis."""
    knl = pg.make_kernel(
        "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        "out[k, i, j] = img[i, j, k]*2",
        [pg.ImageArg("img", np.float32, "n, m, l"), "..."],
        loop_priority="i, j, k",
    )
    img = picture(np.float32, *shape)
    _, (out,) = knl(img=img)
    np.testing.assert_array_equal(out, 2 * np.moveaxis(img, 2, 0))


def tiled() -> pg.Kernel:
    knl = blurred(np.float32)
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.1", inner_tag="l.1")
    return pg.split_iname(knl, "j", 8, outer_tag="g.0", inner_tag="l.0")


def test_steps() -> None:
    """Tiles, a copy of each in local memory, and unrolled loops."""
    knl = pg.tag_inames(tiled(), {"k": "unr", "l": "unr"})
    fetched = pg.add_prefetch(tiled(), "img", "i_inner, j_inner, k, l", default_tag="l.auto")
    img = picture(np.float32, 13, 21)
    for each in (knl, fetched):
        _, (out,) = each(img=img)
        np.testing.assert_array_equal(out, of_blurred(img))
    assert "__local float img_fetch" in str(pg.generate_code(fetched))


def test_subscripts_that_are_data() -> None:
    given = [pg.ImageArg("img", np.float32, "n, m"), pg.GlobalArg("at", np.int32, "l"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<l }", "out[i] = img[at[i], at[i] + 1]", given)
    img, at = picture(np.float32, 5, 6), np.array([4, 0, 2], np.int32)
    _, (out,) = knl(img=img, at=at, check_assumptions=True)
    np.testing.assert_array_equal(out, img[at, at + 1])
    with pytest.raises(e.ObligationViolated):
        knl(img=img, at=at + 1, check_assumptions=True)


def test_interpreters() -> None:
    knl = blurred(np.float32)
    assert_same(knl, make_arguments(knl, {"n": 3, "m": 4}))
    knl = tiled()
    assert_same(knl, make_arguments(knl, {"n": 5, "m": 9}))


# --- what may be passed


def test_arrays_and_images_on_the_device() -> None:
    img = picture(np.float32, 8, 9)
    expected = of_blurred(img)
    queue = cl.CommandQueue(default_context())
    image = cl.image_from_array(queue.context, img, 1)
    call = blurred().executor(queue)
    for passed in (cl_array.to_device(queue, img), image):
        _, (out,) = call(img=passed)
        assert isinstance(out, cl_array.Array)
        np.testing.assert_array_equal(out.get(), expected)
    for host in (img, np.asfortranarray(img), img[::-1][::-1]):
        _, (out,) = call(img=host)
        np.testing.assert_array_equal(out, expected)
    part = cl_array.to_device(queue, np.pad(img, 3))[3:-3, 3:-3]
    _, (out,) = call(img=part)
    np.testing.assert_array_equal(out.get(), expected)
    out = np.zeros(expected.shape, np.float32)
    call(img=image, out=out)
    np.testing.assert_array_equal(out, expected)


def test_a_call_waits_for_what_fills_the_image() -> None:
    queue = cl.CommandQueue(
        default_context(), properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    )
    img = picture(np.float32, 40, 50)
    array = cl_array.to_device(queue, img)
    for factor in range(1, 6):
        _, (out,) = blurred()(queue, img=factor * array)
        np.testing.assert_array_equal(out.get(), of_blurred(factor * img))


def test_images_are_checked_as_arrays_are() -> None:
    queue = queue_of(default_context())
    small = cl.image_from_array(queue.context, np.ones((4, 4), np.float32), 1)
    given = pg.GlobalArg("out", np.float32, "7, 7")
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i, j<7 }",
        "out[i, j] = img[i, j]",
        [pg.ImageArg("img", np.float32, "7, 7"), given],
        loop_priority="i, j",
    )
    with pytest.raises(e.WrongShape):
        knl(queue, img=small)
    with pytest.raises(e.WrongArgumentType, match="is an array of float64"):
        knl(queue, img=np.ones((7, 7)))
    with pytest.raises(e.WrongArgumentType, match="it is a list"):
        knl(queue, img=[[1.0]])
    colours = cl.image_from_array(queue.context, np.ones((7, 7, 4), np.float32), 4)
    with pytest.raises(e.WrongArgumentType, match="one channel, R"):
        knl(queue, img=colours)
    with pytest.raises(e.MissingArgument, match="without 'img'"):
        knl(queue)
    wide = np.zeros((1, 1 + queue.device.image2d_max_width), np.float32)
    one = pg.make_kernel(
        "{ [j]: 0<=j<m }", "out[j] = img[0, j]", [pg.ImageArg("img", shape="1, m"), "..."]
    )
    with pytest.raises(e.LaunchFailed, match="makes no image of shape"):
        one(queue, img=wide)


def test_assumptions_are_checked_on_images() -> None:
    queue = queue_of(default_context())
    given = [pg.ImageArg("img", np.int32, "2, 3"), pg.GlobalArg("a", np.float32, "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<3 }", "out[i] = a[img[1, i]]", given)
    a = np.arange(5, dtype=np.float32)
    good = cl.image_from_array(queue.context, np.array([[9, 9, 9], [4, 0, 2]], np.int32), 1)
    _, (out,) = knl(queue, img=good, a=a, check_assumptions=True)
    np.testing.assert_array_equal(np.asarray(out.get() if hasattr(out, "get") else out), [4, 0, 2])
    bad = cl.image_from_array(queue.context, np.array([[0, 0, 0], [4, 5, 2]], np.int32), 1)
    with pytest.raises(e.ObligationViolated, match="img"):
        knl(queue, img=bad, a=a, check_assumptions=True)


# --- text, values, targets


def test_text_and_value() -> None:
    knl = blurred(np.float32)
    assert "img: ImageArg, type: float32, shape: (n + 2, m + 2)\n" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301
    assert "pg.ImageArg('img', 'float32', 'n + 2, m + 2')" in pg.kernel_to_python(knl)
    assert knl != pg.parse_kernel(
        str(knl).replace(
            "ImageArg, type: float32, shape: (n + 2, m + 2)",
            "GlobalArg, type: float32, shape: (n + 2, m + 2), strides: <runtime>",
        )
    )
    fixed = pg.fix_parameters(knl, n=4)
    assert "img: ImageArg, type: float32, shape: (6, m + 2)\n" in str(fixed)


def test_generated_code() -> None:
    source = str(pg.generate_code(blurred(np.uint8), "opencl"))
    assert "read_only image2d_t img" in source
    assert "read_imageui(img, pg_sampler, (int2)(j + l, i + k)).x" in source
    assert source.count("sampler_t pg_sampler") == 1
    plain = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i]"), {"a": "f4"})
    assert "sampler" not in str(pg.generate_code(plain))


def test_other_targets_and_types_refuse_when_code_is_generated() -> None:
    with pytest.raises(e.TypeNotSupported, match="target 'c' has no images, as 'img' is one"):
        pg.generate_code(blurred(np.float32), "c")
    with pytest.raises(e.TypeNotSupported, match="'c' has no images"):
        blurred(np.float32).executor("c")(img=picture(np.float32, 4, 4))
    for dtype in ("float16", "float64", "int64", "complex64", "bool"):
        with pytest.raises(e.TypeNotSupported, match=f"no elements of type '{dtype}', as 'img'"):
            pg.generate_code(blurred(dtype), "opencl")
    with pytest.raises(e.TypeNotSupported, match="no elements of type 'float64'"):
        blurred().executor("opencl")(img=picture(np.float64, 4, 4))


# --- proofs


def _turned(node: Any) -> Any:
    """Return an element of the image with its subscripts exchanged; anything else as it is."""
    if isinstance(node, ex.Subscript) and ex.name_of(node) == "img":
        return ex.Subscript(node.aggregate, tuple(reversed(ex.index_tuple(node))))
    return node


@transformation
def _transposed(kernel: pg.Kernel) -> pg.Kernel:
    (insn,) = kernel.assignments
    return kernel.copy(instructions=(insn.map_reads(lambda node: rewrite(node, _turned)),))


def test_a_step_that_reads_elsewhere_is_refused() -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i, j<4 }",
        "out[i, j] = img[i, j]",
        [pg.ImageArg("img", shape="4, 4"), "..."],
        loop_priority="i, j",
    )
    with pytest.raises(e.NotTheSame, match=r"would compute img\[j, i\]"):
        _transposed(knl)


def test_validation_sees_subscripts_that_are_exchanged() -> None:
    kernel = prepare(tiled())
    program = lower_prepared(kernel, Model.GRID)
    validate(kernel, program)

    def rule(node: Any) -> Any:
        if isinstance(node, Assign):
            node = replace(node, value=rewrite(node.value, _turned))
        return (node,)

    with pytest.raises(e.WrongStatement):
        validate(kernel, edited(program, rule))


def test_a_function_of_the_generated_code_is_given_no_image() -> None:
    row = pg.make_function("{ [k]: 0<=k<m }", "y[k] = 2*x[k]", ["m", "x", "y"])
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[j]: out[i, j] = row(4, [j]: img[i, j])",
        [pg.ImageArg("img", np.float32, "n, 4"), pg.GlobalArg("out", np.float32, "n, 4"), "..."],
        functions={"row": row},
    )
    with pytest.raises(e.FunctionNotPossible, match="it is given 'img', an image"):
        pg.generate_code(knl, "opencl")
    img = picture(np.float32, 3, 4)
    _, (out,) = pg.inline_callable_kernel(knl, "row")(img=img)
    np.testing.assert_array_equal(out, 2 * img)
