"""The runtime's two tables: targets, and libraries of arrays."""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import WrongArgumentType
from polygen.ir.options import TARGET_NAMES
from polygen.runtime.arrays.array_library import HOST, NUMPY, ON_HOST
from polygen.runtime.backends.backend_table import BACKENDS, libraries_of, library_of
from polygen.runtime.backends.cuda.cuda_arrays import POLYGEN
from polygen.runtime.backends.cuda.device_array import DeviceArray
from polygen.runtime.backends.opencl.opencl_arrays import ARRAYS
from polygen.runtime.backends.opencl.opencl_driver import default_context, pyopencl, queue_of
from polygen.targets.languages.registry import get_target


class Exported:
    """An array of a library that has DLPack."""

    def __init__(self, data: Any, device: int = 1) -> None:
        self.data, self.device = data, device

    def __dlpack__(self, **asked: Any) -> Any:
        return self.data.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class Interface:
    """One that has CUDA's interface, or NumPy's, or both."""

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError("in the host's memory")


class Tensor:
    """What says where it is, as PyTorch's arrays do."""

    def __init__(self, is_cuda: bool, layout: str = "strided") -> None:
        self.is_cuda, self.layout = is_cuda, layout


def doubling() -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")


def test_each_target_has_a_row() -> None:
    assert set(BACKENDS) == set(TARGET_NAMES)
    for name, row in BACKENDS.items():
        assert row.target == name == get_target(name).name


def test_what_is_no_array() -> None:
    for value in (None, 1, True, 2.5, 1j, "a", [1.0], np.float32(1), np.datetime64("2020"), object):
        assert library_of(value) is None
    assert libraries_of({"n": 3, "a": np.zeros(2)}) == {"a": NUMPY}


def test_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = queue_of(default_context())
    a = np.arange(3.0)
    cases: list[tuple[Any, str | None]] = [
        (a, HOST),
        (np.ma.masked_array(a), HOST),
        (pyopencl().array.to_device(queue, a), "opencl"),
        (Exported(a), HOST),
        (Exported(a, 2), "cuda"),
        (Exported(a, 13), "cuda"),
        (Exported(a, 10), HOST),  # one that it does not know: NumPy says what is wrong with it
        (Interface(), HOST),
    ]
    torch: Any = types.ModuleType("torch")
    torch.Tensor, torch.strided = Tensor, "strided"
    monkeypatch.setitem(sys.modules, "torch", torch)
    cases += [(Tensor(False), HOST), (Tensor(True), "cuda"), (Tensor(True, "sparse"), None)]
    for value, home in cases:
        library = library_of(value)
        assert library is not None
        assert library.home(value) == home
        assert library.is_passed(value) == (home in BACKENDS or type(value) is np.ndarray)
    assert library_of(cases[2][0]) is ARRAYS
    assert library_of(memoryview(b"abc")) is None
    assert library_of(types.SimpleNamespace(__array_interface__={})) is ON_HOST
    assert library_of(DeviceArray.__new__(DeviceArray)) is POLYGEN


def test_an_array_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()

    def counted(name: str, find: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def ask(value: Any) -> Any:
            asked[name] += 1
            return find(value)

        return ask

    for library in {NUMPY, ON_HOST, *(row for b in BACKENDS.values() for row in b.libraries)}:
        name = type(library).__name__
        monkeypatch.setattr(library, "knows", counted(name, library.knows))
    knl, new = doubling(), pyopencl().array.to_device
    a, b = np.arange(5, dtype=np.float32), np.arange(7, dtype=np.float32)
    for one, other in ((a, b), (Exported(a), Exported(b))):
        asked.clear()
        for given, wanted in ((one, a), (other, b), (one, a)):
            _, (out,) = knl(a=given)
            np.testing.assert_array_equal(out, 2 * wanted)
        assert max(asked.values()) == 1
    queue = queue_of(default_context())
    asked.clear()
    for host in (a, b, a):
        given = new(queue, host)
        _, (out,) = knl(queue, a=given)
        np.testing.assert_array_equal(out.get(), 2 * host)
    assert max(asked.values()) == 1


@pytest.mark.parametrize("value", [[1.0, 2.0], np.float32(1), "a", np.ma.masked_array([1.0])])
def test_no_array_is_refused_by_each_target(value: Any) -> None:
    for target in ("c", "opencl"):
        with pytest.raises(WrongArgumentType, match="'a' has to be an array"):
            doubling().executor(target)(a=value)
