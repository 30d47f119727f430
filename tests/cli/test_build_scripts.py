"""`polygen build` of a script: what it compiles is kept, and a second process compiles nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polygen.cli import main

SCRIPT = """
import sys
import numpy as np
import polygen.workunits as pk

@pk.workunit
def scaled(i: int, x: pk.View1D[pk.double], by: float):
    x[i] = by*x[i]

@pk.workunit
def total(i: int, acc: pk.Acc[pk.double], x: pk.View1D[pk.double]):
    acc += x[i]

if __name__ == "__main__":
    x = pk.from_numpy(np.arange(float(sys.argv[1])))
    with pk.lazy():
        pk.parallel_for(len(x), scaled, x=x, by=2.0)
    print(pk.parallel_reduce(len(x), total, x=x))
    sys.exit(0)
"""
# A second process whose compiler may not be started.
AGAIN = """
import runpy, sys
import polygen.runtime.backends.c.c_compiler as compiler
def refuse(*given):
    raise AssertionError("something is compiled")
compiler._compile = refuse
sys.argv = ["sums.py", sys.argv[1]]
runpy.run_path("sums.py", run_name="__main__")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POLYGEN_NO_CACHE", raising=False)
    path = tmp_path / "sums.py"
    path.write_text(SCRIPT)
    return path


def test_what_is_kept(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    assert main(["build", "sums.py", "-o", "kept", "--arguments", "100"]) == 0
    said = capsys.readouterr()
    assert said.err == "9900.0\n"
    libraries = list((script.parent / "kept").glob("*.so"))
    # Of two kernels; and what calls them quickly, if nothing in this process needed it before.
    assert len(libraries) >= 2
    entries = [path for path in (script.parent / "kept").iterdir() if path.name[0] != "."]
    assert (
        said.out
        == f"{script.parent / 'kept'}: {len(entries)} entries, {len(entries)} of them new\n"
    )
    assert os.environ == before


@pytest.mark.more
def test_a_second_process_compiles_nothing(script: Path) -> None:
    command = [sys.executable, "-m", "polygen.cli", "build", "sums.py", "-o", "kept"]
    subprocess.run([*command, "--arguments", "1000"], check=True, capture_output=True)
    environment = {**os.environ, "POLYGEN_CACHE_DIR": "kept"}
    ran = [sys.executable, "-c", AGAIN, "1000"]
    found = subprocess.run(ran, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "999000.0\n"
    empty = {**environment, "POLYGEN_CACHE_DIR": "another"}
    found = subprocess.run(ran, env=empty, capture_output=True, text=True, check=False)
    assert "something is compiled" in found.stderr


def test_what_is_refused(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["build", "sums.py", "-o", "kept"]) == 2
    assert "sums.py:15: IndexError" in capsys.readouterr().err
    assert main(["build", "missing.py"]) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert main(["build", "sums.py", "--transform", "steps.py"]) == 2
    assert "this is a script" in capsys.readouterr().err
    Path("kernel.pg").write_text("{ [i]: 0<=i<4 }\na[i] = i\n")
    assert main(["build", "kernel.pg"]) == 2
    assert "there is no folder to write to" in capsys.readouterr().err
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    assert main(["build", "sums.py"]) == 2
    assert "POLYGEN_NO_CACHE is set" in capsys.readouterr().err
