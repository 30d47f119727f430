"""How each peer has a kernel: all of NPBench's versions for it, else NumPy's source as it is."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.on_npbench.checkout import Kernel

Function = Callable[..., Any]
NUMBA = tuple(f"numba_{mode}" for mode in ("n", "np", "npr", "o", "op", "opr"))


@dataclass
class Framework:
    """What a peer does with a kernel.

    Attributes:
        versions: callables by the names of their versions.
        move: puts an array where the peer has them.
        wait: returns when a result is there.
        notes: what is to be printed of a kernel.
    """

    versions: dict[str, Function]
    move: Callable[[Any], Any] = np.asarray
    wait: Callable[[Any], Any] = lambda result: result
    notes: dict[str, Any] = field(default_factory=dict)


def _numpy(kernel: Kernel, *_: Any) -> Framework:
    return Framework({"numpy": _needed(kernel, "numpy")})


def _polygen(kernel: Kernel, *_: Any) -> Framework:
    """Return NumPy's source under `pg.jit`."""
    pg: Any = importlib.import_module("polygen")
    function = pg.jit(_needed(kernel, "numpy"))
    return Framework({"polygen": function}, notes={"explain": function})


def _polygen_cuda(kernel: Kernel, *_: Any) -> Framework:
    """Return the same, on the arrays of a GPU."""
    found = _polygen(kernel)
    cupy = importlib.import_module("cupy")
    return Framework(found.versions, cupy.asarray, lambda _: _synchronized(cupy), found.notes)


def _numba(kernel: Kernel, *_: Any) -> Framework:
    importlib.import_module("numba")
    return Framework({name: f for name in NUMBA if (f := kernel.function(name)) is not None})


def _jax(kernel: Kernel, *_: Any) -> Framework:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    versions = {name: f for name in ("jax", "jax_lib") if (f := kernel.function(name)) is not None}
    return Framework(versions, importlib.import_module("jax.numpy").asarray, jax.block_until_ready)


def _cupy(kernel: Kernel, *_: Any) -> Framework:
    cupy = importlib.import_module("cupy")
    function = _needed(kernel, "cupy")
    return Framework({"cupy": function}, cupy.asarray, lambda _: _synchronized(cupy))


def _synchronized(cupy: Any) -> None:
    cupy.cuda.Device().synchronize()


def _dace(kernel: Kernel, *_: Any) -> Framework:
    """Return DaCe's own version, and NumPy's source with its automatic optimization."""
    dace = importlib.import_module("dace")
    versions = {} if (own := kernel.function("dace")) is None else {"dace": own}
    versions["dace (NumPy's)"] = dace.program(auto_optimize=True)(_needed(kernel, "numpy"))
    return Framework(versions)


def _pythran(kernel: Kernel, arguments: list[Any], folder: Path) -> Framework:
    """Return Pythran's own version, or NumPy's source with a line that says the types."""
    importlib.import_module("pythran")
    function = kernel.function("pythran")
    source = Path(inspect.getfile(function or _needed(kernel, "numpy"))).read_text("utf-8")
    if function is None:
        types = ", ".join(_pythran_type(argument) for argument in arguments)
        source = f"#pythran export {kernel.about['func_name']}({types})\n{source}"
    text, library = folder / f"of_{kernel.name}.py", folder / f"of_{kernel.name}.so"
    text.write_text(source, "utf-8")
    command = Path(sysconfig.get_path("scripts")) / "pythran"
    flags = ["-DUSE_XSIMD", "-fopenmp", "-march=native", "-O3"]
    chosen = {}
    if importlib.util.find_spec("scipy_openblas64"):
        (folder / "pythranrc").write_text("[compiler]\nblas=scipy-openblas\n", "utf-8")
        chosen = {"PYTHRANRC": str(folder / "pythranrc")}
    done = subprocess.run(
        [sys.executable, command, *flags, text, "-o", library],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | chosen,
    )
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
    found = importlib.util.spec_from_file_location(text.stem, library)
    if found is None or found.loader is None:
        raise RuntimeError(f"{library} is no module")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return Framework({"pythran": getattr(module, kernel.about["func_name"])})


def _pythran_type(argument: Any) -> str:
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype}[{','.join(':' * argument.ndim)}]"
    return type(argument).__name__ if not isinstance(argument, np.generic) else str(argument.dtype)


def _needed(kernel: Kernel, version: str) -> Function:
    function = kernel.function(version)
    if function is None:
        raise LookupError(f"there is no {version} version")
    return function


FRAMEWORKS: dict[str, Callable[[Kernel, list[Any], Path], Framework]] = {
    "polygen": _polygen,
    "polygen_cuda": _polygen_cuda,
    "numpy": _numpy,
    "numba": _numba,
    "jax": _jax,
    "pythran": _pythran,
    "dace": _dace,
    "cupy": _cupy,
}
NEEDS = {"polygen_cuda": "cupy"}
"""The module that has to be there, where its name is not the framework's."""


def prepared(framework: str, kernel: Kernel, inputs: dict[str, Any], folder: Path) -> Framework:
    """Return how a framework has a kernel.

    Raises:
        LookupError: it has none.
    """
    os.chdir(folder)  # what is built goes there
    found = FRAMEWORKS[framework](kernel, kernel.copied(inputs, np.asarray), folder)
    if not found.versions:
        raise LookupError(f"there is no {framework} version")
    return found
