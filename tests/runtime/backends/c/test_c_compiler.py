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
from polygen.runtime.backends.c.c_compiler import (
    compiled_library,
    compiler_command,
    find_compiler,
    load_library,
)
from polygen.runtime.backends.c.library_check import why_not_a_library
from polygen.runtime.backends.opencl.opencl_driver import build
from polygen.runtime.disk import cache
from tests.few import few

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


# The loader of a machine without OpenCL says so, or names no platform.
@few(1, "loader", ["raise cl.LogicError('PLATFORM_NOT_FOUND_KHR')", "return []"])
def test_no_device_at_all(loader: str) -> None:
    _run(
        f"""
import pyopencl as cl
def none():
    {loader}
cl.get_platforms = none
"""
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


@pytest.mark.more
def test_private_folder_for_pocl(tmp_path: Path) -> None:
    script = """
import os; from pathlib import Path
from polygen.runtime.backends.opencl.pocl_cache import give_folder
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


@pytest.mark.more
def test_pyopencl_keeps_nothing_where_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    shown = _run(
        'knl.executor("opencl")(a=np.ones(3)); import pyopencl, os\n'
        'print(pyopencl._PYOPENCL_NO_CACHE, "PYOPENCL_NO_CACHE" in os.environ)',
        XDG_CACHE_HOME=str(tmp_path / "file" / "cache"),
    )
    assert shown == "True False\n"


def _compiler(folder: Path, script: str) -> str:
    """Write a compiler: `$out` is where the library should be, `$@` what it was given."""
    at = folder / "bin" / "cc"
    at.parent.mkdir()
    find = 'for a in "$@"; do [ "$last" = -o ] && out="$a"; last="$a"; done'
    at.write_text(f'#!/bin/sh\n{find}\n[ -n "$out" ] || exit 0\n{script}\n')
    at.chmod(0o755)
    return str(at)


# What a compiler does that says that all went well, and what is said of that.
_LEFT = {
    "nothing": ("true", "left no file"),
    "a folder": ('mkdir "$out"', "left no file"),
    "an empty file": ('true > "$out"', "left an empty file"),
    "garbage": ('echo garbage > "$out"', "left a file that is no library"),
    "an object": ('gcc -c -x c /dev/null -o "$out"', "left a library without the function"),
    "another library": (
        'echo "void g(void) {}" | gcc -shared -x c - -o "$out"',
        "left a library without the function 'polygen_kernel'",
    ),
    "hidden functions": ('gcc -fvisibility=hidden "$@"', "a library without the function"),
    "half a library": ('gcc "$@"; truncate -s -9 "$out"', "left a library that is cut off"),
    "another machine's": (
        'gcc "$@"; printf "\\377" | dd of="$out" bs=1 seek=18 conv=notrunc 2>/dev/null',
        "left a library that cannot be loaded",
    ),
    "an executable": (
        'echo "int polygen_kernel; int main(void) {}" | gcc -rdynamic -x c - -o "$out"',
        "left a library that cannot be loaded",
    ),
    "a failure": ("exit 7", "it ended with the status 7, and said nothing"),
    "a death": ("kill -9 $$", "it ended with the status -9, and said nothing"),
}  # fmt: skip


@pytest.mark.parametrize("what", _LEFT)
def test_compilers_that_leave_no_library(
    what: str, numbers: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing of them is kept: the next call compiles again, as is tried with two of them."""
    script, said = _LEFT[what]
    double = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    monkeypatch.setenv("CC", _compiler(tmp_path, script))
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(errors.CompilationFailed) as error:
        double.executor("c")(a=numbers)
    assert said in error.value.what
    assert error.value.remedy
    assert Path(__file__).name in str(error.value.where)
    assert not list((tmp_path / "cache").glob("*.so"))
    if what not in ("garbage", "hidden functions"):
        return
    # The same compiler, mended.
    (tmp_path / "bin" / "cc").write_text('#!/bin/sh\nexec gcc "$@"\n')
    np.testing.assert_array_equal(double.executor("c")(a=numbers)[1][0], 2 * numbers)
    assert len(list((tmp_path / "cache").glob("*.so"))) == 1


@pytest.mark.parametrize("what", ["nothing", "garbage", "hidden functions", "half a library"])
def test_nothing_is_built_of_these(
    what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path, _LEFT[what][0]))
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name="doubled")
    with pytest.raises(errors.CompilationFailed, match="said that all went well for kernel"):
        pg.build(pg.add_dtypes(knl, {"a": "float32"}), tmp_path / "module")
    assert not (tmp_path / "module").exists()


@pytest.mark.parametrize("bad", [b"garbage", b"", "other", "half"], ids=str)
def test_a_kept_library_that_will_not_do_is_made_again(
    bad: bytes | str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("polygen.runtime.backends.c.c_compiler._LOADED", {})
    source = f"int f(void) {{ return 3; }}  // {bad!r}\n"
    assert load_library(source, functions=["f"]).f() == 3
    (entry,) = tmp_path.glob("*.so")
    whole = cache.load(entry.name)
    assert whole is not None
    if bad == "other":
        load_library("int g(void) { return 4; }\n")
        (other,) = set(tmp_path.glob("*.so")) - {entry}
        bad = cache.load(other.name) or b""
    cache.store(entry.name, whole[:-100] if bad == "half" else bytes(bad))  # type: ignore[arg-type]
    monkeypatch.setattr("polygen.runtime.backends.c.c_compiler._LOADED", {})
    assert load_library(source, functions=["f"]).f() == 3
    assert cache.load(entry.name) == whole


@pytest.mark.parametrize("command", ['"', "gcc 'x", "gcc \\", '"gcc'])
def test_no_command(
    command: str, double: pg.Kernel, numbers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", command)
    with pytest.raises(errors.NoCompiler) as error:
        double.executor("c")(a=numbers)
    assert f"CC says '{command}'" in error.value.what
    assert error.value.remedy
    assert pg.default_target() == "opencl"
    monkeypatch.setenv("CC", "  ")
    assert pg.default_target() == "c"


def test_each_part_of_a_library_is_missed(tmp_path: Path) -> None:
    """Else, loading it would end the process."""
    binary = compiled_library({"f.c": "int f(void) { return 3; }\n"})
    assert why_not_a_library(binary, ["f"]) is None
    for length in [*range(0, len(binary), 97), len(binary) - 1]:
        assert why_not_a_library(binary[:length], ["f"]) is not None, length
    for width in (0, 3, 9):
        assert why_not_a_library(binary[:4] + bytes([width]) + binary[5:], []) is not None
    assert why_not_a_library(binary, ["f", "g"]) == "a library without the function 'g'"


def test_a_name_that_ends_another_one() -> None:
    """Linkers keep ``f`` as the end of ``printf``."""
    source = 'int printf(char const *, ...);\nint f(int x) { return printf("%d", x); }\n'
    binary = compiled_library({"f.c": source})
    assert why_not_a_library(binary, ["f"]) is None
    assert why_not_a_library(binary, ["g"]) == "a library without the function 'g'"
