"""Names that are keywords or hostile: refused wherever a name comes in, and never code."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.metadata
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import islpy as isl
import numpy as np
import pytest
from pymbolic import var

import polygen as pg
from polygen.errors import ReservedName, UserError
from polygen.ir.names import check_function_name, check_name
from polygen.runtime.backends.opencl.opencl_driver import build, default_context
from tests.nvidia.nvrtc import compile_for

LINE = "{ [i]: 0<=i<n }"
OUT = pg.GlobalArg("out", np.int32, 4)
COPY = "out[i] = a[i]"

# What might end a name, a line, a text or a comment, and begin something else.
HOSTILE = [
    "x; }",
    "a, int b",
    "a */ exit(1); /*",
    'a"; system("x"); "',
    "a'",
    "a\\",
    "a\n#include <x>",
    "a b",
    "a-b",
    "a[0]",
    "a(1)",
    "{a}",
    "${a}",
    "$at",
    "%s",
    "1a",
    "",
    " ",
    "a ",
    "é",
    "a\u200b",
    "#define",
    "?" + "?/",
]
# Words that are there already, in one of the languages.
RESERVED = [
    "__global", "__kernel", "__builtin_trap", "_Atomic", "_Pragma", "for", "while", "return", "asm",
    "int", "float4", "uint64_t", "size_t", "class", "template", "get_global_id", "barrier", "main",
    "printf", "omp_get_num_threads", "pg_max_i32", "INT64_C",
    "NULL", "INFINITY", "isnan", "sqrt", "sinl", "fmaf", "convert_int_rte",
    "as_float",
    "atomic_add", "atomic_fetch_add_explicit", "cl_khr_fp64", "threadIdx", "kernel", "local",
    "true", "complex", "linux", "unix",
]  # fmt: skip


def isl_set(name: str) -> isl.Set:
    return isl.Set("[n] -> { [i]: 0 <= i < n }").set_dim_name(isl.dim_type.set, 0, name)


def with_size(name: str) -> isl.Set:
    return isl.Set("[n] -> { [i]: 0 <= i < n }").set_dim_name(isl.dim_type.param, 0, name)


def made() -> pg.Kernel:
    return pg.make_kernel(LINE, "f(x) := 2*a[x]\nout[i] = f(i)  {id=first}", name="made")


def edited(old: str, new: str) -> pg.Kernel:
    text = str(pg.add_dtypes(made(), {"a": "float32"}))
    assert old in text
    return pg.parse_kernel(text.replace(old, new))


def callable_named(name: str) -> pg.Kernel:
    scalar = pg.ScalarCallable({name: "float64 -> float64"}, "")
    return pg.make_kernel(LINE, "out[i] = g(a[i])", functions={"g": scalar})


def instruction(**parts: Any) -> pg.Kernel:
    said: dict[str, Any] = {
        "id": "insn",
        "assignee": var("out")[var("i")],
        "expression": var("a")[var("i")],
        "within_inames": frozenset("i"),
    }
    return pg.make_kernel(LINE, [pg.Assignment(**(said | parts))])


# Each way to bring a name in.
WAYS: dict[str, Callable[[str], object]] = {
    "name of a kernel": lambda n: pg.make_kernel(LINE, COPY, name=n),
    "name of a function": lambda n: pg.make_function(LINE, COPY, name=n),
    "name in a list of arguments": lambda n: pg.make_kernel(LINE, COPY, [n, "..."]),
    "array": lambda n: pg.make_kernel(LINE, COPY, [pg.GlobalArg(n, np.float32, 4), "..."]),
    "constant array": lambda n: pg.make_kernel(
        LINE, COPY, [pg.ConstantArg(n, np.float32, 4), "..."]
    ),
    "scalar": lambda n: pg.make_kernel(LINE, COPY, [pg.ValueArg(n, np.int32), "..."]),
    "temporary": lambda n: pg.make_kernel(
        LINE, COPY, [pg.TemporaryVariable(n, np.int32), "..."]
    ),
    "array in text": lambda n: pg.make_kernel(LINE, f"{n}[i] = a[i]"),
    "read in text": lambda n: pg.make_kernel(LINE, f"out[i] = {n}[i]"),
    "scalar in text": lambda n: pg.make_kernel(LINE, f"out[i] = a[i] + {n}"),
    "temporary in text": lambda n: pg.make_kernel(LINE, f"<> {n} = a[i]\nout[i] = {n}"),
    "iname in text": lambda n: pg.make_kernel(f"{{ [{n}]: 0<={n}<4 }}", f"out[{n}] = 1"),
    "iname of a set": lambda n: pg.make_kernel(isl_set(n), "out[0] = 1"),
    "size of a set": lambda n: pg.make_kernel(with_size(n), "out[i] = 1"),
    "size in text": lambda n: pg.make_kernel(f"{{ [i]: 0<=i<{n} }}", "out[i] = 1"),
    "rule": lambda n: pg.make_kernel(LINE, f"{n}(x) := 2*x\nout[i] = {n}(a[i])"),
    "argument of a rule": lambda n: pg.make_kernel(LINE, f"f({n}) := 2*{n}\nout[i] = f(a[i])"),
    "iname of its own": lambda n: pg.make_kernel(LINE, f"out[i] = 1  {{dup=i->{n}}}"),
    "function of the target": callable_named,
    "reduction": lambda n: pg.register_reduction(n, "a + b", 0),
    "argument of a reduction": lambda n: pg.register_reduction(
        "never", f"{n} + b", 0, arguments=(n, "b")
    ),
    "argument of make_einsum": lambda n: pg.make_einsum("ij->i", [n]),
    "tree": lambda n: pg.make_kernel(LINE, [(var("out")[var("i")], var(n)[var("i")])]),
    "tree that is written": lambda n: pg.make_kernel(LINE, [(var(n)[var("i")], 1)]),
    "instruction's array": lambda n: instruction(expression=var(n)[var("i")]),
    "instruction's assignee": lambda n: instruction(assignee=var(n)[var("i")]),
    "name for verbatim C": lambda n: pg.make_kernel(
        LINE, f'... code({n}=i) "out[0] = 1;" writes(out)', [OUT, "..."]
    ),
    "kernel's name in print": lambda n: edited("KERNEL: made", f"KERNEL: {n}"),
    "argument in print": lambda n: edited("a: GlobalArg", f"{n}: GlobalArg"),
    "new iname of a split": lambda n: pg.split_iname(made(), "i", 4, outer_iname=n),
    "new name of an iname": lambda n: pg.rename_iname(made(), "i", n),
    "new iname of a duplicate": lambda n: pg.duplicate_inames(made(), "i", "first", n),
    "iname of a map": lambda n: pg.map_domain(made(), f"{{ [i] -> [{n}]: {n} = i + 1 }}"),
    "rule of a step": lambda n: pg.extract_subst(made(), n, "a[x]", ("x",)),
    "temporary of a step": lambda n: pg.precompute(made(), "f", "i", temporary_name=n),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_hostile_names_are_refused(way: str) -> None:
    """What is no name is refused where one comes in; in text, nothing but the language is read."""
    for name in HOSTILE:
        if way.endswith("of a set") and name == "1a":
            continue  # isl has none of that name
        try:
            WAYS[way](name)
        except UserError as error:
            assert error.what, name
            continue
        # In text, it is read as something else, or without the space.
        assert "text" in way or "in print" in way or name.strip() == "a", name
        check_names(WAYS[way](name))


def check_names(knl: object) -> None:
    """Check that the names of a kernel are such, and that its code has no others."""
    assert isinstance(knl, pg.Kernel)
    for name in knl.names:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        check_name(name)


@pytest.mark.parametrize("way", WAYS)
def test_reserved_names_are_refused(way: str) -> None:
    for name in RESERVED:
        if way == "function of the target" and name in ("sinl", "fmaf"):
            continue  # which it may be
        with pytest.raises(UserError) as caught:
            WAYS[way](name)
        error = caught.value
        assert error.what, name
        assert error.remedy or " expected" in error.what, (name, error)


@pytest.mark.parametrize("name", [*HOSTILE, *RESERVED])
def test_check_name(name: str) -> None:
    with pytest.raises(ReservedName) as caught:
        check_name(name)
    assert f"'{name}'" in caught.value.what


@pytest.mark.parametrize("way", ["id", "tags", "groups", "id_prefix", "atomic"])
def test_hostile_names_in_options(way: str) -> None:
    for name in HOSTILE:
        with pytest.raises(UserError):
            pg.make_kernel(LINE, f"out[i] = out[i] + 1 {{{way}={name}=0}}")


def test_hostile_ids_of_instructions() -> None:
    for name in HOSTILE:
        with pytest.raises(UserError):
            instruction(id=name)


def test_names_beside_reserved_ones() -> None:
    """Names that people use are not refused because they resemble others."""
    for name in (
        "atomic", "atomics", "dim3", "free", "clock",
        "I", "N", "M_inv", "half_width", "as_list", "atomic_mass", "step", "length", "dot", "index",
        "gamma", "y0", "j1", "float_", "int_size", "global_id", "data", "PI", "E", "e", "CL", "_x",
    ):  # fmt: skip
        check_name(name)


@pytest.mark.parametrize("name", ["dot", "step", "normalize", "select", "vload4", "native_sin"])
def test_kernels_are_not_called_as_functions_are(name: str) -> None:
    with pytest.raises(ReservedName, match="a function or a type of C, OpenCL C") as caught:
        pg.make_kernel(LINE, COPY, name=name)
    assert caught.value.remedy == f"use another name, such as '{name}_'"
    pg.make_kernel(LINE, f"{name}[i] = a[i]")  # a variable may be


@pytest.mark.parametrize("name", ["HUGE_VAL", "M_PI", "UINT32_MAX", "FLT_EPSILON", "M_LN2_F"])
def test_numbers_of_the_target_are_no_variables(name: str) -> None:
    """Macros are found out when code is generated: until then a scalar may become a symbol."""
    for domain, text in (
        (LINE, f"out[i] = {name}[i]"),
        (LINE, f"{name}[i] = 2"),
        (LINE, f"out[i] = {name}*2"),
        (LINE, f"<> {name} = i\nout[i] = {name}"),
        (f"{{ [{name}]: 0<={name}<n }}", f"out[{name}] = {name}"),
        (f"{{ [i]: 0<=i<{name} }}", "out[i] = 2"),
    ):
        knl = pg.make_kernel(domain, text)
        dtypes = {a.name: "float64" for a in knl.arguments if isinstance(a, pg.GlobalArg)}
        if f"{name}*" in text:
            dtypes[name] = "float64"
        for target in ("c", "opencl"):
            with pytest.raises(ReservedName, match="is a number in C") as caught:
                pg.generate_code(pg.add_dtypes(knl, dtypes), target)
            assert caught.value.remedy


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_names_that_headers_and_builtins_have(target: str) -> None:
    """Names that are functions there, for variables, beside all that polygen calls itself."""
    text = """
        <> step = sqrt(abs(dot[i]))*2 + dot[i] % 3
        length[i] = max(step, 1) + y0*pow(dot[i], 2) + i // 2 + (i - 5) % 3
        index[0] = max(index[0], dot[i])  {atomic}
        j1[i] = exp(gamma[i])*(1 + 2j)
    """
    data: list[Any] = [
        pg.GlobalArg("dot", np.float64, "n"),
        pg.GlobalArg("length", np.float64, "n"),
        pg.GlobalArg("index", np.float64, 1),
        pg.GlobalArg("gamma", np.complex128, "n"),
        pg.GlobalArg("j1", np.complex128, "n"),
        pg.ValueArg("y0", np.float64),
        "...",
    ]
    knl = pg.make_kernel(LINE, text, data, name="clock_")
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    x = np.linspace(-2, 7, 9)
    given: dict[str, Any] = {"length": np.zeros(9), "index": np.full(1, -9.0)}
    given |= {"dot": x, "gamma": x + 1j, "y0": 0.5, "j1": np.zeros(9, complex)}
    knl.executor(target)(**given)
    i = np.arange(9)
    step = np.maximum(np.sqrt(abs(x)) * 2 + x % 3, 1)
    np.testing.assert_allclose(given["length"], step + 0.5 * x**2 + i // 2 + (i - 5) % 3)
    np.testing.assert_allclose(given["j1"], np.exp(x + 1j) * (1 + 2j))
    assert given["index"][0] == 7


def test_names_have_an_end() -> None:
    """PoCL makes folders that are called like kernels, and file systems allow 255 letters."""
    for way in ("name of a kernel", "array", "iname in text", "new name of an iname"):
        with pytest.raises(
            ReservedName, match=r"'a{40}\.\.\.' is a name of 201 characters"
        ) as caught:
            WAYS[way]("a" * 201)
        assert caught.value.remedy == "use 200 at most"
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "out[i] = 2*a[i]", name="k" * 200)
    for target in ("c", "opencl"):
        _, (out,) = knl.executor(target)(a=np.arange(4.0))
        np.testing.assert_array_equal(out, 2 * np.arange(4.0))


ISL_WORDS = [
    "Max",
    "MIN",
    "Exists",
    "AND",
    "Or",
    "nan",
    "NaN",
    "infty",
    "Infinity",
    "rat",
    "CEILD",
    "mod",
]


@pytest.mark.parametrize("name", ISL_WORDS)
def test_words_of_isl_s_notation(name: str) -> None:
    """It has them whichever letters are capitals, so that no text with them could be read back."""
    for domain, text in (
        (f"{{ [{name}]: 0<={name}<4 }}", "out[0] = 1"),
        (f"[n] -> {{ [{name}]: 0<={name}<n }}", "out[0] = 1"),
        (f"{{ [i, {name}]: 0<=i<4 and {name} = i }}", "out[i] = 1"),
    ):
        with pytest.raises(ReservedName, match=f"'{name}' is a word of isl's") as caught:
            pg.make_kernel(domain, text)
        line, below = str(caught.value.excerpt).splitlines()
        assert line == domain
        assert line[below.index("^") :].startswith(name)
        assert f"such as '{name}_'" in str(caught.value.remedy)
    if name != "mod":
        with pytest.raises(ReservedName, match=f"'{name}' is a word of isl's"):
            pg.make_kernel(f"{{ [i]: 0<=i<{name} }}", "out[i] = 1")
    knl = pg.make_kernel("{ [i]: 0<=i<8 }", "out[i] = 1")
    for way in ("iname of a set", "size of a set", "new name of an iname", "new iname of a split"):
        with pytest.raises(ReservedName, match="isl's"):
            WAYS[way](name)
    knl = pg.make_kernel("{ [i]: 0<=i<8 }", f"out[i] = {name}_[i]")
    assert pg.parse_kernel(str(knl)) == knl


def test_arrays_may_be_called_as_isl_s_words_are() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "Max[i] = 2*MIN[i] + Rat", name="And")
    assert pg.parse_kernel(str(knl)) == knl
    for target in ("c", "opencl"):
        _, (out,) = knl.executor(target)(MIN=np.arange(4.0), Rat=1.0)
        np.testing.assert_array_equal(out, 2 * np.arange(4.0) + 1)


# Names that headers of C and of OpenCL C define, and that nothing else here is like.
@pytest.mark.parametrize(
    "name",
    [
        *("ATOMIC_FLAG_INIT", "CL_COMPLETE", "MAX_WORK_DIM", "image1d_array_t", "vec_step"),
        "image2d_array_depth_t",
    ],
)
def test_macros_of_opencl(name: str) -> None:
    for way in ("name of a kernel", "array", "temporary in text", "iname in text", "size in text"):
        with pytest.raises(ReservedName, match="has a meaning in one of the languages"):
            WAYS[way](name)


@pytest.mark.parametrize(
    "name",
    [
        *("j0", "y1f", "gamma", "signgam", "drem", "isinff", "lgammaf_r", "scalb", "significand"),
        *("intmax_t", "uint_fast8_t", "float_t", "as_size_t", "cl_mem_fence_flags", "kernel_exec"),
        *(
            "assert",
            "clock64",
            "cudaError_t",
            "dim3",
            "malloc",
            "norm3df",
            "rcbrt",
            "erfcinv",
            "umax",
        ),
    ],
)
def test_kernels_are_not_called_as_parts_of_headers_are(name: str) -> None:
    """A variable may be: it hides them."""
    for way in ("name of a kernel", "name of a function"):
        with pytest.raises(ReservedName, match="a function or a type of C, OpenCL C") as caught:
            WAYS[way](name)
        other = "my_cudaError_t" if name == "cudaError_t" else f"{name}_"
        assert caught.value.remedy == f"use another name, such as '{other}'"
    check_name(name)


@pytest.mark.parametrize("name", ["M_PI", "INT_MAX", "FLT_EPSILON"])
def test_kernels_are_not_called_as_numbers_are(name: str) -> None:
    with pytest.raises(ReservedName, match="is a number in C"):
        pg.make_kernel(LINE, COPY, name=name)


# Of OpenMP, the C library, mathematics, OpenCL and CUDA: functions, and what else headers declare.
OF_LIBRARIES = [
    *("GOMP_parallel", "GOMP_loop_dynamic_next", "acc_init", "kmp_malloc", "GOACC_wait"),
    *("memset", "memcpy", "abort", "read", "write", "time", "index", "errno", "stdout", "environ"),
    *("pthread_create", "sem_wait", "posix_memalign", "strtol_l", "fread_unlocked", "lseek64"),
    *("nextup", "sinf32x", "cexpf64", "lgammaf128_r", "sincosf", "j0f64", "fadd", "fesetround"),
    *(
        "_exit",
        "_longjmp",
        "_x",
        "norm",
        "normf",
        "make_longlong4",
        "CUDA_R_16F",
        "atomic_int",
        "memory_order_acquire",
    ),
]


@pytest.mark.parametrize("name", OF_LIBRARIES)
def test_kernels_are_not_called_as_parts_of_libraries_are(name: str) -> None:
    """The code would be called in the place of the library's, by whoever calls that."""
    ways: dict[str, Callable[[], object]] = {
        way: partial(WAYS[way], name) for way in ("name of a kernel", "name of a function")
    }
    ways["name in print"] = lambda: edited("KERNEL: made", f"KERNEL: {name}")
    typed = pg.add_dtypes(made(), {"a": "float32"})
    ways["name of a copy"] = lambda: pg.generate_code(typed.copy(name=name), "c")
    for way, make in ways.items():
        with pytest.raises(ReservedName) as caught:
            make()
        assert name in caught.value.what, way
        assert caught.value.remedy


