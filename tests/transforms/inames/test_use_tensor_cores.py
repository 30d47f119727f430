"""`polygen.use_tensor_cores`: what it takes, and what a kernel says of it."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotOnTensorCores, TagConflict, UnknownIname

DOMAIN = "{ [i,j,v,k]: 0<=i<8 and 0<=j<4 and 0<=v<2 and 0<=k<4 }"


OTHER = "'other' is in the loop over 'v', too"


def small(
    update: str = "s[v] = s[v] + a[i,k]*b[k,2*j+v]", more: str = "", inames: str = "i:j:v:k"
) -> pg.Kernel:
    knl = pg.make_kernel(
        DOMAIN,
        f"""
        s[v] = 0                         {{id=clear, inames=i:j:v}}
        {update}                         {{id=add, inames={inames}, dep=clear}}
        c[i,2*j+v] = s[v]                {{id=store, dep=add}}
        {more}
        """,
        [pg.TemporaryVariable("s", "float64", 2), "..."],
        name="small",
        loop_priority="i, j, v, k",
    )
    knl = pg.add_dtypes(knl, dict.fromkeys(knl.variables.keys() & {"a", "b"}, "float64"))
    for insn in ("clear", "store"):
        knl = pg.duplicate_inames(knl, "v", within=f"id:{insn}")
    return knl


def test_the_loops_are_tagged() -> None:
    knl = pg.use_tensor_cores(small(), "add", "v, k")
    assert str(knl.tags["v"]) == str(knl.tags["k"]) == "mma"
    assert pg.parse_kernel(str(knl)) == knl
    assert knl.original is not None
    assert pg.replay(knl.original, knl.history) == knl
    assert pg.use_tensor_cores(knl, "add", "v, k") == knl


def test_it_computes_the_same() -> None:
    knl = small()
    rng = np.random.default_rng(1)
    a, b = rng.random((8, 4)), rng.random((4, 8))
    new = pg.use_tensor_cores(pg.tag_inames(knl, "i: l.1, j: l.0"), "add", "v, k")
    for each, target in ((knl, "c"), (new, "c"), (new, "opencl")):
        _, (c,) = each.executor(target)(a=a, b=b)
        np.testing.assert_allclose(c, a @ b, rtol=1e-14)


@pytest.mark.parametrize(
    ("knl", "inames", "expected"),
    [
        (small("s[v] = s[v] + a[i,k]"), "v, k", "it does not add a product of two factors"),
        (small("s[v] = s[v] - a[i,k]*b[k,2*j+v]"), "v, k", "'k' is no loop over rows"),
        (small("s[v] = 2*s[v] + a[i,k]*b[k,2*j+v]"), "v, k", "it does not add a product"),
        (small("s[v] = s[v] + 2*a[i,k]*b[k,2*j+v]"), "v, k", "it does not add a product"),
        (small(), "v", "its sums run over 0 of the loops, not one"),
        (small(), "j, k", "'j' is no loop over rows, columns or terms of the sum"),
        (small(), "i, k", "'i' is no loop over rows"),
        (small(), "k, v_0", "it is not in the loop over 'v_0'"),
        (small(more="s[v] = s[v]*a[0,k] {id=other, inames=i:j:v:k, dep=add}"), "v, k", OTHER),
    ],
)
def test_what_is_refused(knl: pg.Kernel, inames: str, expected: str) -> None:
    with pytest.raises(NotOnTensorCores) as caught:
        pg.use_tensor_cores(knl, "add", inames)
    assert expected in str(caught.value)
    assert "tensor cores cannot execute instruction 'add'" in str(caught.value)


def test_other_tags_stay() -> None:
    with pytest.raises(TagConflict, match="'v' is tagged unr already"):
        pg.use_tensor_cores(pg.tag_inames(small(), "v: unr"), "add", "v, k")
    with pytest.raises(UnknownIname):
        pg.use_tensor_cores(small(), "add", "v, w")
