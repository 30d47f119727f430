"""Asynchronous copies in CUDA C++: which they are, and that they are waited for."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotAsynchronous
from polygen.ir.kernel import Kernel
from tests.nvidia.copied_tiles import matrices, product
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.nvrtc import compile_for
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret
from tests.properties.test_random_copies import REFUSALS, copied, random_kernel, tiled
from tests.properties.together import run_together
from tests.random_kernels.check import NO_CODE

pytestmark = pytest.mark.more  # CUDA on the processor of the host


def source_of(knl: Kernel) -> str:
    return str(pg.generate_code(knl, "cuda"))


def kernel_of(source: str) -> str:
    return source[source.index('extern "C"') :]


def test_the_text() -> None:
    text = kernel_of(source_of(product(ahead=False, whole=True)))
    _, _, loop = text.partition("for (int k_outer = 0; k_outer < l / 4; ++k_outer) {\n")
    to = "_fetch[4 * i_inner + j_inner]"
    sources = (
        "(4 * i_outer + i_inner) * l + 4 * k_outer",
        "(4 * k_outer + i_inner) * m + 4 * j_outer",
    )
    copies = [
        f"pg_copy(&{name}{to}, &{name}[{at} + j_inner]);"
        for name, at in zip("ab", sources, strict=True)
    ]
    lines = [line.strip() for line in loop.split("\n")]
    assert lines[:4] == [*copies, "pg_wait();", "__syncthreads();"]
    assert loop.count("pg_wait") == 1  # the barrier at the end of an iteration waits for no copy


def test_a_tile_ahead_is_under_way_while_one_is_used() -> None:
    text = kernel_of(source_of(product(whole=True)))
    before, _, loop = text.partition("for (int k_outer")
    assert before.count("pg_copy(") == 2
    assert before.count("pg_wait();\n    __syncthreads();") == 1
    copies, use, wait = (loop.index(x) for x in ("pg_copy(", "acc_k_outer_k_inner +=", "pg_wait("))
    assert copies < use < wait
    assert loop.count("pg_wait") == loop.count("__syncthreads") == 1


@pytest.mark.parametrize(
    ("dtype", "width", "alignment", "expected"),
    [
        ("float32", 4, 16, "pg_copy((pg_vector<float, 4> *) (a_fetch + "),
        ("float64", 4, 16, "pg_copy((pg_vector<double, 2> *) (a_fetch + "),
        ("float32", 4, None, "pg_copy(&a_fetch[4 * i_inner + 4 * j_inner + 3], "),
        ("complex128", None, None, "pg_copy(&a_fetch["),
    ],
)
def test_as_large_as_is_known_to_be_right(
    dtype: str, width: int | None, alignment: int | None, expected: str
) -> None:
    source = source_of(product(dtype, width, whole=True, alignment=alignment))
    assert expected in kernel_of(source)
    size, log = compile_for("compute_75", source)  # which has no such copies
    assert size, log
    assert not log


@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_sizes_that_there_are_not(dtype: str) -> None:
    knl = product(dtype)
    with pytest.raises(NotAsynchronous, match="asynchronous, but") as caught:
        source_of(knl)
    assert "an element of 'a_fetch' has 1 bytes" in str(caught.value) or dtype == "float16"
    assert "kept as float" in str(caught.value) or dtype == "int8"
    for target in ("opencl", "c"):  # copies as any
        assert "pg_copy" not in str(pg.generate_code(knl, target))


def test_bytes_in_vectors() -> None:
    knl = pg.make_kernel(
        "{ [g,i]: 0<=g<n and 0<=i<32 }",
        "out[g,i] = a[g,31-i]",
        [pg.GlobalArg("a", "int8", "n, 32", alignment=16), "..."],
    )
    knl = pg.split_iname(pg.tag_inames(knl, "g: g.0"), "i", 8, outer_tag="l.0")
    knl = pg.add_prefetch(knl, "a", "i_outer, i_inner", vector_width=8, asynchronous=True)
    source = source_of(knl)
    assert "pg_copy((pg_vector<signed char, 8> *) (a_fetch + 8 * " in source


@pytest.mark.parametrize(
    ("options", "shapes"),
    [
        ({}, [(0, 4, 4), (4, 8, 0), (5, 7, 9), (1, 2, 13)]),
        ({"width": 2, "ahead": False, "dtype": "float64"}, [(5, 7, 9), (4, 4, 3)]),
        ({"width": 4, "whole": True, "alignment": 16}, [(4, 8, 12), (8, 4, 0)]),
    ],
)
def test_products(host: HostDriver, options: Any, shapes: Sequence[tuple[int, int, int]]) -> None:
    """Copies are made when they are waited for; until then there are no numbers."""
    run = product(**options).executor("cuda")
    for n, m, l in shapes:  # noqa: E741
        a, b = matrices(options.get("dtype", "float32"), n, m, l)
        np.testing.assert_array_equal(run(a=a, b=b)[1][0], a @ b)
    assert host.compiled == 1


def rows_in_tiles(tag: str = "l.1") -> Kernel:
    """Return sums of rows whose tiles have zeros beyond the last row."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<m }",
        "for i,j\n<> s = 0 {id=s}\ns = s + j*a[i,k] {id=add,dep=s}\nout[i,j] = s {dep=add}\nend",
        [pg.GlobalArg("a", "float32", "n, m", alignment=16), "..."],
    )
    knl = pg.split_iname(pg.pad_iname(knl, "i", 4), "i", 4, outer_tag="g.0", inner_tag="l.1")
    knl = pg.split_iname(pg.tag_inames(knl, "j: l.0"), "k", 4)
    knl = pg.extract_subst(knl, "or_0", "if(row < n, a[row, column], 0)", "row, column")
    knl = pg.precompute(
        knl,
        "or_0",
        "i_inner, k_inner",
        temporary_name="tile",
        temporary_address_space="local",
        asynchronous=True,
        default_tag=None,
    )
    return pg.tag_inames(knl, {"row": tag, "column": "l.0" if tag == "l.1" else "vec"})


