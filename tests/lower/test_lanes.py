"""Lanes: inames tagged ``ilp``, ``ilp.seq`` and ``vec``, from meaning to code."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.storage_copies import lanes_of
from polygen.errors import (
    IllegalStep,
    LanesNotConstant,
    NotUnrollable,
    NotVectorized,
    ReductionNotSequential,
    UnorderedAccess,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from polygen.lower.program import Assign, Declare, Loop
from tests.oracle.cases import agree, agree_in_arrays, kernel, lowered, nodes, tag
from tests.oracle.lanes import own_lanes

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.NotVectorized")

TAGS = ("ilp", "ilp.seq", "vec")
SIZES = [{"n": n} for n in (0, 1, 3, 5)]

CHAIN = kernel(
    "{ [i,j]: 0<=i<n and 0<=j<4 }",
    "<> t = 2*a[i,j]\n<> u = t*t + 1\nout[i,j] = u - t",
    name="chain",
)
PRODUCT = kernel("{ [i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<3 }", "c[i,j] = 2*sum(k, a[i,k]*b[k,j])")
TRIANGLE = kernel("{ [i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<=j }", "out[i,j] = sum(k, a[i,k])")
BOUNDS = kernel(
    ["{ [i,j]: 0<=i<n and 0<=j<4 }", "{ [k]: 0<=k<=j }"],
    """
    <> t = 0           {id=start, inames=i:j}
    t = t + a[i,k]     {id=add, dep=start}
    out[i,j] = t       {dep=add}
    """,
    loop_priority="i, j, k",
)
RIM = kernel(
    "{ [i,j]: 0<=j<4 and 0<=4*i+j<n }",
    "<> t = 2*a[4*i+j]\nout[4*i+j] = t + 1 {if=t > 0}\nlast[4*i+j] = t - 1",
)
SHIFTED = kernel("{ [i,j]: 0<=i<n and 1<=j<5 }", "<> t = 2*a[i,j]\nout[i,j] = t + a[i,j-1]")
ARRAYS = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<3 }",
    """
    t[k] = a[i,j] + k            {id=t, inames=i:j:k}
    own[j] = t[0] + t[2]         {id=own, inames=i:j, dep=t}
    out[i,j] = own[j] + t[1]     {dep=own:t}
    """,
    pg.TemporaryVariable("t", shape=(3,)),
    pg.TemporaryVariable("own", shape=(4,)),
    loop_priority="i, k",
)


@pytest.mark.parametrize("knl", [CHAIN, PRODUCT, TRIANGLE, BOUNDS, RIM, SHIFTED, ARRAYS])
def test_it_computes_the_same(knl: Kernel) -> None:
    agree(knl, SIZES, *(tag(j=each) for each in TAGS))
    # Without marks in the values, which are numbers of the iname, there are vectors.
    agree_in_arrays(knl, SIZES, *(tag(j=each) for each in TAGS))


def test_lanes_beside_axes_and_each_other() -> None:
    cube = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<2 }", "<> t = 2*a[i,j,k]\nout[i,j,k] = t*t - t"
    )
    sizes = [{"n": n} for n in (0, 1, 5)]
    both = tag(j="vec", k="ilp"), tag(j="ilp.seq", k="ilp"), tag(k="vec", j="ilp")
    on_axes = tag(i="g.0", j="vec", k="l.0"), tag(i="g.0", k="ilp", j="l.0"), tag(i="l.0", j="ilp")
    agree_in_arrays(cube, sizes, *both, *on_axes[:2])
    agree(cube, [{"n": 3}], *both, on_axes[1])
    assert lanes_of(pg.tag_inames(cube, "j: vec, k: ilp"), "t") == ("j", "k")


@pytest.mark.parametrize(
    ("knl", "wanted"),
    [
        (CHAIN, {"t": ("j",), "u": ("j",)}),
        (ARRAYS, {"t": ("j",), "own": ()}),  # a subscript mentions j
        (BOUNDS, {"t": ("j",)}),
    ],
)
def test_which_temporaries_lanes_have_for_themselves(
    knl: Kernel, wanted: dict[str, tuple[str, ...]]
) -> None:
    new = pg.tag_inames(knl, "j: ilp")
    assert {t.name: lanes_of(new, t.name) for t in new.temporaries} == wanted
    assert {t.name: tuple(own_lanes(new, t.name)) for t in new.temporaries} == wanted
    assert all(lanes_of(knl, t.name) == () for t in knl.temporaries)


def test_what_all_lanes_share_is_none_of_them() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }", "<> t = 2*a[i]\nout[i,j] = t*b[j]", loop_priority="i, j"
    )
    new = pg.tag_inames(knl, "j: vec")
    assert lanes_of(new, "t") == ()
    agree_in_arrays(knl, SIZES, *(tag(j=each) for each in TAGS))


# --- what is refused

LAST = kernel(
    "{ [j]: 0<=j<4 }",
    "<> t = 2*a[j]  {id=t, inames=j}\nout[0] = t  {dep=t, inames=}",
)
RECURRENCE = kernel("{ [j]: 1<=j<4 }", "a[j] = 2*a[j-1]")
SCALAR = kernel(
    "{ [j]: 0<=j<4 }", "<> t = 0 {id=z}\nt = t + a[j] {id=s, dep=z}\nout[0] = t {dep=s}"
)


@pytest.mark.parametrize("each", TAGS)
@pytest.mark.parametrize("knl", [RECURRENCE, LAST, SCALAR])
def test_lanes_are_in_no_order(knl: Kernel, each: str) -> None:
    with pytest.raises(IllegalStep, match="tag_inames would change what kernel"):
        pg.tag_inames(knl, {"j": each})


def test_a_kernel_that_says_so_itself_is_looked_at() -> None:
    text = str(RECURRENCE).replace(
        "INSTRUCTIONS:", "INAME TAGS:\nj: vec\n" + "-" * 75 + "\nINSTRUCTIONS:"
    )
    with pytest.raises(UnorderedAccess, match="leaves open which of two instances comes first"):
        pg.parse_kernel(text)


@pytest.mark.parametrize("each", TAGS)
def test_no_reduction_is_over_lanes(each: str) -> None:
    knl = pg.tag_inames(
        kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i] = sum(j, a[i,j])"), {"j": each}
    )
    with pytest.raises(ReductionNotSequential, match=f"reduces over 'j', which is tagged {each}"):
        lowered(knl)


def test_the_number_of_lanes_is_a_constant() -> None:
    line = kernel("{ [j]: 0<=j<n }", "out[j] = 2*a[j]")
    with pytest.raises(NotUnrollable, match="'j' is tagged ilp, but its number of iterations"):
        lowered(pg.tag_inames(line, "j: ilp"))
    agree(line, SIZES, tag(j="ilp.seq"))  # nobody has to know
    own = kernel("{ [j]: 0<=j<n }", "<> t = a[j]\nout[j] = 2*t")
    with pytest.raises(LanesNotConstant, match=r"tagged ilp.seq, but how many lanes there are is"):
        lowered(pg.tag_inames(own, "j: ilp.seq"))


def test_verbatim_c_has_no_lanes() -> None:
    make: Any = pg.CInstruction
    text = "out[j] = t;"
    code = make("j", text, "t", "out[j]", id="c", depends_on="t", within_inames="j")
    arguments = [pg.GlobalArg(name, np.float64, (4,)) for name in ("a", "out")]
    knl = pg.make_kernel("{ [j]: 0<=j<4 }", ["<> t = 2*a[j]  {id=t}", code], arguments)
    with pg.without_proofs():
        tagged = pg.tag_inames(knl, "j: ilp")
    with pytest.raises(VerbatimNotPossible, match="'c' mentions 't', of which each lane has one"):
        lowered(tagged)


# --- code


def code(knl: Kernel, target: str, **types: str) -> str:
    """Return the generated code of a kernel with these types."""
    return str(pg.generate_code(pg.add_dtypes(knl, types), target))


def test_copies() -> None:
    assert code(pg.tag_inames(CHAIN, "j: ilp"), "c", a="float32").splitlines()[2:8] == [
        "    float t[4];",
        "    float u[4];",
        "    for (int i = 0; i < n; ++i) {",
        "        t[0] = 2.0f * a[4 * i];",
        "        t[1] = 2.0f * a[4 * i + 1];",
        "        t[2] = 2.0f * a[4 * i + 2];",
    ]
    same = code(pg.tag_inames(CHAIN, "j: ilp.unr"), "c", a="float32")
    assert same == code(pg.tag_inames(CHAIN, "j: ilp"), "c", a="float32")


def test_a_loop_for_each_instruction() -> None:
    text = code(pg.tag_inames(CHAIN, "j: ilp.seq"), "opencl", a="float32")
    assert text.splitlines()[3:] == [
        "    for (int i = 0; i < n; ++i) {",
        "        float t[4];",
        "        for (int j = 0; j < 4; ++j)",
        "            t[j] = 2.0f * a[4 * i + j];",
        "        float u[4];",
        "        for (int j = 0; j < 4; ++j)",
        "            u[j] = t[j] * t[j] + 1.0f;",
        "        for (int j = 0; j < 4; ++j)",
        "            out[4 * i + j] = u[j] - t[j];",
        "    }",
        "}",
    ]


def test_vectors() -> None:
    new = pg.tag_inames(CHAIN, "j: vec")
    assert code(new, "opencl", a="float32").splitlines()[3:] == [
        "    for (int i = 0; i < n; ++i) {",
        "        float4 const t = 2.0f * vload4(0, a + 4 * i);",
        "        float4 const u = t * t + 1.0f;",
        "        vstore4(u - t, 0, out + 4 * i);",
        "    }",
        "}",
    ]
    assert code(new, "c", a="float64").splitlines() == [
        "typedef double pg_float64_vec4 __attribute__((vector_size(32), aligned(8), may_alias));",
        "",
        "void chain(double const *restrict a, int const n, double *restrict out)",
        "{",
        "    for (int i = 0; i < n; ++i) {",
        "        pg_float64_vec4 const t = 2.0 * *(pg_float64_vec4 const *) (a + 4 * i);",
        "        pg_float64_vec4 const u = t * t + 1.0;",
        "        *(pg_float64_vec4 *) (out + 4 * i) = u - t;",
        "    }",
        "}",
    ]


def test_sums_in_vectors() -> None:
    text = code(pg.tag_inames(PRODUCT, "j: vec"), "c", a="float32", b="float32")
    assert "        pg_float32_vec4 acc_k = (pg_float32_vec4) {0.0f};\n" in text
    assert "acc_k += a[3 * i + k] * *(pg_float32_vec4 const *) (b + 4 * k);\n" in text
    program = lowered(pg.tag_inames(PRODUCT, "j: vec"))
    (acc,) = (n for n in nodes(program) if isinstance(n, Declare))
    assert (acc.extent, acc.vector) == (1, 4)
    assert [n.at_once for n in nodes(program) if isinstance(n, Loop) and n.iname == "j"] == [
        True
    ] * 3
    assert str(program).count("# at once") == 3


def test_arrays_of_vectors_are_taken_whole() -> None:
    a, out = (pg.GlobalArg(n, shape="n, 4", dim_tags="N0, vec") for n in ("a", "out"))
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = 2*a[i,j]", a, out, name="twice")
    text = code(pg.tag_inames(knl, "j: vec"), "opencl", a="float32")
    assert "        out[i] = 2.0f * a[i];\n" in text
    agree_in_arrays(knl, SIZES, tag(j="vec"), tag(j="ilp"))
    mirrored = kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = 2*a[i,3-j]", a, out)
    assert "out[i] = 2.0f * (float4)(a[i].s3, a[i].s2, a[i].s1, a[i].s0);" in code(
        pg.tag_inames(mirrored, "j: vec"), "opencl", a="float32"
    )
    agree_in_arrays(mirrored, SIZES, tag(j="vec"))


def test_functions_of_vectors() -> None:
    """OpenCL has those whose results are exactly known; others are called for each component."""
    text = "out[i,j] = floor(a[i,j]) + sin(a[i,j])"
    new = pg.tag_inames(kernel("{ [i,j]: 0<=i<n and 0<=j<2 }", text), "j: vec")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opencl, c = (code(new, target, a="float32") for target in ("opencl", "c"))
    assert "vstore2(floor(vload2(0, a + 2 * i)) + pg_sin_f32_vec2(vload2(0, a + 2 * i))" in opencl
    assert (
        "static inline float2 pg_sin_f32_vec2(float2 a)\n{\n"
        "    return (float2)(sin(a.s0), sin(a.s1));\n}\n" in opencl
    )
    assert (
        "static inline pg_float32_vec2 pg_sin_f32_vec2(pg_float32_vec2 a)\n{\n"
        "    pg_float32_vec2 result;\n    #pragma omp simd simdlen(2)\n"
        "    for (int i = 0; i < 2; ++i)\n"
        "        result[i] = sinf(a[i]);\n    return result;\n}\n" in c
    )


@pytest.mark.parametrize("each", TAGS)
def test_lanes_in_a_kernel_that_is_called(each: str) -> None:
    square = pg.make_function("{ [k]: 0<=k<4 }", "<> t = 2*x[k]\ny[k] = t*t", name="square")
    square = pg.tag_inames(square, {"k": each})
    knl = kernel(
        "{ [i,p]: 0<=i<n and 0<=p<4 }",
        "[p]: out[i,p] = square([p]: a[i,p])",
        functions={"square": square},
    )
    agree_in_arrays(knl, SIZES, lambda k: k)
    text = code(knl, "opencl", a="float32")
    assert ("    vstore4(t * t, 0, y);\n" in text) == (each == "vec")
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    for target in ("c", "opencl"):
        _, (out,) = pg.add_dtypes(knl, {"a": "float32"}).executor(target)(a=a)
        np.testing.assert_array_equal(out, 4 * a * a)


def test_a_call_in_lanes() -> None:
    scale = pg.make_function("{ [k]: 0<=k<3 }", "y[k] = 2*x[k]", name="scale")
    knl = kernel(
        "{ [i,j,p]: 0<=i<n and 0<=j<4 and 0<=p<3 }",
        """
        <> w = 2*a[i,j,0]                 {id=w}
        t[p] = a[i,j,p]*w                 {id=t, inames=i:j:p, dep=w}
        [p]: out[i,j,p] = scale([p]: t[p])  {inames=i:j, dep=t}
        """,
        pg.TemporaryVariable("t", np.float64, (3,)),
        functions={"scale": scale},
        loop_priority="i, p",
    )
    agree_in_arrays(knl, SIZES, *(tag(j=each) for each in TAGS))


def test_what_is_said_of_their_order() -> None:
    lines = pg.explain_order(pg.tag_inames(CHAIN, "j: vec"), "insn", "insn_0").splitlines()
    assert any("j is tagged vec: lanes, and orders nothing." in line for line in lines)


def test_what_is_known_to_be_aligned() -> None:
    arrays = [pg.GlobalArg(n, "float32", "n, 4", alignment=a) for n, a in (("a", 16), ("b", 8))]
    shifted = pg.GlobalArg("c", "float32", "n, 6", alignment=32)
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = a[i,j] + b[i,j] + c[i,j]", *arrays, shifted
    )
    text = str(pg.generate_code(pg.tag_inames(knl, "j: vec"), "opencl"))
    wanted = "*(__global float4 const *) (a + 4 * i) + vload4(0, b + 4 * i) + vload4(0, c + 6 * i)"
    assert f"        vstore4({wanted}, 0, out + 4 * i);\n" in text
    out = pg.GlobalArg("out", "float32", "n, 4", alignment=64)
    last = kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = 2*a[i,j]", arrays[0], out)
    text = str(pg.generate_code(pg.tag_inames(last, "j: vec"), "opencl"))
    assert (
        "*(__global float4 *) (out + 4 * i) = 2.0f * *(__global float4 const *) (a + 4 * i)" in text
    )
    agree_in_arrays(last, SIZES, tag(j="vec"))


def test_aligned_local_memory() -> None:
    tile = pg.TemporaryVariable("tile", np.float32, (8, 4), pg.AddressSpace.LOCAL, alignment=16)
    knl = kernel(
        "{ [i,p,j]: 0<=i<8 and 0<=p<8 and 0<=j<4 }",
        "tile[i,j] = a[i,j]  {id=fill, inames=i:j}\nout[p,j] = 2*tile[7-p,j]  {dep=fill}",
        tile,
        loop_priority="i, p, j",
    )
    new = pg.tag_inames(pg.duplicate_inames(knl, "j", "id:fill", "jj"), "i: l.0, p: l.0")
    new = pg.tag_inames(new, "j: vec, jj: vec")
    text = code(new, "opencl", a="float32")
    assert "    __local float tile[32] __attribute__((aligned(16)));\n" in text
    assert "    *(__local float4 *) (tile + 4 * i) = vload4(0, a + 4 * i);\n" in text
    assert "2.0f * *(__local float4 const *) (tile + 28 - 4 * i)" in text
    agree_in_arrays(knl, [{}], lambda k: pg.tag_inames(k, "i: l.0, p: l.0, j: vec"))


@pytest.mark.parametrize(
    ("values", "text", "why"),
    [
        ("0<=j<4", "out[j] = a[2*j]", "'a[2*j]' are not next to each other"),
        ("0<=j<4", "out[3-j] = a[j]", "are not next to each other"),
        ("0<=j<4", "out[j] = if(a[j] > 0, a[j-1], 0)", "'a[j - 1]' may be outside where a condit"),
        ("0<=j<4", "out[j] = complex64(a[j])", "4 numbers of type complex64 are no vector"),
        ("0<=j<3", "out[j] = a[j]", "3 numbers of type float32 are no vector of 8, 16, 32 or 64"),
        ("0<=j<32", "out[j] = a[j]", "32 numbers of type float32 are no vector"),
        ("1<=j<5", "out[j] = a[j]", "'j' does not begin with 0"),
        ("0<=j<4", "x[j], y[2*j] = 2*a[j], a[j]", "'y[2*j]' are not next to each other"),
        ("0<=j<4", "out[0] = out[0] + a[j] {atomic}", "it is no plain assignment"),
    ],
)
def test_what_becomes_no_vector(values: str, text: str, why: str) -> None:
    knl = pg.add_dtypes(kernel(f"{{ [j]: {values} }}", f"{text}"), {"a": "float32"})
    knl = pg.tag_inames(knl, "j: vec")
    with pytest.warns(NotVectorized) as caught:
        new = pg.generate_code(knl, "c")
    (warning,) = caught
    assert "is executed for one value of 'j', which is tagged vec, after the other: " in str(
        warning.message
    )
    assert why in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = pg.set_options(knl, silenced_warnings=["NotVectorized"])
        assert str(pg.generate_code(quiet, "c")) == str(new)


LARGE = kernel(
    "{ [i,j]: 0<=i<n and 0<=j<16 }",
    "<> t = if(a[i,j] > 3, sqrt(a[i,j]), 2*a[i,j] + j)\nout[i,j] = t*t + exp(t)",
)


def test_vectors_of_64_bytes() -> None:
    """They are C's: on a grid, one lane comes after the other."""
    knl = pg.tag_inames(LARGE, "j: vec")
    for dtype, is_vector in (("float32", True), ("float64", False)):
        text = pg.generate_code(pg.add_dtypes(knl, {"a": dtype}), "c").source
        assert (f"(pg_{dtype}_vec16 *)" in text) == is_vector
    for target in ("c", "opencl"):
        a = np.arange(16 * 3, dtype=np.float32).reshape(3, 16) / 8
        _, (out,) = knl.executor(target)(a=a)
        t = np.where(a > 3, np.sqrt(a), 2 * a + np.arange(16))
        np.testing.assert_allclose(out, t * t + np.exp(t), rtol=1e-6)
    with pytest.warns(NotVectorized, match="float32 are no vector of 8, 16 or 32 bytes"):
        text = pg.generate_code(pg.add_dtypes(knl, {"a": "float32"}), "opencl").source
    assert "vload16" not in text


