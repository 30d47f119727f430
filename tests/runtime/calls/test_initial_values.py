"""Temporaries with initial values, in every address space, and constants that are scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e
from polygen.ir.array import AddressSpace
from tests.oracle.compare import assert_same, make_arguments

TARGETS = ("c", "opencl")
SPACES = tuple(AddressSpace)


def declared(elements: Any, space: AddressSpace = AddressSpace.PRIVATE) -> pg.TemporaryVariable:
    return pg.TemporaryVariable("t", initializer=elements, address_space=space)


def summed(elements: Any, space: AddressSpace) -> pg.Kernel:
    """Return a kernel that adds rows to initial values."""
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<8 }", "{ [k]: 0<=k<8 }"],
        """
        t[j] = t[j] + a[i, j]  {id=add}
        out[k] = t[k]  {inames=k, dep=add}
        """,
        [declared(elements, space), pg.GlobalArg("a", shape="n, 8"), "..."],
        loop_priority="i, j",
    )


RAMP = np.array([0.5, -1, 2, 7, -0.0, 3, 4, 1e30])


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("elements", [RAMP, np.full(8, 2.5), np.full(8, np.inf)])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_array(space: AddressSpace, elements: Any, n: int) -> None:
    knl = summed(elements, space)
    assert pg.parse_kernel(str(knl)) == knl
    a = np.random.default_rng(n).normal(size=(n, 8))
    expected = elements + 0
    for row in a:
        expected = expected + row
    for target in TARGETS:
        _, (out,) = knl.executor(target)(a=a, n=n)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("space", "tags"),
    [
        (AddressSpace.PRIVATE, {"j": "l.0", "k": "l.0"}),
        (AddressSpace.LOCAL, {"j": "l.0", "k": "l.0"}),
        (AddressSpace.GLOBAL, {"j": "l.0", "k": "l.0"}),
        (AddressSpace.GLOBAL, {"j": "g.0", "k": "l.0"}),
        (AddressSpace.AUTO, {"j": "g.0", "k": "l.0"}),
        (AddressSpace.AUTO, {"j": "l.0"}),
        (AddressSpace.AUTO, {"j": "g.0", "k": "g.0"}),
    ],
)
def test_shared(space: AddressSpace, tags: dict[str, str]) -> None:
    """The values are there for all work items that share the variable."""
    knl = pg.tag_inames(summed(RAMP, space), tags)
    a = np.random.default_rng(1).integers(-9, 9, (5, 8)).astype(float)
    for target in TARGETS:
        _, (out,) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(out, RAMP + a.sum(axis=0))
    assert_same(knl, make_arguments(knl, {"n": 3}))


def test_values_are_there_at_each_launch() -> None:
    knl = summed(np.zeros(8), AddressSpace.GLOBAL)
    for target in TARGETS:
        for _ in range(2):
            _, (out,) = knl.executor(target)(a=np.ones((3, 8)))
            np.testing.assert_array_equal(out, np.full(8, 3.0))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64", "complex128", "bool"])
def test_scalar(dtype: str) -> None:
    """A value that counts on, of each kind of type."""
    value = np.array(1).astype(dtype)[()]
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = t {id=r, dep=*}\nt = t*a[i] {id=w, dep=r}",
        [declared(value), "..."],
    )
    a = np.array([1, 1, 0, 1]).astype(dtype)
    for target in TARGETS:
        _, (out,) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(out, np.array([1, 1, 1, 0]).astype(dtype))
        assert out.dtype == np.result_type(value)


def test_extremes_are_exact() -> None:
    for value in (np.int64(-(2**63)), np.uint64(2**64 - 1), np.float32(0.1), np.float64(5e-324)):
        knl = pg.make_kernel("{ [i]: 0<=i<1 }", "out[i] = t", [declared(value), "..."])
        for target in TARGETS:
            _, (out,) = knl.executor(target)()
            assert out.dtype == value.dtype
            assert out[0] == value


def test_two_axes_and_names_that_are_taken() -> None:
    elements = np.arange(6, dtype=np.int32).reshape(2, 3)
    knl = pg.make_kernel(
        "{ [t_i0, t_i1]: 0<=t_i0<2 and 0<=t_i1<3 }",
        """
        t[t_i0, t_i1] = 10*t[t_i0, t_i1]  {id=t_start}
        out[t_i0, t_i1] = t[t_i0, t_i1] + t_initial
        """,
        [declared(elements), pg.ValueArg("t_initial", np.int32), "..."],
        loop_priority="t_i0, t_i1",
    )
    for target in TARGETS:
        _, (out,) = knl.executor(target)(t_initial=4)
        np.testing.assert_array_equal(out, 10 * elements + 4)


def test_bounds_and_rules_come_after_it() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<t }"],
        "f(x) := x + t\nout[i] = f(i)",
        [declared(np.int32(5)), pg.GlobalArg("out", np.int32, "9"), "..."],
    )
    assert knl.instruction("insn").depends_on == {"t_start"}
    out = np.zeros(9, np.int32)
    for target in TARGETS:
        knl.executor(target)(out=out)
        np.testing.assert_array_equal(out, [5, 6, 7, 8, 9, 0, 0, 0, 0])


def test_steps() -> None:
    knl = summed(RAMP, AddressSpace.AUTO)
    knl = pg.split_iname(knl, "t_i0", 4, inner_tag="unr")
    knl = pg.prioritize_loops(knl, "t_i0_outer, t_i0_inner")
    knl = pg.split_iname(knl, "j", 4, outer_tag="l.0")
    knl = pg.split_iname(knl, "k", 2, outer_tag="g.0")
    a = np.arange(16.0).reshape(2, 8)
    for target in TARGETS:
        _, (out,) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(out, RAMP + a.sum(axis=0))


# --- constants


@pytest.mark.parametrize(
    "value", [np.float32(0.1), np.int64(-7), np.complex64(1 - 2j), np.bool_(1)]
)
def test_scalar_constant(value: Any) -> None:
    given = pg.TemporaryVariable("w", initializer=value, read_only=True)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = w*a[i]", [given, "..."])
    assert pg.parse_kernel(str(knl)) == knl
    assert pg.address_spaces(knl)["w"] is AddressSpace.GLOBAL
    a = np.array([0, 1, 3]).astype(value.dtype)
    for target in TARGETS:
        _, (out,) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(out, value * a)
    source = str(pg.generate_code(pg.add_dtypes(knl, {"a": value.dtype}), "c"))
    assert "static const" in source
    assert "w[" not in source


def test_scalar_constants_bound_loops_and_choose_elements() -> None:
    given = pg.TemporaryVariable("w", initializer=np.int32(3), read_only=True)
    knl = pg.make_kernel(
        "{ [i]: 0<=i<w }",
        "out[i] = a[w + i]",
        [given, pg.GlobalArg("a", np.float64, 6), pg.GlobalArg("out", np.float64, 3)],
    )
    for target in TARGETS:
        _, (out,) = knl.executor(target)(a=np.arange(6.0), check_assumptions=True)
        np.testing.assert_array_equal(out, [3, 4, 5])


def test_a_value_that_is_written_in_no_order_is_refused() -> None:
    with pytest.raises(e.UnorderedAccess, match="'t'"):
        pg.make_kernel(
            "{ [i]: 0<=i<8 }",
            "t = a[i] {id=w}\nt = b[i] {id=v}\nout[i] = t {dep=w:v}",
            [declared(np.float64(0)), "..."],
        )


def test_beside_a_call() -> None:
    increased = pg.make_function("{ [k]: 0<=k<8 }", "y[k] = x[k] + 1", ["x", "y"], name="increased")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[j]: out[i, j] = increased([j]: t[j])",
        [declared(RAMP), pg.GlobalArg("out", float, "n, 8"), "..."],
        functions={"increased": increased},
    )
    for target in TARGETS:
        _, (out,) = knl.executor(target)(out=np.zeros((2, 8)))
        np.testing.assert_array_equal(out, np.stack([RAMP + 1] * 2))


def test_tables_are_declared_in_the_order_of_names() -> None:
    """`t14` stands between `t1` and its table, as in a kernel that says all three itself."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<3 }",
        """
        <> t14 = a[i]
        t1[i] = t1[i] + t14
        out[i] = t1[i]
        """,
        [
            pg.TemporaryVariable("t1", initializer=np.array([3, 1, 4])),
            pg.GlobalArg("a", "int64", 3),
            "...",
        ],
    )
    assert [t.name for t in knl.temporaries] == ["t1", "t14", "t1_initial"]
