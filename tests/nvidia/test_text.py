"""Generated CUDA C++: NVRTC compiles it, without a GPU; and what it looks like."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.functions import FAST, FUNCTIONS, Function
from polygen.errors import (
    AtomicNotSupported,
    ReservedName,
    TypeMismatch,
    TypeNotSupported,
    UnknownFunction,
    UserError,
)
from polygen.runtime.arrays.separate_arrays import taken_apart
from polygen.runtime.backends.backend_table import libraries_of
from polygen.runtime.backends.cuda import cuda_python
from polygen.runtime.calls.arguments import examine, form_of
from polygen.runtime.calls.kernel_variant import make_variant
from tests.few import few
from tests.random_kernels.check import make_case
from tests.random_kernels.layouts import passed

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("SeparationIgnored", "NotVectorized")
]


def source_of(kernel: Any, arguments: dict[str, Any], target: str = "cuda") -> str | None:
    """Return the source for a call with these arguments; None if there is no such code."""
    given = taken_apart(kernel.expanded, passed(kernel, arguments))
    classes: dict[str, type[Any]] = {name: type(v) for name, v in given.items()}
    form = form_of(kernel.expanded, target, classes, libraries_of(given))
    try:
        variant = make_variant(kernel.without_rules, examine(form, given).variant)
    except UserError:
        return None
    return variant.program.source


def test_compiling_leaves_python_alone() -> None:
    source = 'extern "C" __global__ void f() {}'
    code, log = cuda_python._Python().compile(source, ["--gpu-architecture=sm_90"])  # pyright: ignore[reportPrivateUsage]
    assert code[:4] == b"\x7fELF"
    assert log.strip("\0 \n") == ""
    assert bytes([32])[0] == 32  # there is one such object: the log must not be written there


def tiled_product(dtype: str = "float32") -> Any:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])", assumptions="n mod 16 = 0"
    )
    knl = pg.add_dtypes(knl, {"a": dtype, "b": dtype})
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", 16)
    knl = pg.add_prefetch(knl, "a", ["k_inner", "i_inner"], default_tag="l.auto")
    return pg.add_prefetch(knl, "b", ["j_inner", "k_inner"], default_tag="l.auto")


# Whatever is printed in a test is compiled for two architectures: see tests/nvidia/every_source.py.


@few(
    1,
    ("seeds", "steps"),
    [
        (range(4_000, 4_010), 0),
        (range(4_010, 4_020), 6),
        pytest.param(range(4_020, 4_050), 6, marks=pytest.mark.deep),
        pytest.param(range(4_050, 4_080), 0, marks=pytest.mark.deep),
    ],
    ids=lambda value: f"{value[0]}" if isinstance(value, range) else None,
)
def test_random_kernels_compile(seeds: range, steps: int) -> None:
    cases = [make_case(seed, steps=steps, target="c") for seed in seeds]
    found = [source_of(case.changed, case.arguments) for case in cases]
    assert sum(text is not None for text in found) >= 0.5 * len(seeds)


def test_the_text() -> None:
    assert (
        str(pg.generate_code(tiled_product(), "cuda"))
        == """\