def test_kernels_may_be_called_nearly_so() -> None:
    for name in (
        *("gomp", "omp", "norms", "norm_", "reads", "times_", "copy", "add", "scan", "update"),
        *("process_rows", "res_norm", "timer", "clocks", "if_positive", "register_tile", "semver"),
        *("read_rows", "write_back", "index_of", "sinf3", "memory", "atomic", "make_grid", "f64"),
    ):
        check_function_name(name)


def _of_library(name: str) -> list[str]:
    """Return what a library of this machine has for programs: the default versions of names."""
    path = ctypes.util.find_library(name)
    assert path is not None
    found = subprocess.run(
        ["nm", "-D", "--defined-only", _place(path)], capture_output=True, text=True, check=True
    )
    words = [line.split()[-1] for line in found.stdout.splitlines()]
    return sorted({word.partition("@@")[0] for word in words if "@@" in word})


def _place(library: str) -> str:
    ctypes.CDLL(library)
    (found,) = set(re.findall(rf"\S*/{re.escape(library)}\b", Path("/proc/self/maps").read_text()))
    return str(found)


@pytest.mark.deep
@pytest.mark.parametrize("library", ["c", "m", "gomp"])
def test_whatever_libraries_have(library: str) -> None:
    names = _of_library(library)
    assert len(names) > 200
    for name in names:
        with pytest.raises(ReservedName) as caught:
            check_function_name(name)
        if "no function can be called like" in caught.value.what:
            (other,) = re.findall(r"such as '(\w+)'", str(caught.value.remedy))
            check_function_name(other)


