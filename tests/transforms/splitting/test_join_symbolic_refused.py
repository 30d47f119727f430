"""What is refused of joined loops whose extents are sizes, and of the sizes that come of it."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import (
    ExtentNotConstant,
    KernelsDiffer,
    MalformedInstruction,
    MalformedKernel,
    MalformedText,
    MapMixesInames,
    NameTaken,
    NotTheSame,
    TagConflict,
    UnknownName,
)
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import DerivedSize
from tests.oracle.cases import kernel
from tests.transforms.splitting.test_join_symbolic import PLANE, after, joined


def test_kernels_in_one() -> None:
    more = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "c[i,j] = out[i,j] + 1", name="more")
    first = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j]*2", name="first")
    fused = pg.fuse_kernels([after(first, joined()), after(more, joined())])
    assert (fused.inames, [str(s) for s in fused.derived_sizes]) == (("ij",), ["n_m = n * m"])
    size = DerivedSize("n_m", None, (ex.Variable("n"), 2))
    other = after(more, joined()).copy(derived_sizes=(size,))
    with pytest.raises(KernelsDiffer, match=r"'n_m' is another size in each: n_m = n \* m and"):
        pg.fuse_kernels([after(first, joined()), other])


def test_a_size_is_what_it_was() -> None:
    knl = after(PLANE, joined())

    @pg.transformation
    def another(kernel: Kernel) -> Kernel:
        size = DerivedSize("n_m", None, (ex.Variable("n"), 2))
        return kernel.copy(derived_sizes=(size,))

    with pytest.raises(NotTheSame, match="other arguments, or sizes"):
        another(knl)


BLOCKED = pg.split_iname(PLANE, "i", 4)
DATA = kernel(
    ["{ [r]: 0<=r<n }", "{ [k]: 0<=k<e }"], "<> e = p[r]\ny[r] = sum(k, v[k])",
    pg.GlobalArg("p", "int32", "n"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("knl", "inames", "kind", "message"),
    [
        (kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 1"), "i, j", ExtentNotConstant,
         "i, j cannot be joined: how many values each has depends on sizes, and the bounds of "),
        (kernel("{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<i }", "out[i,j] = sum(k, a[k,j])"), "i, j",
         ExtentNotConstant, "the domain of 'i' is that of 'k', too"),
        (kernel(["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<i }"], "out[i,j] = sum(k, a[k,j])"),
         "i, j", ExtentNotConstant, "k.* mentions 'i'"),
        (BLOCKED, "i_outer, j", ExtentNotConstant, "the domain of 'i_outer' is that of 'i_inner'"),
        (DATA, "r, k", ExtentNotConstant, "they depend on 'e'"),
        (kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "c[i] = sum(j, a[i,j])"), "i, j", MapMixesInames,
         "'j' cannot be joined to 'i': instruction 'insn'.*is within 'i' alone.*duplicate_inames"),
        (pg.tag_inames(PLANE, {"j": "g.0"}), "i, j", TagConflict,
         "'j' cannot become another one: it is tagged g.0"),
    ],
)  # fmt: skip
def test_refused(knl: Kernel, inames: str, kind: type[pg.UserError], message: str) -> None:
    with pytest.raises(kind, match="(?s)" + message):
        pg.join_inames(knl, inames)


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        ("n_m = n * m", "n_m = n * k", UnknownName, "mentions 'k', which is no scalar argument"),
        ("n_m = n * m", "n_m = n / m", MalformedKernel, "no integer"),
        ("n_m = n * m", "n_m: n, m", MalformedText, "a derived size is a product of others"),
        ("n_m = n * m", "n = n * m", NameTaken, "more than one name 'n'"),
    ],
)
def test_texts_that_are_refused(old: str, new: str, kind: type[pg.UserError], message: str) -> None:
    with pytest.raises(kind, match=message):
        pg.parse_kernel(str(after(PLANE, joined())).replace(old, new))


def test_a_kernel_that_others_call() -> None:
    twice = pg.make_function("{ [i,j]: 0<=i<n and 0<=j<n }", "y[i,j] = 2*x[i,j]", name="twice")
    with pytest.raises(MalformedInstruction, match="such a kernel cannot be called") as info:
        pg.make_kernel(
            "{ [k]: 0<=k<4 }", "[i,j]: out[k,i,j] = twice(3, [i,j]: a[k,i,j])",
            [pg.GlobalArg("a", "float64", "4,3,3"), pg.GlobalArg("out", "float64", "4,3,3")],
            functions={"twice": after(twice, joined())},
        )  # fmt: skip
    assert "a loop for each factor, one inside of the other" in str(info.value)
