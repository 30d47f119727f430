"""Whole programs as text.

The expected texts are in golden/; ``POLYGEN_UPDATE_GOLDEN=1`` writes them anew.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.functions import FAST, FUNCTIONS, ResultType
from polygen.errors import InternalError, ReservedName, TypeNotSupported, UnknownTarget
from polygen.ir.array import GlobalArg, ValueArg
from polygen.ir.names import check_name
from polygen.lower.program import Barrier, Loop, LoopProgram
from polygen.targets.languages.registry import get_target
from polygen.targets.languages.target import INT32
from polygen.targets.programs.printer import print_program
from tests.targets.execute import build_opencl, compile_c, make_batch
from tests.targets.expressions.test_expression_values import ARRAYS, CASES
from tests.targets.golden_programs import (
    GOLDEN,
    N,
    array,
    at,
    one_launch,
    store,
    var,
    vector_add_grid,
)

FOLDER = Path(__file__).parent / "golden"


@pytest.mark.parametrize("file", GOLDEN)
def test_text(file: str) -> None:
    target, program = GOLDEN[file]
    text = print_program(program, get_target(target)).source
    path = FOLDER / file
    if "POLYGEN_UPDATE_GOLDEN" in os.environ:
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=pytest.mark.deep)])
@pytest.mark.parametrize("file", [f for f in GOLDEN if f.endswith(".c")])
def test_c_compiles_without_warnings(file: str, compiler: str, tmp_path: Path) -> None:
    text = print_program(GOLDEN[file][1], get_target("c")).source
    # Where clang is, libomp may be missing: nothing is linked.
    flags = ["-fsyntax-only", "-Wno-unused-command-line-argument"] if compiler == "clang" else []
    compile_c(text, tmp_path, compiler=compiler, flags=flags)


@pytest.mark.parametrize("file", [f for f in GOLDEN if f.endswith(".cl")])
def test_opencl_compiles_without_warnings(file: str) -> None:
    import pyopencl as cl  # noqa: PLC0415  (loads the device libraries)

    context = cl.create_some_context(interactive=False)
    _, log = build_opencl(context, print_program(GOLDEN[file][1], get_target("opencl")))
    assert not log


def test_launches_and_arguments() -> None:
    program = print_program(vector_add_grid(), get_target("opencl"))
    (launch,) = program.launches
    assert (launch.name, launch.local_size) == ("twice", (128,))
    assert [str(size) for size in launch.group_counts] == ["(n + 127) // 128"]
    assert [a.name for a in launch.arguments] == ["a", "out", "n"]
    assert program.source == f"{program}\n"

    steps = print_program(GOLDEN["time_steps.c"][1], get_target("c"))
    assert [a.name for a in steps.arguments] == ["a", "steps", "alpha", "n", "old"]
    assert [f.name for f in steps.launches] == ["step"]
    assert [f.name for f in print_program(steps.loop_program, get_target("opencl")).launches] == [
        "step_0",
        "step_1",
    ]


# Functions of OpenCL's that variables may be called like: those are spelled out where one is.
HIDDEN = {"degrees", "mix", "radians", "smoothstep", "step", *FAST}


@pytest.mark.more
def test_every_word_of_the_source_is_reserved() -> None:
    """A user's name can therefore mean nothing else in it."""
    sources = [(GOLDEN[f][1], GOLDEN[f][0]) for f in GOLDEN]
    batch = make_batch(CASES, ARRAYS).program
    sources += [(batch, "c"), (batch, "opencl")]
    for program, target in sources:
        text = print_program(program, get_target(target)).source
        own = _own_names(program)
        text = re.sub(r"#.*|__attribute__.*|\b\d[\w.]*", " ", text)
        text = re.sub(r"^static .*?^}", " ", text, flags=re.DOTALL | re.MULTILINE)
        free = [w for w in sorted(set(re.findall(r"[A-Za-z_]\w*", text)) - own) if not _taken(w)]
        assert not free
    called = [f.name for f in FUNCTIONS.values() if f.result is ResultType.FLOATING]
    called += [f"{name}f" for name in called if name not in get_target("c").missing_functions]
    assert {name for name in called if not _taken(name)} == HIDDEN


