"""What is loaded when: at `import polygen` nothing, with a name what it needs."""

from __future__ import annotations

import ast
import inspect
import pickle
import pydoc
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import polygen as pg

MADE = "pg.make_kernel('{ [i, j]: 0<=i,j<n }', 'out[i] = 2*a[i] + sum(j, b[i, j])')"
TO_MAKE = {"polygen", "forks", "analysis", "errors", "ir", "language", "source"}
OF_OTHERS = {"numpy", "islpy", "pymbolic", "lark", "sympy", "pyopencl", "cupy", "torch"}


def _run(code: str) -> str:
    """Run code in a process of its own; return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def _loaded(code: str) -> list[list[str]]:
    """Return the modules that there are at each `look()` of code in a process of its own."""
    shown = _run(f"import sys\ndef look():\n    print('=>', *sys.modules)\n{code}")
    return [line.split()[1:] for line in shown.splitlines() if line.startswith("=>")]


def _rooms(modules: list[str]) -> Counter[str]:
    """Return how many modules of each of polygen's packages there are."""
    own = [name.split(".") for name in modules if name.partition(".")[0] == "polygen"]
    return Counter(path[1] if len(path) > 1 else path[0] for path in own)


def test_importing_loads_nothing() -> None:
    modules, classes = _loaded("import polygen as pg\nlook()\npg.Kernel\nlook()")
    assert _rooms(modules) == {"polygen": 1, "forks": 1}
    assert not OF_OTHERS & set(modules)
    assert _rooms(classes).keys() == TO_MAKE - {"analysis", "language"}
    assert not {"lark", "sympy", "pyopencl", "cupy", "torch"} & set(classes)


def test_what_making_a_kernel_loads() -> None:
    made, printed, parsed = _loaded(
        "import polygen as pg\n"
        f"knl = {MADE}\nlook()\ntext = str(knl)\nlook()\npg.parse_kernel(text)\nlook()"
    )
    assert _rooms(made).keys() == _rooms(printed).keys() == _rooms(parsed).keys() == TO_MAKE
    assert _rooms(made).total() <= 220
    assert _rooms(parsed).total() <= 224
    assert not {"sympy", "pyopencl", "cupy", "torch", "matplotlib"} & set(parsed)


def test_what_the_command_loads() -> None:
    text = "{ [i]: 0<=i<n }\nout[i] = 2*a[i]"
    (modules,) = _loaded(
        "import io\nfrom polygen.cli import main\n"
        f"sys.stdin = io.StringIO({text!r})\nmain(['show', '-'])\nlook()"
    )
    assert _rooms(modules).keys() == TO_MAKE | {"cli"}


def test_what_a_kernel_offers_is_loaded_with_it() -> None:
    # The process that unpickles a kernel imports no more than its classes.
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    code = "import pickle, sys; knl = pickle.loads(sys.stdin.buffer.read())\n"
    code += "print(knl)\nassert '<' in knl._repr_html_() and knl.on_axes == knl and knl.launches"
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(knl), capture_output=True, check=True
    )
    assert done.stdout.decode() == f"{knl}\n"


def test_public_names() -> None:
    assert pg.__all__ == sorted(pg.__all__)
    assert set(pg.__all__) <= set(dir(pg))
    stub = Path(pg.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert pg.__all__ == sorted(ast.literal_eval(stub.partition("__all__ = ")[2]))
    for name in pg.__all__:
        assert getattr(pg, name) is not None
    assert inspect.ismodule(pg.errors)
    names: dict[str, object] = {}
    exec("from polygen import *", names)  # noqa: S102  (in no function is it allowed)
    assert pg.__all__ == sorted(names.keys() - {"__builtins__"})


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(AttributeError, match="tyle"):
        _ = pg.tyle  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="tyle"):
        exec("from polygen import tyle")  # noqa: S102  (linters know better)


@pytest.mark.parametrize("first", ["from polygen.transformation import Iname", "polygen.tile"])
def test_a_name_that_is_a_package_too(first: str) -> None:
    shown = _run(
        f"import polygen\n{first}\nimport polygen.transformation.step\n"
        "print(type(polygen.transformation).__name__, polygen.transformation.__module__)"
    )
    assert shown == "function polygen.transformation.step\n"


def test_help() -> None:
    shown = pydoc.plain(pydoc.render_doc(pg))
    assert "polyhedral" in shown
    assert "split_iname(" in shown
    assert "Requires:" in pydoc.plain(pydoc.render_doc(pg.split_iname))
    assert "Requires:" in pydoc.plain(pydoc.render_doc("polygen.split_iname"))
