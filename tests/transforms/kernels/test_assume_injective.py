"""`assume_injective`: an array holds no value twice."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    ClaimViolated,
    InvalidArgument,
    MalformedKernel,
    UnknownArgument,
)
from polygen.ir.claims import Injective
from tests.oracle.cases import kernel
from tests.transforms.kernels.scattered import LINE, PARALLEL, injective, scatter

PLANE = "{ [i,j]: 0<=i,j<n }"
UNLOCKED = [
    ("a[idx[i]] = b[i]", LINE, ("idx",)),
    ("a[idx[i]] = a[idx[i]] + b[i]", LINE, ("idx",)),
    ("a[2*idx[i]] = a[2*idx[i]+1] + b[i]", LINE, ("idx",)),  # even, and odd
    ("a[idx[n-1-i]] = b[i]", LINE, ("idx",)),
    ("a[idx[2*i+1]] = b[i]", LINE, ("idx",)),
    ("a[idx[jdx[i]]] = b[i]", LINE, ("idx", "jdx")),
    ("a[idx[i,3]] = b[i]", LINE, ("idx",)),
    ("a[idx[i],j] = a[idx[i],j] + b[i,j]", PLANE, ("idx",)),
    ("a[idx[i],j] = a[idx[i],n-1-j] + b[i,j]", PLANE, ("idx",)),
]


@pytest.mark.parametrize(("text", "domain", "names"), UNLOCKED)
def test_distinct_subscripts(text: str, domain: str, names: tuple[str, ...]) -> None:
    knl = scatter(text, domain)
    if "n-1-j" in text:
        knl = pg.prioritize_loops(knl, "i, j")
    for count in range(len(names)):
        with pytest.raises(CannotProve):
            pg.tag_inames(injective(knl, *names[:count]), PARALLEL)
    knl = injective(knl, *names)
    assert pg.tag_inames(knl, PARALLEL).claims == tuple(map(Injective, names))
    split = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    assert split.claims == knl.claims


LOCKED = [
    ("a[idx[i//2]] = b[i]", LINE),
    ("a[idx[i]//2] = b[i]", LINE),
    ("a[idx[i]] = a[idx[i]+1] + b[i]", LINE),
    ("a[idx[i]] = a[jdx[i]] + b[i]", LINE),
    ("a[idx[i]] = a[idx[i]//2] + b[i]", LINE),
    ("a[idx[j]] = b[i,j]", PLANE),
    ("a[idx[i]*idx[i]] = b[i]", LINE),
    ("a[idx[i]+jdx[i]] = b[i]", LINE),
]


@pytest.mark.parametrize(("text", "domain"), LOCKED)
def test_what_is_not_implied(text: str, domain: str) -> None:
    knl = scatter(text, domain)
    knl = injective(knl, *(name for name in ("idx", "jdx") if name in text))
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, PARALLEL)


def test_an_array_that_may_overlap_what_is_written_is_no_table() -> None:
    idx = pg.GlobalArg("idx", "int32", "n", may_alias=True)
    knl = injective(
        kernel(LINE, "a[idx[i]] = b[i]", pg.GlobalArg("a", shape="m"), idx, "..."), "idx"
    )
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, PARALLEL)


def test_no_table() -> None:
    knl = scatter()
    with pytest.raises(UnknownArgument, match="did you mean 'idx'"):
        pg.assume_injective(knl, "idxx")
    with pytest.raises(
        MalformedKernel, match=r"'a' cannot .* injective: instruction 's' writes it"
    ):
        pg.assume_injective(knl, "a")
    with pytest.raises(MalformedKernel, match=r"'n' cannot .* injective: it is no array argument"):
        pg.assume_injective(knl, "n")
    with pytest.raises(InvalidArgument):
        pg.assume_injective(knl, 3)  # type: ignore[arg-type]


def test_numpy_agrees_and_calls_can_be_checked() -> None:
    knl = pg.tag_inames(injective(scatter(), "idx"), PARALLEL)
    run = pg.add_dtypes(knl, {"a, b": "float64", "idx": "int32"}).executor("c")
    for n in (1, 2, 7):
        idx = np.random.default_rng(n).permutation(n + 3)[:n].astype(np.int32)
        a, b = np.zeros(n + 3), np.arange(n) + 0.5
        wanted = a.copy()
        wanted[idx] = b
        run(a=a, b=b, idx=idx)
        np.testing.assert_array_equal(a, wanted)
        run(a=a, b=b, idx=idx, check_assumptions=True)
    with pytest.raises(ClaimViolated, match="idx"):
        run(a=np.zeros(4), b=np.zeros(3), idx=np.array([2, 0, 2], np.int32), check_assumptions=True)


def test_it_is_a_step() -> None:
    knl = injective(scatter(), "idx")
    assert knl.copy(claims=()) == scatter()
    assert pg.assume_injective(knl, "idx") is knl
    assert pg.parse_kernel(str(knl)) == knl
    assert pg.replay(scatter(), knl.history) == knl
