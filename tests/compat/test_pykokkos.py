"""PyKokkos' names: what the page on porting says of them, and those that only it has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polygen.compat.pykokkos as pk
import polygen.workunits
from polygen.errors import InvalidArgument, NoLibrary, UnsupportedSpace

PAGE = Path(__file__).parents[2] / "docs" / "porting-from-pykokkos.md"
NAME = re.compile(r"`([A-Za-z]\w*)`")
# What PyKokkos' users import, by the lists of its documentation, beside the page's.
ASKED = [
    "Acc",
    "AUTO",
    "BinOp1D",
    "BinOp3D",
    "BinSort",
    "Cuda",
    "CudaSpace",
    "CudaUVMSpace",
    "Debug",
    "Default",
    "ExecutionSpace",
    "ExecutionSpaceInstance",
    "HostSpace",
    "Iterate",
    "Layout",
    "LayoutDefault",
    "LayoutLeft",
    "LayoutRight",
    "MDRangePolicy",
    "MemorySpace",
    "OpenMP",
    "PerTeam",
    "PerThread",
    "RandomAccess",
    "Random_XorShift64_Pool",
    "RangePolicy",
    "Rank",
    "Restrict",
    "ScratchView1D",
    "ScratchView8D",
    "Serial",
    "Subview",
    "TeamMember",
    "TeamPolicy",
    "TeamThreadMDRange",
    "TeamThreadRange",
    "ThreadVectorRange",
    "Threads",
    "Timer",
    "Trait",
    "Unmanaged",
    "View",
    "View1D",
    "View8D",
    "ViewTypeInfo",
    "argmax",
    "array",
    "asarray",
    "atomic_fetch_add",
    "bool",
    "callback",
    "classtype",
    "compile_into_module",
    "complex64",
    "double",
    "enable_uvm",
    "execute",
    "fence",
    "finalize",
    "float",
    "from_array",
    "from_numpy",
    "function",
    "functor",
    "hstack",
    "in1d",
    "initialize",
    "int32",
    "j0",
    "j1",
    "linalg",
    "linspace",
    "logspace",
    "main",
    "parallel_for",
    "parallel_reduce",
    "parallel_scan",
    "printf",
    "rand",
    "real",
    "searchsorted",
    "set_default_precision",
    "set_default_space",
    "set_device_id",
    "single",
    "uint64",
    "unique",
    "var",
    "workload",
    "workunit",
    "zeros",
]


def rows() -> list[tuple[list[str], str]]:
    table = PAGE.read_text(encoding="utf-8").partition("## Names")[2]
    cells = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    return [(NAME.findall(names), said.strip()) for names, said in cells]


def test_each_name_of_the_page_is_there() -> None:
    found = [(name, said) for names, said in rows() for name in names]
    assert len(found) > 150
    for name, said in found:
        if said.startswith("refused"):
            with pytest.raises(UnsupportedSpace):
                pk.View([1], pk.double, space=getattr(pk, name))
        else:
            assert getattr(pk, name) is not None, name


def test_each_name_that_is_asked_for_is_on_the_page() -> None:
    on_page = {name for names, _ in rows() for name in names}
    text = PAGE.read_text(encoding="utf-8")
    for name in ASKED:
        assert getattr(pk, name) is not None
        is_one_of_several = name in ("ScratchView8D", "View8D", "ExecutionSpace", "MemorySpace")
        assert name in on_page or is_one_of_several or f"`{name}`" in text, name


def test_names_are_those_of_work_units() -> None:
    for name in polygen.workunits.__all__:
        assert getattr(pk, name) is getattr(polygen.workunits, name)
    assert {"float", "parallel_for"} <= set(dir(pk))
    with pytest.raises(AttributeError, match=r"no 'pluvial': see docs/porting-from-pykokkos\.md"):
        pk.pluvial  # noqa: B018


def test_products_of_matrices() -> None:
    a, b, c = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4), np.ones((2, 4))
    found = pk.linalg.dgemm(2.0, pk.from_numpy(a), pk.from_numpy(b), 3.0, pk.from_numpy(c))
    assert isinstance(found, pk.View)
    np.testing.assert_allclose(np.asarray(found), 2 * a @ b + 3)
    np.testing.assert_allclose(np.asarray(pk.linalg.dgemm(1.0, a, b)), a @ b)
    with pytest.raises(InvalidArgument, match=r"beta = 3\.0, and no matrix"):
        pk.linalg.dgemm(1.0, a, b, 3.0)


def test_the_array_api_finds_functions() -> None:
    x = pk.from_numpy(np.array([4.0, 9.0]))
    namespace = x.__array_namespace__(api_version="2023.12")
    np.testing.assert_array_equal(np.asarray(namespace.sqrt(x)), [2.0, 3.0])
    assert namespace is polygen.workunits


def test_types() -> None:
    assert pk.View([2], pk.float).dtype == pk.View([2], pk.DataType.float).dtype == np.float32
    assert pk.View([2], pk.DataType.double).dtype == np.float64
    assert pk.View([2], pk.bool).dtype == np.bool_


def test_devices_and_memory() -> None:
    for device in (-1, 100):
        with pytest.raises(InvalidArgument, match=rf"set_device_id\({device}\)"):
            pk.set_device_id(device)
    assert pk.get_device_id() == 0
    assert pk.get_default_memory_space(pk.OpenMP) is pk.HostSpace
    assert pk.get_default_memory_space(pk.Cuda) is pk.CudaSpace
    pk.enable_uvm()
    try:
        assert pk.is_uvm_enabled()
        assert pk.get_default_memory_space(pk.Cuda) is pk.CudaUVMSpace
    finally:
        pk.disable_uvm()
    assert not pk.is_uvm_enabled()
    assert pk.get_default_layout(pk.HostSpace) is pk.LayoutRight
    assert pk.get_default_layout(pk.CudaSpace) is pk.LayoutLeft


def test_streams_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(NoLibrary, match="the stream at 7 is asked for"):
        pk.ExecutionSpaceInstance(pk.Cuda, 7).is_current()
    with pytest.raises(InvalidArgument, match="'none' is no stream"):
        pk.ExecutionSpaceInstance(pk.Cuda, "none").is_current()
    assert pk.get_num_gpus() == 0


def test_streams_are_entered() -> None:
    entered: list[str] = []

    class Stream:
        def __enter__(self) -> None:
            entered.append("in")

        def __exit__(self, *_: object) -> None:
            entered.append("out")

    with pk.ExecutionSpaceInstance(pk.Cuda, Stream()).is_current():
        assert entered == ["in"]
    assert entered == ["in", "out"]
    with pk.ExecutionSpaceInstance(pk.OpenMP, Stream()).is_current():
        assert entered == ["in", "out"]  # processors have one stream


@pytest.mark.more
@pytest.mark.parametrize("x", [0.0, 1e-9, 0.5, 2.404825557695773, 24.9, 25.1, 300.0, 1e5])
def test_bessel_functions(x: float) -> None:
    """Bessel's equation in the form of recurrences, and values by the series and of tables."""
    h = 1e-4 * max(1.0, min(x, 10.0))
    # The derivative of J0 is -J1.
    by_differences = (pk.j0(x + h) - pk.j0(x - h)) / (2 * h)
    np.testing.assert_allclose(by_differences, -pk.j1(x), atol=2e-7)
    if x < 3:
        terms = np.cumprod([1.0, *[-((x / 2) ** 2) / k**2 for k in range(1, 20)]])
        np.testing.assert_allclose(pk.j0(x), terms.sum(), atol=3e-16)
    assert pk.j1(-x) == -pk.j1(x)
    assert pk.j0(-x) == pk.j0(x)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        pytest.param({"DEBUG": "1", "PK_FUSION": "0"}, "Debug False", marks=pytest.mark.more),
        pytest.param({"PK_FUSION": "naive", "DEBUG": ""}, "OpenMP True", marks=pytest.mark.more),
        pytest.param({"PK_RESTRICT": "1"}, "OpenMP False", marks=pytest.mark.more),
    ],
)
def test_the_environment(environment: dict[str, str], said: str) -> None:
    code = (
        "import polygen.compat.pykokkos as pk\n"
        "from polygen.ir.traced_calls import TRACING\n"
        "print(pk.get_default_space().value, TRACING.get())"
    )
    clean = {n: v for n, v in os.environ.items() if n[:3] != "PK_" and n != "DEBUG"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == f"{said}\n"