def test_copies_or_zeros(host: HostDriver) -> None:
    knl = rows_in_tiles()
    run = knl.executor("cuda")
    for n, m in ((1, 3), (4, 4), (7, 9)):
        a = np.random.default_rng(n).integers(-9, 9, (n, m)).astype(np.float32)
        np.testing.assert_array_equal(
            run(a=a)[1][0], a.sum(axis=1)[:, None] * np.arange(4, dtype=np.float32)
        )
    assert host.compiled == 1
    source = source_of(knl)
    assert re.search(
        r"if \(4 \* i_outer \+ i_inner < n\)\n +pg_copy\(&tile\[.*\n +else\n +tile\[.*\] = 0.0f;",
        source,
    )
    assert compile_for("sm_80", source)[0]


def test_lanes_that_choose() -> None:
    with pytest.raises(NotAsynchronous, match="its lanes choose whether they copy"):
        source_of(pg.fix_parameters(rows_in_tiles("l.0"), m=8))


def test_what_a_work_item_copied_for_itself(host: HostDriver) -> None:
    knl = pg.make_kernel(
        "{ [g,t,i]: 0<=g<n and 0<=t<3 and 0<=i<4 }",
        "tile[i] = a[g,t,i] {id=load, asynchronous}\nout[g,t,i] = 2*tile[i] {dep=load}",
        [pg.TemporaryVariable("tile", shape=4, address_space=pg.AddressSpace.LOCAL), "..."],
        loop_priority="g, t, i",
    )
    knl = pg.tag_inames(knl, "g: g.0, i: l.0")
    a = np.random.default_rng(0).standard_normal((3, 3, 4))
    np.testing.assert_array_equal(knl.executor("cuda")(a=a)[1][0], 2 * a)
    assert host.compiled == 1


@pytest.mark.parametrize(
    "seeds", [range(100, 112), pytest.param(range(200, 300), marks=pytest.mark.deep)], ids=str
)
def test_random_copies(host: HostDriver, monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    kernels: list[tuple[Kernel, dict[str, Any]]] = []
    expected: list[dict[str, Any]] = []
    for seed in seeds:
        shuffler = random.Random(seed)
        plain = random_kernel(shuffler)
        arguments = make_arguments(plain, {"n": 5}, seed)
        plain = typed(plain, arguments)
        with suppress(*REFUSALS):
            kernels.append((copied(tiled(plain, shuffler), shuffler, asynchronous=True), arguments))
            expected.append(interpret(plain, arguments, seed).arrays)
    results = run_together(kernels, "cuda", monkeypatch, (*NO_CODE, NotAsynchronous))
    there = [(r, e) for r, e in zip(results, expected, strict=True) if r is not None]
    for found, wanted in there:
        np.testing.assert_allclose(found["out"], wanted["out"], rtol=1e-12)
    assert len(there) > len(seeds) // 2
    assert host.compiled == 1


def test_that_a_missing_wait_would_be_noticed(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = host.compile

    def without_waits(source: str, options: Sequence[str]) -> tuple[bytes, str]:
        return compiled(source.replace("pg_wait();", ""), options)

    monkeypatch.setattr(host, "compile", without_waits)
    a, b = matrices("float32", 8, 8, 8)
    _, (c,) = product(name="never_waits").executor("cuda")(a=a, b=b)
    assert np.isnan(c).all()
