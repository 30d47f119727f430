"""`chunk_iname`: a loop in a number of parts."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import ExtentNotConstant, InvalidArgument, UnknownIname
from tests.oracle.cases import agree, kernel
from tests.transforms.test_split_iname import assert_bijection

LINE = kernel("{ [i]: 0<=i<10 }", "out[i] = 2*a[i]")


@pytest.mark.parametrize(("chunks", "length"), [(1, 10), (2, 5), (3, 4), (4, 3), (7, 2), (11, 1)])
def test_lengths(chunks: int, length: int) -> None:
    new = pg.chunk_iname(LINE, "i", chunks)
    assert_bijection(LINE, new, "i", length)
    agree(LINE, [{}], lambda k: pg.chunk_iname(k, "i", chunks, inner_tag="unr", slabs=(0, 1)))


@pytest.mark.parametrize("extent", [0, 1, 7, 8, 9])
def test_numpy_agrees(extent: int) -> None:
    knl = pg.fix_parameters(kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]"), n=extent)
    new = pg.chunk_iname(knl, "i", 4, "chunk", "within", "g.0", "l.0")
    a = np.arange(extent, dtype=np.float32)
    for target in ("c", "opencl"):
        _, (out,) = new.executor(target)(a=a)
        np.testing.assert_array_equal(out, 2 * a)


def test_refused() -> None:
    with pytest.raises(ExtentNotConstant, match="divided into 4 chunks: its values are not betw"):
        pg.chunk_iname(kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]"), "i", 4)
    with pytest.raises(ExtentNotConstant, match="of which none is negative"):
        pg.chunk_iname(kernel("{ [i]: -3<=i<5 }", "out[i+3] = 2*a[i+3]"), "i", 4)
    with pytest.raises(UnknownIname, match="no iname 'k'"):
        pg.chunk_iname(LINE, "k", 4)
    with pytest.raises(InvalidArgument, match="num_chunks=0, which is not a positive integer"):
        pg.chunk_iname(LINE, "i", 0)