def test_where_some_lanes_are_executed() -> None:
    """No warning: the others would touch what is not there."""
    knl = kernel("{ [i,j]: 0<=j<4 and 0<=4*i+j<n }", "out[4*i+j] = 2*a[4*i+j]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = lowered(pg.tag_inames(knl, "j: vec"))
    assert sum(isinstance(n, Assign) for n in nodes(program)) == 4


def _numpy(a: Any) -> Any:
    t = 2 * a
    return t * t + 1 - t


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_it_runs(target: str) -> None:
    for dtype in ("float32", "float64", "int32", "int64", "int16"):
        for each in TAGS:
            run = pg.tag_inames(CHAIN, {"j": each}).executor(target)
            for n in (0, 1, 7):
                a = np.arange(4 * n).reshape(n, 4).astype(dtype)
                _, (out,) = run(a=a)
                np.testing.assert_array_equal(out, _numpy(a), strict=True)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_kernels_that_are_called(target: str) -> None:
    """Each lane calls; what is passed is a part of an array, or of the lane's own array."""
    scale = pg.make_function("{ [k]: 0<=k<5 }", "y[k] = x[k]*(k + 1) + s", name="scale")
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<3 }", "{ [k,l]: 0<=k,l<5 }"],
        """
        t[k] = 2*a[j,k]                  {id=t, inames=i:j:k}
        [q]: own[q] = scale(i, [q]: t[q])  {id=own, dep=t, inames=i:j}
        [q]: b[i,j,q] = scale(j, [q]: a[j,q])
        c[i,j,l] = own[l] + j            {dep=own}
        """,
        [
            pg.GlobalArg("a", "int32", (3, 5)),
            pg.GlobalArg("b", "int32", ("n", 3, 5)),
            pg.GlobalArg("c", "int32", ("n", 3, 5)),
            *(pg.TemporaryVariable(name, "int32", 5) for name in ("t", "own")),
            "...",
        ],
        functions={"scale": scale},
        assumptions="n >= 0",
        loop_priority="i, j",
    )
    a = np.arange(15, dtype=np.int32).reshape(3, 5)
    factors, rows = np.arange(1, 6), np.arange(3)[:, None]
    for each in TAGS:
        run = pg.tag_inames(knl, {"j": each}).executor(target)
        for n in (0, 1, 4):
            b, c = (np.zeros((n, 3, 5), np.int32) for _ in range(2))
            run(a=a, b=b, c=c)
            np.testing.assert_array_equal(b, np.broadcast_to(a * factors + rows, (n, 3, 5)))
            own = 2 * a * factors + np.arange(n)[:, None, None]
            np.testing.assert_array_equal(c, own + rows)