def _compiles_for_cuda(names: list[str]) -> set[str]:
    """Return the names of kernels that NVIDIA's compiler refuses."""
    parameters = "float const *__restrict__ a, int const n, float *__restrict__ out"
    lines = [f'extern "C" __global__ void {name}({parameters}) {{ }}' for name in names]
    _, log = compile_for("compute_80", "\n".join(lines), "-w")
    return {names[int(at) - 1] for at in re.findall(r"a\.cu\((\d+)\): error", log)}


def _compiles_for_opencl(names: list[str]) -> set[str]:
    parameters = "__global float const *restrict a, int const n, __global float *restrict out"
    lines = [f"__kernel void {name}({parameters}) {{ }}" for name in names]
    try:
        build(default_context(), "\n".join(lines))
    except pg.errors.CompilationFailed as error:
        return {names[int(at) - 1] for at in re.findall(r"\.cl:(\d+):", error.what)}
    return set()


def _headers_of_cuda() -> list[Path]:
    root = Path(str(importlib.metadata.distribution("nvidia-cuda-runtime").locate_file("nvidia")))
    return [*root.glob("*/include/*.h"), *root.glob("*/include/crt/*.h")]


def _headers_of_pocl() -> list[Path]:
    root = Path(str(importlib.metadata.distribution("pocl-binary-distribution").locate_file("")))
    return [*root.glob("pocl_binary_distribution/.libs/share/pocl/include/*.h")]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("headers", "refused"),
    [(_headers_of_cuda, _compiles_for_cuda), (_headers_of_pocl, _compiles_for_opencl)],
)
def test_whatever_headers_mention(
    headers: Callable[[], list[Path]], refused: Callable[[list[str]], set[str]]
) -> None:
    """Each word in them: polygen refuses it, or a kernel may really be called so."""
    texts = [path.read_text(errors="replace") for path in headers()]
    words = sorted({word for text in texts for word in re.findall(r"\b[A-Za-z]\w*\b", text)})
    assert len(words) > 1000
    free = [word for word in words if len(word) <= 200 and not _is_refused(word)]
    for at in range(0, len(free), 200):
        assert not refused(free[at : at + 200])


def _is_refused(name: str) -> bool:
    try:
        check_function_name(name)
    except ReservedName:
        return True
    return False
