"""Layouts at calls: what is allocated, passed, found and refused, on both targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import polygen as pg
from polygen import errors
from polygen.ir.kernel import Kernel
from polygen.runtime.backends.opencl.opencl_driver import pyopencl
from tests.oracle.layouts import laid

LOOPS = "{ [i, j]: 0<=i<n and 0<=j<4 }"


Strides: TypeAlias = Callable[[int], tuple[int, ...]]


def copies(target_dtype: str, a: dict[str, Any], out: dict[str, Any], loops: str = LOOPS) -> Kernel:
    """Return a kernel that adds one to all elements of an array with a layout."""
    shape = "n, 4" if loops == LOOPS else "n, 3"
    data = [
        pg.GlobalArg("a", target_dtype, shape, **a),
        pg.GlobalArg("out", target_dtype, shape, **out),
    ]
    knl = pg.make_kernel(loops, "out[i, j] = a[i, j] + 1", [*data, "..."], loop_priority="i, j")
    return pg.tag_inames(knl, {"j": "unr"})


def random(n: int, m: int, dtype: str) -> Any:
    return np.random.default_rng(n).integers(0, 99, (n, m)).astype(dtype)


# A layout, and the strides that outputs of the shape (n, 4) get, in elements.
OUTPUTS: list[tuple[dict[str, Any], Strides]] = [
    ({"dim_tags": "N1, N0"}, lambda n: (4, 1)),
    ({"dim_tags": "C"}, lambda n: (4, 1)),
    ({"order": "C"}, lambda n: (4, 1)),
    ({"dim_tags": "N0, N1"}, lambda n: (1, n)),
    ({"order": "F"}, lambda n: (1, n)),
    ({"dim_tags": "N1, N0(pad_to=3)"}, lambda n: (6, 1)),
    ({"dim_tags": "F(pad_to=8), F"}, lambda n: (1, (n + 7) // 8 * 8)),
    ({"dim_tags": "N0, N1", "offset": 5}, lambda n: (1, n)),
    ({"strides": "7, 1"}, lambda n: (7, 1)),
    ({"strides": (pg.auto, 1)}, lambda n: (4, 1)),
    ({"strides": (1, pg.auto)}, lambda n: (1, n)),
    ({"strides": (pg.auto, pg.auto), "offset": pg.auto}, lambda n: (4, 1)),
    ({"dim_tags": "N0, vec"}, lambda n: (4, 1)),
    ({"dim_tags": "stride:8, vec", "offset": 4}, lambda n: (8, 1)),
    ({"dim_tags": "stride:auto, vec", "offset": pg.auto}, lambda n: (4, 1)),
]


def _shown(value: object) -> str:
    return "strides" if callable(value) else str(value)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize(("layout", "strides"), OUTPUTS, ids=_shown)
def test_outputs(target: str, layout: dict[str, Any], strides: Strides, dtype: str) -> None:
    run = copies(dtype, {}, layout).executor(target)
    for n in (0, 1, 7, 17):
        a = random(n, 4, dtype)
        _, (out,) = run(a=a)
        np.testing.assert_array_equal(out, a + 1, strict=True)
        if n > 1:
            assert out.strides == tuple(a.itemsize * s for s in strides(n))


@pytest.mark.parametrize(("layout", "strides"), OUTPUTS, ids=_shown)
def test_inputs(target: str, layout: dict[str, Any], strides: Strides) -> None:
    run = copies("float64", layout, layout).executor(target)
    for n in (1, 7, 16):
        a = laid(random(n, 4, "float64"), strides(n))
        out = laid(np.zeros((n, 4)), strides(n))
        _, (again,) = run(a=a, out=out)
        assert again is out
        np.testing.assert_array_equal(out, a + 1)


@pytest.mark.parametrize("space", [{}, {"offset": pg.auto}], ids=str)
@pytest.mark.parametrize("axes", [(pg.auto, 1), (pg.auto, pg.auto), (1, pg.auto)], ids=str)
def test_strides_of_the_call(target: str, axes: Any, space: dict[str, Any]) -> None:
    layout = {"strides": axes, **space}
    run = copies("float32", layout, layout).executor(target)
    for strides in ((4, 1), (9, 1), (1, 20), (40, 3), (-4, 1), (1, -9)):
        a = laid(random(7, 4, "float32"), strides)
        out = laid(np.zeros((7, 4), np.float32), strides)
        fits = all(s in (stride, pg.auto) for s, stride in zip(axes, strides, strict=True))
        if fits:
            run(a=a, out=out)
            np.testing.assert_array_equal(out, a + 1)
        else:
            with pytest.raises(errors.WrongStrides, match="has the strides"):
                run(a=a, out=out)


def test_vectors_of_three_take_four(target: str) -> None:
    loops = "{ [i, j]: 0<=i<n and 0<=j<3 }"
    knl = copies("float32", {"dim_tags": "N0, vec"}, {"dim_tags": "N0, vec"}, loops)
    for n in (0, 1, 5):
        a = np.full((n, 4), -1, np.float32)[:, :3]
        a[...] = random(n, 3, "float32")
        _, (out,) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(out, a + 1)
        assert n < 2 or out.strides == (16, 4)
    with pytest.raises(errors.WrongStrides) as caught:
        knl.executor(target)(a=np.zeros((5, 3), np.float32))
    assert "has the strides, in elements, (3, 1); it has to be (4, 1)" in caught.value.what
    assert "the layout 'N0, vec'" in (caught.value.remedy or "")


@pytest.mark.parametrize("length", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64"])
def test_all_vectors(target: str, length: int, dtype: str) -> None:
    data = [pg.GlobalArg(x, dtype, f"n, {length}", dim_tags="N0, vec") for x in ("a", "b")]
    loops = f"{{ [i, j]: 0<=i<n and 0<=j<{length} }}"
    knl = pg.make_kernel(loops, f"b[i, j] = a[i, {length - 1} - j]", [*data, "n"])
    knl = pg.tag_inames(pg.prioritize_loops(knl, "i, j"), {"j": "unr"})
    a = random(13, length, dtype)
    _, (b,) = knl.executor(target)(a=a)
    np.testing.assert_array_equal(b, a[:, ::-1], strict=True)


def test_arrays_at_odd_addresses_have_vectors_in_c() -> None:
    run = copies("float64", {"dim_tags": "N0, vec"}, {}).executor("c")
    flat = np.arange(41.0)
    for start in range(4):  # multiples of an element's size, not of a vector's
        a = flat[start : start + 32].reshape(8, 4)
        np.testing.assert_array_equal(run(a=a)[1][0], a + 1)


# --- arrays in parts


def parts(n: int = 5) -> list[Any]:
    return [np.arange(n) + 10.0 * k for k in range(4)]


SEPARATE = copies("float64", {"dim_tags": "N0, sep"}, {"dim_tags": "N0, sep"})


def as_objects(arrays: list[Any]) -> Any:
    found = np.empty(len(arrays), object)
    for k, array in enumerate(arrays):
        found[k] = array
    return found


@pytest.mark.parametrize("form", [tuple, list, as_objects])
def test_several_arrays(target: str, form: Any) -> None:
    for n in (0, 1, 5):
        _, (out,) = SEPARATE.executor(target)(a=form(parts(n)))
        assert type(out).__name__ == "tuple"
        np.testing.assert_array_equal(out, [a + 1 for a in parts(n)])


def test_several_arrays_by_their_names(target: str) -> None:
    arrays, into = parts(), parts()
    named = {f"a_s{k}": a for k, a in enumerate(arrays)}
    _, (out,) = SEPARATE.executor(target)(**named, out=(None, None, None, into[3]))
    np.testing.assert_array_equal(out, [a + 1 for a in arrays])
    assert out[3] is into[3]


def test_several_arrays_in_a_dictionary(target: str) -> None:
    knl = pg.set_options(SEPARATE, return_dict=True)
    _, found = knl.executor(target)(a=parts())
    assert list(found) == ["out"]
    np.testing.assert_array_equal(found["out"], [a + 1 for a in parts()])


def test_two_axes_of_several_arrays(target: str) -> None:
    data = [pg.GlobalArg(x, "int32", "2, n, 3", dim_tags="sep, N0, sep") for x in ("a", "out")]
    loops = "{ [i, j, k]: 0<=i<n and 0<=j<2 and 0<=k<3 }"
    knl = pg.make_kernel(loops, "out[j, i, k] = a[1 - j, i, 2 - k]", [*data, "n"])
    knl = pg.prioritize_loops(knl, "i, j, k")
    knl = pg.tag_inames(knl, {"j": "unr", "k": "unr"})
    a = np.arange(24, dtype=np.int32).reshape(2, 4, 3)
    given = tuple(tuple(np.ascontiguousarray(a[j, :, k]) for k in range(3)) for j in range(2))
    _, (out,) = knl.executor(target)(a=given)
    for j in range(2):
        for k in range(3):
            np.testing.assert_array_equal(out[j][k], a[1 - j, :, 2 - k])


def test_obligations_of_several_arrays_are_looked_at(target: str) -> None:
    table = pg.GlobalArg("table", "float64", "m, 2", dim_tags="N0, sep")
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = table[idx[i], 1]", [table, "..."])
    given = {"table": (np.zeros(3), np.arange(3.0)), "idx": np.array([2, 0])}
    run = knl.executor(target)
    _, (out,) = run(check_assumptions=True, **given)
    np.testing.assert_array_equal(out, [2.0, 0.0])
    given["idx"] = np.array([3, 0])
    with pytest.raises(errors.ObligationViolated):
        run(check_assumptions=True, **given)


def test_what_is_no_several_arrays() -> None:
    run = SEPARATE.executor("c")
    whole = np.zeros((5, 4))
    for wrong, why in (
        (whole, "has to be 4 arrays, for an axis of it is tagged sep; it is of type ndarray"),
        (parts()[:3], "it is 3 of them"),
        (3.5, "it is of type float"),
    ):
        with pytest.raises(errors.WrongArgumentType) as caught:
            run(a=wrong)
        assert why in caught.value.what
        assert "a_s0=..." in (caught.value.remedy or "")
    np.testing.assert_array_equal(run(a=tuple(np.moveaxis(whole, 1, 0).copy()))[1][0], whole.T + 1)
    for twice in ({"a": tuple(parts()), "a_s1": whole[:, 0]}, {"a_s1": whole[:, 0], "a": parts()}):
        with pytest.raises(errors.InvalidArgument, match="'a_s1' is passed twice"):
            run(**twice)
    with pytest.raises(errors.MissingArgument, match="a_s3"):
        run(a_s0=whole[:, 0], a_s1=whole[:, 0], a_s2=whole[:, 0])
    with pytest.raises(errors.WrongStrides, match="a_s0"):
        run(a=tuple(whole.T))
    with pytest.raises(errors.OverlappingArguments, match="'out_s0' and 'a_s0' overlap"):
        run(a=(same := parts()), out=(same[0], None, None, None))
    mixed = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = b[i, 0] + b[i, 1]",
        [pg.GlobalArg("b", shape="n, 2", dim_tags="N0, sep"), "..."],
    )
    with pytest.raises(errors.WrongArgumentType, match="b_s0: float64, b_s1: int32"):
        mixed.executor("c")(b=(np.zeros(3), np.zeros(3, np.int32)))


# --- offsets, and what is refused


def test_offsets_of_device_arrays() -> None:
    cl = pyopencl()
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    run = copies("float32", {"offset": "first"}, {"offset": 6}).executor("opencl")
    flat = cl.array.to_device(queue, np.arange(64, dtype=np.float32))
    for first in (0, 3, 20):
        a = flat[first : first + 20].reshape(5, 4)
        _, (out,) = run(queue, a=a)
        np.testing.assert_array_equal(out.get(), a.get() + 1)
        assert out.offset == 6 * 4
    wrong = cl.array.zeros(queue, 20, np.float32).reshape(5, 4)
    with pytest.raises(errors.WrongStrides) as caught:
        run(queue, a=flat[:20].reshape(5, 4), out=wrong)
    assert "begins 0 elements into its buffer; it has to begin 6 elements" in caught.value.what
    with pytest.raises(errors.WrongStrides, match="first = 2 was passed"):
        run(queue, a=flat[3:23].reshape(5, 4), first=2)


def test_vectors_of_device_arrays_begin_at_vectors() -> None:
    cl = pyopencl()
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    run = copies("float32", {"dim_tags": "N0, vec"}, {}).executor("opencl")
    flat = cl.array.to_device(queue, np.arange(64, dtype=np.float32))
    a = flat[8:28].reshape(5, 4)
    np.testing.assert_array_equal(run(queue, a=a)[1][0].get(), a.get() + 1)
    with pytest.raises(errors.MisalignedArray, match="begins 3 elements into its buffer"):
        run(queue, a=flat[3:23].reshape(5, 4))


def test_elements_in_one_place(target: str) -> None:
    run = copies("float64", {}, {"strides": "ld, 1"}).executor(target)
    a = random(5, 4, "float64")
    out = np.zeros((5, 4))
    run(a=a, out=out)
    np.testing.assert_array_equal(out, a + 1)
    with pytest.raises(errors.OverlappingElements) as caught:
        run(a=a, out=as_strided(np.zeros(20), (5, 4), (16, 8)))
    assert "out[0, 2] and out[1, 0] lie in one place" in caught.value.what
    with pytest.raises(errors.OverlappingElements):
        run(a=a, ld=3)  # it would be allocated so
    undeclared = copies("float64", {}, {}).executor(target)
    with pytest.raises(errors.OverlappingElements):
        undeclared(a=a, out=as_strided(np.zeros(20), (5, 4), (8, 8)))
    # What is only read may overlap.
    windows = as_strided(np.arange(8.0), (5, 4), (8, 8))
    np.testing.assert_array_equal(undeclared(a=windows)[1][0], windows + 1)


def test_other_layouts_are_refused(target: str) -> None:
    run = copies("float64", {"order": "F"}, {"dim_tags": "N1, N0(pad_to=8)"}).executor(target)
    a = np.asfortranarray(random(5, 4, "float64"))
    np.testing.assert_array_equal(run(a=a)[1][0], a + 1)
    with pytest.raises(errors.WrongStrides) as caught:
        run(a=np.ascontiguousarray(a))
    assert "'a' has the strides, in elements, (4, 1); it has to be (1, 5)" in caught.value.what
    assert "n = 5" in caught.value.what
    with pytest.raises(errors.WrongStrides, match=r"\(4, 1\); it has to be \(8, 1\)"):
        run(a=a, out=np.zeros((5, 4)))
    auto = copies("float64", {"strides": (pg.auto, 2)}, {}).executor(target)
    with pytest.raises(errors.WrongStrides, match=r"\(4, 1\); it has to be \(any, 2\)"):
        auto(a=np.ascontiguousarray(a))
    vectors = copies("float64", {"dim_tags": "stride:auto, vec"}, {}).executor(target)
    with pytest.raises(errors.WrongStrides, match="multiples of 4"):
        vectors(a=np.zeros((5, 6))[:, :4])


def test_large_strides_make_counters_of_64_bits() -> None:
    layout = {"strides": f"{2**33}, 1"}
    source = str(pg.generate_code(copies("int8", layout, {}), "c"))
    assert "int64_t i" in source


# --- alignment


def doubled(**more: Any) -> Kernel:
    data = [pg.GlobalArg(x, "float32", "n, 4", **more) for x in ("a", "out")]
    loops = "{ [i, j]: 0<=i<n and 0<=j<4 }"
    return pg.make_kernel(loops, "out[i, j] = 2*a[i, j]", [*data, "n"], loop_priority="i, j")


def aligned(n: int, alignment: int, beyond: int = 0) -> Any:
    flat = np.zeros(16 * n + 2 * alignment + beyond, np.uint8)
    start = -flat.ctypes.data % alignment + beyond
    return flat[start : start + 16 * n].view(np.float32).reshape(n, 4)


@pytest.mark.parametrize("layout", [{}, {"offset": 16}, {"dim_tags": "C, C(pad_to=16)"}], ids=str)
@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_alignment_in_c(alignment: int, layout: dict[str, Any]) -> None:
    knl = doubled(alignment=alignment, **layout)
    assert f"a = __builtin_assume_aligned(a, {alignment});" in str(pg.generate_code(knl, "c"))
    assert f"alignment: {alignment}" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    run = knl.executor("c")
    if "dim_tags" in layout:
        flat = aligned(20, max(alignment, 4))
        a = as_strided(flat, (5, 4), (64, 4))
    else:
        a = aligned(5, max(alignment, 4), layout.get("offset", 0) * 4)
    a[...] = random(5, 4, "float32")
    for _ in range(5):
        _, (out,) = run(a=a)
        np.testing.assert_array_equal(out, 2 * a)
        begin = out.__array_interface__["data"][0] - 4 * layout.get("offset", 0)
        assert begin % alignment == 0


def test_arrays_that_are_not_aligned() -> None:
    run = doubled(alignment=64).executor("c")
    with pytest.raises(errors.MisalignedArray, match="does not begin where its alignment says"):
        run(a=aligned(5, 64, 16))
    run(a=aligned(0, 64))


def test_alignment_on_devices(target: str) -> None:
    tile = pg.TemporaryVariable("t", "float32", (4,), alignment=32)
    text = "t[j] = a[i, j] \n out[i, k] = t[3 - k]"
    loops = "{ [i, j, k]: 0<=i<n and 0<=j,k<4 }"
    data = [tile, pg.GlobalArg("a", "float32", "n, 4", alignment=64), "..."]
    knl = pg.make_kernel(loops, text, data, loop_priority=("i, j", "i, k"))
    assert "float t[4] __attribute__((aligned(32)));" in str(pg.generate_code(knl, target))
    assert pg.parse_kernel(str(knl)) == knl
    a = aligned(5, 64)
    a[...] = random(5, 4, "float32")
    np.testing.assert_array_equal(knl.executor(target)(a=a)[1][0], a[:, ::-1])


def test_devices_align_buffers_to_some_extent() -> None:
    cl = pyopencl()
    device = cl.CommandQueue(cl.create_some_context(interactive=False)).device
    known = device.mem_base_addr_align // 8
    a = random(5, 4, "float32")
    doubled(alignment=known).executor("opencl")(a=a)
    if known < 4096:
        with pytest.raises(errors.MisalignedArray, match=f"begin at multiples of {known}"):
            doubled(alignment=4096).executor("opencl")(a=a)


@pytest.mark.parametrize("n", [1, 7])
def test_global_temporaries_are_aligned(target: str, n: int) -> None:
    t = pg.TemporaryVariable("t", "int32", (8,), pg.AddressSpace.GLOBAL, alignment=128)
    text = "t[i] = a[i] \n out[j] = t[7 - j]"
    loops = "{ [i, j]: 0<=i,j<8 }"
    knl = pg.make_kernel(loops, text, [t, pg.GlobalArg("a", "int32", (8,)), "..."])
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    a = np.arange(8, dtype=np.int32) * n
    np.testing.assert_array_equal(knl.executor(target)(a=a)[1][0], a[::-1])


def test_elements_are_apart_for_the_sizes_that_are_assumed(target: str) -> None:
    """With more rows, a[1, 0] would lie where a[0, 2] does."""
    array = pg.GlobalArg("a", "float64", "n, 4", strides=(2, 1))
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 and i >= 0 }"]
    given: Any = (domains, "a[i, j] = b[i, j]", [array, "..."])
    with pytest.raises(errors.OverlappingElements):
        pg.make_kernel(*given)
    knl = pg.make_kernel(*given, assumptions="n <= 1")
    b = random(1, 4, "float64")
    np.testing.assert_array_equal(knl.executor(target)(b=b)[1][0], b)