extern "C" __global__ void __launch_bounds__(256)
polygen_kernel(
    float const *__restrict__ a,
    float const *__restrict__ b,
    float *__restrict__ c,
    int const n)
{
    int const j_outer = blockIdx.x;
    int const i_outer = blockIdx.y;
    int const j_inner = threadIdx.x;
    int const i_inner = threadIdx.y;
    __shared__ float a_fetch[256] __attribute__((aligned(16)));
    __shared__ float b_fetch[256] __attribute__((aligned(16)));

    float acc_k_outer_k_inner = 0.0f;
    for (int k_outer = 0; k_outer < n / 16; ++k_outer) {
        a_fetch[16 * i_inner + j_inner] = a[(16 * i_outer + i_inner) * n + 16 * k_outer + j_inner];
        b_fetch[16 * i_inner + j_inner] = b[(16 * k_outer + i_inner) * n + 16 * j_outer + j_inner];
        __syncthreads();
        for (int k_inner = 0; k_inner < 16; ++k_inner)
            acc_k_outer_k_inner += a_fetch[16 * i_inner + k_inner] * b_fetch[16 * k_inner + j_inner];
        __syncthreads();
    }
    c[(16 * i_outer + i_inner) * n + 16 * j_outer + j_inner] = acc_k_outer_k_inner;
}"""
    )


def test_an_axis_with_one_index_is_a_constant() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 3<=j<4 }", "out[i, j-3] = a[i] + j")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": np.float32}), "i: g.0, j: l.0")
    for target in ("cuda", "opencl"):
        assert "int const j = 3;" in str(pg.generate_code(knl, target))


def test_room_for_several_groups() -> None:
    knl = pg.set_options(tiled_product(), resident_groups=8)
    heads = [
        str(pg.generate_code(knl, target)).partition("polygen")[0]
        for target in ("cuda", "opencl", "c")
    ]
    assert heads == [
        'extern "C" __global__ void __launch_bounds__(256, 8)\n',
        "__kernel void __attribute__((reqd_work_group_size(16, 16, 1)))\n",
        "void ",
    ]


@pytest.mark.parametrize(
    "dtype", ["float16", "float64", "complex64", "complex128", "int8", "uint64", "bfloat16"]
)
def test_every_type_compiles(dtype: str) -> None:
    assert "__shared__" in str(pg.generate_code(tiled_product(dtype), "cuda"))


def test_as_much_local_memory_as_the_launch_asks_for() -> None:
    """Functions declare at most 48 KiB."""
    knl = pg.make_kernel(
        "{ [o,i,j]: 0<=o<n and 0<=i,j<8192 }",
        "t[i] = a[o,i] {id=w}\nout[o,j] = t[8191 - j] {dep=w}",
        [pg.TemporaryVariable("t", address_space=pg.AddressSpace.LOCAL, shape=8192), "..."],
    )
    knl = pg.split_iname(pg.split_iname(knl, "i", 256, inner_tag="l.0"), "j", 256, inner_tag="l.0")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float64"}), "o:g.0")
    program = pg.generate_code(knl, "cuda")
    assert program.launches[0].shared_bytes == 8 * 8192
    assert "extern __shared__" in program.source
    assert "double *t = (double *) pg_shared;" in program.source
    other = pg.generate_code(knl, "opencl")
    assert other.launches[0].shared_bytes == 0


@pytest.mark.parametrize(
    ("text", "dtypes", "expected"),
    [
        ("b[i % 4] = b[i % 4] + a[i] {atomic}", {"b": "float32"}, "atomicAdd(&b[i % 4], a[i])"),
        ("b[i % 4] = b[i % 4] + a[i] {atomic}", {"b": "int64"}, "atomicAdd((unsigned long long *)"),
        ("b[i % 4] = max(b[i % 4], a[i]) {atomic}", {"b": "int32"}, "atomicMax(&b[i % 4], a[i])"),
        ("b[i % 4] = max(b[i % 4], a[i]) {atomic}", {"b": "float64"}, "atomicCAS("),
        ("b[i % 4] = b[i % 4] * a[i] {atomic}", {"b": "float16"}, "atomicCAS("),
        ("b[i % 4] = b[i % 4] + a[i] {atomic}", {"b": "float16"}, "pg_add_half(&b[i % 4], a[i])"),
        ("b[0] = b[0] * a[i] {atomic=all_devices}", {"b": "int32"}, "atomicCAS_system("),
    ],
)
def test_atomic_operations(text: str, dtypes: dict[str, str], expected: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text)
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": dtypes["b"], **dtypes}), "i:g.0")
    source = str(pg.generate_code(knl, "cuda"))
    assert expected in source


@pytest.mark.parametrize(
    ("dtype", "expected"), [("uint16", ""), ("float16", "_block"), ("float32", "_block")]
)
def test_atomic_updates_of_a_group(dtype: str, expected: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<32 and 0<=j,k<4 }",
        "t[k] = 1 {id=z}\nt[i % 4] = t[i % 4]*a[i] {id=u, dep=z, atomic=work_group}\n"
        "b[j] = t[j] {dep=u}",
        [pg.TemporaryVariable("t", dtype, shape=4, address_space=pg.AddressSpace.LOCAL), "..."],
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": dtype, "b": dtype}), "i:l.0, j:l.0, k:l.0")
    source = str(pg.generate_code(knl, "cuda"))
    assert f"atomicCAS{expected}(" in source


def test_what_it_has_not() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[0] = b[0] + a[i] {atomic}")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "complex128", "b": "complex128"}), "i:g.0")
    with pytest.raises(AtomicNotSupported, match="which target 'cuda' does not have"):
        pg.generate_code(knl, "cuda")
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[0] = b[0] + a[i] {atomic=all_devices}")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float16", "b": "float16"}), "i:g.0")
    with pytest.raises(AtomicNotSupported, match="type 'float16' in the scope 'all_devices'"):
        pg.generate_code(knl, "cuda")
    image = pg.ImageArg("a", "float32", (4, 4))
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<4 }", "b[i,j] = a[i,j]", [image, "..."])
    knl = pg.prioritize_loops(knl, "i, j")
    with pytest.raises(TypeNotSupported, match="target 'cuda' has no images"):
        pg.generate_code(knl, "cuda")


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64"])
def test_tables_with_infinities(dtype: str) -> None:
    table = np.array([np.inf, -np.inf, np.nan, 0.5]).astype(dtype)
    tables = pg.TemporaryVariable("table", dtype, initializer=table, read_only=True)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = table[i % 4]", [tables, "..."])
    source = str(pg.generate_code(pg.tag_inames(knl, "i:g.0"), "cuda"))
    assert "1.0f / 0.0f" in source


@pytest.mark.parametrize("name", ["atomicAdd", "rsqrtf", "CUDART_VERSION"])
def test_names_that_the_text_may_not_hide(name: str) -> None:
    with pytest.raises(ReservedName, match=f"'{name}' has a meaning in one of the languages"):
        pg.make_kernel("{ [i]: 0<=i<n }", f"{name}[i] = a[i]")


def test_names_of_its_own() -> None:
    """What the source begins with is there once."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i]*a[i]\nc[i] = conj(a[i])/b[i]")
    source = str(pg.generate_code(pg.add_dtypes(knl, {"a": np.complex64}), "cuda"))
    assert source.count("struct alignas(2 * sizeof(T)) pg_complex {") == 1


