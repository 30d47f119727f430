"""Forty programs in the style of PyKokkos' examples: in Python, compiled, lazily.

A script of `scripts` has `run`, which returns numbers and views, and `reference`, which computes
the same with NumPy.  It imports `polygen.compat.pykokkos`; the tests run it with
`polygen.workunits` in the place of that, too.  `tests/nvidia` runs them with CUDA C++.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import polygen.workunits as pk

FOLDER = Path(__file__).parent / "scripts"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
OURS, THEIRS = "polygen.workunits", "polygen.compat.pykokkos"
# One of each style, and of each policy.
COMPILED = (
    "class_types", "compat_names", "device_functions", "gups", "lambdas", "random_walks",
    "tutorial_02", "tutorial_team_vector_loop",
)  # fmt: skip
LAZY = ("tutorial_mdrange",)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


def loaded(name: str, module: str, folder: Path) -> ModuleType:
    """Return a script that imports a module by the name of `pk`."""
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    path = folder / f"{name}_with_{module.rsplit('.', maxsplit=1)[-1]}.py"
    path.write_text(text.replace(THEIRS, module), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@contextlib.contextmanager
def default_space(space: pk.ExecutionSpace) -> Iterator[None]:
    before = pk.get_default_space()
    pk.set_default_space(space)
    try:
        yield
    finally:
        pk.set_default_space(before)


def check(script: ModuleType, space: pk.ExecutionSpace, *, lazily: bool = False) -> None:
    """Run a script, and compare all that it returns with NumPy's."""
    with default_space(space), pk.lazy() if lazily else contextlib.nullcontext():
        found = {name: np.asarray(value) for name, value in script.run().items()}
    expected = {name: np.asarray(value) for name, value in script.reference().items()}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        digits = 1e-5 if value.dtype == np.float32 else 1e-12
        assert found[name].shape == value.shape
        np.testing.assert_allclose(found[name], value, rtol=digits, atol=1e-12, err_msg=name)


def needs_compat(name: str) -> bool:
    return name == "compat_names"


def test_how_many_there_are() -> None:
    assert len(SCRIPTS) >= 40
    assert {*COMPILED, *LAZY} <= {*SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
def test_in_python(name: str, folder: Path) -> None:
    check(loaded(name, THEIRS, folder), pk.Debug)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str, folder: Path) -> None:
    check(loaded(name, THEIRS, folder), pk.OpenMP)


@pytest.mark.parametrize("name", LAZY)
def test_lazily(name: str, folder: Path) -> None:
    check(loaded(name, THEIRS, folder), pk.OpenMP, lazily=True)


@pytest.mark.more
@pytest.mark.parametrize("name", [n for n in SCRIPTS if not needs_compat(n)])
def test_with_work_units(name: str, folder: Path) -> None:
    script = loaded(name, OURS, folder)
    check(script, pk.Debug)
    check(script, pk.Serial)


@pytest.mark.more
@pytest.mark.parametrize("name", SCRIPTS)
def test_all_compiled(name: str, folder: Path) -> None:
    check(loaded(name, THEIRS, folder), pk.OpenMP)


@pytest.mark.more
@pytest.mark.parametrize("name", SCRIPTS)
def test_all_lazily(name: str, folder: Path) -> None:
    check(loaded(name, THEIRS, folder), pk.OpenMP, lazily=True)


def test_the_comparison_notices(folder: Path) -> None:
    script = loaded("tutorial_02", THEIRS, folder)
    vars(script)["reference"] = lambda: {"result": 1081.0, "told": np.array([1080.0])}
    with pytest.raises(AssertionError, match="result"):
        check(script, pk.Debug)