def _taken(word: str) -> bool:
    try:
        check_name(word)
    except ReservedName:
        return True
    return False


def _own_names(program: LoopProgram) -> set[str]:
    words = set(re.findall(r"(?:name|iname)='(\w+)'", repr(program)))
    return words | set(re.findall(r"\(\('(\w+)', \d+\),\)", repr(program)))


def test_source_does_not_depend_on_earlier_ones() -> None:
    first, second = (make_batch(CASES[:200], ARRAYS).program for _ in range(2))
    c = get_target("c")
    assert print_program(first, c).source == print_program(second, c).source


def test_cost_is_linear() -> None:
    """A thousand statements print in far less than a second, also on a busy machine."""
    i = var("i")
    body = tuple(store("out", i + k, 2 * at("a", i + k) + at("a", i - k)) for k in range(1000))
    program = one_launch("unrolled", (array("a"), array("out"), N), Loop("i", 0, 9, body))
    start = time.process_time()
    print_program(program, get_target("opencl"))
    assert time.process_time() - start < 1


def test_pragmas_only_where_used() -> None:
    pragma = "cl_khr_fp64"
    single = one_launch("f", (array("a"), array("b"), N), store("a", 0, 2 * at("b", 0)))
    assert pragma not in print_program(single, get_target("opencl")).source
    double = one_launch("f", (array("a"), array("b", INT32), N), store("a", 0, at("b", 0) / 3))
    assert pragma in print_program(double, get_target("opencl")).source


def test_long_indices() -> None:
    loop = Loop("i", 0, var("n"), (store("a", var("n") * var("i"), 1),))
    program = one_launch("f", (array("a"), ValueArg("n", np.dtype(np.int64))), loop)
    wide = replace(program, index_dtype=np.dtype(np.int64))
    text = print_program(wide, get_target("c")).source
    assert "for (int64_t i = 0; i < n; ++i)" in text
    assert "a[n * i] = 1.0f;" in text


# --- errors


def test_unknown_target() -> None:
    with pytest.raises(UnknownTarget, match="'opencl'"):
        get_target("openCL")


@pytest.mark.parametrize(("target", "dtype"), [("c", "complex64"), ("opencl", "float64")])
def test_type_that_a_target_lacks(target: str, dtype: str) -> None:
    whole = get_target(target)
    names = {name: text for name, text in whole.type_names.items() if name != dtype}
    program = one_launch("f", (array("a", np.dtype(dtype)), N), store("a", 0, at("a", 1)))
    with pytest.raises(TypeNotSupported, match=dtype):
        print_program(program, replace(whole, type_names=names))


def test_programs_for_the_other_model() -> None:
    with pytest.raises(InternalError, match="grid"):
        print_program(vector_add_grid(), get_target("c"))
    barrier = one_launch("f", (array("a"), N), Barrier(frozenset()))
    with pytest.raises(InternalError, match="barrier"):
        print_program(barrier, get_target("c"))
    untyped = one_launch("f", (GlobalArg("a", None, (var("n"),)), N), store("a", 0, 1))
    with pytest.raises(InternalError, match="no type"):
        print_program(untyped, get_target("c"))


@pytest.mark.parametrize(("dtype", "says_so"), [("float32", True), ("int64", False)])
def test_integers_keep_the_widest_vectors(dtype: str, says_so: bool) -> None:
    """GCC fuses products and sums in spite of its option, unless the processor seems not to."""
    args = [pg.GlobalArg("a", dtype, "n"), pg.GlobalArg("b", dtype, "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = b[i] + a[i]*a[i]", args)
    source = str(pg.generate_code(pg.set_options(knl, contract="off"), target="c"))
    assert ("no-avx512f" in source) is says_so
