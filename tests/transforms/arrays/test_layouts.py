"""Layouts beside steps: what keeps them, what changes them, what they are worth as values."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import OverlappingElements
from polygen.ir.layout import Nested, Strided, Vector, element_strides, storage_count
from polygen.ir.show_expression import show_expression
from polygen.language.layouts import with_dim_tags
from tests.oracle.compare import check_arrays, make_arguments, typed


def shown(knl: pg.Kernel, name: str) -> str:
    """Return the line of a variable, without the name."""
    lines = str(knl).splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name}: ")]
    return line.partition(": ")[2]


def test_fixed_parameters_are_fixed_in_layouts() -> None:
    a = pg.GlobalArg("a", "int32", "n, m", strides="2*m + n, 1", offset="3*n", dim_names="x, y")
    b = pg.GlobalArg("b", "int32", "n, m", dim_tags="N0(pad_to=4), N1", offset=pg.auto)
    loops = "{ [i, j]: 0<=i<n and 0<=j<m }"
    knl = pg.make_kernel(loops, "b[i, j] = a[i, j]", [a, b, "..."], loop_priority="i, j")
    fixed = pg.fix_parameters(knl, m=5, n=6)
    wanted = "shape: (6, 5), strides: (16, 1), offset: 18, dim_names: (x, y)"
    assert shown(fixed, "a").endswith(wanted)
    assert 'shape: (6, 5), dim_tags: "N0(pad_to=4), N1", offset: <auto>' in shown(fixed, "b")
    strides = element_strides(fixed.array("b")) or ()
    assert strides == (1, 8)
    assert pg.parse_kernel(str(fixed)) == fixed


def test_privatized_temporaries_keep_their_layout() -> None:
    for tags, wanted in (
        ("N1, N0(pad_to=3)", "N1, N0(pad_to=3), N2"),
        ("stride:9, stride:2", None),
    ):
        t = pg.TemporaryVariable("t", "float64", (4, 4), dim_tags=tags, dim_names="p, q")
        text = """
        for i, j
            t[i, j] = a[k, i, j]
        end
        out[k, l, m] = t[l, m] + t[m, l]  {dep=insn}
        """
        loops = "{ [k, i, j, l, m]: 0<=k<5 and 0<=i,j,l,m<4 }"
        data = [t, pg.GlobalArg("a", "float64", (5, 4, 4)), "..."]
        knl = pg.make_kernel(loops, text, data, loop_priority=("k, i, j", "k, l, m"))
        new = pg.privatize_temporaries_with_inames(knl, "k")
        if wanted is not None:
            assert f'dim_tags: "{wanted}", dim_names: (p, q, k)' in shown(new, "t")
        else:
            assert "strides: (9, 2, 34)" in shown(new, "t")
        assert storage_count(new.array("t")) == {True: 6 * 4 * 5, False: 34 * 5}[wanted is not None]
        arguments = make_arguments(knl, {})
        check_arrays(
            typed(knl, arguments),
            arguments,
            [lambda k: k, lambda k: pg.privatize_temporaries_with_inames(k, "k")],
        )


def test_another_layout_is_one_line() -> None:
    a = pg.GlobalArg("a", "float32", "n, m", order="C", dim_names="x, y")
    loops = "{ [i, j]: 0<=i<n and 0<=j<m }"
    knl = pg.make_kernel(loops, "a[i, j] = i + j", [a, "..."], loop_priority="i, j")
    new = with_dim_tags(knl.array("a"), "u:F(pad_to=4), v:F")
    changed = knl.copy(arguments=[new if x.name == "a" else x for x in knl.arguments])
    assert 'dim_tags: "N0(pad_to=4), N1", dim_names: (u, v)' in shown(changed, "a")
    assert "a[j * (4 * ((n + 3) / 4)) + i]" in str(pg.generate_code(changed, "c"))
    wrong = with_dim_tags(knl.array("a"), "stride:1, stride:1")
    bad = knl.copy(arguments=[wrong if x.name == "a" else x for x in knl.arguments])
    with pytest.raises(OverlappingElements):
        pg.check_well_formed(bad)


GIVEN: list[dict[str, Any]] = [
    {"dim_tags": "N0, N1"},
    {"dim_tags": "x:N0(pad_to=7), y:vec"},
    {"dim_tags": "N0, sep", "offset": 2},
    {"strides": (pg.auto, 3), "offset": pg.auto, "may_alias": True},
    {"strides": "m, 2*n + 1", "offset": "n*m", "dim_names": ("x", "y")},
    {"order": "F", "dim_names": "x, y"},
]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_values(given: dict[str, Any]) -> None:
    def make() -> pg.Kernel:
        data = [pg.GlobalArg("a", "float32", "n, 4", **given), "..."]
        return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i, 1] + m", data)

    knl = make()
    assert make() == knl
    assert hash(make()) == hash(knl)
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301
    assert pg.parse_kernel(str(knl)) == knl
    space: dict[str, Any] = {}
    exec(pg.kernel_to_python(knl), space)  # noqa: S102
    assert space["knl"] == knl
    plain = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = a[i, 1] + m", [pg.GlobalArg("a", "float32", "n, 4"), "..."]
    )
    assert plain != knl
    assert "a: GlobalArg" in str(pg.diff(plain, knl))


def test_shapes_are_guessed_beside_layouts() -> None:
    loops = "{ [i, j]: 0<=i<n and 0<=j<4 }"
    data = [pg.GlobalArg("a", order="F"), pg.GlobalArg("b", dim_tags="N0, vec"), "..."]
    knl = pg.make_kernel(loops, "a[i, j] = b[i, j]", data, loop_priority="i, j")
    assert 'shape: (n, 4), dim_tags: "N0, N1"' in shown(knl, "a")
    assert 'shape: (n, 4), dim_tags: "N0, vec"' in shown(knl, "b")


def test_linear_subscripts_count_in_the_order_of_storage() -> None:
    for order, index in (("F", "e % 3, e//3"), ("C", "e//5, e % 5")):
        a = pg.GlobalArg("a", "int32", (3, 5), order=order)
        knl = pg.make_kernel("{ [e]: 0<=e<15 }", "out[e] = a[[e]]", [a, "..."])
        assert f"a[{index}]" in str(knl)
        values = np.arange(15, dtype=np.int32).reshape(3, 5)
        given, stored = values, values.ravel()
        if order == "F":
            given, stored = np.asfortranarray(values), values.T.ravel()
        _, (out,) = knl(a=given)
        np.testing.assert_array_equal(out, stored)
    for tags in ("N1, N0(pad_to=8)", "stride:auto, stride:1"):
        a = pg.GlobalArg("a", "int32", (3, 5), dim_tags=tags)
        with pytest.raises(pg.errors.MalformedInstruction, match="leave gaps"):
            pg.make_kernel("{ [e]: 0<=e<15 }", "out[e] = a[[e]]", [a, "..."])


def test_tags_may_be_given_as_such() -> None:
    a = pg.GlobalArg("a", "float32", "n, 4", dim_tags=(Nested(0, 2), Vector()))
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i, 1]", [a, "..."])
    assert 'dim_tags: "N0(pad_to=2), vec"' in shown(knl, "a")
    other = replace(knl.array("a"), dim_tags=(Strided(8), Strided(2)))
    assert [show_expression(s) for s in (8, 2)] == [str(s) for s in element_strides(other) or ()]


def test_constant_arguments_have_layouts() -> None:
    for tags in ("N0, vec", "N0, sep", "N0, N1"):
        c = pg.ConstantArg("c", "float32", (3, 4), dim_tags=tags)
        loops = "{ [i, j]: 0<=i<n and 0<=j<4 }"
        knl = pg.make_kernel(loops, "out[i, j] = c[i % 3, j]", [c, "..."], loop_priority="i, j")
        knl = pg.tag_inames(knl, {"j": "unr"})
        values = np.arange(12, dtype=np.float32).reshape(3, 4)
        given: Any = {"vec": values, "sep": tuple(values.T.copy()), "N1": np.asfortranarray(values)}
        for target in ("c", "opencl"):
            _, (out,) = knl.executor(target)(c=given[tags[-3:].strip()], n=5)
            np.testing.assert_array_equal(out, values[[0, 1, 2, 0, 1]])


def test_data_in_several_arrays_is_looked_at() -> None:
    idx = pg.GlobalArg("idx", "int64", "2, n", dim_tags="sep, N0")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[idx[1, i]] = a[i]", [idx, pg.GlobalArg("out", shape="m"), "..."]
    )
    out = np.zeros(3)
    places = (np.zeros(3, np.int64), np.array([2, 0, 1]))
    for target in ("c", "opencl"):
        run = knl.executor(target)
        run(idx=places, a=np.arange(3.0), out=out, check_assumptions=True)
        np.testing.assert_array_equal(out, [1.0, 2.0, 0.0])
        with pytest.raises(pg.errors.ObligationViolated):
            run(idx=(places[0], places[1] + 1), a=np.arange(3.0), out=out, check_assumptions=True)
