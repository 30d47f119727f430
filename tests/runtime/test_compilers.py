"""Compilers and devices: found, missing, or refusing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.runtime.c_compiler import compiler_command, find_compiler, load_library
from polygen.runtime.opencl import build

_PREFIX = """
import numpy as np, polygen as pg
from polygen import errors
knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
"""


def _run(script: str, **more: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-c", _PREFIX + script],
        env={**os.environ, **more},
        text=True,
        capture_output=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_no_compiler(
    double: pg.Kernel, numbers: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ld").symlink_to(shutil.which("ld") or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(errors.NoCompiler) as error:
        double.executor("c")(a=numbers)
    assert "no gcc, clang or cc" in str(error.value)
    assert "apt install gcc" in str(error.value)
    # Without a compiler, OpenCL is the default.
    assert pg.default_target() == "opencl"
    assert double.executor().target == "opencl"
    np.testing.assert_array_equal(double(a=numbers)[1][0], 2 * numbers)


def test_no_linker(
    double: pg.Kernel, numbers: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """PoCL would end the process."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(errors.NoLinker) as error:
        double.executor("opencl")(a=numbers)
    assert "needs the linker 'ld'" in str(error.value)
    assert "apt install binutils" in str(error.value)


def test_compiler_of_the_environment(
    double: pg.Kernel, numbers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(errors.NoCompiler) as error:
        double.executor("c")(a=numbers)
    assert "CC says 'no-such-compiler -m64'" in str(error.value)
    monkeypatch.setenv("CC", "gcc -m64")
    assert (compiler_command() or ())[1:] == ("-m64",)
    np.testing.assert_array_equal(double.executor("c")(a=numbers)[1][0], 2 * numbers)


def test_other_compilers_are_other_entries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "gcc"
    other.write_text("""#!/bin/sh\n[ "$1" = --version ] && echo gcc 99 || exec gcc "$@"\n""")
    other.chmod(0o755)
    monkeypatch.setenv("CC", "gcc")
    first = find_compiler().identity
    monkeypatch.setenv("CC", str(other))
    assert find_compiler().identity != first


def test_compiler_that_cannot_be_started(
    double: pg.Kernel, numbers: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "cc"
    broken.write_bytes(b"no program")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(errors.NoCompiler) as error:
        double.executor("c")(a=numbers)
    assert "cannot be started" in str(error.value)


def test_source_that_does_not_compile() -> None:
    with pytest.raises(errors.CompilationFailed) as error:
        load_library("void f(void)\n{\n    int x = 1;\n    y = x;\n}\n")
    shown = str(error.value)
    assert "'y' undeclared" in shown
    assert "->    4     y = x;" in shown
    # The place of the temporary file says nothing to users.
    assert tempfile.gettempdir() not in f"{error.value.what}{error.value.excerpt}"
    assert "report" in shown


def test_opencl_source_that_does_not_compile(queue: Any) -> None:
    with pytest.raises(errors.CompilationFailed) as error:
        build(queue.context, "__kernel void f(__global int *x) { x[0] = y; }")
    assert "undeclared identifier 'y'" in str(error.value)
    assert "->    1 __kernel void f(" in str(error.value)


def test_build_options(double: pg.Kernel, numbers: Any, target: str) -> None:
    good = pg.set_options(double, build_options=("-DX=1",)).executor(target)
    np.testing.assert_array_equal(good(a=numbers)[1][0], 2 * numbers)
    bad = pg.set_options(double, build_options=("--no-such-option",)).executor(target)
    with pytest.raises(errors.CompilationFailed) as error:
        bad(a=numbers)
    assert "build options, --no-such-option" in str(error.value)


def test_no_device_at_all() -> None:
    _run(
        """
try:
    knl.executor("opencl")(a=np.ones(3))
except errors.NoDevice as error:
    assert "pip install 'polygen[pocl]'" in str(error), error
else:
    raise AssertionError
try:
    knl(a=np.ones(3))
except errors.NoDevice as error:
    assert "neither a C compiler nor an OpenCL device" in str(error), error
else:
    raise AssertionError
""",
        OCL_ICD_VENDORS="/nonexistent",
        PATH="/nonexistent",
        CC="",
    )


def test_no_pyopencl() -> None:
    _run(
        """
import sys
sys.modules["pyopencl"] = None
try:
    knl.executor("opencl")(a=np.ones(3))
except errors.NoDevice as error:
    assert "pip install 'polygen[pocl]'" in str(error), error
else:
    raise AssertionError
assert (knl(a=np.ones(3))[1][0] == 2).all()
"""
    )


def test_nothing_is_loaded_before_it_is_needed() -> None:
    shown = _run(
        """
import sys
print([m for m in ("pyopencl", "cupy", "torch", "matplotlib") if m in sys.modules])
knl(a=np.ones(3))
print("pyopencl" in sys.modules)
"""
    )
    assert shown == "[]\nFalse\n"


def test_private_folder_for_pocl(tmp_path: Path) -> None:
    script = """
import os; from pathlib import Path; from polygen.runtime.pocl_cache import give_folder
give_folder()
print(os.environ["POCL_CACHE_DIR"], Path(os.environ["POCL_CACHE_DIR"]).parent.stat().st_mode)
"""
    others = str(tmp_path / "polygen-run-abc" / "pocl")  # a process inherits its parent's
    for given in (None, others, str(tmp_path / "chosen")):
        environment = {**os.environ, "TMPDIR": str(tmp_path), "POCL_CACHE_DIR": given or ""}
        if given is None:
            del environment["POCL_CACHE_DIR"]
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found, mode = done.stdout.split()
        if given == str(tmp_path / "chosen"):
            assert found == given
        else:
            assert found.startswith(f"{tmp_path}/polygen-run-") and found != others
            assert int(mode) & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []  # they go with their processes


def test_pyopencl_keeps_nothing_where_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    shown = _run(
        'knl.executor("opencl")(a=np.ones(3)); import pyopencl, os\n'
        'print(pyopencl._PYOPENCL_NO_CACHE, "PYOPENCL_NO_CACHE" in os.environ)',
        XDG_CACHE_HOME=str(tmp_path / "file" / "cache"),
    )
    assert shown == "True False\n"
