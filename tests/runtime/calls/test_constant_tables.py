"""Tables of constants: printed, proved, lowered, and run on both targets."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AssumptionViolated,
    CannotProve,
    NotTheSame,
    OutOfBounds,
    WrongLoopProgram,
)
from polygen.ir import expression as ex
from polygen.ir.walk import substitute
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.transformation import transformation
from polygen.validation.validate import validate
from tests.few import few
from tests.oracle.compare import assert_same, make_arguments

TARGETS = ("c", "opencl")
EXTREMES: dict[str, list[Any]] = {
    "bool": [True, False, True],
    **{
        dtype: [np.iinfo(dtype).min, np.iinfo(dtype).max, 3]
        for dtype in (
            *("int8", "int16", "int32", "int64"),
            *("uint8", "uint16", "uint32", "uint64"),
        )
    },
    **{
        dtype: [
            *(0.1, -0.0, np.inf, -np.inf, np.nan),
            *(np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal),
        ]
        for dtype in ("float16", "float32", "float64")
    },
    **{
        dtype: [
            *(complex(0.1, -2), complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0)),
            *(complex(np.inf, 0), complex(0, -np.inf), complex(np.nan, 1), 7),
        ]
        for dtype in ("complex64", "complex128")
    },
}


def table(name: str, elements: Any, **more: Any) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, initializer=elements, read_only=True, **more)


def filtered(weights: Any) -> pg.Kernel:
    """Return a filter with fixed weights: two axes, of odd extents."""
    rows, columns = weights.shape
    return pg.make_kernel(
        [
            "{ [i, j]: 0<=i<n and 0<=j<m }",
            f"{{ [k, l]: 0<=k<{rows} and 0<=l<{columns} }}",
        ],
        "out[i, j] = sum((k, l), w[k, l]*a[i + k, j + l])",
        [table("w", weights), pg.GlobalArg("a", shape=f"n + {rows - 1}, m + {columns - 1}"), "..."],
        loop_priority="i, j, k, l",
    )


def numbered(assumptions: str = "n >= 7") -> pg.Kernel:
    """Return a kernel in which a table says where things are."""
    return pg.make_kernel(
        "{ [i]: 0<=i<7 }",
        "out[i] = a[order[i]]",
        [table("order", np.array([3, 0, 6, 2, 1, 5, 4])), pg.GlobalArg("a", shape="n"), "..."],
        assumptions=assumptions,
    )


WEIGHTS = np.array([[0.25, -1.5, 3.0], [1e-30, 0.1, 7.0]])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 5), (17, 16)])
def test_filter(target: str, shape: tuple[int, int]) -> None:
    n, m = shape
    a = np.random.default_rng(0).random((n + 1, m + 2))
    _, (out,) = filtered(WEIGHTS).executor(target)(a=a)
    expected = sum(w * a[k : k + n, j : j + m] for (k, j), w in np.ndenumerate(WEIGHTS))
    np.testing.assert_allclose(out, expected, rtol=1e-14)


@pytest.mark.parametrize("target", TARGETS)
def test_table_of_subscripts(target: str) -> None:
    a = np.random.default_rng(0).random(7)
    _, (out,) = numbered().executor(target)(a=a)
    assert np.array_equal(out, a[[3, 0, 6, 2, 1, 5, 4]])


@pytest.mark.parametrize("target", TARGETS)
def test_on_work_items(target: str) -> None:
    weights = np.array([1, -2, 5, 9], np.int32)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = w[i % 4]*a[i]", [table("w", weights), "..."])
    knl = pg.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")
    for n in (0, 1, 7, 8, 13):
        a = np.arange(n, dtype=np.int32)
        _, (out,) = knl.executor(target)(a=a)
        assert np.array_equal(out, np.resize(weights, n) * a)


@pytest.mark.parametrize("target", TARGETS)
def test_in_two_launches(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<n }",
        "b[i] = w[1]*a[i]  {id=first}\n... gbarrier  {id=wait, dep=first}\n"
        "c[j] = b[n - 1 - j] + w[0]  {dep=wait:first}",
        [table("w", np.array([3.0, 0.5])), "..."],
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    a = np.random.default_rng(0).random(7)
    _, (_, c) = knl.executor(target)(a=a)
    assert np.array_equal(c, 0.5 * a[::-1] + 3.0)


@few(6, "dtype", EXTREMES)
def test_every_type(dtype: str) -> None:
    elements = np.array(EXTREMES[dtype], dtype)
    knl = pg.make_kernel(
        f"{{ [i]: 0<=i<{len(elements)} }}", "out[i] = t[i]", [table("t", elements), "..."]
    )
    again = pg.parse_kernel(str(knl))
    assert again == knl
    found = again.variables["t"]
    assert isinstance(found, pg.TemporaryVariable)
    assert found.initializer is not None
    assert found.initializer.dtype == elements.dtype
    for target in TARGETS:
        _, (out,) = knl.executor(target)()
        assert out.dtype == elements.dtype
        np.testing.assert_array_equal(out, elements)
        for part in ("real", "imag") if elements.dtype.kind in "fc" else ():
            got, wanted = getattr(out, part), getattr(elements, part)
            numbers = ~np.isnan(wanted)
            assert np.array_equal(np.signbit(got)[numbers], np.signbit(wanted)[numbers])


def test_long_table() -> None:
    elements = np.random.default_rng(1).random((13, 31))
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<13 and 0<=j<31 }",
        "out[i, j] = t[i, j]",
        [table("t", elements), "..."],
        loop_priority="i, j",
    )
    assert pg.parse_kernel(str(knl)) == knl
    assert max(map(len, pg.generate_code(knl, "c").source.splitlines())) <= 100
    for target in TARGETS:
        assert np.array_equal(knl.executor(target)()[1][0], elements)


def test_code() -> None:
    assert "    static const double w[6] = {0.25, -1.5, 3.0, 1e-30, 0.1, 7.0};" in str(
        pg.generate_code(pg.add_dtypes(filtered(WEIGHTS), {"a": "float64"}), "c")
    )
    assert "    __constant double w[6] = {0.25, " in str(
        pg.generate_code(pg.add_dtypes(filtered(WEIGHTS), {"a": "float64"}), "opencl")
    )


def test_interpreters_agree() -> None:
    knl = filtered(WEIGHTS.astype(np.int64))
    split = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    arguments = make_arguments(knl, {"n": 5, "m": 3})
    assert_same(knl, arguments)
    assert_same(split, arguments)


def test_value_of_a_kernel() -> None:
    knl = filtered(WEIGHTS)
    assert knl == filtered(WEIGHTS.copy(order="F"))
    assert hash(knl.temporaries) == hash(filtered(WEIGHTS.copy()).temporaries)
    assert knl != filtered(-WEIGHTS)
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301
    zeros = np.array([[0.0]])
    assert filtered(zeros) != filtered(-zeros)  # -0.0 is another number


def test_it_does_not_change_with_the_array() -> None:
    given = WEIGHTS.copy()
    knl = filtered(given)
    given[:] = 0
    assert knl == filtered(WEIGHTS)
    found = knl.temporaries[0].initializer
    assert found is not None
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1


def test_script() -> None:
    knl = pg.split_iname(filtered(np.array([[np.nan, -np.inf]])), "i", 4)
    scope: dict[str, Any] = {}
    exec(pg.kernel_to_python(knl), scope)  # noqa: S102
    assert scope["knl"] == knl


def test_prefetched() -> None:
    knl = filtered(WEIGHTS)
    fetched = pg.add_prefetch(knl, "w", ["k", "l"])
    a = np.random.default_rng(0).random((8, 9))
    for target in TARGETS:
        assert np.array_equal(fetched.executor(target)(a=a)[1][0], knl.executor(target)(a=a)[1][0])


def test_what_a_table_says_is_checked() -> None:
    """A subscript from a table is known: it has to be inside for all sizes that are assumed."""
    knl = numbered()
    assert pg.obligations(knl) == ()
    _, (out,) = knl(a=np.arange(7.0), check_assumptions=True)
    assert np.array_equal(out, [3, 0, 6, 2, 1, 5, 4])
    with pytest.raises(AssumptionViolated):
        knl(a=np.arange(6.0))
    with pytest.raises(OutOfBounds, match=r"for n=\d, insn\[i=\d\] reads a\[\d\]"):
        numbered("n >= 6")


def scattered(elements: list[int]) -> pg.Kernel:
    return pg.make_kernel(
        "{ [i]: 0<=i<3 }",
        "out[t[i]] = a[i]",
        [table("t", np.array(elements)), pg.GlobalArg("out", shape="3"), "..."],
    )


@pytest.mark.parametrize("target", TARGETS)
def test_distinct_elements_are_known(target: str) -> None:
    """Writes through a table are to different elements if the elements of the table are."""
    knl = pg.tag_inames(scattered([2, 0, 1]), {"i": "g.0"})
    out = np.zeros(3)
    knl.executor(target)(a=np.arange(3.0), out=out)
    assert np.array_equal(out, [1, 2, 0])
    with pytest.raises(CannotProve) as caught:
        pg.tag_inames(scattered([2, 0, 2]), {"i": "g.0"})
    assert "which elements of 'out' are touched" in caught.value.what


@transformation
def other_elements(kernel: pg.Kernel) -> pg.Kernel:
    """A step that forgets what a table is."""
    tables = tuple(
        replace(t, initializer=-t.initializer)
        for t in kernel.temporaries
        if t.initializer is not None
    )
    return kernel.copy(temporaries=tables)


def test_a_step_keeps_the_elements() -> None:
    with pytest.raises(NotTheSame) as caught:
        other_elements(filtered(WEIGHTS))
    assert "'w' has other elements" in str(caught.value)


@transformation
def another_table(kernel: pg.Kernel) -> pg.Kernel:
    """A step that reads other numbers, of another name."""
    (old,) = kernel.temporaries
    assert old.initializer is not None
    new = replace(old, name="v", initializer=-old.initializer)

    def renamed(node: Any) -> Any:
        return substitute(node, {"w": ex.Variable("v")})

    return kernel.copy(
        temporaries=(new,),
        instructions=tuple(i.map_expressions(renamed) for i in kernel.instructions),
    )


def test_a_step_reads_the_same_table() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<2 }", "out[i] = w[i]", [table("w", np.array([1.0, 2.0])), "..."]
    )
    with pytest.raises(NotTheSame):
        another_table(knl)


@pytest.mark.parametrize("target", [Model.LOOPS, Model.GRID])
def test_a_program_with_other_elements_is_noticed(target: Model) -> None:
    knl = prepare(pg.add_dtypes(filtered(WEIGHTS), {"a": "float64"}))
    program = lower_prepared(knl, target)
    validate(knl, program)
    (right,) = program.tables
    wrong = replace(right, initializer=-WEIGHTS)
    for tables in ((wrong,), (), (right, replace(right, name="v"))):
        with pytest.raises(WrongLoopProgram):
            validate(knl, replace(program, tables=tables))
