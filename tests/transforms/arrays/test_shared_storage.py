"""Several arrays that become one, and arguments that become images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AxisNotPossible,
    CannotProve,
    DependencyCycle,
    IllegalStep,
    InvalidArgument,
    MalformedKernel,
    MalformedLayout,
    NotConcatenable,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree_in_arrays, same

SIZES = (0, 1, 5, 8)


def two_tiles(**space: Any) -> Kernel:
    """Return a kernel that turns a short and a long part of rows, each by way of a temporary."""
    return pg.make_kernel(
        ["{ [o]: 0<=o<n }", "{ [i, j]: 0<=i,j<4 }", "{ [p, q]: 0<=p,q<6 }"],
        """
        s[i] = a[o, i]         {id=s, inames=o:i}
        b[o, j] = 2*s[3 - j]   {id=b}
        t[p] = a[o, p] + 1     {id=t, inames=o:p}
        c[o, q] = t[5 - q]     {id=c}
        """,
        [
            pg.TemporaryVariable("s", "float64", 4, **space),
            pg.TemporaryVariable("t", "float64", 6, **space),
            pg.GlobalArg("a", "float64", "n, 6"),
            "...",
        ],
    )


STEPS: dict[str, Step] = {
    "one for two": lambda k: pg.alias_temporaries(k, "s, t"),
    "the other way around": lambda k: pg.alias_temporaries(k, ["t", "s"], "u"),
    "one after the other": lambda k: pg.concatenate_arrays(k, "s, t"),
    "the longer first": lambda k: pg.concatenate_arrays(k, ["t", "s"], "u"),
    "columns": lambda k: pg.concatenate_arrays(
        pg.split_array_dim(pg.split_array_dim(k, ("s", 0), 2, False), ("t", 0), 3, False),
        "s, t",
        axis_nr=1,
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_temporaries_that_become_one(name: str) -> None:
    old, step = two_tiles(), STEPS[name]
    new = step(old)
    assert len(new.temporaries) == 1
    assert new.arguments == old.arguments
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(old, new.history) == new
    pg.check_well_formed(new)
    agree_in_arrays(old, [{"n": n} for n in (0, 1, 3)], same, step)
    for target in ("c", "opencl"):
        for n in SIZES:
            a = np.random.default_rng(n).random((n, 6))
            _, (b, c) = new.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(b, 2 * a[:, 3::-1])
            np.testing.assert_array_equal(c, a[:, ::-1] + 1)


def test_the_one_is_as_large_as_the_largest() -> None:
    (one,) = pg.alias_temporaries(two_tiles(), "s, t").temporaries
    assert (one.name, one.shape) == ("s", (6,))
    (both,) = pg.concatenate_arrays(two_tiles(), "s, t").temporaries
    assert (both.name, both.shape) == ("s_t", (10,))


def test_work_items_wait_before_storage_is_used_again() -> None:
    knl = pg.alias_temporaries(two_tiles(address_space=pg.AddressSpace.LOCAL), "s, t")
    knl = pg.tag_inames(knl, {"o": "g.0", "i": "l.0", "j": "l.0", "p": "l.0", "q": "l.0"})
    assert str(pg.generate_code(knl, "opencl")).count("barrier(") == 3
    for target in ("c", "opencl"):
        for n in SIZES:
            a = np.random.default_rng(n).random((n, 6))
            _, (b, c) = knl.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(b, 2 * a[:, 3::-1])
            np.testing.assert_array_equal(c, a[:, ::-1] + 1)


def chain(text: str) -> Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", text, [pg.GlobalArg("a", "float64", "n"), "..."])


def test_values_that_are_needed_at_once() -> None:
    with pytest.raises(IllegalStep):
        pg.alias_temporaries(two_tiles(), "s, t", synchronize_for_exclusive_use=False)
    both = chain("<> s = a[i] \n <> t = 2*a[i] \n out[i] = s + t")
    for synchronized in (True, False):
        with pytest.raises((IllegalStep, DependencyCycle)):
            pg.alias_temporaries(both, "s, t", None, synchronized)
    next_one = chain("<float64> s = a[i] \n <float64> t = 2*s \n out[i] = t + 1")
    new = pg.alias_temporaries(next_one, "s, t")
    assert [t.name for t in new.temporaries] == ["s"]
    with pytest.raises(DependencyCycle):
        pg.alias_temporaries(next_one, "t, s")
    follows = chain("<> s = a[i] \n <> t = 2*s \n out[i] = t + 1")  # whatever type out has
    assert len(pg.alias_temporaries(follows, "s, t").temporaries) == 1
    open_ = chain("<> s = a[i]*b[i] \n <> t = 2*s \n out[i] = t + 1")  # b may be complex
    with pytest.raises(CannotProve, match="types that are declared may settle this"):
        pg.alias_temporaries(open_, "s, t")
    later = chain("<> s = a[i] \n <> t = 2*s  {id=t} \n out[i] = t + s  {id=o}")
    with pytest.raises((IllegalStep, DependencyCycle)):
        pg.alias_temporaries(later, "s, t")
    for target in ("c", "opencl"):
        for n in SIZES:
            a = np.arange(float(n))
            _, (out,) = new.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(out, 2 * a + 1)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_arguments_one_after_the_other(target: str) -> None:
    old = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        ["f(x, y) := a[x, y] + i", "out[i, j] = f(i, j)*b[n - 1 - i, j] + c[i, j]"],
        [pg.GlobalArg(name, "float64", "n, m") for name in ("a", "b", "c", "out")] + ["..."],
        loop_priority="i, j",
    )
    rows = pg.concatenate_arrays(old, "a, b, c", "abc")
    columns = pg.concatenate_arrays(pg.tag_array_axes(old, "a, b", "F"), ["b", "a"], axis_nr=1)
    assert [x.name for x in rows.arguments if isinstance(x, pg.GlobalArg)] == ["abc", "out"]
    for n, m in ((0, 2), (1, 1), (7, 3), (8, 5)):
        a, b, c = np.random.default_rng(n).random((3, n, m))
        wanted = (a + np.arange(n)[:, np.newaxis]) * b[::-1] + c
        _, (out,) = rows.executor(target)(abc=np.concatenate((a, b, c)), n=n, m=m)
        np.testing.assert_allclose(out, wanted, rtol=1e-14)
        both = np.asfortranarray(np.concatenate((b, a), axis=1))
        _, (out,) = columns.executor(target)(b_a=both, c=c, n=n, m=m)
        np.testing.assert_allclose(out, wanted, rtol=1e-14)


def test_what_is_not_alike() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i]*b[i]*c[i, 0]*d[i]*e[i, 0]",
        [
            pg.GlobalArg("a", "float32", "n"),
            pg.GlobalArg("b", "float64", "n"),
            pg.GlobalArg("c", "float32", "n, 2"),
            pg.GlobalArg("d", "float32", "n"),
            pg.GlobalArg("e", "float32", "n, 3"),
            "...",
        ],
    )
    with pytest.raises(NotConcatenable, match="'a' and 'b' are not declared alike"):
        pg.concatenate_arrays(knl, "a, b")
    with pytest.raises(NotConcatenable, match="'a' and 'c' have other extents along another axis"):
        pg.concatenate_arrays(knl, "a, c")
    with pytest.raises(NotConcatenable, match="'c' and 'e' have other extents"):
        pg.concatenate_arrays(knl, "c, e")
    with pytest.raises(AxisNotPossible, match="'a' has 1 axis, and none of number 1"):
        pg.concatenate_arrays(knl, "a, d", axis_nr=1)
    with pytest.raises(NotConcatenable, match="have strides that are given"):
        pg.concatenate_arrays(pg.tag_array_axes(knl, "a, d", "stride:2"), "a, d")
    with pytest.raises(NotConcatenable, match="cannot be one: a claim says something of 'd'"):
        pg.concatenate_arrays(pg.assume_injective(knl, "d"), "a, d")
    overlapping = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i] + b[i]",
        [pg.GlobalArg(x, "float32", "n", may_alias=True) for x in ("a", "b")] + ["..."],
    )
    with pytest.raises(NotConcatenable, match="may overlap"):
        pg.concatenate_arrays(overlapping, "a, b")
    for few in ("a", "a, a"):
        with pytest.raises(InvalidArgument, match="is not several arrays, each once"):
            pg.concatenate_arrays(knl, few)
    with pytest.raises(pg.errors.NameTaken):
        pg.concatenate_arrays(knl, "a, d", "i")


def test_temporaries_that_cannot_share() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<k }"],
        """
        <int32> k = a[i]  {id=k}
        <int32> l = a[i] + 1  {id=l}
        <float32> r = 1.0  {id=r}
        u[i % 2] = 1.0  {id=u}
        v[0] = 1.0  {id=v}
        out[i] = sum(j, 1) + l + r + u[i % 2] + v[0]
        """,
        [
            pg.TemporaryVariable("u", "float32", 2),
            pg.TemporaryVariable("v", "float32", 2, strides="2"),
            pg.GlobalArg("a", "int32", "n"),
            "...",
        ],
    )
    for names, why in (
        ("l, k", "one of them is the bound of a loop"),
        ("l, r", "are not declared alike"),
        ("r, u", "have other numbers of axes"),
        ("v, u", "are not declared alike|have strides that are given"),
    ):
        with pytest.raises(NotConcatenable, match=why):
            pg.alias_temporaries(knl, names)
    for few in ("l", "l, l"):
        with pytest.raises(InvalidArgument, match="is not several temporaries, each once"):
            pg.alias_temporaries(knl, few)
    with pytest.raises(InvalidArgument, match="which is not temporaries"):
        pg.alias_temporaries(knl, "a, out")


def test_images() -> None:
    old = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[j, i] = a[i, j] + a[i, j + 1]",
        [pg.GlobalArg("a", "float32", "n, m + 1"), pg.GlobalArg("out", "float32", "m, n"), "..."],
        loop_priority="i, j",
    )
    new = pg.change_arg_to_image(old, "a")
    assert isinstance(new.array("a"), pg.ImageArg)
    assert pg.parse_kernel(str(new)) == new
    assert "read_imagef(a" in str(pg.generate_code(new, "opencl"))
    for n, m in ((1, 1), (7, 3), (8, 5)):
        a = np.random.default_rng(n).random((n, m + 1)).astype(np.float32)
        _, (out,) = new.executor("opencl")(a=a)
        np.testing.assert_array_equal(out, (a[:, :-1] + a[:, 1:]).T)
    with pytest.raises(MalformedKernel, match="'out', an image"):
        pg.change_arg_to_image(old, "out")
    with pytest.raises(MalformedLayout, match="'a' has a layout, an offset or an alignment"):
        pg.change_arg_to_image(pg.tag_array_axes(old, "a", "F"), "a")
    with pytest.raises(MalformedKernel, match="the image 'a' has 1 axis"):
        pg.change_arg_to_image(chain("out[i] = a[i]"), "a")
    with pytest.raises(InvalidArgument, match="'s' is a temporary"):
        pg.change_arg_to_image(two_tiles(), "s")
    text = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        '... code(i) "out[i] = a[2*i];" reads(a) writes(out[i])  {inames=i}',
        [pg.GlobalArg("a", "float32", (4, 2)), pg.GlobalArg("out", "float32", 4), "..."],
    )
    with pytest.raises(VerbatimNotPossible, match="touches 'a'"):
        pg.change_arg_to_image(text, "a")
