"""Kernels that are compiled ahead of time: modules that need NumPy alone."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import CannotEmit
from tests.emission.kernels import cases

CASES = {n: case for n, case in cases().items() if n in ("product", "steps", "many_types", "wide")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build all kernels."""
    found = tmp_path_factory.mktemp("built")
    for name, case in CASES.items():
        assert pg.build(case.make(False), found) == found / f"{name}.py"
    return found


def module(folder: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"built_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def arguments(name: str) -> dict[str, Any]:
    """Return what a case passes, arrays where the kernel wants them."""
    found = {**CASES[name].arrays, **CASES[name].numbers}
    if name == "product":
        wider = np.full((5, 8), np.nan)
        wider[:, :6] = found["b"]
        found |= {"a": np.asfortranarray(found["a"]), "b": wider[:, :6]}
    if name == "wide":
        found = {"s": np.ascontiguousarray(found["s"])}
    return {key: np.copy(v, "A") if key == "u" else v for key, v in found.items()}


@pytest.mark.parametrize("name", CASES)
def test_results(name: str, folder: Path) -> None:
    results = getattr(module(folder, name), name)(**arguments(name))
    for found, expected in zip(results, CASES[name].expected.values(), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_without_polygen(folder: Path) -> None:
    """A process that cannot import polygen, or anything that it needs but NumPy, is enough."""
    script = """
import sys, importlib.abc
class Nothing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("polygen", "islpy", "pymbolic", "lark", "platformdirs"):
            raise ImportError(name)
sys.meta_path.insert(0, Nothing())
sys.path.insert(0, sys.argv[1])
import numpy as np
from steps import steps
u = np.arange(4.0)
(result,) = steps(u=u, steps=1)
assert result is u
print(*u)
"""
    command = [sys.executable, "-I", "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1.0 0.75 1.5 1.25\n", "")


def test_outputs_and_sizes(folder: Path) -> None:
    product = module(folder, "product").product
    given = arguments("product")
    del given["ld"]  # it follows from the strides of b
    out = np.empty((7, 6))
    (result,) = product(**given, c=out, n=7, l=None)
    assert result is out
    np.testing.assert_allclose(out, CASES["product"].expected["c"])
    wide = module(folder, "wide").wide
    s = np.arange(48, dtype=np.int32).reshape(6, 8)[:, 1:6]  # stride:auto takes any
    np.testing.assert_array_equal(wide(s=s)[0], s.T)
    np.testing.assert_array_equal(wide(s=s[::-1])[0], s[::-1].T)
    assert wide(s=np.empty((0, 3), np.int32))[0].shape == (3, 0)
    u = np.empty(0)
    assert module(folder, "steps").steps(u=u, steps=3)[0] is u


def test_refusals(folder: Path) -> None:
    product, steps = module(folder, "product").product, module(folder, "steps").steps
    numbers, given = module(folder, "many_types").many_types, arguments("product")
    a, u = given["a"], np.zeros(4)
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    both = np.zeros(100)
    many = CASES["many_types"].numbers
    calls: list[tuple[Any, type[Exception], str]] = [
        (lambda: product(**given, d=1), TypeError, "has no argument 'd'"),
        (lambda: product(a=a), TypeError, "kernel 'product' needs the array 'b'"),
        (
            lambda: product(**{**given, "a": [1]}),
            TypeError,
            "'a' has to be a NumPy array, not list",
        ),
        (
            lambda: product(**{**given, "a": a.astype("f4")}),
            TypeError,
            "'a' has to be an array of float64, not of float32",
        ),
        (
            lambda: product(**{**given, "a": u}),
            ValueError,
            "'a' has 1 axes, and has to have 2: (n, l)",
        ),
        (
            lambda: product(**{**given, "b": given["b"][1:]}),
            ValueError,
            "'b' has the shape (4, 6), and has to have (5, 6) = (l, m), with ld = 8, l = 5",
        ),
        (
            lambda: product(**{**given, "a": np.ascontiguousarray(a)}),
            ValueError,
            "'a' has the strides (40, 8), in bytes, and has to have (8, 56): (1, n) in elements",
        ),
        (
            lambda: steps(u=frozen, steps=1),
            ValueError,
            "'u' is written, and the array is read-only",
        ),
        (lambda: steps(u=u), TypeError, "needs 'steps', which does not follow from the arrays"),
        (
            lambda: steps(u=u, steps=1.5),
            TypeError,
            "'steps' has to be a number of type int32, not 1.5",
        ),
        (lambda: steps(u=u, steps=2**31), ValueError, "'steps' is 2147483648, and has to be from"),
        (
            lambda: steps(u=np.zeros(36, np.uint8)[1:33].view(float), steps=1),
            ValueError,
            "the elements of 'u' do not lie at multiples of their size",
        ),
        (
            lambda: product(
                **{**given, "b": both[:40].reshape(5, 8)[:, :6]}, c=both[:42].reshape(7, 6)
            ),
            ValueError,
            "'b' and 'c' overlap, and one of them is written",
        ),
        (lambda: numbers(**{**many, "v_int8": 128}), ValueError, "'v_int8' is 128"),
        (lambda: numbers(**{**many, "n": -1}), ValueError, "an extent of 'out', (n), is negative"),
        (lambda: numbers(n=3), TypeError, "kernel 'many_types' needs the number 'v_int8'"),
    ]
    for call, error, text in calls:
        with pytest.raises(error) as caught:
            call()
        assert text in str(caught.value)


def test_help(folder: Path) -> None:
    found = inspect.getdoc(module(folder, "steps").steps)
    assert found is not None
    assert "u: array of float64, shape (n), inout." in found
    assert "n: int32, found from arrays if left out." in found


def test_what_is_not_built(tmp_path: Path) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]", name="lambda_")
    with pytest.raises(CannotEmit) as caught:
        pg.build(pg.add_dtypes(knl, {"a": "bfloat16"}), tmp_path)
    assert "'a' of kernel 'lambda_' is of type bfloat16" in str(caught.value)
    knl = pg.add_dtypes(knl, {"a": np.float32}).copy(name="lambda")
    with pytest.raises(CannotEmit) as caught:
        pg.build(knl, tmp_path)
    assert "no module can be called 'lambda'" in str(caught.value)


@pytest.mark.parametrize("name", ["zip", "isinstance", "numpy", "copy", "json", "dataclasses"])
def test_names_that_modules_need(name: str, tmp_path: Path) -> None:
    """A module of such a name would hide what NumPy imports, or its function what it calls."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name=name)
    with pytest.raises(CannotEmit, match=f"the module of kernel '{name}' would hide") as caught:
        pg.build(pg.add_dtypes(knl, {"a": "float32"}), tmp_path)
    assert caught.value.remedy == f"kernel.copy(name='{name}_')"
    assert not list(tmp_path.iterdir())