def call_of(function: Function, dtype: str) -> Any:
    """Return a kernel that calls a function with numbers of a type."""
    given = [f"a{k}" for k in range(function.least)]
    results = ", ".join(f"r{k}[i]" for k in range(function.results))
    call = f"{function.name}({', '.join(f'{name}[i]' for name in given)})"
    knl = pg.make_kernel("{ [i]: 0<=i<n }", f"{results} = {call}", name=f"call_{function.name}")
    dtypes = dict.fromkeys(given, dtype) | ({given[-1]: "int32"} if function.exponent else {})
    return pg.tag_inames(pg.add_dtypes(knl, dtypes), "i:g.0")


@pytest.mark.parametrize(("dtype", "least"), [("float64", 80), ("complex128", 20)])
def test_every_function_compiles(dtype: str, least: int) -> None:
    count = 0
    for function in FUNCTIONS.values():
        with suppress(TypeMismatch, UnknownFunction):
            pg.generate_code(call_of(function, dtype), "cuda")
            count += 1
    assert count >= least


def test_quick_functions() -> None:
    """Of single precision; others are computed as always."""
    text = "b[i] = native_sin(a[i])*native_divide(a[i], a[i] + 1) + native_sqrt(a[i])"
    knl = pg.tag_inames(pg.make_kernel("{ [i]: 0<=i<n }", text), "i:g.0")
    quick = str(pg.generate_code(pg.add_dtypes(knl, {"a": "float32"}), "cuda"))
    assert "__sinf(a[i]) * __fdividef(a[i], a[i] + 1.0f) + pg_native_sqrt_f32(a[i])" in quick
    assert 'asm("sqrt.approx.ftz.f32' in quick
    usual = str(pg.generate_code(pg.add_dtypes(knl, {"a": "float64"}), "cuda"))
    assert "sin(a[i]) * (a[i] / (a[i] + 1.0)) + sqrt(a[i])" in usual
    assert "__sin" not in usual
    for name in FAST:
        call = "(a[i], a[i])" if name.endswith(("divide", "powr")) else "(a[i])"
        one = pg.make_kernel("{ [i]: 0<=i<n }", f"b[i] = {name}{call}")
        one = pg.tag_inames(pg.add_dtypes(one, {"a": "float32"}), "i:g.0")
        assert f" {name}(" not in str(pg.generate_code(one, "cuda"))


def test_an_axis_of_one_work_item() -> None:
    """Its index is a number: with one that compilers do not know, arrays are in no registers."""
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 2<=j<6 }", "<> t = a[i, j]\nout[i, j] = t*t")
    knl = pg.split_iname(pg.add_dtypes(knl, {"a": "float32"}), "i", 64, outer_tag="g.0")
    knl = pg.split_iname(knl, "j", 8, outer_tag="l.1", inner_tag="unr")
    for target in ("cuda", "opencl"):
        text = str(pg.generate_code(pg.tag_inames(knl, "i_inner: l.0"), target))
        assert "int const j_outer = 0;" in text


@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_extrema_are_computed_one_by_one(function: str, dtype: str) -> None:
    """ptxas 13.0 has an instruction for three at once, and loses signs of operands there."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", f"o[i] = {function}(a[i], -b[i], c[i])")
    knl = pg.tag_inames(pg.add_dtypes(knl, dict.fromkeys("abc", dtype)), "i:g.0")
    source = str(pg.generate_code(knl, "cuda"))
    name = f"pg_{function}_i32("
    body = source[source.index("__global__") :]
    assert body.count(name) == 2
    helper = source[source.index(name) : source.index("__global__")]
    assert "cvt.s64.s32 wide, %0; cvt.u32.u64 %0, wide;" in helper


def test_halves_that_are_updated_in_place() -> None:
    """They are a structure, which has no operators of that kind: the fixture compiles the text."""
    data = [pg.GlobalArg("x", np.float16, "n"), pg.GlobalArg("y", np.float16, "n"), "..."]
    text = "\n".join(f"x[i] = x[i] {operator} y[i]" for operator in "+-*/")
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, data, seq_dependencies=True)
    code = str(pg.generate_code(pg.tag_inames(knl, {"i": "g.0"}), "cuda"))
    for operator in "+-*/":
        assert f"x[i] = x[i] {operator} y[i];" in code
