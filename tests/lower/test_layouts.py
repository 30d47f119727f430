"""Kernels with layouts of all kinds do, lowered, what they mean: checked by interpretation."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.compare import check_arrays, make_arguments, typed
from tests.oracle.machine import execute

LOOPS = "{ [i, j]: 0<=i<n and 0<=j<4 }"
LAYOUTS: list[dict[str, Any]] = [
    {"dim_tags": "N0, N1"},
    {"dim_tags": "N1, N0(pad_to=3)"},
    {"dim_tags": "N0(pad_to=8), N1", "offset": 3},
    {"order": "F", "offset": "off"},
    {"strides": "9, 2"},
    {"strides": "2, 2*n + 1"},
    {"strides": "-5, 1", "offset": "5*n"},
    {"dim_tags": "N0, vec"},
    {"dim_tags": "stride:4*n, vec", "offset": 8},
    {"dim_tags": "N0(pad_to=4), sep"},
    {"dim_tags": "stride:3, sep", "offset": 2},
]


def kernel(text: str, *data: Any, loops: Any = LOOPS) -> Kernel:
    knl = pg.make_kernel(loops, text, [*data, "..."], loop_priority="i, j")
    return pg.tag_inames(knl, {"j": "unr"})


def agrees(knl: Kernel, n: int, *steps: Any) -> None:
    sizes = {"n": n, "off": 7}
    known = {name: value for name, value in sizes.items() if name in knl.variables}
    arguments = make_arguments(knl, known)
    check_arrays(typed(knl, arguments), arguments, [lambda k: k, *steps])


@pytest.mark.parametrize("n", [0, 1, 7])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_written_and_read(layout: dict[str, Any], n: int) -> None:
    a = pg.GlobalArg("a", "float64", "n, 4", **layout)
    out = pg.GlobalArg("out", "float64", "n, 4", **layout)
    agrees(kernel("out[i, j] = 2*a[i, j] + a[i, 0]", a, out), n)
    agrees(kernel("out[n - 1 - i, 3 - j] = a[i, j]", a, out), n)


@pytest.mark.parametrize("layout", [x for x in LAYOUTS if "sep" not in str(x)], ids=str)
def test_updated_by_work_items(layout: dict[str, Any]) -> None:
    a = pg.GlobalArg("a", "float64", "n, 4", **layout)
    knl = kernel("a[i, j] = a[i, j]*b[j] + i", a)

    def on_axes(k: Kernel) -> Kernel:
        return pg.split_iname(k, "i", 4, outer_tag="g.0", inner_tag="l.0")

    agrees(knl, 10, on_axes)


def on_axes(knl: Kernel) -> Kernel:
    return pg.tag_inames(knl, {"k": "g.0", "i": "l.0", "l": "l.0"})


@pytest.mark.parametrize(
    "layout",
    [
        {"dim_tags": "N0, vec"},
        {"dim_tags": "N0, N1"},
        {"strides": "5, 1"},
        {"dim_tags": "N1, N0(pad_to=5)"},
        {"strides": "3, 16"},
    ],
    ids=str,
)
@pytest.mark.parametrize("space", ["PRIVATE", "LOCAL", "GLOBAL"])
def test_temporaries(layout: dict[str, Any], space: str) -> None:
    temporary = pg.TemporaryVariable("t", "float64", (4, 4), pg.AddressSpace[space], **layout)
    text = """
    for k, i
        t[i, 0] = a[k, i]
        t[i, 1] = a[k, i] + 1
        t[i, 2] = 2
        t[i, 3] = t[i, 0]*3
    end
    for k, l
        out[k, l] = t[3 - l, 0] - t[l, 1] + t[l, 2]*t[3 - l, 3]
    end
    """
    loops = "{ [k, i, l]: 0<=k<n and 0<=i,l<4 }"
    knl = pg.make_kernel(
        loops, text, [temporary, "..."], loop_priority=("k, i", "k, l"), seq_dependencies=True
    )
    agrees(knl, 3)
    if space == "LOCAL":
        agrees(knl, 3, on_axes)


def test_vectors_along_the_first_axis() -> None:
    temporary = pg.TemporaryVariable("t", "float64", (4, 3), dim_tags="vec, N0")
    text = """
    t[i, j] = a[k, i]*j
    out[k, l, j2] = t[3 - l, 2 - j2]
    """
    loops = "{ [k, i, j, l, j2]: 0<=k<n and 0<=i,l<4 and 0<=j,j2<3 }"
    knl = pg.make_kernel(loops, text, [temporary, "..."], loop_priority=("k,i,j", "k,l,j2"))
    agrees(pg.tag_inames(knl, {"i": "unr", "l": "unr"}), 3)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 8, 16])
def test_reductions_over_components(length: int) -> None:
    a = pg.GlobalArg("a", "int32", f"n, {length}", dim_tags="N0, vec")
    loops = f"{{ [i, j]: 0<=i<n and 0<=j<{length} }}"
    agrees(kernel("out[i] = sum(j, a[i, j]*(j + 1))", a, loops=loops), 5)


def test_conditions_that_read_components() -> None:
    a = pg.GlobalArg("a", "float64", "n, 4", dim_tags="N0, vec")
    b = pg.GlobalArg("b", "float64", "n, 4", dim_tags="N0, sep")
    agrees(kernel("out[i, j] = a[i, j]  {if=b[i, 3 - j] > 0 and a[i, j] > 0}", a, b), 9)


def test_two_axes_in_parts() -> None:
    loops = "{ [i, j, k]: 0<=i<n and 0<=j<2 and 0<=k<3 }"
    a = pg.GlobalArg("a", "float64", "2, n, 3", dim_tags="sep, N0, sep")
    knl = pg.make_kernel(loops, "out[i, j, k] = a[j, i, k]", [a, "..."], loop_priority="i, j, k")
    knl = pg.tag_inames(knl, {"j": "unr", "k": "unr"})
    agrees(knl, 4)
    assert "a_s1_s2[i]" in str(pg.generate_code(knl, "c"))


def test_strides_and_offsets_of_the_call_are_arguments() -> None:
    a = pg.GlobalArg("a", "float32", "n, 4", dim_tags="stride:auto, vec", offset=pg.auto)
    out = pg.GlobalArg("out", "float32", "n, 4", strides=(1, pg.auto))
    knl = kernel("out[i, j] = a[i, j]", a, out)
    program = pg.lower_kernel(knl, "c")
    names = [arg.name for arg in program.arguments]
    assert names == ["a", "out", "n", "a_stride_0", "a_offset", "out_stride_1"]
    given = {"a": np.arange(12, dtype=np.float32).reshape(3, 4), "n": 3}
    given |= {"out": np.zeros((3, 4), np.float32)}
    given |= {"a_stride_0": 5, "a_offset": 2, "out_stride_1": 3}  # the first two in vectors
    np.testing.assert_array_equal(execute(program, given).arrays["out"], given["a"])


def random_layout(random: Random, extents: list[str]) -> dict[str, Any]:
    """Return a layout for an array whose last extent is a number of at most 4."""
    tags = [""] * len(extents)
    special = random.choice(("", "", "vec", "sep"))
    axes = list(range(len(extents) - bool(special)))
    if special:
        tags[-1] = special
    unit = {"2": 2, "3": 4, "4": 4}[extents[-1]] if special == "vec" else 1
    random.shuffle(axes)
    strided = random.random() < 0.3
    step = str(unit)
    for level, axis in enumerate(axes):
        pad = random.choice((1, 1, 3, 8))
        tags[axis] = f"stride:{step}" if strided else f"N{level}(pad_to={pad})"
        step = f"{step}*({extents[axis]} + {pad - 1})"
    return {"dim_tags": ", ".join(tags), "offset": unit * random.choice((0, 0, 1, 5))}


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(s, marks=pytest.mark.more) for s in range(20, 60))]
)
def test_random_layouts(seed: int) -> None:
    random = Random(seed)
    last = random.choice("234")
    extents = ["n", random.choice(("m", "3")), last]
    arrays = [
        pg.GlobalArg(x, "int32", ", ".join(extents), **random_layout(random, extents))
        for x in ("a", "b", "c")
    ]
    loops = f"{{ [i, j, k]: 0<=i<n and 0<=j<{extents[1]} and 0<=k<{last} }}"
    text = f"""
    b[i, j, k] = a[i, {extents[1]} - 1 - j, k] + 2*a[n - 1 - i, j, {last} - 1 - k]
    c[i, j, k] = b[i, j, k]*k + a[i, j, 0]  {{dep=insn}}
    """
    knl = pg.make_kernel(loops, text, [*arrays, "..."], loop_priority="i, j, k")
    knl = pg.tag_inames(knl, {"k": "unr"})
    assert pg.parse_kernel(str(knl)) == knl
    sizes = {name: random.randint(0, 4) for name in ("n", "m") if name in knl.variables}
    arguments = make_arguments(knl, sizes, seed)

    def on_axes(k: Kernel) -> Kernel:
        return pg.split_iname(k, "i", 2, outer_tag="g.0", inner_tag="l.0")

    check_arrays(knl, arguments, [lambda k: k, on_axes], seed)
    for target in ("c", "opencl"):
        pg.generate_code(on_axes(knl), target)
