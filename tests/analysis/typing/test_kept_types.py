"""Whether a variable surely has the type of what is stored in it."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.kept_types import keeps_type, same_type
from polygen.errors import CannotProve
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

# f, d, k and b have types, u and v do not.
TYPES = {"f": "float32", "d": "float64", "k": "int32", "b": "uint8"}
TYPED = [pg.GlobalArg(name, dtype, (9,)) for name, dtype in TYPES.items()]
UNTYPED = [pg.GlobalArg(name, shape=(9,)) for name in ("u", "v")]
OUT = pg.GlobalArg("out", "float64", (9,))


def _kernel(*written: str, dtype: str | None = None, known: bool = True, out: str = "t") -> Kernel:
    """Return a kernel that stores values in `t`, one after the other."""
    lines = [
        f"t = {value} {{id=w{n}, inames=i, dep=*:w{n - 1}}}" for n, value in enumerate(written)
    ]
    lines[0] = lines[0].replace(", dep=*:w-1", "")
    lines.append(f"out[i] = {out} {{id=r, dep=w{len(written) - 1}}}")
    names = {name for value in written for name in "fdkbuv" if f"{name}[" in value}
    data = [a for a in (*TYPED, *UNTYPED) if a.name in names]
    result = OUT if known else pg.GlobalArg("out", shape=(9,))
    return kernel(
        "{ [i]: 0<=i<9 }", "\n".join(lines), pg.TemporaryVariable("t", dtype), *data, result
    )


def _kept(knl: Kernel, name: str = "t") -> list[bool]:
    """Tell of each instruction that writes a variable whether its values keep their type there."""
    return [keeps_type(knl, name, writer.id) for writer in knl.writers[name]]


@pytest.mark.parametrize(
    ("written", "dtype", "keeps"),
    [
        (["f[i]"], None, True),
        (["f[i]"], "float32", True),
        (["f[i]"], "float64", False),
        (["d[i]"], "float32", False),
        (["k[i]"], "float64", False),
        (["2*f[i]"], None, True),
        (["f[i]", "t + f[i]"], None, True),
        (["f[i]", "t*d[i]"], None, False),  # double, but float was stored first
        (["f[i]", "d[i]"], "float64", False),
        (["d[i]", "f[i]"], "float64", False),
        # Negatives of small integers wrap around, and are other numbers in larger sums.
        (["-f[i]"], None, True),
        (["-k[i]"], None, True),
        (["-b[i]"], None, False),
        (["3 - b[i]"], None, True),
        (["-u[i]"], None, False),  # whose type may be such a one
        # A number has no type of its own.
        (["2"], None, False),
        (["2.0"], None, False),
        (["2.0"], "float64", False),
        (["f[i]", "0"], None, False),
        (["i"], None, False),
    ],
)
def test_where_all_types_are_known(written: list[str], dtype: str | None, keeps: bool) -> None:
    assert all(_kept(_kernel(*written, dtype=dtype))) == keeps


@pytest.mark.parametrize(
    ("written", "dtype", "keeps"),
    [
        # Whatever the type is, t has the same.
        (["u[i]"], None, True),
        (["2*u[i]"], None, True),
        (["u[i] << 1"], None, True),  # not for floating-point numbers
        (["u[i]"], "float64", False),
        (["2"], None, False),
        # Of two values, the types may differ.
        (["u[i]", "v[i]"], None, False),
        (["u[i]", "2*u[i]"], None, False),
        (["u[i]", "0"], None, False),
        (["f[i]", "2*f[i]"], None, True),
        (["f[i]", "d[i]"], None, False),
        (["f[i]", "u[i]"], None, False),
        (["u[i]", "f[i]"], None, False),
    ],
)
def test_where_a_call_says_some(written: list[str], dtype: str | None, keeps: bool) -> None:
    assert all(_kept(_kernel(*written, dtype=dtype, known=False))) == keeps


def test_types_that_follow() -> None:
    """From what is declared alone: a call decides the types of others."""
    knl = kernel(
        "{ [i]: 0<=i<9 }",
        """
        s = f[i]
        t = 2*s
        mixed = s*u[i]
        whole = 2
        out[i] = t + mixed + whole
        """,
        *[pg.TemporaryVariable(name) for name in ("s", "t", "mixed", "whole")],
        pg.GlobalArg("f", "float32", 9),
        pg.GlobalArg("u, out", None, 9),
    )
    names = ("s", "t", "mixed", "whole", "out")
    assert [name for name in names if all(_kept(knl, name))] == ["s", "t", "mixed"]
    assert same_type(knl, "t", pg.add_dtypes(knl, {"t": "float32"}), "t")
    assert not same_type(knl, "t", pg.add_dtypes(knl, {"t": "float64"}), "t")


def test_arguments() -> None:
    declared, open_ = _kernel("d[i]"), _kernel("d[i]", known=False)
    assert all(_kept(declared, "out"))
    assert not any(_kept(open_, "out"))  # a call decides
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = x", pg.ValueArg("x", "float64"), pg.ValueArg("n"))
    assert not keeps_type(knl, "x", knl.instructions[0].id)  # nothing is stored in it


@pytest.mark.parametrize(
    ("written", "dtype", "kept"),
    [
        (["d[i]", "0"], "float64", [True, False]),
        (["0", "d[i]", "f[i]"], "float64", [False, True, False]),
        (["d[i]", "f[i]"], None, [True, False]),  # float64, as the other is a part of it
        (["0", "f[i]"], None, [False, True]),
        (["2*f[i]", "-b[i]"], "float32", [True, False]),
    ],
)
def test_each_writer_by_itself(written: list[str], dtype: str | None, kept: list[bool]) -> None:
    assert _kept(_kernel(*written, dtype=dtype)) == kept


def test_one_type_in_two_kernels() -> None:
    float_, double = _kernel("f[i]"), _kernel("d[i]")
    assert same_type(float_, "t", float_, "t")
    assert not same_type(float_, "t", double, "t")
    assert same_type(double, "t", double, "out")
    assert not same_type(float_, "t", float_, "out")


def test_one_type_that_is_not_known() -> None:
    first, second = _kernel("u[i]", known=False), _kernel("v[i]", known=False)
    # The caller knows that the same instructions write the same values.
    assert same_type(first, "t", second, "t")
    assert not same_type(first, "t", first, "out")
    assert not same_type(first, "t", _kernel("u[i]", "u[i]", known=False), "t")
    # Known in one of them only.
    assert not same_type(first, "t", _kernel("u[i]", dtype="float32", known=False), "t")
    assert not same_type(_kernel("u[i]", dtype="float32", known=False), "t", first, "t")


def test_bfloat16_is_another_type_than_what_it_is_computed_in() -> None:
    short, float_ = (_kernel("f[i]", dtype=dtype) for dtype in ("bfloat16", "float32"))
    assert same_type(short, "t", short, "t")
    assert not same_type(short, "t", float_, "t")
    assert not same_type(float_, "t", short, "t")


def test_a_negative_that_wraps_around_stays_where_it_is() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "<> t = -a[i]  {id=t}\nout[i] = x[i] + t  {dep=t}",
        [pg.GlobalArg(name, dtype, "n") for name, dtype in (("a", "uint8"), ("x", "int32"))]
        + ["..."],
    )
    _, (out,) = knl(a=np.array([98], np.uint8), x=np.array([0], np.int32))
    np.testing.assert_array_equal(out, -np.array([98], np.uint8))
    with pytest.raises(CannotProve, match="its type may not be"):
        pg.assignment_to_subst(knl, "t")