@pytest.mark.parametrize("inner", TAGS)
def test_lanes_in_loops_over_lanes(inner: str) -> None:
    """Of one instruction, all lanes are executed before the next: in loops, or written out."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<3 and 0<=k<2 }", "<> t = a[i,j,k]*2\nb[i,j,k] = t + 1"
    )
    for outer in ("ilp", "ilp.seq"):
        run = pg.tag_inames(knl, {"j": outer, "k": inner}).executor("c")
        a = np.arange(24.0).reshape(4, 3, 2)
        _, (b,) = run(a=a)
        np.testing.assert_array_equal(b, 2 * a + 1)


@pytest.mark.parametrize("tag_name", TAGS)
def test_a_lane_between_holes(tag_name: str) -> None:
    """Of the values between the bounds, one has an instance: there is one lane."""
    knl = kernel(
        "{ [i,j]: 0<=i<2 and (1+i) mod 2 = 0 and 0<=j<n }",
        "out[i], place[i] = argmax(j, a[i,j], j)",
    )
    a = np.random.default_rng(5).random((2, 7))
    out, place = np.full(2, -1.0), np.full(2, -1)
    pg.tag_inames(knl, {"i": tag_name}).executor("c")(a=a, out=out, place=place)
    np.testing.assert_array_equal(out, [-1, a[1].max()])
    np.testing.assert_array_equal(place, [-1, a[1].argmax()])
