"""`unprivatize_temporaries_with_inames`: one element for all iterations of a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AxisNotPossible,
    IllegalStep,
    InvalidArgument,
    UnknownArgument,
    UnknownIname,
    UserError,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree_in_arrays, kernel

SIZES = tuple({"n": n} for n in (0, 1, 5))


# Loo.py's example: rows of several matrices times a vector
PRODUCTS = kernel(
    ("{ [m,i]: 0<=m<3 and 0<=i<n }", "{ [k]: 0<=k<n }"),
    """
    acc = 0                    {id=init, inames=m:i}
    acc = acc + a[m,i,k]*v[k]  {id=update, inames=m:i:k, dep=init}
    out[m,i] = acc             {id=out, dep=update}
    """,
    pg.TemporaryVariable("acc", np.float64),
    loop_priority="i, m",
)


def _share(*args: Any, **kwargs: Any) -> Step:
    return lambda knl: pg.unprivatize_temporaries_with_inames(knl, *args, **kwargs)


def test_back_again() -> None:
    private = pg.privatize_temporaries_with_inames(PRODUCTS, "m")
    assert pg.unprivatize_temporaries_with_inames(private, "m") == PRODUCTS
    knl = kernel(
        "{ [i,j]: 0<=i<n and i<=j<i+4 }",
        "<float64> t = a[i,j]  {id=t}\nout[i,j] = t + 1",
        pg.GlobalArg("a", "float64", "n, n+4"),
    )
    private = pg.privatize_temporaries_with_inames(knl, "j")
    assert pg.unprivatize_temporaries_with_inames(private, ["j"]) == knl
    agree_in_arrays(private, SIZES, _share("j"))


@pytest.mark.parametrize("inames", ["i", "j", "i, j"])
def test_some_axes(inames: str) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<2 and 3<=j<6 }",
        "f(x) := t[x - 3, i] + s[i]\nt[j-3, i] = a[i,j] {id=t}\ns[i] = 1 {id=s}\nout[i,j] = f(j)",
        pg.TemporaryVariable("t", "float64", (3, 2), dim_tags="N0, N1", dim_names="x, y"),
        pg.TemporaryVariable("s", "float64", 2),
        pg.GlobalArg("a", "float64", (2, 6)),
        loop_priority="i, j",
    )
    new = pg.unprivatize_temporaries_with_inames(knl, inames)
    shapes = {"i": [(), (3,)], "j": [(2,), (2,)], "i, j": [(), ()]}[inames]
    assert [t.shape for t in new.temporaries] == shapes
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(knl, new.history) == new
    agree_in_arrays(knl, [{}], _share(inames))
    a = np.random.default_rng(1).random((2, 6))
    for target in ("c", "opencl"):
        _, (out,) = new.executor(target)(a=a)
        np.testing.assert_array_equal(out[:, 3:], a[:, 3:] + 1)


def test_work_items_have_copies_anyway() -> None:
    knl = kernel(
        "{ [i]: 0<=i<8 }",
        "t[i] = a[i]  {id=t}\nout[i] = t[i]*t[i]",
        pg.TemporaryVariable("t", "float64", 8, address_space=pg.AddressSpace.LOCAL),
        pg.GlobalArg("a", "float64", 8),
    )
    shared = pg.tag_inames(knl, {"i": "l.0"})
    with pytest.raises(UserError, match="'t'"):
        pg.unprivatize_temporaries_with_inames(shared, "i")
    private = pg.set_temporary_address_space(shared, "t", "private")
    assert pg.unprivatize_temporaries_with_inames(private, "i").temporaries[0].shape == ()


def test_what_later_iterations_overwrite() -> None:
    apart = kernel(
        ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        "t[i] = a[i]  {id=t}\nout[j] = t[7-j]",
        pg.TemporaryVariable("t", "float64", 8),
        pg.GlobalArg("a", "float64", 8),
    )
    fused = pg.fuse_loops(kernel_with_both(), "i", "j")
    (iname,) = fused.inames
    assert pg.unprivatize_temporaries_with_inames(fused, iname).temporaries[0].shape == ()
    with pytest.raises(AxisNotPossible, match="'t' has no axis along which each use has i as its"):
        pg.unprivatize_temporaries_with_inames(apart, "i", "t")
    assert pg.unprivatize_temporaries_with_inames(apart, "i") is apart
    earlier = kernel(
        "{ [i]: 1<=i<8 }",
        "t[i] = a[i]  {id=t}\nout[i] = t[i] + if(i > 1, t[i-1], 0)",
        pg.TemporaryVariable("t", "float64", 8),
        pg.GlobalArg("a", "float64", 8),
    )
    with pytest.raises(IllegalStep):
        pg.unprivatize_temporaries_with_inames(earlier, "i")


def kernel_with_both() -> Kernel:
    return kernel(
        ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        "t[i] = a[i]  {id=t}\nout[j] = t[j]",
        pg.TemporaryVariable("t", "float64", 8),
        pg.GlobalArg("a", "float64", 8),
    )


def test_sharing_is_refused() -> None:
    knl = kernel_with_both()
    with pytest.raises(UnknownIname, match="no iname 'q'"):
        pg.unprivatize_temporaries_with_inames(knl, "q")
    with pytest.raises(InvalidArgument, match="'a' is an argument"):
        pg.unprivatize_temporaries_with_inames(knl, "i", "a")
    with pytest.raises(UnknownArgument, match="no argument or temporary 's'"):
        pg.unprivatize_temporaries_with_inames(knl, "i", "s")
    verbatim = kernel(
        "{ [i]: 0<=i<8 }",
        't[i] = a[i]  {id=t}\n... code(i) "out[i] = t[i];" reads(t) writes(out[i])  '
        "{inames=i, dep=t}",
        pg.TemporaryVariable("t", "float64", 8),
        pg.GlobalArg("a, out", "float64", 8),
    )
    with pytest.raises(VerbatimNotPossible, match="touches 't'"):
        pg.unprivatize_temporaries_with_inames(verbatim, "i", "t")


def test_the_last_axis_of_those_that_count() -> None:
    knl = kernel(
        "{ [i]: 0<=i<3 }",
        "t[i, i + 1] = a[i]  {id=t}\nout[i] = 2*t[i, i + 1]  {id=out}",
        pg.TemporaryVariable("t", "float64", (3, 4), dim_names="x, y"),
        pg.GlobalArg("a", "float64", 3),
    )
    new = pg.unprivatize_temporaries_with_inames(knl, "i")
    (t,) = new.temporaries
    assert (t.shape, t.dim_names) == ((3,), ("x",))
    assert pg.unprivatize_temporaries_with_inames(new, "i").temporaries[0].shape == ()
    agree_in_arrays(knl, [{}], _share("i"))
