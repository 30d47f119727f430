"""`chunk_iname`: a loop in a number of parts."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    ExtentNotConstant,
    InvalidArgument,
    TagConflict,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import Step, agree, kernel, split, steps
from tests.transforms.splitting.test_split_iname import assert_bijection

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


# --- chunks whose lengths follow from sizes

ANY = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] + i")
RIM = kernel(
    "{ [i]: 1<=i<n-1 }", "out[i] = a[i-1] + a[i+1]",
    pg.GlobalArg("a", shape="n"), pg.GlobalArg("out", shape="n"),
)  # fmt: skip
SUM = kernel("{ [r,i]: 0<=r<2 and 0<=i<n }", "out[r] = sum(i, a[r,i]*i)")
SCALED = kernel("{ [i]: 0<=i<n }", "<> t = 2*a[i]\nout[i] = t + a[i]")
PLANE = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[j,i] + j")
BELOW = kernel("{ [i]: -3<=i<5 }", "out[i+3] = 2*a[i+3]")
LENGTHS = [{"n": n, "m": 3} for n in (0, 1, 2, 3, 4, 7, 8, 9, 13)]


def chunks(number: int, **options: Any) -> Step:
    """Return the step that makes chunks."""
    return lambda knl: pg.chunk_iname(knl, "i", number, **options)


@few(2, "knl", [ANY, RIM, SUM, SCALED, PLANE])
def test_lengths_that_follow_from_sizes(knl: Kernel) -> None:
    inner = steps(chunks(3, outer_tag="g.0"), split("i_inner", 2, inner_tag="l.0"))
    more = (chunks(3, outer_tag="g.0"), inner) if knl is not SUM else (chunks(2),)
    agree(knl, LENGTHS, chunks(1), chunks(4), chunks(4, outer_tag="unr"), *more)


def test_each_chunk_has_as_many_as_others_or_one_more() -> None:
    for number in (1, 3, 4):
        (domain,) = pg.chunk_iname(ANY, "i", number).domains
        for n in (0, 1, 5, 8, 11):
            points = domain.set.fix_val(isl.dim_type.param, 0, isl.Val(n))
            lengths = [
                int(points.fix_val(isl.dim_type.set, 0, isl.Val(c)).count_val().to_python())
                for c in range(number)
            ]
            assert sum(lengths) == n
            assert lengths == sorted(lengths, reverse=True)
            assert lengths[0] - lengths[-1] <= 1


def test_as_code() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", assumptions="n % 4 = 0", name="twice")
    new = pg.chunk_iname(pg.add_dtypes(knl, {"a": "float32"}), "i", 4, outer_tag="g.0")
    assert [str(size) for size in new.derived_sizes] == ["i_length = (n//4)"]
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(knl, new.history) == new
    assert pg.obligations(new) == ()
    code = str(pg.generate_code(new, "c"))
    assert "int const i_length = n / 4;" in code
    assert "out[i_length * i_outer + i_inner] = 2.0f * a[i_length * i_outer + i_inner];" in code
    assert code.index("#pragma omp parallel for") < code.index("i_inner = 0; i_inner <")


def test_with_numpy() -> None:
    new = steps(chunks(4, outer_tag="g.0"), split("i_inner", 8, inner_tag="l.0"))(ANY)
    total = pg.split_reduction_inward(pg.chunk_iname(SUM, "i", 4), "i_inner")
    for target in ("c", "opencl"):
        run, add = new.executor(target), total.executor(target)
        for n in (0, 1, 7, 31, 32, 33):
            a = np.random.default_rng(n).random((2, n))
            np.testing.assert_allclose(run(a=a[0])[1][0], 2 * a[0] + np.arange(n), rtol=1e-12)
            np.testing.assert_allclose(add(a=a)[1][0], (a * np.arange(n)).sum(1), rtol=1e-12)


def test_values_below_zero() -> None:
    agree(BELOW, [{}], chunks(4), chunks(3, outer_tag="g.0"), chunks(3, inner_tag="unr"))


def test_of_some_instructions() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]  {id=s}\nc[i] = 3*a[i]  {id=u}")
    new = pg.chunk_iname(knl, "i", 4, within="id:u", outer_tag="g.0")
    assert [sorted(i.within_inames) for i in new.instructions] == [["i"], ["i_inner", "i_outer"]]
    agree(knl, LENGTHS[2:5], lambda k: pg.chunk_iname(k, "i", 4, within="id:u", outer_tag="g.0"))


def test_a_recurrence() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1")
    agree(knl, LENGTHS, chunks(4))
    with pytest.raises(CannotProve, match="the second would come first"):
        pg.chunk_iname(knl, "i", 4, outer_tag="g.0")


def test_refused() -> None:
    triangle = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i]")
    with pytest.raises(ExtentNotConstant, match=r"'i' cannot be divided into chunks.* that of 'j'"):
        pg.chunk_iname(triangle, "i", 4)
    with pytest.raises(InvalidArgument, match="chunks of 'i' have no constant length"):
        pg.chunk_iname(ANY, "i", 4, slabs=(0, 1))
    with pytest.raises(TagConflict, match=r"'i' cannot become another one: it is tagged g\.0"):
        pg.chunk_iname(pg.tag_inames(ANY, {"i": "g.0"}), "i", 4)
    with pytest.raises(UnknownIname, match="no iname 'k'"):
        pg.chunk_iname(LINE, "k", 4)
    with pytest.raises(InvalidArgument, match="num_chunks=0, which is not a positive integer"):
        pg.chunk_iname(LINE, "i", 0)
