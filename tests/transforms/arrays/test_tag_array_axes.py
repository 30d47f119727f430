"""`tag_array_axes`: where elements lie, declared anew, and the results are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedLayout,
    MalformedTag,
    OverlappingElements,
    UnknownArgument,
    VerbatimNotPossible,
    WrongStrides,
)
from polygen.ir.layout import Nested
from tests.oracle.compare import check_arrays, make_arguments, typed
from tests.transforms.arrays.array_kernels import transposed

SIZES = ((0, 3), (1, 1), (7, 5), (8, 4), (9, 1))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_orders_of_arguments(target: str) -> None:
    column_major = pg.tag_array_axes(transposed(), "a, out", "F")
    padded = pg.tag_array_axes(transposed(), ["out"], ("N1", "N0(pad_to=4)"))
    strided = pg.tag_array_axes(transposed(), "out", "stride:1, stride:m + 1")
    for n, m in SIZES:
        a = np.random.default_rng(n).integers(-8, 9, size=(n, m)).astype(np.float64)
        wanted = 2 * a.T + np.arange(m)[:, np.newaxis]
        for knl, strides in (
            (column_major, (1, m)),
            (padded, (-(-n // 4) * 4, 1)),
            (strided, (1, m + 1)),
        ):
            given = np.asfortranarray(a) if knl is column_major else a
            _, (out,) = knl.executor(target)(a=given, n=n, m=m)
            np.testing.assert_array_equal(out, wanted)
            if n > 1 and m > 1:
                assert tuple(s // 8 for s in out.strides) == strides
    with pytest.raises(WrongStrides):
        column_major.executor(target)(a=np.zeros((3, 4)))


def test_only_the_layout_is_another() -> None:
    old = transposed()
    new = pg.tag_array_axes(old, "a", "N0, N1")
    assert new.instructions == old.instructions
    assert new.domains == old.domains
    assert new.array("a").dim_tags == (Nested(0), Nested(1))
    assert new.array("out") == old.array("out")
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(new.original or new, new.history) == new
    assert pg.tag_array_axes(new, "a", (Nested(0), Nested(1))) is new
    for sizes in ({"n": n, "m": m} for n, m in SIZES):
        arguments = make_arguments(old, sizes)
        check_arrays(
            typed(old, arguments), arguments, [lambda k: pg.tag_array_axes(k, "a, out", "F")]
        )


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_vectors_and_separate_arrays(target: str) -> None:
    """Structures of arrays to arrays of structures: where the axis of constants goes, decides."""
    old = pg.make_kernel(
        "{ [i, k]: 0<=i<n and 0<=k<4 }",
        "out[i, k] = a[i, 3 - k] + k",
        [pg.GlobalArg(x, "float32", "n, 4") for x in ("a", "out")] + ["..."],
        loop_priority="i, k",
    )
    old = pg.tag_inames(old, {"k": "unr"})
    for n in (0, 1, 7, 8):
        a = np.arange(4 * n, dtype=np.float32).reshape(n, 4)
        wanted = a[:, ::-1] + np.arange(4, dtype=np.float32)
        _, (out,) = pg.tag_array_axes(old, "a, out", "N0, vec").executor(target)(a=a, n=n)
        np.testing.assert_array_equal(out, wanted)
        planes = tuple(a.T.copy())
        separate = pg.tag_array_axes(old, "a, out", "N0, sep")
        _, (parts,) = separate.executor(target)(a=planes, n=n)
        assert len(parts) == 4
        np.testing.assert_array_equal(np.stack(parts, axis=1), wanted)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_a_tile_that_is_padded(target: str) -> None:
    old = pg.make_kernel(
        "{ [b, i, j, k, l]: 0<=b<n and 0<=i,j,k,l<4 }",
        "t[i, j] = a[b, i, j] \n out[b, k, l] = t[l, k]",
        [
            pg.TemporaryVariable("t", "float64", (4, 4), pg.AddressSpace.LOCAL),
            pg.GlobalArg("a", "float64", "n, 4, 4"),
            "...",
        ],
    )
    new = pg.tag_array_axes(old, "t", "row:stride:5, column:stride:1")
    assert new.array("t").dim_names == ("row", "column")
    assert pg.tag_array_axes(new, "t", "F").array("t").dim_names == ("row", "column")
    new = pg.tag_inames(new, {"b": "g.0", "i": "l.1", "j": "l.0", "k": "l.1", "l": "l.0"})
    assert "t[5 * i + j]" in str(pg.generate_code(new, "opencl"))
    for n in (0, 1, 3):
        a = np.random.default_rng(n).random((n, 4, 4))
        _, (out,) = new.executor(target)(a=a, n=n)
        np.testing.assert_array_equal(out, a.transpose(0, 2, 1))


def test_layouts_that_are_refused() -> None:
    knl = transposed()
    with pytest.raises(OverlappingElements, match=r"out\[0, 1\] and out\[1, 0\] lie in one place"):
        pg.tag_array_axes(knl, "out", "stride:1, stride:1")
    assert pg.tag_array_axes(knl, "a", "stride:1, stride:1") != knl  # windows, which is only read
    with pytest.raises(MalformedTag, match="no order of the axes"):
        pg.tag_array_axes(knl, "a", "N0, N2")
    with pytest.raises(MalformedLayout, match=r"shape \(n, m\), and tags or strides for 1 axes"):
        pg.tag_array_axes(knl, "a", "N0")
    with pytest.raises(MalformedLayout, match="extent m along an axis tagged vec"):
        pg.tag_array_axes(knl, "a", "N0, vec")
    with pytest.raises(UnknownArgument, match="no argument or temporary 'b'"):
        pg.tag_array_axes(knl, "a, b", "C")
    with pytest.raises(InvalidArgument, match="'n', which is not arrays"):
        pg.tag_array_axes(knl, "n", "C")
    wrong: Any
    for wrong in (3, [], [1, 2], ["N0", Nested(1)]):
        with pytest.raises(InvalidArgument, match="a sequence of tags of axes"):
            pg.tag_array_axes(knl, "a", wrong)
    image = pg.make_kernel(
        "{ [i, j]: 0<=i,j<4 }",
        "out[i, j] = g[i, j]",
        [pg.ImageArg("g", "float32", (4, 4)), "..."],
        loop_priority="i, j",
    )
    with pytest.raises(MalformedLayout, match="'g' is an image: where its elements lie"):
        pg.tag_array_axes(image, "g", "F")


def test_verbatim_code_says_where_elements_lie() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        '... code(i) "a[2*i] = 1;" writes(a[i, 0])  {inames=i}',
        [pg.GlobalArg("a", "float64", (4, 2)), "..."],
    )
    with pytest.raises(VerbatimNotPossible, match="touches 'a', and says where its elements lie"):
        pg.tag_array_axes(knl, "a", "F")
